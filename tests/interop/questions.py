"""Requests of our everything server to a client: sampling, elicitation and roots."""

from __future__ import annotations

from functools import partial
from typing import Any

import mcp_types as types
from mcp import Client, MCPError

from place import Place
from session import Host, call, ensure, row, same, text


async def sampling(client: Client, host: Host) -> str:
    said = text(await call(client, "test_sampling", {"prompt": "six times seven?"}))
    same("the answer", said, "LLM response: the model heard: six times seven?")
    return said


async def asked(client: Client, host: Host, tool: str, arguments: dict, answer: Any) -> str:
    """Calls a tool that sends an elicitation request, to which `answer` responds. Returns the text of the result."""
    questions = []

    def answering(params: Any) -> types.ElicitResult:
        questions.append(params)
        return answer(params)

    host.answer = answering
    said = text(await call(client, tool, arguments))
    same("questions", len(questions), 1)
    return said


def accept(content: dict[str, Any] | None = None) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content=content)


async def form(client: Client, host: Host) -> str:
    def fill(params: types.ElicitRequestFormParams) -> types.ElicitResult:
        same("the message", params.message, "who?")
        same("required", sorted(params.requested_schema["required"]), ["email", "username"])
        return accept({"username": "ada", "email": "ada@example.com"})

    said = await asked(client, host, "test_elicitation", {"message": "who?"}, fill)
    ensure("action=accept" in said and "ada@example.com" in said, said)
    choices = {
        "untitledSingle": "option2",
        "titledSingle": "value2",
        "legacyEnum": "opt2",
        "untitledMulti": ["option1", "option3"],
        "titledMulti": ["value1", "value3"],
    }
    tool = "test_elicitation_sep1330_enums"
    chosen = await asked(client, host, tool, {}, lambda _: accept(choices))
    ensure('"titledMulti":["value1","value3"]' in chosen, chosen)
    return said


async def defaults(client: Client, host: Host) -> str:
    def take(params: types.ElicitRequestFormParams) -> types.ElicitResult:
        fields = params.requested_schema["properties"]
        return accept({name: field["default"] for name, field in fields.items()})

    said = await asked(client, host, "test_elicitation_sep1034_defaults", {}, take)
    for value in ['"John Doe"', ":30", ":95.5", '"active"', ":true"]:
        ensure(value in said, f"no {value} in {said}")
    return said


async def refusals(client: Client, host: Host) -> str:
    said = []
    for action in ["decline", "cancel"]:
        result = types.ElicitResult(action=action)
        tool, arguments = "test_elicitation", {"message": "who?"}
        said.append(await asked(client, host, tool, arguments, lambda _, r=result: r))
        ensure(f"action={action}" in said[-1], said[-1])
    return "; ".join(said)


async def url(client: Client, host: Host, place: Place) -> str:
    """The user accepts a URL, and declines the next one. In a session, the elicitation has an id, which the notification
    of its completion repeats."""
    ids = []

    def visit(params: types.ElicitRequestURLParams) -> types.ElicitResult:
        same("the mode", params.mode, "url")
        ids.append(params.elicitation_id)
        return accept()

    said = await asked(client, host, "test_elicitation_url", {}, visit)
    same("the outcome", said, "accepted: true")

    def ended() -> bool:
        ends = host.told(types.ElicitCompleteNotification)
        return ids[0] in [end.params.elicitation_id for end in ends]

    if place.stateless:
        same("ids", ids, [None])
    else:
        await host.until("the end of the visit", ended)
    decline = types.ElicitResult(action="decline")
    no = await asked(client, host, "test_elicitation_url", {}, lambda _: decline)
    same("the outcome", no, "accepted: false")
    return f"{said}, its completion was reported; {no}"


async def required(place: Place) -> str:
    """Only the server with small pages has this tool."""
    async with place.connect("pages") as (client, host, left):
        try:
            await client.call_tool("interop_url_required", {})
            raise AssertionError("answered before the visit")
        except MCPError as refusal:
            same("the code", refusal.code, types.URL_ELICITATION_REQUIRED)
            url = refusal.data["elicitations"][0]["url"]
            same("the URL", url, "https://example.com/first")
        again = text(await call(client, "interop_url_required", {}))
        same("after the visit", again, "visited")
    await left()
    return "code -32042, then answered"


async def roots(client: Client, host: Host) -> str:
    said = text(await call(client, "test_list_roots", {}))
    same("the roots", said, "roots: " + ", ".join(str(root.uri) for root in host.roots))
    return said


async def roots_changed(client: Client, host: Host, place: Place) -> str:
    """In a session, the client has to send a notification. At the stateless revision, the server requests the roots each time."""
    host.roots = [types.Root(uri="file:///elsewhere"), types.Root(uri="file:///more")]
    if not place.stateless:
        await client.send_roots_list_changed()
    return await roots(client, host)


async def questions(client: Client, host: Host, place: Place) -> None:
    """Tests each kind of request and prints its row."""
    for feature, work in {
        "sampling": sampling,
        "elicitation": form,
        "elicitation-defaults": defaults,
        "elicitation-refused": refusals,
        "elicitation-url": partial(url, place=place),
        "roots": roots,
        "roots-changed": partial(roots_changed, place=place),
    }.items():
        await row(feature, partial(work, client, host))
    if not place.stateless:
        await row("url-required", partial(required, place))
