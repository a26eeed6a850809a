//! Messages, `_meta` and errors of every request.

use std::collections::BTreeSet;

use super::{Peer, meta, named, text};
use crate::prelude::*;

/// One request of each method, all of which succeed on the server with all features.
fn one_of_each() -> Vec<(&'static str, Value)> {
    let prompt = json!({ "type": "ref/prompt", "name": "test_prompt_with_arguments" });
    let argument = json!({ "name": "arg1", "value": "p" });
    vec![
        ("server/discover", json!({})),
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("tools/call", named("test_simple_text", json!({}))),
        ("prompts/get", named("test_simple_prompt", json!({}))),
        ("resources/read", json!({ "uri": "test://static-text" })),
        (
            "completion/complete",
            json!({ "ref": prompt, "argument": argument }),
        ),
    ]
}

// proves: M-BASE-008, M-BASE-009, M-BASE-010, M-META-013, M-META-014, M-META-021, M-CACHE-001, M-CACHE-015
#[tokio::test]
async fn every_result_has_a_type_and_the_server_identity() {
    let mut peer = Peer::new(everything::server());
    for (method, params) in one_of_each() {
        let answer = peer.answer(method, params).await;
        let result = answer["result"]
            .as_object()
            .unwrap_or_else(|| panic!("{answer}"));
        assert_eq!(result["resultType"], "complete", "{method}");
        let identity = json!({ "io.modelcontextprotocol/serverInfo": {
            "name": "everything", "title": "Everything", "version": env!("CARGO_PKG_VERSION"),
            "description": "One of each thing a server can have"
        } });
        assert_eq!(result["_meta"], identity, "{method}: that and nothing else");
        assert!(!result.contains_key("serverInfo"), "{method}");
        let cacheable = !matches!(method, "tools/call" | "prompts/get" | "completion/complete");
        let hints = (result.get("ttlMs"), result.get("cacheScope"));
        let none = (&json!(0), &json!("private"));
        assert_eq!(
            hints,
            (cacheable.then_some(none.0), cacheable.then_some(none.1)),
            "{method}"
        );
    }
}

// proves: M-META-015
#[tokio::test]
async fn the_declared_client_name_does_not_change_any_response() {
    let mut peer = Peer::new(everything::server());
    for (method, params) in one_of_each() {
        let mut answers = BTreeSet::new();
        for name in ["claude", "inspector", ""] {
            let mut meta = meta(json!({}));
            meta["io.modelcontextprotocol/clientInfo"]["name"] = json!(name);
            let mut params = params.clone();
            params["_meta"] = meta;
            answers.insert(peer.wire.call(method, params).await.to_string());
        }
        assert_eq!(answers.len(), 1, "{method}");
    }
}

// proves: M-META-018, M-META-027
#[tokio::test]
async fn unknown_meta_keys_are_ignored_and_reach_the_handler() {
    let tool = Tool::new("t", |cx: Ctx| json!(cx.meta()).to_string());
    let mut peer = Peer::new(Server::builder("s", "1").tool(tool));
    let mut params = peer.params(named("t", json!({})));
    for (key, value) in [
        ("io.modelcontextprotocol/unheard-of", json!({ "a": [1] })),
        ("traceparent", json!("not a trace parent")),
        ("tracestate", json!("a=b")),
        ("baggage", json!(7)),
        ("com.example/x", Value::Null),
    ] {
        params["_meta"][key] = value;
    }
    let said = text(&peer.wire.call("tools/call", params.clone()).await).to_owned();
    assert_eq!(
        serde_json::from_str::<Value>(&said).unwrap(),
        params["_meta"]
    );
}

// proves: M-EXT-003
#[tokio::test]
async fn no_extension_is_enabled_by_default() {
    let mut peer = Peer::new(Server::builder("plain", "1").tool(Tool::new("add", || "5")));
    let told = peer.call("server/discover", json!({})).await;
    assert_eq!(told["capabilities"].get("extensions"), None);
}
