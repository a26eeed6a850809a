// Makes a Node program that listens say where: `node --import ./announce.mjs PROGRAM`. With port 0 it cannot know.

import { Server } from "node:net";

const { listen } = Server.prototype;
Server.prototype.listen = function (...words) {
  this.once("listening", () => console.error(`http://127.0.0.1:${this.address().port}`));
  return listen.apply(this, words);
};
