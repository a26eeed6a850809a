//! Tools, calls and results in the formats of model APIs.

use mcp_client::CallToolResult;
use mcp_client::types::{ContentBlock, JsonObject};
use mcp_host::{Format, Host, HostError, ToolUse};
use mcp_server::{Args, Server, Tool};
use serde_json::{Value, json};

use crate::support::{Killable, client};

const FORMATS: [Format; 4] = [
    Format::OpenAiChat,
    Format::OpenAiResponses,
    Format::Anthropic,
    Format::Gemini,
];

fn host(name: &str) -> Host {
    let connector = Killable::default().connector(|_| {
        let run = |Args(arguments): Args<JsonObject>| Value::Object(arguments).to_string();
        let echo = Tool::dynamic("echo", json!({ "type": "object" }), run);
        Some(Server::builder("fixture", "1.0.0").tool(echo))
    });
    Host::builder(client()).connector(name, connector).start()
}

/// A response with one call in each format.
fn response(format: Format, name: &str) -> Value {
    match format {
        Format::OpenAiChat => json!({ "choices": [{ "message": { "tool_calls": [
            { "id": "1", "type": "function", "function": { "name": name, "arguments": "{\"a\":1}" } }
        ] } }] }),
        Format::OpenAiResponses => json!({ "output": [
            { "type": "message", "content": [] },
            { "type": "function_call", "id": "x", "call_id": "1", "name": name, "arguments": "{\"a\":1}" }
        ] }),
        Format::Anthropic => json!({ "content": [
            { "type": "text", "text": "I look" },
            { "type": "tool_use", "id": "1", "name": name, "input": { "a": 1 } }
        ] }),
        _ => json!({ "candidates": [{ "content": { "role": "model", "parts": [
            { "text": "I look" }, { "functionCall": { "id": "1", "name": name, "args": { "a": 1 } } }
        ] } }] }),
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_of_each_format_is_run_and_answered() {
    // Gemini needs another name for this one.
    let host = host("9lives");
    host.settled().await;
    for format in FORMATS {
        let list = format.tools(&host.tools());
        assert!(list.dropped.is_empty(), "{:?}", list.dropped);
        let tool = match format {
            Format::OpenAiChat => &list.tools[0]["function"],
            Format::Gemini => &list.tools[0]["functionDeclarations"][0],
            _ => &list.tools[0],
        };
        let name = tool["name"].as_str().unwrap();
        let first = name.chars().next().unwrap();
        assert_eq!(first == '_', format == Format::Gemini, "{name}");

        let uses = format.tool_uses(&response(format, name));
        assert_eq!(uses, [ToolUse::new("1", name, json!({ "a": 1 }))]);
        let result = host.call(&uses[0]).await;
        let answered = format.results(&[(uses[0].clone(), result)]);
        let text = r#"{"a":1}"#;
        let expected = match format {
            Format::OpenAiChat => json!([{ "role": "tool", "tool_call_id": "1", "content": text }]),
            Format::OpenAiResponses => {
                json!([{ "type": "function_call_output", "call_id": "1", "output": text }])
            }
            Format::Anthropic => json!([{ "role": "user", "content": [{
                "type": "tool_result", "tool_use_id": "1", "is_error": false,
                "content": [{ "type": "text", "text": text }]
            }] }]),
            _ => json!([{ "role": "user", "parts": [{ "functionResponse": {
                "id": "1", "name": name, "response": { "output": text }
            } }] }]),
        };
        assert_eq!(Value::from(answered), expected);
        assert_eq!(format.tool_uses(&json!({ "error": "overloaded" })), []);
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_writes_nonsense_gets_an_error() {
    let host = host("one");
    host.settled().await;
    let response = json!({ "choices": [{ "message": { "tool_calls": [
        { "id": "1", "type": "function", "function": { "name": "one__echo", "arguments": "{\"a\":" } },
        { "id": "2", "type": "function", "function": { "name": "one__ech", "arguments": "" } }
    ] } }] });
    let mut results = Vec::new();
    for tool_use in Format::OpenAiChat.tool_uses(&response) {
        let result = host.call(&tool_use).await;
        results.push((tool_use, result));
    }
    assert!(matches!(results[0].1, Err(HostError::Arguments { .. })));
    assert!(matches!(results[1].1, Err(HostError::Unknown { .. })));
    for (message, part) in Format::OpenAiChat
        .results(&results)
        .iter()
        .zip(["JSON object", "one__ech"])
    {
        let text = message["content"].as_str().unwrap();
        assert!(text.starts_with("Error: ") && text.contains(part), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn each_api_gets_the_schemas_that_it_accepts() {
    let schema = json!({
        "type": "object",
        "properties": {
            "id": { "type": "string", "format": "uuid" },
            "list": { "type": "array" },
            "bad name!": { "type": "string" }
        },
        "required": ["id"],
        "oneOf": [{ "required": ["list"] }, { "properties": { "other": { "type": "integer" } } }]
    });
    let connector = Killable::default().connector(move |_| {
        let tool = Tool::dynamic("work", schema.clone(), || "done").description("works");
        Some(Server::builder("fixture", "1.0.0").tool(tool))
    });
    let host = Host::builder(client()).connector("one", connector).start();
    host.settled().await;
    let list = |format: Format| {
        let list = format.tools(&host.tools());
        let pointers: Vec<String> = list.dropped.into_iter().map(|lost| lost.pointer).collect();
        (list.tools, pointers)
    };

    let (tools, dropped) = list(Format::OpenAiResponses);
    let parameters = &tools[0]["parameters"];
    assert_eq!(dropped, ["/oneOf"]);
    assert!(parameters.get("oneOf").is_none() && tools[0]["strict"] == false);
    assert_eq!(
        parameters["properties"]["list"],
        json!({ "type": "array", "items": {} })
    );
    assert_eq!(
        parameters["properties"]["other"],
        json!({ "type": "integer" })
    );
    assert_eq!(
        list(Format::OpenAiChat).0[0]["function"]["parameters"],
        *parameters
    );

    let (tools, dropped) = list(Format::Anthropic);
    assert_eq!(dropped, ["/oneOf", "/properties/bad name!"]);
    assert!(
        tools[0]["input_schema"]["properties"]
            .get("bad name!")
            .is_none()
    );
    assert_eq!(tools[0]["description"], "works");

    let (tools, dropped) = list(Format::Gemini);
    assert_eq!(
        dropped,
        ["/oneOf", "/properties/id/format", "/properties/bad name!"]
    );
    assert_eq!(
        tools[0]["functionDeclarations"][0]["parameters"]["required"],
        json!(["id"])
    );
}

#[test]
fn each_kind_of_content_reaches_the_model() {
    let tool_use = ToolUse::new("1", "one__work", json!({}));
    let results = |format: Format, result: CallToolResult| {
        let results = format.results(&[(tool_use.clone(), Ok(result))]);
        serde_json::to_string(&results).unwrap()
    };
    let content = || {
        let mut result = CallToolResult::new(vec![
            ContentBlock::text("words"),
            ContentBlock::image("aW1n", "image/png"),
            ContentBlock::audio("YXVkaW8=", "audio/wav"),
            ContentBlock::resource_link("file:///a", "link"),
        ]);
        result.structured_content = Some(json!({ "sum": 5 }));
        result
    };
    for format in FORMATS {
        let text = results(format, content());
        for part in ["words", "aW1n", "file:///a", r#"{\"sum\":5}"#] {
            assert!(text.contains(part), "{format:?} misses {part}: {text}");
        }
        assert_eq!(
            text.contains("YXVkaW8="),
            format == Format::OpenAiChat,
            "{text}"
        );
        assert!(format == Format::OpenAiChat || text.contains("audio: about 6 bytes of audio/wav"));
        assert!(results(format, CallToolResult::new(Vec::new())).contains("no content"));

        // JSON that the text has already is not repeated.
        let mut result = CallToolResult::new(vec![ContentBlock::text(r#"{ "sum": 5 }"#)]);
        result.structured_content = Some(json!({ "sum": 5 }));
        result.is_error = Some(true);
        let text = results(format, result);
        assert_eq!(text.matches("sum").count(), 1, "{text}");
        let is_marked = ["\"is_error\":true", "\"error\":", "Error: "];
        assert!(is_marked.iter().any(|mark| text.contains(mark)), "{text}");
    }
}
