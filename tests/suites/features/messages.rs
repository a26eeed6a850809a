//! The message layer: which messages get a response, and with which code.

use mcp_jsonrpc::ErrorCode;
use mcp_server::ServerBuilder;

use super::{Peer, named, text};
use crate::prelude::*;

fn plain() -> ServerBuilder {
    Server::builder("plain", "1").tool(Tool::new("hello", || "hello"))
}

// proves: BASE-007, BASE-010, SCHEMA-006, M-BASE-007
#[tokio::test]
async fn an_id_is_returned_with_its_type() {
    for mut peer in Peer::both(plain()).await {
        for id in [
            json!(7),
            json!("7"),
            json!(0),
            json!(-7),
            json!("é"),
            json!(""),
            json!(9_007_199_254_740_991_i64),
            json!(i64::MIN),
        ] {
            for method in ["tools/list", "no/such"] {
                let params = peer.params(json!({}));
                let request =
                    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
                peer.wire.send(request).await;
                let answer = peer.wire.recv().await;
                assert_eq!(answer["id"], id);
                assert_eq!(
                    answer["error"]["code"] == -32601,
                    method == "no/such",
                    "{answer}"
                );
            }
        }
    }
}

// proves: BASE-005, BASE-036, STDIO-003, STDIO-012, SCHEMA-004, SCHEMA-005, SCHEMA-012
// proves: M-BASE-002, M-BASE-003, M-BASE-005, M-BASE-016, M-STDIO-001
#[tokio::test]
async fn an_invalid_line_does_not_affect_other_lines() {
    for mut peer in Peer::both(plain()).await {
        let params = peer.params(json!({}));
        let good = json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/list", "params": params });
        let with = |key: &str, value: Value| {
            let mut bad = good.clone();
            bad[key] = value;
            bad.to_string()
        };
        let without = |member: &str| good.to_string().replace(member, "");
        let deep = "[".repeat(100) + &"]".repeat(100);
        let deep: Value = serde_json::from_str(&deep).unwrap();
        let twice = good
            .to_string()
            .replacen('{', r#"{"method":"tools/list","#, 1);
        for (line, code, id) in [
            ("garbage".to_owned(), -32700, Value::Null),
            (r#"{"jsonrpc":"2.0","#.to_owned(), -32700, Value::Null),
            ("{}{}".to_owned(), -32700, Value::Null),
            (
                r#"{"jsonrpc":"2.0","id":9,"method":"tools/list""#.to_owned(),
                -32700,
                json!(9),
            ),
            (good.to_string().repeat(2), -32700, json!(9)),
            ("[]".to_owned(), -32600, Value::Null),
            (format!("[{good}]"), -32600, Value::Null),
            (without(r#""jsonrpc":"2.0","#), -32600, json!(9)),
            (without(r#""method":"tools/list","#), -32600, json!(9)),
            (twice, -32600, json!(9)),
            (with("jsonrpc", json!("1.0")), -32600, json!(9)),
            (with("id", Value::Null), -32600, Value::Null),
            (with("id", json!(1.5)), -32600, Value::Null),
            (with("id", json!(true)), -32600, Value::Null),
            (with("id", json!([1])), -32600, Value::Null),
            (with("method", json!(7)), -32600, json!(9)),
            (with("params", json!([1])), -32600, json!(9)),
            (with("params", json!({ "a": deep })), -32600, json!(9)),
        ] {
            peer.wire.raw(&line).await;
            let answer = peer.wire.recv().await;
            assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
            assert_eq!(answer["id"], id, "{line}: {answer}");
        }
        let not_utf8 = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}";
        peer.wire.raw(not_utf8).await;
        assert_eq!(peer.wire.recv().await["error"]["code"], -32700);
        peer.wire.send(good).await;
        assert!(peer.wire.recv().await["result"]["tools"].is_array());
    }
}

// proves: BASE-014, CANC-017, LOG-018, M-BASE-022, M-CANC-014, M-CANC-018
#[tokio::test]
async fn notifications_are_never_answered() {
    for mut peer in Peer::both(plain()).await {
        for (method, params) in [
            ("notifications/cancelled", json!({ "requestId": 99 })),
            ("notifications/cancelled", json!({ "requestId": [1] })),
            ("notifications/cancelled", json!({})),
            ("notifications/cancelled", Value::Null),
            (
                "notifications/progress",
                json!({ "progressToken": 1, "progress": 1 }),
            ),
            ("notifications/progress", json!({ "progress": "x" })),
            ("notifications/initialized", Value::Null),
            ("notifications/roots/list_changed", Value::Null),
            ("notifications/no_such", json!({ "x": 1 })),
            ("notifications/x", json!([1])),
            ("tools/call", json!({ "name": "hello" })),
        ] {
            peer.wire.notify(method, params).await;
        }
        peer.silent().await;
    }
}

// proves: SCHEMA-007, TOOL-034, PROMPT-006
#[tokio::test]
async fn params_of_the_wrong_shape_are_invalid_params() {
    let mut wire = PipeEnd::session(plain()).await;
    for (method, params) in [
        ("tools/call", json!({})),
        ("tools/call", json!({ "name": 5 })),
        ("tools/call", named("hello", json!({ "arguments": [1] }))),
        ("tools/call", named("hello", json!({ "arguments": "x" }))),
        ("tools/list", json!({ "cursor": 5 })),
        ("logging/setLevel", json!({ "level": "loud" })),
    ] {
        wire.expect_error(method, params, -32602).await;
    }
    wire.silent().await;
}

// proves: BASE-009, BASE-028, SCHEMA-014, SCHEMA-015, LIFE-018
#[tokio::test]
async fn unknown_members_and_meta_keys_are_ignored() {
    let mut wire = PipeEnd::to(plain());
    let capabilities = json!({ "x-foo": { "a": 1 }, "experimental": { "y": {} } });
    let result = wire.handshake("2025-11-25", capabilities).await;
    assert_eq!(result["protocolVersion"], "2025-11-25");
    let meta = json!({ "io.modelcontextprotocol/unknown": [1], "com.example/x": 1, "": 2 });
    let params = json!({ "name": "hello", "extra": {}, "_meta": meta });
    assert_eq!(text(&wire.call("tools/call", params).await), "hello");
}

// proves: BASE-008, SCHEMA-013, LOG-003, SCHEMA-017
#[tokio::test]
async fn results_without_members_are_empty_objects() {
    let mut wire = PipeEnd::session(plain()).await;
    assert_eq!(wire.call("ping", Value::Null).await, json!({}));
    let level = json!({ "level": "info" });
    assert_eq!(wire.call("logging/setLevel", level).await, json!({}));
    let tools = wire.call("tools/list", Value::Null).await;
    assert!(!tools.to_string().contains("null"), "{tools}");
}

// proves: BASE-035
#[tokio::test]
async fn every_method_that_works_is_declared() {
    let mut wire = PipeEnd::to(everything::server());
    let declared = wire.handshake("2025-11-25", json!({})).await["capabilities"].take();
    for (method, ..) in super::lists::LISTS {
        wire.call(method, Value::Null).await;
    }
    for capability in ["tools", "prompts", "resources", "logging", "completions"] {
        assert!(declared[capability].is_object(), "{declared}");
    }
}

#[derive(Deserialize, JsonSchema)]
struct Code {
    code: i64,
}

/// Creates a server whose tool `fails` returns the given code; other failures have other names.
fn failing() -> ServerBuilder {
    let fails = Tool::new("fails", |Args(given): Args<Code>| {
        let error = ErrorObject::new(ErrorCode(given.code), "as requested");
        Err::<String, _>(HandlerError::protocol(error.with_data(json!("kept"))))
    });
    let half = Tool::new("half", || {
        let error = ErrorObject::new(ErrorCode::MISSING_CLIENT_CAPABILITY, "x");
        let data = json!({ "requiredCapabilities": { "sampling": {} } });
        Err::<String, _>(HandlerError::protocol(error.with_data(data)))
    });
    let gone = Resource::new("x://gone", "gone", || {
        let error = ErrorObject::new(ErrorCode::RESOURCE_NOT_FOUND, "gone");
        Err::<String, _>(HandlerError::protocol(error))
    });
    Server::builder("fails", "1")
        .tool(fails)
        .tool(half)
        .tool(Tool::new("panics", || -> String { panic!("secret") }))
        .resource(gone)
        .prompt(Prompt::new("fails", || Err::<String, _>("no words")))
}

// proves: M-ERR-002, M-ERR-003, M-ERR-005, M-ERR-006, M-ERR-007, M-ERR-008, M-ERR-010
#[tokio::test]
async fn reserved_error_codes_of_a_handler_are_replaced_only_on_the_stateless_revision() {
    let [mut session, mut peer] = Peer::both(failing()).await;
    let call = |given: i64| named("fails", json!({ "arguments": { "code": given } }));
    let kept = [-1, 0, 1, 4711, -31_999, -32_100, -32_603, -32_602, -40_000];
    let kept = kept.map(|code| (code, code)).into_iter();
    let reserved = (-32_099..=-32_000).filter(|code| *code != -32_002);
    let replaced = reserved.map(|code| (code, -32_603));
    for (given, code) in kept.chain([(-32_002, -32_602)]).chain(replaced) {
        let error = peer.expect_error("tools/call", call(given), code).await;
        assert_eq!(error["message"], "as requested");
        assert_eq!(error["data"], "kept");
    }
    // The one code that a handler can return with a reason, with its required data.
    let half = named("half", json!({}));
    peer.expect_error("tools/call", half, -32_021).await;
    let gone = json!({ "uri": "x://gone" });
    peer.expect_error("resources/read", gone, -32_602).await;
    // Sessions keep their codes.
    for given in [-32_002, -32_001, -32_042] {
        session.expect_error("tools/call", call(given), given).await;
    }
}

/// Asserts that the message of an error is one short line without internals.
fn check_message(error: &Value) {
    let message = error["message"].as_str().unwrap();
    assert!(
        message.len() < 400 && !message.contains(['\n', '\r']),
        "{message}"
    );
    assert!(!message.contains("secret"), "{message}");
}

// proves: SCHEMA-010, M-BASE-017, M-BASE-018, M-BASE-020, M-ERR-001, M-ERR-015, M-PROMPT-012
#[tokio::test]
async fn errors_have_a_code_and_one_short_sentence() {
    let long = "x".repeat(9_000);
    for mut peer in Peer::both(failing()).await {
        let missing = if peer.is_stateless { -32602 } else { -32002 };
        for (method, params, code) in [
            ("no/such", json!({}), -32601),
            (&*long, json!({}), -32601),
            (
                "completion/complete",
                json!({ "ref": { "type": long } }),
                -32601,
            ),
            ("tools/call", json!({}), -32602),
            ("tools/call", json!({ "name": 7 }), -32602),
            ("tools/call", named("none", json!({})), -32602),
            ("tools/call", named(&long, json!({})), -32602),
            (
                "tools/call",
                named("fails", json!({ "arguments": [1] })),
                -32602,
            ),
            ("tools/call", named("panics", json!({})), -32603),
            ("tools/list", json!({ "cursor": 7 }), -32602),
            ("tools/list", json!({ "cursor": long }), -32602),
            (
                "resources/read",
                json!({ "uri": "x".repeat(5_000) }),
                missing,
            ),
            ("resources/read", json!({ "uri": long }), -32602),
            (
                "prompts/get",
                named(&format!("a\nb{long}"), json!({})),
                -32602,
            ),
            ("prompts/get", named("fails", json!({})), -32603),
        ] {
            check_message(&peer.expect_error(method, params, code).await);
        }
    }
    let mut wire = PipeEnd::session(everything::server()).await;
    for (method, params) in [
        ("completion/complete", json!({ "ref": { "type": long } })),
        ("logging/setLevel", json!({ "level": long })),
    ] {
        check_message(&wire.expect_error(method, params, -32602).await);
    }
}

// proves: SCHEMA-037, SCHEMA-039
#[tokio::test]
async fn a_server_routes_every_method_and_notification_of_a_client() {
    let mut wire = PipeEnd::session(everything::server()).await;
    let prompt = json!({ "type": "ref/prompt", "name": "test_prompt_with_arguments" });
    let argument = json!({ "name": "arg1", "value": "" });
    let text = json!({ "uri": "test://static-text" });
    for (method, params) in [
        ("ping", Value::Null),
        (
            "completion/complete",
            json!({ "ref": prompt, "argument": argument }),
        ),
        ("logging/setLevel", json!({ "level": "error" })),
        ("prompts/list", Value::Null),
        ("prompts/get", json!({ "name": "test_simple_prompt" })),
        ("resources/list", Value::Null),
        ("resources/templates/list", Value::Null),
        ("resources/read", text.clone()),
        ("resources/subscribe", text.clone()),
        ("resources/unsubscribe", text),
        ("tools/list", Value::Null),
        ("tools/call", json!({ "name": "test_simple_text" })),
    ] {
        wire.call(method, params).await;
    }
    for method in [
        "roots/list",
        "sampling/createMessage",
        "elicitation/create",
        "tools/Call",
        "",
    ] {
        wire.expect_error(method, json!({}), -32601).await;
    }
    for (notification, params) in [
        ("cancelled", json!({ "requestId": 1 })),
        ("progress", json!({ "progressToken": 1, "progress": 1 })),
        ("initialized", Value::Null),
        ("roots/list_changed", Value::Null),
        (
            "tasks/status",
            json!({ "taskId": "t", "status": "working" }),
        ),
    ] {
        wire.notify(&format!("notifications/{notification}"), params)
            .await;
    }
    wire.silent().await;
}
