// Prints, for each URI of stdin (one JSON string a line), the paths that servers in JavaScript could read for it.

import { posix } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const ofFile = (url) => (url.protocol === "file:" ? url.pathname : null);

const readers = [
  (uri) => fileURLToPath(uri),
  (uri) => fileURLToPath(new URL(uri)),
  (uri) => decodeURIComponent(ofFile(new URL(uri))),
  (uri) => ofFile(new URL(decodeURIComponent(uri))),
  (uri) => decodeURIComponent(ofFile(new URL(decodeURIComponent(uri)))),
  // A name with an escape is another file for a server that does not decode it.
  (uri) => (uri.includes("%") ? null : uri.replace(/^file:\/\//i, "")),
  (uri) => decodeURIComponent(uri.replace(/^file:\/\//i, "")),
  (uri) => ofFile(new URL(uri.trim())),
];

for await (const line of createInterface({ input: process.stdin })) {
  const uri = JSON.parse(line);
  const paths = new Set();
  for (const reader of readers) {
    try {
      const path = reader(uri);
      if (path?.startsWith("/")) paths.add(posix.normalize(path));
    } catch {
      // This server refuses the URI.
    }
  }
  console.log(JSON.stringify([...paths]));
}
