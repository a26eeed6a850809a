//! Tools: listed with their schemas, called, checked, hidden.

use mcp_server::{Json, ServerBuilder};

use super::{Peer, named, text};
use crate::prelude::*;

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
struct Bounded {
    #[schemars(range(max = 10))]
    n: u32,
    note: Option<String>,
}

fn orders() -> Tool {
    let order = |Args(order): Args<Order>| {
        let total = order.count * 3;
        Json(Bill { total })
    };
    Tool::new("order", order)
        .description("Orders")
        .title("Order")
}

// proves: TOOL-007, TOOL-008, TOOL-013, TOOL-014, BASE-024
// proves: M-TOOL-003, M-TOOL-004, M-TOOL-014, M-TOOL-015, M-SCHEMA-005
#[tokio::test]
async fn tools_are_declared_and_listed_with_their_schemas() {
    let server = Server::builder("s", "1")
        .tool(Tool::new("none", || "x"))
        .tool(orders());
    for mut peer in Peer::both(server).await {
        if peer.is_stateless {
            assert!(peer.discover().await["capabilities"]["tools"].is_object());
        }
        for params in [Value::Null, json!({})] {
            let result = peer.call("tools/list", params).await;
            assert!(result.get("nextCursor").is_none());
            let schema =
                json!({ "type": "object", "properties": {}, "additionalProperties": false });
            let none = json!({ "name": "none", "inputSchema": schema });
            assert_eq!(result["tools"][0], none);
            let order = &result["tools"][1];
            assert_eq!(order["name"], "order");
            assert_eq!(order["title"], "Order");
            let input = &order["inputSchema"];
            assert_eq!(input["type"], "object");
            assert_eq!(input["properties"]["count"]["description"], "How many.");
            assert_eq!(input["required"], json!(["count"]));
            assert_eq!(input["properties"]["note"]["type"], "string");
            assert!(input.get("$schema").is_none(), "{input}");
            assert_eq!(order["outputSchema"]["type"], "object");
        }
    }
}

/// Draft 2020-12 with keywords for objects and other keywords.
fn every_keyword() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$anchor": "root",
        "type": "object",
        "properties": { "n": { "$ref": "#/$defs/n" } },
        "oneOf": [{ "required": ["n"] }, { "required": ["m"] }],
        "if": { "required": ["n"] }, "then": { "maxProperties": 3 },
        "unevaluatedProperties": { "type": "integer" },
        "$defs": { "n": { "type": "integer", "exclusiveMinimum": 0, "x-unknown": [null] } }
    })
}

// proves: M-TOOL-016, M-SCHEMA-002, M-HDR-001
#[tokio::test]
async fn schemas_written_by_hand_are_listed_unchanged() {
    let old = json!({
        "$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
        "definitions": { "a": { "type": "string" } },
        "properties": { "a": { "type": "string", "x-mcp-header": "A" } }
    });
    let take = |Args(arguments): Args<JsonObject>| json!(arguments).to_string();
    let server = Server::builder("s", "1")
        .tool(Tool::dynamic("new", every_keyword(), take))
        .tool(Tool::dynamic("old", old.clone(), take));
    let mut peer = Peer::new(server);
    let listed = peer.call("tools/list", json!({})).await;
    assert_eq!(listed["tools"][0]["inputSchema"], every_keyword());
    assert_eq!(listed["tools"][1]["inputSchema"], old);
    for (arguments, fits) in [
        (json!({ "n": 1 }), true),
        (json!({ "m": 0 }), true),
        (json!({ "n": 0 }), false),
        (json!({ "n": 1, "m": 1 }), false),
        (json!({ "m": "x" }), false),
    ] {
        let result = peer.tool("new", json!({ "arguments": arguments })).await;
        assert_eq!(result["isError"].is_null(), fits, "{arguments}: {result}");
    }
}

// proves: TOOL-010, TOOL-037, TOOL-042, M-TOOL-034, M-TOOL-038
#[tokio::test]
async fn arguments_are_checked_before_the_handler_runs() {
    let called = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&called);
    let strict = move |Args(order): Args<Order>| {
        seen.store(true, Ordering::SeqCst);
        order.note.unwrap_or_default()
    };
    let bounded = |Args(bounded): Args<Bounded>| {
        let length = bounded.note.unwrap_or_default().len();
        length as u64 + u64::from(bounded.n)
    };
    let server = Server::builder("s", "1")
        .strictness(Strictness::Strict)
        .tool(Tool::new("none", || "x"))
        .tool(Tool::new("strict", strict))
        .tool(Tool::new("bounded", bounded));
    for mut peer in Peer::both(server).await {
        assert_eq!(text(&peer.tool("none", json!({})).await), "x");
        for (tool, arguments, problem) in [
            ("none", json!({ "x": 1 }), "x"),
            ("strict", json!({ "count": "2" }), "/count"),
            ("strict", json!({ "count": -1 }), "/count"),
            ("strict", json!({ "count": 1, "note": 5 }), "/note"),
            ("strict", json!({}), "count"),
            ("bounded", json!({ "n": 11 }), "/n"),
        ] {
            let result = peer.tool(tool, json!({ "arguments": arguments })).await;
            assert_eq!(result["isError"], true, "{tool} {arguments}");
            assert!(
                text(&result).contains(problem),
                "{tool} {arguments}: {result}"
            );
        }
        let fits = json!({ "arguments": { "n": 10, "note": null } });
        assert!(peer.tool("bounded", fits).await.get("isError").is_none());
    }
    assert!(!called.load(Ordering::SeqCst));
}

