//! A gateway while its servers start, change, or no longer respond.

use mcp_gateway::{AccessPolicy, AccessRule, Gateway, Mount, Transform, Upstream};
use mcp_host::StderrLog;
use tokio::time::timeout;

use super::{Scripted, connect_to, upstream};
use crate::peer::{Peer, client};
use crate::prelude::*;
use crate::traced::Traced;

/// A server that does not respond must not delay the others.
#[tokio::test]
async fn a_hanging_server_does_not_delay_other_servers() {
    let (hanging, _never_accepted) = Scripted::upstream();
    let good = Server::builder("good", "1").tool(Tool::new("one", async || "1"));
    let gateway = Gateway::builder()
        .mount("hangs", hanging)
        .mount("good", upstream(good, true))
        .start()
        .unwrap();
    let client = connect_to(gateway.clone(), client(), true).await;
    assert_eq!(called(&client, "good__one", json!({})).await, "1");
    let tools = client.list_tools().await.unwrap();
    assert_eq!(tools.len(), 1);
    let mut peer = Peer::new(gateway);
    let call = json!({ "name": "hangs__t" });
    says(
        &peer.expect_error("tools/call", call, -32603).await,
        "is being started",
    );
}

/// A request waits for a server whose first attempt to connect is running.
#[tokio::test]
async fn a_request_waits_for_a_server_that_is_being_started() {
    let (settings, mut servers) = Scripted::upstream();
    let gateway = Gateway::builder().mount("a", settings).start().unwrap();
    let mut peer = Peer::new(gateway);
    peer.request("tools/call", json!({ "name": "a__t" })).await;
    let mut server = servers.connected().await;
    server.respond("tools/call", json!({ "content": [] })).await;
    assert!(peer.wire.recv().await["result"].is_object());
}

/// A URI may belong to a server whose first attempt is running.
#[tokio::test]
async fn a_uri_is_looked_up_after_all_servers_were_started() {
    let (settings, mut servers) = Scripted::upstream();
    let gateway = Gateway::builder().mount("a", settings).start().unwrap();
    let mut peer = Peer::new(gateway);
    let uri = json!({ "uri": "test://a" });
    peer.request("resources/read", uri).await;
    let (mut server, _) = servers.accept_with(json!({ "resources": {} })).await;
    let serving = tokio::spawn(async move {
        for (method, list) in [
            ("resources/list", "resources"),
            ("resources/templates/list", "resourceTemplates"),
            ("resources/read", "contents"),
        ] {
            server.respond(method, json!({ list: [] })).await;
        }
    });
    let response = peer.wire.recv().await;
    assert!(response["result"].is_object(), "{response}");
    serving.await.unwrap();
}

/// A changed server must stay available until the new one is connected, even if the new one cannot be started.
#[tokio::test]
async fn a_server_is_used_until_its_replacement_is_connected() {
    let former = Server::builder("one", "1").tool(Tool::new("which", async || "former"));
    let gateway = Gateway::builder().mount("m", upstream(former, true));
    let gateway = gateway.build().await.unwrap();
    let client = connect_to(gateway.clone(), client(), true).await;
    let broken = Upstream::new("broken", |_: &StderrLog| {
        Err::<mcp_transport_stdio::ChildProcess, _>(mcp_client::TransportError::new("no program"))
    });
    gateway.mount("m", broken).await.unwrap();
    assert_eq!(called(&client, "m__which", json!({})).await, "former");
    let status = &gateway.mounts()[0];
    assert!(status.is_connected);
    let error = status.replacement_error.as_deref().unwrap();
    assert!(error.contains("no program"), "{error}");

    let (slow, mut servers) = Scripted::upstream();
    let mounting = {
        let gateway = gateway.clone();
        tokio::spawn(async move { gateway.mount("m", slow).await })
    };
    let (mut server, _) = servers.accept().await;
    assert_eq!(called(&client, "m__which", json!({})).await, "former");
    server.respond("tools/list", json!({ "tools": [] })).await;
    mounting.await.unwrap().unwrap();
    assert!(gateway.mounts()[0].replacement_error.is_none());
    let mut peer = Peer::new(gateway.clone());
    let call = json!({ "name": "m__which" });
    peer.request("tools/call", call).await;
    server.respond("tools/call", json!({ "content": [] })).await;
    assert!(peer.wire.recv().await["result"].is_object());
    assert!(gateway.unmount("m"));
}

