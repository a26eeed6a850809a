"""A Python client that calls a server of `tests/src/reliability` without end, for `cargo xtask cluster`.

    python steady.py URL

Prints one JSON line per call: when it began and ended, its error, and the progress it has seen."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import anyio
from mcp.client.streamable_http import streamable_http_client

from place import connected
from session import Host, innermost, text

STEPS = 20
# A call that takes longer counts as one that never ends.
LIMIT = 30


class Calls:
    """The calls of one session."""

    def __init__(self) -> None:
        self.name = ""
        self.begin = time.time()
        self.seen: list[float] = []

    def print(self, error: str | None) -> None:
        times = {"begin": self.begin, "end": time.time()}
        line = {"name": self.name, **times, "error": error, "progress": self.seen}
        print(json.dumps(line), flush=True)

    async def report(self, progress: float, _total: float | None, _message: str | None) -> None:
        self.seen.append(progress)

    async def call(self, client: Any, name: str, arguments: dict[str, Any], expected: str) -> None:
        self.name, self.begin, self.seen = name, time.time(), []
        error = None
        try:
            with anyio.fail_after(LIMIT):
                said = text(await client.call_tool(name, arguments, progress_callback=self.report))
                if said != expected:
                    error = f"wrong: {said}"
        except TimeoutError:
            error = "hung"
        except Exception as cause:
            error = innermost(cause)
        self.print(error)

    async def run(self, url: str) -> None:
        async with connected(streamable_http_client(url), Host(), "2025-11-25") as client:
            while True:
                await self.call(client, "steps", {"count": STEPS, "millis": 20}, "done")
                await self.call(client, "echo", {"message": "here"}, "here")


async def main(url: str) -> None:
    while True:
        calls = Calls()
        try:
            await calls.run(url)
        except BaseExceptionGroup as cause:
            # The client ends at a connection that is closed without a response.
            calls.print(f"the client has ended: {innermost(cause)}")


anyio.run(main, sys.argv[1])
