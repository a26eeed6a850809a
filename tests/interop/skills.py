"""Skills with FastMCP, for `cargo xtask interop`.

    python skills.py serve FOLDER
    python skills.py drive FOLDER INTEROP-CLIENT EVERYTHING-SERVER

The first serves the skills of a folder over stdio. The second reads the skills of our everything
server, and prints one JSON line per feature."""

from __future__ import annotations

import base64
import hashlib
import sys
from typing import Any

import anyio
from fastmcp import Client, FastMCP
from fastmcp.client.transports import StdioTransport
from fastmcp.skills import GetSkillResult, ListSkillsResult, SkillsClientExtension
from fastmcp.skills.models import (
    GetSkillParams,
    GetSkillRequest,
    ListSkillsParams,
    ListSkillsRequest,
)
from fastmcp.skills.provider import SkillsDirectoryProvider
from mcp import MCPError

from session import Absent, ensure, row, same

REVIEW = "skill://code/review/SKILL.md"
GREET = "skill://greet/SKILL.md"


def serve(folder: str) -> None:
    server = FastMCP("skills-fastmcp", version="1.0.0")
    server.add_provider(SkillsDirectoryProvider(folder))
    server.run("stdio", show_banner=False)


async def drive(everything: str) -> None:
    transport = StdioTransport(everything, ["--stdio"])
    extensions = [SkillsClientExtension()]
    async with Client(transport, mode="2026-07-28", extensions=extensions) as client:

        async def get(uri: str) -> Any:
            request = GetSkillRequest(params=GetSkillParams(uri=uri))
            return (await client.session.send_request(request, GetSkillResult)).skill

        async def listed() -> str:
            request = ListSkillsRequest(params=ListSkillsParams())
            result = await client.session.send_request(request, ListSkillsResult)
            same("the skills", sorted(skill.uri for skill in result.skills), [REVIEW, GREET])
            return f"{len(result.skills)} skills"

        async def found() -> str:
            skill = await get(REVIEW)
            same("the metadata", skill.frontmatter.metadata, {"com.example/version": "1"})
            same("the number of files", len(skill.resources), 2)
            return skill.frontmatter.description

        async def read() -> str:
            """Compares the digests, which the framework leaves to the host."""
            for file in (await get(REVIEW)).resources:
                [contents] = await client.read_resource(file.uri)
                text = getattr(contents, "text", None)
                data = text.encode() if text is not None else base64.b64decode(contents.blob)
                same("the digest", "sha256:" + hashlib.sha256(data).hexdigest(), file.digest)
                same("the size", len(data), file.size)
            return "2 files"

        async def unverified() -> str:
            names = [name for name in dir(SkillsClientExtension) if "read" in name or "verify" in name]
            ensure(not names, f"the extension has {names}")
            raise Absent("the client declares the extension and has no method that reads a file of a skill")

        async def unknown() -> str:
            try:
                await get("skill://no-such-skill/SKILL.md")
            except MCPError as refusal:
                same("the code", refusal.code, -32602)
                return f"code {refusal.code}"
            raise AssertionError("the server answered where it must refuse")

        async def directory() -> str:
            ensure(not hasattr(client, "read_directory"), "the client reads folders")
            raise Absent("the client has no method that reads a folder")

        await row("skills-list", listed)
        await row("skills-get", found)
        await row("skills-read", read)
        await row("skills-changed", unverified)
        await row("skills-unlisted", unverified)
        await row("skills-unknown", unknown)
        await row("skills-directory", directory)

        async def closed() -> str:
            await client.close()
            ensure(not client.is_connected(), "the client is still connected")
            return "closed"

        await row("shutdown", closed)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", folder]:
            serve(folder)
        case ["drive", _, _, everything]:
            anyio.run(drive, everything)
        case _:
            sys.exit(__doc__)
