"""What the benches of operators share: their options, the order in which contenders are timed, and the file of results."""

import argparse
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys


def commit():
    """The commit of the checkout that the script lies in, with "-dirty" where files differ from it, or "unknown"."""
    try:
        root = pathlib.Path(__file__).resolve().parent
        describe = ["git", "-C", str(root), "describe", "--always", "--exclude", "*", "--abbrev=40", "--dirty"]
        return subprocess.run(describe, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def parser(doc):
    """The options of every bench; a bench adds its own."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=pathlib.Path, help="write all figures here")
    parser.add_argument("--quick", action="store_true", help="one model alone")
    parser.add_argument("--seconds", type=float, default=math.inf, help="start no cell after these many seconds; say which are left out")
    parser.add_argument("--commit", default=commit(), help="the commit the library was built from")
    parser.add_argument("--command", default=" ".join(sys.argv), help="what to record as the command that repeats the run")
    return parser


def in_turns(contenders, rounds, time):
    """Samples by name: time(contender) of every contender in each round, after one that does not count.

    Each round has an order of its own: whoever follows a contender that heats the chip finds a lower clock."""
    for contender in contenders.values():
        time(contender)
    samples = {name: [] for name in contenders}
    order, shuffle = list(contenders), random.Random(1).shuffle
    for _ in range(rounds):
        shuffle(order)
        for name in order:
            samples[name].append(time(contenders[name]))
    return samples


def summary(samples):
    return {"median": statistics.median(samples), "smallest": min(samples), "largest": max(samples)}


def rounded(samples):
    """The samples of every contender as they are kept: to a nanosecond."""
    return {name: [round(value, 3) for value in values] for name, values in samples.items()}


def geometric_mean(values):
    return math.exp(statistics.mean(math.log(value) for value in values))


def method(doc):
    """What a script's doc says of how it measures: its last paragraph, as one line."""
    return " ".join(doc.strip().split("\n\n")[-1].split())


def text_of(head, cells):
    """The file of results: JSON with one cell a line."""
    lines = ",\n  ".join(json.dumps(cell) for cell in cells)
    return json.dumps(head, indent=1)[:-2] + f',\n "cells": [\n  {lines}\n ]\n}}\n'


def write(path, head, cells):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text_of(head, cells))
