//! Files as each host writes them: with its keys, its comments and its units.

/// A file, its servers, and the JSON pointers to the keys that are not used.
pub(super) struct File {
    pub(super) path: &'static str,
    pub(super) text: &'static str,
    pub(super) servers: &'static [&'static str],
    pub(super) unused: &'static [&'static str],
}

const fn file(
    path: &'static str,
    text: &'static str,
    servers: &'static [&'static str],
    unused: &'static [&'static str],
) -> File {
    File {
        path,
        text,
        servers,
        unused,
    }
}

pub(super) const FILES: &[File] = &[
    file(
        "mcp.json",
        r#"{"mcpServers": {"git": {"command": "uvx", "args": ["mcp-server-git", "-r", "."], "env": {"TOKEN": "${env:GIT_TOKEN}"}}}}"#,
        &["git: uvx mcp-server-git -r . [TOKEN=${env:GIT_TOKEN}]"],
        &[],
    ),
    file(
        "tools/mcp.json",
        "{\n  // The wiki of the team\n  \"mcpServers\": { \"wiki\": { \"type\": \"http\", \"url\": \"https://wiki.example/mcp\", \"timeout\": 90000 } }\n}",
        &["wiki: https://wiki.example/mcp call=90s"],
        &[],
    ),
    // Claude Code
    file(
        ".mcp.json",
        r#"{"mcpServers": {
            "api": {"type": "http", "url": "${API_URL:-https://api.example/mcp}", "headers": {"X-Team": "web"}, "headersHelper": "get-headers --json"},
            "db": {"type": "stdio", "command": "npx", "args": ["-y", "db-mcp"], "env": {}, "alwaysLoad": true}}}"#,
        &[
            "api: ${API_URL:-https://api.example/mcp} [X-Team=web] helper=get-headers --json",
            "db: npx -y db-mcp",
        ],
        &["/mcpServers/db/alwaysLoad"],
    ),
    file(
        ".claude.json",
        r#"{"numStartups": 7, "mcpServers": {"all": {"type": "sse", "url": "https://all.example/sse"}},
            "projects": {"HERE": {"allowedTools": [], "mcpServers": {"here": {"type": "stdio", "command": "here", "args": []}}},
                "/elsewhere": {"mcpServers": {"other": {"command": "other"}}}}}"#,
        &["all: https://all.example/sse", "here: here"],
        &[],
    ),
    // Claude Desktop
    file(
        "Claude/claude_desktop_config.json",
        r#"{"globalShortcut": "", "mcpServers": {"files": {"command": "npx", "args": ["-y", "@scope/files", "/home/ada/Desktop"]}}}"#,
        &["files: npx -y @scope/files /home/ada/Desktop"],
        &[],
    ),
    file(
        "claude_desktop_config.json",
        r#"{"mcpServers": {"py": {"command": "C:\\Python\\python.exe", "args": ["-m", "server"], "env": {"PYTHONUTF8": "1"}}}}"#,
        &[r"py: C:\Python\python.exe -m server [PYTHONUTF8=1]"],
        &[],
    ),
    // VS Code
    file(
        ".vscode/mcp.json",
        r#"{
            // Asked once
            "inputs": [{"type": "promptString", "id": "key", "description": "API key", "password": true},],
            "servers": {
                "search": {"type": "stdio", "command": "npx", "args": ["search"], "env": {"KEY": "${input:key}", "OLD": null}, "envFile": "${workspaceFolder}/.env"},
                "docs": {"type": "http", "url": "https://docs.example/mcp", /* tried */ "headers": {"Authorization": "Bearer ${input:key}"}},
            },
        }"#,
        &[
            "docs: https://docs.example/mcp [Authorization=Bearer ${input:key}]",
            "search: npx search [KEY=${input:key}] file=${workspaceFolder}/.env",
        ],
        &[],
    ),
    file(
        "Code/User/mcp.json",
        "{\n\t\"servers\": {\n\t\t\"play\": {\n\t\t\t\"command\": \"npx\",\n\t\t\t\"args\": [ \"play\" ],\n\t\t\t\"type\": \"stdio\",\n\t\t\t\"gallery\": true,\n\t\t\t\"dev\": { \"watch\": \"src\" }\n\t\t}\n\t},\n\t\"inputs\": []\n}",
        &["play: npx play"],
        &["/servers/play/gallery", "/servers/play/dev"],
    ),
    file(
        "settings.json",
        "{ \"editor.tabSize\": 4, \"mcp\": { \"inputs\": [], \"servers\": { \"old\": { \"command\": \"old\" } } }, }",
        &["old: old"],
        &[],
    ),
    // Cursor
    file(
        ".cursor/mcp.json",
        r#"{"mcpServers": {"web": {"command": "node", "args": ["${workspaceFolder}/web.js"], "env": {"A": 1, "B": true}, "envFile": ".env"}}}"#,
        &["web: node ${workspaceFolder}/web.js [A=1,B=true] file=.env"],
        &[],
    ),
    file(
        "home/.cursor/mcp.json",
        r#"{"mcpServers": {"remote": {"url": "https://r.example/mcp", "headers": {"Authorization": "Bearer ${env:R}"}, "auth": {"CLIENT_ID": "x"}}}}"#,
        &["remote: https://r.example/mcp [Authorization=Bearer ${env:R}]"],
        &["/mcpServers/remote/auth"],
    ),
    // Gemini CLI
    file(
        ".gemini/settings.json",
        r#"{"mcp": {"allowed": ["a"]}, "mcpServers": {
            "a": {"httpUrl": "https://a.example/mcp", "headers": {"X": "$A_KEY"}, "timeout": 5000, "trust": true},
            "b": {"command": "b", "cwd": "./b", "includeTools": ["read"], "excludeTools": ["write"]}}}"#,
        &[
            "a: https://a.example/mcp [X=${A_KEY}] call=5s",
            "b: b cwd=./b +read -write",
        ],
        &["/mcpServers/a/trust"],
    ),
    file(
        "home/.gemini/settings.json",
        "{\n  \"ui\": {}, // colours\n  \"mcpServers\": { \"c\": { \"url\": \"https://c.example/sse\" } }\n}",
        &["c: https://c.example/sse"],
        &[],
    ),
    // Codex
    file(
        ".codex/config.toml",
        "# Codex\nmodel = \"m\"\n\n[mcp_servers.docs]\ncommand = \"npx\"\nargs = [\"docs\"]\nstartup_timeout_sec = 20\ntool_timeout_sec = 45.5\nenabled_tools = [\"search\"]\n\
         required = true\n[mcp_servers.docs.env]\nMODE = \"${x}\"\n",
        &["docs: npx docs [MODE=${$}{x}] call=45.5s start=20s +search"],
        &["/mcp_servers/docs/required"],
    ),
    file(
        "codex/config.toml",
        "[mcp_servers.\"figma dev\"]\nurl = \"https://figma.example/mcp\" # remote\nbearer_token_env_var = \"FIGMA\"\nhttp_headers = { \"X-Region\" = \"eu\" }\nenabled = false\n",
        &[
            "figma dev: https://figma.example/mcp [X-Region=eu,authorization=Bearer ${env:FIGMA}] off",
        ],
        &[],
    ),
    // Zed
    file(
        ".zed/settings.json",
        "// Zed settings\n{\n  \"theme\": \"One\",\n  \"context_servers\": {\n    \"pg\": { \"source\": \"custom\", \"enabled\": true, \"command\": \"pg-mcp\", \"args\": [\"--ro\"], \"env\": {} },\n    \
         \"ext\": { \"source\": \"extension\", \"settings\": { \"key\": \"x\" } },\n  },\n}",
        &["pg: pg-mcp --ro"],
        &[],
    ),
    file(
        "zed/settings.json",
        r#"{"context_servers": {"old": {"command": {"path": "old-mcp", "args": ["-v"], "env": {"K": "v"}}}, "web": {"url": "https://z.example/mcp", "headers": {}}}}"#,
        &["old: old-mcp -v [K=v]", "web: https://z.example/mcp"],
        &[],
    ),
    // opencode
    file(
        "opencode.json",
        r#"{"$schema": "https://opencode.example/config.json", "mcp": {
            "local": {"type": "local", "command": ["bun", "x", "tool"], "environment": {"KEY": "{env:TOOL_KEY}"}, "enabled": true},
            "far": {"type": "remote", "url": "https://far.example/mcp", "headers": {"Authorization": "Bearer {file:~/.key}"}, "oauth": false, "timeout": 8000}}}"#,
        &[
            "far: https://far.example/mcp [Authorization=Bearer ${file:~/.key}] call=8s",
            "local: bun x tool [KEY=${env:TOOL_KEY}]",
        ],
        &["/mcp/far/oauth"],
    ),
    file(
        "opencode/opencode.jsonc",
        "{\n  // disabled\n  \"mcp\": { \"x\": { \"type\": \"local\", \"command\": [\"x\"], \"enabled\": false }, },\n}",
        &["x: x off"],
        &[],
    ),
    // Crush
    file(
        ".crush.json",
        r#"{"$schema": "x", "mcp": {"fs": {"type": "stdio", "command": "node", "args": ["fs.js"], "timeout": 120, "disabled": false, "disabled_tools": ["rm"], "env": {"T": "$FS_TOKEN"}}}}"#,
        &["fs: node fs.js [T=${FS_TOKEN}] call=120s -rm"],
        &[],
    ),
    file(
        "crush/crush.json",
        r#"{"lsp": {}, "mcp": {"gh": {"type": "http", "url": "https://gh.example/mcp/", "timeout": 2000, "headers": {"Authorization": "Bearer $GH"}}}}"#,
        &["gh: https://gh.example/mcp/ [Authorization=Bearer ${GH}] call=2000s"],
        &[],
    ),
    // Kiro
    file(
        ".kiro/settings/mcp.json",
        r#"{"mcpServers": {"aws": {"command": "uvx", "args": ["aws@latest"], "env": {"L": "ERROR"}, "disabled": true, "autoApprove": ["read"], "disabledTools": ["drop"]}}}"#,
        &["aws: uvx aws@latest [L=ERROR] off -drop"],
        &["/mcpServers/aws/autoApprove"],
    ),
    file(
        "home/.kiro/settings/mcp.json",
        r#"{"mcpServers": {"web": {"url": "https://k.example/mcp", "headers": {"K": "${K}"}, "timeout": 60000}}, "powers": {}}"#,
        &["web: https://k.example/mcp [K=${K}] call=60s"],
        &[],
    ),
    // Windsurf
    file(
        ".codeium/windsurf/mcp_config.json",
        r#"{"mcpServers": {"r": {"serverUrl": "https://w.example/mcp", "headers": {"K": "${env:K}"}, "disabledTools": ["x", "y"]}}}"#,
        &["r: https://w.example/mcp [K=${env:K}] -x -y"],
        &[],
    ),
    file(
        "mcp_config.json",
        r#"{"mcpServers": {"l": {"command": "npx", "args": ["l"], "disabled": true}}}"#,
        &["l: npx l off"],
        &[],
    ),
    // Copilot CLI
    file(
        ".copilot/mcp-config.json",
        r#"{"mcpServers": {"all": {"type": "local", "command": "a", "args": [], "tools": ["*"]}, "some": {"type": "stdio", "command": "s", "tools": ["one", "two"]}}}"#,
        &["all: a", "some: s +one +two"],
        &[],
    ),
    file(
        "mcp-config.json",
        r#"{"mcpServers": {"none": {"type": "http", "url": "https://n.example/mcp", "headers": {}, "tools": []}}}"#,
        &["none: https://n.example/mcp off"],
        &[],
    ),
    // LM Studio
    file(
        ".lmstudio/mcp.json",
        "{\n  \"mcpServers\": {\n    \"hf\": {\n      \"url\": \"https://hf.example/mcp\",\n      \"headers\": { \"Authorization\": \"Bearer <token>\" }\n    }\n  }\n}",
        &["hf: https://hf.example/mcp [Authorization=Bearer <token>]"],
        &[],
    ),
    file(
        ".cache/lm-studio/mcp.json",
        r#"{"mcpServers": {"js": {"command": "node", "args": ["/opt/js/index.js"], "timeout": 300000}}}"#,
        &["js: node /opt/js/index.js call=300s"],
        &[],
    ),
    // Cline
    file(
        "saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        r#"{"mcpServers": {"slow": {"autoApprove": [], "disabled": false, "timeout": 3600, "type": "stdio", "command": "slow", "args": []}}}"#,
        &["slow: slow call=3600s"],
        &["/mcpServers/slow/autoApprove"],
    ),
    file(
        "copy/cline_mcp_settings.json",
        r#"{"mcpServers": {"web": {"type": "streamableHttp", "url": "https://c.example/mcp", "timeout": 60, "disabled": true}}}"#,
        &["web: https://c.example/mcp off call=60s"],
        &[],
    ),
    // Amp
    file(
        "amp/settings.json",
        r#"{"amp.theme": "x", "amp.mcpServers": {"s": {"command": "npx", "args": ["s"], "includeTools": ["a"]}}}"#,
        &["s: npx s +a"],
        &[],
    ),
    file(
        "workspace/settings.json",
        "{ // VS Code with Amp\n  \"amp.mcpServers\": { \"r\": { \"url\": \"https://amp.example/mcp\" } },\n}",
        &["r: https://amp.example/mcp"],
        &[],
    ),
    // Visual Studio
    file(
        "solution/.mcp.json",
        r#"{"inputs": [], "servers": {"github": {"type": "http", "url": "https://g.example/mcp"}}}"#,
        &["github: https://g.example/mcp"],
        &[],
    ),
    file(
        "solution/.vs/mcp.json",
        r#"{"servers": {"local": {"type": "stdio", "command": "dnx", "args": ["tool", "--yes"]}}}"#,
        &["local: dnx tool --yes"],
        &[],
    ),
];

