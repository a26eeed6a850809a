// The TypeScript client of 2026-07-28 with the published everything server behind `mcp bridge`, for `cargo xtask interop`.
//
//   node visit.mjs URL
//
// Prints one JSON line per feature.

import * as sdk from "./sdk-2.mjs";
import { Session, ensure, row, same, text } from "./session.mjs";

const REVISION = "2026-07-28";
const session = new Session(sdk, sdk.http(new URL(process.argv[2]), {}));
await session.connect(REVISION, () => "the connection is closed");
session.answer = () => ({ action: "accept", content: { name: "Ada", check: true } });

async function called(name, args, part) {
  const said = text(await session.call(name, args));
  ensure(said.includes(part), `${name} says ${said}`);
  return part;
}

await row("auto", async () => {
  const revision = session.client.getNegotiatedProtocolVersion();
  same("the revision", revision, REVISION);
  return revision;
});
await row("listed", async () => {
  const names = (await session.client.listTools()).tools.map(({ name }) => name);
  for (const name of ["echo", "trigger-elicitation-request", "trigger-sampling-request"]) {
    ensure(names.includes(name), `${name} is not listed: ${names}`);
  }
  return `${names.length} tools`;
});
await row("called", () => called("echo", { message: "Grüße" }, "Grüße"));
await row("sampled", () => called("trigger-sampling-request", { prompt: "six?" }, "the model heard"));
await row("elicited", () => called("trigger-elicitation-request", {}, "Name: Ada"));
await row("ended", async () => {
  await session.client.close();
  return "the connection is closed";
});
