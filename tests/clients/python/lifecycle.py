"""Tests the whole lifecycle with the official Python SDK. Two clients share one store.

By hand, in a virtual environment with `pip install -r mcp2.txt` (or mcp1.txt):

    python lifecycle.py legacy|auto|2026-07-28 stdio|http /path/to/ait [expected version]
"""

import asyncio
import json
import logging
import re
import signal
import sys
import tempfile
from pathlib import Path

from sdks import ERAS, TRANSPORTS, connect

RUN_S = 120

RETURN = "Issue returned to created status"

checks = 0


def check(actual, expected):
    global checks
    checks += 1
    assert actual == expected, f"{actual!r} is not {expected!r}"


async def call(client, tool, is_error=False, **given):
    """Calls a tool and returns its single text."""
    result = await client.call_tool(tool, given)
    result = result.model_dump(by_alias=True, exclude_none=True)
    text = result["content"][0]["text"]
    shape = [bool(result.get("isError")), len(result["content"]), "structuredContent" in result]
    assert shape == [is_error, 1, False], f"{tool} {given} answered: {text}"
    return text


async def read(client, tool, **given):
    """Calls a tool that answers with JSON and returns the parsed value."""
    return json.loads(await call(client, tool, **given))


async def change(client, tool, status, **given):
    """Calls a tool that confirms a change and returns the id of the issue."""
    text = await call(client, tool, **given)
    assert re.search(rf"\b{status}\b", text), text
    return re.search(r"[0-9a-f-]{36}", text)[0]


async def refused(client, tool, *patterns, **given):
    """Calls a tool that must return an error, whose text matches every pattern."""
    text = await call(client, tool, is_error=True, **given)
    check([pattern for pattern in patterns if not re.search(pattern, text)], [])


async def working(client):
    """Files an issue, claims it and completes it."""
    check(await read(client, "list_issues"), {"count": 0, "issues": []})
    nothing = await call(client, "get_next_issue", agent="developer")
    check(nothing[:8] + nothing[-1], "No issue.")
    filing = {"title": 'A "bug" ß 🦀', "description": "a = b & c\n", "classification": "bug"}
    issue = await change(client, "add_issue", "created", agent="reporter", **filing)
    listed = await read(client, "list_issues", status="created", take=1)
    check([row["id"] for row in listed["issues"]], [issue])
    claimed = await read(client, "get_next_issue", agent="bug-fixer")
    check({name: claimed[name] for name in filing}, filing)
    check([claimed["id"], claimed["status"]], [issue, "in_progress"])
    handover = {"issue_id": issue, "comment": "Needs a Mac.", "agent": "bug-fixer"}
    check(await change(client, "return_issue", "created", **handover), issue)
    again = await read(client, "get_next_issue", agent="developer", classification="bug")
    check([again["id"], again["history"][2]["action"]], [issue, RETURN])
    await refused(client, "get_next_issue", r"\bagent\b.*missing")
    done = {"issue_id": issue, "comment": "Tests pass.", "agent": "developer"}
    check(await change(client, "complete_issue", "completed", **done), issue)
    return issue


async def reviewing(client, issue):
    """Reviews and closes the issue. After that, the tracker refuses further changes."""
    review = await read(client, "get_next_review_item", agent="code-reviewer")
    check([review["id"], review["status"]], [issue, "in_review"])
    late = {"issue_id": issue, "comment": "Merged.", "agent": "code-reviewer"}
    closing = {"resolution": "closed", **late}
    check(await change(client, "close_issue", "closed", **closing), issue)
    await refused(client, "return_issue", issue, r"\bclosed\b", r"\bfinal\b", "add_issue", **late)


async def whole(client, issue):
    return await read(client, "list_issues", issue_id=issue)


async def lifecycle(server, era, version):
    async with connect(server.where, era) as (first, revision, identity):
        check(revision, ERAS[era])
        # A client that does not ask for the server's identity does not learn it.
        if identity is not None:
            check([identity.name, identity.version], ["agent-issue-tracker", version])
        check("get_next_issue" in [tool.name for tool in (await first.list_tools()).tools], True)
        issue = await working(first)
        async with connect(server.where, era) as (second, *_):
            server.restart()
            check(await whole(first, issue), await whole(second, issue))
            await reviewing(second, issue)
            closed = await whole(first, issue)
            check([closed["status"], len(closed["history"]), len(closed["comments"])], ["closed", 7, 3])
        check(await whole(first, issue), closed)
    warnings = Warnings()
    async with connect(server.where, era) as (third, *_):
        check(await whole(third, issue), closed)
    # A warning could be that a session did not end. The first two clients may have warned of the restart.
    check(warnings.messages, [])


class Warnings(logging.Handler):
    """Collects the warnings that the SDK logs from now on."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.messages = []
        logging.getLogger("mcp").addHandler(self)

    def emit(self, record):
        self.messages.append(record.getMessage())


def give_up(*_):
    raise TimeoutError(f"not done after {RUN_S} s")


def main(era, transport, binary, version):
    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(RUN_S)
    with tempfile.TemporaryDirectory(prefix="ait-clients-") as directory:
        server = TRANSPORTS[transport](str(Path(binary).resolve()), directory)
        try:
            asyncio.run(lifecycle(server, era, version))
        finally:
            server.kill()
        made = {path.name for path in Path(directory).iterdir()}
        # A server that is killed may not have written the file yet.
        check(made | {"issues.json"}, {".ait", "issues.json"})
    print(f"lifecycle: ok, {checks} checks")


main(*sys.argv[1:])