pub(super) const YAML_FILES: &[File] = &[
    // Goose
    file(
        "goose/config.yaml",
        "GOOSE_MODEL: m # the model\nextensions:\n  developer:\n    bundled: true\n    enabled: true\n    name: developer\n    timeout: 300\n    type: builtin\n  github:\n    \
         args:\n    - -y\n    - github-mcp\n    bundled: null\n    cmd: npx\n    description: GitHub\n    enabled: true\n    env_keys: []\n    envs: {MODE: fast}\n    \
         name: GitHub\n    timeout: 300\n    type: stdio\n    available_tools: []\n",
        &["github: npx -y github-mcp [MODE=fast] call=300s"],
        &[],
    ),
    file(
        "config.yaml",
        "extensions:\n  wiki:\n    enabled: false\n    envs: {}\n    headers:\n      X-Team: \"web\"\n    name: wiki\n    timeout: 30\n    type: streamable_http\n    uri: https://wiki.example/mcp\n    \
         socket: null\n",
        &["wiki: https://wiki.example/mcp [X-Team=web] off call=30s"],
        &[],
    ),
    // Continue
    file(
        ".continue/config.yaml",
        "name: My assistant\nversion: 1.0.0\nschema: v1\nmcpServers:\n  - name: SQLite\n    command: uvx\n    args: [mcp-sqlite, --db, /tmp/a.db]\n    cwd: /tmp\n    env:\n      \
         KEY: ${{ secrets.SQL_KEY }}\n  - name: Web # remote\n    type: streamable-http\n    url: https://web.example/mcp\n    connectionTimeout: 20000\n    requestOptions:\n      \
         timeout: 5\n      headers:\n        Authorization: Bearer ${{ inputs.web }}\n",
        &[
            "SQLite: uvx mcp-sqlite --db /tmp/a.db [KEY=${SQL_KEY}] cwd=/tmp",
            "Web: https://web.example/mcp [Authorization=Bearer ${input:web}] start=20s",
        ],
        &["/mcpServers/1/requestOptions"],
    ),
    file(
        "blocks/server.yml",
        "mcpServers:\n- {name: a/b, command: \"npx\", args: [\"-y\", \"x\"]}\n",
        &["a/b: npx -y x"],
        &[],
    ),
    // LibreChat
    file(
        "librechat.yaml",
        "version: 1.2.8\nendpoints: &none {}\nmcpServers:\n  everything:\n    url: http://localhost:3001/sse\n    timeout: 60000\n    chatMenu: false\n  fs:\n    type: stdio\n    command: npx\n    \
         args:\n      - -y\n      - fs\n    initTimeout: 15000\n    iconPath: /icon.svg\nlater: *none\n",
        &[
            "everything: http://localhost:3001/sse call=60s",
            "fs: npx -y fs start=15s",
        ],
        &["/mcpServers/everything/chatMenu", "/mcpServers/fs/iconPath"],
    ),
    file(
        "chat/librechat.yaml",
        "mcpServers:\n  per-user:\n    type: streamable-http\n    url: https://u.example/mcp\n    headers: {X-User: \"${USER_ID}\"}\n",
        &["per-user: https://u.example/mcp [X-User=${USER_ID}]"],
        &[],
    ),
];
