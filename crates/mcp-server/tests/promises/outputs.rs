//! Output of tools that does not match its schema.

use mcp_server::testing::{TestClient, block_on};
use mcp_server::{CallToolResult, ContentBlock, Json, Server, Tool};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

#[derive(Serialize, JsonSchema)]
struct Measured {
    mean: f64,
    total: u128,
}

/// Returns the texts of a result that is an error without structured content.
fn texts_of_error(result: &CallToolResult) -> Vec<&str> {
    assert_eq!(result.is_error, Some(true), "{result:?}");
    assert_eq!(result.structured_content, None);
    result
        .content
        .iter()
        .filter_map(ContentBlock::as_text)
        .collect()
}

#[test]
fn output_that_cannot_be_structured_content_reaches_the_model_as_text() {
    let measured = |mean, total| move || Json(Measured { mean, total });
    let own = Tool::new("own", || {
        CallToolResult::text("drawn").with_structured_content(json!({"mean": "?"}))
    });
    let schema = json!({"type": "object", "properties": {"mean": {"type": "number"}}});
    let schema = schema.as_object().unwrap().clone();
    let server = Server::builder("s", "1")
        .tool(Tool::new("nan", measured(f64::NAN, 1)))
        .tool(Tool::new("large", measured(0.5, u128::MAX)))
        .tool(own.output_schema(schema));
    let client = TestClient::new(server);
    for (tool, problem, output) in [
        (
            "nan",
            "/mean: expected a number, got null",
            r#"{"mean":null,"total":1}"#,
        ),
        (
            "large",
            "number out of range",
            r#"{"mean":0.5,"total":340282366920938463463374607431768211455}"#,
        ),
        ("own", "/mean: expected a number", "drawn"),
    ] {
        let result = block_on(client.call_tool(tool, json!({}))).unwrap();
        let texts = texts_of_error(&result);
        assert_eq!(texts.len(), 2, "{texts:?}");
        assert!(texts[0].starts_with("the tool ran, but"), "{texts:?}");
        assert!(texts[0].contains(problem), "{texts:?}");
        assert_eq!(texts[1], output);
    }
}
