"""A server made with the Python SDK, which our client calls: `python server.py`, or
`python server.py --http` for any port.

It has each feature, also those that the reference servers lack: lists in pages, a tool that records its
cancellation, and the notification that an elicitation by URL is complete.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import anyio
import mcp_types as types
import uvicorn
from mcp import MCPError
from mcp.server.elicitation import ElicitationResult
from mcp.server.lowlevel.server import NotificationOptions
from mcp.server.mcpserver import Context, Elicit, ListRoots, MCPServer, Resolve, Sample
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http import EventMessage, EventStore
from mcp.shared.exceptions import UrlElicitationRequiredError
from pydantic import BaseModel, Field

LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
PAGE = 4

app = MCPServer("python-peer", version="1.0.0", instructions="A bit of each.")
low = app._lowlevel_server  # The part that takes handlers for any method.


class State:
    """The state of one connection."""

    level = "debug"
    visited = False
    subscribed: set[str] = set()


class Place(BaseModel):
    """A place and its weather."""

    city: str
    celsius: float
    wind: float | None = None


class Name(BaseModel):
    """The name of a person."""

    name: str = Field(min_length=2)


class Topic(BaseModel):
    """A topic."""

    topic: str


class Order(BaseModel):
    """A form with a field of each kind, two of them without a default."""

    name: str = Field(description="The name of the customer", min_length=2)
    sugar: int = Field(ge=0, le=5)
    strength: float = 1.5
    tea: Literal["green", "black"] = "black"
    milk: bool = True


@app.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@app.tool()
def echo(text: str) -> str:
    """Returns its argument."""
    return text


@app.tool()
def weather(city: str, units: Annotated[str, Field(description="Not used")] = "C") -> Place:
    """Returns structured output."""
    return Place(city=city, celsius=21.5)


@app.tool()
def fail(reason: str = "") -> str:
    """Fails if a reason is given."""
    if reason:
        raise ToolError(f"it failed {reason}")
    return "no reason to fail"


@app.tool()
async def count(steps: int, ctx: Context) -> str:
    """Reports progress."""
    for step in range(1, steps + 1):
        await ctx.report_progress(step, steps, f"step {step}")
        await anyio.sleep(0.02)
    return f"counted to {steps}"


@app.tool()
async def wait(ctx: Context, seconds: float = 300, record: str = "") -> str:
    """Waits until it is cancelled, and creates the file `record` then, which another process can see."""
    try:
        await ctx.report_progress(1)
        await anyio.sleep(seconds)
    except anyio.get_cancelled_exc_class():
        Path(record).touch()
        raise
    return "it was not cancelled"


@app.tool()
def was_cancelled(record: str = "") -> bool:
    """Returns whether `wait` was cancelled."""
    return Path(record).is_file()


@app.tool()
async def tell(ctx: Context) -> str:
    """Logs a message."""
    if not is_stateless(ctx) and LEVELS.index("info") < LEVELS.index(State.level):
        return "told"
    await ctx.session.send_log_message("info", "told", "peer", related_request_id=ctx.request_id)
    return "told"


def is_stateless(ctx: Context) -> bool:
    """Returns whether the call uses the stateless revision."""
    return ctx.protocol_version == "2026-07-28"


def to_model(prompt: str) -> Sample:
    text = types.TextContent(type="text", text=prompt)
    return Sample([types.SamplingMessage(role="user", content=text)], max_tokens=50)


def greeting_to_model() -> Sample:
    return to_model("say hello")


def for_order() -> Elicit[Order]:
    return Elicit("What may it be?", Order)


def for_name() -> Elicit[Name]:
    return Elicit("Enter your name", Name)


def for_roots() -> ListRoots:
    return ListRoots()


Named = Annotated[Name, Resolve(for_name)]
Rooted = Annotated[types.ListRootsResult, Resolve(for_roots)]


def for_companion(first: Named) -> Elicit[Name]:
    return Elicit(f"And who comes with {first.name}?", Name)


def uris(answer: types.ListRootsResult) -> str:
    return ", ".join(str(root.uri) for root in answer.roots)


@app.tool()
def ask_model(
    prompt: str, answer: Annotated[types.CreateMessageResult, Resolve(to_model)]
) -> str:
    """Requests a completion from the model of the client."""
    return f"{answer.model}: {answer.content.text}"


@app.tool()
def ask_user(order: Annotated[ElicitationResult[Order], Resolve(for_order)]) -> str:
    """Requests a form from the user."""
    return order.data.model_dump_json() if order.action == "accept" else f"user: {order.action}"


@app.tool()
def ask_roots(roots: Rooted) -> str:
    """Requests the roots."""
    return uris(roots)


@app.tool()
def ask_all(
    user: Named,
    model: Annotated[types.CreateMessageResult, Resolve(greeting_to_model)],
    roots: Rooted,
) -> str:
    """Sends three requests at once: to the user, the model and the host."""
    return f"{user.name}; {model.content.text}; {uris(roots)}"


@app.tool()
def ask_twice(first: Named, second: Annotated[Name, Resolve(for_companion)]) -> str:
    """Sends a request, and a second one that depends on the first response."""
    return f"{first.name} and {second.name}"


@app.tool()
async def ask_url(url: str, ctx: Context) -> str | types.InputRequiredResult:
    """Sends the user to a URL. In a session, the elicitation has an id, and a notification reports its completion."""
    message = "Please look at this"
    if is_stateless(ctx):
        if answer := (ctx.input_responses or {}).get("visit"):
            return f"user: {answer.action}"
        visit = types.ElicitRequestURLParams(message=message, url=url)
        question = types.ElicitRequest(params=visit)
        return types.InputRequiredResult(input_requests={"visit": question})
    visit = await ctx.elicit_url(message, url, "visit-1")
    if visit.action == "accept":
        await ctx.session.send_elicit_complete("visit-1")
    return f"user: {visit.action}"


@app.tool()
def headed(value: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Value"})], ctx: Context) -> str:
    """Returns the header that repeats its argument."""
    return (ctx.headers or {}).get("mcp-param-value", "no header")


@app.tool()
async def needs_url(first: bool = False) -> str:
    """Requires that a URL is visited first, if `first` is set."""
    if State.visited or not first:
        return "visited"
    State.visited = True
    visit = types.ElicitRequestURLParams(
        message="Visit this first", url="https://example.com/first", elicitation_id="visit-2"
    )
    raise UrlElicitationRequiredError([visit])


@app.tool()
async def change(ctx: Context) -> str:
    """Notifies the client that all lists have changed."""
    if is_stateless(ctx):
        await ctx.notify_tools_changed()
        await ctx.notify_prompts_changed()
        await ctx.notify_resources_changed()
        return "changed"
    await ctx.session.send_tool_list_changed()
    await ctx.session.send_prompt_list_changed()
    await ctx.session.send_resource_list_changed()
    return "changed"


@app.tool()
async def touch(uri: str, ctx: Context) -> str:
    """Notifies clients with a subscription that a resource has changed."""
    if is_stateless(ctx):
        await ctx.notify_resource_updated(uri)
    elif uri in State.subscribed:
        await ctx.session.send_resource_updated(uri)
    return "touched"


@app.tool()
async def pause(ctx: Context) -> str:
    """Closes the connection before it responds, if the transport can."""
    await ctx.close_sse_stream()
    await anyio.sleep(0.1)
    return "the client came back"


@app.resource("peer://note", mime_type="text/plain")
def note() -> str:
    """A text."""
    return "a note"


@app.resource("peer://bytes", mime_type="application/octet-stream")
def some_bytes() -> bytes:
    """Some bytes."""
    return bytes(range(256))


@app.resource("peer://greeting/{name}")
def greeting(name: str) -> str:
    """A greeting for a name."""
    return f"hello {name}"


@app.prompt()
def review(code: str, language: str = "rust") -> str:
    """Asks for a review."""
    return f"Please review this {language} code: {code}"


@app.prompt()
async def asking(ctx: Context) -> str | types.InputRequiredResult:
    """Requests a topic from the user."""
    if not is_stateless(ctx):
        answer = await ctx.elicit("What is it about?", Topic)
        return f"Talk about {answer.data.topic}"
    if answer := (ctx.input_responses or {}).get("topic"):
        return f"Talk about {answer.content['topic']}"
    schema = Topic.model_json_schema()
    form = types.ElicitRequestFormParams(message="What is it about?", requested_schema=schema)
    return types.InputRequiredResult(input_requests={"topic": types.ElicitRequest(params=form)})


@app.completion()
async def complete(ref: Any, argument: Any, context: Any) -> types.Completion | None:
    known = (context.arguments or {}) if context else {}
    words = ["rust", "ruby", "python"] if argument.name == "language" else ["ada", "alan"]
    if known.get("code") == "print":
        words = ["python"]
    values = [word for word in words if word.startswith(argument.value)]
    return types.Completion(values=values, total=len(values), has_more=False)


async def list_tools(_ctx: Any, params: types.PaginatedRequestParams) -> types.ListToolsResult:
    """Lists tools in pages. The cursor is the index of the first tool of the page."""
    tools = await app.list_tools()
    if params.cursor and not params.cursor.isdigit():
        raise MCPError(types.INVALID_PARAMS, "no such cursor")
    start = int(params.cursor or 0)
    end = start + PAGE
    following = str(end) if end < len(tools) else None
    return types.ListToolsResult(tools=tools[start:end], next_cursor=following)


class ReverseParams(types.RequestParams):
    """A text to reverse."""

    text: str


class ReverseResult(types.Result):
    """The reversed text."""

    text: str


async def reverse(_ctx: Any, params: ReverseParams) -> ReverseResult:
    return ReverseResult(text=params.text[::-1])


async def set_level(_ctx: Any, params: types.SetLevelRequestParams) -> types.EmptyResult:
    State.level = params.level
    return types.EmptyResult()


async def subscribe(_ctx: Any, params: types.SubscribeRequestParams) -> types.EmptyResult:
    State.subscribed.add(params.uri)
    return types.EmptyResult()


async def unsubscribe(_ctx: Any, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
    State.subscribed.discard(params.uri)
    return types.EmptyResult()


class Events(EventStore):
    """The events that were sent, for clients that resume their stream."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, types.JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: types.JSONRPCMessage | None) -> str:
        self.sent.append((stream_id, message))
        return str(len(self.sent))

    async def replay_events_after(self, last_event_id: str, send_callback: Any) -> str | None:
        last = int(last_event_id)
        stream, _ = self.sent[last - 1]
        for number, (other, message) in enumerate(self.sent[last:], last + 1):
            if other == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


async def main() -> None:
    low.add_request_handler("tools/list", types.PaginatedRequestParams, list_tools)
    low.add_request_handler("logging/setLevel", types.SetLevelRequestParams, set_level)
    low.add_request_handler("resources/subscribe", types.SubscribeRequestParams, subscribe)
    low.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, unsubscribe)
    low.add_request_handler("com.example/reverse", ReverseParams, reverse)
    every = NotificationOptions(True, True, True)
    low.create_initialization_options = partial(low.create_initialization_options, every)
    if "--http" in sys.argv:
        endpoint = app.streamable_http_app(event_store=Events(), retry_interval=100)
        await uvicorn.Server(uvicorn.Config(endpoint, port=0)).serve()
        return
    async with stdio_server() as (incoming, outgoing):
        await low.run(incoming, outgoing, low.create_initialization_options())


anyio.run(main)
