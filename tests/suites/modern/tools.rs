//! `tools/list` and `tools/call`.

use mcp_server::Json;
use mcp_types::{CallToolResult, JsonObject};

use super::{Peer, named, text};
use crate::prelude::*;

fn object(value: Value) -> JsonObject {
    value.as_object().unwrap().clone()
}

// proves: M-TOOL-003, M-TOOL-004, M-TOOL-014, M-TOOL-015, M-SCHEMA-005
#[tokio::test]
async fn tools_are_declared_and_listed_with_their_schemas() {
    #[derive(Deserialize, JsonSchema)]
    struct Sum {
        #[expect(dead_code, reason = "only listed")]
        terms: Vec<f64>,
    }
    let server = Server::new("s", "1")
        .tool(Tool::new("none", || "x"))
        .tool(Tool::new("sum", |Args(_): Args<Sum>| "x"));
    let mut peer = Peer::new(server);
    let told = peer.call("server/discover", json!({})).await;
    assert!(told["capabilities"]["tools"].is_object());
    let listed = peer.call("tools/list", json!({})).await;
    let tools = listed["tools"].as_array().unwrap();
    assert_eq!(
        (&tools[0]["name"], &tools[1]["name"]),
        (&json!("none"), &json!("sum"))
    );
    assert_eq!(
        tools[0]["inputSchema"],
        json!({ "type": "object", "additionalProperties": false })
    );
    assert_eq!(tools[1]["inputSchema"]["type"], "object");
    assert_eq!(tools[1]["inputSchema"]["required"], json!(["terms"]));
    assert!(
        tools
            .iter()
            .all(|tool| tool["inputSchema"].get("$schema").is_none())
    );
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
async fn schemas_written_by_hand_are_listed_as_they_are() {
    let old = json!({
        "$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
        "definitions": { "a": { "type": "string" } },
        "properties": { "a": { "type": "string", "x-mcp-header": "A" } }
    });
    let take = |Args(it): Args<JsonObject>| json!(it).to_string();
    let server = Server::new("s", "1")
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

#[derive(Serialize, JsonSchema)]
struct Bill {
    total: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Which {
    which: usize,
}

/// Tools whose structured content is not an object.
fn any_structured() -> Server {
    let values = [
        json!([1, "a"]),
        json!(42),
        json!("text"),
        json!(true),
        Value::Null,
    ];
    Server::new("s", "1")
        .tool(Tool::new("list", || Json(vec![1, 2])))
        .tool(Tool::new("maybe", || Json(None::<Bill>)))
        .tool(Tool::new("bill", || Json(Bill { total: 6 })))
        .tool(Tool::new("free", move |Args(it): Args<Which>| {
            values[it.which].clone()
        }))
        .tool(
            Tool::new("byhand", || {
                CallToolResult::text("two").with_structured_content(json!([1, 2]))
            })
            .output_schema(object(json!({
                "type": "array", "items": { "$ref": "#/$defs/n" },
                "$defs": { "n": { "type": "integer" } }
            }))),
        )
        .tool(Tool::new("liar", || json!(["three"])).output_schema(object(
            json!({ "type": "array", "items": { "type": "integer" } }),
        )))
}

// proves: M-TOOL-010, M-TOOL-017, M-TOOL-029, M-TOOL-030, M-TOOL-031
#[tokio::test]
async fn structured_content_is_any_json_and_keeps_its_schema() {
    let mut peer = Peer::new(any_structured());
    let listed = peer.call("tools/list", json!({})).await;
    let types: Vec<_> = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| {
            (
                tool["name"].as_str().unwrap(),
                tool["outputSchema"]["type"].clone(),
            )
        })
        .collect();
    assert_eq!(types[0], ("list", json!("array")));
    assert_eq!(types[1], ("maybe", json!(["object", "null"])));
    assert_eq!(types[2], ("bill", json!("object")));
    assert_eq!(types[4], ("byhand", json!("array")));

    let written = |result: &Value| serde_json::from_str::<Value>(text(result)).unwrap();
    for (tool, arguments, value) in [
        ("list", json!({}), json!([1, 2])),
        ("maybe", json!({}), Value::Null),
        ("bill", json!({}), json!({ "total": 6 })),
        ("free", json!({ "which": 0 }), json!([1, "a"])),
        ("free", json!({ "which": 1 }), json!(42)),
        ("free", json!({ "which": 2 }), json!("text")),
        ("free", json!({ "which": 3 }), json!(true)),
        ("free", json!({ "which": 4 }), Value::Null),
    ] {
        let result = peer.tool(tool, json!({ "arguments": arguments })).await;
        assert_eq!(
            result.get("structuredContent"),
            Some(&value),
            "{tool}: {result}"
        );
        assert_eq!(written(&result), value, "{tool}: {result}");
    }
    let byhand = peer.tool("byhand", json!({})).await;
    assert_eq!(
        (text(&byhand), &byhand["structuredContent"]),
        ("two", &json!([1, 2]))
    );
    let liar = peer.tool("liar", json!({})).await;
    assert_eq!(
        (&liar["isError"], liar.get("structuredContent")),
        (&json!(true), None)
    );
    let plain = Peer::new(everything::server())
        .tool("test_simple_text", json!({}))
        .await;
    assert_eq!(plain.get("structuredContent"), None, "absent is not null");
}

// The same tools on revisions where structured content must be an object.
#[tokio::test]
async fn sessions_get_non_objects_wrapped_in_an_object() {
    let mut old = Wire::open(any_structured(), "2025-11-25", json!({})).await;
    let listed = old.call("tools/list", Value::Null).await;
    for tool in listed["tools"].as_array().unwrap() {
        let output = &tool["outputSchema"];
        assert!(output.is_null() || output["type"] == "object", "{tool}");
    }
    let items = &listed["tools"][4]["outputSchema"]["properties"]["result"]["items"];
    assert_eq!(items, &json!({ "$ref": "#/properties/result/$defs/n" }));
    for (tool, arguments, value) in [
        ("list", json!({}), json!({ "result": [1, 2] })),
        ("maybe", json!({}), json!({ "result": null })),
        ("bill", json!({}), json!({ "total": 6 })),
        ("free", json!({ "which": 1 }), json!({ "result": 42 })),
        ("byhand", json!({}), json!({ "result": [1, 2] })),
    ] {
        let result = old.tool(tool, arguments).await;
        assert_eq!(result["structuredContent"], value, "{tool}: {result}");
    }
    assert_eq!(old.tool("liar", json!({})).await["isError"], true);
    let mut older = Wire::open(any_structured(), "2025-03-26", json!({})).await;
    let result = older.tool("list", json!({})).await;
    assert_eq!(result.get("structuredContent"), None);
}

// proves: M-TOOL-020, M-TOOL-033, M-TOOL-034, M-TOOL-037, M-TOOL-038
#[tokio::test]
async fn failures_of_tools_are_results_and_unknown_tools_are_errors() {
    #[derive(Deserialize, JsonSchema)]
    struct Day {
        #[expect(dead_code, reason = "only decoded")]
        day: u8,
    }
    let called = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&called);
    let server = Server::new("s", "1")
        .tool(Tool::new("fails", || {
            Err::<String, _>(std::io::Error::other("disk full"))
        }))
        .tool(Tool::new("refuses", || {
            Err::<String, _>(HandlerError::new("not on sundays"))
        }))
        .tool(Tool::new("getUser", || "upper"))
        .tool(Tool::new("getuser", || "lower"))
        .tool(Tool::new("strict", move |Args(_): Args<Day>| {
            seen.store(true, Ordering::SeqCst);
            "x"
        }));
    let mut peer = Peer::new(server);
    for (tool, said) in [("fails", "disk full"), ("refuses", "not on sundays")] {
        let failed = peer.tool(tool, json!({})).await;
        assert_eq!((&failed["isError"], text(&failed)), (&json!(true), said));
    }
    for arguments in [json!({}), json!({ "day": "x" }), json!({ "day": 300 })] {
        let failed = peer.tool("strict", json!({ "arguments": arguments })).await;
        assert_eq!(failed["isError"], true, "{arguments}");
        assert!(text(&failed).contains("day"), "{failed}");
    }
    assert!(!called.load(Ordering::SeqCst));
    for call in [
        named("GETUSER", json!({})),
        json!({}),
        json!({ "name": null }),
        named("fails", json!({ "arguments": "x" })),
    ] {
        peer.expect_error("tools/call", call, -32602).await;
    }
    assert_eq!(text(&peer.tool("getUser", json!({})).await), "upper");
    assert_eq!(text(&peer.tool("getuser", json!({})).await), "lower");
}

// proves: M-TOOL-026, M-TOOL-027, M-TOOL-028, M-RES-020, M-RES-022
#[tokio::test]
async fn every_kind_of_content_travels() {
    let mut peer = Peer::new(everything::server());
    let told = peer.call("server/discover", json!({})).await;
    assert!(told["capabilities"]["resources"].is_object());
    let mut kinds = Vec::new();
    for tool in [
        "test_simple_text",
        "test_image_content",
        "test_audio_content",
        "test_embedded_resource",
        "test_resource_link",
    ] {
        let content = peer.tool(tool, json!({})).await["content"].take();
        kinds.push(content[0]["type"].as_str().unwrap().to_owned());
        match &*kinds[kinds.len() - 1] {
            "image" => assert_eq!(content[0]["data"], everything::PNG),
            "audio" => assert_eq!(content[0]["mimeType"], "audio/wav"),
            "resource" => assert_eq!(content[0]["resource"]["uri"], "test://embedded-resource"),
            "resource_link" => assert_eq!(content[0]["uri"], "test://not-listed"),
            _ => {}
        }
    }
    assert_eq!(
        kinds,
        ["text", "image", "audio", "resource", "resource_link"]
    );
    let read = peer
        .call("resources/read", json!({ "uri": "test://static-binary" }))
        .await;
    let contents = &read["contents"][0];
    assert_eq!(
        (&contents["blob"], contents.get("text")),
        (&json!(everything::PNG), None)
    );
}

// proves: M-TOOL-041, M-STDIO-002
#[tokio::test]
async fn output_is_valid_text_on_one_line_whatever_is_in_it() {
    let strange = "a\r\nb\u{0}\u{1b}[31m\u{7f}\u{2028}\u{feff}\"\\\u{10ffff}";
    let mut peer = Peer::new(Server::new("s", "1").tool(Tool::new("t", move || strange)));
    assert_eq!(text(&peer.tool("t", json!({})).await), strange);
}
