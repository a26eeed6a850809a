// A server made with the TypeScript SDK that serves the skills of a folder over stdio: `node skills-server.mjs FOLDER`.

import { McpServer } from "@modelcontextprotocol/server";
import { loadSkills } from "@modelcontextprotocol/server/ext/skills/node";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const [folder] = process.argv.slice(2);
const skills = await loadSkills(folder);
serveStdio(() => {
  const server = new McpServer({ name: "skills-typescript", version: "1.0.0" });
  skills.attach(server);
  return server;
});
