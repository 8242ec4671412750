"""Drives whole searches through `tik mcp` with the MCP client of PyPI, in both forms of the protocol.

mcp_client.py TIK SOURCE_DIR: exit code 0 when all holds, 77 when the client is not installed (unless CI is set: then it must be).
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile

try:
    from mcp import Client, StdioServerParameters
    from mcp.shared.exceptions import MCPError
except ImportError as missing:
    print(f"skipped: the client is not installed ({missing}); script/setup installs it from requirements.txt")
    sys.exit(1 if os.environ.get("CI") else 77)

TIK, SOURCE = sys.argv[1], sys.argv[2]


def tik(*arguments):
    done = subprocess.run([TIK, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, f"tik {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


class Tools:
    """The tools of one connection; what is refused is an AssertionError unless `refused` expects it."""

    def __init__(self, client):
        self.client = client

    async def text(self, name, **arguments):
        result = await self.client.call_tool(name, arguments)
        text = "".join(part.text for part in result.content)
        assert not result.is_error, f"{name}: {text}"
        return text

    async def json(self, name, **arguments):
        return json.loads(await self.text(name, **arguments))

    async def refused(self, sentence, name, **arguments):
        result = await self.client.call_tool(name, arguments)
        text = "".join(part.text for part in result.content)
        assert result.is_error and sentence in text, f"{name} should be refused with '{sentence}': {text}"


def follow_up(implementation, audit):
    return {
        "mechanism": "More partial sums of a dot product fill vector registers",
        "implementations": [implementation],
        "evidence": [audit],
        "workloads": ["full-32"],
    }


WORDS = {
    "scope": "the lanes of a dot product",
    "expected_effect": "packed additions",
    "contradiction": "unchanged packed additions in the instruction histogram",
    "workloads": ["full-32", "decode-96"],
}


async def audited(tools, progress):
    while True:
        values = []

        async def on_progress(value, total, message, values=values):
            values.append(value)

        result = await tools.client.call_tool("audit", {"wait_seconds": 2}, progress_callback=on_progress)
        assert values == sorted(set(values)), f"the progress of a call must grow: {values}"
        progress.extend(values)
        answer = json.loads(result.content[0].text)
        if "running" not in answer:
            return answer


async def step(tools, opportunity, parent, lanes, audit):
    await tools.json("begin_action", opportunity=opportunity, parents=[parent])
    source = await tools.text("read_source", implementation="draft", file="numerics.h", find="constexpr int dot_lanes")
    before = source.splitlines()[0].split(": ", 1)[1].strip()
    now = before.rsplit("=", 1)[0] + f"= {lanes};"
    await tools.text("edit", file="numerics.h", find=before, replace=now)
    built = await tools.json("build")
    assert built["outcome"] == "passed", built
    submitted = await tools.json("submit", **WORDS)
    progress = []
    found = await audited(tools, progress)
    assert found["implementation"] == submitted["implementation"], found
    assert progress, "an audit reports its progress"
    kept = submitted["implementation"] if found["verified"] else parent
    decided = await tools.json(
        "decide",
        decisions=[
            {
                "implementation": kept,
                "status": "continue",
                "interpretation": "read",
                "reason": "more lanes",
                "follow_ups": [follow_up(kept, found["id"])],
            }
        ],
    )
    return kept, decided["follow_ups"][0], found["id"]


async def drive(folder, mode, tools):
    listed = {tool.name for tool in (await tools.client.list_tools()).tools}
    assert {"state", "begin_action", "edit", "build", "submit", "audit", "decide"} <= listed, listed
    state = await tools.json("state")
    assert state["awaiting_decision"] == "U1", state
    await tools.refused("awaits your decision", "begin_action", opportunity="O1", parents=["I0"])
    decided = await tools.json(
        "decide",
        decisions=[
            {"status": "continue", "interpretation": "scalar loops", "reason": "start", "follow_ups": [follow_up("I0", "U1")]}
        ],
    )
    parent, opportunity, audit = "I0", decided["follow_ups"][0], "U1"
    for lanes in (8, 16, 32):
        parent, opportunity, audit = await step(tools, opportunity, parent, lanes, audit)
    try:
        await tools.client.call_tool("nothing", {})
        raise AssertionError("an unknown tool was accepted")
    except MCPError as error:
        assert error.error.code == -32602, error
    await tools.refused("mechanism is missing", "propose", implementations=["I0"], evidence=["U1"])
    assert (await tools.json("state"))["steps"] == 3
    assert "dot_lanes" in await tools.text("diff", **{"from": "I0", "to": parent})
    assert "U1" in await tools.text("evidence", audits=["U1", audit], sections=["latency"])

    resources = (await tools.client.list_resources()).resources
    uris = {str(resource.uri) for resource in resources}
    assert {"tik://skill", "tik://state", "tik://record/U4", "tik://record/L1"} <= uris, uris
    record = await tools.client.read_resource("tik://record/A1")
    assert json.loads(record.contents[0].text)["type"] == "action"
    source = await tools.client.read_resource("tik://source/I0/full.cpp")
    assert "    1 | " in source.contents[0].text
    try:
        await tools.client.read_resource("tik://record/I99")
        raise AssertionError("an unknown resource was read")
    except MCPError as error:
        assert error.error.code == (-32602 if mode != "legacy" else -32002), error
    prompt = await tools.client.get_prompt("search", {})
    assert "reduction-order" in prompt.messages[0].content.text


async def cancel(tools, opportunity):
    """A cancelled audit leaves nothing behind and can be begun again."""
    await tools.json("begin_action", opportunity=opportunity, parents=["I0"])
    await tools.text("edit", diff="--- a/full.cpp\n+++ b/full.cpp\n@@ -0,0 +1 @@\n+// nothing but a note\n")
    await tools.json("submit", **WORDS)
    task = asyncio.create_task(tools.client.call_tool("audit", {"wait_seconds": 600}))
    await asyncio.sleep(0.3)
    task.cancel()
    try:
        await task
        raise AssertionError("the audit ended before it could be cancelled")
    except asyncio.CancelledError:
        pass
    state = await tools.json("state")
    assert state["awaiting_audit"] == "I1", state
    found = await audited(tools, [])
    assert found["implementation"] == "I1", found


async def batch(tools):
    """Two actions from one state, audited by one host in one bundle, and decided about one by one."""
    await tools.json(
        "decide", decisions=[{"status": "continue", "interpretation": "x", "reason": "y", "follow_ups": [follow_up("I0", "U1"), follow_up("I0", "U1")]}]
    )
    for number in (1, 2):
        if number == 2:
            await tools.refused("awaits its audit", "begin_action", opportunity="O2", parents=["I0"])
        await tools.json("begin_action", opportunity=f"O{number}", parents=["I0"], batch=number == 2)
        await tools.text("edit", diff=f"--- a/full.cpp\n+++ b/full.cpp\n@@ -0,0 +1 @@\n+// attempt {number}\n")
        await tools.json("submit", **WORDS)
    found = await audited(tools, [])
    assert found["implementation"] == "I1", found
    both = found.get("audited_with_it", []) + found.get("to_be_audited_again", [])
    assert both in (["U3"], ["I2"]), found
    await tools.json("decide", decisions=[{"status": "continue", "interpretation": "a note", "reason": "y"}])
    if both == ["I2"]:
        await audited(tools, [])
    await tools.json("decide", audit="U3", decisions=[{"status": "continue", "interpretation": "a note", "reason": "y"}])


async def main():
    with tempfile.TemporaryDirectory(prefix="tik-mcp-") as folder:
        root = os.path.join(folder, "root")
        tik("new", root, "--spec", os.path.join(SOURCE, "tests/serve/spec.toml"), "--root", os.path.join(SOURCE, "operators/attention/cpu"))
        for mode in ("legacy", "auto"):
            search = os.path.join(folder, mode)
            subprocess.run(["cp", "-r", root, search], check=True)
            server = StdioServerParameters(command=TIK, args=["mcp", search, "--agent", "client"])
            async with Client(server, mode=mode) as client:
                await drive(folder, mode, Tools(client))
            tik("verify", search)
            status = json.loads(tik("status", search, "--json"))
            assert status["audits"] == 3, status
            print(f"{mode}: {status['audits']} audits, {status['speedup']:.2f}x, verified")
        search = os.path.join(folder, "cancelled")
        subprocess.run(["cp", "-r", root, search], check=True)
        async with Client(StdioServerParameters(command=TIK, args=["mcp", search]), mode="legacy") as client:
            tools = Tools(client)
            decided = await tools.json(
                "decide",
                decisions=[{"status": "continue", "interpretation": "x", "reason": "y", "follow_ups": [follow_up("I0", "U1")]}],
            )
            await cancel(tools, decided["follow_ups"][0])
        tik("verify", search)
        print("cancelled: the audit was begun again")
        search = os.path.join(folder, "batch")
        subprocess.run(["cp", "-r", root, search], check=True)
        server = StdioServerParameters(command=TIK, args=["mcp", search, "--runner", TIK], cwd=folder)
        async with Client(server, mode="legacy") as client:
            await batch(Tools(client))
        tik("verify", search)
        bundles = [name for name in os.listdir(folder) if name.startswith("tik-reports-")]
        reports = os.listdir(os.path.join(folder, bundles[0]))
        assert {"I1.json", "I2.json"} <= set(reports), "one bundle had both"
        assert json.loads(tik("status", search, "--json"))["audits"] == 2
        print("batch: two actions, one bundle, two audits")
        async with Client(StdioServerParameters(command=TIK, args=["mcp", root, "--read-only"]), mode="auto") as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert names == {"state", "list_records", "read_record", "read_source", "diff", "evidence"}, names
        print("read-only: six tools that read")


asyncio.run(main())
