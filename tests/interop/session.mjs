// One connection of the TypeScript SDK's client to a server, with a host behind it that answers
// questions and remembers what it is told.

import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import {
  CreateMessageRequestSchema,
  ElicitationCompleteNotificationSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";

/** How long one feature, one request or one wait may take. */
export const LIMIT = 90_000;

/** Thrown by a feature that the peer does not have. */
export class Absent extends Error {}

export function ensure(holds, problem) {
  if (!holds) throw new Error(problem);
}

export function same(what, got, expected) {
  const problem = () => `${what} is ${JSON.stringify(got)}, not ${JSON.stringify(expected)}`;
  if (!isDeepStrictEqual(got, expected)) throw new Error(problem());
}

/** Runs one feature and prints its line. */
export async function row(feature, work) {
  let timer;
  const late = new Promise((_, reject) => {
    const problem = new Error(`nothing after ${LIMIT / 1000} s`);
    timer = setTimeout(() => reject(problem), LIMIT);
  });
  let line;
  try {
    line = { feature, outcome: "ok", detail: String((await Promise.race([work(), late])) ?? "") };
  } catch (error) {
    const outcome = error instanceof Absent ? "absent" : "failed";
    line = { feature, outcome, detail: error?.message ?? String(error) };
  } finally {
    clearTimeout(timer);
  }
  console.log(JSON.stringify(line));
}

/** A client that offers one revision, whatever the newest is. */
class PinnedClient extends Client {
  constructor(info, options, revision) {
    super(info, options);
    this.revision = revision;
  }

  request(request, schema, options) {
    if (request.method === "initialize" && this.revision) {
      const params = { ...request.params, protocolVersion: this.revision };
      return super.request({ ...request, params }, schema, options);
    }
    return super.request(request, schema, { timeout: LIMIT, ...options });
  }
}

let started = 0;

export class Session {
  /** What the server said that was no answer. */
  seen = { logs: [], changed: [], updated: [], urlsDone: [], errors: [] };
  /** What the user does with the next question. */
  answer = () => ({ action: "cancel" });
  roots = [{ uri: "file:///workshop", name: "Workshop" }];
  samples = 0;

  constructor(folder, witness, command) {
    this.status = join(folder, `status-${started++}.json`);
    rmSync(this.status, { force: true });
    this.transport = new StdioClientTransport({
      command: witness,
      args: ["witness", this.status, ...command],
    });
    this.transport.setProtocolVersion = (version) => (this.revision = version);
  }

  async connect(revision) {
    const capabilities = {
      sampling: {},
      elicitation: { form: { applyDefaults: true }, url: {} },
      roots: { listChanged: true },
    };
    const info = { name: "interop-typescript", version: "1.0.0" };
    this.client = new PinnedClient(info, { capabilities }, revision);
    this.client.onerror = (error) => this.seen.errors.push(error.message);
    this.listen();
    this.host();
    await this.client.connect(this.transport, { timeout: LIMIT });
    return this;
  }

  listen() {
    const on = (schema, hear) => this.client.setNotificationHandler(schema, hear);
    on(LoggingMessageNotificationSchema, ({ params }) => void this.seen.logs.push(params));
    on(ResourceUpdatedNotificationSchema, ({ params }) => void this.seen.updated.push(params.uri));
    on(ElicitationCompleteNotificationSchema, ({ params }) =>
      void this.seen.urlsDone.push(params.elicitationId));
    for (const [list, schema] of [
      ["tools", ToolListChangedNotificationSchema],
      ["prompts", PromptListChangedNotificationSchema],
      ["resources", ResourceListChangedNotificationSchema],
    ]) {
      on(schema, () => void this.seen.changed.push(list));
    }
  }

  host() {
    const on = (schema, answer) => this.client.setRequestHandler(schema, answer);
    on(ListRootsRequestSchema, () => ({ roots: this.roots }));
    on(ElicitRequestSchema, ({ params }) => this.answer(params));
    on(CreateMessageRequestSchema, ({ params }) => {
      this.samples += 1;
      const heard = params.messages.map(({ content }) => content.text).join(" ");
      return {
        model: "interop-model",
        role: "assistant",
        content: { type: "text", text: `the model heard: ${heard}` },
      };
    });
  }

  /** Waits until the server has said something. */
  async until(what, said) {
    const end = Date.now() + LIMIT - 10_000;
    while (!said(this.seen)) {
      ensure(Date.now() < end, `${what} did not arrive`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Calls a tool that must succeed, and gives its text. */
  async call(name, args, options) {
    const result = await this.client.callTool({ name, arguments: args }, undefined, options);
    ensure(!result.isError, `${name} failed: ${text(result)}`);
    return result;
  }

  /** Ends the connection; the server has to leave by itself, with success. */
  async close() {
    await this.client.close();
    let ended;
    try {
      ended = JSON.parse(readFileSync(this.status, "utf8"));
    } catch {
      throw new Error("the server had to be killed, it did not leave when stdin was closed");
    }
    same("the exit code", ended.code, 0);
    same("what went wrong on the way", this.seen.errors, []);
    return "gone with exit code 0";
  }
}

/** The text of a result. */
export function text(result) {
  return result.content.map((block) => block.text ?? "").join("\n");
}

/** The code of a refusal. */
export async function code(answer) {
  try {
    await answer;
  } catch (error) {
    ensure(typeof error?.code === "number", `not a refusal: ${error}`);
    return error.code;
  }
  throw new Error("the server answered where it must refuse");
}

/** A list followed to its end, and how many pages it has. */
export async function pages(fetch, member) {
  const items = [];
  let count = 0;
  let cursor;
  do {
    const page = await fetch(cursor === undefined ? {} : { cursor });
    items.push(...page[member]);
    cursor = page.nextCursor;
    count += 1;
  } while (cursor !== undefined);
  return { items, count };
}
