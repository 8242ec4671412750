"""What the records of a search by a model say, beside what went over the wire. Each check returns sentences for what does not hold.

Pure functions on what read_records and read_exchanges return; findings_test.py breaks each thing once.
"""

import datetime
import json
import sqlite3
import statistics

import wire


def read_records(database):
    """Every record in order of creation, as (type, body)."""
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        return [(kind, json.loads(body)) for kind, body in connection.execute("SELECT type, body FROM record ORDER BY sequence")]


def read_exchanges(file):
    """Every answered call: its request, its raw answer, and what that adds up to."""
    with open(file) as lines:
        ended = [line for line in map(json.loads, lines) if "exchange" in line]
    return [line | {"answer": wire.answer(line["body"])} for line in ended]


def of_type(records, kind):
    return [body for each, body in records if each == kind]


def outcome_of(report):
    """(verified, the stage that failed) of an evaluator's report."""
    failed = next((stage["name"] for stage in report["stages"] if stage["outcome"] == "failed"), None)
    return failed is None, failed


def calls_of(exchanges):
    return [call for exchange in exchanges for call in exchange["answer"]["calls"]]


def arguments_of(exchanges, tool):
    """The arguments of the calls of one tool that are JSON."""
    found = []
    for name, text in calls_of(exchanges):
        try:
            found += [json.loads(text)] if name == tool else []
        except json.JSONDecodeError:
            pass  # cut off by the limit of an answer
    return found


def steps_done(status, steps):
    return [] if status["audits"] >= steps else [f"{status['audits']} of {steps} steps were done"]


def streamed(exchanges):
    """Every request asked for a stream with its usage; answers came in parts, and some call in several."""
    wrong = []
    for exchange in exchanges:
        request, number = exchange["request"], exchange["exchange"]
        if request.get("stream") is not True or not request.get("stream_options", {}).get("include_usage"):
            wrong.append(f"exchange {number} asked for no stream with usage")
        if exchange["status"] == 200 and len(wire.chunks(exchange["body"])) < 3:
            wrong.append(f"the answer of exchange {number} was no stream")
    if not any(exchange["answer"]["pieces"] > len(exchange["answer"]["calls"]) > 0 for exchange in exchanges):
        wrong.append("no call came in pieces")
    return wrong


def calls_match_schemas(exchanges):
    """Every call that the limit of an answer did not cut is one that the schemas of its request allow."""
    wrong = [] if calls_of(exchanges) else ["no tool call came over the wire"]
    for exchange in exchanges:
        schemas = wire.schemas(exchange["request"])
        for name, text in exchange["answer"]["calls"]:
            if exchange["answer"]["finish"] == "length":
                continue
            found = wire.violation(schemas[name], json.loads(text)) if name in schemas else "it was not offered"
            if found:
                wrong.append(f"exchange {exchange['exchange']}: {name}: {found}")
    return wrong


def usage_is_the_servers(records, exchanges, status):
    """One usage record a call, with the tokens that the server counted."""
    wrong, counted = [], {exchange["exchange"]: exchange["answer"]["usage"] for exchange in exchanges}
    usages = of_type(records, "model_usage")
    for usage in usages:
        sent = counted.pop(usage["raw"]["exchange"], None)
        recorded = (usage["input_tokens"], usage["output_tokens"])
        if usage["estimated"] or not sent or recorded != (sent["prompt_tokens"], sent["completion_tokens"]) or 0 in recorded:
            wrong.append(f"usage {recorded} of exchange {usage['raw']['exchange']} is not what the server counted: {sent}")
    wrong += [f"exchange {number} has no usage record" for number in counted]
    total = sum(usage["input_tokens"] + usage["output_tokens"] for usage in usages)
    if total != status["model_tokens"]:
        wrong.append(f"status shows {status['model_tokens']} tokens, the records {total}")
    return wrong


def words_are_the_models(records, exchanges):
    """Every action has the words of a submit call over the wire, and every decision those of a decide call or none of a model's."""
    submitted = {(call["scope"], call["expected_effect"], call["contradiction"]) for call in arguments_of(exchanges, "submit")}
    decided = {(each["interpretation"], each["reason"]) for call in arguments_of(exchanges, "decide") for each in call["decisions"]}
    wrong = []
    for action in of_type(records, "action"):
        if (action["scope"], action["expected_effect"], action["contradiction"]) not in submitted:
            wrong.append(f"{action['id']} has words that no call submitted")
    for decision in of_type(records, "lineage_decision"):
        plain = decision["interpretation"].startswith("The model gave no decision")
        if decision["agent"].startswith("model ") and not plain and (decision["interpretation"], decision["reason"]) not in decided:
            wrong.append(f"{decision['id']} has words that no call decided")
    return wrong


