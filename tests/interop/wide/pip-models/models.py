"""Checks our tools and results against the types of a model API's own package: `python models.py API CLIENT SERVER`.

CLIENT prints the tools of SERVER and the results of some calls in the formats of the API, and the types are those with
which the package describes its requests. Prints one JSON line per feature."""

import json
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError


def adapter(kind: Any) -> TypeAdapter[Any]:
    """Members that a type does not have are errors."""
    try:
        return TypeAdapter(list[kind], config=ConfigDict(extra="forbid"))
    except Exception:
        return TypeAdapter(list[kind])


def openai_chat() -> tuple[Any, Any]:
    from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam

    return ChatCompletionToolParam, ChatCompletionMessageParam


def openai_responses() -> tuple[Any, Any]:
    from openai.types.responses import FunctionToolParam, ResponseInputItemParam

    return FunctionToolParam, ResponseInputItemParam


def anthropic() -> tuple[Any, Any]:
    from anthropic.types import MessageParam, ToolParam

    return ToolParam, MessageParam


def gemini() -> tuple[Any, Any]:
    from google.genai import types

    return types.Tool, types.Content


FORMATS = {
    "openai": {"openai-chat": openai_chat, "openai-responses": openai_responses},
    "anthropic": {"anthropic": anthropic},
    "google-genai": {"gemini": gemini},
}


def report(feature: str, problem: str | None, detail: str) -> None:
    outcome = "failed" if problem else "ok"
    print(json.dumps({"feature": feature, "outcome": outcome, "detail": (problem or detail)[:400]}), flush=True)


def plain(value: Any) -> Any:
    """Reads what pydantic checks only when it is read."""
    return list(value) if isinstance(value, Iterable) else str(value)


def check(feature: str, checked: list[tuple[Any, list[Any]]]) -> None:
    problem, count = None, 0
    for kind, values in checked:
        # The adapter has to live as long as values are read.
        checker = adapter(kind)
        try:
            json.dumps(checker.validate_python(values), default=plain)
        except ValidationError as error:
            problem = str(error)
        count += len(values)
        if not values:
            problem = f"there is nothing of type {kind}"
    report(feature, problem, f"{count} in {len(checked)} formats")


def main() -> None:
    api, client, server = sys.argv[1:]
    tools, messages = [], []
    for name, types in FORMATS[api].items():
        printed = subprocess.run([client, "format", name, server, "--stdio"], stdout=subprocess.PIPE, check=True)
        ours = json.loads(printed.stdout)
        of_tool, of_message = types()
        tools.append((of_tool, ours["tools"]))
        messages.append((of_message, ours["messages"]))
    check("model-tools", tools)
    check("model-results", messages)


main()
