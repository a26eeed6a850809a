//! Tools as a client sees them: registration, visibility, calls.

use mcp_jsonrpc::ErrorObject;
use mcp_server::Json;
use mcp_types::JsonObject;

use crate::prelude::*;

async fn open(server: Server) -> Wire {
    Wire::open(server, "2025-11-25", json!({})).await
}

#[derive(Deserialize, JsonSchema)]
struct Order {
    /// How many.
    count: u32,
    note: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Bill {
    total: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Maybe {
    some: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Bounded {
    #[schemars(range(max = 10))]
    n: u32,
    note: Option<String>,
}

fn orders() -> Tool {
    Tool::new("order", |Args(order): Args<Order>| {
        let _ = order.note;
        Json(Bill {
            total: order.count * 3,
        })
    })
    .description("Orders")
    .title("Order")
}

// proves: TOOL-007, TOOL-008, TOOL-013, TOOL-014, BASE-024
#[tokio::test]
async fn tools_are_listed_with_their_schemas() {
    let server = Server::new("s", "1")
        .tool(Tool::new("none", || "x"))
        .tool(orders());
    let mut wire = open(server).await;
    for params in [Value::Null, json!({})] {
        let result = wire.call("tools/list", params).await;
        assert!(result.get("nextCursor").is_none());
        let tools = result["tools"].as_array().unwrap();
        assert_eq!(
            tools[0],
            json!({ "name": "none", "inputSchema": { "type": "object", "additionalProperties": false } })
        );
        assert_eq!(tools[1]["title"], "Order");
        let input = &tools[1]["inputSchema"];
        assert_eq!(input["type"], "object");
        assert_eq!(input["properties"]["count"]["description"], "How many.");
        assert_eq!(input["required"], json!(["count"]));
        assert_eq!(input["properties"]["note"]["type"], "string");
        assert_eq!(tools[1]["outputSchema"]["type"], "object");
    }
}

// proves: TOOL-010, TOOL-011, TOOL-028, TOOL-029, TOOL-030, TOOL-032, TOOL-037, TOOL-042
#[tokio::test]
async fn arguments_and_output_keep_their_schemas() {
    let called = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&called);
    let server = Server::new("s", "1")
        .tool(Tool::new("none", || "x"))
        .tool(orders())
        .tool(Tool::new("strict", move |Args(order): Args<Order>| {
            seen.store(true, Ordering::SeqCst);
            order.count
        }))
        .tool(Tool::new("list", || Json(vec![1, 2])))
        .tool(Tool::new("maybe", |Args(maybe): Args<Maybe>| {
            Json(maybe.some.then_some(Bill { total: 1 }))
        }))
        .tool(Tool::new("bounded", |Args(bounded): Args<Bounded>| {
            bounded.note.unwrap_or_default().len() as u64 + u64::from(bounded.n)
        }))
        .tool(
            Tool::new("liar", || json!({ "total": "three" })).output_schema(
                json!({ "type": "object", "properties": { "total": { "type": "integer" } } })
                    .as_object()
                    .unwrap()
                    .clone(),
            ),
        );
    let mut wire = open(server).await;
    let call = json!({ "name": "none" });
    assert_eq!(
        wire.call("tools/call", call).await["content"][0]["text"],
        "x"
    );
    let result = wire.tool("order", json!({ "count": 2 })).await;
    assert_eq!(result["structuredContent"], json!({ "total": 6 }));
    let text = result["content"][0]["text"].as_str().unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(text).unwrap(),
        result["structuredContent"]
    );
    for (bad, pointer) in [
        (json!({ "count": "2" }), "/count"),
        (json!({ "count": -1 }), "/count"),
        (json!({ "count": 1, "note": 5 }), "/note"),
        (json!({}), "count"),
    ] {
        let result = wire.tool("strict", bad.clone()).await;
        assert_eq!(result["isError"], true, "{bad}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(pointer), "{text}");
    }
    assert!(!called.load(Ordering::SeqCst));
    assert_eq!(wire.tool("none", json!({ "x": 1 })).await["isError"], true);
    for (tool, arguments, structured) in [
        (
            "maybe",
            json!({ "some": true }),
            json!({ "result": { "total": 1 } }),
        ),
        ("maybe", json!({ "some": false }), json!({ "result": null })),
        (
            "maybe",
            json!({ "some": true, "extra": null }),
            json!({ "result": { "total": 1 } }),
        ),
    ] {
        let result = wire.tool(tool, arguments).await;
        assert_eq!(result["structuredContent"], structured, "{result}");
        assert_eq!(result["content"][0]["text"], structured.to_string());
    }
    assert_eq!(
        wire.tool("bounded", json!({ "n": 11 })).await["isError"],
        true
    );
    assert!(
        wire.tool("bounded", json!({ "n": 10, "note": null }))
            .await
            .get("isError")
            .is_none()
    );
    let list = wire.tool("list", json!({})).await;
    assert_eq!(list["structuredContent"], json!({ "result": [1, 2] }));
    let liar = wire.tool("liar", json!({})).await;
    assert_eq!(liar["isError"], true, "{liar}");
    assert!(liar.get("structuredContent").is_none(), "{liar}");
}

// proves: TOOL-033, TOOL-036, TOOL-018, TOOL-039
#[tokio::test]
async fn failures_of_tools_are_results_and_unknown_tools_are_errors() {
    let server = Server::new("s", "1")
        .tool(Tool::new("fails", || {
            Err::<String, _>(std::io::Error::other("disk full"))
        }))
        .tool(Tool::new("refuses", || {
            Err::<String, _>(HandlerError::protocol(ErrorObject::internal("closed")))
        }))
        .tool(Tool::new("getUser", || "upper"))
        .tool(Tool::new("getuser", || "lower"));
    let mut wire = open(server).await;
    let failed = wire.tool("fails", json!({})).await;
    assert_eq!(failed["isError"], true);
    assert_eq!(failed["content"][0]["text"], "disk full");
    wire.expect_error("tools/call", json!({ "name": "refuses" }), -32603)
        .await;
    wire.expect_error("tools/call", json!({ "name": "FAILS" }), -32602)
        .await;
    assert_eq!(
        wire.tool("getUser", json!({})).await["content"][0]["text"],
        "upper"
    );
    let lower = wire.tool("getuser", json!({})).await;
    assert_eq!(lower["content"][0]["text"], "lower");
    assert!(lower.get("isError").is_none());
}

// proves: TOOL-017, TOOL-019, TOOL-020, TOOL-021, RES-022, RES-023, RES-027, BASE-026, M-TOOL-019, M-TOOL-021, M-TOOL-022, M-TOOL-023, M-RES-013, M-RES-023, M-SCHEMA-007
#[tokio::test]
async fn what_cannot_be_registered_is_refused_by_name() {
    let server = Server::new("s", "1").tool(Tool::new("taken", || "x"));
    let long = "x".repeat(129);
    for name in ["", &long, "my tool", "a,b", "a/b", "ümlaut"] {
        let error = server.add_tools([Tool::new(name, || "x")]).unwrap_err();
        assert!(error.to_string().contains("1 to 128"), "{error}");
    }
    let fits = "x".repeat(128);
    server.add_tools([Tool::new(fits, || "x")]).unwrap();
    let error = server.add_tools([Tool::new("taken", || "y")]).unwrap_err();
    assert!(error.to_string().contains("taken"), "{error}");
    let foreign = json!({ "type": "object", "$schema": "https://example.com/dialect" });
    let error = server
        .add_tools([Tool::dynamic("d", foreign, |Args(_): Args<JsonObject>| "x")])
        .unwrap_err();
    assert!(
        error.to_string().contains("https://example.com/dialect"),
        "{error}"
    );
    let error = server
        .add_tools([Tool::dynamic(
            "d",
            json!(null),
            |Args(_): Args<JsonObject>| "x",
        )])
        .unwrap_err();
    assert!(error.to_string().contains("object"), "{error}");
    let error = server
        .add_resources([Resource::text("my scheme://x", "x", "")])
        .unwrap_err();
    assert!(error.to_string().contains("my scheme"), "{error}");
    for notes in [
        json!({ "priority": 1.5 }),
        json!({ "priority": -0.1 }),
        json!({ "lastModified": "yesterday" }),
    ] {
        let resource =
            Resource::text("x://y", "y", "").annotations(serde_json::from_value(notes).unwrap());
        assert!(server.add_resources([resource]).is_err());
    }
    let notes = json!({ "priority": 1.0, "lastModified": "2025-01-12T15:00:58.5+01:00" });
    let resource =
        Resource::text("x://y", "y", "").annotations(serde_json::from_value(notes).unwrap());
    server.add_resources([resource]).unwrap();
    let served = Server::new("s", "1").tool(Tool::new("no good", || "x"));
    let error = Wire::to(served).close().await.unwrap_err();
    assert!(error.to_string().contains("no good"), "{error}");
}

// proves: TOOL-012, TOOL-006, PROMPT-007, PROMPT-002, RES-011
#[tokio::test]
async fn a_changed_list_is_announced_if_that_was_promised() {
    let build = |announce| everything::server().announce_changes(announce);
    let server = build(true);
    let mut wire = open(server.clone()).await;
    for (list, method) in [
        (
            "test_trigger_tool_change",
            "notifications/tools/list_changed",
        ),
        (
            "test_trigger_prompt_change",
            "notifications/prompts/list_changed",
        ),
        (
            "test_trigger_resource_change",
            "notifications/resources/list_changed",
        ),
    ] {
        let id = wire.request("tools/call", json!({ "name": list })).await;
        for _ in 0..2 {
            wire.expect(method).await;
        }
        assert_eq!(wire.recv().await["id"], id);
    }
    let mut quiet = Wire::to(build(false));
    let result = quiet.handshake("2025-11-25", json!({})).await;
    assert!(
        !result["capabilities"].to_string().contains("listChanged"),
        "{result}"
    );
    quiet.tool("test_trigger_tool_change", json!({})).await;
    quiet.tool("test_trigger_prompt_change", json!({})).await;
    quiet.silent().await;
}

// proves: TOOL-043, RES-031, RES-033, COMP-019
#[tokio::test]
async fn a_guard_refuses_before_anything_is_served() {
    let open_door = Arc::new(AtomicBool::new(true));
    let door = Arc::clone(&open_door);
    let server = everything::server().guard(move |request| {
        if door.load(Ordering::SeqCst) || request.target.is_none() {
            return Ok(());
        }
        Err(ErrorObject::internal(format!(
            "{} is closed",
            request.method
        )))
    });
    let mut wire = open(server).await;
    let requests = [
        ("tools/call", json!({ "name": "test_simple_text" })),
        ("resources/read", json!({ "uri": "test://static-text" })),
        ("prompts/get", json!({ "name": "test_simple_prompt" })),
        (
            "completion/complete",
            json!({
                "ref": { "type": "ref/prompt", "name": "test_prompt_with_arguments" },
                "argument": { "name": "arg1", "value": "p" }
            }),
        ),
    ];
    for (method, params) in &requests {
        wire.call(method, params.clone()).await;
    }
    open_door.store(false, Ordering::SeqCst);
    for (method, params) in &requests {
        wire.expect_error(method, params.clone(), -32603).await;
    }
}

#[tokio::test]
async fn what_a_session_may_not_see_it_can_neither_list_nor_call() {
    let friends_only = |session: &mcp_protocol::Session| {
        session
            .client()
            .is_some_and(|client| client.name == "friend")
    };
    let server = Server::new("s", "1")
        .tool(Tool::new("all", || "x"))
        .tool(Tool::new("friends", || "y").visible_if(friends_only));
    let mut wire = open(server.clone()).await;
    assert_eq!(
        wire.call("tools/list", Value::Null).await["tools"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    wire.expect_error("tools/call", json!({ "name": "friends" }), -32602)
        .await;
    let mut friend = Wire::to(server);
    let mut params = mcp_tests::wire::initialize_params("2025-11-25", json!({}));
    params["clientInfo"]["name"] = json!("friend");
    friend.call("initialize", params).await;
    assert_eq!(
        friend.call("tools/list", Value::Null).await["tools"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
}
