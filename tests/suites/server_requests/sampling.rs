//! Sampling.

use mcp_protocol::AskError;
use mcp_server::ServerBuilder;
use mcp_types::{CreateMessageRequestParams, Role, SamplingMessage};

use super::{Peer, answered, asked, failed, text, undeclared};
use crate::prelude::*;

/// Creates a server whose tool `ask` sends these params, which may break the rules, and returns the
/// number of content blocks and the stop reason.
fn sampling(params: &Value) -> ServerBuilder {
    let params: CreateMessageRequestParams = serde_json::from_value(params.clone()).unwrap();
    Server::builder("s", "1").tool(Tool::new("ask", move |cx: Ctx| {
        let params = params.clone();
        async move {
            let answer = cx.sample(params).await?;
            let reason = answer.stop_reason.map(|reason| reason.as_str().to_owned());
            let reason = reason.unwrap_or_default();
            Ok::<_, AskError>(format!("{} {reason}", answer.content.len()))
        }
    }))
}

fn said(role: &str) -> Value {
    json!({ "role": role, "content": { "type": "text", "text": "x" } })
}

fn params(messages: Value) -> Value {
    json!({ "messages": messages, "maxTokens": 5 })
}

// proves: SAMP-007, SAMP-008, SAMP-009, SAMP-010, LIFE-020
// proves: M-SAMP-004, M-SAMP-006, M-SAMP-007, M-DEPR-005, M-META-010, M-MRTR-021
#[tokio::test]
async fn sampling_uses_only_declared_capabilities() {
    let plain = params(json!([said("user")]));
    let with = |member: &str, value: Value| {
        let mut params = plain.clone();
        params[member] = value;
        params
    };
    let tool = json!({ "name": "t", "inputSchema": { "type": "object" } });
    let tools = with("tools", json!([tool]));
    let choice = with("toolChoice", json!({ "mode": "none" }));
    let any = json!({ "sampling": {} });
    let with_tools = json!({ "sampling": { "tools": {} } });
    let with_context = json!({ "sampling": { "context": {} } });
    for is_stateless in [false, true] {
        let open = async |params: &Value, capabilities: &Value| {
            Peer::open(sampling(params), capabilities.clone(), is_stateless).await
        };
        for params in [&plain, &tools, &choice] {
            let mut peer = open(params, &json!({})).await;
            undeclared(&mut peer, any.clone(), "sampling").await;
        }
        for params in [&tools, &choice] {
            let mut peer = open(params, &any).await;
            undeclared(&mut peer, with_tools.clone(), "sampling.tools").await;
        }
        let request = asked(&mut open(&tools, &with_tools).await, "ask").await;
        assert_eq!(request["params"]["tools"][0]["name"], "t");
        // The context is omitted unless it is requested and supported.
        let request = asked(&mut open(&plain, &with_context).await, "ask").await;
        assert_eq!(request["method"], "sampling/createMessage");
        assert_eq!(request["params"], plain);
        for context in ["allServers", "thisServer", "none"] {
            let wants = with("includeContext", json!(context));
            let request = asked(&mut open(&wants, &any).await, "ask").await;
            let sent = &request["params"]["includeContext"];
            assert!(sent.is_null() || sent == "none", "{request}");
            let request = asked(&mut open(&wants, &with_context).await, "ask").await;
            assert_eq!(request["params"]["includeContext"], context);
        }
    }
}

// proves: SAMP-014, SAMP-015, SAMP-016, SAMP-027
// proves: M-SAMP-008, M-SAMP-009, M-SAMP-011, M-SAMP-025, M-SAMP-027
#[tokio::test]
async fn a_sampling_request_that_violates_the_rules_is_never_sent() {
    let uses = |id: &str| json!({ "type": "tool_use", "id": id, "name": "t", "input": {} });
    let result = |id: &str| json!({ "type": "tool_result", "toolUseId": id, "content": [] });
    let user = |blocks: &[Value]| json!({ "role": "user", "content": blocks });
    let used = json!({ "role": "assistant", "content": [uses("a"), uses("b")] });
    let words = json!({ "type": "text", "text": "x" });
    let (a, b, c) = (result("a"), result("b"), result("c"));
    let mut urgent = params(json!([said("user")]));
    urgent["modelPreferences"] = json!({ "speedPriority": 1.5 });
    let fine = params(json!([used, user(&[a.clone(), b.clone()])]));
    let mixed = user(&[a.clone(), b, words]);
    let one_result = user(std::slice::from_ref(&a));
    let wrong_result = user(&[a, c.clone()]);
    for is_stateless in [false, true] {
        let open = async |params: &Value| {
            let capabilities = json!({ "sampling": { "tools": {} } });
            Peer::open(sampling(params), capabilities, is_stateless).await
        };
        for (messages, fragment) in [
            (json!([said("user"), used]), "no message has their results"),
            (json!([used, said("user")]), "exactly one result"),
            (json!([used, one_result]), "exactly one result"),
            (json!([used, wrong_result]), "exactly one result"),
            (json!([used, mixed]), "mixes"),
            (
                json!([user(std::slice::from_ref(&c))]),
                "the previous message has no tool use",
            ),
            (json!([said("system")]), "unknown role"),
        ] {
            failed(&mut open(&params(messages)).await, fragment).await;
        }
        failed(&mut open(&urgent).await, "speedPriority").await;
        asked(&mut open(&fine).await, "ask").await;
    }
}

