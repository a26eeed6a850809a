// Prints, for each URI of stdin (one JSON string a line), the paths that servers in JavaScript could read for it. With the argument `names`, prints
// what servers with URIs such as `notes://name` could read; with `paths`, what those with `notes:///name` could.

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

const nameReaders = [
  (uri) => new URL(uri).hostname + new URL(uri).pathname,
  (uri) => new URL(uri).hostname + decodeURIComponent(new URL(uri).pathname),
  (uri) => (ignoresHost || !new URL(uri).host ? decodeURIComponent(decodeURIComponent(new URL(uri).pathname)) : undefined),
  (uri) => new URL(uri).href.split("://")[1],
  (uri) => uri.slice(uri.indexOf(":") + 1),
  (uri) => decodeURIComponent(uri).replace(/^[^:]*:\/*/, ""),
  // Segments are decoded and trimmed one by one.
  (uri) => new URL(uri).hostname + posix.join("/", ...new URL(uri).pathname.split("/").map((part) => decodeURIComponent(part).trim())),
  // The text before the last `@` is the user.
  (uri) => ((parts) => parts && `${parts[1]}/${parts[2]}`)(/^\w+:\/\/(?:.*@)?([^/:?#]+)[^/]*\/?(.*)/.exec(decodeURIComponent(uri))),
];
const isNames = process.argv[2] !== undefined;
const ignoresHost = process.argv[2] === "paths";

for await (const line of createInterface({ input: process.stdin })) {
  const uri = JSON.parse(line);
  const paths = new Set();
  for (const reader of isNames ? nameReaders : readers) {
    try {
      const path = reader(uri);
      if (isNames && path != null) paths.add(path);
      else if (path?.startsWith("/")) paths.add(posix.normalize(path));
    } catch {
      // This server refuses the URI.
    }
  }
  console.log(JSON.stringify([...paths]));
}