/// The replacement of a server that was never connected takes effect at once.
#[tokio::test]
async fn a_server_that_was_never_connected_is_replaced_at_once() {
    let broken = Upstream::new("broken", |_: &StderrLog| {
        Err::<mcp_transport_stdio::ChildProcess, _>(mcp_client::TransportError::new("no program"))
    });
    let gateway = Gateway::builder().mount("m", broken).build().await.unwrap();
    let good = Server::builder("one", "1").tool(Tool::new("which", async || "good"));
    let mount = Mount::new(upstream(good, true)).transform(Transform::new());
    gateway.mount("m", mount).await.unwrap();
    let client = connect_to(gateway, client(), true).await;
    assert_eq!(called(&client, "m__which", json!({})).await, "good");
}

/// A stateless server has no lasting connection, so only a failed request shows that the server cannot be reached.
#[tokio::test]
async fn a_stateless_server_that_was_stopped_is_not_connected_until_it_responds() {
    let (listener, address) = listen().await;
    let server = || {
        Server::builder("far", "1")
            .tool(Tool::new("one", async || "1"))
            .build()
            .unwrap()
    };
    let serve = |listener| {
        let endpoint = Endpoint::new(server()).unwrap();
        tokio::spawn(mcp_transport_http::serve_with(
            listener,
            endpoint,
            std::future::pending(),
        ))
    };
    let serving = serve(listener);
    let connector = move |_: &StderrLog| HttpTransport::new(format!("http://{address}/mcp"));
    let settings =
        Upstream::new("far", connector).negotiation(Revision::LATEST, Negotiation::Stateless);
    let gateway = Gateway::builder()
        .mount("far", settings)
        .build()
        .await
        .unwrap();
    let client = connect_to(gateway.clone(), client(), true).await;
    assert_eq!(called(&client, "far__one", json!({})).await, "1");
    assert!(gateway.mounts()[0].is_connected);

    serving.abort();
    assert!(serving.await.is_err());
    // The first call may use a connection that the server has closed.
    for _ in 0..2 {
        let failed = client.call_tool("far__one", json!({})).await;
        assert!(failed.is_err(), "{failed:?}");
    }
    let status = gateway.mounts();
    assert!(!status[0].is_connected, "{status:?}");
    assert!(status[0].error.is_some(), "{status:?}");

    let listener = TcpListener::bind(address).await.unwrap();
    let serving = serve(listener);
    assert_eq!(called(&client, "far__one", json!({})).await, "1");
    assert!(gateway.mounts()[0].is_connected);
    serving.abort();
}

/// The log shows an operator which requests of which client were denied, and which servers were lost and connected again.
#[tokio::test]
async fn denials_and_changes_of_state_are_logged() {
    let (traced, _guard) = Traced::start();
    let (settings, mut servers) = Scripted::upstream();
    let policy = AccessPolicy::new()
        .rule(AccessRule::deny("secret"))
        .rule(AccessRule::require_scope("write", "push"));
    let building = Gateway::builder().mount("a", settings).access(policy);
    let (gateway, server) = servers.gateway(building).await;
    assert!(traced.line("the server is connected").is_some());
    let endpoint = Endpoint::new(gateway).unwrap();
    let mut client = StatelessPeer::new(&endpoint);
    client.peer.principal = Some(Principal::new("ada\n"));
    client.peer.scopes = Some("read");
    for (tool, reason) in [("secret", "a rule denies it"), ("push", "write")] {
        let reply = client.tool(1, &format!("a__{tool}"), json!({})).await;
        assert!(reply.json().await["error"].is_object());
        let line = traced.line(tool).unwrap();
        for part in ["a request was denied", "\"ada\\n\"", "mount=\"a\"", reason] {
            assert!(line.contains(part), "{part}: {line}");
        }
    }
    drop(server);
    client.peer.principal = None;
    let listing = tokio::spawn(async move { client.call(2, "tools/list", json!({})).await });
    let mut server = servers.connected().await;
    server.respond("tools/list", json!({ "tools": [] })).await;
    listing.await.unwrap();
    assert!(
        traced
            .line("the connection to the server has ended")
            .is_some()
    );
    assert!(traced.line("the server is connected again").is_some());
}