def audits_are_the_evaluators(records, exchanges, status):
    """One audit an implementation, about its very source under the sealed specification (the root's comes before the seal), by the
    evaluator that audited the root; no model was offered a tool for it."""
    wrong = []
    implementations = {body["id"]: body for body in of_type(records, "implementation")}
    audits = of_type(records, "audit")
    if sorted(audit["implementation"] for audit in audits) != sorted(implementations):
        wrong.append("not every implementation has exactly one audit")
    root = audits[0]["report"]
    for audit in audits:
        report, about = audit["report"], implementations[audit["implementation"]]
        expected = {"source_sha256": about["source_sha256"], "evaluator_version": root["evaluator_version"]}
        if report is not root:
            expected["specification_sha256"] = status["seal"]
        wrong += [f"{audit['id']}: its {key} is {report[key]}, not {value}" for key, value in expected.items() if report[key] != value]
    offered = {name for exchange in exchanges for name in wire.schemas(exchange["request"])}
    if "audit" in offered:
        wrong.append("the model was offered a tool that audits")
    return wrong


def rules_hold(records):
    """A parent is verified and was audited before; what is active or archived is verified."""
    wrong, verified = [], set()
    for kind, body in records:
        if kind == "audit" and outcome_of(body["report"])[0]:
            verified.add(body["implementation"])
        if kind == "action" and not set(body["parents"]) <= verified:
            wrong.append(f"{body['id']} was made from {body['parents']}, not all verified")
        if kind == "lineage_decision" and body["status"] != "abandon" and body["implementation"] not in verified:
            wrong.append(f"{body['id']} gives {body['implementation']}, which is not verified, the status {body['status']}")
    return wrong


def differing_outcomes(records, again):
    """`again`: what the evaluator says of the same sources without any search, id -> (verified, stage that failed)."""
    recorded = {audit["implementation"]: outcome_of(audit["report"]) for audit in of_type(records, "audit")}
    return [f"{name}: recorded {recorded[name]}, evaluated again {outcome}" for name, outcome in again.items() if recorded[name] != outcome]


def all_of(records, exchanges, status, steps):
    return [
        *steps_done(status, steps),
        *streamed(exchanges),
        *calls_match_schemas(exchanges),
        *usage_is_the_servers(records, exchanges, status),
        *words_are_the_models(records, exchanges),
        *audits_are_the_evaluators(records, exchanges, status),
        *rules_hold(records),
    ]


def steps_in_order(records):
    """Each step from the record before its first call to the decision: its outcome, its calls, how long it took."""
    steps, begun, requests, audit = [], None, 0, None
    for kind, body in records:
        at = datetime.datetime.fromisoformat(body["created_at"])
        if kind == "model_usage":
            requests += 1
        elif kind == "audit":
            audit = body
        elif kind == "lineage_decision" and requests:
            verified, failed = outcome_of(audit["report"])
            steps.append(
                {
                    "implementation": audit["implementation"],
                    "outcome": "verified" if verified else f"failed: {failed}",
                    "decided": f"{body['implementation']}: {body['status']}",
                    "requests": requests,
                    "seconds": round((at - begun).total_seconds(), 1),
                }
            )
            requests = 0
        if not requests:
            begun = at
    return steps


def summary(records, exchanges, runs):
    usages = of_type(records, "model_usage")
    calls = {}
    for name, _ in calls_of(exchanges):
        calls[name] = calls.get(name, 0) + 1
    offspring = of_type(records, "audit")[1:]
    prompts = [usage["input_tokens"] for usage in usages]
    cached = [(exchange["answer"]["usage"] or {}).get("prompt_tokens_details", {}).get("cached_tokens", 0) for exchange in exchanges]
    return {
        "steps": len(offspring),
        "verified": sum(outcome_of(audit["report"])[0] for audit in offspring),
        "failed": [outcome_of(audit["report"])[1] for audit in offspring if not outcome_of(audit["report"])[0]],
        "runs": len(runs),
        "in_order": steps_in_order(records),
        "seconds_a_step": sum(run["seconds"] for run in runs) / max(1, len(offspring)),
        "requests": len(exchanges),
        "calls": dict(sorted(calls.items())),
        "cut_answers": sum(exchange["answer"]["finish"] == "length" for exchange in exchanges),
        "input_tokens": sum(prompts),
        "cached_tokens": sum(cached),
        "output_tokens": sum(usage["output_tokens"] for usage in usages),
        "median_prompt_tokens": statistics.median(prompts) if prompts else 0,
        "largest_prompt_tokens": max(prompts, default=0),
    }


def in_words(counts):
    calls = ", ".join(f"{count} {name}" for name, count in counts["calls"].items())
    failed = f"; failed: {', '.join(counts['failed'])}" if counts["failed"] else ""
    return (
        f"test-llm: {counts['steps']} steps, {counts['verified']} verified{failed}; {counts['seconds_a_step']:.0f} s a step, {counts['runs']} runs\n"
        f"test-llm: {counts['requests']} requests with {sum(counts['calls'].values())} calls ({calls}), {counts['cut_answers']} answers cut\n"
        f"test-llm: {counts['input_tokens']} input tokens ({counts['cached_tokens']} cached), {counts['output_tokens']} output tokens; "
        f"prompts {counts['median_prompt_tokens']:.0f} in the median, {counts['largest_prompt_tokens']} at most"
    )
