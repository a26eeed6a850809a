//! A recorded session with the whole server, cut at every byte: no panic, no hang, no torn frame,
//! and no id with two responses.

use std::collections::HashSet;

use mcp_tests::wire::{check_envelope, initialize_params};
use mcp_transport_stdio::{StdioOptions, serve_io_with};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::prelude::*;

fn session() -> Vec<u8> {
    let request = |id: i64, method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    let call = |id: i64, name: &str, arguments: Value| {
        request(
            id,
            "tools/call",
            json!({ "name": name, "arguments": arguments }),
        )
    };
    let capabilities = json!({ "elicitation": {}, "roots": {}, "sampling": {} });
    let lines = [
        request(
            0,
            "initialize",
            initialize_params("2025-11-25", capabilities),
        ),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        call(1, "echo", json!({ "message": "emoji 🎉 and \n newline" })),
        call(2, "wait_for_cancel", json!({})),
        call(3, "test_list_roots", json!({})),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 2 } }),
        request(
            4,
            "resources/read",
            json!({ "uri": "test://template/7/data" }),
        ),
        call(5, "get_weather", json!({ "location": 5 })),
        request(6, "prompts/get", json!({ "name": "no such" })),
        request(7, "ping", json!({})),
    ];
    lines
        .iter()
        .map(|line| format!("{line}\n"))
        .collect::<String>()
        .into_bytes()
}

/// Plays the beginning of a session and returns the server's output.
async fn play(input: &[u8]) -> Vec<u8> {
    let (mut client_write, server_read) = tokio::io::duplex(1 << 16);
    let (server_write, mut client_read) = tokio::io::duplex(1 << 16);
    let options = StdioOptions::for_server().with_shutdown_timeout(Duration::from_millis(20));
    let server = everything::server();
    let serving = tokio::spawn(serve_io_with(server, server_read, server_write, options));
    client_write.write_all(input).await.unwrap();
    drop(client_write);
    let mut said = Vec::new();
    client_read.read_to_end(&mut said).await.unwrap();
    serving.await.expect("no panic").expect("an orderly end");
    said
}

#[tokio::test(start_paused = true)]
async fn a_session_may_end_at_any_byte() {
    let session = session();
    for end in 0..=session.len() {
        let said = play(&session[..end]).await;
        assert!(
            said.is_empty() || said.ends_with(b"\n"),
            "a torn frame at {end}"
        );
        let mut answered = HashSet::new();
        for line in said
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            let message: Value = serde_json::from_slice(line).expect("whole JSON");
            check_envelope(&message);
            if message.get("method").is_none()
                && let Some(id) = message.get("id")
            {
                assert!(answered.insert(id.to_string()), "{id} twice at {end}");
            }
        }
        if end == session.len() {
            for id in [0, 1, 4, 5, 6, 7] {
                assert!(answered.contains(&id.to_string()), "no answer to {id}");
            }
            assert!(!answered.contains("2"), "a cancelled request was answered");
        }
    }
}
