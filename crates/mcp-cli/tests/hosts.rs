//! Configuration files of hosts, as a user gives them to the program.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// An empty folder.
fn folder(name: &str) -> PathBuf {
    let process = std::process::id();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("hosts-{name}-{process}"));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The example `calc`, which cargo builds beside the tests, as JSON text.
fn calc() -> String {
    let test = std::env::current_exe().unwrap();
    let built = test.parent().unwrap().parent().unwrap();
    let calc = built.join("examples").join("calc");
    let calc = calc.with_extension(std::env::consts::EXE_EXTENSION);
    Value::from(calc.to_str().unwrap()).to_string()
}

fn list(folder: &PathBuf, file: &str, text: &str, env: &[(&str, &str)]) -> (Output, String) {
    let path = folder.join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_mcp"))
        .args(["list", "calc", "--config", file])
        .current_dir(folder)
        .env("MCP_TOKENS", folder.join("tokens.json"))
        .envs(env.iter().copied())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    (output, said)
}

/// `CALC` is the program, in quotes.
const FILES: &[(&str, &str)] = &[
    (
        ".mcp.json",
        r#"{"mcpServers": {"calc": {"type": "stdio", "command": CALC, "args": []}}}"#,
    ),
    (
        ".claude.json",
        r#"{"projects": {HERE: {"mcpServers": {"calc": {"type": "stdio", "command": CALC}}}}}"#,
    ),
    (
        "claude_desktop_config.json",
        r#"{"mcpServers": {"calc": {"command": CALC}}}"#,
    ),
    (
        ".vscode/mcp.json",
        "{ // comment\r\n\"servers\": { \"calc\": { \"command\": CALC, }, },\r\n}",
    ),
    (
        ".cursor/mcp.json",
        r#"{"mcpServers": {"calc": {"command": CALC, "env": {"A": "${A:-1}"}}}}"#,
    ),
    (
        ".gemini/settings.json",
        r#"{"mcp": {"allowed": []}, "mcpServers": {"calc": {"command": CALC, "timeout": 30000}}}"#,
    ),
    (
        ".codex/config.toml",
        "# comment\n[mcp_servers.calc]\ncommand = CALC\ntool_timeout_sec = 30\n",
    ),
    (
        ".zed/settings.json",
        "// comment\n{\"context_servers\": {\"calc\": {\"source\": \"custom\", \"command\": {\"path\": CALC, \"args\": []}}}}",
    ),
    (
        "opencode.json",
        r#"{"mcp": {"calc": {"type": "local", "command": [CALC], "enabled": true}}}"#,
    ),
    (
        ".crush.json",
        r#"{"mcp": {"calc": {"type": "stdio", "command": CALC, "timeout": 30}}}"#,
    ),
    (
        ".kiro/settings/mcp.json",
        r#"{"mcpServers": {"calc": {"command": CALC, "disabled": true}}}"#,
    ),
    (
        "mcp_config.json",
        r#"{"mcpServers": {"calc": {"command": CALC, "disabledTools": []}}}"#,
    ),
    (
        "mcp-config.json",
        r#"{"mcpServers": {"calc": {"type": "local", "command": CALC, "tools": ["*"]}}}"#,
    ),
    (
        ".lmstudio/mcp.json",
        "\u{feff}{\"mcpServers\": {\"calc\": {\"command\": CALC}}}",
    ),
    (
        "cline_mcp_settings.json",
        r#"{"mcpServers": {"calc": {"command": CALC, "timeout": 1800, "disabled": false}}}"#,
    ),
    (
        "amp/settings.json",
        r#"{"amp.mcpServers": {"calc": {"command": CALC}}}"#,
    ),
    (
        "goose/config.yaml",
        "# comment\nextensions:\n  calc: {type: stdio, cmd: CALC, args: [], envs: {}, timeout: 30, enabled: true}\n",
    ),
    (
        "continue/config.yaml",
        "mcpServers:\r\n- name: calc\r\n  command: CALC\r\n",
    ),
    (
        "librechat.yaml",
        "mcpServers:\n  calc:\n    type: stdio\n    command: CALC\n    initTimeout: 20000\n",
    ),
];

#[test]
fn a_server_from_the_file_of_each_host_is_listed() {
    let folder = folder("each");
    let here = Value::from(folder.canonicalize().unwrap().to_str().unwrap()).to_string();
    for (file, text) in FILES {
        let text = text.replace("CALC", &calc()).replace("HERE", &here);
        let (output, said) = list(&folder, file, &text, &[]);
        assert!(output.status.success(), "{file}: {said}");
        assert!(
            String::from_utf8_lossy(&output.stdout).contains("add"),
            "{file}"
        );
        assert!(
            !said.contains("note: ") || said.contains("is disabled"),
            "{file}: {said}"
        );
    }
}

