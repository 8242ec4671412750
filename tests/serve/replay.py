"""Replays the two recorded searches, one a wire format: no service, real audits.

replay.py TIK SOURCE_DIR. The recordings are made by model_search.py TIK SOURCE_DIR tests/serve/recordings.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

TIK, SOURCE = sys.argv[1], sys.argv[2]


def tik(*arguments):
    done = subprocess.run([TIK, *arguments], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"tik {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


with tempfile.TemporaryDirectory(prefix="tik-replay-") as folder:
    root = os.path.join(folder, "root")
    tik("new", root, "--spec", os.path.join(SOURCE, "tests/serve/spec.toml"), "--root", os.path.join(SOURCE, "operators/attention/cpu"))
    made = {}
    for api in ("openai", "anthropic"):
        search = os.path.join(folder, api)
        shutil.copytree(root, search)
        recording = os.path.join(SOURCE, "tests/serve/recordings", api + ".jsonl")
        said = tik("run", search, "--agent", "replay", "--api", api, "--exchanges", recording, "--steps", "3")
        assert "this run's limit of 3 steps is reached" in said, said
        log = json.loads(tik("log", search, "--json"))
        made[api] = [json.loads(tik("show", attempt["id"], "-C", search, "--json"))["record"]["source_sha256"] for attempt in log["attempts"]]
        assert len(made[api]) == 4, log
        status = json.loads(tik("status", search, "--json"))
        assert status["model_tokens"] > 100000 and status["efficiency"] is not None, status
        report = open(os.path.join(search, "report/report.md")).read()
        assert "## Model usage" in report and os.path.exists(os.path.join(search, "report/efficiency.svg"))
        tik("verify", search)
        print(f"{api}: {status['audits']} audits, {status['model_tokens']} recorded tokens, efficiency {status['efficiency']:.2f}")
    assert made["openai"] == made["anthropic"], "both recordings are of the same edits"
