"""Searches with a language model as the agent, against a service that misbehaves in turn: real HTTP, real streams, real audits.

model_search.py TIK SOURCE_DIR [RECORDINGS]: exit code 0 when all holds. With RECORDINGS, the exchanges of the first two searches are written
there, for the test that replays them.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from model_server import PLANTED, Service

TIK, SOURCE = sys.argv[1], sys.argv[2]
RECORDINGS = sys.argv[3] if len(sys.argv) > 3 else None
KEY = "sk-planted-0123456789abcdef"
FAULTS = ["429", "500", "cut", "bad-arguments", "unknown-tool", "endless", "empty", "wrong-length", "slow", "silent", "not-json", "529", "408"]


def tik(*arguments, code=0, key=KEY):
    environment = dict(os.environ, PLANTED_KEY=key)
    done = subprocess.run([TIK, *arguments], capture_output=True, text=True, env=environment, timeout=600)
    assert done.returncode == code, f"tik {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}"
    assert KEY not in done.stdout + done.stderr, "the key was printed"
    return done.stdout + done.stderr


def model(service, api, *more):
    base = service.address + ("/v1" if api == "openai" else "")
    return ["--agent", "model", "--api", api, "--base-url", base, "--model", "simple-1", "--key-env", "PLANTED_KEY", *more]


def no_key_below(folder):
    for path, _, files in os.walk(folder):
        for name in files:
            with open(os.path.join(path, name), "rb") as file:
                assert KEY.encode() not in file.read(), f"{path}/{name} holds the key"


def status(search):
    return json.loads(tik("status", search, "--json"))


def sources(search):
    log = json.loads(tik("log", search, "--json", "--limit", "0"))
    ids = [attempt["id"] for attempt in log["attempts"]]
    return {name: json.loads(tik("show", name, "-C", search, "--json"))["record"]["source_sha256"] for name in ids}


def whole_search(folder, root, api):
    """Three steps while every fault is played once; the key reaches nothing but the service."""
    search = os.path.join(folder, api)
    shutil.copytree(root, search)
    with Service(FAULTS) as service:
        said = tik("run", search, "--steps", "3", "--output-tokens", "256", *model(service, api))
        requests = service.requests
    assert "this run's limit of 3 steps is reached" in said, said
    now = status(search)
    assert now["audits"] == 3 and now["model_tokens"] > 0, now
    assert len(requests) > len(FAULTS) + 10, len(requests)
    assert requests[1][0] - requests[0][0] >= 1.0, "retry-after is one second"
    header = "Authorization" if api == "openai" else "x-api-key"
    assert all(KEY in sent[2].get(header, "") for sent in requests), "the service gets the key"
    if api == "anthropic":
        assert b"cache_control" in requests[0][3]
    else:
        again = [call["function"]["arguments"] for sent in requests for message in json.loads(sent[3])["messages"] for call in message.get("tool_calls", [])]
        assert all(isinstance(json.loads(arguments), dict) for arguments in again), "a broken call goes back as a whole one"
        assert any("unreadable" in arguments for arguments in again)
    tik("verify", search)
    tik("export", search, "--out", os.path.join(folder, api + "-exported"))
    no_key_below(search)
    no_key_below(os.path.join(folder, api + "-exported"))
    exchanges = [json.loads(line) for line in open(os.path.join(search, "exchanges.jsonl"))]
    ended = [line for line in exchanges if "exchange" in line]
    assert len(ended) == len(requests), (len(ended), len(requests))
    if RECORDINGS:
        os.makedirs(RECORDINGS, exist_ok=True)
        with open(os.path.join(RECORDINGS, api + ".jsonl"), "w") as file:
            for line in ended:
                line["request"] = None  # a replay needs none
                line["body"] = line["body"][:4000]
                file.write(json.dumps(line) + "\n")
    print(f"{api}: {now['audits']} audits by {len(requests)} requests, {len(FAULTS)} of them answered badly; {now['model_tokens']} tokens, {now['speedup']:.2f}x")

    again = os.path.join(folder, api + "-replayed")
    shutil.copytree(root, again)
    tik("run", again, "--agent", "replay", "--api", api, "--steps", "3", "--exchanges", os.path.join(search, "exchanges.jsonl"))
    assert sources(again) == sources(search), "a replay makes the same implementations"
    ratio = status(again)["model_tokens"] / now["model_tokens"]
    assert abs(ratio - 1) < 0.02, f"counts are those of the recording; only estimates follow the present text: {ratio}"
    print(f"{api}: replayed without the service, the same three implementations")


def endings(folder, root):
    """What ends a run, with a sentence, and how often the service was asked."""

    def run(name, faults, *more, code, words, asked=None, api="openai"):
        search = os.path.join(folder, name)
        shutil.copytree(root, search)
        with Service(faults) as service:
            said = tik("run", search, "--steps", "3", *model(service, api, *more), code=code)
            count = len(service.requests)
        for word in words:
            assert word in said, f"{name}: no '{word}' in: {said}"
        assert asked is None or count == asked, f"{name}: asked {count} times"
        tik("verify", search)
        print(f"{name}: {said.strip().splitlines()[0]}")
        return search

    run("quota", ["quota"] * 9, code=3, words=["429", "insufficient_quota"], asked=1)
    run("unauthorized", ["401"] * 9, code=3, words=["401", "(key)"], asked=1)
    run("unwell", ["500"] * 9, "--retries", "2", code=3, words=["500", "3 times"], asked=3)
    run("too-long", ["429-long"] * 9, code=3, words=["3600 seconds"], asked=1)
    run("tokens", [], "--max-tokens", "500", code=0, words=["limit of 500 model tokens is reached"], asked=1)
    run("cost", [], "--max-cost", "0.001", "--input-price", "1", "--output-price", "4", code=0, words=["limit of 0.001 in cost"])
    run("stalled", ["slow-forever"] * 9, "--idle-seconds", "1", "--retries", "0", code=3, words=["gave no usable answer"], asked=1)
    silent = run("silent", ["silent"] * 40, code=0, words=["stopped: "])
    decided = json.loads(tik("show", "L1", "-C", silent, "--json"))
    assert "gave no decision" in decided["record"]["interpretation"], decided

    search = os.path.join(folder, "dead")
    shutil.copytree(root, search)
    begin = time.time()
    said = tik("run", search, "--agent", "model", "--api", "openai", "--base-url", "http://127.0.0.1:9", "--model", "m", "--retries", "1", code=3)
    assert "gave no usable answer" in said and time.time() - begin < 20, said
    print(f"dead: {said.strip()}")
    for wrong, word in (
        (["--agent", "model"], "--api"),
        (["--agent", "model", "--api", "openai"], "--base-url is missing"),
        (["--agent", "model", "--api", "openai", "--base-url", "http://user:pass@host/v1", "--model", "m"], "plain http"),
        (["--agent", "model", "--api", "openai", "--base-url", "http://127.0.0.1:9", "--model", "m", "--key-env", "NO_SUCH"], "not set"),
        (["--without", "history"], "built-in agent"),
        (["--agent", "model", "--without", "nothing"], "Known: history"),
    ):
        assert word in tik("run", search, *wrong, code=2), wrong


def kill_in_call(search, service, requests):
    """SIGKILL while so many requests have come and the last is not answered."""
    environment = dict(os.environ, PLANTED_KEY=KEY)
    process = subprocess.Popen([TIK, "run", search, *model(service, "openai")], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while len(service.requests) < requests:
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.02)
    time.sleep(0.3)
    process.send_signal(signal.SIGKILL)
    process.wait()


def killed(folder, root):
    """SIGKILL in the middle of a call: the next run goes on, and the lost call is accounted once, as an estimate."""
    search = os.path.join(folder, "killed")
    shutil.copytree(root, search)
    with Service(["", "", "slow-forever"]) as service:
        kill_in_call(search, service, 3)
        assert status(search)["audits"] == 0
        tik("verify", search)
        tik("run", search, "--steps", "1", *model(service, "openai"))
        tik("run", search, "--steps", "1", *model(service, "openai"))
    tik("export", search, "--out", os.path.join(folder, "killed-exported"))
    usages = []
    for line in open(os.path.join(folder, "killed-exported", "records.jsonl")):
        record = json.loads(line)
        if record.get("type") == "model_usage":
            usages.append(record["body"] if isinstance(record["body"], dict) else json.loads(record["body"]))
    lost = [usage for usage in usages if "ended during this call" in str(usage["raw"].get("failure"))]
    assert len(lost) == 1 and lost[0]["estimated"] and lost[0]["input_tokens"] > 0, lost
    assert status(search)["audits"] == 2
    print(f"killed: resumed; the lost call counts {lost[0]['input_tokens']} estimated tokens, once")


def killed_while_editing(folder, root):
    """SIGKILL when the draft is half made: nothing of it is recorded, and nothing of it is in what the next run makes."""
    search = os.path.join(folder, "half-made")
    shutil.copytree(root, search)
    with Service(["", "", "", "stray-file", "slow-forever"]) as service:
        kill_in_call(search, service, 5)
        assert os.path.exists(os.path.join(search, "work/action/stray.h")), "the draft was being edited"
        assert len(sources(search)) == 1 and status(search)["audits"] == 0, "nothing of it is recorded"
        tik("verify", search)
        tik("run", search, "--steps", "1", *model(service, "openai"))
    tik("verify", search)
    files = subprocess.run(["git", "-C", search + "/sources.git", "ls-tree", "-r", "--name-only", "refs/tik/I1"], capture_output=True, text=True, check=True).stdout
    assert "numerics.h" in files and "stray.h" not in files, files
    assert len(sources(search)) == 2
    print("half-made: killed while editing; the next run began its draft anew")


def within_frames(text, words):
    """How often the words stand in the text; each time within a frame whose mark is at its two ends and nowhere else."""
    count = 0
    for at in (match.start() for match in re.finditer(re.escape(words), text)):
        opened = [match for match in re.finditer(r'<data source="[^"]*" mark="([0-9a-f]+)">\n', text) if match.end() <= at]
        assert opened, text[:2000]
        mark = opened[-1].group(1)
        assert text.find('</data mark="%s">' % mark) > at and text.count(mark) == 2, (mark, text[:2000])
        count += 1
    return count


def planted_instruction(folder, root):
    """A compiler message that gives orders reaches the model as data, and nothing that it asks for is done."""
    search = os.path.join(folder, "planted")
    shutil.copytree(root, search)
    with Service(["", "", "", "planted"]) as service:
        tik("run", search, "--steps", "1", *model(service, "openai"))
        seen = {}
        for _, _, _, body in service.requests:
            body = json.loads(body)
            assert PLANTED not in body["messages"][0]["content"], "the standing instructions hold nothing of it"
            stage = "manage" if any(tool["function"]["name"] == "decide" for tool in body["tools"]) else "act"
            assert "run_shell" not in {tool["function"]["name"] for tool in body["tools"]}
            for message in body["messages"][1:]:
                if message["role"] != "assistant":  # its own edit
                    key = stage, message["role"]
                    seen[key] = seen.get(key, 0) + within_frames(message["content"], PLANTED)
    assert seen.get(("act", "tool")) and seen.get(("manage", "user")), seen
    audited = json.loads(tik("show", "U2", "-C", search, "--json"))["record"]["report"]
    assert PLANTED in json.dumps(audited["stages"][0]), audited["stages"][0]
    assert status(search)["audits"] == 1 and len(sources(search)) == 2
    tik("verify", search)
    print(f"planted: an instruction in a compiler's message reached the model {sum(seen.values())} times, always as data")


def echoed_key(folder, root):
    """A service that writes the key into its answers does not get it into the records."""
    search = os.path.join(folder, "echoed")
    shutil.copytree(root, search)
    with Service(["", "", "", "", "", "echoes-key"]) as service:
        tik("run", search, "--steps", "1", *model(service, "openai"))
    action = json.loads(tik("show", "A1", "-C", search, "--json"))["record"]
    assert action["scope"] == "the key is Bearer (key)", action["scope"]
    tik("export", search, "--out", os.path.join(folder, "echoed-exported"))
    no_key_below(search)
    no_key_below(os.path.join(folder, "echoed-exported"))
    print("echoed: a key in an answer is recorded as (key)")


def held_to_schemas(folder, root):
    """A model that is held to schemas is told the ids that there are, and is sent no more than its context holds."""
    search = os.path.join(folder, "held")
    shutil.copytree(root, search)
    with Service(["", "asks-state", "asks-state"]) as service:  # the first decides about the root
        tik("run", search, "--steps", "1", "--require-calls", "--context-tokens", "6000", *model(service, "openai"))
        bodies = [json.loads(sent[3]) for sent in service.requests]
    assert "frontier" in bodies[2]["messages"][-1]["content"] and "stands above" in bodies[3]["messages"][-1]["content"]
    assert [tool["function"]["name"] for tool in bodies[3]["tools"]] == ["begin_action"], "what reads the same again is offered what does something else"
    assert all(body["tool_choice"] == "required" and body["parallel_tool_calls"] is False for body in bodies)
    schemas = {tool["function"]["name"]: tool["function"]["parameters"]["properties"] for body in bodies for tool in body["tools"]}
    assert schemas["begin_action"]["opportunity"]["enum"] == ["O1"], schemas["begin_action"]
    parents = schemas["begin_action"]["parents"]
    assert parents["items"]["enum"] == ["I0"] and parents["minItems"] == parents["maxItems"] == 1, parents
    offered = [{tool["function"]["name"] for tool in body["tools"]} for body in bodies]
    assert any("submit" in names for names in offered) and any("submit" not in names for names in offered)
    reading = {"state", "list_records", "read_record", "read_source", "diff", "evidence"}
    pressed = set()
    for earlier, later, names in zip(bodies, bodies[1:], offered[1:]):
        if later["messages"][:-2] == earlier["messages"]:  # one conversation; the service counts four bytes a token
            used = len(json.dumps(earlier)) // 4 + 40
            if used * 3 >= 6000 * 2:
                assert not names & reading, f"{names} with {used} of 6000 tokens used"
                pressed.add("reading")
            if used * 6 >= 6000 * 5 and "submit" in names:
                assert names == {"submit"}, f"{names} with {used} of 6000 tokens used"
                pressed.add("submit")
    assert pressed == {"reading", "submit"}, f"the conversation never grew enough: {pressed}"
    assert schemas["submit"]["workloads"]["items"]["enum"] == ["full-32", "decode-96"], schemas["submit"]
    assert schemas["decide"]["audit"]["enum"] == ["U2"], schemas["decide"]["audit"]
    largest = max(len(message["content"] or "") for body in bodies for message in body["messages"])
    assert largest < 6000 / 3 * 6, f"a message of {largest} bytes"
    assert status(search)["audits"] == 1
    print(f"held: schemas name what there is; the largest message has {largest} bytes")


def without(folder, root):
    for part in ("history", "numerics", "evidence", "opportunities", "lineage"):
        search = os.path.join(folder, "without-" + part)
        shutil.copytree(root, search)
        with Service() as service:
            tik("run", search, "--steps", "2", "--without", part, *model(service, "openai"))
            bodies = b"".join(sent[3] for sent in service.requests)
        assert status(search)["audits"] == 2
        action = json.loads(tik("show", "A1", "-C", search, "--json"))["record"]
        assert action["agent"] == f"model simple-1, without {part}", action["agent"]
        hidden = {"numerics": b"reduction-order", "evidence": b"latency_us", "opportunities": b"follow_ups", "history": b"list_records"}.get(part)
        assert hidden is None or hidden not in bodies, f"{part}: {hidden} was sent"
        tik("verify", search)
        print(f"without {part}: two steps, recorded as such")


with tempfile.TemporaryDirectory(prefix="tik-model-") as folder:
    root = os.path.join(folder, "root")
    tik("new", root, "--spec", os.path.join(SOURCE, "tests/serve/spec.toml"), "--root", os.path.join(SOURCE, "operators/attention/cpu"))
    for api in ("openai", "anthropic"):
        whole_search(folder, root, api)
    endings(folder, root)
    killed(folder, root)
    killed_while_editing(folder, root)
    planted_instruction(folder, root)
    echoed_key(folder, root)
    held_to_schemas(folder, root)
    without(folder, root)
