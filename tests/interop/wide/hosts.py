"""Lists the tools of our server and calls two with a framework: `hosts.py NAME PROGRAM URL`.

Prints one JSON line per feature, as the other drivers do. A host is a function that gets the program or the URL (the other
is None) and yields the names of the tools and a function that calls one.
"""

import asyncio
import contextlib
import json
import os
import sys

MESSAGE = "Grüße, 世界 ☃"
TEXT = "This is a simple text response for testing."
WANTED = {"echo", "test_simple_text", "test_error_handling"}


async def agno(program, url):
    from agno.tools.mcp import MCPTools

    from mcp import StdioServerParameters

    stdio = {"server_params": StdioServerParameters(command=program or "", args=["--stdio"]), "transport": "stdio"}
    how = stdio if program else {"url": url, "transport": "streamable-http"}
    async with MCPTools(**how) as tools:
        yield list(tools.functions), lambda name, **args: tools.functions[name].entrypoint(**args)


async def agent_framework(program, url):
    from agent_framework import MCPStdioTool, MCPStreamableHTTPTool

    tool = MCPStdioTool("ours", program, args=["--stdio"]) if program else MCPStreamableHTTPTool("ours", url)
    async with tool:
        call = lambda name, **args: tool.call_tool(name, **args)
        yield [function.name for function in tool.functions], lambda name, **args: texts(call(name, **args))


async def aisuite(program, url):
    from aisuite.mcp import MCPClient

    stdio = {"command": program, "args": ["--stdio"]}
    client = await asyncio.to_thread(lambda: MCPClient(**(stdio if program else {"server_url": url})))
    tools = {tool.__name__: tool for tool in client.get_callable_tools()}
    yield list(tools), lambda name, **args: asyncio.to_thread(lambda: tools[name](**args))
    await asyncio.to_thread(client.close)


async def atomic(program, url):
    from atomic_agents.lib.factories.mcp_tool_factory import fetch_mcp_tools

    server = {"mcp_endpoint": f"{program} --stdio", "use_stdio": True} if program else {"mcp_endpoint": url}
    tools = {tool.mcp_tool_name: tool for tool in await asyncio.to_thread(lambda: fetch_mcp_tools(**server))}

    def call(name, **args):
        tool = tools[name]()
        return asyncio.to_thread(lambda: tool.run(tool.input_schema(tool_name=name, **args)))

    yield list(tools), call


async def autogen(program, url):
    from autogen_core import CancellationToken
    from autogen_ext.tools.mcp import McpWorkbench, StdioServerParams, StreamableHttpServerParams

    params = StdioServerParams(command=program, args=["--stdio"]) if program else StreamableHttpServerParams(url=url)
    async with McpWorkbench(params) as bench:
        tools = await bench.list_tools()
        call = lambda name, **args: bench.call_tool(name, args, CancellationToken())
        yield [tool["name"] for tool in tools], call


async def camel(program, url):
    from camel.utils.mcp_client import MCPClient

    async with MCPClient({"command": program, "args": ["--stdio"]} if program else {"url": url}) as client:
        tools = await client.list_mcp_tools()
        yield [tool.name for tool in tools.tools], lambda name, **args: client.call_tool(name, args)


async def chuk(program, url):
    from chuk_mcp import StdioParameters
    from chuk_mcp.protocol.messages import send_initialize, send_tools_call, send_tools_list
    from chuk_mcp.transports.http import StreamableHTTPParameters, StreamableHTTPTransport
    from chuk_mcp.transports.stdio.transport import StdioTransport

    if program:
        transport = StdioTransport(StdioParameters(command=program, args=["--stdio"]))
    else:
        transport = StreamableHTTPTransport(StreamableHTTPParameters(url=url))
    async with transport:
        streams = await transport.get_streams()
        await send_initialize(*streams)
        tools = await send_tools_list(*streams)
        yield [tool.name for tool in tools.tools], lambda name, **args: send_tools_call(*streams, name, args)


async def dspy(program, url):
    import dspy
    from mcp import ClientSession

    async with streams(program, url) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        listed = (await session.list_tools()).tools
        tools = {tool.name: dspy.Tool.from_mcp_tool(session, tool) for tool in listed}
        yield list(tools), lambda name, **args: tools[name].acall(**args)


async def fastmcp(program, url):
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport

    async with Client(StdioTransport(program, ["--stdio"]) if program else url) as client:
        tools = await client.list_tools()
        yield [tool.name for tool in tools], lambda name, **args: client.call_tool(name, args)


