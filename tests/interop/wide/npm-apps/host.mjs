// The page of a web host, with the import map for its modules.

export const page = (imports) => `<!doctype html>
<meta charset="utf-8">
<title>Host</title>
<style>
  body { margin: 0; background: white; }
  iframe { border: 0; display: block; width: 640px; height: 240px; }
</style>
<iframe sandbox="allow-scripts"></iframe>
<script type="importmap">${imports}</script>
<script type="module">
  // A web host: the TypeScript client, and the bridge of ext-apps between the page of a tool and the server.
  import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
  import {
    AppBridge,
    PostMessageTransport,
    getToolUiResourceUri,
    isToolVisibilityAppOnly,
  } from "@modelcontextprotocol/ext-apps/app-bridge";

  const info = { name: "interop-apps", version: "1.0.0" };
  const extensions = { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } };
  const client = new Client(info, { capabilities: { extensions } });
  await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", location.href)));

  const { tools } = await client.listTools();
  const tool = tools.find((tool) => tool.name === "time");
  const uri = getToolUiResourceUri(tool);
  const appOnly = tools.filter(isToolVisibilityAppOnly).map(({ name }) => name);
  const { contents } = await client.readResource({ uri });
  const frame = document.querySelector("iframe");
  const bridge = new AppBridge(client, info, { serverTools: {} });
  const initialized = new Promise((resolve) => (bridge.oninitialized = resolve));
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.srcdoc = contents[0].text;

  /** The driver evaluates these. */
  window.host = {
    uri,
    appOnly,
    mimeType: contents[0].mimeType,
    async show() {
      await initialized;
      const result = await client.callTool({ name: tool.name, arguments: {} });
      await bridge.sendToolInput({ arguments: {} });
      await bridge.sendToolResult(result);
      return bridge.getAppVersion().name;
    },
  };
</script>
`;
