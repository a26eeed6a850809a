//! Commands that write headers.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use mcp_host::{Config, Decision, Host, ServerState};
use serde_json::{Value, json};

use super::{Person, config, settled};
use crate::support::{Folder, client};

/// A server that answers one request with an error, and returns its address. The thread returns the head of the request.
fn refusing() -> (String, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let head = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        while !head.windows(4).any(|end| end == b"\r\n\r\n") {
            let mut part = [0; 1024];
            let length = stream.read(&mut part).unwrap();
            head.extend_from_slice(&part[..length]);
        }
        stream
            .write_all(b"HTTP/1.1 403 Forbidden\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
            .unwrap();
        String::from_utf8(head).unwrap()
    });
    (format!("http://{address}/mcp"), head)
}

/// A command that writes a header, and a line to the file `ran` in the folder.
fn helper(folder: &Folder) -> String {
    let ran = folder.0.join("ran").display().to_string();
    format!("echo ran >> '{ran}'; printf '{{\"X-Token\": \"%s\"}}' from-helper")
}

#[tokio::test]
async fn a_command_for_headers_runs_only_after_consent_that_shows_it() {
    let folder = Folder::new("headers");
    let (url, head) = refusing();
    let command = helper(&folder);
    let server = json!({ "url": url, "headers": { "x-token": "static", "X-Other": "kept" }, "headersHelper": command });
    let person = Person::default();
    let start = async |decision| {
        let builder = Host::builder(client()).servers(config(&server));
        settled(builder.consent(person.answers(decision))).await
    };
    let denied = start(Decision::Deny).await;
    let state = denied.server("git").unwrap().state();
    assert!(matches!(state, ServerState::Failed { .. }), "{state}");
    assert!(!folder.0.join("ran").exists());
    let text = person.text();
    let here = std::env::current_dir().unwrap();
    for part in [
        "shell command",
        "echo ran >> ",
        "from-helper",
        here.to_str().unwrap(),
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let host = start(Decision::AllowOnce).await;
    let head = tokio::task::spawn_blocking(|| head.join().unwrap())
        .await
        .unwrap();
    let head = head.to_ascii_lowercase();
    assert!(
        head.contains("x-token: from-helper\r\n") && head.contains("x-other: kept\r\n"),
        "{head}"
    );
    assert!(!head.contains("static"), "{head}");
    assert!(folder.0.join("ran").exists());
    denied.close().await;
    host.close().await;
}

/// A file of the folder cannot change the command after the user has agreed.
#[tokio::test]
async fn an_approval_is_for_one_command_and_folder() {
    let folder = Folder::new("headers-approval");
    let approvals = folder.0.join("approvals.json");
    let person = Person::default();
    for (command, is_asked) in [("exit 1", true), ("exit 1", false), ("exit 2", true)] {
        let server = json!({ "url": "http://127.0.0.1:9/mcp", "headersHelper": command });
        let builder = Host::builder(client())
            .servers(config(&server))
            .approvals(mcp_host::ApprovalFile::new(&approvals))
            .consent(person.answers(Decision::AllowAlways));
        let host = settled(builder).await;
        assert_eq!(!person.requests().is_empty(), is_asked, "{command}");
        let state = host.server("git").unwrap().state().to_string();
        assert!(
            state.contains(&format!("\"headersHelper\" {command:?}")),
            "{state}"
        );
        host.close().await;
    }
}

#[test]
fn a_command_for_headers_is_only_for_a_server_with_a_url() {
    let read = |server: Value| -> Config { config(&server) };
    let program = read(json!({ "command": "a", "headersHelper": "b" }));
    assert!(
        program.warnings()[0].contains("for servers with \"url\""),
        "{:?}",
        program.warnings()
    );
    let number = read(json!({ "url": "https://h/", "headersHelper": 1 }));
    let (_, error) = number.errors().next().unwrap();
    assert!(
        error
            .to_string()
            .contains("\"headersHelper\" must be a string"),
        "{error}"
    );
}
