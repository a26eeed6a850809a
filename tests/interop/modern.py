"""Tests the client of the Python SDK with our everything server at 2026-07-28, which has no sessions."""

from __future__ import annotations

from functools import partial
from typing import Any

import anyio
import mcp_types as types
from mcp import Client
from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)

from features import WATCHED, features, filled, large, pagination
from place import Place, Urls
from questions import questions
from session import Host, call, ensure, refused, row, same, text

REVISION = "2026-07-28"
LEVEL = "io.modelcontextprotocol/logLevel"


async def auto(client: Client, host: Host) -> str:
    same("the revision", client.protocol_version, REVISION)
    return f"{REVISION}, as the server answers"


async def discover(client: Client, host: Host) -> str:
    same("the name", client.server_info.name, "everything")
    ensure("fixture" in (client.instructions or ""), "no instructions")
    declared = client.server_capabilities.model_dump(exclude_none=True)
    for feature in ["tools", "prompts", "resources", "completions"]:
        ensure(feature in declared, f"{feature} are not declared")
    return f"everything, with {', '.join(declared)}"


async def logging(client: Client, host: Host) -> str:
    """Each request names the lowest level of its log messages."""

    async def messages(meta: dict[str, Any] | None, expected: int) -> list[Any]:
        before = len(host.logs)
        await call(client, "test_tool_with_logging", {}, meta=meta)
        await host.until("log messages", lambda: len(host.logs) >= before + expected)
        await call(client, "echo", {"message": "after"})
        same("messages", len(host.logs), before + expected)
        return host.logs[before:]

    await messages(None, 0)
    seen = await messages({LEVEL: "debug"}, 3)
    same("levels", [message.level for message in seen], ["info"] * 3)
    await messages({LEVEL: "error"}, 0)
    return ", ".join(message.data for message in seen)


async def unknown_resource(client: Client, host: Host) -> str:
    return await refused([-32602], client.read_resource("test://nowhere"))


async def subscribe(client: Client, host: Host) -> str:
    async with client.listen(resource_subscriptions=[WATCHED]) as events:
        same("what is told", events.honored.resource_subscriptions, [WATCHED])
        await call(client, "test_trigger_resource_change", {})
        same("the event", await anext(events), ResourceUpdated(WATCHED))
    return f"{WATCHED} updated"


async def list_changed(client: Client, host: Host) -> str:
    lists = {
        "tool": ToolsListChanged,
        "prompt": PromptsListChanged,
        "resource": ResourcesListChanged,
    }
    wanted = {f"{name}s_list_changed": True for name in lists}
    async with client.listen(**wanted) as events:
        for name, kind in lists.items():
            await call(client, f"test_trigger_{name}_change", {})
            # For a list that changes and changes back, one or two notifications arrive.
            while not isinstance(await anext(events), kind):
                pass
    return "tools, prompts, resources"


async def together(client: Client, host: Host) -> str:
    tool = "test_input_required_result_multiple_inputs"
    round = await client.session.call_tool(tool, {}, allow_input_required=True)
    ensure(isinstance(round, types.InputRequiredResult), f"it does not ask: {round}")
    same("questions in one round", len(round.input_requests), 3)
    host.answer = filled
    said = text(await call(client, tool, {}))
    expected = f"the model heard: Say hello, ada: {len(host.roots)} roots"
    same("the outcome", said, expected)
    return said


async def again(client: Client, host: Host) -> str:
    messages = []

    def answer(params: Any) -> types.ElicitResult:
        messages.append(params.message)
        return filled(params)

    host.answer = answer
    said = text(await call(client, "test_input_required_result_multi_round", {}))
    same("the questions", messages, ["What is your name?", "ada, which color?"])
    same("the outcome", said, "ada likes ada")
    return said


async def prompt_asks(client: Client, host: Host) -> str:
    host.answer = filled
    written = await client.get_prompt("test_input_required_result_prompt")
    same("the prompt", written.messages[0].content.text, "Talk about ada.")
    return "asked once, then written"


async def incapable(place: Place) -> str:
    """A client without capabilities, to which the server can send no requests."""
    async with place.connect("everything", host=None) as (client, _, left):
        missing = await refused([-32021], client.call_tool("test_missing_capability", {}))
    await left()
    return missing


async def headers(client: Client, host: Host) -> str:
    """Our server rejects a call whose headers differ from its arguments."""
    await client.list_tools()
    for value, header in [("plain", "plain"), ("grüß dich", "=?base64?Z3LDvMOfIGRpY2g=?=")]:
        same("the answer", text(await call(client, "test_custom_header", {"value": value})), value)
        same("the header", host.mirrored, header)
    return "in plain words, and in base64"


async def pinned(place: Place) -> str:
    async with place.connect("everything", REVISION) as (client, host, left):
        same("the revision", client.protocol_version, REVISION)
        same("the sum", text(await call(client, "add", {"a": 2, "b": 3})), "5")
    await left()
    return "called add"


async def conversation(ours: Place) -> None:
    async with ours.connect("everything") as (client, host, left):
        for feature, work in {
            "auto": auto,
            "discover": discover,
            "large": large,
            "logging": logging,
            "unknown-resource": unknown_resource,
            "subscribe": subscribe,
            "list-changed": list_changed,
            "together": together,
            "again": again,
            "prompt-asks": prompt_asks,
        }.items():
            await row(feature, partial(work, client, host))
        await features(client, host)
        await questions(client, host, ours)
        if isinstance(ours, Urls):
            await row("headers", partial(headers, client, host))
    await row(ours.ending, left)
    await row("incapable", partial(incapable, ours))
    await row("pagination", partial(pagination, ours))
    await row(f"revision-{REVISION}", partial(pinned, ours))
