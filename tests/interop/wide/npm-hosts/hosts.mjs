// Lists the tools of our server and calls two with a library or a program: `node hosts.mjs NAME PROGRAM URL`.
//
// Prints one JSON line per feature, as the other drivers do. A host gets the program or the URL (the other is undefined) and
// returns the names of the tools, a function that calls one, and a function that ends the connection.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const MESSAGE = "Grüße, 世界 ☃";
const TEXT = "This is a simple text response for testing.";
const WANTED = ["echo", "test_simple_text", "test_error_handling"];

/** Runs a published program and returns what it prints. */
function run(program, ...words) {
  const path = join(import.meta.dirname, "node_modules", ".bin", program);
  return execFileSync(path, words, { encoding: "utf8", timeout: 60_000 });
}

const byName = (tools) => Object.fromEntries(tools.map((tool) => [tool.name, tool]));

const hosts = {
  async ai(command, url) {
    const { createMCPClient } = await import("@ai-sdk/mcp");
    const { Experimental_StdioMCPTransport: Stdio } = await import("@ai-sdk/mcp/mcp-stdio");
    const transport = command ? new Stdio({ command, args: ["--stdio"] }) : { type: "http", url };
    const client = await createMCPClient({ transport });
    const tools = await client.tools();
    const call = (name, args) => tools[name].execute(args, { toolCallId: "1", messages: [] });
    return { names: Object.keys(tools), call, end: () => client.close() };
  },
  inspector(command, url) {
    const target = command ? [command, "--stdio"] : [url, "--transport", "http"];
    const ask = (...words) => run("mcp-inspector", "--cli", ...target, "--method", ...words);
    const { tools } = JSON.parse(ask("tools/list"));
    const pairs = (args) => Object.entries(args).flatMap(([name, value]) => ["--tool-arg", `${name}=${value}`]);
    return { names: Object.keys(byName(tools)), call: (name, args) => ask("tools/call", "--tool-name", name, ...pairs(args)) };
  },
  async genkit(command, url) {
    const { createMcpHost } = await import("@genkit-ai/mcp");
    const { genkit } = await import("genkit");
    const ours = command ? { command, args: ["--stdio"] } : { url };
    const host = createMcpHost({ name: "interop", mcpServers: { ours } });
    const tools = await host.getActiveTools(genkit({}));
    const named = Object.fromEntries(tools.map((tool) => [tool.__action.name.split("/").at(-1), tool]));
    return { names: Object.keys(named), call: (name, args) => named[name](args), end: () => host.close() };
  },
  async langchain(command, url) {
    const { MultiServerMCPClient } = await import("@langchain/mcp-adapters");
    const ours = command ? { transport: "stdio", command, args: ["--stdio"] } : { transport: "http", url };
    const client = new MultiServerMCPClient({ mcpServers: { ours } });
    const tools = byName(await client.getTools());
    return { names: Object.keys(tools), call: (name, args) => tools[name].invoke(args), end: () => client.close() };
  },
  async llamaindex(command, url) {
    const { mcp } = await import("@llamaindex/tools");
    const server = mcp(command ? { command, args: ["--stdio"] } : { url });
    const tools = Object.fromEntries((await server.tools()).map((tool) => [tool.metadata.name, tool]));
    return { names: Object.keys(tools), call: (name, args) => tools[name].call(args), end: () => server.cleanup() };
  },
  async mastra(command, url) {
    const { MCPClient } = await import("@mastra/mcp");
    const ours = command ? { command, args: ["--stdio"] } : { url: new URL(url) };
    const client = new MCPClient({ id: `interop-${!command}`, servers: { ours } });
    const tools = await client.getTools();
    const names = Object.keys(tools).map((name) => name.replace("ours_", ""));
    return { names, call: (name, args) => tools[`ours_${name}`].execute({ context: args }), end: () => client.disconnect() };
  },
  mcpc(command, url) {
    const name = command ? "@stdio" : "@http";
    if (command) {
      writeFileSync("mcp.json", JSON.stringify({ mcpServers: { ours: { command, args: ["--stdio"] } } }));
      run("mcpc", "connect", "./mcp.json:ours", name);
    } else {
      run("mcpc", "connect", url, name);
    }
    const tools = JSON.parse(run("mcpc", "--json", name, "tools-list"));
    const call = (tool, args) => {
      const pairs = Object.entries(args).map(([key, value]) => `${key}:=${JSON.stringify(value)}`);
      return run("mcpc", "--json", name, "tools-call", tool, ...pairs);
    };
    return { names: Object.keys(byName(tools)), call, end: () => run("mcpc", name, "close") };
  },
  async "mcp-client"(command, url) {
    const { MCPClient } = await import("mcp-client");
    const client = new MCPClient({ name: "interop", version: "1.0.0" });
    await client.connect(command ? { type: "stdio", command, args: ["--stdio"] } : { type: "httpStream", url });
    const tools = await client.getAllTools();
    return { names: Object.keys(byName(tools)), call: (name, args) => client.callTool({ name, arguments: args }), end: () => client.close() };
  },
  mcporter(command, url) {
    const target = command ? ["--stdio", `${command} --stdio`] : ["--http-url", url, "--allow-http"];
    const list = run("mcporter", "list", ...target, "--name", "ours", "--schema", "--json");
    const pairs = (args) => Object.entries(args).map(([name, value]) => `${name}=${value}`);
    const call = (name, args) => run("mcporter", "call", ...target, name, ...pairs(args));
    return { names: Object.keys(byName(JSON.parse(list).tools)), call };
  },
  async openai(command, url) {
    const { MCPServerStdio, MCPServerStreamableHttp } = await import("@openai/agents");
    const server = command ? new MCPServerStdio({ command, args: ["--stdio"] }) : new MCPServerStreamableHttp({ url });
    await server.connect();
    const tools = byName(await server.listTools());
    return { names: Object.keys(tools), call: (name, args) => server.callTool(name, args), end: () => server.close() };
  },
  async use(command, url) {
    const { MCPClient } = await import("mcp-use");
    const client = MCPClient.fromDict({ mcpServers: { ours: command ? { command, args: ["--stdio"] } : { url } } });
    const session = await client.createSession("ours");
    const tools = byName(await session.listTools());
    return { names: Object.keys(tools), call: (name, args) => session.callTool(name, args), end: () => client.closeAllSessions() };
  },
};

function report(feature, problem, detail) {
  const outcome = problem ? "failed" : "ok";
  console.log(JSON.stringify({ feature, outcome, detail: String(problem ?? detail).slice(0, 400) }));
}

async function visit(host, suffix, command, url) {
  try {
    const { names, call, end } = await host(command, url);
    const missing = WANTED.filter((name) => !names.includes(name));
    report(`listed${suffix}`, missing.length ? `${missing} not in ${names}` : undefined, `${names.length} tools`);
    const text = (result) => (typeof result === "string" ? result : JSON.stringify(result));
    const simple = text(await call("test_simple_text", {}));
    const echoed = text(await call("echo", { message: MESSAGE }));
    const good = simple.includes(TEXT) && echoed.includes(MESSAGE);
    report(`called${suffix}`, good ? undefined : `${simple} ${echoed}`, echoed);
    await end?.();
  } catch (error) {
    report(`called${suffix}`, error.stack ?? String(error));
  }
}

const [name, program, url] = process.argv.slice(2);
await visit(hosts[name], "", program, undefined);
await visit(hosts[name], "-http", undefined, url);
process.exit(0);
