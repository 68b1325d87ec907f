"""A model that follows a script, behind an HTTP server on 127.0.0.1.

A script is a generator. It yields a list of `Call`s, which the client runs, and is sent their results. What it returns
is the last message of the agent. The file of each client knows what its requests and replies look like.
"""

import http.server
import itertools
import json
import threading
import time
import traceback
from dataclasses import dataclass, field


@dataclass
class Call:
    """A call of a tool. `kind` says how the client wants it written, for clients with more than one kind of tool."""

    tool: str
    arguments: dict | str
    kind: str = "function"
    id: str = ""


@dataclass
class Result:
    """What a tool answered. `details` is the whole result as the client sent it."""

    text: str
    error: bool
    details: dict


@dataclass
class Request:
    """A request of one agent. `results` has the results of all its calls so far, by the id of the call.

    `system` is what the client tells the model about its role.
    """

    conversation: str
    agent: str
    results: dict
    system: str


class Refused(Exception):
    """A tool answered with an error: the client denied the call, or it failed."""


class Dies:
    """A script yields this where its agent dies: the model answers with an error that no client repeats."""


class Hangs:
    """A script yields this where the model never answers."""


@dataclass
class Conversation:
    """One agent's conversation with the model, at the last reply of its script."""

    agent: str
    steps: object
    reply: object = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answers(self, request):
        """Returns the calls of the last reply with their results.

        Returns `None` if the request repeats the one that the last reply was for, or comes after the last message.
        """
        calls = self.reply if isinstance(self.reply, list) else []
        if self.reply is not None and (not calls or any(call.id not in request.results for call in calls)):
            return None
        return [(call, request.results[call.id]) for call in calls]

    def next_reply(self, answers):
        try:
            self.reply = self.steps.send([result for _, result in answers] or None)
        except StopIteration as end:
            self.reply = end.value


class Model:
    """The server. `script(request)` returns the script of an agent that begins a conversation."""

    def __init__(self, client, script):
        self.client = client
        self.script = script
        self.conversations = {}
        self.numbers = itertools.count(1)
        self.changed = threading.Condition()
        # What went wrong, all calls with their results, and the lines for a reader.
        self.failures = []
        self.calls = []
        self.transcript = []
        self.ended = threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler(self))
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def end(self):
        self.ended.set()
        self.server.shutdown()
        self.server.server_close()

    def hung(self, limit, client):
        """Waits until one agent hangs and all others have ended, but for the lead that waits for them.

        Returns false if that takes longer than `limit` seconds, or if the process of the client ends before.
        """
        with self.changed:
            return any(self.changed.wait_for(self.only_hangs, 1) for _ in range(limit) if client.poll() is None)

    def only_hangs(self):
        """Returns true if every agent beside the lead has its last reply and one hangs, or if the run has failed."""
        last = [one.reply for one in self.conversations.values() if one.agent != "team-lead"]
        at_work = any(reply is None or isinstance(reply, list) for reply in last)
        return bool(self.failures) or (Hangs in last and not at_work)

    def fail(self, agent, reason):
        with self.changed:
            self.failures.append(f"{agent}: {reason}")
            self.changed.notify_all()

    def note(self, agent, line):
        self.transcript.append(f"{time.strftime('%H:%M:%S')} {agent:15} {line}")

    def reply(self, request):
        with self.changed:
            if request.conversation not in self.conversations:
                self.conversations[request.conversation] = Conversation(request.agent, self.script(request))
            conversation = self.conversations[request.conversation]
        with conversation.lock:
            answers = conversation.answers(request)
            if answers is None:
                return conversation.reply
            for call, result in answers:
                self.note(request.agent, f"  -> {short(result.text)}")
                self.calls.append({
                    "agent": request.agent, "mcp": self.client.is_mcp(call), "tool": call.tool,
                    "arguments": call.arguments, "result": result.text,
                })
            try:
                conversation.next_reply(answers)
            except Refused as refused:
                self.fail(request.agent, f"refused: {refused}")
                conversation.reply = "A call was refused."
            except Exception:
                self.fail(request.agent, traceback.format_exc())
                conversation.reply = "The script failed."
            reply = conversation.reply
            for call in reply if isinstance(reply, list) else []:
                call.id = f"call_{next(self.numbers)}"
                self.note(request.agent, f"{call.tool} {short(call.arguments)}")
            if not isinstance(reply, list):
                self.note(request.agent, f"says {reply}" if isinstance(reply, str) else reply.__name__)
            with self.changed:
                self.changed.notify_all()
            return reply


def short(value):
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 1500 else f"{text[:1500]}... ({len(text)} characters)"


def handler(model):
    """Returns the class that answers the HTTP requests for this model."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *arguments):
            pass

        def do_HEAD(self):
            self.send_json({})

        def parse_request(self):
            # The clients are told that this server is their proxy, so that what they ask of the internet comes here.
            parsed = super().parse_request()
            if parsed and not self.path.startswith("/"):
                if self.path not in model.client.REFUSED:
                    model.fail("client", f"asks for {self.path}")
                self.send_error(403)
                return False
            return parsed

        def do_GET(self):
            self.send_json({"data": [], "models": []})

        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            try:
                model.client.serve(self, json.loads(body or b"{}"))
            except (BrokenPipeError, ConnectionResetError):
                # The client was killed, or its agent was stopped.
                self.close_connection = True
            except Exception:
                model.fail("client", f"{traceback.format_exc()}\n{body.decode()[:2000]}")
                self.refuse()

        def send_json(self, value, status=200):
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def answer(self, request):
            """Returns the text or the calls of the reply, or `None` if there is none, because the agent dies."""
            reply = model.reply(request)
            if reply is Hangs:
                model.ended.wait()
                self.close_connection = True
                return None
            if reply is Dies:
                return self.refuse()
            return reply

        def refuse(self):
            """Answers with an error after which no client repeats its request."""
            self.send_json({"type": "error", "error": {"type": "invalid_request_error", "message": "refused"}}, 400)

        def begin_events(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True

        def event(self, kind, **fields):
            self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode())
            self.wfile.flush()

    return Handler
