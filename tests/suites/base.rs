//! The message layer: which messages get a response, and with which code.

use mcp_server::{Server, Tool};
use mcp_tests::wire::Wire;
use serde_json::{Value, json};

fn plain() -> Server {
    Server::new("plain", "1").tool(Tool::new("hello", || "hello"))
}

async fn open() -> Wire {
    Wire::open(plain(), "2025-11-25", json!({})).await
}

// proves: BASE-001, BASE-002, TOOL-051, PROMPT-021
#[tokio::test]
async fn a_server_with_nothing_still_speaks_the_base_protocol() {
    let server = Server::new("empty", "1").logging(false);
    let mut wire = Wire::to(server);
    let result = wire.handshake("2025-11-25", json!({})).await;
    assert_eq!(result["capabilities"], json!({}));
    for method in [
        "tools/list",
        "tools/call",
        "prompts/list",
        "prompts/get",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "resources/subscribe",
        "completion/complete",
        "logging/setLevel",
    ] {
        assert_eq!(wire.fails(method, json!({})).await, -32601, "{method}");
    }
    wire.silent().await;
    wire.close().await.unwrap();
}

// proves: BASE-007, BASE-010, SCHEMA-006
#[tokio::test]
async fn ids_are_returned_unchanged() {
    let mut wire = open().await;
    for id in [
        json!(7),
        json!("7"),
        json!("abc"),
        json!(9_007_199_254_740_991_i64),
        json!(i64::MIN),
        json!(""),
    ] {
        wire.send(json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }))
            .await;
        assert_eq!(wire.recv().await["id"], id);
        wire.send(json!({ "jsonrpc": "2.0", "id": id, "method": "no/such" }))
            .await;
        let answer = wire.recv().await;
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&id, &json!(-32601))
        );
    }
}

// proves: BASE-005, BASE-036, STDIO-003, STDIO-012, SCHEMA-004, SCHEMA-005, SCHEMA-012
#[tokio::test]
async fn a_bad_line_costs_that_line() {
    let mut wire = open().await;
    for (line, code, id) in [
        ("garbage", -32700, Value::Null),
        ("{\"jsonrpc\":\"2.0\",", -32700, Value::Null),
        ("{}{}", -32700, Value::Null),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            -32600,
            Value::Null,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            -32600,
            Value::Null,
        ),
        (
            r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#,
            -32600,
            Value::Null,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"a","method":"ping","params":[1]}"#,
            -32600,
            json!("a"),
        ),
        (r#"{"id":"b","method":"ping"}"#, -32600, json!("b")),
        (r#"{"jsonrpc":"2.0","id":"c"}"#, -32600, json!("c")),
        (
            r#"{"jsonrpc":"2.0","id":"d","method":"ping","method":"ping"}"#,
            -32600,
            json!("d"),
        ),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            -32600,
            Value::Null,
        ),
        ("[]", -32600, Value::Null),
    ] {
        wire.raw(line).await;
        let answer = wire.recv().await;
        assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
        assert_eq!(answer["id"], id, "{line}: {answer}");
    }
    wire.raw(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}")
        .await;
    assert_eq!(wire.recv().await["error"]["code"], -32700);
    let deep = "[".repeat(100) + &"]".repeat(100);
    wire.raw(format!(
        r#"{{"jsonrpc":"2.0","id":"e","method":"ping","params":{{"a":{deep}}}}}"#
    ))
    .await;
    let answer = wire.recv().await;
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!("e"), &json!(-32600))
    );
    wire.silent().await;
}

// proves: BASE-014, CANC-017, LOG-018
#[tokio::test]
async fn notifications_are_never_answered() {
    let mut wire = open().await;
    wire.notify("notifications/no_such", json!({ "x": 1 }))
        .await;
    wire.notify("notifications/cancelled", Value::Null).await;
    wire.notify("notifications/cancelled", json!({ "requestId": [1] }))
        .await;
    wire.notify("notifications/progress", json!({ "progress": "x" }))
        .await;
    wire.notify("notifications/initialized", Value::Null).await;
    wire.notify("tools/call", json!({ "name": "hello" })).await;
    wire.raw(r#"{"jsonrpc":"2.0","method":"notifications/x","params":[1]}"#)
        .await;
    wire.silent().await;
}

// proves: SCHEMA-007, TOOL-034, PROMPT-006
#[tokio::test]
async fn params_of_the_wrong_shape_are_invalid_params() {
    let mut wire = open().await;
    for params in [
        json!({}),
        json!({ "name": 5 }),
        json!({ "name": "hello", "arguments": [1] }),
        json!({ "name": "hello", "arguments": "x" }),
    ] {
        assert_eq!(
            wire.fails("tools/call", params.clone()).await,
            -32602,
            "{params}"
        );
    }
    assert_eq!(
        wire.fails("tools/list", json!({ "cursor": 5 })).await,
        -32602
    );
    assert_eq!(
        wire.fails("logging/setLevel", json!({ "level": "loud" }))
            .await,
        -32602
    );
    wire.silent().await;
}

// proves: BASE-009, BASE-028, SCHEMA-014, SCHEMA-015, LIFE-018
#[tokio::test]
async fn unknown_members_and_meta_keys_disturb_nothing() {
    let mut wire = Wire::to(plain());
    let result = wire
        .handshake(
            "2025-11-25",
            json!({ "x-foo": { "a": 1 }, "experimental": { "y": {} } }),
        )
        .await;
    assert_eq!(result["protocolVersion"], "2025-11-25");
    let meta = json!({ "io.modelcontextprotocol/unknown": [1], "com.example/x": 1, "": 2 });
    let params = json!({ "name": "hello", "extra": {}, "_meta": meta });
    assert_eq!(
        wire.call("tools/call", params).await["content"][0]["text"],
        "hello"
    );
}

// proves: BASE-008, SCHEMA-013, LOG-003, SCHEMA-017
#[tokio::test]
async fn acknowledgements_are_empty_objects() {
    let mut wire = open().await;
    assert_eq!(wire.call("ping", Value::Null).await, json!({}));
    assert_eq!(
        wire.call("logging/setLevel", json!({ "level": "info" }))
            .await,
        json!({})
    );
    let tools = wire.call("tools/list", Value::Null).await;
    assert!(!tools.to_string().contains("null"), "{tools}");
}

// proves: BASE-035
#[tokio::test]
async fn every_method_that_works_is_declared() {
    let mut wire = Wire::to(mcp_tests::everything::server());
    let declared = wire.handshake("2025-11-25", json!({})).await["capabilities"].clone();
    for (method, capability) in [
        ("tools/list", "tools"),
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resources"),
    ] {
        wire.call(method, Value::Null).await;
        assert!(declared[capability].is_object(), "{declared}");
    }
    for capability in ["logging", "completions"] {
        assert!(declared[capability].is_object(), "{declared}");
    }
}