#[test]
fn an_input_without_a_terminal_is_read_from_its_variable() {
    let folder = folder("input");
    let text = r#"{"inputs": [{"id": "calc-file", "description": "File of calc"}], "servers": {"calc": {"command": "${input:calc-file}"}}}"#;
    let (output, said) = list(&folder, "mcp.json", text, &[]);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for part in [
        "server \"calc\"",
        "input \"calc-file\"",
        "MCP_INPUT_CALC_FILE",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let calc: String = serde_json::from_str(&calc()).unwrap();
    let (output, said) = list(&folder, "mcp.json", text, &[("MCP_INPUT_CALC_FILE", &calc)]);
    assert!(output.status.success(), "{said}");
}

#[cfg(unix)]
#[test]
fn a_command_for_headers_is_shown_and_its_output_is_not() {
    let folder = folder("helper");
    let server = |url: &str, command: &str| {
        let server = serde_json::json!({ "url": url, "headersHelper": command });
        serde_json::json!({ "mcpServers": { "calc": server } }).to_string()
    };
    for (url, command, code, part) in [
        (
            "http://127.0.0.1:9/mcp",
            "printf '{\"X-Key\": \"s3cr%s\"}' et",
            2,
            "127.0.0.1:9",
        ),
        (
            "http://127.0.0.1:9/mcp",
            "printf 's3cr%s' et",
            2,
            "server \"calc\": \"headersHelper\"",
        ),
        (
            "http://127.0.0.1:9/mcp",
            "echo ran > ran; printf '{\"Mcp-Session-Id\": \"s3cr%s\"}' et",
            2,
            "the header mcp-session-id is set by the protocol",
        ),
        // The command does not run if its headers cannot be sent.
        (
            "http://192.0.2.1/mcp",
            "echo ran > not-sent",
            1,
            "--allow-http",
        ),
    ] {
        let (output, said) = list(&folder, "mcp.json", &server(url, command), &[]);
        assert_eq!(output.status.code(), Some(code), "{command}: {said}");
        assert!(
            said.contains(part) && said.contains("for the headers of the server"),
            "{command}: {said}"
        );
        assert!(!said.contains("s3cret"), "{said}");
    }
    assert!(folder.join("ran").exists() && !folder.join("not-sent").exists());
}

#[cfg(unix)]
#[test]
fn a_file_cannot_hide_the_command_that_runs_and_the_host_that_is_connected() {
    let folder = folder("hidden");
    let command = "touch mark; echo {";
    for (server, part) in [
        (
            serde_json::json!({
                "url": "http://127.0.0.1:9/mcp", "headersHelper": command,
                "headers": { "x": format!("${{git-credential-helper:-{command}}}") }
            }),
            "runs \"touch mark; echo {\" for the headers",
        ),
        (
            serde_json::json!({
                "url": "http://127.0.0.1:9/mcp", "headersHelper": command,
                "headers": { "X-Key": command }
            }),
            "runs \"touch mark; echo {\" for the headers",
        ),
        (
            serde_json::json!({ "url": "http://${https api.github.com:-127.0.0.1:9}/mcp" }),
            "connects to http://127.0.0.1:9/mcp",
        ),
        (
            serde_json::json!({ "url": "http://127.0.0.1:9/mcp", "headers": { "X-Key": "127.0.0.1" } }),
            "connects to http://127.0.0.1:9/mcp",
        ),
        (
            serde_json::json!({ "url": "${url:-http://127.0.0.1:9/mcp}" }),
            "connects to http://127.0.0.1:9/mcp",
        ),
    ] {
        let text = serde_json::json!({ "mcpServers": { "calc": server } }).to_string();
        let (_, said) = list(&folder, "mcp.json", &text, &[]);
        assert!(said.contains(part), "{text}: {said}");
    }
}

#[cfg(unix)]
#[test]
fn variables_of_a_file_that_choose_code_are_shown() {
    let folder = folder("code");
    std::fs::write(folder.join(".env"), "PATH=bin:/usr/bin:/bin\nMODE=1\n").unwrap();
    let text = r#"{"servers": {"calc": {"command": CALC, "envFile": ".env"}}}"#;
    let text = text.replace("CALC", &calc());
    let (output, said) = list(&folder, "mcp.json", &text, &[]);
    assert!(output.status.success(), "{said}");
    let shown = "with PATH=\"bin:/usr/bin:/bin\", which can make it run other code";
    assert!(said.contains(shown) && !said.contains("MODE"), "{said}");
}

#[cfg(unix)]
#[test]
fn a_secret_input_is_not_shown_in_the_output_of_its_program() {
    let folder = folder("secret-input");
    let text = r#"{"inputs": [{"id": "i", "password": true}], "servers": {"calc":
        {"command": "sh", "args": ["-c", "echo GOT=$A >&2; exit 1"], "env": {"A": "${input:i}"}}}}"#;
    let (_, said) = list(
        &folder,
        "mcp.json",
        text,
        &[("MCP_INPUT_I", "Hunter2-s3cret-pw")],
    );
    assert!(said.contains("GOT=${input:i}"), "{said}");
    assert!(!said.contains("Hunter2"), "{said}");
}

#[test]
fn an_error_of_a_server_names_its_file() {
    let folder = folder("error");
    let (output, said) = list(&folder, "mcp.json", r#"{"mcpServers": {"calc": 1}}"#, &[]);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("mcp.json: server \"calc\": a server must be an object"),
        "{said}"
    );
}
