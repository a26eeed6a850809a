//! Batches and unreadable lines.

use super::REVISIONS;
use crate::prelude::*;

#[tokio::test]
async fn batches_belong_to_2025_03_26() {
    let ping = |id: i64| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
    let batch = json!([
        ping(1),
        { "jsonrpc": "2.0", "method": "notifications/x" },
        { "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "test_tool_with_progress" } },
        { "jsonrpc": "2.0", "id": 3, "method": "no/such" },
        { "jsonrpc": "2.0", "id": 4, "method": "initialize", "params": {} },
        5
    ]);
    for revision in REVISIONS {
        let mut wire = PipeEnd::open(everything::server(), revision, json!({})).await;
        wire.send(batch.clone()).await;
        if revision != "2025-03-26" {
            assert_eq!(wire.recv().await["error"]["code"], -32600, "{revision}");
            wire.silent().await;
            continue;
        }
        let answers = wire.recv().await;
        let answers = answers.as_array().expect("one array");
        let answer = |id: i64| answers.iter().find(|a| a["id"] == id).expect("an answer");
        assert_eq!(answers.len(), 5, "{answers:?}");
        assert_eq!(answer(1)["result"], json!({}));
        assert_eq!(
            answer(2)["result"]["content"][0]["text"],
            "Progress reported"
        );
        assert_eq!(answer(3)["error"]["code"], -32601);
        assert_eq!(answer(4)["error"]["code"], -32600);
        assert!(
            answers
                .iter()
                .any(|a| a.get("id").is_none() && a["error"]["code"] == -32600)
        );
        wire.send(json!([{ "jsonrpc": "2.0", "method": "notifications/x" }]))
            .await;
        wire.silent().await;
        wire.raw("[]").await;
        assert_eq!(wire.recv().await["error"]["code"], -32600);
        let many: Vec<Value> = (0..65).map(ping).collect();
        wire.send(json!(many)).await;
        assert_eq!(wire.recv().await["error"]["code"], -32600);
        wire.silent().await;
    }
}

#[tokio::test]
async fn a_cancelled_member_of_a_batch_has_no_answer() {
    let mut wire = PipeEnd::open(everything::server(), "2025-03-26", json!({})).await;
    let call = |id: i64, name: &str| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": name } });
    wire.send(json!([
        call(10, "wait_for_cancel"),
        call(11, "test_simple_text")
    ]))
    .await;
    wire.silent().await;
    wire.cancel(&json!(10)).await;
    let answers = wire.recv().await;
    assert_eq!(answers.as_array().map(Vec::len), Some(1), "{answers}");
    assert_eq!(answers[0]["id"], 11);
}

#[tokio::test]
async fn a_client_of_2025_03_26_accepts_batches() {
    let builder = Client::builder("host", "1");
    let (mut wire, client) = PipeEnd::accept(builder, "2025-03-26", json!({ "tools": {} })).await;
    let call = |name: &str| {
        let call = client.call_tool(name, json!({}));
        tokio::spawn(async move { call.await })
    };
    let (a, b) = (call("a"), call("b"));
    let (first, second) = (
        wire.expect("tools/call").await,
        wire.expect("tools/call").await,
    );
    let answer = |request: &Value| json!({ "jsonrpc": "2.0", "id": request["id"], "result": { "content": [] } });
    let ping = json!({ "jsonrpc": "2.0", "id": "p", "method": "ping" });
    wire.send(json!([answer(&first), ping, answer(&second)]))
        .await;
    a.await.unwrap().unwrap();
    b.await.unwrap().unwrap();
    assert_eq!(wire.recv().await[0]["id"], "p");
}

/// Errors without an id exist since 2025-11-25; earlier revisions get no response.
#[tokio::test]
async fn unreadable_lines_are_answered_without_id_only_where_that_exists() {
    for revision in REVISIONS {
        let mut wire = PipeEnd::open(everything::server(), revision, json!({})).await;
        wire.raw("garbage").await;
        if revision == "2025-11-25" {
            assert_eq!(wire.recv().await["error"]["code"], -32700);
        }
        wire.silent().await;
        wire.raw(r#"{"jsonrpc":"2.0","id":"k","method":5}"#).await;
        assert_eq!(wire.recv().await["id"], "k");
    }
}
