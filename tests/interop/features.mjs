// Features that the client of a TypeScript SDK uses in the same way in every revision, tested with our everything server.

import { Absent, code, ensure, pages, row, same, text } from "./session.mjs";

export const WATCHED = "test://watched-resource";
const TEMPLATE = "test://template/{id}/data";

/** Arguments of tools, and a part of their results. */
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
  test_input_required_result_multi_round: [{}, "likes"],
  greet: [{ name: "Ada" }, "Ada"],
  slow_compute: [{ seconds: 0, label: "nothing" }, "computed nothing"],
};
/** Tools that fail or wait on purpose and have separate rows. */
const APART = ["test_error_handling", "wait_for_cancel"];
/** Tools for clients that declare the extension for tasks. */
const TASKS = ["failing_job", "protocol_error_job", "confirm_delete", "multi_input", "test_tool_with_task"];

/** Fills in a form: with the first choice, or a value of the type. */
export function filled({ mode, requestedSchema }) {
  if (mode === "url") return { action: "accept" };
  const value = ({ type, items, ...field }) => {
    if (type === "array") return [value({ type: "string", ...items })];
    const choice = (field.enum ?? field.oneOf ?? field.anyOf)?.[0];
    if (choice !== undefined) return choice.const ?? choice;
    return { boolean: true, integer: 1, number: 1 }[type] ?? "ada";
  };
  const fields = Object.entries(requestedSchema.properties);
  const content = Object.fromEntries(fields.map(([name, field]) => [name, value(field)]));
  return { action: "accept", content };
}

/** Calls every tool. The user answers every request. */
async function toolsCall(s) {
  s.answer = filled;
  const { tools } = await s.client.listTools();
  let called = 0;
  for (const { name, inputSchema } of tools) {
    if ([...APART, ...TASKS].includes(name)) continue;
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
  s.hasCancelled = true;
  ensure(!answered, "the call was answered");
  await s.call("echo", { message: "still there" });
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

export async function refused(expected, answer) {
  const got = await code(answer);
  ensure(expected.includes(got), `code ${got}, not ${expected.join(" or ")}`);
  return `code ${got}`;
}

/** Follows a list of the server with small pages. */
export async function pagination(sdk, ours) {
  const paged = await ours.connect("pages");
  const { items, count } = await pages((params) => sdk.page(paged.client, params), "tools");
  ensure(count > 3, `${count} pages`);
  same("names", new Set(items.map(({ name }) => name)).size, items.length);
  await refused([-32602], sdk.page(paged.client, { cursor: "no such cursor" }));
  await paged.close();
  return `${items.length} tools on ${count} pages`;
}

/** A client that does not read the body of an error response reports only the HTTP status. */
async function unknownMethod(sdk, s) {
  const [{ reason }] = await Promise.allSettled([sdk.unknown(s.client)]);
  if (reason?.data?.status !== 404) return refused([-32601], Promise.reject(reason));
  ensure(reason.message.includes('"code":-32601'), reason.message);
  s.seen.errors = s.seen.errors.filter((error) => error !== reason.message);
  throw new Absent(reason.message);
}

async function customMethod(sdk, s) {
  const { text } = await sdk.reverse(s.client, "abc");
  same("the text", text, "cba");
  return text;
}

/** Tests each feature and prints its row. */
export async function features(sdk, s) {
  await row("unknown-method", () => unknownMethod(sdk, s));
  await row("custom-method", () => customMethod(sdk, s));
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
  await row("resources-list", () => resourcesList(s));
  await row("resources-read", () => resources(s));
  await row("templates", () => templates(s));
  await row("prompts", () => prompts(s));
  await row("unknown-prompt", () => refused([-32602], s.client.getPrompt({ name: "nowhere" })));
  await row("completion", () => completion(s));
  await row("completion-context", () =>
    complete(s, PROMPT, "arg2", "x", ["paris-x"], { arguments: { arg1: "paris" } }));
}
