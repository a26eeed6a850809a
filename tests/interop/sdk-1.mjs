// The differences between the two TypeScript SDKs, for `@modelcontextprotocol/sdk`.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitationCompleteNotificationSchema,
  ElicitRequestSchema,
  EmptyResultSchema,
  ListRootsRequestSchema,
  ListToolsResultSchema,
  LoggingMessageNotificationSchema,
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";

const METHODS = [
  CreateMessageRequestSchema,
  ElicitationCompleteNotificationSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
];

function schema(method) {
  return METHODS.find((one) => one.shape.method.value === method);
}

/** A client that offers one revision, with long timeouts. */
class PinnedClient extends Client {
  constructor(info, options, revision, limit) {
    super(info, options);
    this.revision = revision;
    this.limit = limit;
  }

  request(request, result, options) {
    if (request.method === "initialize" && this.revision) {
      const params = { ...request.params, protocolVersion: this.revision };
      return super.request({ ...request, params }, result, options);
    }
    return super.request(request, result, { timeout: this.limit, ...options });
  }
}

/** Whether the client asks for a newer revision before it shakes hands. */
export const probes = false;

/** The code of an error about a resource that is not there. */
export const noResource = -32002;

export function client(info, capabilities, revision, limit) {
  return new PinnedClient(info, { capabilities }, revision, limit);
}

export function stdio(command, args) {
  return new StdioClientTransport({ command, args });
}

export function http(url, options) {
  return new StreamableHTTPClientTransport(url, options);
}

export function sse(url, options) {
  return new SSEClientTransport(url, options);
}

export function hear(client, method, handler) {
  client.setNotificationHandler(schema(method), handler);
}

export function answer(client, method, handler) {
  client.setRequestHandler(schema(method), handler);
}

export function call(client, params, options) {
  return client.callTool(params, undefined, options);
}

/** One page of tools, as the server gives it. */
export function page(client, params) {
  return client.request({ method: "tools/list", params }, ListToolsResultSchema);
}

/** A request that no revision knows. */
export function unknown(client) {
  return client.request({ method: "no/such" }, EmptyResultSchema);
}

/** A method that our server adds to the protocol. */
export function reverse(client, text) {
  const request = { method: "com.example/reverse", params: { text } };
  return client.request(request, z.object({ text: z.string() }));
}
