"""Runs the team that `ait init` writes in a real client with a scripted model, and checks what came of it.

    python3 team.py CLIENT [--unpermitted] AIT VERSION

CLIENT is `claude-code`, `codex` or `opencode`. With `--unpermitted` nothing is allowed beyond what the client allows by
itself, and the run has to fail for that: it shows that a denied call is noticed.
Prints all calls of the agents, one JSON object a line, and `ok, N checks`. README.md says what is to be known about the
clients.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import claude_code
import codex
import opencode
from model import Hangs, Model
from scenario import FILES, TEST, TOUCHES, WORK, Scenario

CLIENTS = {client.NAME: client for client in (claude_code, codex, opencode)}
MODULES = Path(__file__).parent / "node_modules"
# What one session may take, in seconds, and what a process may take to end after it.
SESSION = 400
END = 20


class Run:
    """One client in a project, a home and a temporary directory of its own."""

    def __init__(self, client, ait, directory):
        self.client = client
        self.home = directory / "home"
        self.project = directory / "project"
        self.home.mkdir()
        self.project.mkdir()
        (self.home / "bin").mkdir()
        (self.home / "bin/ait").symlink_to(Path(ait).resolve())
        # The clients run commands in login shells, whose PATH begins anew.
        (self.home / ".profile").write_text('PATH="$HOME/bin:$PATH"\n')
        identity = "[user]\nname = Person\nemail = person@example.com\n[init]\ndefaultBranch = main\n"
        (self.home / ".gitconfig").write_text(identity)
        self.environment = {
            "HOME": str(self.home), "PATH": f"{self.home}/bin:{os.environ['PATH']}", "LANG": "C.UTF-8",
            "TERM": "dumb", "USER": "person",
        }
        self.errors = tempfile.TemporaryFile("w+")
        self.checks = 0

    def check(self, holds, what):
        self.checks += 1
        if not holds:
            raise AssertionError(what)

    def sh(self, *command):
        done = subprocess.run(
            command, cwd=self.project, env=self.environment, text=True, capture_output=True, timeout=60
        )
        assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
        return done.stdout

    def set_up(self, permitted):
        """Makes the repository, sets the team up as a person does, and files the issues."""
        for name, text in FILES.items():
            (self.project / name).parent.mkdir(exist_ok=True)
            (self.project / name).write_text(text)
        self.sh("git", "init", "--quiet")
        # The command that tests the project, and a shorter wait for the claims of a client that was killed.
        (self.project / "ait.toml").write_text(f'check = "{TEST}"\nclaim-grace = "2s"\n')
        options = [] if permitted else ["--no-permissions"]
        self.sh("ait", "init", "--client", self.client.NAME, "--yes", *options)
        self.client.prepare(self.home, self.project)
        if permitted:
            self.client.permit(self.project, TEST)
        self.sh("git", "add", "--all")
        self.sh("git", "commit", "--quiet", "--message", "Set up the team")
        for work in WORK:
            self.sh("ait", "add", work.title, "--classification", work.kind, "--touches", TOUCHES)

    def session(self, model, killed):
        """Runs the client until it ends, or until it hangs and is killed, and returns what it printed."""
        program = min(MODULES.glob(self.client.PROGRAM))
        proxy = f"http://127.0.0.1:{model.port}"
        environment = {
            **self.environment, **self.client.environment(self.home, model),
            **dict.fromkeys(["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"], proxy),
            **dict.fromkeys(["NO_PROXY", "no_proxy"], "127.0.0.1,localhost"),
        }
        with tempfile.TemporaryFile("w+") as output:
            started = subprocess.Popen(
                self.client.command(str(program), model), cwd=self.project, env=environment, text=True,
                stdin=subprocess.DEVNULL, stdout=output, stderr=self.errors, start_new_session=True,
            )
            hung = not killed
            try:
                if killed:
                    hung = model.hung(SESSION, started)
                    started.kill()
                started.wait(SESSION)
            finally:
                started.kill()
                started.wait()
            output.seek(0)
            printed = output.read()
        # A failure is the reason for all that comes after it.
        self.check(not model.failures, "\n".join(model.failures))
        self.check(hung, f"the client did not come to the point where it is killed: {printed}")
        self.check(started.returncode == (-signal.SIGKILL if killed else 0), f"{started.returncode}: {printed}")
        return printed

    def processes(self):
        """Returns the processes that have the home of this run."""
        mark = f"HOME={self.home}\0".encode()
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (process / "environ").read_bytes() + b"\0":
                    found.append((int(process.name), (process / "cmdline").read_text().replace("\0", " ")))
            except OSError:
                pass
        return found

    def wait_for_processes(self):
        """Waits until every process of this run has ended."""
        limit = time.monotonic() + END
        while (left := self.processes()) and time.monotonic() < limit:
            time.sleep(0.1)
        return left

    def end_processes(self):
        for process, _ in self.processes():
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def examine(self):
        """Checks the store and the repository after the last session."""
        issues = json.loads(self.sh("ait", "list", "--status", "all", "--json"))["issues"]
        self.check(len(issues) == len(WORK), issues)
        for issue in issues:
            self.check(issue["status"] == "closed", f"{issue['title']} is {issue['status']}")
        events = [json.loads(line) for line in self.sh("ait", "log", "--json").splitlines()]
        for issue in issues:
            all_kinds = [event["kind"] for event in events if event["issue"] == issue["id"]]
            kinds = [kind for kind in all_kinds if kind != "used"]
            work = next(work for work in WORK if work.title == issue["title"])
            claims = 1 + bool(work.accident)
            self.check(kinds.count("claimed") == claims, f"{work.title}: {kinds}")
            lapses = self.client.LAPSES or work.accident is Hangs
            given_back = kinds.count("lapsed") if lapses else kinds.count("returned")
            self.check(given_back == claims - 1, f"{work.title}: {kinds}")
            self.check(kinds[-3:] == ["completed", "review_started", "closed"], f"{work.title}: {kinds}")
            # A client that is killed tells no more.
            self.check("used" in all_kinds or not self.client.TELLS_USAGE, f"{work.title}: {all_kinds}")
        self.check(self.sh("git", "status", "--porcelain") == "", self.sh("git", "status"))
        self.check(self.sh("git", "branch", "--format", "%(refname:short)") == "main\n", self.sh("git", "branch"))
        self.check(len(self.sh("git", "worktree", "list").splitlines()) == 1, self.sh("git", "worktree", "list"))
        merges = self.sh("git", "log", "--merges", "--format=%s").splitlines()
        self.check(len(merges) == len(WORK), merges)
        self.check("passed" in self.sh("sh", "test.sh"), "the tests fail in the end")
        for work in WORK:
            self.check((self.project / "tests" / work.file).exists(), f"{work.title} is not merged")


def team(run, permitted):
    """Runs both sessions of the scenario, and returns all calls of the agents with their results."""
    run.set_up(permitted)
    scenario = Scenario(run.client)
    calls = []
    for killed in (True, False):
        model = Model(run.client, scenario.script)
        try:
            output = run.session(model, killed)
            left = run.wait_for_processes()
            run.check(not left, f"processes outlive their client: {left}")
            denied = run.client.denied(output)
            run.check(denied == [], f"denied: {denied}")
        except BaseException:
            run.errors.seek(0)
            print(*model.transcript, run.errors.read(), sep="\n", file=sys.stderr)
            raise
        finally:
            run.end_processes()
            model.end()
        calls += model.calls
    run.examine()
    met = any("is at work there on" in call["result"] for call in calls)
    run.check(met, "no claim names an agent that works on the same files")
    return calls


def main(client, *options):
    *options, ait, _version = options
    permitted = "--unpermitted" not in options
    with tempfile.TemporaryDirectory(prefix="ait-team-") as directory:
        run = Run(CLIENTS[client], ait, Path(directory).resolve())
        if permitted:
            for call in team(run, permitted):
                print(json.dumps(call))
        else:
            try:
                team(run, permitted)
            except AssertionError as error:
                run.check("refused: " in str(error), error)
            else:
                raise AssertionError("no call was denied, although nothing was allowed")
        print(f"ok, {run.checks} checks")


if __name__ == "__main__":
    main(*sys.argv[1:])
