"""The Messages API of Anthropic, for the clients that can be pointed at a server of it."""

import json
import re
import uuid

from model import Call, Refused, Request, Result


class Tools:
    """What an agent can do. Each is a part of a script, and returns the text of the result."""

    # What comes before the names of the tools of the server.
    server = "mcp__issues__"

    def mcp(self, tool, may_fail=False, **arguments):
        calls = [Call(self.server + tool, arguments)]
        return (yield calls)[0].text if may_fail else (yield from run(calls))


def run(calls):
    """Makes calls side by side, none of which may fail, and returns the text of the last one."""
    results = yield calls
    for call, result in zip(calls, results):
        if result.error:
            raise Refused(f"{call.tool} {call.arguments}: {result.text}")
    return results[-1].text


def serve(http, body):
    if "count_tokens" in http.path:
        return http.send_json({"input_tokens": 100})
    if "/messages" not in http.path:
        return http.send_json({})
    # Requests without tools are small tasks of the client, such as titles.
    reply = http.answer(parse(body)) if body.get("tools") else "Work"
    if reply is None:
        return None
    blocks = [{"type": "text", "text": reply}] if isinstance(reply, str) else [
        {"type": "tool_use", "id": call.id, "name": call.tool, "input": call.arguments} for call in reply
    ]
    stop = "end_turn" if isinstance(reply, str) else "tool_use"
    message = {
        "id": f"msg_{uuid.uuid4().hex}", "type": "message", "role": "assistant", "content": [], "stop_reason": None,
        "model": body.get("model", "scripted"), "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 1},
    }
    if not body.get("stream"):
        return http.send_json({**message, "content": blocks, "stop_reason": stop})
    http.begin_events()
    http.event("message_start", message=message)
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        http.event("content_block_start", index=index, content_block=start)
        http.event("content_block_delta", index=index, delta=delta)
        http.event("content_block_stop", index=index)
    http.event("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage={"output_tokens": 5})
    http.event("message_stop")


def blocks_of(content):
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def text_of(content):
    return "\n".join(block.get("text", "") for block in blocks_of(content or ""))


def parse(body):
    results = {}
    prompts = []
    for message in body["messages"]:
        for block in blocks_of(message["content"]):
            if block["type"] == "tool_result":
                error = bool(block.get("is_error"))
                results[block["tool_use_id"]] = Result(text_of(block.get("content")), error, block)
            elif block["type"] == "text" and message["role"] == "user":
                prompts.append(block["text"])
    prompt = next(text for text in prompts if not text.startswith("<system-reminder>"))
    name = re.search(r"Your agent name is (\S+)\.", prompt)
    agent = name[1] if name else "team-lead"
    return Request(prompt, agent, results, text_of(body["system"]))
