"""The pure parts of `make test-llm` without a model: each check passes on a search in which all is well and fails when that is broken.

findings_test.py SOURCE_DIR: exit code 0 when all holds.
"""

import copy
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import findings
import wire

SOURCE = sys.argv[1]
TEXT = {"type": "string"}
WORDS = {"scope": "lanes", "expected_effect": "packed adds", "contradiction": "no change"}
SUBMIT = {
    "type": "object",
    "properties": {name: dict(TEXT) for name in WORDS} | {"workloads": {"type": "array", "items": TEXT | {"enum": ["full-32"]}, "minItems": 1, "maxItems": 100}},
    "required": list(WORDS),
    "additionalProperties": False,
}


def stream(name, arguments, usage, finish="tool_calls"):
    """The answer of a server to a request: one call in two pieces."""
    half = len(arguments) // 2
    deltas = [{"tool_calls": [{"index": 0, "function": {"name": name, "arguments": arguments[:half]}}]}]
    deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": arguments[half:]}}]}]
    documents = [{"choices": [{"delta": delta}]} for delta in deltas] + [{"choices": [{"delta": {}, "finish_reason": finish}]}]
    documents += [{"choices": [], "usage": usage}]
    return "".join(f"data: {json.dumps(document)}\n\n" for document in documents) + "data: [DONE]\n\n"


def exchange(number, name, arguments):
    tool = {"type": "function", "function": {"name": name, "parameters": SUBMIT if name == "submit" else {"type": "object", "properties": {}}}}
    body = stream(name, json.dumps(arguments), {"prompt_tokens": 100 + number, "completion_tokens": 9})
    request = {"stream": True, "stream_options": {"include_usage": True}, "tools": [tool]}
    return {"exchange": number, "request": request, "status": 200, "body": body, "answer": wire.answer(body)}


def audit(name, implementation, failed=None):
    stages = [{"name": stage, "outcome": "failed" if stage == failed else "passed"} for stage in ("build", "consistency")]
    report = {"source_sha256": "of " + implementation, "evaluator_version": "e", "specification_sha256": "s", "stages": stages}
    return "audit", {"id": name, "implementation": implementation, "report": report}


def usage(number):
    return "model_usage", {"input_tokens": 100 + number, "output_tokens": 9, "estimated": False, "raw": {"exchange": number}}


def whole():
    """A search of one step in which all is well, with the status that `tik status` shows."""
    decision = {"id": "L1", "implementation": "I0", "status": "continue", "agent": "model m", "interpretation": "The model gave no decision."}
    records = [
        ("implementation", {"id": "I0", "source_sha256": "of I0"}),
        audit("U1", "I0"),
        usage(1),
        ("implementation", {"id": "I1", "source_sha256": "of I1"}),
        ("action", {"id": "A1", "parents": ["I0"]} | WORDS),
        audit("U2", "I1", failed="build"),
        ("lineage_decision", decision | {"reason": "what is verified stays active"}),
    ]
    records = [(kind, body | {"created_at": f"2026-11-30T21:00:{2 * second:02}.000Z"}) for second, (kind, body) in enumerate(records)]
    return {"records": records, "exchanges": [exchange(1, "submit", WORDS | {"workloads": ["full-32"]})], "status": {"audits": 1, "model_tokens": 110, "seal": "s"}}


def broken(word, change):
    """The change to a whole search is found, and the sentence holds the word."""
    search = copy.deepcopy(whole())
    change(search)
    for each in search["exchanges"]:
        each["answer"] = wire.answer(each["body"])
    found = findings.all_of(search["records"], search["exchanges"], search["status"], 1)
    assert any(word in sentence for sentence in found), f"no sentence with '{word}': {found}"


def put(place, key, value):
    place[key] = value


