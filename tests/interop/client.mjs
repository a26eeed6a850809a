// The TypeScript SDK's client against our everything server, for `cargo xtask interop`.
//
//   node client.mjs FOLDER INTEROP-CLIENT EVERYTHING-SERVER
//
// Prints one JSON line per feature. The first program watches how servers end, and serves the
// everything server in small pages.

import { mkdirSync } from "node:fs";

import { EmptyResultSchema } from "@modelcontextprotocol/sdk/types.js";

import { questions } from "./questions.mjs";
import { Absent, Session, code, ensure, pages, row, same, text } from "./session.mjs";

const [folder, witness, everything] = process.argv.slice(2);
const OURS = [everything, "--stdio"];
const REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const WATCHED = "test://watched-resource";
const TEMPLATE = "test://template/{id}/data";

/** Arguments of tools that need some, and what they say. */
const KNOWN = {
  test_simple_text: [{}, "simple text response"],
  test_image_content: [{}, '"type":"image"'],
  test_audio_content: [{}, "audio/wav"],
  test_embedded_resource: [{}, "test://embedded-resource"],
  test_resource_link: [{}, "resource_link"],
  test_multiple_content_types: [{}, "test://mixed-content-resource"],
  test_tool_with_progress: [{}, "Progress"],
  test_tool_with_logging: [{}, "Logged"],
  add: [{ a: 2, b: 3 }, "5"],
  echo: [{ message: "grüß dich" }, "grüß dich"],
  get_weather: [{ location: "Oslo" }, "sunny in Oslo"],
  json_schema_2020_12_tool: [{ name: "Ada", contactMethod: "phone", phone: "1" }, "Ada"],
  test_custom_header: [{ value: "v" }, "v"],
  test_sampling: [{ prompt: "six times seven?" }, "six times seven?"],
  test_elicitation: [{ message: "who?" }, "action="],
};
/** Tools with a row of their own, that fail or wait on purpose. */
const APART = ["test_error_handling", "wait_for_cancel"];

async function initialize(s) {
  same("the name", s.client.getServerVersion().name, "everything");
  same("the revision", s.revision, REVISIONS.at(-1));
  ensure(s.client.getInstructions().includes("fixture"), "no instructions");
  return `everything, ${s.revision}`;
}

async function toolsCall(s) {
  const { tools } = await s.client.listTools();
  let called = 0;
  for (const { name, inputSchema } of tools) {
    if (APART.includes(name)) continue;
    ensure(KNOWN[name] || !inputSchema.required?.length, `no arguments known for ${name}`);
    const [args, says] = KNOWN[name] ?? [{}, ""];
    const result = JSON.stringify(await s.call(name, args));
    ensure(result.includes(says), `${name} does not say ${says}: ${result}`);
    called += 1;
  }
  return `${called} calls`;
}

async function structured(s) {
  await s.client.listTools();
  const { structuredContent } = await s.call("get_weather", { location: "Oslo" });
  same("the output", structuredContent, { temperature: 21.5, conditions: "sunny in Oslo" });
  return JSON.stringify(structuredContent);
}

async function failing(s, name, args) {
  const result = await s.client.callTool({ name, arguments: args });
  ensure(result.isError === true, `${name} did not fail`);
  return text(result);
}

async function progress(s) {
  const seen = [];
  const onprogress = ({ progress, total }) => seen.push([progress, total]);
  await s.call("test_tool_with_progress", {}, { onprogress });
  same("progress", seen, [[0, 100], [50, 100], [100, 100]]);
  return "3 reports";
}

async function cancellation(s) {
  const abort = new AbortController();
  const options = { signal: abort.signal, onprogress: () => abort.abort("enough") };
  let answered = true;
  await s.call("wait_for_cancel", {}, options).catch(() => (answered = false));
  ensure(!answered, "the call was answered");
  await s.client.ping();
  same("late answers", s.seen.errors, []);
  return "aborted after its first progress";
}

async function concurrent(s) {
  const marks = Array.from({ length: 50 }, (_, number) => `call-${number}`);
  const calls = marks.map(async (mark) => text(await s.call("echo", { message: mark })));
  same("the answers", await Promise.all(calls), marks);
  return `${marks.length} calls`;
}

