//! Icons, titles, annotations, schemas and metadata, which travel unchanged.

use mcp_types::{ContentBlock, Icon, PromptMessage};

use super::Peer;
use crate::peer::calling;
use crate::prelude::*;

// proves: RES-018, TOOL-016, RES-026
#[tokio::test]
async fn descriptive_members_reach_the_client_unchanged() {
    let icon = || Icon::new("https://example.com/i.png").with_mime_type("image/png");
    let tool = Tool::new("t", || "x").icon(icon());
    let prompt = Prompt::new("p", || PromptMessage::assistant("hm")).title("P");
    let resource = Resource::text("x://dir", "dir", "").mime("inode/directory");
    let server = Server::builder("s", "1")
        .icon(icon())
        .website("https://example.com")
        .tool(tool.read_only(true).destructive(false))
        .prompt(prompt.icon(icon()))
        .resource(resource.size(4096).icon(icon()));
    let mut wire = PipeEnd::to(server);
    let result = wire.handshake("2025-11-25", json!({})).await;
    assert_eq!(result["serverInfo"]["websiteUrl"], "https://example.com");
    let icons = json!([{ "src": "https://example.com/i.png", "mimeType": "image/png" }]);
    assert_eq!(result["serverInfo"]["icons"], icons);
    let tool = wire.call("tools/list", Value::Null).await["tools"][0].take();
    assert_eq!(tool["icons"], icons);
    assert!(tool.get("execution").is_none());
    let hints = json!({ "readOnlyHint": true, "destructiveHint": false });
    assert_eq!(tool["annotations"], hints);
    let prompts = wire.call("prompts/list", Value::Null).await;
    assert_eq!(prompts["prompts"][0]["title"], "P");
    let resources = wire.call("resources/list", Value::Null).await;
    assert_eq!(resources["resources"][0]["size"], 4096);
    assert_eq!(resources["resources"][0]["mimeType"], "inode/directory");
}

// proves: BASE-021, SCHEMA-031
#[tokio::test]
async fn schemas_pass_through_unchanged() {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "definitions": { "a": { "type": "string" } },
        "properties": { "x": { "$ref": "#/definitions/a" }, "y": { "oneOf": [{ "type": "null" }, { "minimum": 1e3 }] } },
        "additionalProperties": { "type": "boolean" },
        "x-unknown": [1, null, { "deep": true }]
    });
    let tool = Tool::dynamic("t", schema.clone(), |Args(_): Args<JsonObject>| "x");
    let tool = tool.output_schema(schema.as_object().unwrap().clone());
    let server = Server::builder("s", "1").tool(tool);
    let client = connect(Client::builder("host", "0.1"), server)
        .await
        .unwrap();
    let tool = client.list_tools().await.unwrap().remove(0);
    assert_eq!(Value::Object(tool.input_schema), schema);
    assert_eq!(Value::Object(tool.output_schema.unwrap()), schema);
}

// proves: BASE-031
#[tokio::test]
async fn the_sdk_sends_no_private_meta_keys() {
    let [mut session, _] = Peer::both(everything::server()).await;
    for name in [
        "test_simple_text",
        "get_weather",
        "test_multiple_content_types",
    ] {
        let result = session.wire.tool(name, json!({ "location": "x" })).await;
        assert!(!result.to_string().contains("_meta"), "{result}");
    }
    let (builder, tools) = (Client::builder("host", "0.1"), json!({ "tools": {} }));
    let (mut wire, client) = PipeEnd::accept(builder, "2025-11-25", tools).await;
    let call = calling(&client, "t");
    let request = wire.expect("tools/call").await;
    let meta = request["params"]["_meta"].as_object().unwrap();
    assert_eq!(meta.keys().collect::<Vec<_>>(), ["progressToken"]);
    call.abort();
}

// proves: TOOL-025, TOOL-027
#[tokio::test]
async fn links_and_embedded_resources_need_not_be_listed() {
    let builder = crate::peer::client();
    let client = connect(builder, everything::server()).await.unwrap();
    assert!(client.capabilities().resources.is_some());
    let listed = client.list_resources().await.unwrap();
    let result = client
        .call_tool("test_embedded_resource", json!({}))
        .await
        .unwrap();
    assert!(
        matches!(&result.content[0], ContentBlock::Resource(_)),
        "{result:?}"
    );
    let result = client
        .call_tool("test_resource_link", json!({}))
        .await
        .unwrap();
    let ContentBlock::ResourceLink(link) = &result.content[0] else {
        panic!("{result:?}")
    };
    assert!(listed.iter().all(|resource| resource.uri != link.uri));
    assert_eq!(link.uri, "test://not-listed");
}
