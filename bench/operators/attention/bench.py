#!/usr/bin/env python3
"""Measures unified attention on a Hopper GPU beside its limits and its peers, in one run and on the same memory.

  bench.py --library libtik_attention_sm90.so --harness libtik_attention_bench.so [--json FILE] [--svg FILE] [--quick]

For every cell: the median of replays of CUDA graphs that hold 10 to 64 launches, ours and the peers' in turns, keys and values
rotating among several buffers and the L2 cache overwritten before each replay. The limit of decode is a kernel that only reads
the same keys and values; that of a full sequence is its operations at the rate that the tensor cores reach in this run, that of an
extend the longer of the two. Peers (cuDNN, FlashAttention-2; FlashAttention-3 and FlashInfer where their wheels are installed) need
PyTorch and are left out, and said to be, where something is missing.
"""

import json
import math
import pathlib
import platform
import statistics
import sys
import time

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path += [str(FOLDER.parent), str(FOLDER.parents[2] / "operators")]

import cells as grid
import contracts
import harness as harness_module
import plot
import result as results_file

ARENA_BYTES = 1 << 30
ROUNDS = 9
SHORT_ROUNDS = 3
GRAPH_MICROSECONDS = 1500  # a graph of launches is about this long


def launches_of(microseconds):
    return max(10, min(64, int(GRAPH_MICROSECONDS / max(microseconds, 0.1))))


