"""opencode: how it is set up and started. It speaks the API of Anthropic."""

import json

from messages_api import Tools, run, serve
from model import Call

NAME = "opencode"
PROMPT = "Get the issue queue worked off."
PROGRAM = "opencode-*/bin/opencode"
# What it asks of the internet and does without.
REFUSED = ("registry.npmjs.org:443",)
# Whether the claims of an agent lapse when its model fails. Otherwise the lead has to return them.
LAPSES = False
# Whether its transcripts tell hooks at the end of an agent what the model used.
TELLS_USAGE = False


def prepare(home, project):
    """Denies everything: by itself opencode allows it, and connects to the servers of every project."""
    set_permission(project, {"bash": "deny", "edit": "deny"})


def permit(project, test):
    """Allows what the team needs. `ait init` writes no permissions for it."""
    commands = [
        "ait *", "git -C *.worktrees/* status *", "git -C *.worktrees/* add *", "git -C *.worktrees/* commit *",
        "git diff *", "cd *.worktrees/*", test,
    ]
    # The last rule that matches counts.
    set_permission(project, {
        "bash": {"*": "deny", **dict.fromkeys(commands, "allow")}, "edit": {"*": "deny", ".worktrees/*": "allow"},
    })


def set_permission(project, permission):
    path = project / "opencode.json"
    # Without `$schema`, opencode adds it, and the main worktree has a change that is not committed.
    settings = {"$schema": "https://opencode.ai/config.json", **json.loads(path.read_text()), "permission": permission}
    path.write_text(json.dumps(settings, indent=2))


def command(program, model):
    return [program, "run", "--agent", "team-lead", "--format", "json", PROMPT]


def environment(home, model):
    model_id = "anthropic/claude-sonnet-4-5"
    settings = {
        "provider": {"anthropic": {"options": {"baseURL": f"http://127.0.0.1:{model.port}/v1", "apiKey": "x"}}},
        "model": model_id, "small_model": model_id, "autoupdate": False, "share": "disabled",
    }
    return {
        "OPENCODE_CONFIG_CONTENT": json.dumps(settings), "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    }


def denied(output):
    """Returns the calls that the log of the client shows as failed."""
    parts = [json.loads(line).get("part", {}) for line in output.splitlines() if line.endswith("}")]
    return [part for part in parts if part.get("state", {}).get("status") == "error" and part["tool"] != "task"]


class Steps(Tools):
    server = "issues_"

    def shell(self, text):
        output = yield from run([Call("bash", {"command": text, "description": "Run a command"})])
        return "" if output == "(no output)" else output

    def edit(self, path, old, new):
        yield from run([Call("read", {"filePath": path})])
        yield from run([Call("edit", {"filePath": path, "oldString": old, "newString": new})])

    def write(self, path, text):
        yield from run([Call("write", {"filePath": path, "content": text})])

    def start(self, workers):
        """Starts agents side by side, given as a role and a prompt each."""
        yield [
            Call("task", {"subagent_type": role, "description": "Work one issue", "prompt": prompt})
            for role, prompt in workers
        ]


def is_mcp(call):
    return call.tool.startswith(Steps.server)
