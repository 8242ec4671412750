#!/usr/bin/env python3
"""Measures the fused QK-norm, RoPE and write into the cache of many tokens on a Hopper GPU, in every way to cut it into blocks.

  turns.py --library libtik_operators_sm90.so --turns libtik_token_wise_bench.so [--json FILE] [--quick] [--seconds N]

A cut is the most threads of a block and the tokens in a row that a thread takes one after the other; with 0, all blocks are resident and share
all tokens. `library` is the call itself, in the cut that it chooses. For every cell: [median, smallest, largest] of replays of CUDA graphs that
hold 4 to 64 launches, all cuts in an order of its own each round; launches rotate among at least two copies of all tensors, and the L2 cache is
overwritten before each replay. Every cut's output is compared with the library's, bit by bit.
"""

import ctypes as c
import json
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
import timer as timing

ROUNDS = 7
GRAPH_MICROSECONDS = 1200
MODELS = cells.MODELS[:2]  # the third has the heads of the second
CUTS = [(threads, turns) for threads in (384, 192) for turns in (0, 1, 2, 4, 8)]


def name_of(cut):
    threads, turns = cut
    return f"{threads} threads, " + (f"{turns} in a row" if turns else "resident")


class Cuts:
    """The fused step of a subject in one cut after the other."""

    def __init__(self, path):
        self.library = c.CDLL(path)
        self.library.turns_last_error.restype = c.c_char_p

    def launcher(self, subject, cut):
        calls = [subject.tik(s)[1] for s in subject.sets]
        for args in calls:
            args.stream = subject.workplace.stream

        def launch(i):
            if self.library.turns_launch(c.byref(calls[i % len(calls)]), *cut) != 0:
                raise RuntimeError(f"{name_of(cut)}: {self.library.turns_last_error().decode()}")

        return launch


def outputs_of(subject, launch):
    """What a launch on the first set writes, as bits: fill values stay where it writes nothing."""
    first = subject.sets[0]
    for tensor in (first.q_out, first.k_cache, first.v_cache):
        tensor.fill_(float("nan"))
    launch(0)
    return [tensor.view(torch.int16).clone() for tensor in (first.q_out, first.k_cache, first.v_cache)]


def measure(subject, cuts, timer):
    ways = {"library": subject.launcher()} | {name_of(cut): cuts.launcher(subject, cut) for cut in CUTS}
    with torch.no_grad(), torch.cuda.stream(timer.stream):
        expected = outputs_of(subject, ways["library"])
        differ = [name for name, launch in ways.items() if not all(map(torch.equal, outputs_of(subject, launch), expected))]
    took = timer.time(timer.capture(ways["library"], 4)) / 4
    launches = max(4, min(64, int(GRAPH_MICROSECONDS / took)))
    samples = timer.compare({name: timer.capture(launch, launches) for name, launch in ways.items()}, launches, ROUNDS)
    figures = {name: [round(f(values), 3) for f in (statistics.median, min, max)] for name, values in samples.items()}
    return {"operator": subject.operator, "shape": subject.shape, "rows": subject.tokens, "cuts_us": figures,
            "fastest": min(figures, key=lambda name: figures[name][0]), "launches": launches, "sets": len(subject.sets),
            "cuts_with_other_bits": differ}


def lines_of(cell):
    lines = [f"{cell['shape'].split(',')[0]} {cell['rows']}"]
    for name, (median, smallest, largest) in sorted(cell["cuts_us"].items(), key=lambda entry: entry[1][0]):
        lines.append(f"  {name:24} {median:8.2f} us ({smallest:.2f} to {largest:.2f})")
    lines += [f"  OTHER BITS: {name}" for name in cell["cuts_with_other_bits"]]
    return "\n".join(lines)


def main():
    parser = result.parser(__doc__)
    parser.add_argument("--library", required=True, help="the shared library of the operators")
    parser.add_argument("--turns", required=True, help="the shared library of turns.cu")
    options = parser.parse_args()
    started = time.time()
    torch.manual_seed(1)
    timer = timing.Timer()
    workplace = subjects.Workplace(contracts.Operators(options.library), "cuda", timer.stream.cuda_stream)
    cuts = Cuts(options.turns)
    machine = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda}
    print(json.dumps(machine))
    measured, left_out = [], []
    for model in reversed(MODELS[-1:] if options.quick else MODELS):
        for tokens in cells.MANY:
            if time.time() - started > options.seconds:
                left_out.append(f"{model.name} {tokens}")
                continue
            measured.append(measure(subjects.QkNormRopeKvWrite(workplace, model, tokens), cuts, timer))
            print(lines_of(measured[-1]), flush=True)
            if options.json:
                head = {"commit": options.commit, "command": options.command, "machine": machine, "method": result.method(__doc__),
                        "rounds": ROUNDS, "not_measured": left_out}
                result.write(options.json, head, measured)
    if left_out:
        print(f"not measured within {options.seconds:.0f} s: {', '.join(left_out)}")
    print(f"took {time.time() - started:.0f} s")
    return 1 if any(cell["cuts_with_other_bits"] for cell in measured) else 0


if __name__ == "__main__":
    sys.exit(main())
