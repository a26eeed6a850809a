//! Strings that are written with escapes: `"result\u0054ype"` is `resultType` for every reader of a message.

use mcp_gateway::{Proxy, Sharing, Upstream};
use mcp_host::StderrLog;
use mcp_jsonrpc::RawJson;
use mcp_protocol::task::TaskOutcome;
use mcp_transport_stdio::Pipe;
use tokio::io::DuplexStream;

use super::client;
use super::handlers::ASKING;
use super::tap::relayed;
use crate::prelude::*;

const REVISIONS: [Revision; 2] = [Revision::LATEST_WITH_SESSIONS, Revision::LATEST];

/// Writes a string of a message.
type WriteString = fn(&str) -> String;

fn plain(text: &str) -> String {
    Value::from(text).to_string()
}

/// Writes a string with an escape for each character.
fn escaped(text: &str) -> String {
    let units = text.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
    format!("\"{}\"", units.collect::<String>())
}

/// Writes a value with escapes in its member names; `write` writes the other strings.
fn with_escapes(value: &Value, write: WriteString) -> String {
    match value {
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| {
                let value = with_escapes(value, write);
                format!("{}:{value}", escaped(name))
            });
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => {
            let items = items.iter().map(|item| with_escapes(item, write));
            format!("[{}]", items.collect::<Vec<_>>().join(","))
        }
        // The value of `jsonrpc` is compared as it is written.
        Value::String(text) if text != "2.0" => write(text),
        other => other.to_string(),
    }
}

/// Creates a transport to this server. With `escapes`, the messages of both sides have escapes.
fn transport(server: Server, escapes: Option<WriteString>) -> Pipe<DuplexStream, DuplexStream> {
    relayed(server, move |_, message, line| match escapes {
        Some(write) => with_escapes(&message, write),
        None => line,
    })
}

fn server() -> Server {
    everything::server().build().unwrap()
}

/// Uses the lists, the tools that request input, and tasks; returns the outcomes.
async fn outcomes(client: &Client) -> Vec<String> {
    let mut outcomes = vec![
        format!("{:?}", client.list_tools().await.unwrap()),
        format!("{:?}", client.list_prompts().await.unwrap()),
        format!("{:?}", client.list_resources().await.unwrap()),
        format!("{:?}", client.list_resource_templates().await.unwrap()),
        format!("{:?}", client.read_resource("test://static-text").await),
        format!("{:?}", client.get_prompt("test_simple_prompt").await),
    ];
    let called = async |tool: &str, arguments: Value| {
        let result = client.call_tool(tool, arguments).await;
        // The metadata of a task has its id.
        let result = result.map(|result| (result.is_error, result.content));
        format!("{tool}: {result:?}")
    };
    outcomes.push(called("add", json!({ "a": 1, "b": 2 })).await);
    outcomes.push(called("test_error_handling", json!({})).await);
    outcomes.push(called("confirm_delete", json!({ "filename": "a" })).await);
    outcomes.push(called("multi_input", json!({})).await);
    outcomes.push(called("protocol_error_job", json!({})).await);
    for (tool, _) in ASKING {
        let arguments = match *tool {
            "test_sampling" => json!({ "prompt": "Hi" }),
            "test_elicitation" => json!({ "message": "Who?" }),
            _ => json!({}),
        };
        outcomes.push(called(tool, arguments).await);
    }
    outcomes
}

#[tokio::test(start_paused = true)]
async fn a_client_and_a_server_read_strings_with_escapes() {
    for revision in REVISIONS {
        let mut seen = Vec::new();
        for escapes in [None, Some(plain as WriteString), Some(escaped)] {
            let builder = client(revision).task_calls();
            let client = builder.connect(transport(server(), escapes)).await;
            seen.push(outcomes(&client.unwrap()).await);
        }
        assert!(seen[0].iter().any(|outcome| outcome.contains("Deleted a")));
        assert_eq!(seen[0], seen[1], "names, {revision}");
        assert_eq!(seen[0], seen[2], "names and values, {revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_gateway_reads_strings_with_escapes() {
    for (server_revision, negotiation) in [
        (REVISIONS[0], Negotiation::SessionBased),
        (REVISIONS[1], Negotiation::Stateless),
    ] {
        for revision in REVISIONS {
            let mut seen = Vec::new();
            for escapes in [None, Some(plain as WriteString), Some(escaped)] {
                let server = server();
                let connector = move |_: &StderrLog| Ok(transport(server.clone(), escapes));
                let upstream = Upstream::new("escaped", connector)
                    .sharing(Sharing::All)
                    .negotiation(server_revision, negotiation);
                let proxy = Proxy::connect(upstream).await.unwrap();
                let client = connect(client(revision), proxy).await;
                seen.push(outcomes(&client.unwrap()).await);
            }
            assert_eq!(
                seen[0], seen[1],
                "names, {revision}, the server {server_revision}"
            );
            assert_eq!(
                seen[0], seen[2],
                "names and values, {revision}, the server {server_revision}"
            );
        }
    }
}

#[test]
fn the_record_of_a_task_reads_names_with_escapes() {
    for (text, expected) in [
        (r#"{"content":[],"is\u0045rror":true}"#, true),
        (r#"{"content":[],"is\u0045rror":false}"#, false),
        (r#"{"content":[],"is\u0046rror":true}"#, false),
    ] {
        let outcome = TaskOutcome::of_result(RawJson::copy(text));
        let TaskOutcome::Result { is_error, .. } = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(is_error, expected, "{text}");
    }
}
