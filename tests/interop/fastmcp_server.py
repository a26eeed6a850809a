"""A server made with FastMCP, which our client calls: `python fastmcp_server.py`.

It uses stdio, or HTTP on any port with `--http`, and offers what `server.py` offers, in the words of this framework and
of nothing below it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import anyio
import mcp_types as types
import uvicorn
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.dependencies import get_http_headers
from fastmcp.server.event_store import EventStore
from mcp.shared.exceptions import UrlElicitationRequiredError
from pydantic import BaseModel, Field

app = FastMCP("fastmcp-peer", version="1.0.0", instructions="A bit of each.", list_page_size=4)


class State:
    """The state of the server."""

    visited = False


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


@app.tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@app.tool
def echo(text: str) -> str:
    """Returns its argument."""
    return text


@app.tool
def weather(city: str) -> Place:
    """Returns structured output."""
    return Place(city=city, celsius=21.5)


@app.tool
def fail(reason: str = "") -> str:
    """Fails if a reason is given."""
    if reason:
        raise ToolError(f"it failed {reason}")
    return "no reason to fail"


@app.tool
async def count(steps: int, ctx: Context) -> str:
    """Reports progress."""
    for step in range(1, steps + 1):
        await ctx.report_progress(step, steps, f"step {step}")
        await anyio.sleep(0.02)
    return f"counted to {steps}"


@app.tool
async def wait(ctx: Context, seconds: float = 300, record: str = "") -> str:
    """Waits until it is cancelled, and creates the file `record` then, which another process can see."""
    try:
        await ctx.report_progress(1)
        await anyio.sleep(seconds)
    except anyio.get_cancelled_exc_class():
        Path(record).touch()
        raise
    return "it was not cancelled"


@app.tool
def was_cancelled(record: str = "") -> bool:
    """Returns whether `wait` was cancelled."""
    return Path(record).is_file()


def is_stateless(ctx: Context) -> bool:
    """Returns whether the call uses the stateless revision, in which server requests are part of results."""
    return ctx.request_context.protocol_version == "2026-07-28"


def to_model(text: str) -> types.CreateMessageRequest:
    content = types.TextContent(type="text", text=text)
    message = types.SamplingMessage(role="user", content=content)
    params = types.CreateMessageRequestParams(messages=[message], max_tokens=50)
    return types.CreateMessageRequest(params=params)


def to_user(message: str, form: type[BaseModel]) -> types.ElicitRequest:
    schema = form.model_json_schema()
    params = types.ElicitRequestFormParams(message=message, requested_schema=schema)
    return types.ElicitRequest(params=params)


async def answers(ctx: Context, **questions: Any) -> dict[str, Any] | types.InputRequiredResult:
    """Returns the responses of the client by name. In a session, sends the requests. At the stateless revision, returns a
    result that has the requests, after which the client calls the tool again."""
    if is_stateless(ctx):
        given = ctx.input_responses or {}
        if all(name in given for name in questions):
            return given
        return types.InputRequiredResult(input_requests=questions, request_state=ctx.request_state)
    session, call = ctx.session, ctx.request_id
    given = {}
    for name, question in questions.items():
        match question:
            case types.CreateMessageRequest(params=p):
                answer = await session.create_message(p.messages, max_tokens=p.max_tokens, related_request_id=call)
            case types.ElicitRequest(params=p):
                answer = await session.elicit_form(p.message, p.requested_schema, related_request_id=call)
            case _:
                answer = await session.list_roots()
        given[name] = answer
    return given


def uris(answer: types.ListRootsResult) -> str:
    return ", ".join(str(root.uri) for root in answer.roots)


@app.tool
async def ask_model(prompt: str, ctx: Context) -> str | types.InputRequiredResult:
    """Requests a completion from the model of the client."""
    given = await answers(ctx, model=to_model(prompt))
    if isinstance(given, types.InputRequiredResult):
        return given
    return f"{given['model'].model}: {given['model'].content.text}"


@app.tool
async def ask_user(ctx: Context) -> str | types.InputRequiredResult:
    """Requests a form from the user. In a session, uses the function of the framework."""
    if not is_stateless(ctx):
        order = await ctx.elicit("What may it be?", Order)
        return order.data.model_dump_json() if order.action == "accept" else f"user: {order.action}"
    given = await answers(ctx, order=to_user("What may it be?", Order))
    if isinstance(given, types.InputRequiredResult):
        return given
    answer = given["order"]
    if answer.action != "accept":
        return f"user: {answer.action}"
    return Order.model_validate(answer.content).model_dump_json()


@app.tool
async def ask_roots(ctx: Context) -> str | types.InputRequiredResult:
    """Requests the roots."""
    given = await answers(ctx, roots=types.ListRootsRequest())
    return given if isinstance(given, types.InputRequiredResult) else uris(given["roots"])


@app.tool
async def ask_all(ctx: Context) -> str | types.InputRequiredResult:
    """Sends three requests at once: to the user, the model and the host."""
    user, model = to_user("Enter your name", Name), to_model("say hello")
    given = await answers(ctx, user=user, model=model, roots=types.ListRootsRequest())
    if isinstance(given, types.InputRequiredResult):
        return given
    name = given["user"].content["name"]
    return f"{name}; {given['model'].content.text}; {uris(given['roots'])}"


@app.tool
async def ask_twice(ctx: Context) -> str | types.InputRequiredResult:
    """Sends a request, and a second one that depends on the first response."""
    first = ctx.request_state if is_stateless(ctx) else None
    if first is None:
        given = await answers(ctx, first=to_user("Enter your name", Name))
        if isinstance(given, types.InputRequiredResult):
            return given
        first = given["first"].content["name"]
    given = await answers(ctx, second=to_user(f"And who comes with {first}?", Name))
    if isinstance(given, types.InputRequiredResult):
        return given.model_copy(update={"request_state": first})
    return f"{first} and {given['second'].content['name']}"


@app.tool
async def ask_url(url: str, ctx: Context) -> str | types.InputRequiredResult:
    """Sends the user to a URL. In a session, the elicitation has an id, and a notification reports its completion."""
    message = "Please look at this"
    if is_stateless(ctx):
        visit = types.ElicitRequest(params=types.ElicitRequestURLParams(message=message, url=url))
        given = await answers(ctx, visit=visit)
        if isinstance(given, types.InputRequiredResult):
            return given
        return f"user: {given['visit'].action}"
    call = ctx.request_id
    visit = await ctx.session.elicit_url(message, url, "visit-1", related_request_id=call)
    if visit.action == "accept":
        await ctx.session.send_elicit_complete("visit-1", related_request_id=call)
    return f"user: {visit.action}"


@app.tool
def needs_url(first: bool = False) -> str:
    """Requires that a URL is visited first, if `first` is set."""
    if State.visited or not first:
        return "visited"
    State.visited = True
    visit = types.ElicitRequestURLParams(
        message="Visit this first", url="https://example.com/first", elicitation_id="visit-2"
    )
    raise UrlElicitationRequiredError([visit])


@app.tool
def headed(value: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Value"})]) -> str:
    """Returns the header that repeats its argument."""
    return get_http_headers(include_all=True).get("mcp-param-value", "no header")


@app.tool
async def change(ctx: Context) -> str:
    """Notifies the client that all lists have changed."""
    await ctx.send_notification(types.ToolListChangedNotification())
    await ctx.send_notification(types.PromptListChangedNotification())
    await ctx.send_notification(types.ResourceListChangedNotification())
    return "changed"


@app.tool
async def tell(ctx: Context) -> str:
    """Logs a message."""
    await ctx.info("told")
    return "told"


@app.tool
async def pause(ctx: Context) -> str:
    """Closes the connection before it responds."""
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


@app.prompt
def review(code: str, language: str = "rust") -> str:
    """Asks for a review."""
    return f"Please review this {language} code: {code}"


@app.prompt
async def asking(ctx: Context) -> str | types.InputRequiredResult:
    """Requests a topic from the user."""
    given = await answers(ctx, topic=to_user("What is it about?", Topic))
    if isinstance(given, types.InputRequiredResult):
        return given
    return f"Talk about {given['topic'].content['topic']}"


@app.completion
def complete(ref: Any, argument: Any, context: Any) -> list[str]:
    known = (context.arguments or {}) if context else {}
    words = ["rust", "ruby", "python"] if argument.name == "language" else ["ada", "alan"]
    if known.get("code") == "print":
        words = ["python"]
    return [word for word in words if word.startswith(argument.value)]


async def main() -> None:
    if "--http" in sys.argv:
        endpoint = app.http_app(event_store=EventStore(), retry_interval=100)
        await uvicorn.Server(uvicorn.Config(endpoint, port=0)).serve()
        return
    await app.run_stdio_async(show_banner=False)


anyio.run(main)