class Bench:
    def __init__(self, harness, library, peers, peer_modules):
        self.harness = harness
        self.library = library
        self.peers = peers  # or None; peer_modules: those that offer ways
        self.peer_modules = peer_modules
        self.queries, self.keys, self.values = (harness.normals(ARENA_BYTES, seed) for seed in (1, 2, 3))
        self.out = harness.zeros(ARENA_BYTES)
        self.best_ways = {}  # (peer, tokens, batch) of the first head shape -> its fastest way

    def buffers(self, cell, count):
        """Rotated buffers: addresses (queries, keys, values, out) of `count` calls, fewer where the arenas end."""
        rows = cell.batch * cell.query_tokens
        row_bytes = rows * cell.query_heads * cell.head_dim * 2
        count = max(1, min(count, ARENA_BYTES // max(cell.kv_bytes(), row_bytes)))
        return [(self.queries + i * row_bytes, self.keys + i * cell.kv_bytes(), self.values + i * cell.kv_bytes(),
                 self.out + i * row_bytes) for i in range(count)]

    def launcher(self, cell, sets, page_size=0):
        """launch(i) of our kernel on buffer i."""
        heads, kv_heads, dim = cell.query_heads, cell.kv_heads, cell.head_dim
        full = cell.entry == "full"
        shape = contracts.attention_shape(heads, kv_heads, dim)
        queries = cell.query_tokens
        limits = contracts.Limits(cell.batch, cell.batch * queries, queries, cell.tokens)
        size = self.library.bytes("workspace", contracts.c.byref(shape), contracts.c.byref(limits))
        workspace = self.harness.zeros(size)
        args = contracts.AttentionArgs(batch=cell.batch, shape=shape, limits=limits, query_token_stride=heads * dim,
                                       query_head_stride=dim, out_token_stride=heads * dim, out_head_stride=dim, workspace=workspace,
                                       workspace_bytes=size, stream=self.harness.stream)
        args.kv.token_stride, args.kv.head_stride = kv_heads * dim, dim
        if cell.entry != "decode":
            args.query_offsets = self.harness.integers([queries * i for i in range(cell.batch + 1)])
        if full:
            args.kv.layout = contracts.PACKED
        else:
            args.kv_lengths = self.harness.integers([cell.tokens] * cell.batch)
            args.kv.layout = contracts.PAGED if page_size else contracts.CONTIGUOUS
            args.kv.sequence_stride = cell.tokens * kv_heads * dim
        if page_size:
            pages = cell.tokens // page_size
            count = cell.batch * pages
            step = next(s for s in range(count // 2 + 1, 2 * count + 2) if math.gcd(s, count) == 1)
            args.kv.page_size, args.kv.page_stride = page_size, page_size * kv_heads * dim
            args.kv.page_table = self.harness.integers([i * step % count for i in range(count)])  # a permutation of the pool
            args.kv.page_table_stride, args.kv.page_count = pages, count

        def launch(i):
            args.queries, args.kv.keys, args.kv.values, args.out = sets[i % len(sets)]
            self.library.call(cell.entry, args)

        return launch

    def estimate(self, launch):
        return self.harness.time(self.harness.capture(launch, 1))

    def ways(self, cell, addresses):
        """{peer: {way: launch}} of all peers."""
        return {peer: ways for module in self.peer_modules for peer, ways in getattr(module, f"{cell.entry}_ways")(cell, addresses).items()}

    def peer_replays(self, cell, sets, launches):
        """{peer: (way, replay)} with the fastest way of each peer; a way that PyTorch refuses is left out."""
        replays = {}
        addresses = [buffers[:3] for buffers in sets]
        for peer, ways in self.ways(cell, addresses).items():
            key = (peer, cell.entry, cell.tokens, cell.batch)
            known = self.best_ways.get(key)
            candidates = {known: ways[known]} if known else ways
            best = None
            for way, launch in candidates.items():
                try:
                    replay = self.peers.capture(self.harness, launch, launches)
                except RuntimeError as error:
                    print(f"  {cell.title()}: {peer}, {way}: {str(error).splitlines()[0]}", file=sys.stderr)
                    continue
                took = min(self.harness.time(replay) for _ in range(SHORT_ROUNDS))
                if best is None or took < best[0]:
                    best = (took, way, replay)
            if best:
                self.best_ways.setdefault(key, best[1])
                replays[peer] = best[1:]
        return replays

    def limit_replay(self, cell, sets, launches):
        """The fastest reader of the keys and values of a decode cell."""
        best = None
        for loads in (1, 2, 4, 8):
            def launch(i, loads=loads):
                _, keys, values, _ = sets[i % len(sets)]
                self.harness.read(keys, values, cell.kv_bytes(), loads)

            replay = self.harness.capture(launch, launches)
            took = min(self.harness.time(replay) for _ in range(SHORT_ROUNDS))
            if best is None or took < best[0]:
                best = (took, replay)
        return best[1]

    def measure(self, cell, matrix_rate, paged):
        sets = self.buffers(cell, 64)
        ours = self.launcher(cell, sets)
        launches = launches_of(self.estimate(ours))
        contenders = {"tik": self.harness.capture(ours, launches)}
        if cell.entry != "full":
            contenders["limit"] = self.limit_replay(cell, sets, launches)
        if cell.entry == "decode":
            for page_size in paged:
                contenders[f"tik_page_{page_size}"] = self.harness.capture(self.launcher(cell, sets, page_size), launches)
        ways = {}
        if self.peers:
            for peer, (way, replay) in self.peer_replays(cell, sets, launches).items():
                ways[peer] = way
                contenders[peer] = replay
        samples = self.harness.compare(contenders, launches, ROUNDS)
        summaries = {name: results_file.summary(values) for name, values in samples.items()}
        read = summaries["limit"]["median"] if "limit" in summaries else 0
        limit = read if cell.entry == "decode" else max(read, cell.operations() / matrix_rate * 1e6)
        peers = {peer: summaries[peer]["median"] for peer in ways}
        result = {
            "entry": cell.entry, "q_heads": cell.query_heads, "kv_heads": cell.kv_heads, "head_dim": cell.head_dim,
            "batch": cell.batch, "tokens": cell.tokens, "query_tokens": cell.query_tokens, "tik_us": summaries["tik"]["median"],
            "tik_spread_us": [summaries["tik"]["smallest"], summaries["tik"]["largest"]], "limit_us": limit, "peers": peers,
            "peer_ways": ways, "published": {name: us for name, us in grid.published(cell).items() if name not in peers},
            "launches": launches, "buffers": len(sets),
            "samples_us": results_file.rounded(samples),
        }
        for page_size in paged:
            if cell.entry == "decode":
                result[f"tik_page_{page_size}_us"] = summaries[f"tik_page_{page_size}"]["median"]
        return result

    def difference(self, cell):
        """Largest difference of our output from cuDNN's on one call; both are bfloat16 results of the same inputs."""
        sets = self.buffers(cell, 1)
        self.launcher(cell, sets)(0)
        self.harness.synchronize()
        launch = next(iter(self.ways(cell, [sets[0][:3]])["cudnn"].values()))
        return self.peers.largest_difference(sets[0][3], (cell.batch, cell.query_tokens, cell.query_heads, cell.head_dim), launch)


def line_of(result):
    """One line of the table."""
    ours, limit = result["tik_us"], result["limit_us"]
    low, high = result["tik_spread_us"]
    text = (f"{result['entry']:6} {result['q_heads']:2}/{result['kv_heads']}x{result['head_dim']} {result['batch']:5} "
            f"{result['tokens']:6} {ours:9.2f} {low:8.2f}-{high:<8.2f} {limit:9.2f} {ours / limit:6.2f}")
    for peer in ("cudnn", "flash_attention_2", "flashinfer", "flash_attention_3"):
        figure, mark = result["peers"].get(peer), " "
        if not figure:
            figure, mark = result["published"].get(peer), "*"
        text += f"{figure:9.2f}{mark} {figure / ours:5.2f}" if figure else f"{'-':>9}  {'-':>5}"
    for page_size in (16, 64):
        figure = result.get(f"tik_page_{page_size}_us")
        text += f" {figure / ours:6.3f}" if figure else f" {'-':>6}"
    return text


HEADER = (f"{'entry':6} {'heads':8} {'batch':>5} {'tokens':>6} {'tik us':>9} {'spread':^17} {'limit us':>9} {'x lim':>6} "
          f"{'cuDNN us':>9}  {'ratio':>5}{'FA2 us':>9}  {'ratio':>5}{'FI us':>9}  {'ratio':>5}{'FA3 us':>9}  {'ratio':>5} "
          f"{'pg16':>6} {'pg64':>6}")


def goals(results):
    """The figures of the goal, for the paper's head shape; what was not measured is left out."""
    ours = [r for r in results if (r["q_heads"], r["kv_heads"]) == (32, 8)]
    full = [(r["published"] | r["peers"])["flash_attention_3"] / r["tik_us"] for r in ours if r["entry"] == "full"]
    decode = [r for r in ours if r["entry"] == "decode"]
    best = [min([*r["peers"].values(), *(v for k, v in r["published"].items() if k != "areal_tik")]) / r["tik_us"] for r in decode]
    limits = [r["tik_us"] / (1.05 * r["limit_us"] + 2.0) for r in decode]
    figures = {}
    if full:
        figures["full_vs_flash_attention_3_mean_ratio"] = statistics.mean(full)
        figures["full_vs_flash_attention_3_worst_ratio"] = min(full)
    if decode:
        figures["decode_vs_best_peer_geometric_mean"] = results_file.geometric_mean(best)
        figures["decode_vs_best_peer_worst_ratio"] = min(best)
        figures["decode_cells_within_limit"] = f"{sum(x <= 1 for x in limits)} of {len(limits)}"
        figures["decode_worst_of_limit_goal"] = max(limits)
    for page_size in (16, 64):
        ratios = [r[f"tik_page_{page_size}_us"] / r["tik_us"] for r in decode if f"tik_page_{page_size}_us" in r]
        if ratios:
            figures[f"page_{page_size}_vs_contiguous_worst"] = max(ratios)
    return figures


def parse():
    parser = results_file.parser(__doc__)
    parser.add_argument("--library", required=True, help="the shared library of the operator")
    parser.add_argument("--harness", required=True, help="the shared library of harness.h")
    parser.add_argument("--svg", type=pathlib.Path, help="draw the figures here")
    return parser.parse_args()


def main():
    options = parse()
    started = time.time()
    harness = harness_module.Harness(options.harness)
    try:
        import peers
    except ImportError as error:
        peers = None
        print(f"peers are not measured: {error}")
    modules, versions = [peers] if peers else [], {}
    try:
        import flash_attention_3_peer
        modules.append(flash_attention_3_peer)
        versions["flash_attention_3"] = f"fa3-fwd {flash_attention_3_peer.VERSION}"
    except (ImportError, OSError) as error:
        print(f"FlashAttention-3 is not measured: {error}")
    try:
        import flashinfer_peer
        modules.append(flashinfer_peer)
        versions["flashinfer"] = flashinfer_peer.flashinfer.__version__
    except ImportError as error:
        print(f"FlashInfer is not measured: {error}")
    bench = Bench(harness, contracts.Attention(options.library), peers, modules)
    machine = harness.machine() | {"host_python": platform.python_version()}
    if peers:
        machine |= {"torch": peers.torch.__version__, "cudnn": peers.torch.backends.cudnn.version()} | versions
    matrix = results_file.summary(harness.matrix_rate())
    print(json.dumps(machine))
    print(f"tensor cores: {matrix['median'] / 1e12:.0f} TFLOP/s on resident operands")
    if peers:
        for cell in (grid.Cell("full", 32, 8, 128, 1, 1024, 1024), grid.Cell("decode", 32, 8, 128, 4, 1024, 1)):
            print(f"largest difference from cuDNN, {cell.title()}: {bench.difference(cell):.2e}")
    print(HEADER)
    results = []
    shapes = [grid.PAPER_SHAPE] if options.quick else grid.HEAD_SHAPES
    not_measured = []
    for cell in grid.cells(shapes):
        if time.time() - started > options.seconds:
            not_measured.append(cell.title())
            continue
        paper = (cell.query_heads, cell.kv_heads) == (grid.PAPER_SHAPE.query_heads, grid.PAPER_SHAPE.kv_heads)
        results.append(bench.measure(cell, matrix["median"], (16, 64) if paper else ()))
        print(line_of(results[-1]), flush=True)
    print("ratio: their time over ours. * not measured in this run: " + grid.PUBLISHED_SOURCE)
    if not_measured:
        print(f"not measured within {options.seconds:.0f} s: {', '.join(not_measured)}")
    figures = goals(results)
    for name, figure in figures.items():
        print(f"{name}: {figure if isinstance(figure, str) else round(figure, 3)}")
    print(f"took {time.time() - started:.0f} s")
    if options.json:
        head = {"commit": options.commit, "command": options.command, "machine": machine, "matrix_operations_per_second": matrix,
                "method": results_file.method(__doc__), "rounds": ROUNDS,
                "published_source": grid.PUBLISHED_SOURCE, "goals": figures, "not_measured": not_measured}
        results_file.write(options.json, head, results)
    if options.svg:
        options.svg.parent.mkdir(parents=True, exist_ok=True)
        options.svg.write_text(plot.draw(results, machine))


if __name__ == "__main__":
    main()
