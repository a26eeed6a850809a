"""The Python SDK's client against our everything server, for `cargo xtask interop`.

    python client.py stdio FOLDER INTEROP-CLIENT EVERYTHING-SERVER
    python client.py http URL URL-OF-PAGES

Prints one JSON line per feature. The programs are a witness of how servers end, which also serves
the everything server in small pages, and that server; the URLs are those of the two servers.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import Any, Literal

import anyio
import httpx2
import mcp_types as types
from mcp import Client, MCPError

from place import Place, Streams, Urls, place
from questions import questions
from session import Absent, Host, Probes, call, ensure, refused, row, same, text

REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
WATCHED = "test://watched-resource"
TEMPLATE = "test://template/{id}/data"

# Arguments of tools that need some, and what they say.
KNOWN: dict[str, tuple[dict[str, Any], str]] = {
    "test_simple_text": ({}, "simple text response"),
    "test_image_content": ({}, '"type":"image"'),
    "test_audio_content": ({}, "audio/wav"),
    "test_embedded_resource": ({}, "test://embedded-resource"),
    "test_resource_link": ({}, "resource_link"),
    "test_multiple_content_types": ({}, "test://mixed-content-resource"),
    "test_tool_with_progress": ({}, "Progress"),
    "test_tool_with_logging": ({}, "Logged"),
    "add": ({"a": 2, "b": 3}, "5"),
    "echo": ({"message": "grüß dich"}, "grüß dich"),
    "get_weather": ({"location": "Oslo"}, "sunny in Oslo"),
    "json_schema_2020_12_tool": ({"contactMethod": "phone", "phone": "1"}, "phone"),
    "test_custom_header": ({"value": "v"}, "v"),
    "test_sampling": ({"prompt": "six times seven?"}, "six times seven?"),
    "test_elicitation": ({"message": "who?"}, "action="),
}
# Tools with a row of their own, that fail or wait on purpose.
APART = ["test_error_handling", "wait_for_cancel"]


class NoSuchRequest(types.Request[types.RequestParams | None, Literal["no/such"]]):
    """A method that no revision has."""

    method: Literal["no/such"] = "no/such"
    params: types.RequestParams | None = None


async def initialize(client: Client, host: Host) -> str:
    same("the name", client.server_info.name, "everything")
    same("the revision", client.protocol_version, REVISIONS[-1])
    ensure("fixture" in (client.instructions or ""), "no instructions")
    return f"everything, {client.protocol_version}"


async def discover(probes: Probes, client: Client) -> str:
    [code] = probes.codes
    ensure(code in [-32600, -32601, -32022], f"the probe was answered with code {code}")
    return f"code {code}, then {client.protocol_version} by initialize"


async def ping(client: Client, host: Host) -> str:
    await client.send_ping()
    return "answered"


async def unknown_method(client: Client, host: Host) -> str:
    request = client.session.send_request(NoSuchRequest(), types.EmptyResult)
    return await refused([-32601], request)


async def tools_list(client: Client, host: Host) -> str:
    return f"{len((await client.list_tools()).tools)} tools"


async def tools_call(client: Client, host: Host) -> str:
    tools = [tool for tool in (await client.list_tools()).tools if tool.name not in APART]
    for tool in tools:
        needs = tool.input_schema.get("required")
        ensure(tool.name in KNOWN or not needs, f"no arguments known for {tool.name}")
        arguments, says = KNOWN.get(tool.name, ({}, ""))
        result = (await call(client, tool.name, arguments)).model_dump_json(by_alias=True)
        ensure(says in result, f"{tool.name} does not say {says}: {result}")
    return f"{len(tools)} calls"


async def structured(client: Client, host: Host) -> str:
    result = await call(client, "get_weather", {"location": "Oslo"})
    expected = {"temperature": 21.5, "conditions": "sunny in Oslo"}
    same("the output", result.structured_content, expected)
    return json.dumps(result.structured_content)


async def failing(client: Client, name: str, arguments: dict[str, Any]) -> str:
    result = await client.call_tool(name, arguments)
    ensure(result.is_error is True, f"{name} did not fail")
    return text(result)


async def progress(client: Client, host: Host) -> str:
    seen = []

    async def report(progress: float, total: float | None, _message: str | None) -> None:
        seen.append((progress, total))

    await call(client, "test_tool_with_progress", {}, progress_callback=report)
    await host.until("progress", lambda: len(seen) >= 3)
    same("progress", seen, [(0, 100), (50, 100), (100, 100)])
    return "3 reports"


async def cancellation(client: Client, host: Host) -> str:
    scope = anyio.CancelScope()

    async def enough(_progress: float, _total: float | None, _message: str | None) -> None:
        scope.cancel()

    with scope:
        await call(client, "wait_for_cancel", {}, progress_callback=enough)
        raise AssertionError("the call was answered")
    await client.send_ping()
    same("late answers", host.errors, [])
    return "cancelled after its first progress"


async def concurrent(client: Client, host: Host) -> str:
    async def one(mark: str) -> None:
        same("the answer", text(await call(client, "echo", {"message": mark})), mark)

    async with anyio.create_task_group() as calls:
        for number in range(50):
            calls.start_soon(one, f"call-{number:03}")
    return "50 calls"


async def resumption(client: Client, host: Host) -> str:
    """The server gives the connection back before it answers; the client comes back for the
    rest."""
    before = host.resumed
    said = text(await call(client, "test_reconnection", {}))
    ensure(host.resumed > before, "no stream was taken up again")
    return said


async def large(client: Client, host: Host) -> str:
    message = "plain \"quoted\" back\\slash é 漢字 😀 \u2028\u2029\x85\x7f\t\n" * 20_000
    said = text(await call(client, "echo", {"message": message}))
    ensure(said == message, "echo gave something else back")
    return f"{len(message.encode())} bytes"


async def too_large(place: Place) -> str:
    """Over two endpoints the client takes events of a megabyte, and an answer is one. What is longer
    ends its stream, so this has a connection of its own."""
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


async def resources_list(client: Client, host: Host) -> str:
    uris = [resource.uri for resource in (await client.list_resources()).resources]
    for uri in ["test://static-text", "test://static-binary", WATCHED]:
        ensure(uri in uris, f"{uri} is not listed")
    return f"{len(uris)} resources"


async def resources_read(client: Client, host: Host) -> str:
    resources = (await client.list_resources()).resources
    for resource in resources:
        [contents] = (await client.read_resource(resource.uri)).contents
        same("the URI", contents.uri, resource.uri)
        body = getattr(contents, "text", None) or getattr(contents, "blob", None)
        ensure(bool(body), f"{resource.uri} is empty")
    return f"{len(resources)} read"


async def templates(client: Client, host: Host) -> str:
    found = (await client.list_resource_templates()).resource_templates
    ensure(TEMPLATE in [template.uri_template for template in found], "no template")
    [contents] = (await client.read_resource("test://template/123/data")).contents
    expected = {"id": "123", "templateTest": True, "data": "Data for ID: 123"}
    same("the data", json.loads(contents.text), expected)
    return contents.uri


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


async def prompts(client: Client, host: Host) -> str:
    found = (await client.list_prompts()).prompts
    for prompt in found:
        arguments = {argument.name: "test://x" for argument in prompt.arguments or []}
        written = await client.get_prompt(prompt.name, arguments)
        ensure(len(written.messages) > 0, f"{prompt.name} is empty")
    arguments = {"arg1": "hello", "arg2": "world"}
    written = await client.get_prompt("test_prompt_with_arguments", arguments)
    expected = "Prompt with arguments: arg1='hello', arg2='world'"
    same("the prompt", written.messages[0].content.text, expected)
    return f"{len(found)} prompts"


async def unknown_prompt(client: Client, host: Host) -> str:
    return await refused([-32602], client.get_prompt("nowhere"))


async def unknown_tool(client: Client, host: Host) -> str:
    return await refused([-32602], client.call_tool("no-such-tool", {}))


PROMPT = types.PromptReference(type="ref/prompt", name="test_prompt_with_arguments")


async def completion(client: Client, host: Host) -> str:
    of_prompt = await client.complete(PROMPT, {"name": "arg1", "value": "par"})
    values = of_prompt.completion.values
    same("the completion", values, ["paris", "park", "party", "compare"])
    template = types.ResourceTemplateReference(type="ref/resource", uri=TEMPLATE)
    of_template = await client.complete(template, {"name": "id", "value": "1"})
    same("the completion", of_template.completion.values, ["123"])
    return ", ".join(values)


async def completion_context(client: Client, host: Host) -> str:
    argument = {"name": "arg2", "value": "x"}
    answer = await client.complete(PROMPT, argument, {"arg1": "paris"})
    same("the completion", answer.completion.values, ["paris-x"])
    return "paris-x"


async def tasks(client: Client, host: Host) -> str:
    declared = client.server_capabilities.model_dump(exclude_none=True)
    ensure("tasks" not in declared, "the server declares tasks")
    raise Absent("the server declares no tasks")


async def pagination(place: Place) -> str:
    async with place.connect("pages") as (client, host, left):
        names, cursor, count = [], None, 0
        while count == 0 or cursor is not None:
            page = await client.list_tools(cursor=cursor)
            names += [tool.name for tool in page.tools]
            cursor, count = page.next_cursor, count + 1
        ensure(count > 3, f"{count} pages")
        same("names", len(set(names)), len(names))
        await refused([-32602], client.list_tools(cursor="no such cursor"))
    await left()
    return f"{len(names)} tools on {count} pages"


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


FEATURES = {
    "initialize": initialize,
    "ping": ping,
    "unknown-method": unknown_method,
    "tools-list": tools_list,
    "tools-call": tools_call,
    "structured-output": structured,
    "unknown-tool": unknown_tool,
    "progress": progress,
    "cancellation": cancellation,
    "concurrent": concurrent,
    "large": large,
    "logging": logging,
    "resources-list": resources_list,
    "resources-read": resources_read,
    "templates": templates,
    "unknown-resource": unknown_resource,
    "subscribe": subscribe,
    "list-changed": list_changed,
    "prompts": prompts,
    "unknown-prompt": unknown_prompt,
    "completion": completion,
    "completion-context": completion_context,
    "tasks": tasks,
}


async def main() -> None:
    ours = place(*sys.argv[1:])
    probes = Probes()
    async with ours.connect("everything") as (client, host, left):
        await row("discover", partial(discover, probes, client))
        for feature, work in FEATURES.items():
            if feature == "large" and isinstance(ours, Streams):
                await row(feature, partial(too_large, ours))
                continue
            await row(feature, partial(work, client, host))
        await row("tool-errors", partial(failing, client, "test_error_handling", {}))
        await row("bad-arguments", partial(failing, client, "add", {"a": "two"}))
        if isinstance(ours, Urls):
            await row("resumption", partial(resumption, client, host))
        await questions(client, host, ours)
    await row(ours.ending, left)
    await row("pagination", partial(pagination, ours))
    for version in REVISIONS:
        await row(f"revision-{version}", partial(revision, ours, version))


anyio.run(main)