#[derive(Deserialize, JsonSchema)]
struct Which {
    which: usize,
}

/// Tools with structured content of all kinds; only `liar` contradicts its schema.
fn structured() -> ServerBuilder {
    let values = json!([[1, "a"], 42, "text", true, null]);
    let numbers = || CallToolResult::text("two").with_structured_content(json!([1, 2]));
    let schema = json!({
        "type": "array", "items": { "$ref": "#/$defs/n" }, "$defs": { "n": { "type": "integer" } }
    });
    let integers = json!({ "type": "array", "items": { "type": "integer" } });
    Server::builder("s", "1")
        .tool(Tool::new("list", || Json(vec![1, 2])))
        .tool(Tool::new("maybe", |Args(which): Args<Which>| {
            Json((which.which > 0).then_some(Bill { total: 1 }))
        }))
        .tool(orders())
        .tool(Tool::new("free", move |Args(which): Args<Which>| {
            values[which.which].clone()
        }))
        .tool(Tool::new("byhand", numbers).output_schema(object(schema)))
        .tool(Tool::new("liar", || json!(["three"])).output_schema(object(integers)))
}

// proves: TOOL-011, TOOL-028, TOOL-029, TOOL-030, TOOL-032
// proves: M-TOOL-010, M-TOOL-017, M-TOOL-029, M-TOOL-030, M-TOOL-031
#[tokio::test]
async fn structured_content_is_any_json_and_is_wrapped_in_an_object_for_sessions() {
    for mut peer in Peer::both(structured()).await {
        let listed = peer.call("tools/list", json!({})).await;
        let schema = |tool: usize| &listed["tools"][tool]["outputSchema"];
        if peer.is_stateless {
            assert_eq!(schema(0)["type"], "array");
            assert_eq!(schema(1)["type"], json!(["object", "null"]));
            assert_eq!(schema(4)["type"], "array");
        } else {
            for tool in [0, 1, 4, 5] {
                assert_eq!(schema(tool)["type"], "object");
            }
            let items = &schema(4)["properties"]["result"]["items"];
            assert_eq!(items, &json!({ "$ref": "#/properties/result/$defs/n" }));
        }
        assert_eq!(schema(2)["type"], "object");
        let which = |which: usize| json!({ "which": which });
        for (tool, arguments, value) in [
            ("list", json!({}), json!([1, 2])),
            ("maybe", which(0), Value::Null),
            (
                "maybe",
                json!({ "which": 1, "extra": null }),
                json!({ "total": 1 }),
            ),
            ("order", json!({ "count": 2 }), json!({ "total": 6 })),
            ("free", which(0), json!([1, "a"])),
            ("free", which(1), json!(42)),
            ("free", which(2), json!("text")),
            ("free", which(3), json!(true)),
            ("free", which(4), Value::Null),
        ] {
            let result = peer.tool(tool, json!({ "arguments": arguments })).await;
            let expected = match peer.is_stateless || tool == "order" {
                true => value.clone(),
                false => json!({ "result": value }),
            };
            let content = result.get("structuredContent");
            assert_eq!(content, Some(&expected), "{tool}: {result}");
            let text: Value = serde_json::from_str(text(&result)).unwrap();
            assert!(text == expected || text == value, "{tool}: {result}");
        }
        let byhand = peer.tool("byhand", json!({})).await;
        assert_eq!(text(&byhand), "two");
        let numbers = &byhand["structuredContent"];
        let numbers = if peer.is_stateless {
            numbers
        } else {
            &numbers["result"]
        };
        assert_eq!(numbers, &json!([1, 2]));
        let liar = peer.tool("liar", json!({})).await;
        assert_eq!(liar["isError"], true);
        assert_eq!(liar.get("structuredContent"), None);
    }
    let mut older = PipeEnd::open(structured(), "2025-03-26", json!({})).await;
    let result = older.tool("list", json!({})).await;
    assert_eq!(result.get("structuredContent"), None);
    let mut peer = Peer::new(everything::server());
    let plain = peer.tool("test_simple_text", json!({})).await;
    assert_eq!(plain.get("structuredContent"), None, "absent is not null");
}

