"""Codex: how it is set up, started and spoken to."""

import json
import re

from model import Call, Refused, Request, Result

NAME = "codex"
PROMPT = "Follow the developer_instructions in .codex/agents/team-lead.toml, and start the agents that they name."
PROGRAM = "@openai/codex-*/vendor/*/bin/codex"
# What it asks of the internet and does without.
REFUSED = ()
# Whether the claims of an agent lapse when its model fails. Otherwise the lead has to return them.
LAPSES = False
# Whether hooks at the end of an agent record what the model used. In this run Codex calls no hook.
TELLS_USAGE = False
# How long one call may wait for a command or an agent. The scenario as a whole has a limit of its own.
PATIENCE_MS = 60_000
# Words by which a model may look for a tool. The search ranks by the words of names and descriptions, and a name counts
# as one word.
SEARCHES = {
    "list_issues": ["list", "show", "search", "issues", "tickets", "todo"],
    "add_issue": ["report a bug", "file", "new ticket", "task"],
    "get_next_issue": ["claim", "next task", "work"],
    "get_next_review_item": ["review"],
    "complete_issue": ["finished", "done", "hand in"],
    "return_issue": ["return", "release"],
    "close_issue": ["close", "reject"],
}


def prepare(home, project):
    """Does what a person does once: trusts the project."""
    folder = home / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text(f'[projects."{project}"]\ntrust_level = "trusted"\n')


def permit(project, test):
    """`ait init` allows what the team needs."""


def command(program, model):
    provider = {
        "name": "scripted", "base_url": f"http://127.0.0.1:{model.port}/v1", "env_key": "SCRIPTED_KEY",
        "wire_api": "responses", "request_max_retries": 0, "stream_max_retries": 0, "supports_websockets": False,
    }
    settings = {
        "model": "gpt-5.5", "model_provider": "scripted", "check_for_update_on_startup": False,
        "analytics.enabled": False, "features.plugins": False,
        # In each directory that it may write to, it makes an empty `.git`, which other tests would find in /tmp.
        "sandbox_workspace_write.exclude_slash_tmp": True, "sandbox_workspace_write.exclude_tmpdir_env_var": True,
        **{f"model_providers.scripted.{key}": value for key, value in provider.items()},
    }
    options = [option for key, value in settings.items() for option in ("-c", f"{key}={json.dumps(value)}")]
    return [program, "exec", *options, "--json", "-s", "workspace-write", PROMPT]


def environment(home, model):
    return {"CODEX_HOME": str(home / ".codex"), "SCRIPTED_KEY": "x"}


def denied(output):
    """Returns the calls that the log of the client shows as failed or declined."""
    # The last line of a client that was killed may be cut off.
    items = [json.loads(line).get("item", {}) for line in output.splitlines() if line.endswith("}")]
    failed = [item for item in items if item.get("status") in ("failed", "declined")]
    # Agents that died count as failed, too, and so do the errors of the server, which the scripts see.
    return [item for item in failed if item["type"] != "collab_tool_call" and not item.get("result")]


