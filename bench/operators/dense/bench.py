#!/usr/bin/env python3
"""Measures dense linear and the language-model head on a Hopper GPU beside their peers, in one run.

  bench.py --library libtik_operators_sm90.so --peer libtik_dense_bench.so [--json FILE] [--quick] [--seconds N]

For every cell: the median of replays of CUDA graphs that hold 2 to 32 launches, ours and the peer's in turns, weights rotating over
several times the L2 cache, which is overwritten before each replay. The peer of dense linear is the fastest of what cuBLASLt's
heuristic suggests with everything allowed, split-K included, and 64 MiB of workspace: by the shorter of two replays, and by the median of
five in turns among those within 3 % of the shortest. `plan` is what tik_linear_plan says, with what a launch took there, `peer_plan` the
same of the peer. Our calls say that weights are settled, as in
decode, and rely on the order of launches in a stream, which the peer does not use. The peer of the head is PyTorch: bfloat16
logits, log_softmax, gather. The limit is the longer of two: a kernel that only reads the same weights, timed beside them, and the
operations at the rate at which the tensor cores multiply what they hold already, measured in the same run.
"""

import time

STARTED = time.time()  # before what takes long to import

import ctypes as c
import json
import pathlib
import statistics
import sys

import torch

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path += [str(FOLDER.parent), str(FOLDER.parents[2] / "operators")]

import cells
import contracts
import result
import timer as timing

ROUNDS = 7
NEAR, NEAR_ROUNDS = 1.03, 5  # of the peer's suggestions
GRAPH_MICROSECONDS = 600
WEIGHT_BYTES = 640 << 20


class Limits:
    """What no kernel beats: reading the weight once, and the tensor cores."""

    LOADS = (2, 4, 8)  # of 16 bytes that a thread of the reading kernel has under way

    def __init__(self, peer, timer):
        self.peer, self.timer = peer, timer
        operations = c.c_double()
        graph = timer.capture(lambda _: self._good(peer.bench_matrix(4000, c.byref(operations), self._stream())), 1)
        self.operations_a_us = operations.value / statistics.median(timer.time(graph) for _ in range(ROUNDS))

    def _stream(self):
        return c.c_void_p(self.timer.stream.cuda_stream)

    @staticmethod
    def _good(error):
        if error != 0:
            raise RuntimeError(f"CUDA error {error}")

    def read(self, weights, elements, loads):
        """A launch that reads the weight whose turn it is, in halves."""

        def launch(turn):
            start = weights[turn % len(weights)].data_ptr()
            self._good(self.peer.bench_read(c.c_void_p(start), c.c_void_p(start + elements), c.c_size_t(elements), loads, self._stream()))

        return launch

    def multiply_us(self, rows, out_features, in_features):
        return 2.0 * rows * out_features * in_features / self.operations_a_us


