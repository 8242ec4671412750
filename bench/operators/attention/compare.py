#!/usr/bin/env python3
"""Times designs of the full-sequence kernel against one another and FlashAttention-3, and compares their bits.

  compare.py --harness libtik_attention_bench.so --design NAME=LIBRARY ... [--shape 32/8x128] [--tokens 2048 ...] [--lower 0 6 ...]
             [--below 0] [--pause SECONDS --launches 1] [--json FILE]

For every length (with --quick 4096 alone) and every --lower: batch 1, replays of CUDA graphs with cold L2, the designs and FlashAttention-3
(where its wheel is installed) in a random order in every round. --lower N makes the first tile of every part of 1024 keys score N bits
lower than the others, so that references lag behind their scores; --below N puts all scores N bits lower. --pause lets the chip rest before
every replay, and --launches 1 keeps replays short: then its clock is high. Ratios are of medians, the first design's time over the
design's: above 1 is faster.
"""

import hashlib
import json
import math
import pathlib
import statistics
import sys
import time

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path += [str(FOLDER.parent), str(FOLDER.parents[2] / "operators")]

import bench as bench_module
import cells as grid
import contracts
import harness as harness_module
import peers
import result as results_file


def shape(text):
    """(query heads, KV heads, head_dim) of a text like 32/8x128."""
    heads, head_dim = text.split("x")
    return *map(int, heads.split("/")), int(head_dim)


def parse():
    parser = results_file.parser(__doc__)
    parser.add_argument("--harness", required=True, help="the shared library of harness.h")
    parser.add_argument("--design", required=True, action="append", metavar="NAME=LIBRARY",
                        help="a library to measure; the first is the base")
    parser.add_argument("--shape", type=shape, default=shape("32/8x128"), help="query heads/KV heads x head_dim")
    parser.add_argument("--tokens", type=int, nargs="+", default=[1024, 2048, 4096, 8192, 16384])
    parser.add_argument("--lower", type=int, nargs="+", default=[0], help="bits")
    parser.add_argument("--below", type=int, default=0, help="bits")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--launches", type=int, help="launches of a graph; default: about 1.5 ms, at least 10")
    parser.add_argument("--pause", type=float, default=0, help="seconds before every replay")
    return parser.parse_args()


def shift_scores(cell, sets, bits, below):
    """Column 0 of the queries becomes 8, that of the keys what puts all scores `below` bits lower and those of each part's first
    tile `bits` more."""
    bits_a_unit = 8 / cell.head_dim ** 0.5 * math.log2(math.e)  # that a unit of a key adds to a score where the query has an 8
    for queries, keys, _, _ in sets:
        peers.tensor(queries, cell.query_tokens, cell.query_heads, cell.head_dim)[:, :, 0] = 8
        k = peers.tensor(keys, cell.tokens, cell.kv_heads, cell.head_dim)
        k[:, :, 0] = -below / bits_a_unit
        for part in range(0, cell.tokens, 1024):
            k[part:part + 128, :, 0] = -(below + bits) / bits_a_unit


def bits_of(bench, cell, sets):
    """A digest of the outputs of calls on up to four buffers."""
    digest = hashlib.sha256()
    launch = bench.launcher(cell, sets)
    for i, (_, _, _, out) in enumerate(sets[:4]):
        launch(i)
        bench.harness.synchronize()
        view = peers.tensor(out, cell.query_tokens, cell.query_heads, cell.head_dim)
        digest.update(view.view(peers.torch.int16).cpu().numpy().tobytes())
    return digest.hexdigest()[:12]


def measure(bench, designs, cell, lower, options):
    sets = bench.buffers(cell, 16)
    if lower or options.below:
        shift_scores(cell, sets, lower, options.below)
        peers.torch.cuda.synchronize()
    contenders, bits, launches = {}, {}, options.launches
    for name, library in designs.items():
        bench.library = library
        bits[name] = bits_of(bench, cell, sets)
        launch = bench.launcher(cell, sets)
        launches = launches or bench_module.launches_of(bench.estimate(launch))
        contenders[name] = bench.harness.capture(launch, launches)
    for peer, (_, replay) in bench.peer_replays(cell, sets, launches).items():
        contenders[peer] = replay

    def time_of(replay):
        time.sleep(options.pause)
        return bench.harness.time(replay) / launches

    samples = results_file.in_turns(contenders, options.rounds, time_of)
    return {"tokens": cell.tokens, "lower_bits": lower, "below_bits": options.below, "launches": launches, "bits": bits,
            "samples_us": results_file.rounded(samples)}


def main():
    options = parse()
    started = time.time()
    harness = harness_module.Harness(options.harness)
    modules = []
    try:
        import flash_attention_3_peer
        modules.append(flash_attention_3_peer)
    except (ImportError, OSError) as error:
        print(f"FlashAttention-3 is not measured: {error}")
    designs = dict(design.split("=", 1) for design in options.design)
    designs = {name: contracts.Attention(path) for name, path in designs.items()}
    bench = bench_module.Bench(harness, None, peers, modules)
    results = []
    for lower in sorted(options.lower):  # the memory is one for all: with 0 it must be as it was drawn
        for tokens in [4096] if options.quick else options.tokens:
            if time.time() - started > options.seconds:
                print(f"{tokens} +{lower}: not measured within {options.seconds:.0f} s")
                continue
            result = measure(bench, designs, grid.Cell("full", *options.shape, 1, tokens, tokens), lower, options)
            results.append(result)
            medians = {name: statistics.median(samples) for name, samples in result["samples_us"].items()}
            base = medians[next(iter(designs))]
            words = [f"{name} {median:.1f} us {base / median:.3f} {result['bits'].get(name, '')}"
                     for name, median in medians.items()]
            print(f"{tokens} +{lower}: " + ", ".join(words), flush=True)
    if options.json:
        head = {"commit": options.commit, "command": options.command, "machine": harness.machine(), "shape": options.shape,
                "method": results_file.method(__doc__)}
        results_file.write(options.json, head, results)


if __name__ == "__main__":
    main()