async def google_adk(program, url):
    from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams, StreamableHTTPConnectionParams
    from mcp import StdioServerParameters

    if program:
        server = StdioServerParameters(command=program, args=["--stdio"])
        params = StdioConnectionParams(server_params=server, timeout=30)
    else:
        params = StreamableHTTPConnectionParams(url=url)
    toolset = McpToolset(connection_params=params)
    tools = {tool.name: tool for tool in await toolset.get_tools()}
    yield list(tools), lambda name, **args: tools[name].run_async(args=args, tool_context=NoContext())
    await toolset.close()


async def haystack(program, url):
    from haystack_integrations.tools.mcp import MCPToolset, StdioServerInfo, StreamableHttpServerInfo

    info = StdioServerInfo(command=program, args=["--stdio"]) if program else StreamableHttpServerInfo(url=url)
    toolset = await asyncio.to_thread(lambda: MCPToolset(server_info=info))
    await asyncio.to_thread(toolset.warm_up)
    tools = {tool.name: tool for tool in toolset}
    yield list(tools), lambda name, **args: asyncio.to_thread(lambda: tools[name].invoke(**args))
    await asyncio.to_thread(toolset.close)


async def langchain(program, url):
    from langchain_mcp_adapters.client import MultiServerMCPClient

    stdio = {"transport": "stdio", "command": program, "args": ["--stdio"]}
    server = stdio if program else {"transport": "streamable_http", "url": url}
    tools = {tool.name: tool for tool in await MultiServerMCPClient({"ours": server}).get_tools()}
    yield list(tools), lambda name, **args: tools[name].ainvoke(args)


async def litellm(program, url):
    from litellm.experimental_mcp_client import load_mcp_tools
    from litellm.experimental_mcp_client.tools import call_mcp_tool
    from mcp import ClientSession
    from mcp.types import CallToolRequestParams

    async with streams(program, url) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        tools = await load_mcp_tools(session=session, format="openai")
        call = lambda name, **args: call_mcp_tool(session, CallToolRequestParams(name=name, arguments=args))
        yield [tool["function"]["name"] for tool in tools], call


async def llama_index(program, url):
    from llama_index.tools.mcp import BasicMCPClient, McpToolSpec

    client = BasicMCPClient(program, args=["--stdio"]) if program else BasicMCPClient(url)
    tools = {tool.metadata.name: tool for tool in await McpToolSpec(client).to_tool_list_async()}
    yield list(tools), lambda name, **args: tools[name].acall(**args)


async def mcp_agent(program, url):
    from mcp_agent.app import MCPApp
    from mcp_agent.config import MCPServerSettings, MCPSettings, Settings
    from mcp_agent.mcp.mcp_aggregator import MCPAggregator

    stdio = {"command": program, "args": ["--stdio"]}
    server = MCPServerSettings(**(stdio if program else {"transport": "streamable_http", "url": url}))
    app = MCPApp(name="interop", settings=Settings(mcp=MCPSettings(servers={"ours": server})))
    async with app.run() as running:
        async with MCPAggregator(["ours"], connection_persistence=False, context=running.context) as aggregator:
            tools = await aggregator.list_tools()
            names = [tool.name.removeprefix("ours_") for tool in tools.tools]
            yield names, lambda name, **args: aggregator.call_tool(name, args)


async def mcp_use(program, url):
    from mcp_use import MCPClient

    server = {"command": program, "args": ["--stdio"]} if program else {"url": url}
    client = MCPClient.from_dict({"mcpServers": {"ours": server}})
    session = await client.create_session("ours")
    yield [tool.name for tool in await session.list_tools()], lambda name, **args: session.call_tool(name, args)
    await client.close_all_sessions()


async def mcp2py(program, url):
    import mcp2py

    server = await asyncio.to_thread(lambda: mcp2py.load(f"{program} --stdio" if program else url))
    names = [name for name in dir(server) if not name.startswith("_")]
    yield names, lambda name, **args: asyncio.to_thread(lambda: getattr(server, name)(**args))
    await asyncio.to_thread(server.close)


async def mcpadapt(program, url):
    from mcp import StdioServerParameters
    from mcpadapt.core import MCPAdapt, ToolAdapter

    class Plain(ToolAdapter):
        def adapt(self, func, mcp_tool):
            return mcp_tool.name, func

        async_adapt = adapt

    stdio = StdioServerParameters(command=program or "", args=["--stdio"])
    async with MCPAdapt(stdio if program else {"url": url, "transport": "streamable-http"}, Plain()) as tools:
        tools = dict(tools)
        yield list(tools), lambda name, **args: tools[name](args)


async def openai(program, url):
    from agents.mcp import MCPServerStdio, MCPServerStreamableHttp

    stdio = {"command": program, "args": ["--stdio"]}
    server = MCPServerStdio(params=stdio) if program else MCPServerStreamableHttp(params={"url": url})
    async with server:
        tools = await server.list_tools()
        yield [tool.name for tool in tools], lambda name, **args: server.call_tool(name, args)


