//! Extensions: visible to peers that declare them, and never required from others.

use mcp_server::ServerBuilder;
use mcp_types::{Meta, ResourceContents, TextResourceContents};

use super::{Peer, text};
use crate::prelude::*;

const SEARCH: &str = "com.example/search";
const UI: &str = "io.modelcontextprotocol/ui";
/// The resource of an app, and its media type.
const APP: &str = "ui://weather/view";
const APP_TYPE: &str = "text/html;profile=mcp-app";

fn declaring(extensions: Value) -> Value {
    json!({ "extensions": extensions })
}

/// Creates a server with three tools: one requires an extension, one uses it if declared, and one
/// is only visible to clients that declare it.
fn knowing() -> ServerBuilder {
    Server::builder("knowing", "1.0.0")
        .extension(SEARCH, object(json!({ "depth": 3 })))
        .extension("com.example/bare", JsonObject::new())
        .tool(Tool::new("needs", |cx: Ctx| {
            let settings = Value::Object(cx.require_extension(SEARCH)?.clone());
            Ok::<_, HandlerError>(format!("searched with {settings}"))
        }))
        .tool(Tool::new("likes", |cx: Ctx| match cx.extension(SEARCH) {
            Some(_) => "by the extension",
            None => "by the core",
        }))
}

// proves: M-EXT-001, M-EXT-002
#[tokio::test]
async fn extensions_are_declared_with_their_settings_even_if_these_are_empty() {
    let mut peer = Peer::with(knowing(), declaring(json!({ SEARCH: {} })));
    let told = peer.call("server/discover", json!({})).await;
    let expected = json!({ SEARCH: { "depth": 3 }, "com.example/bare": {} });
    assert_eq!(told["capabilities"]["extensions"], expected);
    let said = peer.tool("needs", json!({})).await;
    assert_eq!(text(&said), "searched with {}");
    let said = peer.tool("likes", json!({})).await;
    assert_eq!(text(&said), "by the extension");
}

// proves: M-VER-007, M-EXT-006, M-EXT-008
#[tokio::test]
async fn without_an_extension_a_client_gets_core_features_or_an_error_naming_it() {
    for declared in [json!({}), declaring(json!({ "com.example/searching": {} }))] {
        let mut peer = Peer::with(knowing(), declared);
        assert_eq!(text(&peer.tool("likes", json!({})).await), "by the core");
        let answer = peer
            .answer("tools/call", super::named("needs", json!({})))
            .await;
        let error = &answer["error"];
        assert_eq!(error["code"], -32021, "{answer}");
        let missing = json!({ "requiredCapabilities": { "extensions": { SEARCH: {} } } });
        assert_eq!(error["data"], missing);
        assert!(error["message"].as_str().unwrap().contains(SEARCH));
    }
}

// proves: M-EXT-007
#[tokio::test]
async fn declared_extensions_are_checked_and_unknown_extensions_are_ignored() {
    for broken in [
        json!(true),
        json!([]),
        json!({ SEARCH: true }),
        json!({ SEARCH: [1] }),
    ] {
        let strict = knowing().strictness(Strictness::Strict);
        let mut peer = Peer::with(strict, declaring(broken.clone()));
        peer.expect_error("tools/call", super::named("likes", json!({})), -32602)
            .await;
    }
    let strange = json!({
        "": {}, "no prefix": {}, "org.other/thing": { "deep": [[[{}]]], "long": "x".repeat(10_000) }
    });
    let mut peer = Peer::with(knowing(), declaring(strange));
    assert_eq!(text(&peer.tool("likes", json!({})).await), "by the core");
}

// proves: M-VER-006
#[tokio::test]
async fn an_extension_is_called_by_an_identifier_with_a_prefix() {
    for bad in [
        "tasks",
        "",
        "/tasks",
        "-com.example/a",
        "com..example/a",
        "com.example/a b",
    ] {
        let refused = Server::builder("s", "1").extension(bad, JsonObject::new());
        let error = Endpoint::new(refused).unwrap_err();
        assert!(error.to_string().contains("prefix"), "{bad}: {error}");
        let builder = Client::builder("c", "1").extension(bad, JsonObject::new());
        fails_with(connect(builder, knowing()).await, "prefix");
    }
    for good in ["com.example/a", "io.modelcontextprotocol/ui", "x/y.z"] {
        let server = Server::builder("s", "1").extension(good, JsonObject::new());
        Endpoint::new(server).unwrap();
    }
}

/// Creates a server with a tool that has an app: metadata and a resource.
fn weather() -> ServerBuilder {
    let meta = |value: Value| serde_json::from_value::<Meta>(value).unwrap();
    Server::builder("weather", "1.0.0")
        .extension(UI, JsonObject::new())
        .tool(
            Tool::new("forecast", || "rain until noon, then sun")
                .meta(meta(json!({ "ui": { "resourceUri": APP } }))),
        )
        .resource(
            Resource::new(APP, "View", || {
                let page = TextResourceContents::new(APP, "<p>weather</p>");
                ResourceContents::Text(page.with_mime_type(APP_TYPE))
            })
            .mime(APP_TYPE),
        )
}

// proves: M-EXT-009, M-EXT-011
#[tokio::test]
async fn a_tool_with_an_app_names_its_page_and_has_a_text_fallback() {
    for declared in [
        json!({}),
        declaring(json!({ UI: { "mimeTypes": [APP_TYPE] } })),
    ] {
        let mut peer = Peer::with(weather(), declared);
        let told = peer.call("server/discover", json!({})).await;
        assert_eq!(told["capabilities"]["extensions"][UI], json!({}));
        let listed = peer.call("tools/list", json!({})).await;
        assert_eq!(listed["tools"][0]["_meta"]["ui"]["resourceUri"], APP);
        let read = peer.call("resources/read", json!({ "uri": APP })).await;
        assert_eq!(read["contents"][0]["mimeType"], APP_TYPE);
        assert_eq!(read["contents"][0]["text"], "<p>weather</p>");
        let said = peer.tool("forecast", json!({})).await;
        assert_eq!(text(&said), "rain until noon, then sun");
    }
}