/// Each request of a client needs the server, so the log must not grow with each of them.
#[tokio::test(start_paused = true)]
async fn a_server_that_cannot_be_reached_does_not_fill_the_log() {
    let (settings, mut servers, is_up) = Scripted::switched();
    let (gateway, _server) = servers
        .gateway(Gateway::builder().mount("m", settings))
        .await;
    is_up.store(false, Ordering::Release);
    let (traced, _guard) = Traced::start();
    let mut peer = Peer::session(gateway, json!({})).await;
    for _ in 0..200 {
        let call = json!({ "name": "m__t" });
        let error = peer.expect_error("tools/call", call, -32603).await;
        assert_eq!(error["data"]["upstream"], "scripted", "{error}");
    }
    let text = traced.text();
    let lines = text.matches("the server cannot be reached").count();
    assert!((1..=40).contains(&lines), "{lines} lines");
}

#[tokio::test]
async fn items_with_the_same_name_do_not_fill_the_log() {
    const MAX_REPORTED: usize = 1_024;
    let (settings, mut servers) = Scripted::upstream();
    let (gateway, mut server) = servers
        .gateway(Gateway::builder().mount("m", settings))
        .await;
    let mut peer = Peer::new(gateway);
    let (traced, _guard) = Traced::start();
    let twice = |number: usize| {
        let tool = json!({ "name": format!("t{number}"), "inputSchema": { "type": "object" } });
        [tool.clone(), tool]
    };
    let tools: Vec<_> = (0..MAX_REPORTED + 2).flat_map(twice).collect();
    peer.request("tools/list", json!({})).await;
    server
        .respond("tools/list", json!({ "tools": tools }))
        .await;
    let list = peer.wire.recv().await["result"].take();
    assert_eq!(list["tools"].as_array().unwrap().len(), MAX_REPORTED + 2);
    let text = traced.text();
    let lines = text
        .lines()
        .filter(|line| line.contains("left out an item"));
    assert_eq!(lines.count(), MAX_REPORTED);
}

/// A server may be replaced by a newer version while it is down.
#[tokio::test]
async fn stateless_clients_see_what_a_restarted_server_declares() {
    let (settings, mut servers) = Scripted::upstream();
    let (proxy, mut server) = servers.proxy(settings).await;
    let mut peer = Peer::new(proxy);
    let found = peer.discover().await;
    assert!(found["capabilities"]["resources"].is_null(), "{found}");
    let call = json!({ "name": "t" });
    peer.request("tools/call", call.clone()).await;
    server.expect("tools/call").await;
    drop(server);
    says(&peer.wire.recv().await, "may have run");
    peer.request("tools/call", call).await;
    let capabilities = json!({ "tools": {}, "resources": {} });
    let (mut server, _) = servers.accept_with(capabilities).await;
    server.respond("tools/list", json!({ "tools": [] })).await;
    server.respond("tools/call", json!({ "content": [] })).await;
    peer.wire.recv().await;
    let found = peer.discover().await;
    assert!(found["capabilities"]["resources"].is_object(), "{found}");
}

#[tokio::test]
async fn a_closed_gateway_ends_its_connections_and_subscriptions() {
    let (settings, mut servers) = Scripted::upstream();
    let (gateway, mut server) = servers
        .gateway(Gateway::builder().mount("a", settings))
        .await;
    let mut peer = Peer::new(gateway.clone());
    let listen = json!({ "notifications": { "toolsListChanged": true } });
    let id = peer.request("subscriptions/listen", listen).await;
    peer.wire
        .expect("notifications/subscriptions/acknowledged")
        .await;
    gateway.close().await;
    assert_eq!(peer.wire.recv().await["id"], id);
    server.ended().await;
}