async function large(s) {
  const message = 'plain "quoted" back\\slash é 漢字 😀 \u2028\u2029\x85\x7f\t\n'.repeat(20_000);
  const said = text(await s.call("echo", { message }));
  ensure(said === message, "echo gave something else back");
  return `${Buffer.byteLength(message)} bytes`;
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

async function resources(s) {
  const { resources } = await s.client.listResources();
  for (const { uri } of resources) {
    const { contents } = await s.client.readResource({ uri });
    same("the URI", contents[0].uri, uri);
    ensure(contents[0].text || contents[0].blob, `${uri} is empty`);
  }
  return `${resources.length} read`;
}

async function resourcesList(s) {
  const { resources } = await s.client.listResources();
  const uris = resources.map(({ uri }) => uri);
  for (const uri of ["test://static-text", "test://static-binary", WATCHED]) {
    ensure(uris.includes(uri), `${uri} is not listed`);
  }
  return `${uris.length} resources`;
}

async function templates(s) {
  const { resourceTemplates } = await s.client.listResourceTemplates();
  ensure(resourceTemplates.some((one) => one.uriTemplate === TEMPLATE), "no template");
  const { contents } = await s.client.readResource({ uri: "test://template/123/data" });
  const data = JSON.parse(contents[0].text);
  same("the data", data, { data: "Data for ID: 123", id: "123", templateTest: true });
  return contents[0].uri;
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

async function prompts(s) {
  const { prompts } = await s.client.listPrompts();
  for (const { name, arguments: wanted } of prompts) {
    const args = Object.fromEntries((wanted ?? []).map((one) => [one.name, "test://x"]));
    const { messages } = await s.client.getPrompt({ name, arguments: args });
    ensure(messages.length > 0, `${name} is empty`);
  }
  const args = { arg1: "hello", arg2: "world" };
  const written = await s.client.getPrompt({ name: "test_prompt_with_arguments", arguments: args });
  const expected = "Prompt with arguments: arg1='hello', arg2='world'";
  same("the prompt", written.messages[0].content.text, expected);
  return `${prompts.length} prompts`;
}

async function complete(s, ref, name, value, expected, context) {
  const params = { ref, argument: { name, value }, ...(context && { context }) };
  const { completion } = await s.client.complete(params);
  same("the completion", completion.values, expected);
  return completion.values.join(", ");
}

const PROMPT = { type: "ref/prompt", name: "test_prompt_with_arguments" };

async function completion(s) {
  const ref = { type: "ref/resource", uri: TEMPLATE };
  const [one, two] = [
    await complete(s, PROMPT, "arg1", "par", ["paris", "park", "party", "compare"]),
    await complete(s, ref, "id", "1", ["123"]),
  ];
  return `${one}; ${two}`;
}

async function refused(expected, answer) {
  const got = await code(answer);
  ensure(expected.includes(got), `code ${got}, not ${expected.join(" or ")}`);
  return `code ${got}`;
}

async function pagination() {
  const paged = await new Session(folder, witness, [witness, "pages", "5"]).connect();
  const { items, count } = await pages((params) => paged.client.listTools(params), "tools");
  ensure(count > 3, `${count} pages`);
  same("names", new Set(items.map(({ name }) => name)).size, items.length);
  await refused([-32602], paged.client.listTools({ cursor: "no such cursor" }));
  await paged.close();
  return `${items.length} tools on ${count} pages`;
}

async function revision(version) {
  const s = await new Session(folder, witness, OURS).connect(version);
  same("the revision", s.revision, version);
  await s.client.ping();
  same("the sum", text(await s.call("add", { a: 2, b: 3 })), "5");
  const { structuredContent } = await s.call("get_weather", { location: "Oslo" });
  same("structured output", structuredContent !== undefined, version >= "2025-06-18");
  await s.close();
  return "called add and get_weather";
}

async function features(s) {
  await row("initialize", () => initialize(s));
  await row("discover", () => Promise.reject(new Absent("the client sent initialize first")));
  await row("ping", () => s.client.ping().then(() => "answered"));
  await row("unknown-method", () =>
    refused([-32601], s.client.request({ method: "no/such" }, EmptyResultSchema)));
  await row("tools-list", async () => `${(await s.client.listTools()).tools.length} tools`);
  await row("tools-call", () => toolsCall(s));
  await row("structured-output", () => structured(s));
  await row("tool-errors", () => failing(s, "test_error_handling", {}));
  await row("bad-arguments", () => failing(s, "add", { a: "two" }));
  await row("unknown-tool", () =>
    refused([-32602], s.client.callTool({ name: "no-such-tool", arguments: {} })));
  await row("progress", () => progress(s));
  await row("cancellation", () => cancellation(s));
  await row("concurrent", () => concurrent(s));
  await row("large", () => large(s));
  await row("logging", () => logging(s));
  await questions(s, [folder, witness]);
  await row("resources-list", () => resourcesList(s));
  await row("resources-read", () => resources(s));
  await row("templates", () => templates(s));
  await row("unknown-resource", () =>
    refused([-32002], s.client.readResource({ uri: "test://nowhere" })));
  await row("subscribe", () => subscribe(s));
  await row("list-changed", () => listChanged(s));
  await row("prompts", () => prompts(s));
  await row("unknown-prompt", () => refused([-32602], s.client.getPrompt({ name: "nowhere" })));
  await row("completion", () => completion(s));
  await row("completion-context", () =>
    complete(s, PROMPT, "arg2", "x", ["paris-x"], { arguments: { arg1: "paris" } }));
  await row("tasks", async () => {
    ensure(s.client.getServerCapabilities().tasks === undefined, "the server declares tasks");
    throw new Absent("the server declares no tasks");
  });
  await row("shutdown", () => s.close());
}

mkdirSync(folder, { recursive: true });
await features(await new Session(folder, witness, OURS).connect());
await row("pagination", pagination);
for (const version of REVISIONS) {
  await row(`revision-${version}`, () => revision(version));
}
