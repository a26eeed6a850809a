// Prints the URL at which a Node program listens, for programs that do not print it: `node --import ./announce.mjs PROGRAM`.

import { Server } from "node:net";

const { listen } = Server.prototype;
Server.prototype.listen = function (...words) {
  this.once("listening", () => console.error(`http://127.0.0.1:${this.address().port}`));
  return listen.apply(this, words);
};
