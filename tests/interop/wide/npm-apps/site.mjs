// The pages of a driver and the modules that they import, and the rows that it reports.

import { readFileSync } from "node:fs";
import { extname } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export const LIMIT = 60_000;
const TYPES = { ".mjs": "text/javascript", ".js": "text/javascript", ".html": "text/html" };
const here = import.meta.dirname;

/** Where the browser finds what the modules import; the driver runs with the conditions of a browser. */
export function importMap() {
  const names = [
    "@modelcontextprotocol/client", "@modelcontextprotocol/client/_shims", "@modelcontextprotocol/core",
    "@modelcontextprotocol/core/internal", "@modelcontextprotocol/ext-apps/app-bridge", "eventsource",
    "eventsource-parser", "eventsource-parser/stream", "pkce-challenge", "zod/v4", "jose",
  ];
  const imports = {};
  for (const name of names) {
    try {
      const path = fileURLToPath(import.meta.resolve(name));
      imports[name] = path.slice(here.length);
    } catch {
      // The versions differ in what they need; the browser reports what is missing.
    }
  }
  return JSON.stringify({ imports });
}

/** Answers with the document at "/", and with a module elsewhere. */
export function answer(document, url, outgoing) {
  if (url === "/") return outgoing.writeHead(200, { "content-type": "text/html" }).end(document);
  try {
    const file = new URL(`.${new URL(url, "http://x").pathname}`, pathToFileURL(`${here}/`));
    outgoing.writeHead(200, { "content-type": TYPES[extname(file.pathname)] }).end(readFileSync(file));
  } catch {
    outgoing.writeHead(404).end();
  }
}

/** Listens on a port that the system chooses. */
export function listen(http) {
  return new Promise((resolve) => http.listen(0, "127.0.0.1", () => resolve(http)));
}

export async function row(feature, work) {
  let outcome = "ok";
  let detail;
  try {
    detail = await work();
  } catch (error) {
    [outcome, detail] = ["failed", error?.message ?? String(error)];
  }
  console.log(JSON.stringify({ feature, outcome, detail: String(detail) }));
}

export function same(what, got, expected) {
  const [a, b] = [JSON.stringify(got), JSON.stringify(expected)];
  if (a !== b) throw new Error(`${what} is ${a}, not ${b}`);
}

/** Repeats a look at the page until it holds. */
export async function until(what, holds) {
  const end = Date.now() + LIMIT / 2;
  while (true) {
    const seen = await holds();
    if (seen) return seen;
    if (Date.now() > end) throw new Error(`${what} did not happen`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
