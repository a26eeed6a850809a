//! Messages, `_meta` and errors of every request.

use std::collections::BTreeSet;

use mcp_jsonrpc::{ErrorCode, ErrorObject};
use mcp_server::{Args, Ctx, HandlerError, Prompt, Resource, Server, Tool};
use mcp_tests::everything;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Peer, meta, named, text};

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

// proves: M-BASE-007
#[tokio::test]
async fn an_id_is_returned_with_its_type() {
    let mut peer = Peer::new(everything::server());
    for id in [
        json!("1"),
        json!(1),
        json!(0),
        json!(-7),
        json!(""),
        json!("é"),
    ] {
        let params = peer.params(json!({}));
        peer.wire
            .send(json!({ "jsonrpc": "2.0", "id": id, "method": "server/discover", "params": params }))
            .await;
        assert_eq!(peer.wire.recv().await["id"], id);
    }
}

// proves: M-BASE-002, M-BASE-003, M-BASE-005, M-BASE-016, M-STDIO-001
#[tokio::test]
async fn a_bad_line_costs_that_line() {
    let mut peer = Peer::new(everything::server());
    let good = json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/list", "params": peer.params(json!({})) });
    let with = |key: &str, value: Value| {
        let mut bad = good.clone();
        bad[key] = value;
        bad.to_string()
    };
    let without_version = good.to_string().replace(r#""jsonrpc":"2.0","#, "");
    for (line, code, id) in [
        (
            r#"{"jsonrpc":"2.0","id":9,"method":"tools/list""#.to_owned(),
            -32700,
            true,
        ),
        (r#"{"jsonrpc":"2.0","#.to_owned(), -32700, false),
        ("garbage".to_owned(), -32700, false),
        (good.to_string().repeat(2), -32700, true),
        ("[]".to_owned(), -32600, false),
        (format!("[{good}]"), -32600, false),
        (without_version, -32600, true),
        (with("jsonrpc", json!("1.0")), -32600, true),
        (with("id", Value::Null), -32600, false),
        (with("id", json!(1.5)), -32600, false),
        (with("id", json!([1])), -32600, false),
        (with("method", json!(7)), -32600, true),
    ] {
        peer.wire.raw(&line).await;
        let answer = peer.wire.recv().await;
        assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
        if id {
            assert_eq!(answer["id"], 9, "{line}: {answer}");
        } else {
            assert!(
                answer.get("id").is_none_or(Value::is_null),
                "{line}: {answer}"
            );
        }
    }
    peer.wire.send(good).await;
    assert!(peer.wire.recv().await["result"]["tools"].is_array());
}

// proves: M-BASE-022, M-CANC-014, M-CANC-018
#[tokio::test]
async fn notifications_are_never_answered() {
    let mut peer = Peer::new(everything::server());
    for (method, params) in [
        ("notifications/cancelled", json!({ "requestId": 99 })),
        ("notifications/cancelled", json!({ "requestId": [] })),
        ("notifications/cancelled", json!({})),
        ("notifications/cancelled", Value::Null),
        (
            "notifications/progress",
            json!({ "progressToken": 1, "progress": 1 }),
        ),
        ("notifications/initialized", Value::Null),
        ("notifications/roots/list_changed", Value::Null),
        ("notifications/no_such", json!({ "x": 1 })),
    ] {
        peer.wire.notify(method, params).await;
    }
    peer.silent().await;
}

// proves: M-META-015
#[tokio::test]
async fn the_declared_client_name_changes_nothing() {
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
async fn what_is_unknown_in_meta_disturbs_nothing_and_reaches_the_handler() {
    let tool = Tool::new("t", |cx: Ctx| json!(cx.meta()).to_string());
    let mut peer = Peer::new(Server::new("s", "1").tool(tool));
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

#[derive(Deserialize, JsonSchema)]
struct Code {
    code: i64,
}

/// Fails with the given code; other failures have other names.
fn failing() -> Server {
    let fails = Tool::new("fails", |Args(it): Args<Code>| {
        let error = ErrorObject::new(ErrorCode(it.code), "as asked");
        Err::<String, _>(HandlerError::protocol(error.with_data(json!("kept"))))
    });
    let empty = Tool::new("half", || {
        let error = ErrorObject::new(ErrorCode::MISSING_CLIENT_CAPABILITY, "x");
        let data = json!({ "requiredCapabilities": { "sampling": {} } });
        Err::<String, _>(HandlerError::protocol(error.with_data(data)))
    });
    Server::new("fails", "1")
        .tool(fails)
        .tool(empty)
        .tool(Tool::new("panics", || -> String { panic!("secret") }))
        .resource(Resource::new("x://gone", "gone", || {
            Err::<String, _>(HandlerError::protocol(ErrorObject::new(
                ErrorCode::RESOURCE_NOT_FOUND,
                "gone",
            )))
        }))
        .prompt(Prompt::new("fails", || Err::<String, _>("no words")))
}

// proves: M-ERR-002, M-ERR-003, M-ERR-005, M-ERR-006, M-ERR-007, M-ERR-008, M-ERR-010
#[tokio::test]
async fn protocol_codes_of_a_handler_keep_their_meaning() {
    let mut peer = Peer::new(failing());
    let mut code = async |given: i64| {
        let call = named("fails", json!({ "arguments": { "code": given } }));
        let answer = peer.answer("tools/call", call).await;
        assert_eq!(answer["error"]["message"], "as asked");
        assert_eq!(answer["error"]["data"], "kept");
        answer["error"]["code"].as_i64().unwrap()
    };
    for own in [-1, 0, 1, 4711, -31_999, -32_100, -32_603, -32_602, -40_000] {
        assert_eq!(code(own).await, own);
    }
    assert_eq!(code(-32_002).await, -32_602);
    for reserved in (-32_099..=-32_000).filter(|it| *it != -32_002) {
        assert_eq!(code(reserved).await, -32_603, "{reserved}");
    }
    // The one code that a handler can return with a reason, with its required data.
    assert_eq!(
        peer.fails("tools/call", named("half", json!({}))).await,
        -32_021
    );
    assert_eq!(
        peer.fails("resources/read", json!({ "uri": "x://gone" }))
            .await,
        -32_602
    );
    // Sessions keep their codes.
    let mut old = mcp_tests::wire::Wire::open(failing(), "2025-11-25", json!({})).await;
    for given in [-32_002, -32_001, -32_042] {
        let call = named("fails", json!({ "arguments": { "code": given } }));
        assert_eq!(old.fails("tools/call", call).await, given);
    }
}

// proves: M-BASE-017, M-BASE-018, M-BASE-020, M-ERR-001, M-PROMPT-012
#[tokio::test]
async fn errors_have_a_code_and_one_short_sentence() {
    let mut peer = Peer::new(failing());
    for (method, params, code) in [
        ("no/such", json!({}), -32601),
        ("completion/complete", json!({}), -32601),
        ("tools/call", json!({}), -32602),
        ("tools/call", json!({ "name": 7 }), -32602),
        ("tools/call", named("none", json!({})), -32602),
        (
            "tools/call",
            named("fails", json!({ "arguments": [] })),
            -32602,
        ),
        ("tools/list", json!({ "cursor": 7 }), -32602),
        ("tools/list", json!({ "cursor": "x".repeat(5_000) }), -32602),
        (
            "resources/read",
            json!({ "uri": "x".repeat(9_000) }),
            -32602,
        ),
        ("prompts/get", named(&"x".repeat(9_000), json!({})), -32602),
        ("prompts/get", named("fails", json!({})), -32603),
        ("tools/call", named("panics", json!({})), -32603),
    ] {
        let answer = peer.answer(method, params).await;
        assert_eq!(answer["error"]["code"], code, "{answer}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(
            message.len() < 300 && !message.contains(['\n', '\r']),
            "{message}"
        );
        assert!(!message.contains("secret"), "{message}");
    }
}

// proves: M-EXT-003
#[tokio::test]
async fn no_extension_is_on_by_itself() {
    let mut peer = Peer::new(Server::new("plain", "1").tool(Tool::new("add", || "5")));
    let told = peer.call("server/discover", json!({})).await;
    assert_eq!(told["capabilities"].get("extensions"), None);
}