#[tokio::test(start_paused = true)]
async fn a_closed_gateway_makes_no_further_attempts_to_connect() {
    let (settings, mut servers, is_up) = Scripted::switched();
    is_up.store(false, Ordering::Release);
    let gateway = Gateway::builder().mount("a", settings).build();
    let gateway = gateway.await.unwrap();
    gateway.close().await;
    is_up.store(true, Ordering::Release);
    // sleep: the clock is paused. Longer than every wait between two attempts.
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(servers.0.try_recv().is_err(), "a connection");
}

/// The level applies to servers to which the session has a connection, and to servers to which it connects later.
#[tokio::test]
async fn the_log_level_of_a_session_reaches_all_servers() {
    let (gateway, [mut first_servers, mut second_servers], _shared) = Scripted::two().await;
    let mut peer = Peer::session(gateway, json!({})).await;
    peer.request("tools/call", json!({ "name": "a__t" })).await;
    let (mut a, _) = first_servers.accept().await;
    a.respond("tools/call", json!({ "content": [] })).await;
    peer.wire.recv().await;
    let level = json!({ "level": "error" });
    peer.request("logging/setLevel", level.clone()).await;
    let request = a.expect("logging/setLevel").await;
    assert_eq!(request["params"], level);
    a.answer(&request, json!({})).await;
    assert_eq!(peer.wire.recv().await["result"], json!({}));
    peer.request("tools/call", json!({ "name": "b__t" })).await;
    let (mut b, _) = second_servers.accept().await;
    let request = b.expect("logging/setLevel").await;
    assert_eq!(request["params"], level);
    b.answer(&request, json!({})).await;
    b.respond("tools/call", json!({ "content": [] })).await;
    peer.wire.recv().await;
}

/// Filters that are set while a replacement is not connected hold for it too.
#[tokio::test]
async fn tool_filters_apply_to_a_replacement_that_connects_later() {
    let folder = std::env::temp_dir().join(format!("mcp-filters-{}", std::process::id()));
    // A test that was killed can have left a folder, and process ids are used again.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let program = folder.join("server");
    let config = |command: &str, denied: &[&str]| {
        let server = json!({ "command": command, "deniedTools": denied });
        let text = json!({ "mcpServers": { "one": server } }).to_string();
        let config = mcp_gateway::GatewayConfig::parse(&text).unwrap();
        config.resolve(&mcp_host::Variables::new()).unwrap()
    };
    let binary = env!("CARGO_BIN_EXE_everything-server");
    let wrapper = folder.join("first");
    script(&wrapper, binary);
    let first = config(wrapper.to_str().unwrap(), &[]);
    let gateway = first.builder().build().await.unwrap();
    let client = connect_to(gateway.clone(), client(), true).await;
    called(&client, "one__test_simple_text", json!({})).await;
    let missing = config(program.to_str().unwrap(), &[]);
    missing.reload(&first, &gateway).unwrap();
    gateway.settled().await;
    called(&client, "one__test_simple_text", json!({})).await;
    let filtered = config(program.to_str().unwrap(), &["test_simple_text"]);
    filtered.reload(&missing, &gateway).unwrap();
    refused(client.call_tool("one__test_simple_text", json!({})).await);
    script(&program, binary);
    let replaced = async {
        while gateway.mounts()[0].replacement_error.is_some() {
            // sleep: the next attempt has a backoff
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_secs(60), replaced).await.unwrap();
    refused(client.call_tool("one__test_simple_text", json!({})).await);
    gateway.close().await;
    std::fs::remove_dir_all(folder).unwrap();
}

/// Writes a program that starts the fixture server over stdio.
fn script(path: &std::path::Path, binary: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    // Renamed when it is complete: a program that is being written cannot be started.
    let new = path.with_extension("new");
    std::fs::write(&new, format!("#!/bin/sh\nexec {binary} --stdio\n")).unwrap();
    std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::rename(new, path).unwrap();
}