// proves: TOOL-018, TOOL-033, TOOL-036, TOOL-039
// proves: M-TOOL-020, M-TOOL-033, M-TOOL-034, M-TOOL-037
#[tokio::test]
async fn failures_of_tools_are_results_and_unknown_tools_are_errors() {
    let fails = || Err::<String, _>(std::io::Error::other("disk full"));
    let refuses = || Err::<String, _>(HandlerError::new("not on sundays"));
    let closed = || Err::<String, _>(HandlerError::protocol(ErrorObject::internal("closed")));
    let server = Server::builder("s", "1")
        .tool(Tool::new("fails", fails))
        .tool(Tool::new("refuses", refuses))
        .tool(Tool::new("closed", closed))
        .tool(Tool::new("getUser", || "upper"))
        .tool(Tool::new("getuser", || "lower"));
    for mut peer in Peer::both(server).await {
        for (tool, said) in [("fails", "disk full"), ("refuses", "not on sundays")] {
            let failed = peer.tool(tool, json!({})).await;
            assert_eq!(failed["isError"], true, "{tool}");
            assert_eq!(text(&failed), said);
        }
        for (tool, said) in [("getUser", "upper"), ("getuser", "lower")] {
            let result = peer.tool(tool, json!({})).await;
            assert_eq!(text(&result), said);
            assert!(result.get("isError").is_none());
        }
        for (call, code) in [
            (named("closed", json!({})), -32603),
            (named("GETUSER", json!({})), -32602),
            (json!({}), -32602),
            (json!({ "name": null }), -32602),
            (named("fails", json!({ "arguments": "x" })), -32602),
        ] {
            peer.expect_error("tools/call", call, code).await;
        }
    }
}

// proves: M-TOOL-026, M-TOOL-027, M-TOOL-028, M-RES-020, M-RES-022
#[tokio::test]
async fn every_kind_of_content_reaches_the_client() {
    let mut peer = Peer::new(everything::server());
    assert!(peer.discover().await["capabilities"]["resources"].is_object());
    for (tool, kind, member, value) in [
        ("test_simple_text", "text", "/type", "text"),
        ("test_image_content", "image", "/data", everything::PNG),
        ("test_audio_content", "audio", "/mimeType", "audio/wav"),
        (
            "test_embedded_resource",
            "resource",
            "/resource/uri",
            "test://embedded-resource",
        ),
        (
            "test_resource_link",
            "resource_link",
            "/uri",
            "test://not-listed",
        ),
    ] {
        let block = peer.tool(tool, json!({})).await["content"][0].take();
        assert_eq!(block["type"], kind);
        assert_eq!(block.pointer(member), Some(&json!(value)), "{block}");
    }
    let binary = json!({ "uri": "test://static-binary" });
    let read = peer.call("resources/read", binary).await;
    assert_eq!(read["contents"][0]["blob"], everything::PNG);
    assert_eq!(read["contents"][0].get("text"), None);
}

// proves: M-TOOL-041, M-STDIO-002
#[tokio::test]
async fn every_output_is_valid_json_on_one_line() {
    let strange = "a\r\nb\u{0}\u{1b}[31m\u{7f}\u{2028}\u{feff}\"\\\u{10ffff}";
    let mut peer = Peer::new(Server::builder("s", "1").tool(Tool::new("t", move || strange)));
    assert_eq!(text(&peer.tool("t", json!({})).await), strange);
}

// proves: TOOL-043, RES-031, RES-033, COMP-019, M-TOOL-039, M-COMP-011
#[tokio::test]
async fn a_guard_refuses_before_anything_is_served() {
    let is_open = Arc::new(AtomicBool::new(true));
    let guarded = Arc::clone(&is_open);
    let server = everything::server().guard(move |request| {
        if guarded.load(Ordering::SeqCst) || request.target.is_none() {
            return Ok(());
        }
        let refusal = format!("{} is closed", request.method);
        Err(ErrorObject::internal(refusal))
    });
    let reference = json!({ "type": "ref/prompt", "name": "test_prompt_with_arguments" });
    let argument = json!({ "name": "arg1", "value": "p" });
    let requests = [
        ("tools/call", named("test_simple_text", json!({}))),
        ("resources/read", json!({ "uri": "test://static-text" })),
        ("prompts/get", named("test_simple_prompt", json!({}))),
        (
            "completion/complete",
            json!({ "ref": reference, "argument": argument }),
        ),
    ];
    for mut peer in Peer::both(server).await {
        is_open.store(true, Ordering::SeqCst);
        for (method, params) in &requests {
            peer.call(method, params.clone()).await;
        }
        is_open.store(false, Ordering::SeqCst);
        for (method, ..) in super::LISTS {
            peer.call(method, json!({})).await;
        }
        for (method, params) in &requests {
            peer.expect_error(method, params.clone(), -32603).await;
        }
    }
}
