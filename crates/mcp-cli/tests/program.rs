//! The program, as a user runs it: against a server on a pipe and over HTTP.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::Duration;

use mcp_auth::server::{Identity, require_bearer, static_tokens};
use mcp_server::{Ctx, Elicitation, Server, ServerBuilder, Tool};
use mcp_transport_http::{Endpoint, serve_layered, serve_with};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// Runs `mcp`; tokens are in a file of this test.
fn mcp(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mcp"))
        .args(words)
        .env("MCP_TOKENS", folder("tokens").join("tokens.json"))
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Runs `mcp` beside a server in this process.
async fn mcp_beside(words: Vec<String>) -> Output {
    let run = move || mcp(&words.iter().map(|word| &**word).collect::<Vec<_>>());
    tokio::task::spawn_blocking(run).await.unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The example `calc`, which cargo builds beside the tests.
fn calc() -> String {
    let test = std::env::current_exe().unwrap();
    let built = test.parent().unwrap().parent().unwrap();
    let calc = built.join("examples").join("calc");
    calc.with_extension(std::env::consts::EXE_EXTENSION)
        .to_str()
        .unwrap()
        .to_owned()
}

/// An empty folder.
fn folder(name: &str) -> PathBuf {
    let process = std::process::id();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("cli-{name}-{process}"));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[derive(Deserialize, JsonSchema)]
struct Taste {
    sugar: u8,
}

fn tea() -> ServerBuilder {
    Server::builder("tea", "1.0.0").tool(Tool::new("order", async |cx: Ctx| {
        match cx.elicit::<Taste>("How much sugar?").await {
            Ok(Elicitation::Accepted(taste)) => Ok(format!("{} spoons", taste.sugar)),
            Ok(_) => Ok("no tea".to_owned()),
            Err(error) => Err(error),
        }
    }))
}

#[test]
fn exit_codes_and_output_report_the_outcome_of_commands() {
    let calc = calc();
    let with = |words: &[&str]| mcp(&[words, &["--", &calc]].concat());
    for (words, code, out, err) in [
        (&["call", "add", "a=2", "b=3"][..], 0, "5\n", ""),
        (&["call", "add", "a=2", "b:=3"], 0, "5\n", ""),
        (&["call", "add", "a=2"], 4, "b", ""),
        (
            &["call", "add", "a=two", "b=3"],
            1,
            "",
            "\"two\" is not an integer",
        ),
        (&["call", "sum", "a=2"], 1, "", "no tool \"sum\""),
        (&["call", "ad"], 1, "", "did you mean \"add\""),
        (&["list"], 0, "add  Adds two numbers.\n", ""),
        (
            &["list", "tools", "--search", "NUMBERS"],
            0,
            "add  Adds",
            "",
        ),
        (&["list", "--search", "weather"], 0, "", ""),
        (&["list", "prompts"], 3, "", "prompts"),
        (
            &["list", "http://127.0.0.1:1/"],
            1,
            "",
            "unexpected argument",
        ),
        (&["read", "x://y"], 3, "", "resources"),
        (&["inspect"], 0, "add(a: integer, b: integer)", ""),
        (
            &["inspect", "--revision", "2024-11-05"],
            0,
            "revision 2024-11-05",
            "",
        ),
        (&["inspect", "--revisions"], 0, "2026-07-28  yes", ""),
        (&["inspect", "--revision", "yesterday"], 1, "", "2025-11-25"),
        (&["doctor"], 0, "ok    connection    calc 1.0.0", ""),
    ] {
        let output = with(words);
        let (found, problem) = (stdout(&output), stderr(&output));
        assert_eq!(
            output.status.code(),
            Some(code),
            "{words:?}: {found}{problem}"
        );
        assert!(found.contains(out), "{words:?}: {found}");
        assert!(problem.contains(err), "{words:?}: {problem}");
        assert!(code != 0 || problem.is_empty(), "{words:?}: {problem}");
    }
}

#[test]
fn a_configured_server_is_used_by_its_name() {
    let folder = folder("configured");
    let write = |file: &str, value: Value| {
        std::fs::write(folder.join(file), value.to_string()).unwrap();
    };
    let server =
        json!({ "command": "${CALC}", "args": ["--key", "${KEY:-secret}"], "env": { "A": "b" } });
    let servers = json!({
        "calc": server, "unset": { "command": "${NO_SUCH_VARIABLE}" }, "web": { "type": "http", "url": "http://127.0.0.1:1/mcp?key=x" }
    });
    write("mcp.json", json!({ "mcpServers": servers }));
    write(
        "other.json",
        json!({ "mcpServers": { "calc": { "command": "no-such-program" } } }),
    );
    for (words, code, out, err) in [
        (
            &["call", "calc", "add", "a=2", "b=3"][..],
            0,
            "5\n",
            "starts ${CALC} --key ${KEY:-secret}\n",
        ),
        (
            &["list", "calc", "tools"],
            0,
            "add  Adds two numbers.\n",
            "",
        ),
        (
            &["lock", "calc", "--check", "--file", "none.lock"],
            1,
            "",
            "none.lock",
        ),
        (
            &["list", "clac"],
            1,
            "",
            "neither a URL nor a configured server (calc, unset, web)",
        ),
        (&["list", "unset"], 1, "", "NO_SUCH_VARIABLE"),
        (
            &["list", "web"],
            2,
            "",
            "connects to http://127.0.0.1:1/mcp\n",
        ),
        (&["login", "calc"], 1, "", "needs no sign-in"),
        (
            &["list", "calc", "--config", "other.json"],
            2,
            "",
            "no-such-program",
        ),
        (
            &["list", "calc", "--config", "missing.json"],
            1,
            "",
            "missing.json",
        ),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_mcp"))
            .args(words)
            .current_dir(&folder)
            .env("HOME", &folder)
            .env("CALC", calc())
            .env("MCP_TOKENS", folder.join("tokens.json"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let (found, problem) = (stdout(&output), stderr(&output));
        assert_eq!(
            output.status.code(),
            Some(code),
            "{words:?}: {found}{problem}"
        );
        assert!(found.contains(out), "{words:?}: {found}");
        assert!(problem.contains(err), "{words:?}: {problem}");
    }
}

/// A server over stdio that is written in `sh`: each line of its input has an answer in `cases`.
#[cfg(unix)]
fn scripted_server(name: &str, cases: &str) -> String {
    use std::os::unix::fs::PermissionsExt as _;

    let path = folder(name).join("server");
    let script = format!(
        r#"#!/bin/sh
while read -r line; do
  id=$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  case "$line" in
    *'"initialize"'*) echo '{{"jsonrpc":"2.0","id":'$id',"result":{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}},"resources":{{}},"prompts":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}}}' ;;
    {cases}
    *'"id"'*) echo '{{"jsonrpc":"2.0","id":'$id',"error":{{"code":-32601,"message":"Method not found"}}}}' ;;
  esac
done
"#
    );
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[cfg(unix)]
#[test]
fn a_failed_list_does_not_hide_the_other_lists() {
    let server = scripted_server(
        "lists",
        r#"*'"tools/list"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}},{"name":"b","inputSchema":true}]}}' ;;
           *'"prompts/list"'*) echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32603,"message":"no backend"}}' ;;"#,
    );
    let run = |words: &[&str]| mcp(&[words, &["--revision", "sessions", "--", &server]].concat());
    let inspected = run(&["inspect"]);
    let (page, problem) = (stdout(&inspected), stderr(&inspected));
    assert_eq!(inspected.status.code(), Some(3), "{page}{problem}");
    assert!(page.contains("a()"), "{page}");
    assert!(page.contains("does not know resources/list"), "{page}");
    // The tool that is left out.
    assert!(page.contains("deviates from the specification"), "{page}");
    for text in [page, problem] {
        assert!(
            text.contains("prompts/list: the server returned an error: no backend"),
            "{text}"
        );
    }
    let diagnosed = run(&["doctor"]);
    let page = stdout(&diagnosed);
    assert_eq!(diagnosed.status.code(), Some(3), "{page}");
    assert!(page.contains("FAIL  lists         prompts/list"), "{page}");
    for note in [
        "does not know resources/list",
        "deviates from the specification",
    ] {
        assert!(page.contains(note), "{note}: {page}");
    }
    let listed = run(&["list"]);
    assert!(listed.status.success(), "{}", stderr(&listed));
    assert!(
        stderr(&listed).contains("note: the server deviates from the specification"),
        "{}",
        stderr(&listed)
    );
    let file = folder("lists").join("mcp.lock");
    let locked = run(&["lock", "--file", file.to_str().unwrap()]);
    assert_eq!(locked.status.code(), Some(3));
    assert!(
        stderr(&locked).contains("tools/list: \"b\""),
        "{}",
        stderr(&locked)
    );
    assert!(!file.exists());
}

