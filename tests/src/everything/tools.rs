//! Tools that send no requests to the client.

use std::time::Duration;

use mcp_server::{Args, Ctx, HandlerError, Json, Prompt, Resource, Server, Tool};
use mcp_types::{
    AudioContent, ContentBlock, EmbeddedResource, ImageContent, JsonObject, LoggingLevel,
    ResourceContents, ResourceLink, TextResourceContents,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::media::{PNG, WAV};

/// Two numbers.
#[derive(Deserialize, JsonSchema)]
struct Pair {
    /// The left one.
    a: f64,
    /// The right one.
    b: f64,
}

/// The current weather at a location.
#[derive(Serialize, JsonSchema)]
struct Weather {
    /// Degrees Celsius.
    temperature: f64,
    conditions: String,
}

#[derive(Deserialize, JsonSchema)]
struct Location {
    location: String,
}

#[derive(Deserialize, JsonSchema)]
struct Message {
    /// What to say.
    message: String,
}

pub(super) fn all() -> Vec<Tool> {
    let mut tools = contents();
    tools.extend(behaviour());
    tools
}

/// One tool per kind of content.
fn contents() -> Vec<Tool> {
    vec![
        Tool::new(
            "test_simple_text",
            || "This is a simple text response for testing.",
        )
        .description("Answers with text"),
        Tool::new("test_image_content", || {
            ContentBlock::Image(ImageContent::new(PNG, "image/png"))
        })
        .description("Answers with an image"),
        Tool::new("test_audio_content", || {
            ContentBlock::Audio(AudioContent::new(WAV, "audio/wav"))
        })
        .description("Answers with audio"),
        Tool::new("test_embedded_resource", || {
            embedded(
                "test://embedded-resource",
                "text/plain",
                "This is an embedded resource content.",
            )
        })
        .description("Answers with an embedded resource"),
        Tool::new("test_resource_link", || {
            ContentBlock::ResourceLink(
                ResourceLink::new("test://not-listed", "not-listed").with_mime_type("text/plain"),
            )
        })
        .description("Answers with a link to a resource that is not listed"),
        Tool::new("test_multiple_content_types", || {
            vec![
                ContentBlock::text("Multiple content types test:"),
                ContentBlock::Image(ImageContent::new(PNG, "image/png")),
                embedded(
                    "test://mixed-content-resource",
                    "application/json",
                    r#"{"test":"data","value":123}"#,
                ),
            ]
        })
        .description("Answers with text, an image and a resource"),
    ]
}

fn embedded(uri: &str, mime: &str, text: &str) -> ContentBlock {
    let contents = TextResourceContents::new(uri, text).with_mime_type(mime);
    ContentBlock::Resource(EmbeddedResource::new(ResourceContents::Text(contents)))
}

/// One tool per kind of behaviour.
fn behaviour() -> Vec<Tool> {
    vec![
        Tool::new("test_error_handling", || {
            Err::<String, _>("This tool intentionally returns an error for testing")
        })
        .description("Always fails"),
        Tool::new("test_tool_with_progress", async |cx: Ctx| {
            for done in [0.0, 50.0, 100.0] {
                cx.progress_with(done, 100.0, "working");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            "Progress reported"
        })
        .description("Reports progress three times"),
        Tool::new("test_tool_with_logging", async |cx: Ctx| {
            for message in [
                "Tool execution started",
                "Tool processing data",
                "Tool execution completed",
            ] {
                cx.log(LoggingLevel::Info, message);
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            "Logged three messages"
        })
        .description("Logs three messages"),
        Tool::new("test_reconnection", async |cx: Ctx| {
            let pause = Duration::from_millis(100);
            cx.release(pause);
            tokio::time::sleep(pause).await;
            "The client came back for this"
        })
        .description("Gives the connection back before it answers"),
        Tool::new("add", |Args(pair): Args<Pair>| {
            (pair.a + pair.b).to_string()
        })
        .description("Adds two numbers")
        .read_only(true),
        Tool::new("echo", |Args(args): Args<Message>| args.message)
            .description("Returns its argument"),
        Tool::new("get_weather", |Args(place): Args<Location>| {
            Json(Weather {
                temperature: 21.5,
                conditions: format!("sunny in {}", place.location),
            })
        })
        .description("Gives structured output"),
        Tool::new("wait_for_cancel", async |cx: Ctx| {
            cx.progress(1.0, None);
            cx.cancelled().await;
            "never seen"
        })
        .description("Waits until it is cancelled"),
        Tool::dynamic(
            "json_schema_2020_12_tool",
            schema_2020_12(),
            |Args(args): Args<JsonObject>| Value::Object(args).to_string(),
        )
        .description("Takes arguments by a schema with every kind of keyword"),
        Tool::dynamic(
            "test_custom_header",
            json!({
                "type": "object",
                "properties": { "value": { "type": "string", "x-mcp-header": "Value" } },
                "required": ["value"]
            }),
            |Args(args): Args<JsonObject>| {
                args.get("value")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned()
            },
        )
        .description("Says a mirrored argument back"),
    ]
}

fn schema_2020_12() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } }
            }
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" }
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false
    })
}

/// Tools that change the lists of the server.
pub(super) fn changing() -> Vec<Tool> {
    vec![
        Tool::new("test_trigger_tool_change", |server: Server| {
            server
                .tools()
                .add([Tool::new("short_lived", || "gone soon")])?;
            server.tools().remove("short_lived");
            Ok::<_, HandlerError>("the tools changed")
        })
        .description("Changes the tools and changes them back"),
        Tool::new("test_trigger_prompt_change", |server: Server| {
            server
                .prompts()
                .add([Prompt::new("short_lived", || "gone")])?;
            server.prompts().remove("short_lived");
            Ok::<_, HandlerError>("the prompts changed")
        })
        .description("Changes the prompts and changes them back"),
        Tool::new("test_trigger_resource_change", |server: Server| {
            server.resources().updated("test://watched-resource");
            server
                .resources()
                .add([Resource::text("test://short-lived", "short-lived", "")])?;
            server.resources().remove("test://short-lived");
            Ok::<_, HandlerError>("the watched resource changed")
        })
        .description("Says that the watched resource changed"),
    ]
}
