//! Apps from a server to a host, and servers and hosts without them.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_apps::{
    Apps, Csp, EXTENSION, ErrorKind, HostApps, MIME_TYPE, Page, Permissions, RemoteApps,
    Visibility, is_supported,
};
use mcp_client::types::Tool as ToolDefinition;
use mcp_client::{Client, ClientBuilder, Revision};
use mcp_server::types::{
    BlobResourceContents, JsonObject, Meta, ResourceContents, TextResourceContents,
};
use mcp_server::{Ctx, Resource, ResourceBody, Server, ServerBuilder, Tool};
use serde_json::{Value, json};

const HTML: &str = "<!doctype html><title>Weather</title>";
const HTML_BASE64: &str = "PCFkb2N0eXBlIGh0bWw+PHRpdGxlPldlYXRoZXI8L3RpdGxlPg==";

#[expect(
    clippy::needless_pass_by_value,
    reason = "a handler owns its parameters"
)]
fn weather(cx: Ctx) -> &'static str {
    match is_supported(&cx) {
        true => "shown",
        false => "Sunny, 22 degrees",
    }
}

fn server() -> ServerBuilder {
    let page = Page::new("weather/view.html", "weather", HTML)
        .description("The weather")
        .csp(Csp::new().with_connect_domain("https://api.example.com"))
        .permissions(Permissions::new().with_geolocation())
        .domain("a.host.example")
        .prefers_border(true)
        .tool(Tool::new("weather", weather).meta(Meta::new().with("com.example/a", 1)))
        .app_tool(Tool::new("refresh", weather))
        .model_tool(Tool::new("forecast", weather));
    Server::builder("weather", "1")
        .with(Apps::new().page(page))
        .tool(Tool::new("plain", || "plain"))
}

async fn connect(client: ClientBuilder, revision: Revision, server: ServerBuilder) -> Client {
    let transport = mcp_transport_stdio::in_memory(server);
    let client = client.revision(revision).connect(transport).await;
    client.unwrap()
}

fn host() -> ClientBuilder {
    Client::builder("host", "1").with(HostApps::new())
}

async fn tool(client: &Client, name: &str) -> ToolDefinition {
    let tools = client.list_tools().await.unwrap();
    let found = tools.iter().find(|tool| tool.name == name);
    found.unwrap_or_else(|| panic!("{name}")).clone()
}

async fn called(client: &Client, name: &str) -> String {
    let result = client.call_tool(name, json!({})).await;
    result.unwrap().joined_text()
}

#[tokio::test]
async fn a_host_shows_the_page_of_a_tool() {
    for revision in Revision::ALL {
        if !revision.rules().titles_and_meta {
            continue;
        }
        let client = connect(host(), revision, server()).await;
        let declared = client.capabilities().extensions.as_ref().unwrap();
        assert!(declared.contains_key(EXTENSION), "{revision}");
        let apps = RemoteApps::new(&client);
        let weather = tool(&client, "weather").await;
        let ui = RemoteApps::tool_ui(&weather).unwrap();
        assert_eq!(ui.resource_uri.as_deref(), Some("ui://weather/view.html"));
        assert!(ui.is_for_model() && ui.is_for_app(), "{revision}");
        assert_eq!(weather.meta.as_ref().unwrap()["com.example/a"], 1);
        let view = apps.open(&weather).await.unwrap().unwrap();
        assert_eq!((&*view.uri, &*view.html), ("ui://weather/view.html", HTML));
        assert_eq!(view.allow(), "geolocation", "{revision}");
        assert_eq!(view.ui.domain.as_deref(), Some("a.host.example"));
        assert_eq!(view.ui.prefers_border, Some(true));
        let policy = view.content_security_policy();
        assert!(
            policy.contains("connect-src https://api.example.com;"),
            "{policy}"
        );
        assert_eq!(called(&client, "weather").await, "shown", "{revision}");
        assert!(
            apps.open(&tool(&client, "plain").await)
                .await
                .unwrap()
                .is_none()
        );
        let listed = client.list_resources().await.unwrap();
        assert_eq!(listed[0].mime_type.as_deref(), Some(MIME_TYPE));
        client.close().await.unwrap();
    }
}