search = whole()
assert findings.all_of(search["records"], search["exchanges"], search["status"], 1) == []
broken("0 of 1 steps", lambda it: put(it["status"], "audits", 0))
broken("no stream with usage", lambda it: put(it["exchanges"][0]["request"], "stream", False))
broken("was no stream", lambda it: put(it["exchanges"][0], "body", '{"choices": []}'))
broken("no tool call came", lambda it: put(it["exchanges"][0], "body", 'data: {"choices": []}\n\n' * 3))
broken("full-33", lambda it: put(it["exchanges"][0], "body", it["exchanges"][0]["body"].replace("full-32", "full-33")))
broken("has 5 characters", lambda it: put(it["exchanges"][0]["request"]["tools"][0]["function"]["parameters"]["properties"]["scope"], "maxLength", 4))
broken("it was not offered", lambda it: put(it["exchanges"][0], "body", it["exchanges"][0]["body"].replace("submit", "audit")))
broken("no usage record", lambda it: put(it["records"], 2, ("withdrawal", {})))
broken("not what the server counted", lambda it: put(it["records"][2][1], "input_tokens", 77))
broken("not what the server counted", lambda it: put(it["records"][2][1], "estimated", True))
broken("status shows", lambda it: put(it["status"], "model_tokens", 1))
broken("words that no call submitted", lambda it: put(it["records"][4][1], "scope", "something else"))
broken("words that no call decided", lambda it: put(it["records"][6][1], "interpretation", "all is well"))
broken("exactly one audit", lambda it: it["records"].pop(5))
broken("source_sha256", lambda it: put(it["records"][5][1]["report"], "source_sha256", "another"))
broken("specification_sha256", lambda it: put(it["records"][5][1]["report"], "specification_sha256", "another"))
broken("evaluator_version", lambda it: put(it["records"][5][1]["report"], "evaluator_version", "another"))
broken("tool that audits", lambda it: put(it["exchanges"][0]["request"]["tools"][0]["function"], "name", "audit"))
broken("not all verified", lambda it: put(it["records"][4][1], "parents", ["I1"]))
broken("which is not verified", lambda it: put(it["records"][6][1], "implementation", "I1"))

again = {"I0": (True, None), "I1": (True, None)}
assert findings.differing_outcomes(search["records"], again) == ["I1: recorded (False, 'build'), evaluated again (True, None)"]
counts = findings.summary(search["records"], search["exchanges"], [{"seconds": 12.0}])
assert "1 steps, 0 verified; failed: build; 12 s a step" in findings.in_words(counts), findings.in_words(counts)
assert counts["in_order"] == [{"implementation": "I1", "outcome": "failed: build", "decided": "I0: continue", "requests": 1, "seconds": 10.0}], counts
assert "101 input tokens" in findings.in_words(counts)

# A call that the limit of an answer cut off is no call that breaks its schema.
cut = exchange(1, "submit", {})
cut["body"] = stream("submit", '{"scope": "la', {}, finish="length")
cut["answer"] = wire.answer(cut["body"])
assert findings.calls_match_schemas([cut]) == [] and findings.arguments_of([cut], "submit") == []

# Ways of a call: one of them must fit.
WAYS = SUBMIT | {"required": [], "anyOf": [SUBMIT | {"properties": {"scope": TEXT}, "required": ["scope"]}]}
assert wire.violation(WAYS, {"scope": "a"}) is None
assert "none of the alternatives" in wire.violation(WAYS, {"scope": "a", "contradiction": "b"})

# The recorded search of tests/serve, with all that went wrong in it: its calls in order.
names = []
with open(os.path.join(SOURCE, "tests/serve/recordings/openai.jsonl")) as lines:
    for line in lines:
        names += [name for name, _ in wire.answer(json.loads(line)["body"])["calls"]]
steps = [name for name in names if name in ("begin_action", "edit", "build", "submit", "decide")]
assert steps[-5:] == ["begin_action", "edit", "build", "submit", "decide"], names
print(f"findings: {len(names)} recorded calls read; every broken record is found")
