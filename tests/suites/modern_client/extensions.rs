//! Extensions that a client declares, and extensions of servers that it does not know.

use mcp_client::Error;
use mcp_types::JsonObject;
use serde_json::{Value, json};

use super::{client, connected, welcome};
use crate::peer::calling;
use crate::prelude::object;

const SEARCH: &str = "com.example/search";
const UI: &str = "io.modelcontextprotocol/ui";

fn declared(request: &Value) -> &Value {
    let meta = &request["params"]["_meta"];
    &meta["io.modelcontextprotocol/clientCapabilities"]["extensions"]
}

// proves: M-EXT-001, M-EXT-002, M-EXT-010
#[tokio::test(start_paused = true)]
async fn every_request_declares_the_extensions_and_their_settings() {
    let types = json!({ "mimeTypes": ["text/html;profile=mcp-app"] });
    let builder = client()
        .extension(UI, object(types.clone()))
        .extension(SEARCH, JsonObject::new());
    let offered = json!({ "extensions": { SEARCH: {}, "org.other/thing": { "a": 1 } } });
    let (mut wire, client) = connected(builder, offered.clone()).await;
    let theirs = client.capabilities().extensions.clone().unwrap();
    assert_eq!(serde_json::to_value(theirs).unwrap(), offered["extensions"]);

    let pinging = tokio::spawn(async move { client.ping().await });
    let request = welcome(&mut wire, offered).await;
    assert_eq!(declared(&request)[UI], types, "{request}");
    assert_eq!(declared(&request)[SEARCH], json!({}), "{request}");
    pinging.await.unwrap().unwrap();
}

// proves: M-BASE-013
#[tokio::test(start_paused = true)]
async fn an_undeclared_result_type_is_rejected() {
    // The server declares an extension that the client did not declare.
    for (extension, kind) in [
        ("com.example/hologram", "hologram"),
        ("io.modelcontextprotocol/tasks", "task"),
    ] {
        unadvertised(extension, kind).await;
    }
}

async fn unadvertised(extension: &str, kind: &str) {
    let offered = json!({ "tools": {}, "extensions": { extension: {} } });
    let (mut wire, client) = connected(client(), offered).await;
    let calling = calling(&client, "show");
    let mut request = wire.recv_patiently().await;
    if request["method"] == "tools/list" {
        let tools =
            json!({ "resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private" });
        wire.answer(&request, tools).await;
        request = wire.recv_patiently().await;
    }
    let result = json!({ "resultType": kind, "content": [{ "type": "text", "text": "!" }] });
    wire.answer(&request, result).await;
    let error = calling.await.unwrap().unwrap_err();
    assert!(
        matches!(&error, Error::UnknownResult { kind: told, .. } if told == kind),
        "{error:?}"
    );
}