class Linear:
    """One cell: our call and the peer's suggestions on the same memory."""

    def __init__(self, library, peer, timer, limits, arena, projection, rows):
        self.library, self.peer, self.timer, self.limits = library, peer, timer, limits
        self.rows, self.projection = rows, projection
        n, k = projection.out_features, projection.in_features
        self.x = arena["x"][:rows * k]
        self.weights = [arena["weight"][i * n * k:] for i in range(max(1, min(64, WEIGHT_BYTES // (2 * n * k))))]
        self.out = arena["out"]
        stream = timer.stream.cuda_stream
        self.args = contracts.LinearArgs(tokens=rows, in_features=k, out_features=n, x=contracts.Rows(self.x.data_ptr(), k, 0),
                                         out=self.out.data_ptr(), out_stride=n, weight_settled=1, workspace=arena["workspace"].data_ptr(),
                                         stream=stream)
        self.args.weight = contracts.Rows(self.weights[0].data_ptr(), k, 0)
        begun = time.time()
        library.call("linear_prepare", self.args)
        self.prepare_ms = round((time.time() - begun) * 1e3, 1)

    def tik(self, i):
        self.args.weight.data = self.weights[i % len(self.weights)].data_ptr()
        self.library.call("linear", self.args)

    def suggestion(self, index):
        def launch(i):
            weight = self.weights[i % len(self.weights)].data_ptr()
            error = self.peer.dense_peer_launch(index, c.c_void_p(self.x.data_ptr()), c.c_void_p(weight), c.c_void_p(self.out.data_ptr()),
                                                c.c_void_p(self.timer.stream.cuda_stream))
            if error != 0:
                raise RuntimeError(f"cuBLASLt status {error}")

        return launch

    def peer_plan(self, suggestion):
        text = c.create_string_buffer(contracts.LINEAR_PLAN_BYTES)
        self.peer.dense_peer_describe(suggestion, text, c.c_size_t(len(text)))
        return text.value.decode()

    def fastest(self, launches, contenders):
        """Name and graph of the fastest contender; those that fail are left out."""
        timed = []
        for name, launch in contenders.items():
            try:
                graph = self.timer.capture(launch, launches)
            except RuntimeError as error:
                print(f"  {self.projection} {self.rows}: {name}: {error}", file=sys.stderr)
                continue
            timed.append((min(self.timer.time(graph) for _ in range(2)), name, graph))
        if not timed:
            raise RuntimeError(f"nothing to compare with for {self.projection} at {self.rows} rows")
        limit = NEAR * min(us for us, _, _ in timed)
        near = {name: graph for us, name, graph in timed if us <= limit}
        if len(near) > 1:
            samples = result.in_turns(near, NEAR_ROUNDS, self.timer.time)
            name = min(near, key=lambda name: statistics.median(samples[name]))
        else:
            name, = near
        return name, near[name]

    def measure(self):
        timer, projection, limits = self.timer, self.projection, self.limits
        n, k = projection.out_features, projection.in_features
        ours = timer.capture(self.tik, 2)
        took = min(timer.time(ours) for _ in range(2)) / 2
        launches = max(2, min(32, int(GRAPH_MICROSECONDS / took)))
        count = self.peer.dense_peer_prepare(self.rows, k, n)
        if count < 0:
            raise RuntimeError(f"cuBLASLt suggests nothing for {projection} at {self.rows} rows")
        suggestion, peer_graph = self.fastest(launches, {index: self.suggestion(index) for index in range(count)})
        _, read_graph = self.fastest(launches, {loads: limits.read(self.weights, n * k, loads) for loads in limits.LOADS})
        graphs = {"tik": timer.capture(self.tik, launches), "cublaslt": peer_graph, "read": read_graph}
        samples = timer.compare(graphs, launches, ROUNDS)
        median = {name: statistics.median(values) for name, values in samples.items()}
        return {"operator": "linear", "shape": f"{projection.model} {projection.name}", "out_features": n, "in_features": k,
                "rows": self.rows, "tik_us": median["tik"],
                "limit_us": max(median["read"], limits.multiply_us(self.rows, n, k)), "peers": {"cublaslt": median["cublaslt"]},
                "plan": self.library.linear_plan(self.args), "peer_plan": self.peer_plan(suggestion), "launches": launches,
                "prepare_ms": self.prepare_ms, "samples_us": result.rounded(samples)}


def measure_head(library, timer, limits, arena, model, in_features):
    tokens, vocabulary = cells.HEAD_TOKENS, cells.VOCABULARY
    x = arena["x"][:tokens * in_features].view(tokens, in_features)
    weight = arena["weight"][:vocabulary * in_features].view(vocabulary, in_features)
    targets = torch.randint(0, vocabulary, (tokens,), device="cuda", dtype=torch.int64)
    targets32 = targets.int()
    outputs = torch.empty(3, tokens, device="cuda")
    size = library.bytes("language_model_head_workspace", tokens, vocabulary)
    workspace = torch.empty(size, dtype=torch.uint8, device="cuda")
    args = contracts.HeadArgs(tokens=tokens, in_features=in_features, vocabulary=vocabulary, temperature=1,
                              x=contracts.Rows(x.data_ptr(), in_features, 0), weight=contracts.Rows(weight.data_ptr(), in_features, 0),
                              outputs=contracts.Outputs(targets32.data_ptr(), *(outputs[i].data_ptr() for i in range(3))), weight_settled=1,
                              workspace=workspace.data_ptr(), workspace_bytes=size, stream=timer.stream.cuda_stream)
    library.call("language_model_head_prepare", args)

    def tik(_):
        library.call("language_model_head", args)

    kept = []

    def torch_head(_):
        kept[:] = [torch.log_softmax(torch.nn.functional.linear(x, weight), -1).gather(-1, targets[:, None])]

    with torch.no_grad():
        torch_head(0)
        torch.cuda.synchronize()
        kept.clear()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        torch_head(0)
        torch.cuda.synchronize()
        torch_bytes = torch.cuda.max_memory_allocated() - before
        tik(0)
        torch.cuda.synchronize()
        sample = slice(0, tokens, 256)
        exact = torch.log_softmax(x[sample].double() @ weight.double().T, -1).gather(-1, targets[sample, None])[:, 0]
        error = (outputs[0][sample].double() - exact).abs().max().item()
        del exact
    samples = timer.compare({"tik": timer.capture(tik, 1), "torch": timer.capture(torch_head, 1)}, 1, ROUNDS)
    median = {name: statistics.median(values) for name, values in samples.items()}
    return {"operator": "language_model_head", "shape": f"{model} {in_features} to {vocabulary}", "rows": tokens, "tik_us": median["tik"],
            "limit_us": limits.multiply_us(tokens, vocabulary, in_features), "peers": {"torch": median["torch"]}, "tik_workspace_bytes": size,
            "torch_bytes": torch_bytes, "largest_error_from_float64": error,
            "samples_us": result.rounded(samples)}


def goals(measured):
    products = [cell for cell in measured if cell["operator"] == "linear"]
    linear = [cell["peers"]["cublaslt"] / cell["tik_us"] for cell in products]
    heads = [cell for cell in measured if cell["operator"] == "language_model_head"]
    figures = {}
    if linear:
        figures["linear_mean"] = statistics.mean(linear)
        figures["linear_worst"] = min(linear)
        figures["linear_cells_below_0.95"] = f"{sum(ratio < 0.95 for ratio in linear)} of {len(linear)}"
        figures["linear_cells_with_the_peers_algorithm"] = f"{sum(map(same_algorithm, products))} of {len(linear)}"
        prepare_ms = [cell["prepare_ms"] for cell in products]
        figures["prepare_ms"] = {"smallest": min(prepare_ms), "largest": max(prepare_ms), "sum": round(sum(prepare_ms))}
    for cell in heads:
        figures[f"head {cell['shape']}"] = {"ratio": cell["peers"]["torch"] / cell["tik_us"],
                                            "memory": cell["tik_workspace_bytes"] / cell["torch_bytes"]}
    return figures


def same_algorithm(cell):
    return cell["plan"].split(";")[0] == cell["peer_plan"]


def line_of(cell):
    """A line, and the plans below it where ours is the slower one."""
    name, us = next(iter(cell["peers"].items()))
    line = (f"{cell['operator']} {cell['shape']:24} {cell['rows']:6} {cell['tik_us']:9.2f} us  limit {cell['limit_us']:9.2f}  "
            f"{name} {us:9.2f} ({us / cell['tik_us']:.3f})")
    if cell["operator"] == "linear" and us < 0.98 * cell["tik_us"]:
        line += f"\n  ours: {cell['plan']}\n  peer: {cell['peer_plan']}"
    return line


def parse():
    parser = result.parser(__doc__)
    parser.add_argument("--library", required=True, help="the shared library of the operators")
    parser.add_argument("--peer", required=True, help="the shared library of peer.cu")
    return parser.parse_args()


def main():
    options = parse()
    torch.manual_seed(1)
    timer = timing.Timer()
    library, peer = contracts.Operators(options.library), c.CDLL(options.peer)
    limits = Limits(peer, timer)
    largest = max(cells.ROWS)
    arena = {
        "x": torch.randn(largest * 12288, device="cuda", dtype=torch.bfloat16),
        "weight": torch.randn(WEIGHT_BYTES, device="cuda", dtype=torch.bfloat16) / 16,
        "out": torch.empty(largest * 24576, device="cuda", dtype=torch.bfloat16),
        "workspace": torch.empty(contracts.LINEAR_WORKSPACE_BYTES, device="cuda", dtype=torch.uint8),
    }
    machine = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda, "cublaslt": peer.dense_peer_version(),
               "tensor_core_tflops": round(limits.operations_a_us / 1e6, 1)}
    print(json.dumps(machine))
    measured, left_out = [], []

    def keep(cell):
        measured.append(cell)
        print(line_of(cell), flush=True)

    def save():
        if not options.json:
            return
        head = {"commit": options.commit, "command": options.command, "machine": machine, "method": result.method(__doc__),
                "rounds": ROUNDS, "not_measured": left_out, "goals": goals(measured)}
        result.write(options.json, head, measured)

    for model, in_features in cells.HEADS[:1] if options.quick else cells.HEADS:
        keep(measure_head(library, timer, limits, arena, model, in_features))
    for projection in cells.PROJECTIONS[:4] if options.quick else cells.PROJECTIONS:
        for rows in cells.ROWS:
            if time.time() - STARTED > options.seconds:
                left_out.append(f"{projection.model} {projection.name} {rows}")
            else:
                keep(Linear(library, peer, timer, limits, arena, projection, rows).measure())
        save()
    print(json.dumps(goals(measured), indent=1))
    print(f"took {time.time() - STARTED:.0f} s")
    if left_out:
        print(f"not measured within {options.seconds:.0f} s: {', '.join(left_out)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