class Steps:
    """What an agent can do. Each is a part of a script, and returns the text of the result."""

    def __init__(self):
        self.found = set()

    def mcp(self, tool, may_fail=False, **arguments):
        result = yield from self.deferred("mcp__issues", tool, arguments)
        # The first part is the time that the call took. Only the text says that the tool failed.
        text = "\n".join(part["text"] for part in result.details["output"][1:])
        if text.startswith("Error: ") and not may_fail:
            raise Refused(f"{tool} {arguments}: {text}")
        return text

    def deferred(self, namespace, tool, arguments):
        """Calls a tool that no request offers: a model has to find it first, by its name or other words."""
        if (namespace, tool) not in self.found:
            self.found.add((namespace, tool))
            # The first tool that the lead calls.
            others = SEARCHES if tool == "list_issues" else {}
            for wanted, query in [(tool, tool), *((other, query) for other in others for query in others[other])]:
                result = yield from run(Call("tool_search", {"query": query}, "search"))
                found = {item["name"] for space in result.details["tools"] for item in space.get("tools", [])}
                if wanted not in found:
                    raise Refused(f"tool_search for {query} does not find {wanted}, but {found}")
        return (yield from run(Call(tool, arguments, namespace)))

    def shell(self, text):
        result = yield from run(Call("exec_command", {"cmd": text, "yield_time_ms": 30_000}))
        output = result.text
        while session := re.search(r"^Process running with session ID (\d+)$", result.text, re.M):
            arguments = {"session_id": int(session[1]), "chars": "", "yield_time_ms": PATIENCE_MS}
            result = yield from run(Call("write_stdin", arguments))
            output += result.text
        if "Process exited with code 0\n" not in result.text:
            raise Refused(f"{text}: {output}")
        return output.partition("Output:\n")[2]

    def edit(self, path, old, new):
        removed, added = ([sign + line for line in text.splitlines()] for sign, text in (("-", old), ("+", new)))
        yield from patch([f"*** Update File: {path}", "@@", *removed, *added])

    def write(self, path, text):
        yield from patch([f"*** Add File: {path}", *(f"+{line}" for line in text.splitlines())])

    def start(self, workers):
        """Starts agents side by side, given as a role and a prompt each, and closes them when all have ended."""
        ids = []
        for role, prompt in workers:
            arguments = {"agent_type": role, "message": prompt}
            result = yield from self.deferred("multi_agent_v1", "spawn_agent", arguments)
            ids.append(json.loads(result.text)["agent_id"])
        ended = set()
        while waiting := [agent for agent in ids if agent not in ended]:
            arguments = {"targets": waiting, "timeout_ms": PATIENCE_MS}
            result = yield from self.deferred("multi_agent_v1", "wait_agent", arguments)
            ended |= json.loads(result.text)["status"].keys()
        for agent in ids:
            yield from self.deferred("multi_agent_v1", "close_agent", {"target": agent})


def run(call):
    result = (yield [call])[0]
    if result.error:
        raise Refused(f"{call.tool} {call.arguments}: {result.text}")
    return result


def patch(lines):
    text = "\n".join(["*** Begin Patch", *lines, "*** End Patch"])
    result = yield from run(Call("apply_patch", text, "custom"))
    if "Success" not in result.text:
        raise Refused(f"apply_patch: {result.text}")


def is_mcp(call):
    return call.kind == "mcp__issues"


# The Responses API.


def serve(http, body):
    if "/responses" not in http.path:
        return http.send_json({})
    reply = http.answer(parse(body))
    if reply is None:
        return None
    items = [item(call) for call in reply] if isinstance(reply, list) else [
        {"type": "message", "role": "assistant", "id": "msg", "content": [{"type": "output_text", "text": reply}]}
    ]
    http.begin_events()
    http.event("response.created", response={"id": "response"})
    for index, written in enumerate(items):
        http.event("response.output_item.done", output_index=index, item=written)
    usage = {
        "input_tokens": 10, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None,
        "total_tokens": 11,
    }
    http.event("response.completed", response={"id": "response", "usage": usage})


def item(call):
    ids = {"id": call.id, "call_id": call.id}
    if call.kind == "search":
        return {
            **ids, "type": "tool_search_call", "status": "completed", "execution": "client",
            "arguments": call.arguments,
        }
    if call.kind == "custom":
        return {**ids, "type": "custom_tool_call", "name": call.tool, "input": call.arguments}
    namespace = {} if call.kind == "function" else {"namespace": call.kind}
    return {
        **ids, **namespace, "type": "function_call", "name": call.tool, "arguments": json.dumps(call.arguments),
    }


def text_of(content):
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or [])


def parse(body):
    results = {}
    prompts = []
    system = []
    for given in body["input"]:
        if given["type"].endswith("_output"):
            text = text_of(given.get("output"))
            results[given["call_id"]] = Result(text, text.startswith(("failed", "unsupported", "err:")), given)
        elif given.get("role") == "user":
            prompts.append(text_of(given["content"]))
        elif given.get("role") in ("developer", "system"):
            system.append(text_of(given["content"]))
    thread = body["client_metadata"]["thread_id"]
    name = next(filter(None, (re.search(r"Your agent name is (\S+)\.", prompt) for prompt in prompts)), None)
    is_lead = thread == body["client_metadata"]["session_id"]
    return Request(thread, "team-lead" if is_lead else name[1], results, "\n".join(system))
