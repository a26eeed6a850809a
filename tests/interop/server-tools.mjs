// The tools of the server that is made with TypeScript SDK 2. A handler receives the arguments, the context of the call, and
// the server.

import { existsSync, writeFileSync } from "node:fs";

import { inputRequired, inputResponse } from "@modelcontextprotocol/server";
import { UrlElicitationRequiredError } from "@modelcontextprotocol/server";
import { z } from "zod";

/** The state that all clients share. */
const state = { visited: false };

/** URIs that sessions have subscribed to. */
export const subscribed = new Set();

const place = z.object({ city: z.string(), celsius: z.number(), wind: z.number().optional() });

const order = z.object({
  name: z.string().min(2).describe("The name of the customer"),
  sugar: z.int().min(0).max(5),
  strength: z.number().default(1.5),
  tea: z.enum(["green", "black"]).default("black"),
  milk: z.boolean().default(true),
});

const name = z.object({ name: z.string().min(2) });

function said(text, structuredContent) {
  return { content: [{ type: "text", text }], ...(structuredContent && { structuredContent }) };
}

/** Sleeps, unless the call is cancelled before. */
function sleep(ms, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new Error("cancelled"));
    });
  });
}

async function report(ctx, progress, total) {
  const progressToken = ctx.mcpReq._meta?.progressToken;
  if (progressToken === undefined) return;
  const params = { progressToken, progress, ...(total && { total }) };
  await ctx.mcpReq.notify({ method: "notifications/progress", params });
}

const questions = {
  user: (message, schema) => inputRequired.elicit({ message, requestedSchema: schema }),
  model: (text) =>
    inputRequired.createMessage({
      messages: [{ role: "user", content: { type: "text", text } }],
      maxTokens: 50,
    }),
  roots: () => inputRequired.listRoots(),
};

/** Returns the responses by name, or a result that requests the missing ones. */
export function ask(ctx, wanted, requestState) {
  const answers = {};
  const missing = {};
  for (const [key, question] of Object.entries(wanted)) {
    const answer = inputResponse(ctx.mcpReq.inputResponses, key);
    if (answer.kind === "missing") missing[key] = question;
    else answers[key] = answer;
  }
  if (Object.keys(missing).length === 0) return { answers };
  return { round: inputRequired({ inputRequests: missing, ...(requestState && { requestState }) }) };
}

/** A tool that sends requests, and then returns a text. */
function asking(wanted, then) {
  return (args, ctx) => {
    const { round, answers } = ask(ctx, wanted(args));
    return round ?? said(then(answers));
  };
}

function heard({ result }) {
  const [block] = [result.content].flat();
  return `${result.model}: ${block.text}`;
}

function uris({ roots }) {
  return roots.map(({ uri }) => uri).join(", ");
}

/** The second request depends on the first response, which the client returns as the state of the call. */
function twice(_args, ctx) {
  let first = ctx.mcpReq.requestState();
  if (!first) {
    const { round, answers } = ask(ctx, { first: questions.user("Enter your name", name) });
    if (round) return round;
    first = answers.first.content.name;
  }
  const { round, answers } = ask(ctx, { second: questions.user(`And who comes with ${first}?`, name) }, first);
  return round ?? said(`${first} and ${answers.second.content.name}`);
}

/** In a session, the elicitation has an id, and a notification reports its completion. */
async function visit({ url }, ctx, { server }, isStateless) {
  const message = "Please look at this";
  if (isStateless) {
    const { round, answers } = ask(ctx, { visit: inputRequired.elicitUrl({ message, url }) });
    return round ?? said(`user: ${answers.visit.action}`);
  }
  const elicitationId = "visit-1";
  const { action } = await ctx.mcpReq.elicitInput({ mode: "url", message, url, elicitationId });
  if (action === "accept") await server.createElicitationCompletionNotifier(elicitationId)();
  return said(`user: ${action}`);
}

function needsUrl({ first }) {
  if (state.visited || !first) return said("visited");
  state.visited = true;
  const url = "https://example.com/first";
  const params = { mode: "url", message: "Visit this first", url, elicitationId: "visit-2" };
  throw new UrlElicitationRequiredError([params]);
}

