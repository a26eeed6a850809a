"""How to connect to the everything server: a program that is started for each connection, or a URL. A place has two
servers: `everything`, and `pages`, whose lists have small pages. Without a revision, it is negotiated. Without a host, the client
declares no capabilities."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp.client.session
import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from session import LIMIT, Host, ensure, same

SESSION = "mcp-session-id"
MIRRORED = "mcp-param-value"

# Default of the parameter `host`: a new host.
UNASKED: Any = object()

# Checks, after the connection has ended, that the server has noticed that.
Left = Callable[[], Awaitable[str]]


@asynccontextmanager
async def connected(server: Any, host: Host | None, revision: str | None) -> AsyncIterator[Client]:
    """Connects a client with the callbacks of a host. Without a revision, the client probes for the newest one and falls back
    to `initialize`."""
    mode = "auto"
    if revision is not None:
        mode = revision if revision >= "2026-07-28" else "legacy"
        if mode == "legacy":
            mcp.client.session.LATEST_HANDSHAKE_VERSION = revision
    callbacks = host and {
        "sampling_callback": host.sample,
        "elicitation_callback": host.elicit,
        "list_roots_callback": host.list_roots,
        "logging_callback": host.log,
        "message_handler": host.hear,
    }
    client = Client(
        server,
        mode=mode,
        read_timeout_seconds=LIMIT,
        client_info=types.Implementation(name="interop-python", version="1.0.0"),
        **(callbacks or {}),
    )
    async with client:
        yield client


class Programs:
    """Server programs, started by a program that records how they end."""

    ending = "shutdown"

    def __init__(self, revision: str, folder: str, witness: str, everything: str) -> None:
        self.stateless = revision == "stateless"
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.witness = witness
        sessions = [] if self.stateless else ["--sessions"]
        self.commands = {
            "everything": [everything, "--stdio", *sessions],
            "pages": [witness, "pages", revision, "5"],
        }
        self.started = 0

    @asynccontextmanager
    async def connect(
        self, name: str, revision: str | None = None, host: Host | None = UNASKED
    ) -> AsyncIterator[tuple[Client, Host, Left]]:
        host = Host() if host is UNASKED else host
        self.started += 1
        status = self.folder / f"status-{self.started}.json"
        status.unlink(missing_ok=True)
        arguments = ["overhear", str(status), *self.commands[name]]
        server = StdioServerParameters(command=self.witness, args=arguments)
        errors = host.errors if host else []

        async def left() -> str:
            """Checks that the server has exited successfully and was not killed."""
            problem = "the server did not exit when stdin was closed, and was killed"
            ensure(status.exists(), problem)
            ended = json.loads(status.read_text())
            same("the exit code", ended["code"], 0)
            same("a handshake", "initialize" in ended["sent"], not self.stateless)
            same("errors", errors, [])
            return "exit code 0"

        async with connected(server, host, revision) as client:
            yield client, host, left


class Urls:
    """Servers that are already running."""

    def __init__(self, revision: str, everything: str, pages: str) -> None:
        self.stateless = revision == "stateless"
        self.ending = "closed" if self.stateless else "session-end"
        self.urls = {"everything": everything, "pages": pages}

    @asynccontextmanager
    async def connect(
        self, name: str, revision: str | None = None, host: Host | None = UNASKED
    ) -> AsyncIterator[tuple[Client, Host, Left]]:
        host = Host() if host is UNASKED else host
        url = self.urls[name]
        errors = host.errors if host else []
        seen: dict[str, str] = {}
        strange: list[str] = []

        async def watch(request: httpx2.Request) -> None:
            if SESSION in request.headers:
                seen.update(request.headers)
            if request.method != "POST" or request.headers.get("mcp-method") in [None, "initialize"]:
                strange.append(f"{request.method} {request.headers.get('mcp-method')}")
            if host and "last-event-id" in request.headers:
                host.resumed += 1
            if host and MIRRORED in request.headers:
                host.mirrored = request.headers[MIRRORED]

        async def left() -> str:
            """Checks that the client has ended the session and that the server does not know it any more. At the stateless
            revision, checks that no request belonged to a session."""
            if self.stateless:
                same("headers and requests of sessions", [*seen, *strange], [])
                same("errors", errors, [])
                return "there was no session"
            ensure(SESSION in seen, "there was no session")
            names = [SESSION, "mcp-protocol-version", "accept", "content-type"]
            headers = {name: seen[name] for name in names if name in seen}
            headers["content-type"] = "application/json"
            headers["accept"] = "application/json, text/event-stream"
            ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            async with httpx2.AsyncClient() as http:
                answer = await http.post(url, headers=headers, json=ping)
            same("the status after the end", answer.status_code, 404)
            same("errors", errors, [])
            return "ended by DELETE, then unknown (404)"

        timeout = httpx2.Timeout(LIMIT)
        async with httpx2.AsyncClient(event_hooks={"request": [watch]}, timeout=timeout) as http:
            server = streamable_http_client(url, http_client=http)
            async with connected(server, host, revision) as client:
                yield client, host, left


class Streams:
    """Servers with the HTTP+SSE transport of 2024-11-05 that are already running."""

    ending = "stream-end"
    stateless = False

    def __init__(self, _revision: str, everything: str, pages: str) -> None:
        self.urls = {"everything": everything, "pages": pages}

    @asynccontextmanager
    async def connect(
        self, name: str, revision: str | None = None, host: Host | None = UNASKED
    ) -> AsyncIterator[tuple[Client, Host, Left]]:
        host = Host() if host is UNASKED else host
        addresses: set[str] = set()

        async def watch(request: httpx2.Request) -> None:
            if request.method == "POST":
                addresses.add(str(request.url))

        def client(**words: Any) -> httpx2.AsyncClient:
            return httpx2.AsyncClient(**words, event_hooks={"request": [watch]})

        async def left() -> str:
            """Checks that the session has ended with its stream: its URL for messages is unknown."""
            same("addresses", len(addresses), 1)
            ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            end = anyio.current_time() + 10
            async with httpx2.AsyncClient() as http:
                answer = await http.post(*addresses, json=ping)
                # The server notices a moment later that the connection has ended.
                while answer.is_success and anyio.current_time() < end:
                    answer = await http.post(*addresses, json=ping)
            same("the status after the end", answer.status_code, 404)
            same("errors", host.errors, [])
            return "the stream was closed, then unknown (404)"

        server = sse_client(self.urls[name], timeout=LIMIT, httpx_client_factory=client)
        async with connected(server, host, revision) as session:
            yield session, host, left


Place = Programs | Urls | Streams


def place(revision: str, kind: str, *words: str) -> Place:
    """Returns the place that the arguments name."""
    return {"stdio": Programs, "http": Urls, "sse": Streams}[kind](revision, *words)
