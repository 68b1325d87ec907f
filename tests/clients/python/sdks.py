"""Creates clients with the official Python SDK, version 1 or 2, each for one era of the protocol.

Over stdio, each client has its own server. Over HTTP, all clients share one server.
"""

import re
import subprocess
import threading
from contextlib import asynccontextmanager
from importlib.metadata import version

import mcp

IS_V1 = version("mcp").startswith("1.")
if IS_V1:
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamable_http_client

LEGACY, MODERN = "2025-11-25", "2026-07-28"

# Each mode of a client, with the revision that it speaks. Version 1 supports only the era with sessions.
ERAS = {"legacy": LEGACY} if IS_V1 else {"legacy": LEGACY, "auto": MODERN, MODERN: MODERN}


class Server:
    """A server on its own port. It keeps the port across restarts."""

    def __init__(self, binary, directory):
        self.binary, self.directory, self.log, self.port = binary, directory, [], "0"
        self.start()

    def start(self):
        environment = {"PORT": self.port}
        self.process = subprocess.Popen(
            [self.binary, "serve"],
            cwd=self.directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for line in self.process.stderr:
            self.log.append(line)
            if listening := re.search(r"pages: http://localhost:(\d+)$", line.rstrip()):
                self.port = listening[1]
                break
        else:
            raise RuntimeError(f"the server does not listen: {self.log}")
        # A server blocks when the pipe of its log is full, so a thread reads it.
        rest = threading.Thread(target=self.log.extend, args=[self.process.stderr], daemon=True)
        rest.start()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def restart(self):
        """Kills the server, like a crash, and starts it again on the same port."""
        port = self.port
        self.kill()
        self.start()
        assert self.port == port, f"{self.port} is not {port}"

    @property
    def where(self):
        return f"http://127.0.0.1:{self.port}/mcp"


class Spawned:
    """The command with which a client over stdio starts its server."""

    def __init__(self, binary, directory):
        environment = {"PORT": "0"}
        self.where = mcp.StdioServerParameters(command=binary, cwd=directory, env=environment)

    def restart(self):
        """Does nothing: a client over stdio does not outlive its server."""

    def kill(self):
        """Does nothing: each server ends with its client."""


TRANSPORTS = {"stdio": Spawned, "http": Server}


@asynccontextmanager
async def connect(where, era, **options):
    """Connects a client with some options of the SDK. Yields it with the revision and identity that the server reported.

    On exit, a client over HTTP ends its session with `DELETE`.
    """
    if not IS_V1:
        async with mcp.Client(where, mode=era, **options) as client:
            yield client, client.protocol_version, client.server_info
        return
    over_http = isinstance(where, str)
    async with (streamable_http_client if over_http else stdio_client)(where) as (read, write, *_):
        async with mcp.ClientSession(read, write, **options) as client:
            answer = await client.initialize()
            yield client, answer.protocolVersion, answer.serverInfo