#[cfg(unix)]
#[test]
fn inspect_and_doctor_report_definitions_that_hosts_cannot_use() {
    let tools = json!([
        { "name": "a", "inputSchema": { "type": "object" } },
        { "name": "a", "inputSchema": { "type": "object", "properties": { "x": { "$ref": "#/$defs/X" } } } },
        { "name": "list", "inputSchema": { "type": "object", "properties": [] } },
        { "name": "required", "inputSchema": { "type": "object" }, "outputSchema": { "type": "object", "required": "x" } },
        { "name": "kind", "inputSchema": { "type": "object", "properties": { "x": { "type": "text" } } } },
        { "name": "field", "inputSchema": { "type": "object", "properties": { "x": "string" } } },
        { "name": "order", "inputSchema": { "type": "object", "properties": { "z": { "type": "string" }, "a": { "type": "integer" } }, "required": ["z"] } },
    ]);
    let server = scripted_server(
        "unusable",
        &format!(
            r#"*'"tools/list"'*) echo '{{"jsonrpc":"2.0","id":'$id',"result":{{"tools":{tools}}}}}' ;;
           *'"ping"'*) echo '{{"jsonrpc":"2.0","id":'$id',"result":{{}}}}' ;;"#
        ),
    );
    let run = |command| mcp(&[command, "--revision", "sessions", "--", &server]);
    let (inspected, diagnosed) = (run("inspect"), run("doctor"));
    assert!(diagnosed.status.success(), "{}", stdout(&diagnosed));
    let page = stdout(&inspected);
    assert!(page.contains("order(z: string, a?: integer)"), "{page}");
    for defect in [
        "tool a: the list has this name twice",
        "tool a: inputSchema: ",
        "tool list: inputSchema: the schema is malformed",
        "tool required: outputSchema: the schema is malformed",
        "tool kind: inputSchema: the schema is malformed",
        "tool field: inputSchema: the schema is malformed",
    ] {
        for page in [stdout(&inspected), stdout(&diagnosed)] {
            assert!(page.contains(defect), "{defect}: {page}");
        }
    }
}

