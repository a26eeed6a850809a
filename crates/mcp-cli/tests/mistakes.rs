//! What the program says about mistakes on the command line and in files, and about servers that refuse it.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use mcp_auth::server::{Identity, require_bearer, static_tokens};
use mcp_server::{Args, Ctx, Elicitation, ErrorObject, HandlerError, Resource, Server, Tool};
use mcp_transport_http::{Endpoint, serve_layered, serve_with};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::net::TcpListener;

/// Runs `mcp` beside a server in this process.
async fn mcp(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp"));
    command.args(["--timeout", "20"]).args(words);
    command.current_dir(folder).env("HOME", folder);
    command.env("MCP_TOKENS", folder.join("tokens.json"));
    command.stdin(Stdio::null());
    let run = move || command.output().unwrap();
    tokio::task::spawn_blocking(run).await.unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn folder(name: &str) -> PathBuf {
    let folder = format!("mistakes-{name}-{}", std::process::id());
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[derive(Deserialize, JsonSchema)]
struct Taste {
    sugar: u8,
    milk: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
struct Walk {
    steps: Option<u32>,
}

/// Starts a server with tools of open and closed schemas, and one that asks for a form.
async fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let properties = json!({ "steps": { "type": "integer" } });
    let schema = |more: &str, value| {
        let mut schema = json!({ "type": "object", "properties": properties });
        schema[more] = value;
        schema
    };
    let dynamic = |name, schema| Tool::dynamic(name, schema, async || "done");
    let server = Server::builder("walk", "1")
        .tool(Tool::new("walk", async |Args(walk): Args<Walk>| {
            format!("{} steps", walk.steps.unwrap_or(1))
        }))
        .tool(dynamic("open", schema("title", json!("open"))))
        .tool(dynamic(
            "closed",
            schema("additionalProperties", json!(false)),
        ))
        .tool(dynamic("any", schema("additionalProperties", json!({}))))
        .tool(dynamic("more", schema("allOf", json!([{}]))))
        .tool(Tool::new("order", async |cx: Ctx| {
            match cx.elicit::<Taste>("How much sugar?").await {
                Ok(Elicitation::Accepted(taste)) => Ok(format!("{} {:?}", taste.sugar, taste.milk)),
                Ok(_) => Ok("no tea".to_owned()),
                Err(error) => Err(error),
            }
        }));
    let server = server.resource(Resource::new("tea://order", "tea", async |cx: Ctx| {
        let taste = cx.elicit::<Taste>("How much sugar?").await?;
        match taste {
            Elicitation::Accepted(taste) => Ok(format!("{} {:?}", taste.sugar, taste.milk)),
            _ => Err(HandlerError::new("no tea")),
        }
    }));
    let endpoint = Endpoint::new(server).unwrap();
    tokio::spawn(serve_with(listener, endpoint, std::future::pending()));
    url
}

#[tokio::test(flavor = "multi_thread")]
async fn an_argument_that_the_tool_does_not_have_is_reported() {
    let (url, folder) = (serve().await, folder("arguments"));
    for (tool, word, code, text) in [
        (
            "open",
            "stpes=2",
            0,
            "warning: the tool \"open\" has no argument \"stpes\"; did you mean \"steps\"?",
        ),
        (
            "open",
            "weather:={}",
            0,
            "no argument \"weather\"; it has steps",
        ),
        (
            "closed",
            "stpes=2",
            1,
            "error: the tool \"closed\" has no argument \"stpes\"; did you mean \"steps\"?",
        ),
        ("any", "stpes=2", 0, ""),
        ("more", "stpes=2", 0, ""),
        ("open", "steps=2", 0, ""),
    ] {
        let output = mcp(&folder, &["call", &url, tool, word]).await;
        assert_eq!(output.status.code(), Some(code), "{tool}: {output:?}");
        let said = said(&output);
        assert!(
            said.contains(text) && said.is_empty() == text.is_empty(),
            "{tool}: {said}"
        );
    }
    let output = mcp(&folder, &["call", &url, "walk", "stpes=2"]).await;
    assert!(
        said(&output).contains("did you mean \"steps\"?"),
        "{output:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_does_not_match_the_form_is_explained() {
    let (url, folder) = (serve().await, folder("answers"));
    let file = folder.join("answers.json");
    for (answer, parts) in [
        (
            r#"{"sugar":"many"}"#,
            ["\"sugar\"", "an integer", "\"many\""],
        ),
        (
            r#"{"sugar":1,"milk":"y"}"#,
            ["\"milk\"", "true or false", "\"y\""],
        ),
        (r#"{"sugar":300}"#, ["\"sugar\"", "maximum 255", "300"]),
        (
            r#"{"sugar":{"a":1}}"#,
            ["\"sugar\"", "a number", r#"{"a":1}"#],
        ),
        (r#"{"milk":true}"#, ["\"sugar\"", "required", "missing"]),
        (
            r#"{"suger":1}"#,
            ["\"suger\"", "not in the form", "sugar, milk"],
        ),
        (
            r#"{"action":"accept","content":7}"#,
            ["\"content\"", "object", "7"],
        ),
    ] {
        std::fs::write(&file, answer).unwrap();
        for revision in ["sessions", "stateless"] {
            let words = [
                "call",
                &url,
                "order",
                "--answer",
                "answers.json",
                "--revision",
                revision,
            ];
            let output = mcp(&folder, &words).await;
            let said = said(&output);
            assert_eq!(output.status.code(), Some(1), "{answer}: {output:?}");
            for part in ["answers.json", "How much sugar?"].iter().chain(&parts) {
                assert!(said.contains(part), "{answer}: {part}: {said}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_path_of_a_file_is_suggested_as_a_program_and_not_as_a_url() {
    let folder = folder("path");
    std::fs::create_dir_all(folder.join("target")).unwrap();
    std::fs::write(folder.join("target/server"), "").unwrap();
    let output = mcp(&folder, &["inspect", "target/server"]).await;
    let text = said(&output);
    assert!(
        text.contains("-- target/server") && !text.contains("http://"),
        "{text}"
    );
    let output = mcp(&folder, &["inspect", "target/other"]).await;
    assert!(said(&output).contains("http://target/other"), "{output:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_call_is_reported_once_as_text() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            // The request is small, and its content does not matter.
            let _ = stream.read(&mut [0; 1 << 12]);
            let body =
                r#"{"error":"forbidden","error_description":"The workspace \"x\" is disabled"}"#;
            let head = format!(
                "HTTP/1.1 403 Forbidden\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all((head + body).as_bytes());
        }
    });
    let output = mcp(&folder("refusal"), &["list", &url]).await;
    let said = said(&output);
    assert_eq!(said.matches("is disabled").count(), 1, "{said}");
    assert!(!said.contains("error_description"), "{said}");
}

/// The exit code is the same for a token without a scope that the server requires, or that a tool requires.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_without_a_scope_needs_an_action_of_the_user() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let write = Tool::new("write", async || "written").scope("write");
    let endpoint = Endpoint::new(Server::builder("scoped", "1").tool(write)).unwrap();
    let identity = |scopes: &str| Identity::new(&url, "ada").with_scopes(scopes);
    let tokens = [
        ("t-other", identity("other")),
        ("t-read", identity("read other")),
    ];
    let layer = require_bearer(&url, static_tokens(tokens).unwrap());
    let layer = layer.scope("read").build().unwrap();
    let layered = move |route| layer.layer(route);
    let served = serve_layered(listener, endpoint, layered, std::future::pending());
    tokio::spawn(served);
    let folder = folder("scopes");
    // The server has no authorization server, so users cannot sign in.
    for (token, parts) in [
        ("none", vec!["the token is unknown"]),
        ("t-other", vec!["with the scopes read"]),
        ("t-read", vec!["needs the scope \"write\""]),
    ] {
        let header = format!("Authorization: Bearer {token}");
        let words = ["call", &url, "write", "--header", &header];
        let output = mcp(&folder, &words).await;
        let said = said(&output);
        assert_eq!(output.status.code(), Some(5), "{token}: {said}");
        // `other` is not required.
        assert!(!said.contains("other"), "{said}");
        // The token that lacks a scope is valid.
        let advice = match token {
            "t-read" => "configured tokens only: ask its operator for a token with this scope",
            _ => "configured tokens only: pass a valid token",
        };
        assert!(
            said.contains(advice) && !said.contains("mcp login"),
            "{token}: {said}"
        );
        for part in parts {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
    let header = "Authorization: Bearer none";
    let output = mcp(&folder, &["doctor", &url, "--header", header]).await;
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(report.contains("configured tokens only"), "{report}");
    assert!(!report.contains("mcp doctor"), "{report}");
    let output = mcp(&folder, &["login", "--no-browser", &url]).await;
    let refused = said(&output);
    assert!(
        refused.contains("configured tokens only: pass a token"),
        "{refused}"
    );
    // A server without an authorization server has no sign-in.
    let output = mcp(&folder, &["list", &url]).await;
    let said = said(&output);
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(
        said.contains("configured tokens only") && !said.contains("mcp login"),
        "{said}"
    );
}

/// A server can use the words of this workspace for something else.
#[tokio::test(flavor = "multi_thread")]
async fn words_of_an_error_message_are_not_read_as_a_missing_scope() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let measure = Tool::new("measure", async || {
        let error = ErrorObject::invalid_request("the lens needs the scope in the other room");
        Err::<(), _>(HandlerError::protocol(error))
    });
    let endpoint = Endpoint::new(Server::builder("lab", "1").tool(measure)).unwrap();
    tokio::spawn(serve_with(listener, endpoint, std::future::pending()));
    let output = mcp(&folder("words"), &["call", &url, "measure"]).await;
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_url_after_other_arguments_is_an_error_that_shows_the_order() {
    let folder = folder("order");
    let words = ["call", "add_note", "title=hi", "http://127.0.0.1:1/mcp"];
    let output = mcp(&folder, &words).await;
    let text = said(&output);
    assert!(
        text.contains("the server comes first: http://127.0.0.1:1/mcp add_note"),
        "{text}"
    );
    assert!(!text.contains("--"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_misspelled_key_of_the_server_list_is_reported() {
    let folder = folder("servers");
    std::fs::write(
        folder.join(".mcp.json"),
        r#"{"mcpservers":{"notes":{"command":"x"}}}"#,
    )
    .unwrap();
    let output = mcp(&folder, &["list", "notes"]).await;
    let text = said(&output);
    assert!(
        text.contains("\"mcpServers\", not \"mcpservers\""),
        "{text}"
    );
    let servers = r#"{"mcpServers":{"notes":{"command":"./notes"}}}"#;
    std::fs::write(folder.join(".mcp.json"), servers).unwrap();
    let output = mcp(&folder, &["list"]).await;
    assert!(said(&output).contains("configured: notes"), "{output:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_without_a_lock_file_says_how_to_create_it() {
    let output = mcp(
        &folder("lock"),
        &["lock", "--check", "http://127.0.0.1:1/mcp"],
    )
    .await;
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("mcp.lock does not exist; run `mcp lock`"),
        "{text}"
    );
}

/// A form without an answer is an error of each command: the server may have done something else than the user wanted.
#[tokio::test(flavor = "multi_thread")]
async fn each_command_fails_if_a_form_has_no_answer() {
    let (url, folder) = (serve().await, folder("forms"));
    let call = r#"tools/call {"name":"order","arguments":{}}"#;
    let repl = |options: Vec<&'static str>| {
        let (url, folder) = (url.clone(), folder.clone());
        let run = move || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_mcp"));
            command
                .args(["repl", &url])
                .args(options)
                .current_dir(&folder)
                .env("HOME", &folder);
            let pipes = command
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            let mut child = pipes.spawn().unwrap();
            writeln!(child.stdin.take().unwrap(), "{call}\ntools/list").unwrap();
            child.wait_with_output().unwrap()
        };
        tokio::task::spawn_blocking(run)
    };
    let output = repl(Vec::new()).await.unwrap();
    let expected = "error: the server asked \"How much sugar?\", and there is no terminal; run the command in a terminal, or use --answer FILE";
    assert!(said(&output).contains(expected), "{output:?}");
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    std::fs::write(folder.join("answer.json"), r#"{"sugar":2}"#).unwrap();
    let output = repl(vec!["--answer", "answer.json"]).await.unwrap();
    assert!(!said(&output).contains("error"), "{output:?}");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let output = mcp(&folder, &["read", &url, "tea://order"]).await;
    assert!(said(&output).contains(expected), "{output:?}");
    assert_eq!(output.status.code(), Some(5), "{output:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_without_dashes_is_an_error_that_shows_what_to_type() {
    let folder = folder("dashes");
    std::fs::write(folder.join("notes"), "").unwrap();
    for (words, expected) in [
        (
            &["inspect", "./notes"][..],
            "to start a program, write `mcp inspect -- ./notes`",
        ),
        (
            &["lock", "./missing"],
            "there is no file with this name; a program follows `--`, as in `mcp lock -- ./missing`",
        ),
        (
            &["doctor", "python3", "server.py"],
            "write `mcp doctor -- python3 server.py`",
        ),
        (
            &["inspect", "psql", "postgres://me:secret@db/x"],
            "write `mcp inspect -- psql ..`",
        ),
        (
            &["call", "npx", "add", "key=secret"],
            "write `mcp call add .. -- npx`",
        ),
        (&["read", "npx", "a://b"], "write `mcp read a://b -- npx`"),
        (
            &["bridge", "."],
            "it is a folder; a program follows `--`, as in `mcp bridge -- PROGRAM`",
        ),
        (
            &["list", "notes.example/mcp"],
            "for a URL, write http://notes.example/mcp or https://notes.example/mcp",
        ),
    ] {
        let output = mcp(&folder, words).await;
        let said = said(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(expected), "{expected}: {said}");
        assert!(!said.contains("secret"), "{said}");
    }
    let output = mcp(&folder, &["login", "./notes"]).await;
    assert!(!said(&output).contains("--`"), "{output:?}");
    let output = mcp(&folder, &["login", "notes.example/mcp"]).await;
    assert!(
        said(&output).contains("write http://notes.example/mcp"),
        "{output:?}"
    );
}
