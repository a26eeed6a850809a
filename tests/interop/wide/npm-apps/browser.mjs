// An app of our server in Chromium, behind the bridge of ext-apps: `node browser.mjs INTEROP-CLIENT`.
//
// Prints one JSON line per feature, as the other drivers do, and leaves the screenshots in the working folder.

import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { ink, launch } from "./chromium.mjs";
import { page } from "./host.mjs";
import { LIMIT, answer, importMap, listen, row, same, until } from "./site.mjs";

/** The page of the host and its modules, and at /mcp the server: a browser has one origin for both. */
function serve(server) {
  const document = page(importMap());
  const http = createServer((incoming, outgoing) => {
    const { method, url, headers } = incoming;
    if (url.startsWith("/mcp")) {
      const { origin, host, ...rest } = headers;
      const passed = request(server, { method, headers: rest }, (answer) => {
        outgoing.writeHead(answer.statusCode, answer.headers);
        answer.pipe(outgoing);
      });
      passed.on("error", () => outgoing.destroy());
      outgoing.on("close", () => passed.destroy());
      return incoming.pipe(passed);
    }
    answer(document, url, outgoing);
  });
  return listen(http);
}

/** Takes screenshots until the text of the app, above its button, is wider than this. Returns its width in pixels. */
async function shown(browser, name, than) {
  return until(`a text wider than ${than} pixels in ${name}`, async () => {
    const png = await browser.screenshot();
    writeFileSync(name, png);
    const { left, right } = ink(png, 0, 70);
    return right - left > than && right - left;
  });
}

const late = setTimeout(() => process.exit(1), 2 * LIMIT);
const [client] = process.argv.slice(2);
const server = spawn(client, ["app", "--http", "127.0.0.1:0"], { stdio: ["pipe", "pipe", "inherit"] });
const url = await new Promise((resolve) => createInterface(server.stdout).once("line", resolve));
const http = await serve(url.trim());
const browser = await launch(join(process.cwd(), "profile"));
await browser.open(`http://127.0.0.1:${http.address().port}/`);
await row("app-tool", async () => {
  await until("the host page", () => browser.evaluate("window.host !== undefined"));
  same("the URI", await browser.evaluate("host.uri"), "ui://clock/view.html");
  same("tools of the page alone", await browser.evaluate("host.appOnly"), ["refresh"]);
  return browser.evaluate("host.mimeType");
});
let width;
await row("app-shown", async () => {
  same("the name of the app", await browser.evaluate("host.show()"), "clock");
  // A date and a time; before the result there is one character.
  width = await shown(browser, "shown.png", 200);
  return `${width} pixels wide`;
});
await row("app-calls", async () => {
  const { left, right, top, bottom } = ink(await browser.screenshot(), 75, 240);
  await browser.click((left + right) / 2, (top + bottom) / 2);
  // The tool of the page has a year of five digits.
  return `${await shown(browser, "called.png", width + 20)} pixels wide`;
});
await row("ended", async () => {
  await browser.close();
  return "closed";
});
http.closeAllConnections();
http.close();
server.kill();
clearTimeout(late);
