"""Tests the client of the Python SDK with our everything server, for `cargo xtask interop`.

    python client.py REVISION stdio FOLDER INTEROP-CLIENT EVERYTHING-SERVER
    python client.py REVISION http URL URL-OF-PAGES
    python client.py sessions sse URL URL-OF-PAGES

REVISION is sessions or stateless. INTEROP-CLIENT records how a server ends, and can serve lists in small
pages. The URLs are those of the everything server and of a server with small pages. Prints one JSON line per feature.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import anyio
import httpx2
import mcp_types as types
from mcp import Client, MCPError

import modern
from features import WATCHED, features, large, pagination
from place import Place, Streams, Urls, place
from questions import questions
from session import Absent, Host, Probes, call, ensure, refused, row, same, text

REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]


async def initialize(client: Client, host: Host) -> str:
    same("the name", client.server_info.name, "everything")
    same("the revision", client.protocol_version, REVISIONS[-1])
    ensure("fixture" in (client.instructions or ""), "no instructions")
    return f"everything, {client.protocol_version}"


async def found(probes: Probes, client: Client) -> str:
    [code] = probes.codes
    ensure(code in [-32600, -32601, -32022], f"the probe was answered with code {code}")
    return f"{client.protocol_version}, by initialize after code {code}"


async def ping(client: Client, host: Host) -> str:
    await client.send_ping()
    return "answered"


async def resumption(client: Client, host: Host) -> str:
    """The server closes the connection before it responds; the client resumes the stream."""
    before = host.resumed
    said = text(await call(client, "test_reconnection", {}))
    ensure(host.resumed > before, "no stream was resumed")
    return said


async def too_large(place: Place) -> str:
    """The HTTP+SSE client limits events to a megabyte. A longer response ends its stream, so this test uses a
    separate connection."""
    said: list[str] = []
    try:
        async with place.connect("everything") as (client, host, left):
            return await large(client, host)
    except* (httpx2.SSEError, MCPError) as ended:
        said = [str(one) for one in ended.exceptions]
    raise Absent(f"the client ends its stream: {said}")


async def logging(client: Client, host: Host) -> str:
    async def messages(level: types.LoggingLevel, expected: int) -> list[Any]:
        before = len(host.logs)
        await client.set_logging_level(level)
        await call(client, "test_tool_with_logging", {})
        await host.until("log messages", lambda: len(host.logs) >= before + expected)
        await client.send_ping()
        same("messages", len(host.logs), before + expected)
        return host.logs[before:]

    await messages("error", 0)
    seen = await messages("debug", 3)
    same("levels", [message.level for message in seen], ["info"] * 3)
    await messages("error", 0)
    return ", ".join(message.data for message in seen)


async def unknown_resource(client: Client, host: Host) -> str:
    return await refused([-32002], client.read_resource("test://nowhere"))


async def subscribe(client: Client, host: Host) -> str:
    def updates() -> int:
        told = host.told(types.ResourceUpdatedNotification)
        return len([update for update in told if update.params.uri == WATCHED])

    await client.subscribe_resource(WATCHED)
    await call(client, "test_trigger_resource_change", {})
    await host.until("an update", lambda: updates() > 0)
    await client.unsubscribe_resource(WATCHED)
    await client.send_ping()
    before = updates()
    await call(client, "test_trigger_resource_change", {})
    await client.send_ping()
    same("updates after the end", updates(), before)
    return f"{WATCHED} updated"


async def list_changed(client: Client, host: Host) -> str:
    for name, kind in {
        "tool": types.ToolListChangedNotification,
        "prompt": types.PromptListChangedNotification,
        "resource": types.ResourceListChangedNotification,
    }.items():
        await call(client, f"test_trigger_{name}_change", {})
        await host.until(f"a change of {name}s", lambda kind=kind: bool(host.told(kind)))
    return "tools, prompts, resources"


async def tasks(client: Client, host: Host) -> str:
    declared = client.server_capabilities.model_dump(exclude_none=True)
    ensure("tasks" not in declared, "the server declares tasks")
    raise Absent("the server declares no tasks")


async def revision(place: Place, version: str) -> str:
    async with place.connect("everything", version) as (client, host, left):
        same("the revision", client.protocol_version, version)
        await client.send_ping()
        same("the sum", text(await call(client, "add", {"a": 2, "b": 3})), "5")
        weather = await call(client, "get_weather", {"location": "Oslo"})
        known = version >= "2025-06-18"
        same("structured output", weather.structured_content is not None, known)
    await left()
    return "called add and get_weather"


async def sessions(ours: Place) -> None:
    probes = Probes()
    async with ours.connect("everything") as (client, host, left):
        await row("auto", partial(found, probes, client))
        for feature, work in {
            "initialize": initialize,
            "ping": ping,
            "logging": logging,
            "unknown-resource": unknown_resource,
            "subscribe": subscribe,
            "list-changed": list_changed,
            "tasks": tasks,
        }.items():
            await row(feature, partial(work, client, host))
        await features(client, host)
        if isinstance(ours, Streams):
            await row("large", partial(too_large, ours))
        else:
            await row("large", partial(large, client, host))
        if isinstance(ours, Urls):
            await row("resumption", partial(resumption, client, host))
        await questions(client, host, ours)
    await row(ours.ending, left)
    await row("pagination", partial(pagination, ours))
    for version in REVISIONS:
        await row(f"revision-{version}", partial(revision, ours, version))


async def main() -> None:
    ours = place(*sys.argv[1:])
    await (modern.conversation(ours) if ours.stateless else sessions(ours))


anyio.run(main)
