// A server made with TypeScript SDK 2, which our client calls: `node server.mjs`, or `node server.mjs --http` for any
// port. It has what `server.py` has, for both kinds of revisions.

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";

import {
  McpServer,
  ProtocolError,
  ResourceTemplate,
  WebStandardStreamableHTTPServerTransport,
  completable,
  createMcpHandler,
  isLegacyRequest,
} from "@modelcontextprotocol/server";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

import { ask, subscribed, tools } from "./server-tools.mjs";
import { inputRequired } from "@modelcontextprotocol/server";

const PAGE = 4;

/** On a pipe and in a session, the server of the connection sends the notifications about changes. */
const toldByServer = {
  lists(server) {
    server.sendToolListChanged();
    server.sendPromptListChanged();
    server.sendResourceListChanged();
  },
  async resource(server, uri) {
    if (server.isStateless || subscribed.has(uri)) await server.server.sendResourceUpdated({ uri });
  },
};

/** A server for one connection, or for one request. */
function server(isStateless, changes) {
  const capabilities = {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { listChanged: true, subscribe: true },
    completions: {},
    logging: {},
  };
  const info = { name: "typescript-peer", version: "1.0.0" };
  const app = new McpServer(info, { capabilities, instructions: "A bit of each." });
  app.isStateless = isStateless;
  const all = Object.entries(tools(isStateless, changes));
  for (const [name, { run, ...config }] of all) {
    app.registerTool(name, config, (args, ctx) => run(args, ctx, app, isStateless));
  }
  paged(app, all);
  contents(app);
  custom(app);
  if (!app.isStateless) {
    const on = (method, change) =>
      app.server.setRequestHandler(method, ({ params }) => {
        change(params.uri);
        return {};
      });
    on("resources/subscribe", (uri) => subscribed.add(uri));
    on("resources/unsubscribe", (uri) => subscribed.delete(uri));
  }
  return app;
}

/** A method that the protocol does not have. */
function custom(app) {
  const text = z.object({ text: z.string() });
  app.server.setRequestHandler("com.example/reverse", { params: text, result: text }, ({ text }) => ({
    text: [...text].reverse().join(""),
  }));
}

/** Lists tools in pages. The cursor is the index of the first tool of the page. The framework only lists all tools at once. */
function paged(app, all) {
  const listed = all.map(([name, { description, inputSchema, outputSchema }]) => ({
    name,
    description,
    inputSchema: z.toJSONSchema(inputSchema, { io: "input" }),
    ...(outputSchema && { outputSchema: z.toJSONSchema(outputSchema) }),
  }));
  app.server.setRequestHandler("tools/list", ({ params }) => {
    const start = Number(params?.cursor ?? 0);
    if (!Number.isInteger(start)) throw new ProtocolError(-32602, "no such cursor");
    const end = start + PAGE;
    return {
      tools: listed.slice(start, end),
      ...(end < listed.length && { nextCursor: String(end) }),
    };
  });
}

function contents(app) {
  const text = (uri, mimeType, text) => ({ contents: [{ uri: uri.href, mimeType, text }] });
  app.registerResource("note", "peer://note", { mimeType: "text/plain" }, (uri) =>
    text(uri, "text/plain", "a note"));
  const binary = "application/octet-stream";
  app.registerResource("bytes", "peer://bytes", { mimeType: binary }, ({ href }) => ({
    contents: [{ uri: href, mimeType: binary, blob: "AAECAw==" }],
  }));
  const start = (words) => (value) => words.filter((word) => word.startsWith(value));
  const greeting = new ResourceTemplate("peer://greeting/{name}", {
    list: undefined,
    complete: { name: start(["ada", "alan"]) },
  });
  app.registerResource("greeting", greeting, {}, (uri, { name }) =>
    text(uri, "text/plain", `hello ${name}`));
  const language = completable(z.string(), (value, context) =>
    context?.arguments?.code === "print" ? ["python"] : start(["rust", "ruby", "python"])(value)).optional();
  const argsSchema = z.object({ code: z.string(), language });
  const user = (text) => ({ messages: [{ role: "user", content: { type: "text", text } }] });
  app.registerPrompt("review", { description: "Asks for a review", argsSchema }, (args) =>
    user(`Please review this ${args.language ?? "rust"} code: ${args.code}`));
  const topic = z.object({ topic: z.string() });
  app.registerPrompt("asking", { description: "Asks what it is about" }, (ctx) => {
    const message = "What is it about?";
    const wanted = { topic: inputRequired.elicit({ message, requestedSchema: topic }) };
    const { round, answers } = ask(ctx, wanted);
    return round ?? user(`Talk about ${answers.topic.content.topic}`);
  });
}

/** The events that were sent, for clients that resume their stream. */
class Events {
  sent = [];

  async storeEvent(streamId, message) {
    return String(this.sent.push({ streamId, message }));
  }

  async replayEventsAfter(last, { send }) {
    const { streamId } = this.sent[Number(last) - 1];
    for (const [index, event] of this.sent.entries()) {
      if (index >= Number(last) && event.streamId === streamId) await send(String(index + 1), event.message);
    }
    return streamId;
  }
}

/** Serves sessions; the SDK itself serves only requests without a session. */
class Sessions {
  transports = new Map();

  async fetch(request, options) {
    const id = request.headers.get("mcp-session-id");
    const known = this.transports.get(id);
    if (known) return known.handleRequest(request, options);
    if (id) {
      const error = { code: -32001, message: "no such session" };
      return Response.json({ jsonrpc: "2.0", id: null, error }, { status: 404 });
    }
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void this.transports.set(id, transport),
      onsessionclosed: (id) => void this.transports.delete(id),
      eventStore: new Events(),
      retryInterval: 100,
    });
    await server(false, toldByServer).connect(transport);
    return transport.handleRequest(request, options);
  }
}

function listen() {
  const sessions = new Sessions();
  const toldToAll = {
    lists() {
      stateless.notify.toolsChanged();
      stateless.notify.promptsChanged();
      stateless.notify.resourcesChanged();
    },
    resource: (_server, uri) => stateless.notify.resourceUpdated(uri),
  };
  const stateless = createMcpHandler(() => server(true, toldToAll), { legacy: "reject" });
  const handler = {
    async fetch(request, options) {
      const place = (await isLegacyRequest(request)) ? sessions : stateless;
      return place.fetch(request, options);
    },
  };
  const http = createServer(toNodeHandler(handler));
  http.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${http.address().port}/mcp`));
}

if (process.argv.includes("--http")) listen();
else serveStdio(({ era }) => server(era === "modern", toldByServer));
