//! Servers that end, and connections that are used again.

use mcp_gateway::{Gateway, Mount, Proxy, Sharing, Upstream};
use mcp_host::{ServerConfig, StderrLog};
use mcp_transport_http::serve_with;
use tokio::time::{sleep, timeout};

use super::{Scripted, connect_to, upstream};
use crate::peer::{Peer, calling, client};
use crate::prelude::*;
use crate::traced::Traced;

#[tokio::test]
async fn a_call_fails_when_its_server_ends_and_the_next_call_is_served() {
    let (settings, mut servers) = Scripted::upstream();
    let (proxy, mut shared) = servers.proxy(settings).await;
    let mut stateless = Peer::new(proxy.clone());
    stateless
        .request("tools/call", json!({ "name": "t" }))
        .await;
    shared.expect("tools/call").await;
    drop(shared);
    let failed = stateless.wire.recv().await;
    says(&failed, "may have run");
    assert_eq!(failed["error"]["data"]["upstream"], "scripted");
    stateless
        .request("tools/call", json!({ "name": "t" }))
        .await;
    let mut shared = servers.connected().await;
    shared.respond("tools/call", json!({ "content": [] })).await;
    assert_eq!(
        stateless.wire.recv().await["result"]["resultType"],
        "complete"
    );

    let mut session = Peer::session(proxy, json!({})).await;
    session.request("tools/call", json!({ "name": "t" })).await;
    let (mut own, _) = servers.accept().await;
    own.expect("tools/call").await;
    drop(own);
    says(&session.wire.recv().await, "may have run");
    session.request("tools/call", json!({ "name": "t" })).await;
    let (mut own, _) = servers.accept().await;
    own.respond("tools/call", json!({ "content": [] })).await;
    assert!(session.wire.recv().await["error"].is_null());
}

#[tokio::test]
async fn a_session_has_a_separate_connection_that_ends_with_the_session() {
    let (settings, mut servers) = Scripted::upstream();
    let (proxy, mut shared) = servers.proxy(settings).await;
    let mut first = Peer::session(proxy.clone(), json!({ "roots": {} })).await;
    first.request("tools/call", json!({ "name": "t" })).await;
    // Programs that cannot run twice are not started twice.
    shared.ended().await;
    let (mut server, params) = servers.accept().await;
    assert_eq!(params["clientInfo"]["name"], "scripted");
    assert_eq!(params["capabilities"], json!({ "roots": {} }));
    server.respond("tools/call", json!({ "content": [] })).await;
    first.wire.recv().await;
    let mut second = Peer::session(proxy, json!({})).await;
    second.request("tools/call", json!({ "name": "t" })).await;
    let (mut other, _) = servers.accept().await;
    other.respond("tools/call", json!({ "content": [] })).await;
    second.wire.recv().await;
    first.wire.close().await.unwrap();
    server.ended().await;
    other.silent().await;
}

/// A connection on which the server can ask the client serves one call at a time, and then the next one.
#[tokio::test]
async fn connections_of_stateless_clients_are_used_again() {
    let (settings, mut servers) = Scripted::upstream();
    let (proxy, _shared) = servers.proxy(settings).await;
    let mut peer = Peer::with(proxy, json!({ "elicitation": {} }));
    peer.request("tools/call", json!({ "name": "a" })).await;
    let (mut first, _) = servers.accept().await;
    let a = first.expect("tools/call").await;
    peer.request("tools/call", json!({ "name": "b" })).await;
    let (mut second, _) = servers.accept().await;
    second.respond("tools/call", json!({ "content": [] })).await;
    peer.wire.recv().await;
    first.answer(&a, json!({ "content": [] })).await;
    peer.wire.recv().await;
    peer.request("tools/call", json!({ "name": "c" })).await;
    second.respond("tools/call", json!({ "content": [] })).await;
    peer.wire.recv().await;
}

#[tokio::test]
async fn the_number_of_connections_to_a_server_is_limited() {
    let server = Server::builder("waits", "1").tool(Tool::new("wait", async || {
        std::future::pending::<&str>().await
    }));
    let settings = upstream(server, false).max_connections(2);
    let proxy = Proxy::connect(settings).await.unwrap();
    let open = async || connect_to(proxy.clone(), client(), false).await;
    let (first, second, third) = (open().await, open().await, open().await);
    let (traced, _guard) = Traced::start();
    let one = calling(&first, "wait");
    first.list_tools().await.unwrap();
    let two = calling(&second, "wait");
    second.list_tools().await.unwrap();
    let error = refused(third.list_tools().await);
    assert!(error.message.contains("2 connections"), "{error}");
    let line = traced.line("a request was denied").unwrap();
    for part in [
        "server=\"in-memory\"",
        "a client without an address",
        "2 connections",
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }
    one.abort();
    two.abort();
}

