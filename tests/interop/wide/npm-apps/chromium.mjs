// Chromium without a window, driven by its debugging protocol, and what a screenshot shows.

import { spawn } from "node:child_process";
import { inflateSync } from "node:zlib";

/** The names of the program. */
const PROGRAMS = ["chromium", "chromium-browser", "google-chrome"];

/** Starts the first browser that is installed, with a profile in this folder. */
export async function launch(folder) {
  for (const program of PROGRAMS) {
    const browser = await start(program, folder);
    if (browser) return browser;
  }
  throw new Error(`no ${PROGRAMS.join(", ")}; on Debian: apt-get install chromium`);
}

/** The browser, or nothing if the program is not installed. It reads requests from its descriptor 3 and answers on 4. */
async function start(program, folder) {
  const words = "--headless=new --no-sandbox --disable-gpu --force-device-scale-factor=1 --remote-debugging-pipe";
  const child = spawn(program, [...words.split(" "), `--user-data-dir=${folder}`, "about:blank"], {
    stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
  });
  process.on("exit", () => child.kill());
  const browser = new Browser(child);
  const gone = new Promise((resolve) => child.once("error", () => resolve(false)));
  const there = browser.send("Browser.getVersion").then(() => true);
  return (await Promise.race([gone, there])) ? browser : undefined;
}

class Browser {
  #next = 1;
  #waiting = new Map();
  #text = "";

  constructor(child) {
    this.child = child;
    for (const stream of [child.stdio[3], child.stdio[4]]) stream.on("error", () => {});
    child.stdio[4].setEncoding("utf8").on("data", (data) => {
      const messages = (this.#text + data).split("\0");
      this.#text = messages.pop();
      messages.forEach((message) => this.#receive(JSON.parse(message)));
    });
  }

  #receive({ id, result, error }) {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error) waiting?.reject(new Error(error.message));
    else waiting?.resolve(result);
  }

  send(method, params = {}) {
    const id = this.#next++;
    const { session: sessionId } = this;
    this.child.stdio[3].write(`${JSON.stringify({ id, method, params, ...(sessionId && { sessionId }) })}\0`);
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  /** Opens a page. */
  async open(url) {
    const { targetId } = await this.send("Target.createTarget", { url });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    this.session = sessionId;
  }

  /** The value of an expression in the page, awaited. */
  async evaluate(expression) {
    const params = { expression, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", params);
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async click(x, y) {
    const at = { x, y, button: "left", clickCount: 1 };
    await this.send("Input.dispatchMouseEvent", { type: "mousePressed", ...at });
    await this.send("Input.dispatchMouseEvent", { type: "mouseReleased", ...at });
  }

  async screenshot() {
    const clip = { x: 0, y: 0, width: 640, height: 240, scale: 1 };
    const { data } = await this.send("Page.captureScreenshot", { format: "png", clip });
    return Buffer.from(data, "base64");
  }

  async close() {
    const gone = new Promise((resolve) => this.child.once("exit", resolve));
    this.session = undefined;
    this.send("Browser.close").catch(() => {});
    await gone;
  }
}

/** Where a PNG of 8 bits per channel is dark: the rows and columns of the first and the last dark pixel, between two rows. */
export function ink(png, from, to) {
  const { width, channels, rows } = decode(png);
  const box = { left: width, right: -1, top: to, bottom: -1 };
  for (let y = from; y < Math.min(to, rows.length); y++) {
    for (let x = 0; x < width; x++) {
      const pixel = rows[y].subarray(x * channels, x * channels + 3);
      if (Math.max(...pixel) > 100) continue;
      box.left = Math.min(box.left, x);
      box.right = Math.max(box.right, x);
      box.top = Math.min(box.top, y);
      box.bottom = Math.max(box.bottom, y);
    }
  }
  return box;
}

function decode(png) {
  const data = [];
  let header;
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const kind = png.toString("latin1", at + 4, at + 8);
    const chunk = png.subarray(at + 8, at + 8 + length);
    if (kind === "IHDR") header = chunk;
    if (kind === "IDAT") data.push(chunk);
    at += length + 12;
  }
  const width = header.readUInt32BE(0);
  const channels = { 2: 3, 6: 4 }[header[9]];
  if (header[8] !== 8 || !channels) throw new Error("the screenshot is not a PNG with 8 bits per channel");
  const bytes = inflateSync(Buffer.concat(data));
  const stride = width * channels;
  const rows = [];
  let before = Buffer.alloc(stride);
  for (let at = 0; at < bytes.length; at += stride + 1) {
    const row = Buffer.from(bytes.subarray(at + 1, at + 1 + stride));
    for (let i = 0; i < stride; i++) {
      const left = i < channels ? 0 : row[i - channels];
      const corner = i < channels ? 0 : before[i - channels];
      row[i] += predicted(bytes[at], left, before[i], corner);
    }
    rows.push(row);
    before = row;
  }
  return { width, channels, rows };
}

/** The filters of PNG. */
function predicted(filter, left, up, corner) {
  if (filter < 3) return [0, left, up][filter];
  if (filter === 3) return (left + up) >> 1;
  const paeth = [left, up, corner].map((value) => Math.abs(left + up - corner - value));
  return [left, up, corner][paeth.indexOf(Math.min(...paeth))];
}
