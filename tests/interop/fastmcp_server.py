"""A server made with FastMCP, for our client to talk to: `python fastmcp_server.py`.

It serves HTTP on any port and offers what `server.py` offers, in the words of this framework and
of nothing below it."""

from __future__ import annotations

from typing import Any, Literal

import anyio
import mcp_types as types
import uvicorn
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.event_store import EventStore
from pydantic import BaseModel, Field

app = FastMCP("fastmcp-peer", version="1.0.0", instructions="A bit of each.", list_page_size=4)


class State:
    """What the server knows."""

    cancelled = False


class Place(BaseModel):
    """Where it is, and how warm."""

    city: str
    celsius: float
    wind: float | None = None


class Order(BaseModel):
    """A form with a field of each kind, two of them without a default."""

    name: str = Field(description="Who orders", min_length=2)
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
    """Says it back."""
    return text


@app.tool
def weather(city: str) -> Place:
    """Gives structured output."""
    return Place(city=city, celsius=21.5)


@app.tool
def fail(reason: str = "") -> str:
    """Fails if there is a reason to."""
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
async def wait(ctx: Context, seconds: float = 300) -> str:
    """Waits until it is cancelled, and remembers that."""
    try:
        await ctx.report_progress(1)
        await anyio.sleep(seconds)
    except anyio.get_cancelled_exc_class():
        State.cancelled = True
        raise
    return "nobody cancelled"


@app.tool
def was_cancelled() -> bool:
    """Whether the tool that waits was cancelled."""
    return State.cancelled


@app.tool
async def ask_model(prompt: str, ctx: Context) -> str:
    """Asks the client's model."""
    text = types.TextContent(type="text", text=prompt)
    message = types.SamplingMessage(role="user", content=text)
    answer = await ctx.session.create_message(
        [message], max_tokens=50, related_request_id=ctx.request_id
    )
    return f"{answer.model}: {answer.content.text}"


@app.tool
async def ask_user(ctx: Context) -> str:
    """Asks the user to fill in a form."""
    order = await ctx.elicit("What may it be?", Order)
    return order.data.model_dump_json() if order.action == "accept" else f"user: {order.action}"


@app.tool
async def ask_roots(ctx: Context) -> str:
    """Asks for the roots."""
    answer = await ctx.session.list_roots()
    return ", ".join(str(root.uri) for root in answer.roots)


@app.tool
async def change(ctx: Context) -> str:
    """Says that every list changed."""
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
    """Gives the connection back before it answers."""
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
    """A greeting by name."""
    return f"hello {name}"


@app.prompt
def review(code: str, language: str = "rust") -> str:
    """Asks for a review."""
    return f"Please review this {language} code: {code}"


@app.completion
def complete(ref: Any, argument: Any, context: Any) -> list[str]:
    known = (context.arguments or {}) if context else {}
    words = ["rust", "ruby", "python"] if argument.name == "language" else ["ada", "alan"]
    if known.get("code") == "print":
        words = ["python"]
    return [word for word in words if word.startswith(argument.value)]


async def main() -> None:
    endpoint = app.http_app(event_store=EventStore(), retry_interval=100)
    await uvicorn.Server(uvicorn.Config(endpoint, port=0)).serve()


anyio.run(main)
