#!/usr/bin/env python3
"""Measures the operators that treat every token alike on a Hopper GPU, beside the time of moving their bytes and beside PyTorch and Triton.

  bench.py --library libtik_operators_sm90.so --copy libtik_token_wise_bench.so [--json FILE] [--quick] [--seconds N]

For every cell: the median of replays of CUDA graphs that hold 4 to 128 launches, ours and the others' in turns in an order of its own each
round; launches rotate among 2 to 128 copies of all tensors, weights too, and the L2 cache is overwritten before each replay. The limit is the
fastest of seven kernels that only read and write as many bytes (the table of cosines, positions and page tables not counted), launched like
ours. Peers: `unfused` as Megatron writes it without its fusions; `torch` with PyTorch's fused functions;
`torch_compile` of plain source, for few tokens of the last model; `triton`, the fastest of several configurations of a kernel for the purpose; `triton_pdl` the
same with programmatic dependent launch, for few tokens. Every peer's output is compared with ours at up to 1024 tokens.
"""

import ctypes as c
import json
import math
import pathlib
import statistics
import sys
import time

import torch

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path += [str(FOLDER.parent), str(FOLDER.parents[2] / "operators")]

import cells
import contracts
import result
import subjects
import torch_peers
import triton_peers

ROUNDS = 7
SHORT_ROUNDS = 2
GRAPH_MICROSECONDS = 1200
TOLERANCE = 2**-6  # of the largest number: a few roundings to bfloat16


