// Tests the client of a TypeScript SDK with our everything server, for `cargo xtask interop`.
//
//   node client.mjs SDK REVISION stdio FOLDER INTEROP-CLIENT EVERYTHING-SERVER
//   node client.mjs SDK REVISION http URL URL-OF-PAGES
//   node client.mjs SDK sessions sse URL URL-OF-PAGES
//
// SDK is 1 or 2, REVISION is sessions or stateless. INTEROP-CLIENT records how a server ends, and can serve lists in small pages.
// The URLs are those of the everything server and of a server with small pages. Prints one JSON line per feature.

import { WATCHED, features, pagination, refused } from "./features.mjs";
import { conversation } from "./modern.mjs";
import { place } from "./place.mjs";
import { questions } from "./questions.mjs";
import { Absent, ensure, row, same, text } from "./session.mjs";

const [version, ...words] = process.argv.slice(2);
const sdk = await import(`./sdk-${version}.mjs`);
const ours = place(sdk, words);
const REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

async function initialize(s) {
  same("the name", s.client.getServerVersion().name, "everything");
  same("the revision", s.revision, REVISIONS.at(-1));
  ensure(s.client.getInstructions().includes("fixture"), "no instructions");
  return `everything, ${s.revision}`;
}

async function found(s) {
  if (!sdk.probes) throw new Absent("the client sent initialize first");
  const [status] = s.http?.probes ?? ["an error"];
  ensure(status !== undefined, "the client did not probe");
  return `${s.revision}, by initialize after ${status}`;
}

/** The server closes the connection before it responds; the client resumes the stream. */
async function resumption(s) {
  const before = s.http.streams.length;
  const said = text(await s.call("test_reconnection", {}));
  const resumed = s.http.streams.slice(before).filter((id) => id !== null);
  // The stream of a call that was cancelled earlier may be resumed too, and has no events.
  ensure(resumed.length > 0, "no stream was resumed");
  return said;
}

async function logging(s) {
  await s.client.setLoggingLevel("error");
  await s.call("test_tool_with_logging", {});
  await s.client.ping();
  const before = s.seen.logs.length;
  await s.client.setLoggingLevel("debug");
  await s.call("test_tool_with_logging", {});
  await s.until("log messages", ({ logs }) => logs.length >= before + 3);
  const after = s.seen.logs.slice(before);
  same("levels", after.map(({ level }) => level), ["info", "info", "info"]);
  await s.client.setLoggingLevel("error");
  await s.call("test_tool_with_logging", {});
  await s.client.ping();
  same("messages below the level", s.seen.logs.length, before + 3);
  return after.map(({ data }) => data).join(", ");
}

async function subscribe(s) {
  const provoke = () => s.call("test_trigger_resource_change", {});
  await s.client.subscribeResource({ uri: WATCHED });
  await provoke();
  await s.until("an update", ({ updated }) => updated.includes(WATCHED));
  await s.client.unsubscribeResource({ uri: WATCHED });
  await s.client.ping();
  const before = s.seen.updated.length;
  await provoke();
  await s.client.ping();
  same("updates after the end", s.seen.updated.length, before);
  return `${WATCHED} updated`;
}

async function listChanged(s) {
  for (const list of ["tool", "prompt", "resource"]) {
    await s.call(`test_trigger_${list}_change`, {});
    await s.until(`a change of ${list}s`, ({ changed }) => changed.includes(`${list}s`));
  }
  return "tools, prompts, resources";
}

async function revision(version) {
  const s = await ours.connect("everything", version);
  same("the revision", s.revision, version);
  await s.client.ping();
  same("the sum", text(await s.call("add", { a: 2, b: 3 })), "5");
  const { structuredContent } = await s.call("get_weather", { location: "Oslo" });
  same("structured output", structuredContent !== undefined, version >= "2025-06-18");
  await s.close();
  return "called add and get_weather";
}

async function sessions(s) {
  await row("initialize", () => initialize(s));
  await row("auto", () => found(s));
  await row("ping", () => s.client.ping().then(() => "answered"));
  await row("logging", () => logging(s));
  await row("unknown-resource", () =>
    refused([sdk.noResource], s.client.readResource({ uri: "test://nowhere" })));
  await row("subscribe", () => subscribe(s));
  await row("list-changed", () => listChanged(s));
  await row("tasks", async () => {
    ensure(s.client.getServerCapabilities().tasks === undefined, "the server declares tasks");
    throw new Absent("the server declares no tasks");
  });
  await features(sdk, s);
  await questions(s, ours);
  if (s.http) await row("resumption", () => resumption(s));
  await row(ours.ending, () => s.close());
  await row("pagination", () => pagination(sdk, ours));
  for (const version of REVISIONS) {
    await row(`revision-${version}`, () => revision(version));
  }
}

if (ours.stateless) await conversation(sdk, ours);
else await sessions(await ours.connect("everything"));