/// A client may send more calls at once than it can have connections: they wait for each other.
#[tokio::test]
async fn calls_above_the_connection_limit_of_a_client_wait_for_a_connection() {
    let starts = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&starts);
    // A server may ask during a call, so each call has a connection for itself.
    let server = Server::builder("works", "1").tool(Tool::new("work", async || "done"));
    let server = server.build().unwrap();
    let connector = move |_: &StderrLog| {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok(mcp_transport_stdio::in_memory(server.clone()))
    };
    let settings = Upstream::new("works", connector)
        .sharing(Sharing::All)
        .negotiation(Revision::LATEST_WITH_SESSIONS, Negotiation::SessionBased)
        .max_connections_per_client(2);
    let endpoint = Endpoint::new(Proxy::connect(settings).await.unwrap()).unwrap();
    let mut client = StatelessPeer::new(&endpoint);
    client.peer.address = Some("10.0.0.1:1".parse().unwrap());
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..20 {
        let client = client.clone();
        calls.spawn(async move {
            let reply = client
                .call(number, "tools/call", json!({ "name": "work" }))
                .await;
            reply.json().await
        });
    }
    while let Some(reply) = calls.join_next().await {
        let reply = reply.unwrap();
        assert!(reply["result"].is_object(), "{reply}");
    }
    // One for all clients, and two that the calls share.
    assert_eq!(starts.load(Ordering::Relaxed), 3);
}

/// A client whose calls use all connections must not keep others from being served.
#[tokio::test]
async fn the_oldest_call_of_the_client_with_most_connections_makes_room_for_others() {
    let (settings, mut servers) = Scripted::upstream();
    let settings = settings.max_connections(3).max_connections_per_client(8);
    let (proxy, _shared) = servers.proxy(settings).await;
    let endpoint = Endpoint::new(proxy).unwrap();
    let call = |address: &str, number: u64| {
        let mut client = StatelessPeer::new(&endpoint);
        client.peer.address = Some(address.parse().unwrap());
        // The server may ask during such a call, so it has a connection for itself.
        let params = json!({ "name": "t", "_meta": {
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} }
        } });
        tokio::spawn(async move {
            let reply = client.call(number, "tools/call", params).await;
            reply.json().await
        })
    };
    let mut running = Vec::new();
    for number in 0..2 {
        let reply = call("10.0.0.1:1", number);
        let (mut server, _) = servers.accept().await;
        let id = server.expect("tools/call").await;
        running.push((reply, server, id));
    }
    let other = call("10.0.0.2:1", 2);
    let (mut server, _) = servers.accept().await;
    let id = server.expect("tools/call").await;
    server.answer(&id, json!({ "content": [] })).await;
    assert!(other.await.unwrap()["result"].is_object());
    let (newest, mut server, id) = running.remove(1);
    server.answer(&id, json!({ "content": [] })).await;
    assert!(newest.await.unwrap()["result"].is_object());
    let (oldest, ..) = running.remove(0);
    assert!(oldest.await.unwrap()["error"].is_object());
}

