"""What the project is, what is filed, and what the lead, the workers and the reviewer do.

Each agent follows the prompt that `ait init` wrote for it, without a look at the time: what it does next depends on
what its last calls answered.
"""

import json
import re
from dataclasses import dataclass

from model import Dies, Hangs

TEST = "sh test.sh"
MAX_ROUNDS = 12
# What all issues change, so that agents side by side meet.
TOUCHES = "*.sh"


@dataclass
class Work:
    """An issue, what solves it, and what happens to its first worker in the middle of that."""

    title: str
    kind: str
    file: str
    old: str
    new: str
    expect: str
    accident: type | None = None


WORK = [
    Work("Greet without a typo", "bug", "greet.sh", 'echo "Helo, $1"\n', 'echo "Hello, $1"\n', "sh greet.sh Ada"),
    Work("Multiply for the total", "bug", "total.sh", "echo $(($1 + $2))\n", "echo $(($1 * $2))\n", "sh total.sh 3 4",
         Dies),
    Work("Shout a word", "feature", "shout.sh", "", 'echo "$1!"\n', "sh shout.sh hey", Hangs),
]
EXPECTED = {"greet.sh": "Hello, Ada", "total.sh": "12", "shout.sh": "hey!"}
FILES = {
    "test.sh": 'for test in tests/*.sh; do sh "$test" || exit 1; done\necho passed\n',
    "tests/itself.sh": "true\n",
    **{work.file: work.old for work in WORK if work.old},
}


class Scenario:
    """The scripts of the agents of one client, over all its sessions."""

    def __init__(self, client):
        self.client = client
        self.attempts = {work.title: 0 for work in WORK}

    def script(self, request):
        """Returns the script of an agent that begins."""
        do = self.client.Steps()
        if request.agent == "team-lead":
            return (yield from self.lead(do))
        role = request.agent.rstrip("-0123456789")
        title = f"# {role.replace('-', ' ').capitalize()}\n"
        assert title in request.system, f"{request.agent} does not have the prompt of its role"
        part = self.reviewer if role == "code-reviewer" else self.worker
        return (yield from part(do, request.agent))

    def lead(self, do):
        """Starts what the queue needs until nothing waits, and frees what its own workers left."""
        started = []
        for number in range(MAX_ROUNDS):
            counts = json.loads((yield from do.mcp("list_issues", take=0)))
            ready, held = counts["ready"], counts["in_progress"]
            roles = ["code-reviewer"] * (ready["review"] > 0) + ["bug-fixer"] * (ready["bug"] > 0)
            # As many workers as issues that can be claimed.
            roles += ["developer"] * (ready["bug"] + ready["feature"] > roles.count("bug-fixer"))
            if held and not self.client.LAPSES and (yield from free(do, started)):
                continue
            if roles:
                yield from do.start([(role, prompt(role, started, number)) for role in roles])
            elif held:
                yield from do.shell("ait wait --any --timeout 90s")
            else:
                return "All issues are closed."
        raise RuntimeError(f"the queue is not empty after {MAX_ROUNDS} rounds")

    def worker(self, do, agent):
        """Claims, solves and hands in one issue."""
        kind = {"classification": "bug"} if agent.startswith("bug-fixer") else {}
        answer = yield from do.mcp("get_next_issue", agent=agent, **kind)
        if not answer.startswith("{"):
            return f"Nothing to do: {answer}"
        issue = json.loads(answer)
        work = next(work for work in WORK if work.title == issue["title"])
        self.attempts[work.title] += 1
        short = issue["id"][:8]
        place = yield from worktree(do, short)
        left = yield from do.shell(f"git -C {place} status --short")
        if work.file not in left:
            yield from solve(do, work, place)
        if work.accident and self.attempts[work.title] == 1:
            yield work.accident
        tested = yield from do.shell(f"cd {place} && {TEST}")
        assert "passed" in tested, tested
        yield from do.shell(f"git -C {place} add {work.file} tests/{work.file}")
        yield from do.shell(f'git -C {place} commit -m "{work.title}"')
        comment = f"Branch issue-{short}. New test tests/{work.file}. Verified: {TEST} passes."
        yield from do.mcp("complete_issue", issue_id=short, comment=comment, agent=agent, claim=claim(issue))
        return f"Completed {short}."

    def reviewer(self, do, agent):
        """Reviews, merges and closes one issue."""
        answer = yield from do.mcp("get_next_review_item", agent=agent)
        if not answer.startswith("{"):
            return f"Nothing to review: {answer}"
        issue = json.loads(answer)
        short = issue["id"][:8]
        yield from do.shell(f"git diff main...issue-{short}")
        place = yield from worktree(do, short)
        tested = yield from do.shell(f"cd {place} && {TEST}")
        assert "passed" in tested, tested
        commit = yield from merge(do, short)
        comment = f"Merged issue-{short} into main as {commit}. {TEST} passes before and after the merge."
        yield from do.mcp(
            "close_issue", issue_id=short, resolution="closed", comment=comment, agent=agent, claim=claim(issue)
        )
        return f"Closed {short}."


def prompt(role, started, number):
    """Returns the prompt of a worker with the next free name of its role, and notes the name."""
    same = sum(name.startswith(role) for name in started)
    name = role if role == "code-reviewer" or not same else f"{role}-{same + 1}"
    started.append(name)
    return f"Your agent name is {name}. Round {number + 1}: claim one issue, work it, hand it in, and report."


def free(do, started):
    """Returns what workers of this lead still hold to the queue, and whether there was anything."""
    found = False
    rows = yield from do.mcp("list_issues", status="in_progress")
    for short in re.findall(r"^([0-9a-f]{8}) ", rows, re.M):
        held = json.loads((yield from do.mcp("list_issues", issue_id=short))).get("claim", {})
        if held.get("agent") in started:
            found = True
            left = yield from do.shell(f"git -C .worktrees/{short} status --short")
            comment = f"{held['agent']} ended without handing in. Its worktree has uncommitted changes: {left}"
            # The claim may lapse at this moment.
            yield from do.mcp(
                "return_issue", may_fail=True, issue_id=short, comment=comment, agent="team-lead", claim=held["number"],
                force=True
            )
    return found


def claim(issue):
    return issue["claim"]


def solve(do, work, place):
    """Makes the change with the tools of the client that edit files."""
    test = f'test "$({work.expect})" = "{EXPECTED[work.file]}"\n'
    yield from do.write(f"{place}/tests/{work.file}", test)
    if work.old:
        yield from do.edit(f"{place}/{work.file}", work.old, work.new)
    else:
        yield from do.write(f"{place}/{work.file}", work.new)


def worktree(do, short):
    """Makes or continues the worktree of an issue, and returns its path in the project."""
    place = f".worktrees/{short}"
    printed = yield from do.shell(f"ait worktree {short}")
    assert printed.splitlines()[0].endswith(f"/{place}"), printed
    return place


def merge(do, short):
    """Merges the branch of an issue, and returns the commit."""
    printed = yield from do.shell(f"ait merge {short}")
    return re.search(r"^merged: ([0-9a-f]{40})$", printed, re.M)[1]