#[cfg(unix)]
#[test]
fn the_repl_processes_further_lines_after_a_failed_request() {
    let server = scripted_server(
        "silent",
        r#"*'"silent"'*) ;;
           *'"ping"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{}}' ;;"#,
    );
    let words = ["--revision", "sessions", "--timeout", "1", "--", &server];
    let output = repl(&words, "silent\nping\n");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("no response to silent"),
        "{}",
        stderr(&output)
    );
    assert_eq!(stdout(&output).trim(), "{}");
}

#[test]
fn servers_in_files_of_other_hosts_are_found_by_name() {
    let folder = folder("hosts");
    let here = folder.canonicalize().unwrap();
    let calc = calc();
    let claude = json!({ "projects": { here.to_str().unwrap(): { "mcpServers": { "claude": { "command": calc } } } } });
    std::fs::write(folder.join(".claude.json"), claude.to_string()).unwrap();
    std::fs::write(folder.join("keys.env"), "CALC_FILE=x\n").unwrap();
    let own = json!({ "servers": {
        "tools": { "command": calc }, "off": { "command": calc, "enabled": false, "timeout": 60, "colour": 1 },
        "asks": { "command": calc, "args": ["${input:key}"] }, "file": { "command": calc, "envFile": "missing.env" },
        "notes": { "command": calc, "envFile": "${workspaceFolder}/keys.env" }
    } });
    std::fs::write(folder.join("mcp.json"), format!("\u{feff}{own}")).unwrap();
    for (words, code, text) in [
        (&["list", "tools"][..], 0, "add"),
        (&["list", "claude", "tools"], 0, "add"),
        (&["list", "notes"], 0, "add"),
        (&["list", "off"], 0, "is disabled in its file"),
        (&["list", "off"], 0, "\"colour\" is not used"),
        (&["list", "off"], 0, "60 is read as seconds"),
        (&["list", "asks"], 1, "MCP_INPUT_KEY"),
        (&["list", "file"], 1, "missing.env"),
        (
            &["list", "127.0.0.1:9/mcp"],
            1,
            "write http://127.0.0.1:9/mcp",
        ),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_mcp"))
            .args(words)
            .current_dir(&folder)
            .env("HOME", &folder)
            .env("MCP_TOKENS", folder.join("tokens.json"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let all = stdout(&output) + &stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {all}");
        assert!(all.contains(text), "{words:?}: {all}");
    }
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_program_while_it_waits_for_a_line() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_mcp"))
        .args(["repl", "--json", "--", &calc()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"tools/list {}\n").unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(out.next().unwrap().unwrap().contains("add"));
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-s", "INT", &id]).status();
    assert!(sent.unwrap().success());
    // Its stdin is open until it has ended.
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(stdin);
}

/// Runs `mcp repl --json`, whose stdin has these lines.
fn repl(server: &[&str], lines: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_mcp"))
        .args([&["repl", "--json"], server].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(lines.as_bytes()).unwrap();
    drop(stdin);
    child.wait_with_output().unwrap()
}

#[test]
fn lines_of_stdin_are_sent_one_after_the_other() {
    let lines = concat!(
        "tools/call {\"name\":\"add\",\"arguments\":{\"a\":2,\"b\":3}}\n",
        "\n",
        "{\"method\":\"notifications/x\"}\n",
        "no/such {}\n",
        "tools/list {\n",
    );
    let output = repl(&["--", &calc()], lines);
    let (found, problem) = (stdout(&output), stderr(&output));
    let result: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(result["content"][0]["text"], "5");
    assert!(problem.contains("code -32601"), "{problem}");
    assert!(problem.contains("is not JSON"), "{problem}");
    assert_eq!(output.status.code(), Some(1), "the last line is no message");
}

#[test]
fn json_output_contains_the_whole_result() {
    let calc = calc();
    let read = |words: &[&str]| -> Value {
        let output = mcp(&[words, &["--json", "--", &calc]].concat());
        serde_json::from_slice(&output.stdout).unwrap()
    };
    assert_eq!(
        read(&["call", "add", "a=2", "b=3"])["content"][0]["text"],
        "5"
    );
    assert_eq!(read(&["list"])[0]["name"], "add");
    let inspected = read(&["inspect"]);
    assert_eq!(inspected["server"]["name"], "calc");
    assert_eq!(inspected["warnings"], json!([]));
}

#[tokio::test]
async fn json_output_contains_the_unchanged_text_of_the_server() {
    const HIDDEN: &str = "\u{9b}2K\u{202e}\u{e0041}";
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let server = Server::builder("hides", "1.0.0").tool(Tool::new("hide", async || HIDDEN));
    let endpoint = Endpoint::new(server).unwrap();
    let server = tokio::spawn(serve_with(listener, endpoint, std::future::pending()));
    let words = ["call", &url, "hide", "--json"].map(str::to_owned);
    let called = mcp_beside(words.to_vec()).await;
    let run = move || repl(&[&url], "tools/call {\"name\":\"hide\",\"arguments\":{}}\n");
    let sent = tokio::task::spawn_blocking(run).await.unwrap();
    for output in [called, sent] {
        let found = stdout(&output);
        assert!(found.contains(HIDDEN), "{found:?}{}", stderr(&output));
    }
    server.abort();
}

#[test]
fn servers_that_cannot_be_reached_are_explained() {
    let output = mcp(&["list", "--", "/nowhere/calc"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("/nowhere/calc"),
        "{}",
        stderr(&output)
    );
    let output = mcp(&["doctor", "http://127.0.0.1:1/mcp"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stdout(&output).contains("FAIL  port"),
        "{}",
        stdout(&output)
    );
    let output = mcp(&["list", "calc"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("`mcp list -- calc`"),
        "{}",
        stderr(&output)
    );
    let url = "http://127.0.0.1:1/mcp";
    let output = mcp(&["call", "add", url]);
    assert_eq!(output.status.code(), Some(1));
    let hint = format!("the server comes first: {url} add");
    assert!(stderr(&output).contains(&hint), "{}", stderr(&output));
    assert_eq!(mcp(&["--version"]).status.code(), Some(0));
    assert_eq!(mcp(&["lsit"]).status.code(), Some(1));
}

#[test]
fn a_lock_file_shows_what_has_changed() {
    let (calc, folder) = (calc(), folder("lock"));
    let file = folder.join("mcp.lock");
    let lock = |words: &[&str]| {
        mcp(&[
            &["lock", "--file", file.to_str().unwrap()],
            words,
            &["--", &calc],
        ]
        .concat())
    };
    let output = lock(&["--check"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert_eq!(lock(&[]).status.code(), Some(0));
    let output = lock(&["--check"]);
    assert_eq!(
        (output.status.code(), stdout(&output)),
        (Some(0), String::new())
    );

    let mut locked: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let server = &mut locked["servers"][&calc];
    let add = server["tools"]
        .as_object_mut()
        .unwrap()
        .shift_remove("add")
        .unwrap();
    std::fs::write(&file, locked.to_string()).unwrap();
    let output = lock(&["--check"]);
    assert_eq!(output.status.code(), Some(6));
    assert!(
        stdout(&output).contains("safe      tool add  added"),
        "{}",
        stdout(&output)
    );
    assert!(stdout(&lock(&["--check", "--github"])).contains("::notice file="));

    locked["servers"][&calc]["tools"]["add"] = add;
    locked["servers"][&calc]["tools"]["add"]["definition"]["description"] = json!("Other");
    std::fs::write(&file, locked.to_string()).unwrap();
    let output = lock(&["--check"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("its sha256 does not match"),
        "{}",
        stderr(&output)
    );
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn elicitation_is_answered_from_a_file_on_both_kinds_of_revisions() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let endpoint = Endpoint::new(tea()).unwrap();
    let server = tokio::spawn(serve_with(listener, endpoint, std::future::pending()));
    let folder = folder("answers");
    let answers = folder.join("answers.json");
    let both = json!([{ "sugar": 3 }, { "action": "decline" }]);
    let words = |more: &[&str]| {
        let words = [&["call", &url, "order"], more].concat();
        words.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    // Some editors write a byte order mark.
    for (revision, mark) in [("sessions", ""), ("stateless", "\u{feff}")] {
        std::fs::write(&answers, format!("{mark}{both}")).unwrap();
        let answered = words(&[
            "--revision",
            revision,
            "--answer",
            answers.to_str().unwrap(),
        ]);
        let output = mcp_beside(answered).await;
        assert_eq!(
            stdout(&output),
            "3 spoons\n",
            "{revision}: {}",
            stderr(&output)
        );
        let output = mcp_beside(words(&["--revision", revision])).await;
        assert_eq!(output.status.code(), Some(5), "{revision}");
        assert!(
            stderr(&output).contains("How much sugar?"),
            "{}",
            stderr(&output)
        );
    }
    server.abort();
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn a_protected_server_needs_a_sign_in_or_a_token() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let token = "Zm9ydHktdHdvIGJ5dGVzIG9mIGNoYW5jZQ";
    let alice = Identity::new(&url, "alice");
    let layer = require_bearer(&url, static_tokens([(token, alice)]).unwrap())
        .build()
        .unwrap();
    let endpoint = Endpoint::new(tea()).unwrap();
    let serve = serve_layered(
        listener,
        endpoint,
        move |route| layer.layer(route),
        std::future::pending(),
    );
    let server = tokio::spawn(serve);
    let output = mcp_beside(vec!["list".to_owned(), url.clone()]).await;
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("the server takes configured tokens only"),
        "{}",
        stderr(&output)
    );
    let header = format!("Authorization: Bearer {token}");
    let words = ["list", &url, "--header", &header].map(str::to_owned);
    let output = mcp_beside(words.to_vec()).await;
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("order"));
    server.abort();
}

#[test]
fn completions_and_manual_pages_are_generated() {
    let output = mcp(&["completions", "bash"]);
    assert!(stdout(&output).contains("_mcp"));
    let folder = folder("man");
    assert_eq!(
        mcp(&["man", folder.to_str().unwrap()]).status.code(),
        Some(0)
    );
    assert!(folder.join("mcp-call.1").is_file());
    std::fs::remove_dir_all(folder).unwrap();
}

/// A running bridge; ended when dropped.
struct Bridge {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Bridge {
    fn start(words: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_mcp"))
            .arg("bridge")
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    fn line(&mut self) -> String {
        self.lines.next().unwrap().unwrap()
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        // The process may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_bridge_connects_stdio_and_http_on_all_revisions() {
    let calc = calc();
    for server in ["sessions", "stateless"] {
        let listen = ["--revision", server, "--listen", "127.0.0.1:0", "--", &calc];
        let mut over_http = Bridge::start(&listen);
        let url = over_http.line();
        for client in ["2024-11-05", "sessions", "stateless"] {
            let called = mcp(&["call", &url, "add", "a=2", "b=3", "--revision", client]);
            assert_eq!(
                stdout(&called),
                "5\n",
                "{server} {client}: {}",
                stderr(&called)
            );
            // And the URL as a program.
            let bridge = [env!("CARGO_BIN_EXE_mcp"), "bridge", &url, "--stdio"];
            let words = [
                &["call", "add", "a=2", "b=3", "--revision", client, "--"][..],
                &bridge,
            ]
            .concat();
            let called = mcp(&words);
            assert_eq!(
                stdout(&called),
                "5\n",
                "{server} {client}: {}",
                stderr(&called)
            );
        }
    }
    let failed = mcp(&["bridge", "--stdio", "--", "/no/such/program"]);
    assert_eq!(failed.status.code(), Some(2), "{}", stderr(&failed));
    let failed = mcp(&["bridge", "--listen", "nowhere", "--", &calc]);
    assert!(
        stderr(&failed).contains("--listen nowhere"),
        "{}",
        stderr(&failed)
    );
}

/// A browser asks before it sends a request with an `mcp-` header.
#[test]
fn pages_of_an_allowed_origin_can_use_a_bridge() {
    let (calc, origin) = (calc(), "https://app.example.com");
    let listen = ["--listen", "127.0.0.1:0", "--allow-origin", origin];
    let mut bridge = Bridge::start(&[&listen[..], &["--", &calc]].concat());
    let url = bridge.line();
    let address = url.strip_prefix("http://").unwrap();
    let address = address.strip_suffix("/mcp").unwrap();
    let exchange = |method: &str, origin: &str, headers: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        let limit = Some(Duration::from_secs(60));
        stream.set_read_timeout(limit).unwrap();
        write!(
            stream,
            "{method} /mcp HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\norigin: {origin}\r\n{headers}\r\n\r\n"
        )
        .unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response.to_ascii_lowercase()
    };
    let header = format!("access-control-allow-origin: {origin}\r\n");
    for (from, is_allowed) in [(origin, true), ("https://evil.example.com", false)] {
        let asked = "access-control-request-method: POST\r\naccess-control-request-headers: content-type,mcp-method";
        let preflight = exchange("OPTIONS", from, asked);
        assert_eq!(preflight.contains(&header), is_allowed, "{preflight}");
        let response = exchange("POST", from, "content-length: 0");
        assert_eq!(response.contains(&header), is_allowed, "{response}");
        let is_denied = response.starts_with("http/1.1 403");
        assert_eq!(is_denied, !is_allowed, "{response}");
    }
}

#[test]
fn a_bridge_with_a_public_url_requires_its_token() {
    let calc = calc();
    let open = mcp(&["bridge", "--listen", "0.0.0.0:0", "--", &calc]);
    assert_eq!(open.status.code(), Some(1));
    assert!(stderr(&open).contains("--public-url"), "{}", stderr(&open));
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = port.local_addr().unwrap();
    drop(port);
    let (address, url) = (address.to_string(), format!("http://{address}/mcp"));
    let mut bridge = Bridge::start(&["--listen", &address, "--public-url", &url, "--", &calc]);
    assert_eq!(bridge.line(), url);
    let header = bridge.line();
    assert!(header.starts_with("Authorization: Bearer "), "{header}");
    let without = mcp(&["call", &url, "add", "a=2", "b=3"]);
    assert_eq!(without.status.code(), Some(5), "{}", stderr(&without));
    let wrong = mcp(&[
        "call",
        &url,
        "add",
        "a=2",
        "b=3",
        "--header",
        "Authorization: Bearer no",
    ]);
    assert!(!wrong.status.success());
    let called = mcp(&["call", &url, "add", "a=2", "b=3", "--header", &header]);
    assert_eq!(stdout(&called), "5\n", "{}", stderr(&called));
}
