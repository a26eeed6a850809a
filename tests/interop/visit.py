"""A Python client of 2026-07-28 with the published everything server behind `mcp bridge`, for `cargo xtask interop`.

    python visit.py mcp|fastmcp URL

Prints one JSON line per feature."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import fastmcp
import mcp_types as types
from fastmcp.client.elicitation import ElicitResult
from mcp.client.streamable_http import streamable_http_client

from place import connected
from session import Host, ensure, row, same, text

REVISION = "2026-07-28"
FILLED = {"name": "Ada", "check": True}


@asynccontextmanager
async def sdk(url: str) -> AsyncIterator[Any]:
    host = Host()
    host.answer = lambda _: types.ElicitResult(action="accept", content=FILLED)
    async with connected(streamable_http_client(url), host, REVISION) as client:
        yield client, client.protocol_version


@asynccontextmanager
async def framework(url: str) -> AsyncIterator[Any]:
    async def sample(messages: list[Any], *_: Any) -> str:
        return "the model heard: " + " ".join(message.content.text for message in messages)

    async def elicit(*_: Any) -> ElicitResult:
        return ElicitResult(action="accept", content=FILLED)

    handlers = {"sampling_handler": sample, "elicitation_handler": elicit}
    async with fastmcp.Client(url, mode=REVISION, **handlers) as client:
        yield client, client.session.protocol_version


async def visit(connect: Any, url: str) -> None:
    async with connect(url) as (client, revision):

        async def negotiated() -> str:
            same("the revision", revision, REVISION)
            return revision

        async def listed() -> str:
            tools = await client.list_tools()
            names = [tool.name for tool in getattr(tools, "tools", tools)]
            for name in ["echo", "trigger-elicitation-request", "trigger-sampling-request"]:
                ensure(name in names, f"{name} is not listed: {names}")
            return f"{len(names)} tools"

        async def called(name: str, arguments: dict[str, Any], part: str) -> str:
            said = text(await client.call_tool(name, arguments))
            ensure(part in said, f"{name} says {said!r}")
            return part

        await row("auto", negotiated)
        await row("listed", listed)
        await row("called", lambda: called("echo", {"message": "Grüße"}, "Grüße"))
        await row("sampled", lambda: called("trigger-sampling-request", {"prompt": "six?"}, "the model heard"))
        await row("elicited", lambda: called("trigger-elicitation-request", {}, "Name: Ada"))

    async def ended() -> str:
        return "the connection is closed"

    await row("ended", ended)


anyio.run(visit, {"mcp": sdk, "fastmcp": framework}[sys.argv[1]], sys.argv[2])
