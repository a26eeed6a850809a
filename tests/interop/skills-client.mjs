// The TypeScript SDK's client reads the skills of our everything server, for `cargo xtask interop`:
// `node skills-client.mjs FOLDER INTEROP-CLIENT EVERYTHING-SERVER`. Prints one JSON line per feature.

import { SkillsClient } from "@modelcontextprotocol/client/ext/skills";

import { refused } from "./features.mjs";
import { place } from "./place.mjs";
import { ensure, row, same } from "./session.mjs";

const REVIEW = "skill://code/review/SKILL.md";
const CHECKLIST = "references/checklist.md";

const sdk = await import("./sdk-2.mjs");
const session = await place(sdk, ["stateless", "stdio", ...process.argv.slice(2)]).connect("everything", "2026-07-28");
const skills = new SkillsClient(session.client);
const review = async () => (await skills.get(REVIEW)).skill;

/** Fails unless the client rejects the file for this reason. */
async function rejected(reason, read) {
  const error = await read.then(() => undefined, (error) => error);
  same("the reason", error?.reason, reason);
  return error.message;
}

await row("skills-list", async () => {
  const { skills: entries, invalid } = await skills.list();
  same("the skills", entries.map(({ uri }) => uri).sort(), [REVIEW, "skill://greet/SKILL.md"]);
  same("invalid entries", invalid, []);
  return `${entries.length} skills`;
});
await row("skills-get", async () => {
  const { frontmatter, resources } = await review();
  same("the metadata", frontmatter.metadata, { "com.example/version": "1" });
  same("the number of files", resources.length, 2);
  return frontmatter.description;
});
await row("skills-read", async () => {
  const skill = await review();
  const instructions = await skills.read(skill);
  const checklist = await skills.read(skill, CHECKLIST);
  ensure(instructions.verified && checklist.verified, "a file was not verified");
  return checklist.text.trim();
});
await row("skills-changed", async () => {
  const skill = await review();
  const resources = skill.resources.map((file) => ({ ...file, digest: `sha256:${"0".repeat(64)}` }));
  return rejected("digest", skills.read({ ...skill, resources }, CHECKLIST));
});
await row("skills-unlisted", async () => rejected("unlisted", skills.read(await review(), "notes.md")));
await row("skills-unknown", () => refused([-32602], skills.get("skill://no-such-skill/SKILL.md")));
await row("skills-directory", async () => {
  const { resources } = await skills.readDirectory("skill://code/review/references");
  same("the children", resources.map(({ uri }) => uri), ["skill://code/review/references/checklist.md"]);
  return resources[0].name;
});
await row("shutdown", () => session.close());
