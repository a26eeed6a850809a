// The differences between the two TypeScript SDKs, for `@modelcontextprotocol/client`.

import {
  Client,
  StreamableHTTPClientTransport,
  specTypeSchemas,
} from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { z } from "zod";

/** A client with long timeouts. */
class PatientClient extends Client {
  constructor(info, options, limit) {
    super(info, options);
    this.limit = limit;
  }

  request(request, ...rest) {
    const [first, second] = rest;
    const options = { timeout: this.limit };
    if (first && "~standard" in first) {
      return super.request(request, first, { ...options, ...second });
    }
    return super.request(request, { ...options, ...first });
  }
}

/** Whether the client asks for a newer revision before it shakes hands. */
export const probes = true;

/** The code of an error about a resource that is not there; this SDK converts it to that of the newest revision. */
export const noResource = -32602;

export function client(info, capabilities, revision, limit) {
  const pinned = revision >= "2026-07-28" ? { pin: revision } : "auto";
  const version =
    revision && pinned === "auto"
      ? { supportedProtocolVersions: [revision] }
      : { versionNegotiation: { mode: pinned } };
  return new PatientClient(info, { capabilities, ...version }, limit);
}

export function stdio(command, args) {
  return new StdioClientTransport({ command, args });
}

export function http(url, options) {
  return new StreamableHTTPClientTransport(url, options);
}

export function hear(client, method, handler) {
  client.setNotificationHandler(method, handler);
}

export function answer(client, method, handler) {
  client.setRequestHandler(method, handler);
}

export function call(client, params, options) {
  return client.callTool(params, options);
}

/** One page of tools, as the server gives it. */
export function page(client, params) {
  return client.request({ method: "tools/list", params });
}

/** A request that no revision knows. */
export function unknown(client) {
  return client.request({ method: "no/such" }, specTypeSchemas.EmptyResult);
}

/** A method that our server adds to the protocol. */
export function reverse(client, text) {
  const request = { method: "com.example/reverse", params: { text } };
  return client.request(request, z.object({ text: z.string() }));
}
