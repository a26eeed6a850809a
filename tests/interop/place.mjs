// How to connect to the everything server: a program that is started for each connection, or a URL of one of the two HTTP
// transports.

import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

import { Session, ensure, same } from "./session.mjs";

/** Server programs, started by a program that records how they end. */
class Programs {
  ending = "shutdown";
  started = 0;

  constructor(sdk, revision, folder, witness, everything) {
    Object.assign(this, { sdk, folder, witness, stateless: revision === "stateless" });
    this.commands = {
      everything: [everything, "--stdio", ...(this.stateless ? [] : ["--sessions"])],
      pages: [witness, "pages", revision, "5"],
    };
    mkdirSync(folder, { recursive: true });
  }

  connect(server, revision, capabilities) {
    const status = join(this.folder, `status-${this.started++}.json`);
    rmSync(status, { force: true });
    const args = ["overhear", status, ...this.commands[server]];
    const transport = this.sdk.stdio(this.witness, args);
    return new Session(this.sdk, transport).connect(revision, () => this.left(status), capabilities);
  }

  /** Checks that the server has exited successfully and was not killed. */
  left(status) {
    let ended;
    try {
      ended = JSON.parse(readFileSync(status, "utf8"));
    } catch {
      throw new Error("the server had to be killed, it did not leave when stdin was closed");
    }
    same("the exit code", ended.code, 0);
    same("a handshake", ended.sent.includes("initialize"), !this.stateless);
    return "exit code 0";
  }
}

/** Servers that are already running. */
class Urls {
  constructor(sdk, revision, everything, pages) {
    Object.assign(this, { sdk, urls: { everything, pages }, stateless: revision === "stateless" });
    this.ending = this.stateless ? "closed" : "session-end";
  }

  connect(server, revision, capabilities) {
    const url = new URL(this.urls[server]);
    const seen = { probes: [], streams: [], ofSessions: [], mirrored: undefined };
    const transport = this.sdk.http(url, { fetch: watched(seen) });
    const session = new Session(this.sdk, transport);
    session.http = seen;
    const left = (id) => this.left(url, id, session);
    return session.connect(revision, left, capabilities);
  }

  /** Checks that the server does not know the session any more, or that there was no session. */
  async left(url, id, { revision, http }) {
    if (this.stateless) {
      same("the session", id, undefined);
      same("what belongs to sessions", http.ofSessions, []);
      return "there was no session";
    }
    ensure(id, "there was no session");
    const headers = {
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      "mcp-protocol-version": revision,
      "mcp-session-id": id,
    };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
    const response = await fetch(url, { method: "POST", headers, body });
    await response.body?.cancel();
    same("the status after the end", response.status, 404);
    return "ended by DELETE, then unknown (404)";
  }
}

/** Servers with the HTTP+SSE transport of 2024-11-05 that are already running. */
class Streams {
  ending = "stream-end";
  stateless = false;

  constructor(sdk, _revision, everything, pages) {
    Object.assign(this, { sdk, urls: { everything, pages } });
  }

  connect(server, revision) {
    const url = new URL(this.urls[server]);
    const posts = new Set();
    const remember = (url, init) => {
      if (init?.method === "POST") posts.add(String(url));
      return fetch(url, init);
    };
    const session = new Session(this.sdk, this.sdk.sse(url, { fetch: remember }));
    return session.connect(revision, () => this.left(posts));
  }

  /** Checks that the session has ended with its stream: its URL for messages is unknown. */
  async left([address, ...others]) {
    same("other addresses", others, []);
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
    const ask = () => fetch(address, { method: "POST", headers, body });
    // The server notices a moment later that the connection has ended.
    const end = Date.now() + 10_000;
    let response = await ask();
    while (response.ok && Date.now() < end) response = await ask();
    same("the status after the end", response.status, 404);
    return "the stream was closed, then unknown (404)";
  }
}

/** Forwards requests, and records those that belong to sessions, and the response to the probe. */
function watched(seen) {
  return async (url, init) => {
    const headers = new Headers(init?.headers);
    if (init?.method === "GET") seen.streams.push(headers.get("last-event-id"));
    seen.mirrored = headers.get("mcp-param-value") ?? seen.mirrored;
    const sent = typeof init?.body === "string" ? JSON.parse(init.body).method : undefined;
    if (headers.has("mcp-session-id") || init?.method !== "POST" || /initialize/.test(sent)) {
      seen.ofSessions.push(`${init?.method} ${sent}`);
    }
    const response = await fetch(url, init);
    if (typeof init?.body === "string" && init.body.includes('"server/discover"')) {
      seen.probes.push(response.status);
    }
    return response;
  };
}

/** Returns the place that the arguments name. */
export function place(sdk, [revision, kind, ...rest]) {
  if (kind === "stdio") return new Programs(sdk, revision, ...rest);
  if (kind === "http") return new Urls(sdk, revision, ...rest);
  if (kind === "sse") return new Streams(sdk, revision, ...rest);
  throw new Error(`no such transport: ${kind}`);
}