/// A load balancer sends no requests to a gateway that is not ready.
#[tokio::test(start_paused = true)]
async fn a_gateway_becomes_ready_again_without_a_request() {
    let (settings, mut servers, is_up) = Scripted::switched();
    let mount = Mount::new(settings).required();
    let (gateway, mut server) = servers.gateway(Gateway::builder().mount("a", mount)).await;
    let mut peer = Peer::new(gateway.clone());
    peer.request("tools/call", json!({ "name": "a__t" })).await;
    server.expect("tools/call").await;
    is_up.store(false, Ordering::Release);
    drop(server);
    says(&peer.wire.recv().await, "may have run");
    assert!(gateway.is_ready(), "no attempt to connect has failed");
    let list = peer.call("tools/list", json!({})).await;
    let reason = &list["_meta"]["mcp-gateway/unavailable"]["a"];
    assert!(reason.is_string() && !gateway.is_ready(), "{list}");
    // sleep: the clock is paused. Further attempts fail.
    sleep(Duration::from_secs(10)).await;
    assert!(!gateway.is_ready());
    is_up.store(true, Ordering::Release);
    let _server = servers.connected().await;
    let ready = async {
        while !gateway.is_ready() {
            // sleep: the clock is paused
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(60), ready).await.unwrap();
    gateway.close().await;
}

/// The capabilities of a server with a tool and a resource.
fn capabilities() -> Value {
    json!({ "tools": {}, "resources": { "subscribe": true } })
}

/// Accepts the shared connection of a proxy.
async fn accept_shared(servers: &mut Scripted) -> PipeEnd {
    let (mut shared, _) = servers.accept_with(capabilities()).await;
    shared.respond("tools/list", json!({ "tools": [] })).await;
    shared
}

/// Starts to listen to changes of the resource `test://a`; returns the id of the request.
async fn listen(peer: &mut Peer) -> Value {
    let listen = json!({ "notifications": { "resourceSubscriptions": ["test://a"] } });
    peer.request("subscriptions/listen", listen).await
}

#[tokio::test(start_paused = true)]
async fn a_resource_is_watched_again_after_failed_attempts_to_connect() {
    let (settings, mut servers, is_up) = Scripted::switched();
    let connecting = tokio::spawn(Proxy::connect(settings));
    let mut server = accept_shared(&mut servers).await;
    let mut peer = Peer::new(connecting.await.unwrap().unwrap());
    listen(&mut peer).await;
    server.respond("resources/subscribe", json!({})).await;
    peer.wire
        .expect("notifications/subscriptions/acknowledged")
        .await;
    is_up.store(false, Ordering::Release);
    drop(server);
    // sleep: the clock is paused. Several attempts fail.
    sleep(Duration::from_secs(10)).await;
    is_up.store(true, Ordering::Release);
    let mut server = accept_shared(&mut servers).await;
    let request = server.expect("resources/subscribe").await;
    assert_eq!(request["params"]["uri"], "test://a");
    server.answer(&request, json!({})).await;
    // It may have changed meanwhile.
    peer.wire.expect("notifications/resources/updated").await;
    let changed = json!({ "uri": "test://a" });
    server
        .notify("notifications/resources/updated", changed)
        .await;
    peer.wire.expect("notifications/resources/updated").await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ends_when_a_resource_is_watched_is_started_with_growing_delays() {
    let (settings, mut servers) = Scripted::upstream();
    let connecting = tokio::spawn(Proxy::connect(settings));
    let mut server = accept_shared(&mut servers).await;
    let mut peer = Peer::new(connecting.await.unwrap().unwrap());
    listen(&mut peer).await;
    server.respond("resources/subscribe", json!({})).await;
    let begin = tokio::time::Instant::now();
    for _ in 0..12 {
        drop(server);
        server = accept_shared(&mut servers).await;
        server.respond("resources/subscribe", json!({})).await;
    }
    assert!(
        begin.elapsed() > Duration::from_secs(120),
        "{:?}",
        begin.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn a_session_keeps_its_subscriptions_while_its_server_cannot_be_reached() {
    let (settings, mut servers, is_up) = Scripted::switched();
    let connecting = tokio::spawn(Proxy::connect(settings));
    let _shared = accept_shared(&mut servers).await;
    let mut peer = Peer::session(connecting.await.unwrap().unwrap(), json!({})).await;
    let uri = json!({ "uri": "test://a" });
    peer.request("resources/subscribe", uri.clone()).await;
    let (mut own, _) = servers.accept_with(capabilities()).await;
    own.respond("resources/subscribe", json!({})).await;
    assert!(peer.wire.recv().await["result"].is_object());
    is_up.store(false, Ordering::Release);
    drop(own);
    peer.wire.expect("notifications/resources/updated").await;
    peer.request("resources/read", uri.clone()).await;
    assert!(peer.wire.recv().await["error"].is_object());
    is_up.store(true, Ordering::Release);
    peer.request("resources/read", uri).await;
    let (mut own, _) = servers.accept_with(capabilities()).await;
    let requests = [own.recv().await, own.recv().await];
    let mut methods = requests
        .iter()
        .map(|request| request["method"].as_str().unwrap());
    assert!(methods.any(|method| method == "resources/subscribe"));
}

/// A new connection first subscribes to the resources that clients watch. If the request that opened the connection is cancelled
/// meanwhile, the next request uses this connection.
#[tokio::test]
async fn a_cancelled_request_releases_its_connection() {
    let (settings, mut servers) = Scripted::upstream();
    let connecting = tokio::spawn(Proxy::connect(settings.max_connections(2)));
    let mut shared = accept_shared(&mut servers).await;
    let proxy = connecting.await.unwrap().unwrap();
    let mut watching = Peer::new(proxy.clone());
    listen(&mut watching).await;
    shared.respond("resources/subscribe", json!({})).await;
    let acknowledged = "notifications/subscriptions/acknowledged";
    watching.wire.expect(acknowledged).await;

    let mut asking = Peer::with(proxy, json!({ "elicitation": {} }));
    let id = asking.request("tools/call", json!({ "name": "t" })).await;
    let (mut own, _) = servers.accept_with(capabilities()).await;
    let subscribing = own.expect("resources/subscribe").await;
    asking.wire.cancel(&id).await;
    asking.silent().await;
    own.answer(&subscribing, json!({})).await;
    asking.request("tools/call", json!({ "name": "t" })).await;
    own.respond("tools/call", json!({ "content": [] })).await;
    assert!(asking.wire.recv().await["error"].is_null());
}

#[tokio::test]
async fn a_resource_is_not_watched_for_a_cancelled_request() {
    let (settings, mut servers) = Scripted::upstream();
    let connecting = tokio::spawn(Proxy::connect(settings));
    let _first = accept_shared(&mut servers).await;
    let proxy = connecting.await.unwrap().unwrap();
    let mut asking = Peer::with(proxy.clone(), json!({ "elicitation": {} }));
    asking.request("tools/call", json!({ "name": "t" })).await;
    let (mut own, _) = servers.accept_with(capabilities()).await;
    own.respond("tools/call", json!({ "content": [] })).await;
    asking.wire.recv().await;

    let mut watching = Peer::new(proxy.clone());
    let id = listen(&mut watching).await;
    let mut shared = accept_shared(&mut servers).await;
    shared.respond("resources/subscribe", json!({})).await;
    own.expect("resources/subscribe").await;
    watching.wire.cancel(&id).await;
    watching.silent().await;

    let mut other = Peer::with(proxy, json!({ "sampling": {} }));
    other.request("tools/call", json!({ "name": "t" })).await;
    let (mut new, _) = servers.accept_with(capabilities()).await;
    new.respond("tools/call", json!({ "content": [] })).await;
    assert!(other.wire.recv().await["error"].is_null());
}

#[tokio::test]
async fn clients_of_a_gateway_do_not_learn_where_a_lost_server_is() {
    let (listener, address) = crate::prelude::listen().await;
    let server = Server::builder("notes", "1")
        .tool(Tool::new("t", async || "done"))
        .resource(Resource::new("notes://a", "a", async || {
            mcp_types::ResourceContents::text("notes://a", "text")
        }));
    let endpoint = Endpoint::new(server.build().unwrap()).unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(serve_with(listener, endpoint, async {
        // A dropped sender also stops the server.
        let _ = stopped.await;
    }));
    let notes = ServerConfig::http(format!("http://{address}/mcp"));
    let gateway = Gateway::builder().mount("notes", Upstream::new("notes", notes));
    let mut peer = Peer::new(gateway.build().await.unwrap());
    peer.call("tools/call", json!({ "name": "notes__t" })).await;
    drop(stop);
    serving.await.unwrap().unwrap();
    let (traced, _guard) = Traced::start();
    for (method, params) in [
        ("tools/list", json!({})),
        ("tools/call", json!({ "name": "notes__t" })),
        ("resources/read", json!({ "uri": "notes://a" })),
    ] {
        let answer = peer.answer(method, params).await.to_string();
        let is_short = answer.contains("the log of the gateway has the reason");
        assert!(is_short, "{method}: {answer}");
        for secret in [&*address.to_string(), "os error", "connect"] {
            assert!(!answer.contains(secret), "{method}: {answer}");
        }
    }
    let line = traced.line("a call failed").unwrap();
    assert!(line.contains(&address.to_string()), "{line}");
}

/// Only a cursor that its server rejects is the fault of the client.
#[tokio::test]
async fn a_rejected_cursor_is_an_error_of_the_client_only_if_the_client_sent_it() {
    let (settings, mut servers) = Scripted::upstream();
    let (gateway, mut server) = servers
        .gateway(Gateway::builder().mount("m", settings))
        .await;
    let mut peer = Peer::new(gateway);
    let is_named = |list: &Value| list["_meta"]["mcp-gateway/unavailable"]["m"].is_string();
    peer.request("tools/list", json!({})).await;
    let request = server.expect("tools/list").await;
    server.refuse(&request, -32602, "no").await;
    let list = peer.wire.recv().await["result"].take();
    assert!(is_named(&list), "{list}");
    peer.request("tools/list", json!({})).await;
    let page = json!({ "tools": [], "nextCursor": "next" });
    server.respond("tools/list", page).await;
    let list = peer.wire.recv().await["result"].take();
    let next = json!({ "cursor": list["nextCursor"] });
    peer.request("tools/list", next).await;
    let request = server.expect("tools/list").await;
    server.refuse(&request, -32603, "no").await;
    let list = peer.wire.recv().await["result"].take();
    assert!(is_named(&list), "{list}");
}
