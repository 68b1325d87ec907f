"""Claude Code: how it is set up, started and spoken to."""

import json

from messages_api import Tools, run, serve
from model import Call

NAME = "claude-code"
PROMPT = "Get the issue queue worked off."
PROGRAM = "@anthropic-ai/claude-code-*/claude"
# What it asks of the internet and does without.
REFUSED = ()
# Whether the claims of an agent lapse when its model fails. Otherwise the lead has to return them.
LAPSES = True
# Whether its transcripts tell hooks at the end of an agent what the model used.
TELLS_USAGE = True


def prepare(home, project):
    """Does what a person does once: passes the welcome, trusts the project and allows its server."""
    trust = {"hasTrustDialogAccepted": True, "enabledMcpjsonServers": ["issues"]}
    settings = {"hasCompletedOnboarding": True, "projects": {str(project): trust}}
    (home / ".claude.json").write_text(json.dumps(settings))


def permit(project, test):
    """`ait init` allows what the team needs."""


def command(program, model):
    return [program, "-p", "--agent", "team-lead", "--permission-mode", "dontAsk", "--output-format", "json", PROMPT]


def environment(home, model):
    return {
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{model.port}",
        "ANTHROPIC_API_KEY": "x",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


def denied(output):
    """Returns the calls that the client reports as denied at its end. A client that was killed reports nothing."""
    return json.loads(output)["permission_denials"] if output else []


class Steps(Tools):
    def shell(self, text):
        output = yield from run([Call("Bash", {"command": text, "description": "Run a command"})])
        return "" if output == "(Bash completed with no output)" else output

    def edit(self, path, old, new):
        yield from run([Call("Read", {"file_path": path})])
        yield from run([Call("Edit", {"file_path": path, "old_string": old, "new_string": new})])

    def write(self, path, text):
        yield from run([Call("Write", {"file_path": path, "content": text})])

    def start(self, workers):
        """Starts agents side by side, given as a role and a prompt each."""
        # The error of an agent that died is no call that was denied.
        yield [
            Call("Agent", {"subagent_type": role, "description": "Work one issue", "prompt": prompt})
            for role, prompt in workers
        ]


def is_mcp(call):
    return call.tool.startswith(Steps.server)
