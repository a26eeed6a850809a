//! Merged lists of servers that reject some of the requests.

use mcp_gateway::Gateway;

use super::Scripted;
use crate::peer::Peer;
use crate::prelude::*;

const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;

/// Returns why a list lacks the items of a server.
fn unavailable<'a>(list: &'a Value, mount: &str) -> &'a Value {
    &list["_meta"]["mcp-gateway/unavailable"][mount]
}

/// A page with one tool.
fn page(tool: &str, next: Option<&str>) -> Value {
    let tool = json!({ "name": tool, "inputSchema": { "type": "object" } });
    json!({ "tools": [tool], "nextCursor": next })
}

/// A server that has resources does not need to have templates.
#[tokio::test]
async fn a_server_without_the_method_of_a_list_is_not_named_as_unavailable() {
    let (settings, mut servers) = Scripted::upstream();
    let building = tokio::spawn(Gateway::builder().mount("a", settings).build());
    let (mut server, _) = servers.accept_with(json!({ "resources": {} })).await;
    server
        .respond("resources/list", json!({ "resources": [] }))
        .await;
    let request = server.expect("resources/templates/list").await;
    server.refuse(&request, METHOD_NOT_FOUND, "unknown").await;
    let mut peer = Peer::new(building.await.unwrap().unwrap());
    peer.request("resources/templates/list", json!({})).await;
    let request = server.expect("resources/templates/list").await;
    server.refuse(&request, METHOD_NOT_FOUND, "unknown").await;
    let list = peer.wire.recv().await["result"].take();
    assert_eq!(list["resourceTemplates"], json!([]), "{list}");
    assert!(unavailable(&list, "a").is_null(), "{list}");
}

/// One rejected cursor must not hide the pages of the other servers.
#[tokio::test]
async fn a_server_that_rejects_its_cursor_is_named_in_the_page_with_items_of_other_servers() {
    let (gateway, _servers, [mut a, mut b]) = Scripted::two().await;
    let mut peer = Peer::new(gateway);
    peer.request("tools/list", json!({})).await;
    a.respond("tools/list", page("1", Some("a-2"))).await;
    b.respond("tools/list", page("1", Some("b-2"))).await;
    let list = peer.wire.recv().await["result"].take();
    let next = json!({ "cursor": list["nextCursor"] });
    peer.request("tools/list", next).await;
    a.respond("tools/list", page("2", None)).await;
    let request = b.expect("tools/list").await;
    b.refuse(&request, INVALID_PARAMS, "unknown cursor").await;
    let list = peer.wire.recv().await["result"].take();
    assert_eq!(list["tools"][0]["name"], "a__2", "{list}");
    assert!(unavailable(&list, "b").is_string(), "{list}");
    assert!(unavailable(&list, "a").is_null(), "{list}");
    assert!(list["nextCursor"].is_null(), "{list}");
}
