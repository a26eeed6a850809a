// A connection of the client of a TypeScript SDK to a server, with a host that responds to server requests and records
// notifications.

import { isDeepStrictEqual } from "node:util";

/** The time limit of a feature, a request and a wait. */
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

/** The capabilities of this host. */
const CAPABILITIES = {
  sampling: {},
  elicitation: { form: { applyDefaults: true }, url: {} },
  roots: { listChanged: true },
};

/**
 * What the SDKs report of a cancelled call: its stream ends without a response, the client tries to resume it, and the server says
 * that there is nothing to resume.
 */
const UNRESUMED = [
  /^(Streamable HTTP error: )?Failed to open SSE stream: Bad Request$/,
  /^Failed to reconnect SSE stream: (Streamable HTTP error: )?Failed to open SSE stream: Bad Request$/,
  /^Maximum reconnection attempts \(\d\) exceeded\.$/,
];

export class Session {
  /** Whether a call was cancelled. */
  hasCancelled = false;
  /** The received notifications, and the errors of the client. */
  seen = { logs: [], changed: [], updated: [], urlsDone: [], errors: [] };
  /** The response of the user to the next request. */
  answer = () => ({ action: "cancel" });
  roots = [{ uri: "file:///workshop", name: "Workshop" }];
  samples = 0;

  constructor(sdk, transport) {
    Object.assign(this, { sdk, transport });
  }

  /** Connects. `left` shows, after the end, that the server has noticed it. */
  async connect(revision, left, capabilities = CAPABILITIES) {
    const info = { name: "interop-typescript", version: "1.0.0" };
    this.left = left;
    this.client = this.sdk.client(info, capabilities, revision, LIMIT);
    this.client.onerror = (error) => this.seen.errors.push(error.message);
    const agreed = this.transport.setProtocolVersion?.bind(this.transport);
    this.transport.setProtocolVersion = (version) => {
      this.revision = version;
      agreed?.(version);
    };
    this.listen();
    if (capabilities === CAPABILITIES) this.host();
    await this.client.connect(this.transport, { timeout: LIMIT });
    return this;
  }

  listen() {
    const on = (method, hear) => this.sdk.hear(this.client, `notifications/${method}`, hear);
    on("message", ({ params }) => void this.seen.logs.push(params));
    on("resources/updated", ({ params }) => void this.seen.updated.push(params.uri));
    on("elicitation/complete", ({ params }) =>
      void this.seen.urlsDone.push(params.elicitationId));
    for (const list of ["tools", "prompts", "resources"]) {
      on(`${list}/list_changed`, () => void this.seen.changed.push(list));
    }
  }

  host() {
    const on = (method, answer) => this.sdk.answer(this.client, method, answer);
    on("roots/list", () => ({ roots: this.roots }));
    on("elicitation/create", ({ params }) => this.answer(params));
    on("sampling/createMessage", ({ params }) => {
      this.samples += 1;
      const heard = params.messages.map(({ content }) => content.text).join(" ");
      return {
        model: "interop-model",
        role: "assistant",
        content: { type: "text", text: `the model heard: ${heard}` },
      };
    });
  }

  /** Waits until a condition holds. */
  async until(what, said) {
    const end = Date.now() + LIMIT - 10_000;
    while (!said(this.seen)) {
      ensure(Date.now() < end, `${what} did not arrive`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Calls a tool that must succeed. Returns its text. */
  async call(name, args, options) {
    const result = await this.sdk.call(this.client, { name, arguments: args }, options);
    ensure(!result.isError, `${name} failed: ${text(result)}`);
    return result;
  }

  /** Ends the connection, and with it the session, if there is one. */
  async close() {
    const { sessionId } = this.transport;
    // Before the end: the first SDK reports that it closes its own stream.
    const isExpected = (error) => this.hasCancelled && UNRESUMED.some((known) => known.test(error));
    const errors = this.seen.errors.filter((error) => !isExpected(error));
    await this.transport.terminateSession?.();
    await this.client.close();
    same("errors", errors, []);
    return this.left(sessionId);
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