async function wait({ seconds, record }, ctx) {
  await report(ctx, 1);
  try {
    await sleep(seconds * 1000, ctx.mcpReq.signal);
  } catch (error) {
    writeFileSync(record, "");
    throw error;
  }
  return said("it was not cancelled");
}

async function count({ steps }, ctx) {
  for (let step = 1; step <= steps; step += 1) {
    await report(ctx, step, steps);
    await sleep(20, ctx.mcpReq.signal);
  }
  return said(`counted to ${steps}`);
}

/** Returns the tools by name, each with its description, the schema of its arguments, and its handler. */
export function tools(isStateless, changes) {
  const none = z.object({});
  const tool = (description, shape, run, output) => ({
    description,
    inputSchema: shape ? z.object(shape) : none,
    run,
    ...(output && { outputSchema: output }),
  });
  return {
    add: tool("Adds two numbers", { a: z.number(), b: z.number() }, ({ a, b }) => said(`${a + b}`)),
    echo: tool("Returns its argument", { text: z.string() }, ({ text }) => said(text)),
    weather: tool(
      "Gives structured output",
      { city: z.string() },
      ({ city }) => said(`21.5 in ${city}`, { city, celsius: 21.5 }),
      place,
    ),
    fail: tool("Fails if a reason is given", { reason: z.string().optional() }, ({ reason }) => {
      if (reason) throw new Error(`it failed ${reason}`);
      return said("no reason to fail");
    }),
    count: tool("Reports progress", { steps: z.int() }, count),
    // Creates the file `record` when it is cancelled, which another process can see.
    wait: tool(
      "Waits until it is cancelled",
      { seconds: z.number().default(300), record: z.string().default("") },
      wait,
    ),
    was_cancelled: tool(
      "Whether the tool that waits was",
      { record: z.string().default("") },
      ({ record }) => said(`${existsSync(record)}`),
    ),
    tell: tool("Logs a message", null, async (_args, ctx) => {
      await ctx.mcpReq.log("info", "told");
      return said("told");
    }),
    ask_model: tool(
      "Asks the client's model",
      { prompt: z.string() },
      asking(({ prompt }) => ({ model: questions.model(prompt) }), ({ model }) => heard(model)),
    ),
    ask_user: tool(
      "Asks the user to fill in a form",
      null,
      asking(
        () => ({ order: questions.user("What may it be?", order) }),
        ({ order: { action, content } }) =>
          action === "accept" ? JSON.stringify(order.parse(content)) : `user: ${action}`,
      ),
    ),
    ask_roots: tool(
      "Asks for the roots",
      null,
      asking(() => ({ roots: questions.roots() }), ({ roots }) => uris(roots)),
    ),
    ask_all: tool(
      "Asks user, model and host at once",
      null,
      asking(
        () => ({
          user: questions.user("Enter your name", name),
          model: questions.model("say hello"),
          roots: questions.roots(),
        }),
        ({ user, model, roots }) => `${user.content.name}; ${heard(model)}; ${uris(roots)}`,
      ),
    ),
    ask_twice: tool("Asks, and asks again", null, twice),
    ask_url: tool("Sends the user to a URL", { url: z.string() }, visit),
    needs_url: tool("Needs a visit first", { first: z.boolean().default(false) }, needsUrl),
    headed: tool(
      "Gives the header that its argument was mirrored in",
      { value: z.string().meta({ "x-mcp-header": "Value" }) },
      (_args, ctx) => said(ctx.http?.req?.headers.get("mcp-param-value") ?? "no header"),
    ),
    change: tool("Says that every list changed", null, (_args, _ctx, server) => {
      changes.lists(server);
      return said("changed");
    }),
    touch: tool("Says that a resource changed", { uri: z.string() }, async ({ uri }, _ctx, server) => {
      await changes.resource(server, uri);
      return said("touched");
    }),
    pause: tool("Gives the connection back before it answers", null, async (_args, ctx) => {
      ctx.http?.closeSSE?.();
      await sleep(100, ctx.mcpReq.signal);
      return said("the client came back");
    }),
  };
}
