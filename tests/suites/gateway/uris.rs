//! The choice of the server from which a gateway reads a resource.

use mcp_gateway::{Gateway, Sharing, Upstream};
use mcp_host::StderrLog;

use super::{Scripted, connect_to};
use crate::peer::{Peer, client};
use crate::prelude::*;
use crate::traced::Traced;

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

/// A server whose resources can change without a notification, with its upstream.
fn silent(name: &'static str) -> (Server, Upstream) {
    let builder = Server::builder(name, "1").without_list_changes();
    let server = builder.resource(resource(name, "own")).build().unwrap();
    let connected = server.clone();
    let connector = move |_: &StderrLog| Ok(mcp_transport_stdio::in_memory(connected.clone()));
    let upstream = Upstream::new(name, connector).sharing(Sharing::All);
    (server, upstream)
}

fn resource(name: &'static str, uri: &str) -> Resource<()> {
    Resource::text(format!("test://{uri}-{name}"), name, name)
}

#[tokio::test]
async fn for_a_uri_of_two_servers_the_list_shows_the_resource_that_a_read_returns() {
    let (first, first_upstream) = silent("first");
    let (second, second_upstream) = silent("second");
    let same = |name| Resource::text("test://same", name, name);
    // The gateway knows this resource of the second server, and not yet that of the first.
    second.resources().add(same("second")).unwrap();
    let gateway = Gateway::builder()
        .mount("first", first_upstream)
        .mount("second", second_upstream);
    let gateway = gateway.build().await.unwrap();
    first.resources().add(same("first")).unwrap();
    let (traced, _guard) = Traced::start();
    for is_stateless in [false, true] {
        let client = connect_to(gateway.clone(), client(), is_stateless).await;
        let listed = client.list_resources().await.unwrap();
        let same: Vec<_> = listed
            .iter()
            .filter(|one| one.uri == "test://same")
            .collect();
        let names: Vec<_> = same.iter().map(|one| &*one.name).collect();
        let read = json!(client.read_resource("test://same").await.unwrap());
        assert_eq!(names, [read["contents"][0]["text"].as_str().unwrap()]);
    }
    let text = traced.text();
    let lines = text
        .lines()
        .filter(|line| line.contains("left out an item"));
    let lines: Vec<_> = lines.collect();
    assert_eq!(lines.len(), 1, "{text}");
    assert!(
        lines[0].contains("first") && lines[0].contains("second"),
        "{text}"
    );
}
