//! Commands that write headers.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use mcp_host::{Config, Decision, Host, ServerState};
use serde_json::{Value, json};

use super::{Person, config, settled};
use crate::support::{Folder, client};

/// A server that answers one request with each of these statuses, and returns its URL. The thread returns the heads of the requests.
fn refusing(statuses: &'static [&str]) -> (String, std::thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answer = move |status: &&str| {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        while !head.windows(4).any(|end| end == b"\r\n\r\n") {
            let mut part = [0; 1024];
            let length = stream.read(&mut part).unwrap();
            head.extend_from_slice(&part[..length]);
        }
        let response =
            format!("HTTP/1.1 {status} x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
        stream.write_all(response.as_bytes()).unwrap();
        String::from_utf8(head).unwrap().to_ascii_lowercase()
    };
    let heads = std::thread::spawn(move || statuses.iter().map(answer).collect());
    (format!("http://{address}/mcp"), heads)
}

/// A command that writes a header, and a line to the file `ran` in the folder.
fn helper(folder: &Folder) -> String {
    let ran = folder.0.join("ran").display().to_string();
    format!("echo ran >> '{ran}'; printf '{{\"X-Token\": \"%s\"}}' from-helper")
}

#[tokio::test]
async fn a_command_for_headers_runs_only_after_consent_that_shows_it() {
    let folder = Folder::new("headers");
    let (url, heads) = refusing(&["403"]);
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
    let heads = tokio::task::spawn_blocking(|| heads.join().unwrap());
    let head = &heads.await.unwrap()[0];
    assert!(
        head.contains("x-token: from-helper\r\n") && head.contains("x-other: kept\r\n"),
        "{head}"
    );
    assert!(!head.contains("static"), "{head}");
    assert!(folder.0.join("ran").exists());
    denied.close().await;
    host.close().await;
}

/// Tokens expire while a connection is open.
#[tokio::test]
async fn a_command_for_headers_runs_again_after_a_refusal() {
    let folder = Folder::new("headers-again");
    let (url, heads) = refusing(&["401", "403"]);
    let ran = folder.0.join("ran").display().to_string();
    let command =
        format!("echo ran >> '{ran}'; printf '{{\"X-Token\": \"%d\"}}' \"$(wc -l < '{ran}')\"");
    let server = json!({ "url": url, "headersHelper": command });
    let builder = Host::builder(client()).servers(config(&server));
    let host = settled(builder.consent(Person::default().answers(Decision::AllowOnce))).await;
    let heads = tokio::task::spawn_blocking(|| heads.join().unwrap());
    let heads = heads.await.unwrap();
    for (head, token) in heads.iter().zip(["1", "2"]) {
        assert!(head.contains(&format!("x-token: {token}\r\n")), "{head}");
    }
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
