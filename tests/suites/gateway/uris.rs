//! The choice of the server from which a gateway reads a resource.

use mcp_gateway::Gateway;

use super::Scripted;
use crate::peer::Peer;
use crate::prelude::*;

/// Accepts the connection of the gateway to a server with one resource.
async fn accept(servers: &mut Scripted, uri: &str) -> PipeEnd {
    let (mut server, _) = servers.accept_with(json!({ "resources": {} })).await;
    let resources = json!({ "resources": [{ "name": "a", "uri": uri }] });
    server.respond("resources/list", resources).await;
    let templates = json!({ "resourceTemplates": [] });
    server.respond("resources/templates/list", templates).await;
    server
}

#[tokio::test]
async fn a_resource_that_no_server_lists_is_read_from_the_only_server_with_its_scheme() {
    let (files, mut file_servers) = Scripted::upstream();
    let (notes, mut note_servers) = Scripted::upstream();
    let builder = Gateway::builder()
        .mount("files", files)
        .mount("notes", notes);
    let building = tokio::spawn(builder.build());
    let mut files = accept(&mut file_servers, "file:///a").await;
    let mut notes = accept(&mut note_servers, "note://a").await;
    let mut peer = Peer::new(building.await.unwrap().unwrap());
    for (server, uri) in [(&mut files, "FILE:///b"), (&mut notes, "note://b")] {
        peer.request("resources/read", json!({ "uri": uri })).await;
        let request = server.expect("resources/read").await;
        assert_eq!(request["params"]["uri"], uri);
        server.answer(&request, json!({ "contents": [] })).await;
        assert!(peer.wire.recv().await["result"].is_object());
    }
    let other = json!({ "uri": "db://b" });
    let refused = peer.answer("resources/read", other).await;
    says(&refused, "no server of the gateway lists the resource");
    files.silent().await;
    notes.silent().await;
}