async def praisonai(program, url):
    from praisonaiagents import MCP

    tools = await asyncio.to_thread(lambda: MCP(program, args=["--stdio"]) if program else MCP(url))
    tools = {tool.__name__: tool for tool in tools}
    yield list(tools), lambda name, **args: asyncio.to_thread(lambda: tools[name](**args))


async def pydantic(program, url):
    from pydantic_ai import mcp

    from fastmcp.client.transports import StdioTransport

    toolset = mcp.MCPToolset(StdioTransport(program, ["--stdio"]) if program else url)
    async with toolset:
        tools = await toolset.list_tools()
        yield [tool.name for tool in tools], lambda name, **args: toolset.direct_call_tool(name, args)


async def semantic_kernel(program, url):
    from semantic_kernel.connectors.mcp import MCPStdioPlugin, MCPStreamableHttpPlugin

    stdio = {"name": "ours", "command": program, "args": ["--stdio"]}
    plugin = MCPStdioPlugin(**stdio) if program else MCPStreamableHttpPlugin(name="ours", url=url)
    async with plugin:
        tools = (await plugin.session.list_tools()).tools
        names = [tool.name for tool in tools if hasattr(plugin, tool.name)]
        yield names, lambda name, **args: getattr(plugin, name)(**args)


async def smolagents(program, url):
    from mcp import StdioServerParameters
    from smolagents import MCPClient

    stdio = StdioServerParameters(command=program or "", args=["--stdio"])
    server = stdio if program else {"url": url, "transport": "streamable-http"}
    client = await asyncio.to_thread(lambda: MCPClient(server, structured_output=False))
    tools = {tool.name: tool for tool in client.get_tools()}
    yield list(tools), lambda name, **args: asyncio.to_thread(lambda: tools[name](**args))
    await asyncio.to_thread(client.disconnect)


async def strands(program, url):
    from mcp import StdioServerParameters, stdio_client
    from mcp.client.streamable_http import streamablehttp_client
    from strands.tools.mcp import MCPClient

    stdio = StdioServerParameters(command=program or "", args=["--stdio"])
    client = MCPClient(lambda: stdio_client(stdio) if program else streamablehttp_client(url))
    await asyncio.to_thread(client.start)
    tools = await asyncio.to_thread(client.list_tools_sync)
    yield [tool.tool_name for tool in tools], lambda name, **args: client.call_tool_async("1", name, args)
    await asyncio.to_thread(client.stop, None, None, None)


@contextlib.asynccontextmanager
async def streams(program, url):
    """The streams of the official SDK, for frameworks that take a session."""
    from mcp import StdioServerParameters, stdio_client
    from mcp.client import streamable_http

    connect = getattr(streamable_http, "streamable_http_client", None) or streamable_http.streamablehttp_client
    stdio = StdioServerParameters(command=program or "", args=["--stdio"])
    async with stdio_client(stdio) if program else connect(url) as both:
        yield both[0], both[1]


async def texts(contents):
    """The texts of a result."""
    return [content.text for content in await contents]


class NoContext:
    """Replaces the conversation that a tool of a framework belongs to."""

    def __getattr__(self, name):
        return None


def report(feature, problem, detail):
    outcome = "failed" if problem else "ok"
    print(json.dumps({"feature": feature, "outcome": outcome, "detail": str(problem or detail)[:400]}), flush=True)


async def ended(visited):
    """Lets a host close its connection. Some frameworks then wait for tasks of their own that never end."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(20):
            async for _ in visited:
                pass


async def visit(host, suffix, program, url):
    visited = host(program, url)
    is_listed = False
    try:
        names, call = await anext(visited)
        is_listed = True
        missing = WANTED - set(names)
        report(f"listed{suffix}", f"{missing} not in {names}" if missing else None, f"{len(names)} tools")
        simple, echoed = str(await call("test_simple_text")), str(await call("echo", message=MESSAGE))
        good = TEXT in simple and (MESSAGE in echoed or json.dumps(MESSAGE)[1:-1] in echoed)
        report(f"called{suffix}", None if good else f"{simple} {echoed}", echoed)
        await ended(visited)
    except Exception as error:
        for feature in ["listed", "called"][is_listed:]:
            report(f"{feature}{suffix}", f"{type(error).__name__}: {error}", "")
        raise


async def main():
    name, program, url = sys.argv[1:]
    # Failures are reported.
    with contextlib.suppress(Exception):
        await visit(globals()[name], "", program, None)
    with contextlib.suppress(Exception):
        await visit(globals()[name], "-http", None, url)


asyncio.run(main())
sys.stdout.flush()
# Threads that a framework leaves behind do not keep the process alive.
os._exit(0)