// proves: SAMP-012, SAMP-013, SAMP-026, M-SAMP-020, M-SAMP-023
#[tokio::test]
async fn both_shapes_of_content_and_any_stop_reason_are_read() {
    let server = sampling(&params(json!([said("user")]))).build().unwrap();
    let block = json!({ "type": "text", "text": "x" });
    let used = |id: &str| json!({ "type": "tool_use", "id": id, "name": "t", "input": {} });
    let answer = |content: Value, reason: &str| json!({ "role": "assistant", "content": content, "model": "m", "stopReason": reason });
    let capabilities = json!({ "sampling": { "tools": {} } });
    for is_stateless in [false, true] {
        let mut peer = Peer::open(server.clone(), capabilities.clone(), is_stateless).await;
        for (content, reason, count) in [
            (block.clone(), "endTurn", 1),
            (json!([block]), "end_turn", 1),
            (json!([block]), "out_of_paper", 1),
            (json!([used("a"), used("b")]), "toolUse", 2),
        ] {
            let result = answered(&mut peer, "ask", answer(content, reason)).await;
            assert_eq!(text(&result), format!("{count} {reason}"));
        }
    }
    let mut peer = Peer::with(server, json!({ "sampling": {} }));
    for content in [
        json!("x"),
        json!([7]),
        json!({ "type": "image" }),
        Value::Null,
    ] {
        let again = answered(&mut peer, "ask", answer(content, "endTurn")).await;
        assert_eq!(again["resultType"], "input_required", "{again}");
    }
}

// proves: SAMP-031, SAMP-032
#[tokio::test]
async fn meta_of_tool_uses_and_results_is_returned_unchanged() {
    let server = Server::builder("s", "1").tool(Tool::new("ask", async |cx: Ctx| {
        let mut params = CreateMessageRequestParams::new(vec![SamplingMessage::user("x")], 5);
        params.tools = Some(Vec::new());
        let answer = cx.sample(params.clone()).await?;
        let used = SamplingMessage::new(Role::Assistant, answer.content);
        let result = json!({ "type": "tool_result", "toolUseId": "a", "content": [], "_meta": { "com.example/r": 2 } });
        let result = json!({ "role": "user", "content": [result] });
        params.messages.extend([used, serde_json::from_value(result).unwrap()]);
        cx.sample(params).await.map(|answer| answer.model)
    }));
    let mut peer = Peer::session(server, json!({ "sampling": { "tools": {} } })).await;
    let request = asked(&mut peer, "ask").await;
    let used = json!({
        "type": "tool_use", "id": "a", "name": "t", "input": { "x": 1 }, "_meta": { "com.example/u": [1] }
    });
    let answer = json!({ "role": "assistant", "content": [used], "model": "m" });
    peer.wire.answer(&request, answer).await;
    let messages = peer.wire.recv().await["params"]["messages"].take();
    assert_eq!(messages[1]["content"], json!([used]));
    let expected = json!({ "com.example/r": 2 });
    assert_eq!(messages[2]["content"][0]["_meta"], expected);
}

// proves: M-SAMP-028
#[tokio::test]
async fn meta_of_tool_uses_and_results_is_sent_unchanged() {
    let meta = json!({ "com.example/thought": ["signed"] });
    let uses = json!({ "type": "tool_use", "id": "a", "name": "t", "input": {}, "_meta": meta });
    let result = json!({ "type": "tool_result", "toolUseId": "a", "content": [], "_meta": meta });
    let messages = json!([
        { "role": "assistant", "content": [uses] },
        { "role": "user", "content": [result] }
    ]);
    let capabilities = json!({ "sampling": { "tools": {} } });
    let mut peer = Peer::with(sampling(&params(messages)), capabilities);
    let sent = asked(&mut peer, "ask").await["params"]["messages"].take();
    assert_eq!(sent[0]["content"][0]["_meta"], meta);
    assert_eq!(sent[1]["content"][0]["_meta"], meta);
}

// proves: M-SAMP-011
#[tokio::test]
async fn a_sampling_message_is_written_with_role_and_content() {
    let content = json!({ "type": "text", "text": "Hi" });
    let message = json!({ "role": "user", "content": content });
    assert_eq!(json!(SamplingMessage::user("Hi")), message);
}
