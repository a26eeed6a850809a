// Requests of our everything server to a client: sampling, elicitation and roots.

import { code, ensure, row, same, text } from "./session.mjs";

async function sampling(s) {
  const before = s.samples;
  const said = text(await s.call("test_sampling", { prompt: "six times seven?" }));
  same("the answer", said, "LLM response: the model heard: six times seven?");
  same("questions", s.samples, before + 1);
  return said;
}

/** Calls a tool that sends an elicitation request, to which `answer` responds. Returns the text of the result. */
async function asked(s, tool, args, answer) {
  let asked = 0;
  s.answer = (params) => {
    asked += 1;
    return answer(params);
  };
  const said = text(await s.call(tool, args));
  same("questions", asked, 1);
  return said;
}

async function form(s) {
  const content = { username: "ada", email: "ada@example.com" };
  const said = await asked(s, "test_elicitation", { message: "who?" }, (params) => {
    same("the message", params.message, "who?");
    same("required", [...params.requestedSchema.required].sort(), ["email", "username"]);
    return { action: "accept", content };
  });
  ensure(said.includes("action=accept") && said.includes("ada@example.com"), said);
  const choices = {
    untitledSingle: "option2",
    titledSingle: "value2",
    legacyEnum: "opt2",
    untitledMulti: ["option1", "option3"],
    titledMulti: ["value1", "value3"],
  };
  const chosen = await asked(s, "test_elicitation_sep1330_enums", {}, (params) => {
    same("fields", Object.keys(params.requestedSchema.properties).length, 5);
    return { action: "accept", content: choices };
  });
  ensure(chosen.includes('"titledMulti":["value1","value3"]'), chosen);
  return said;
}

async function defaults(s) {
  const tool = "test_elicitation_sep1034_defaults";
  const said = await asked(s, tool, {}, () => ({ action: "accept", content: {} }));
  for (const value of ['"John Doe"', ":30", ":95.5", '"active"', ":true"]) {
    ensure(said.includes(value), `no ${value} in ${said}`);
  }
  return said;
}

async function refusals(s) {
  const said = [];
  for (const action of ["decline", "cancel"]) {
    said.push(await asked(s, "test_elicitation", { message: "who?" }, () => ({ action })));
    ensure(said.at(-1).includes(`action=${action}`), said.at(-1));
  }
  return said.join("; ");
}

/** The user accepts a URL, and declines the next one. In a session, a notification reports the completion. */
async function url(s, place) {
  let id;
  const said = await asked(s, "test_elicitation_url", {}, (params) => {
    same("the mode", params.mode, "url");
    id = params.elicitationId;
    return { action: "accept" };
  });
  same("the outcome", said, "accepted: true");
  if (place.stateless) same("the id", id, undefined);
  else await s.until("the end of the visit", ({ urlsDone }) => urlsDone.includes(id));
  const refused = await asked(s, "test_elicitation_url", {}, () => ({ action: "decline" }));
  same("the outcome", refused, "accepted: false");
  return `${said}, its completion was reported; ${refused}`;
}

/** Only the server with small pages has this tool. */
async function required(place) {
  const s = await place.connect("pages");
  const call = () => s.client.callTool({ name: "interop_url_required", arguments: {} });
  const [problem] = await Promise.allSettled([call()]);
  try {
    same("the code", await code(Promise.reject(problem.reason)), -32042);
    same("the URL", problem.reason.elicitations[0].url, "https://example.com/first");
    same("after the visit", text(await call()), "visited");
  } finally {
    // An open stream would keep this program running.
    await s.close();
  }
  return "code -32042, then answered";
}

async function roots(s) {
  const said = text(await s.call("test_list_roots", {}));
  same("the roots", said, `roots: ${s.roots.map(({ uri }) => uri).join(", ")}`);
  return said;
}

/** In a session, the client has to send a notification. At the stateless revision, the server requests the roots each time. */
async function rootsChanged(s, place) {
  s.roots = [{ uri: "file:///elsewhere" }, { uri: "file:///more" }];
  if (!place.stateless) await s.client.sendRootsListChanged();
  return roots(s);
}

/** Tests each kind of request and prints its row. */
export async function questions(s, place) {
  await row("sampling", () => sampling(s));
  await row("elicitation", () => form(s));
  await row("elicitation-defaults", () => defaults(s));
  await row("elicitation-refused", () => refusals(s));
  await row("elicitation-url", () => url(s, place));
  if (!place.stateless) await row("url-required", () => required(place));
  await row("roots", () => roots(s));
  await row("roots-changed", () => rootsChanged(s, place));
}