class Limit:
    """The copy kernels on memory of their own, as many regions as the subject has sets."""

    def __init__(self, path, workplace):
        self.library = c.CDLL(path)
        self.stream = c.c_void_p(workplace.stream)
        self.regions = [torch.empty(subjects.ARENA_BYTES + (64 << 20), dtype=torch.uint8, device=workplace.device) for _ in range(2)]
        self.regions[0].random_()

    def ways(self, subject):
        size = subject.bytes
        count = max(1, min(len(subject.sets), *(r.numel() // (n * size) for r, n in zip(self.regions, (subject.reads, subject.writes)))))

        def way(number):
            def launch(i):
                source, target = (r.data_ptr() + i % count * n * size for r, n in zip(self.regions, (subject.reads, subject.writes)))
                error = self.library.copy_launch(number, subject.reads, subject.writes, c.c_void_p(source), c.c_void_p(target),
                                                 c.c_int64(size), self.stream)
                if error != 0:
                    raise RuntimeError(f"CUDA error {error}")

            return launch

        return {f"way {number}": way(number) for number in range(self.library.copy_ways())}


def contenders(subject, limit, without):
    """{name: {way: launch}} of everything that is timed beside ours, but for the peers `without`."""
    found = {"limit": limit.ways(subject)} if limit else {}
    few_on_gpu = subject.few and subject.workplace.device == "cuda"
    compiled = few_on_gpu and subject.model == cells.MODELS[-1] and "torch_compile" not in without
    found |= torch_peers.ways(subject, compiled) | triton_peers.ways(subject, few_on_gpu)
    return {name: ways for name, ways in found.items() if name not in without}


OUTPUTS = ("out", "sum", "q_out", "k_out", "k_cache", "v_cache")  # of a subject's sets


def worst(figures):
    """The largest of the figures, or NaN when one of them is: max() may pass over it."""
    figures = list(figures)
    return next((figure for figure in figures if math.isnan(figure)), None) or max(figures)


def difference(subject, launch):
    """The largest difference of a peer's outputs from ours, as a part of the largest number; NaN for what the peer does not write."""
    s = subject.sets[0]
    subject.launcher()(0)
    ours = [x.float().clone() for x in subject.outputs(s)]
    for name in OUTPUTS:
        if hasattr(s, name):
            getattr(s, name).fill_(math.nan)
    theirs = launch(0) or []
    theirs = [x.float() for x in [*theirs, *subject.outputs(s)[len(theirs):]]]
    return worst(((a - b).abs().max() / a.abs().max()).item() for a, b in zip(ours, theirs, strict=True))


def check(subject, found):
    """Compares every way of every peer with ours: {peer: largest difference}. A way that does not run is dropped, and said to be."""
    differences = {}
    for peer, ways in found.items():
        for way in [] if peer == "limit" else list(ways):
            try:
                differences[peer] = worst([differences.get(peer, 0), difference(subject, ways[way])])
            except Exception as error:  # whatever a compiler finds to say
                print(f"  {subject.operator}, {subject.shape}: {peer}, {way}: {str(error).splitlines()[0]}", file=sys.stderr)
                del ways[way]
    for peer, figure in differences.items():
        if not figure <= TOLERANCE:
            print(f"  {subject.operator}, {subject.shape}, {subject.tokens} tokens: {peer} differs by {figure:.1e}", file=sys.stderr)
    return differences


def measure(subject, limit, timer, without):
    found = contenders(subject, limit, without)
    with torch.no_grad(), torch.cuda.stream(timer.stream):
        differences = check(subject, found) if subject.tokens <= 1024 else {}
    ours = subject.launcher()
    took = min(timer.time(timer.capture(ours, 4)) for _ in range(SHORT_ROUNDS)) / 4
    launches = subjects.FEW_SETS if subject.few else max(4, min(64, int(GRAPH_MICROSECONDS / took)))
    graphs, chosen = {"tik": timer.capture(ours, launches)}, {}
    for name, ways in found.items():
        best = None
        for way, launch in ways.items():
            graph = timer.capture(launch, launches)
            us = min(timer.time(graph) for _ in range(SHORT_ROUNDS)) if len(ways) > 1 else 0
            if best is None or us < best[0]:
                best = (us, way, graph)
        if best:
            _, chosen[name], graphs[name] = best
    samples = timer.compare(graphs, launches, ROUNDS)
    median = {name: round(statistics.median(values), 3) for name, values in samples.items()}
    return {"operator": subject.operator, "shape": subject.shape, "rows": subject.tokens, "tik_us": median.pop("tik"),
            "limit_us": median.pop("limit"), "peers": median, "ways": chosen, "launches": launches, "sets": len(subject.sets),
            "samples_us": result.rounded(samples), "peers_differ_by": {name: float(f"{value:.2g}") for name, value in differences.items()}}


def line_of(cell):
    peers = "  ".join(f"{name} {us:8.2f} ({us / cell['tik_us']:5.2f})" for name, us in cell["peers"].items())
    return (f"{cell['operator']:22} {cell['shape'].split(',')[0]:34} {cell['rows']:6} {cell['tik_us']:8.2f} us  of limit "
            f"{cell['limit_us'] / cell['tik_us']:5.2f}  {peers}")


def goals(measured):
    """By operator: the part of the limit that many tokens reach, and the time of peers over ours."""
    figures = {}
    for operator in dict.fromkeys(cell["operator"] for cell in measured):
        own = [cell for cell in measured if cell["operator"] == operator]
        many = [cell for cell in own if cell["rows"] in cells.MANY]
        few = [cell for cell in own if cell["rows"] in cells.FEW]
        figures[operator] = figure = {}
        if many:
            parts = [cell["limit_us"] / cell["tik_us"] for cell in many]
            figure["many_tokens_part_of_limit"] = {"smallest": round(min(parts), 3), "mean": round(sum(parts) / len(parts), 3)}
            unfused = [cell["peers"]["unfused"] / cell["tik_us"] for cell in many]
            figure["many_tokens_unfused_ratio"] = {"mean": round(sum(unfused) / len(unfused), 2), "smallest": round(min(unfused), 2)}
        for name, left_out in (("few_tokens_best_peer_ratio", ["triton_pdl"]), ("few_tokens_best_peer_ratio_with_triton_pdl", [])):
            ratios = [min(us for peer, us in cell["peers"].items() if peer not in left_out) / cell["tik_us"] for cell in few]
            if ratios:
                figure[name] = {"geometric_mean": round(result.geometric_mean(ratios), 3), "smallest": round(min(ratios), 3)}
    return figures


def parse():
    parser = result.parser(__doc__)
    parser.add_argument("--library", required=True, help="the shared library of the operators")
    parser.add_argument("--copy", help="the shared library of copy.cu")
    parser.add_argument("--model", action="append", choices=[model.name for model in cells.MODELS], help="these models alone")
    parser.add_argument("--operator", action="append", help="these operators alone")
    parser.add_argument("--without", action="append", default=[], help="leave this peer out")
    parser.add_argument("--compile-only", action="store_true",
                        help="compile every peer and compare its output with ours at few tokens, without timing; works with a library for "
                        "CPUs, too (with TRITON_INTERPRET=1)")
    return parser.parse_args()


def compare_outputs(workplace, models, operators, without):
    largest = {}
    for model in models:
        for make in subjects.subjects(workplace, model, operators):
            subject = make()
            if not subject.few:
                break
            found = contenders(subject, None, without)
            for peer, figure in check(subject, found).items():
                largest[peer] = worst([largest.get(peer, 0), figure])
            for peer in (peer for peer, ways in found.items() if not ways):
                largest[peer] = math.nan  # no way of it runs
    print("largest differences from ours:", ", ".join(f"{peer} {figure:.1e}" for peer, figure in largest.items()))
    return 0 if all(figure <= TOLERANCE for figure in largest.values()) else 1


def main():
    options = parse()
    started = time.time()
    torch.manual_seed(1)
    models = [m for m in cells.MODELS if not options.model or m.name in options.model][-1 if options.quick else 0:]
    library = contracts.Operators(options.library)
    if options.compile_only and not torch.cuda.is_available():
        return compare_outputs(subjects.Workplace(library, "cpu", None), models, options.operator, options.without)
    import timer as timing
    timer = timing.Timer()
    workplace = subjects.Workplace(library, "cuda", timer.stream.cuda_stream)
    if options.compile_only:
        with torch.no_grad(), torch.cuda.stream(timer.stream):
            return compare_outputs(workplace, models, options.operator, options.without)
    limit = Limit(options.copy, workplace)
    machine = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "triton": triton_peers.triton.__version__,
               "cuda": torch.version.cuda}
    print(json.dumps(machine))
    measured, left_out = [], {}

    def write():
        head = {"commit": options.commit, "command": options.command, "machine": machine, "method": result.method(__doc__), "rounds": ROUNDS,
                "not_measured": left_out, "goals": goals(measured)}
        result.write(options.json, head, measured)

    for model in reversed(models):
        for make in subjects.subjects(workplace, model, options.operator):
            if time.time() - started > options.seconds:
                left_out[model.name] = left_out.get(model.name, 0) + 1
                continue
            measured.append(measure(make(), limit, timer, options.without))
            print(line_of(measured[-1]), flush=True)
            if options.json:
                write()
    print(json.dumps(goals(measured), indent=1))
    if left_out:
        print(f"cells that are not measured within {options.seconds:.0f} s: {left_out}")
    print(f"took {time.time() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
