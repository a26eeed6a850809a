//! Resources and templates: listed, read, missing; updates of subscribed resources.

use mcp_server::ServerBuilder;
use mcp_types::{ResourceContents, TextResourceContents};

use super::Peer;
use crate::prelude::*;

#[derive(Deserialize, JsonSchema)]
struct Path {
    path: String,
}

/// Resources that exist, that are missing, that fail, and that have several contents.
fn library() -> ServerBuilder {
    let bytes = || vec![0_u8, 159, 146, 150];
    let fails = || Err::<String, _>(std::io::Error::other("disk full"));
    let folder = || {
        let one = |uri: &str| ResourceContents::Text(TextResourceContents::new(uri, "x"));
        vec![one("lib://folder/a"), one("lib://folder/b")]
    };
    let file = |Args(file): Args<Path>| file.path;
    everything::server()
        .resource(Resource::new("lib://bytes", "bytes", bytes))
        .resource(Resource::new("lib://fails", "fails", fails))
        .resource(Resource::new("lib://none", "none", || None::<String>))
        .resource(Resource::new("lib://folder", "folder", folder))
        .resource(Resource::new("file:///project", "project", || "x").mime("inode/directory"))
        .resource(Resource::new("file:///srv/{+path}", "files", file))
}

// proves: RES-001, RES-003, RES-005, RES-006, RES-007, RES-019, RES-020, RES-028, RES-029, RES-030, RES-032
// proves: M-RES-001, M-RES-003, M-RES-006, M-RES-009, M-RES-012, M-RES-014, M-RES-015, M-RES-017, M-RES-018, M-RES-020, M-RES-021
#[tokio::test]
async fn resources_are_declared_listed_and_read_and_unknown_uris_are_errors() {
    for mut peer in Peer::both(library()).await {
        if peer.is_stateless {
            assert!(peer.discover().await["capabilities"]["resources"].is_object());
        }
        let listed = peer.call("resources/list", json!({})).await["resources"].take();
        let listed = listed.as_array().unwrap();
        let is_named = |it: &Value| it["uri"].is_string() && it["name"].is_string();
        assert!(listed.iter().all(is_named), "{listed:?}");
        assert_eq!(listed[0]["uri"], "test://static-text");
        assert_eq!(listed[1]["uri"], "test://static-binary");
        assert_eq!(listed[listed.len() - 1]["mimeType"], "inode/directory");
        let templates = peer.call("resources/templates/list", json!({})).await;
        let template = &templates["resourceTemplates"][0]["uriTemplate"];
        assert_eq!(template, "test://template/{id}/data");

        let missing = if peer.is_stateless { -32602 } else { -32002 };
        for uri in [
            "lib://none",
            "test://no-such",
            "test://template/a%2Fb/data",
            "test://template/../data",
            "test://template/%2e%2e/data",
            "file:///srv/../etc/passwd",
            "file:///srv/a/../../etc/passwd",
            "file:///srv/%2e%2e/etc/passwd",
            "not a uri",
            "",
        ] {
            let params = json!({ "uri": uri });
            let error = peer
                .expect_error("resources/read", params.clone(), missing)
                .await;
            assert_eq!(error["data"], params);
        }
        for (broken, code) in [
            (json!({}), -32602),
            (json!({ "uri": 7 }), -32602),
            (json!({ "uri": "x".repeat(9_000) }), -32602),
            (json!({ "uri": "lib://fails" }), -32603),
        ] {
            peer.expect_error("resources/read", broken, code).await;
        }

        // The longest accepted URI, and a URI with one byte more.
        for (length, expected) in [(8_192, None), (8_193, Some("longer than 8192"))] {
            let params = json!({ "uri": "x".repeat(length) });
            let code = if expected.is_some() { -32602 } else { missing };
            let error = peer.expect_error("resources/read", params, code).await;
            let message = error["message"].as_str().unwrap();
            assert_eq!(
                message.contains("longer than"),
                expected.is_some(),
                "{message}"
            );
            assert!(message.contains(expected.unwrap_or_default()), "{message}");
        }

        let mut read = async |uri: &str| {
            let result = peer.call("resources/read", json!({ "uri": uri })).await;
            result["contents"].clone()
        };
        let expected = json!([{
            "uri": "test://static-text", "mimeType": "text/plain",
            "text": "This is the content of the static text resource."
        }]);
        assert_eq!(read("test://static-text").await, expected);
        let expected = json!([{ "uri": "lib://bytes", "blob": "AJ+Slg==" }]);
        assert_eq!(read("lib://bytes").await, expected);
        let folder = read("lib://folder").await;
        assert_eq!(folder[0]["uri"], "lib://folder/a");
        assert_eq!(folder[1]["uri"], "lib://folder/b");
        let filled = read("test://template/123/data").await;
        assert_eq!(filled[0]["uri"], "test://template/123/data");
        assert_eq!(filled[0]["mimeType"], "application/json");
        let data: Value = serde_json::from_str(filled[0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(data["id"], "123");
        assert_eq!(read("file:///srv/a/b").await[0]["text"], "a/b");
    }
}

// proves: RES-002, RES-012, RES-013, RES-014, RES-016
#[tokio::test]
async fn updates_reach_subscribers_until_they_unsubscribe() {
    let server = everything::server().build().unwrap();
    let mut wire = PipeEnd::session(server.clone()).await;
    let mut other = PipeEnd::session(server.clone()).await;
    let uri = json!({ "uri": "test://watched-resource" });
    let subscribed = wire.call("resources/subscribe", uri.clone()).await;
    assert_eq!(subscribed, json!({}));
    server.resources().updated("test://watched-resource");
    let update = wire.expect("notifications/resources/updated").await;
    assert_eq!(update["params"], uri);
    other.silent().await;
    server.resources().updated("test://static-text");
    wire.silent().await;
    let unsubscribed = wire.call("resources/unsubscribe", uri.clone()).await;
    assert_eq!(unsubscribed, json!({}));
    server.resources().updated("test://watched-resource");
    wire.silent().await;
    let missing = json!({ "uri": "test://no-such" });
    wire.expect_error("resources/subscribe", missing, -32002)
        .await;
    for (subscribe, announce) in [(true, true), (true, false), (false, true), (false, false)] {
        let mut wire = PipeEnd::to(everything::announcing(subscribe, announce));
        let declared = wire.handshake("2025-11-25", json!({})).await["capabilities"].take();
        let resources = &declared["resources"];
        assert_eq!(resources["subscribe"] == true, subscribe, "{resources}");
        assert_eq!(resources["listChanged"] == true, announce, "{resources}");
        let answer = wire.answer_to("resources/subscribe", uri.clone()).await;
        assert_eq!(answer.get("result").is_some(), subscribe, "{answer}");
    }
}
