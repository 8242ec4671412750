"""What chat completions put on the wire: streams, the calls and the usage in them, and whether a call is what its schema allows.

Pure functions; findings_test.py tries them without a model.
"""

import json


def chunks(body):
    """The JSON documents of an event stream, in order. The final [DONE] and a line that was cut off are none."""
    found = []
    for line in body.splitlines():
        try:
            found += [json.loads(line[5:])] if line.startswith("data:") else []
        except json.JSONDecodeError:
            pass
    return found


def answer(body):
    """What a stream adds up to: calls as (name, arguments as text), pieces they came in, usage, finish_reason."""
    calls, pieces, usage, finish = {}, 0, None, None
    for chunk in chunks(body):
        usage = chunk.get("usage") or usage
        for choice in chunk.get("choices") or []:
            finish = choice.get("finish_reason") or finish
            for part in choice.get("delta", {}).get("tool_calls") or []:
                pieces += 1
                call = calls.setdefault(part.get("index", 0), ["", ""])
                call[0] += part.get("function", {}).get("name") or ""
                call[1] += part.get("function", {}).get("arguments") or ""
    return {"calls": [tuple(call) for call in calls.values()], "pieces": pieces, "usage": usage, "finish": finish}


def schemas(request):
    return {tool["function"]["name"]: tool["function"]["parameters"] for tool in request["tools"]}


def violation(schema, value, place="arguments"):
    """The first thing in which a value is not what a schema says, in a sentence; None when it is. Knows what TIK's schemas use."""
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}
    kind = kinds[schema["type"]]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        return f"{place} is no {schema['type']}: {value!r}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{place} is {value!r}, not one of {schema['enum']}"
    if kind is str and len(value) > schema.get("maxLength", len(value)):
        return f"{place} has {len(value)} characters, more than {schema['maxLength']}"
    if kind is int and not schema["minimum"] <= value <= schema["maximum"]:
        return f"{place} is {value}, not from {schema['minimum']} to {schema['maximum']}"
    if kind is list:
        if not schema.get("minItems", 0) <= len(value) <= schema["maxItems"]:
            return f"{place} has {len(value)} elements"
        return next((found for index, each in enumerate(value) if (found := violation(schema["items"], each, f"{place}[{index}]"))), None)
    if "anyOf" in schema and all(violation(way, value, place) for way in schema["anyOf"]):
        return f"{place} is none of the alternatives: {value!r}"
    if kind is dict:
        missing = [name for name in schema.get("required", []) if name not in value]
        unknown = [name for name in value if name not in schema["properties"]]
        if missing or unknown:
            return f"{place}: missing {missing}, unknown {unknown}"
        return next((found for name, each in value.items() if (found := violation(schema["properties"][name], each, f"{place}.{name}"))), None)
    return None
