// Tests the client of TypeScript SDK 2 with our everything server at 2026-07-28, which has no sessions.

import { WATCHED, features, filled, pagination, refused } from "./features.mjs";
import { questions } from "./questions.mjs";
import { ensure, row, same, text } from "./session.mjs";

const REVISION = "2026-07-28";
const LEVEL = "io.modelcontextprotocol/logLevel";

async function auto(s) {
  same("the protocol era", s.client.getProtocolEra(), "modern");
  same("the revision", s.client.getNegotiatedProtocolVersion(), REVISION);
  return `${REVISION}, as the server answers`;
}

async function discover({ client }) {
  same("the name", client.getServerVersion().name, "everything");
  ensure(client.getInstructions().includes("fixture"), "no instructions");
  const declared = Object.keys(client.getServerCapabilities());
  for (const feature of ["tools", "prompts", "resources", "completions"]) {
    ensure(declared.includes(feature), `${feature} are not declared`);
  }
  return `everything, with ${declared.join(", ")}`;
}

/** Each request names the lowest level of its log messages. */
async function logging(s) {
  const messages = async (_meta, expected) => {
    const before = s.seen.logs.length;
    const params = { name: "test_tool_with_logging", arguments: {}, ...(_meta && { _meta }) };
    await s.client.callTool(params);
    await s.until("log messages", ({ logs }) => logs.length >= before + expected);
    await s.call("echo", { message: "after" });
    same("messages", s.seen.logs.length, before + expected);
    return s.seen.logs.slice(before);
  };
  await messages(undefined, 0);
  const seen = await messages({ [LEVEL]: "debug" }, 3);
  same("levels", seen.map(({ level }) => level), ["info", "info", "info"]);
  await messages({ [LEVEL]: "error" }, 0);
  return seen.map(({ data }) => data).join(", ");
}

async function subscribe(s) {
  const heard = await s.client.listen({ resourceSubscriptions: [WATCHED] });
  same("what is told", heard.honoredFilter.resourceSubscriptions, [WATCHED]);
  await s.call("test_trigger_resource_change", {});
  await s.until("an update", ({ updated }) => updated.includes(WATCHED));
  await heard.close();
  same("who ended it", await heard.closed, "local");
  return `${WATCHED} updated`;
}

async function listChanged(s) {
  const lists = ["tool", "prompt", "resource"];
  const heard = await s.client.listen(
    Object.fromEntries(lists.map((list) => [`${list}sListChanged`, true])),
  );
  for (const list of lists) {
    await s.call(`test_trigger_${list}_change`, {});
    await s.until(`a change of ${list}s`, ({ changed }) => changed.includes(`${list}s`));
  }
  await heard.close();
  return "tools, prompts, resources";
}

async function together(s) {
  const name = "test_input_required_result_multiple_inputs";
  const round = await s.client.callTool({ name, arguments: {} }, { allowInputRequired: true });
  same("questions in one round", Object.keys(round.inputRequests ?? {}).length, 3);
  s.answer = filled;
  const said = text(await s.call(name, {}));
  same("the outcome", said, `the model heard: Say hello, ada: ${s.roots.length} roots`);
  return said;
}

async function again(s) {
  const asked = [];
  s.answer = (params) => {
    asked.push(params.message);
    return filled(params);
  };
  const said = text(await s.call("test_input_required_result_multi_round", {}));
  same("the questions", asked, ["What is your name?", "ada, which color?"]);
  same("the outcome", said, "ada likes ada");
  return said;
}

async function promptAsks(s) {
  s.answer = filled;
  const { messages } = await s.client.getPrompt({ name: "test_input_required_result_prompt" });
  same("the prompt", messages[0].content.text, "Talk about ada.");
  return "asked once, then written";
}

/** A client without capabilities, to which the server can send no requests. */
async function incapable(ours) {
  const s = await ours.connect("everything", undefined, {});
  const missing = await refused([-32021], s.client.callTool({ name: "test_missing_capability" }));
  await s.close();
  return missing;
}

/** Our server rejects a call whose headers differ from its arguments. */
async function headers(s) {
  await s.client.listTools();
  for (const [value, header] of [
    ["plain", "plain"],
    ["grüß dich", "=?base64?Z3LDvMOfIGRpY2g=?="],
  ]) {
    same("the answer", text(await s.call("test_custom_header", { value })), value);
    same("the header", s.http.mirrored, header);
  }
  return "in plain words, and in base64";
}

async function pinned(ours) {
  const s = await ours.connect("everything", REVISION);
  same("the revision", s.client.getNegotiatedProtocolVersion(), REVISION);
  same("the sum", text(await s.call("add", { a: 2, b: 3 })), "5");
  await s.close();
  return "called add";
}

/** Tests each feature and prints its row. */
export async function conversation(sdk, ours) {
  const s = await ours.connect("everything");
  await row("auto", () => auto(s));
  await row("discover", () => discover(s));
  await row("logging", () => logging(s));
  await row("unknown-resource", () =>
    refused([-32602], s.client.readResource({ uri: "test://nowhere" })));
  await row("subscribe", () => subscribe(s));
  await row("list-changed", () => listChanged(s));
  await row("together", () => together(s));
  await row("again", () => again(s));
  await row("prompt-asks", () => promptAsks(s));
  await features(sdk, s);
  await questions(s, ours);
  if (s.http) await row("headers", () => headers(s));
  await row(ours.ending, () => s.close());
  await row("incapable", () => incapable(ours));
  await row("pagination", () => pagination(sdk, ours));
  await row(`revision-${REVISION}`, () => pinned(ours));
}
