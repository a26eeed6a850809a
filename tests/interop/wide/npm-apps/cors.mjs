// Pages of two origins in Chromium and the gateway, which allows one of them: `node cors.mjs MCP SERVER`.
//
// Prints one JSON line per feature, as the other drivers do.

import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { launch } from "./chromium.mjs";
import { LIMIT, answer, importMap, listen, row, same, until } from "./site.mjs";

const TEXT = "This is a simple text response for testing.";

const document = `<!doctype html>
<meta charset="utf-8">
<title>Page</title>
<script type="importmap">${importMap()}</script>
<script type="module">
  import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

  /** The driver calls these with the URL of the gateway. */
  window.page = {
    async call(url) {
      const client = new Client({ name: "page", version: "1.0.0" });
      await client.connect(new StreamableHTTPClientTransport(new URL(url)));
      const { content } = await client.callTool({ name: "all__test_simple_text", arguments: {} });
      await client.close();
      return content[0].text;
    },
    async challenge(url) {
      const answer = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
      return [answer.status, answer.headers.get("www-authenticate")];
    },
  };
</script>
`;

/** Starts the gateway; with a token, its clients need it. Returns its process and its URL. */
async function gateway(env) {
  const child = spawn(mcp, ["serve", file], { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...env } });
  process.on("exit", () => child.kill());
  const lines = createInterface(child.stderr);
  const url = await new Promise((resolve) => {
    lines.on("line", (line) => {
      const found = /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(line);
      if (found) resolve(found[0]);
    });
    createInterface(child.stdout).on("line", (line) => lines.emit("line", line));
  });
  return { child, url };
}

const late = setTimeout(() => process.exit(1), 2 * LIMIT);
const [mcp, server] = process.argv.slice(2);
const site = () => listen(createServer(({ url }, outgoing) => answer(document, url, outgoing)));
const [allowed, other] = [await site(), await site()];
const origin = (http) => `http://127.0.0.1:${http.address().port}`;
const file = join(process.cwd(), "gateway.json");
const settings = {
  mcpServers: { all: { command: server, args: ["--stdio"] } },
  gateway: { listen: "127.0.0.1:0", allowedOrigins: [origin(allowed)] },
};
writeFileSync(file, JSON.stringify(settings));
const open = await gateway({});
const guarded = await gateway({ MCP_GATEWAY_TOKEN: "9p4wJ0cY2mXqT7vLr3sZ" });
const browser = await launch(join(process.cwd(), "profile"));
const loaded = async (http) => {
  await browser.open(`${origin(http)}/`);
  await until("the page", () => browser.evaluate("window.page !== undefined"));
};
const said = (expression) => browser.evaluate(expression).catch((error) => String(error.message));
await loaded(allowed);
await row("cors-allowed", async () => {
  same("the text", await browser.evaluate(`page.call("${open.url}")`), TEXT);
  return "listed and called";
});
await row("cors-challenge", async () => {
  const [status, challenge] = await browser.evaluate(`page.challenge("${guarded.url}")`);
  same("the status", status, 401);
  if (!challenge?.startsWith("Bearer")) throw new Error(`the challenge is ${challenge}`);
  return challenge;
});
await loaded(other);
await row("cors-refused", async () => {
  const text = await said(`page.call("${open.url}")`);
  if (!text.includes("Failed to fetch")) throw new Error(text);
  return text.split("\n")[0];
});
await row("ended", async () => {
  await browser.close();
  return "closed";
});
for (const http of [allowed, other]) {
  http.closeAllConnections();
  http.close();
}
for (const { child } of [open, guarded]) child.kill();
clearTimeout(late);
