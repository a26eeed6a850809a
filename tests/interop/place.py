"""Where the everything server is found: as a program that is started for each connection, or at a
URL. A place connects to the server `everything`, or to `pages`, which has a few items a page."""

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

# Shows, after the end, that the server has noticed it.
Left = Callable[[], Awaitable[str]]


@asynccontextmanager
async def connected(server: Any, host: Host, revision: str | None) -> AsyncIterator[Client]:
    """A client with a host behind it. Without a revision the client probes for the newest one and
    falls back to the handshake."""
    if revision is not None:
        mcp.client.session.LATEST_HANDSHAKE_VERSION = revision
    client = Client(
        server,
        mode="auto" if revision is None else "legacy",
        read_timeout_seconds=LIMIT,
        client_info=types.Implementation(name="interop-python", version="1.0.0"),
        sampling_callback=host.sample,
        elicitation_callback=host.elicit,
        list_roots_callback=host.list_roots,
        logging_callback=host.log,
        message_handler=host.hear,
    )
    async with client:
        yield client


class Programs:
    """Server programs, started under a witness of how they end."""

    ending = "shutdown"

    def __init__(self, folder: str, witness: str, everything: str) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.witness = witness
        self.commands = {"everything": [everything, "--stdio", "--sessions"], "pages": [witness, "pages", "5"]}
        self.started = 0

    @asynccontextmanager
    async def connect(
        self, name: str, revision: str | None = None
    ) -> AsyncIterator[tuple[Client, Host, Left]]:
        self.started += 1
        status = self.folder / f"status-{self.started}.json"
        status.unlink(missing_ok=True)
        arguments = ["witness", str(status), *self.commands[name]]
        server = StdioServerParameters(command=self.witness, args=arguments)
        host = Host()

        async def left() -> str:
            """The server has to have left by itself, with success."""
            problem = "the server had to be killed, it did not leave when stdin was closed"
            ensure(status.exists(), problem)
            same("the exit code", json.loads(status.read_text())["code"], 0)
            same("what went wrong on the way", host.errors, [])
            return "gone with exit code 0"

        async with connected(server, host, revision) as client:
            yield client, host, left


class Urls:
    """Servers that are there already."""

    ending = "session-end"

    def __init__(self, everything: str, pages: str) -> None:
        self.urls = {"everything": everything, "pages": pages}

    @asynccontextmanager
    async def connect(
        self, name: str, revision: str | None = None
    ) -> AsyncIterator[tuple[Client, Host, Left]]:
        url = self.urls[name]
        host = Host()
        seen: dict[str, str] = {}

        async def watch(request: httpx2.Request) -> None:
            if SESSION in request.headers:
                seen.update(request.headers)
            if "last-event-id" in request.headers:
                host.resumed += 1

        async def left() -> str:
            """The session has been ended, and the server has forgotten it."""
            ensure(SESSION in seen, "there was no session")
            names = [SESSION, "mcp-protocol-version", "accept", "content-type"]
            headers = {name: seen[name] for name in names if name in seen}
            headers["content-type"] = "application/json"
            headers["accept"] = "application/json, text/event-stream"
            ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            async with httpx2.AsyncClient() as http:
                answer = await http.post(url, headers=headers, json=ping)
            same("the status after the end", answer.status_code, 404)
            same("what went wrong on the way", host.errors, [])
            return "ended by DELETE, then unknown (404)"

        timeout = httpx2.Timeout(LIMIT)
        async with httpx2.AsyncClient(event_hooks={"request": [watch]}, timeout=timeout) as http:
            server = streamable_http_client(url, http_client=http)
            async with connected(server, host, revision) as client:
                yield client, host, left


class Streams:
    """Servers that are there already, and speak as in 2024-11-05."""

    ending = "stream-end"

    def __init__(self, everything: str, pages: str) -> None:
        self.urls = {"everything": everything, "pages": pages}

    @asynccontextmanager
    async def connect(
        self, name: str, revision: str | None = None
    ) -> AsyncIterator[tuple[Client, Host, Left]]:
        host = Host()
        addresses: set[str] = set()

        async def watch(request: httpx2.Request) -> None:
            if request.method == "POST":
                addresses.add(str(request.url))

        def client(**words: Any) -> httpx2.AsyncClient:
            return httpx2.AsyncClient(**words, event_hooks={"request": [watch]})

        async def left() -> str:
            """The stream was the session: the address that the server told is nobody's any more."""
            same("addresses", len(addresses), 1)
            ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            end = anyio.current_time() + 10
            async with httpx2.AsyncClient() as http:
                answer = await http.post(*addresses, json=ping)
                # That a connection is gone is noticed a moment later.
                while answer.is_success and anyio.current_time() < end:
                    answer = await http.post(*addresses, json=ping)
            same("the status after the end", answer.status_code, 404)
            same("what went wrong on the way", host.errors, [])
            return "the stream was closed, then unknown (404)"

        server = sse_client(self.urls[name], timeout=LIMIT, httpx_client_factory=client)
        async with connected(server, host, revision) as session:
            yield session, host, left


Place = Programs | Urls | Streams


def place(kind: str, *words: str) -> Place:
    """The place that the arguments name."""
    return {"stdio": Programs, "http": Urls, "sse": Streams}[kind](*words)
