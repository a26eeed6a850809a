// A TypeScript client that calls a server of `tests/src/reliability` without end, for `cargo xtask cluster`.
//
//   node steady.mjs URL
//
// Prints one JSON line per call: when it began and ended, its error, and the progress it has seen.

import * as sdk from "./sdk-1.mjs";
import { Session, text } from "./session.mjs";

const STEPS = 20;
// A call that takes longer counts as one that never ends.
const LIMIT = 30_000;

const session = new Session(sdk, sdk.http(new URL(process.argv[2]), {}));
await session.connect("2025-11-25", () => "");

async function call(name, args, expected) {
  const progress = [];
  const begin = Date.now() / 1000;
  let error = null;
  try {
    const options = { onprogress: ({ progress: step }) => progress.push(step), timeout: LIMIT };
    const said = text(await session.call(name, args, options));
    if (said !== expected) error = `wrong: ${said}`;
  } catch (cause) {
    error = cause.code === -32001 ? "hung" : cause.message;
  }
  console.log(JSON.stringify({ name, begin, end: Date.now() / 1000, error, progress }));
}

while (true) {
  await call("steps", { count: STEPS, millis: 20 }, "done");
  await call("echo", { message: "here" }, "here");
}