#[tokio::test]
async fn on_revisions_without_tool_metadata_a_host_shows_text() {
    for revision in [Revision::V2024_11_05, Revision::V2025_03_26] {
        let client = connect(host(), revision, server()).await;
        let weather = tool(&client, "weather").await;
        let view = RemoteApps::new(&client).open(&weather).await.unwrap();
        assert!(view.is_none(), "{revision}");
        assert_eq!(called(&client, "weather").await, "Sunny, 22 degrees");
        assert!(client.call_tool("refresh", json!({})).await.is_err());
        client.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_tool_can_be_for_the_model_for_apps_or_for_both() {
    let client = connect(host(), Revision::LATEST, server()).await;
    let apps = RemoteApps::new(&client);
    let refresh = tool(&client, "refresh").await;
    let ui = RemoteApps::tool_ui(&refresh).unwrap();
    assert_eq!(ui.visibility, Some(vec![Visibility::App]));
    assert!(!ui.is_for_model() && ui.is_for_app());
    let result = apps.call_tool(&refresh, json!({})).await.unwrap();
    assert_eq!(result.joined_text(), "shown");
    let forecast = tool(&client, "forecast").await;
    assert!(RemoteApps::tool_ui(&forecast).unwrap().is_for_model());
    let error = apps.call_tool(&forecast, json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Forbidden);
    client.close().await.unwrap();
}

#[tokio::test]
async fn a_client_without_apps_receives_text_and_does_not_see_page_tools() {
    let other = |settings: Value| {
        let settings: JsonObject = serde_json::from_value(settings).unwrap();
        Client::builder("text", "1").extension(EXTENSION, settings)
    };
    for revision in Revision::ALL {
        for client in [
            Client::builder("text", "1"),
            other(json!({})),
            other(json!({ "mimeTypes": ["text/uri-list"] })),
            other(json!({ "mimeTypes": MIME_TYPE })),
        ] {
            let client = connect(client, revision, server()).await;
            assert_eq!(called(&client, "weather").await, "Sunny, 22 degrees");
            let tools = client.list_tools().await.unwrap();
            let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
            assert_eq!(names, ["weather", "forecast", "plain"], "{revision}");
            assert!(client.call_tool("refresh", json!({})).await.is_err());
            client.close().await.unwrap();
        }
    }
}

#[tokio::test]
async fn visible_if_can_hide_an_app_tool_from_a_client_that_shows_apps() {
    let page = Page::new("a", "a", HTML).app_tool(Tool::new("never", || "x").visible_if(|_| false));
    let server = Server::builder("s", "1").with(Apps::new().page(page));
    let client = connect(host(), Revision::LATEST, server).await;
    assert!(client.call_tool("never", json!({})).await.is_err());
    client.close().await.unwrap();
}

#[test]
fn pages_without_a_valid_uri_are_errors_of_the_server() {
    for (paths, problem) in [(vec!["a b"], "URI"), (vec!["a", "a"], "registered")] {
        let pages = paths.iter().map(|path| Page::<()>::new(path, "a", HTML));
        let apps = pages.fold(Apps::new(), Apps::page);
        let error = Server::builder("s", "1").with(apps).build().unwrap_err();
        assert!(error.to_string().contains(problem), "{error}");
    }
}

/// A server with one tool, whose metadata is `meta`, and one page.
async fn foreign(meta: Value, contents: Vec<ResourceContents>) -> (Client, Arc<AtomicUsize>) {
    let reads = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&reads);
    let meta: Meta = serde_json::from_value(meta).unwrap();
    let server = Server::builder("foreign", "1")
        .tool(Tool::new("show", || "x").meta(meta))
        .resource(Resource::new("ui://view", "view", move || {
            count.fetch_add(1, Ordering::SeqCst);
            ResourceBody::Contents(contents.clone())
        }));
    (connect(host(), Revision::LATEST, server).await, reads)
}

fn html(text: &str, mime: &str) -> TextResourceContents {
    TextResourceContents::new("ui://view", text).with_mime_type(mime)
}

#[tokio::test]
async fn pages_in_the_format_of_other_sdks_are_read() {
    let linked = json!({ "ui": { "resourceUri": "ui://view", "later": true } });
    let old = json!({ "ui/resourceUri": "ui://view" });
    let blob = BlobResourceContents::new("ui://view", HTML_BASE64).with_mime_type(MIME_TYPE);
    for (meta, contents) in [
        (&linked, ResourceContents::Text(html(HTML, MIME_TYPE))),
        (&old, ResourceContents::Text(html(HTML, MIME_TYPE))),
        (&linked, ResourceContents::Blob(blob)),
    ] {
        let (client, _) = foreign(meta.clone(), vec![contents]).await;
        let show = tool(&client, "show").await;
        let view = RemoteApps::new(&client).open(&show).await.unwrap().unwrap();
        assert_eq!((&*view.html, view.allow()), (HTML, String::new()));
        client.close().await.unwrap();
    }
}

#[tokio::test]
async fn malformed_pages_and_metadata_are_refused() {
    let linked = |uri: &str| json!({ "ui": { "resourceUri": uri } });
    let text = |contents| ResourceContents::Text(contents);
    let good = || vec![text(html(HTML, MIME_TYPE))];
    let bad_meta = |ui: Value| {
        let meta = Meta::new().with("ui", ui);
        vec![text(html(HTML, MIME_TYPE).with_meta(meta))]
    };
    let elsewhere = TextResourceContents::new("ui://other", HTML).with_mime_type(MIME_TYPE);
    let blob = |blob: &str| {
        let blob = BlobResourceContents::new("ui://view", blob).with_mime_type(MIME_TYPE);
        vec![ResourceContents::Blob(blob)]
    };
    let view = || linked("ui://view");
    for (meta, contents, kind, reads) in [
        (linked("https://a.example"), good(), ErrorKind::Metadata, 0),
        (linked("file:///etc/passwd"), good(), ErrorKind::Metadata, 0),
        (json!({ "ui": "ui://view" }), good(), ErrorKind::Metadata, 0),
        (
            json!({ "ui": { "resourceUri": 1 } }),
            good(),
            ErrorKind::Metadata,
            0,
        ),
        (
            json!({ "ui": { "visibility": "app" } }),
            good(),
            ErrorKind::Metadata,
            0,
        ),
        (linked("ui://missing"), good(), ErrorKind::Client, 0),
        (view(), Vec::new(), ErrorKind::Content, 1),
        (view(), vec![text(elsewhere)], ErrorKind::Content, 1),
        (
            view(),
            vec![text(html(HTML, "text/html"))],
            ErrorKind::Content,
            1,
        ),
        (
            view(),
            vec![text(html(&"x".repeat(5 << 20), MIME_TYPE))],
            ErrorKind::Content,
            1,
        ),
        (view(), blob("?"), ErrorKind::Content, 1),
        (view(), blob("/w=="), ErrorKind::Content, 1),
        (
            view(),
            bad_meta(json!({ "csp": 1 })),
            ErrorKind::Metadata,
            1,
        ),
        (
            view(),
            bad_meta(json!({ "permissions": "all" })),
            ErrorKind::Metadata,
            1,
        ),
    ] {
        let (client, count) = foreign(meta.clone(), contents).await;
        let show = tool(&client, "show").await;
        let error = RemoteApps::new(&client).open(&show).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{meta}: {error}");
        assert_eq!(count.load(Ordering::SeqCst), reads, "{meta}");
        assert_eq!(error.client_error().is_some(), kind == ErrorKind::Client);
        client.close().await.unwrap();
    }
}
