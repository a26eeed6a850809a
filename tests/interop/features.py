"""Features that the client of the Python SDK uses in the same way in every revision, tested with our everything server."""

from __future__ import annotations

import json
from functools import partial
from typing import Any, Literal

import anyio
import mcp_types as types
from mcp import Client

from place import Place
from session import Host, call, ensure, refused, row, same, text

WATCHED = "test://watched-resource"
TEMPLATE = "test://template/{id}/data"

# Arguments of tools, and a part of their results.
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
    "test_input_required_result_multi_round": ({}, "likes"),
    "greet": ({"name": "Ada"}, "Ada"),
    "slow_compute": ({"seconds": 0, "label": "nothing"}, "computed nothing"),
}
# Tools that fail or wait on purpose and have separate rows.
APART = ["test_error_handling", "wait_for_cancel"]
# Tools for clients that declare the extension for tasks.
TASKS = ["failing_job", "protocol_error_job", "confirm_delete", "multi_input", "test_tool_with_task"]


class NoSuchRequest(types.Request[types.RequestParams | None, Literal["no/such"]]):
    """A method that no revision has."""

    method: Literal["no/such"] = "no/such"
    params: types.RequestParams | None = None


class ReverseParams(types.RequestParams):
    """A text to reverse."""

    text: str


class ReverseRequest(types.Request[ReverseParams, Literal["com.example/reverse"]]):
    """A method that our server adds to the protocol."""

    method: Literal["com.example/reverse"] = "com.example/reverse"
    params: ReverseParams


class ReverseResult(types.Result):
    """The reversed text."""

    text: str


async def custom_method(client: Client, host: Host) -> str:
    request = ReverseRequest(params=ReverseParams(text="abc"))
    result = await client.session.send_request(request, ReverseResult)
    same("the text", result.text, "cba")
    return result.text


async def unknown_method(client: Client, host: Host) -> str:
    request = client.session.send_request(NoSuchRequest(), types.EmptyResult)
    return await refused([-32601], request)


async def tools_list(client: Client, host: Host) -> str:
    return f"{len((await client.list_tools()).tools)} tools"


async def tools_call(client: Client, host: Host) -> str:
    """Calls every tool. The user answers every request."""
    host.answer = filled
    tools = [tool for tool in (await client.list_tools()).tools if tool.name not in APART + TASKS]
    for tool in tools:
        needs = tool.input_schema.get("required")
        ensure(tool.name in KNOWN or not needs, f"no arguments known for {tool.name}")
        arguments, says = KNOWN.get(tool.name, ({}, ""))
        result = (await call(client, tool.name, arguments)).model_dump_json(by_alias=True)
        ensure(says in result, f"{tool.name} does not say {says}: {result}")
    return f"{len(tools)} calls"


def filled(params: Any) -> types.ElicitResult:
    """Fills in a form: with the first choice, or a value of the type."""
    if params.mode == "url":
        return types.ElicitResult(action="accept")

    def value(field: dict[str, Any]) -> Any:
        if field["type"] == "array":
            return [value({"type": "string", **field["items"]})]
        for choices in [field.get("enum"), field.get("oneOf"), field.get("anyOf")]:
            if choices:
                first = choices[0]
                return first["const"] if isinstance(first, dict) else first
        return {"boolean": True, "integer": 1, "number": 1}.get(field["type"], "ada")

    fields = params.requested_schema["properties"]
    content = {name: value(field) for name, field in fields.items()}
    return types.ElicitResult(action="accept", content=content)


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
    await call(client, "echo", {"message": "still there"})
    same("late answers", host.errors, [])
    return "cancelled after its first progress"


async def concurrent(client: Client, host: Host) -> str:
    async def one(mark: str) -> None:
        same("the answer", text(await call(client, "echo", {"message": mark})), mark)

    async with anyio.create_task_group() as calls:
        for number in range(50):
            calls.start_soon(one, f"call-{number:03}")
    return "50 calls"


async def large(client: Client, host: Host) -> str:
    message = "plain \"quoted\" back\\slash é 漢字 😀 \u2028\u2029\x85\x7f\t\n" * 20_000
    said = text(await call(client, "echo", {"message": message}))
    ensure(said == message, "echo gave something else back")
    return f"{len(message.encode())} bytes"


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


# The tests of features, in the order of their rows.
FEATURES = {
    "unknown-method": unknown_method,
    "custom-method": custom_method,
    "tools-list": tools_list,
    "tools-call": tools_call,
    "structured-output": structured,
    "unknown-tool": unknown_tool,
    "progress": progress,
    "cancellation": cancellation,
    "concurrent": concurrent,
    "resources-list": resources_list,
    "resources-read": resources_read,
    "templates": templates,
    "prompts": prompts,
    "unknown-prompt": unknown_prompt,
    "completion": completion,
    "completion-context": completion_context,
}


async def features(client: Client, host: Host) -> None:
    """Tests each feature and prints its row."""
    for feature, work in FEATURES.items():
        await row(feature, partial(work, client, host))
    await row("tool-errors", partial(failing, client, "test_error_handling", {}))
    await row("bad-arguments", partial(failing, client, "add", {"a": "two"}))
