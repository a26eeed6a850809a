"""A connection of the client of the Python SDK to a server, with a host that responds to server requests and records
notifications."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import mcp_types as types
from mcp import Client, MCPError
from mcp.client.session import ClientSession

# The time limit of a feature, a request and a wait, in seconds.
LIMIT = 90


class Absent(Exception):
    """A feature that the peer does not have."""


def ensure(holds: bool, problem: str) -> None:
    if not holds:
        raise AssertionError(problem)


def same(what: str, got: Any, expected: Any) -> None:
    ensure(got == expected, f"{what} is {got!r}, not {expected!r}")


async def row(feature: str, work: Callable[[], Awaitable[Any]]) -> None:
    """Tests one feature and prints its line."""
    outcome = "ok"
    try:
        with anyio.fail_after(LIMIT):
            detail = str(await work() or "")
    except Absent as evidence:
        outcome, detail = "absent", str(evidence)
    except TimeoutError:
        outcome, detail = "failed", f"nothing after {LIMIT} s"
    except Exception as error:
        outcome, detail = "failed", innermost(error)
    print(json.dumps({"feature": feature, "outcome": outcome, "detail": detail}), flush=True)


def innermost(error: BaseException) -> str:
    """Returns the error that a task group has wrapped."""
    while inner := getattr(error, "exceptions", None):
        error = inner[0]
    return f"{type(error).__name__}: {error}"


class Probes:
    """Records the error codes of `server/discover`, which the client sends before `initialize`."""

    def __init__(self) -> None:
        self.codes: list[int] = []
        send = ClientSession.send_discover

        async def watched(session: ClientSession, version: str) -> dict[str, Any]:
            try:
                return await send(session, version)
            except MCPError as refusal:
                self.codes.append(refusal.code)
                raise

        ClientSession.send_discover = watched


class Host:
    """The callbacks of the client, which record what they receive."""

    def __init__(self) -> None:
        self.logs: list[types.LoggingMessageNotificationParams] = []
        self.heard: list[Any] = []
        self.errors: list[str] = []
        self.samples = 0
        self.resumed = 0
        self.mirrored: str | None = None
        self.roots = [types.Root(uri="file:///workshop", name="Workshop")]
        self.answer: Callable[[Any], types.ElicitResult] = lambda _: types.ElicitResult(
            action="cancel"
        )

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        self.logs.append(params)

    async def hear(self, message: Any) -> None:
        if isinstance(message, Exception):
            self.errors.append(str(message))
        else:
            self.heard.append(message)

    async def list_roots(self, _context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=self.roots)

    async def elicit(self, _context: Any, params: Any) -> types.ElicitResult:
        return self.answer(params)

    async def sample(self, _context: Any, params: Any) -> types.CreateMessageResult:
        self.samples += 1
        heard = " ".join(message.content.text for message in params.messages)
        text = types.TextContent(type="text", text=f"the model heard: {heard}")
        return types.CreateMessageResult(role="assistant", content=text, model="interop-model")

    def told(self, kind: type) -> list[Any]:
        """Returns the notifications of one type."""
        return [message for message in self.heard if isinstance(message, kind)]

    async def until(self, what: str, said: Callable[[], bool]) -> None:
        """Waits until a condition holds."""
        with anyio.move_on_after(LIMIT - 10):
            while not said():
                await anyio.sleep(0.02)
            return
        raise AssertionError(f"{what} did not arrive")


def text(result: types.CallToolResult) -> str:
    """Returns the text of a result."""
    return "\n".join(getattr(block, "text", "") for block in result.content)


async def call(client: Client, name: str, arguments: dict[str, Any], **options: Any):
    """Calls a tool that must succeed."""
    result = await client.call_tool(name, arguments, **options)
    ensure(not result.is_error, f"{name} failed: {text(result)}")
    return result


async def refused(expected: list[int], answer: Awaitable[Any]) -> str:
    """Awaits a response that must be an error with one of these codes."""
    try:
        await answer
    except MCPError as refusal:
        ensure(refusal.code in expected, f"code {refusal.code}, not {expected}")
        return f"code {refusal.code}"
    raise AssertionError("the server must respond with an error, but returned a result")
