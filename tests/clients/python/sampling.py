"""Tests the second opinion of a client's model with the official Python SDK.

By hand, as lifecycle.py:

    python sampling.py legacy|2026-07-28 stdio|http /path/to/ait
"""

import asyncio
import json
import re
import signal
import sys
import tempfile
from pathlib import Path

from sdks import IS_V1, TRANSPORTS, connect

if IS_V1:
    from mcp import types
else:
    import mcp_types as types

RUN_S = 120

# What the model says to each kind of question, in turn, and which part of the report shows it.
TABLE = [
    ("ready", {"verdict": "needs_refinement", "why": "w", "missing": ["the port"]}, ["sections", ["the port"]]),
    ("summarize", {"summary": "Short."}, ["summary", "Short."]),
    ("split", {"why": "one piece", "parts": []}, ["parts", []]),
    ("duplicate", {"duplicate_of": None, "why": "no other"}, ["duplicate_of", None]),
    ("ready", "no JSON", ["by", "rules"]),
]


async def opinions(server, era):
    said = []

    async def model(context, params):
        text = said[-1] if isinstance(said[-1], str) else json.dumps(said[-1])
        content = types.TextContent(type="text", text=text)
        return types.CreateMessageResult(role="assistant", model="table", content=content)

    async with connect(server.where, era, sampling_callback=model) as (client, *_):
        tools = [tool.name for tool in (await client.list_tools()).tools]
        assert "analyze_issue" in tools, tools
        given = {"title": "A port", "description": "d", "classification": "bug", "agent": "dev"}
        filed = await call(client, "add_issue", given)
        issue = re.search(r"[0-9a-f-]{36}", filed)[0]
        # One that could be the same.
        await call(client, "add_issue", {**given, "description": "another"})
        for kind, answer, (name, value) in TABLE:
            said.append(answer)
            for _ in range(100):
                report = json.loads(await call(client, "analyze_issue", {"issue_id": issue, "kind": kind}))
                # Over HTTP, a client opens the stream for requests after it is connected.
                if "can be reached" not in report.get("because", ""):
                    break
                await asyncio.sleep(0.05)
            assert report[name] == value, report


async def call(client, tool, given):
    result = await client.call_tool(tool, given)
    result = result.model_dump(by_alias=True, exclude_none=True)
    assert not result.get("isError"), result
    return result["content"][0]["text"]


def give_up(*_):
    raise TimeoutError(f"not done after {RUN_S} s")


def main(era, transport, binary, *_):
    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(RUN_S)
    with tempfile.TemporaryDirectory(prefix="ait-clients-") as directory:
        (Path(directory) / "ait.toml").write_text('toolsets = ["analysis"]\n')
        server = TRANSPORTS[transport](str(Path(binary).resolve()), directory)
        try:
            asyncio.run(opinions(server, era))
        finally:
            server.kill()
    print(f"sampling: ok, {len(TABLE)} checks")


main(*sys.argv[1:])
