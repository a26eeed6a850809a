//! Connections that the gateway closes when they are not used.

use tokio::time::sleep;

use super::Scripted;
use crate::peer::Peer;
use crate::prelude::*;

/// Calls a tool on this connection, which must still be open.
async fn call_on(server: &mut PipeEnd, peer: &mut Peer) {
    peer.request("tools/call", json!({ "name": "t" })).await;
    finish(server, peer).await;
}

/// Serves a call that the client has sent.
async fn finish(server: &mut PipeEnd, peer: &mut Peer) {
    let request = server.expect("tools/call").await;
    server.answer(&request, json!({ "content": [] })).await;
    assert!(peer.wire.recv().await["error"].is_null());
}

/// Calls a tool on a new connection of the gateway.
async fn call_on_new(servers: &mut Scripted, peer: &mut Peer) -> PipeEnd {
    peer.request("tools/call", json!({ "name": "t" })).await;
    let (mut server, _) = servers.accept().await;
    finish(&mut server, peer).await;
    server
}

/// The gateway looks for unused connections once a minute.
#[tokio::test(start_paused = true)]
async fn a_used_connection_is_kept_and_closed_when_it_is_unused_for_a_minute() {
    let (settings, mut servers) = Scripted::upstream();
    let (proxy, _shared) = servers.proxy(settings).await;
    let mut peer = Peer::with(proxy, json!({ "elicitation": {} }));
    // After all connections are closed, the gateway looks again when there is a new one.
    for _ in 0..2 {
        let mut server = call_on_new(&mut servers, &mut peer).await;
        // sleep: the clock is paused. The gateway looks after 60, 120 and 180 seconds.
        for wait in [30, 40] {
            sleep(Duration::from_secs(wait)).await;
            call_on(&mut server, &mut peer).await;
        }
        sleep(Duration::from_secs(55)).await;
        server.silent().await;
        sleep(Duration::from_secs(60)).await;
        server.ended().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_used_once_is_closed_after_a_minute() {
    let (settings, mut servers) = Scripted::upstream();
    let (proxy, _shared) = servers.proxy(settings).await;
    let mut peer = Peer::with(proxy, json!({ "elicitation": {} }));
    let mut server = call_on_new(&mut servers, &mut peer).await;
    // sleep: the clock is paused
    sleep(Duration::from_secs(59)).await;
    server.silent().await;
    sleep(Duration::from_secs(2)).await;
    server.ended().await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_with_a_running_call_is_not_closed() {
    let (settings, mut servers) = Scripted::upstream();
    let (proxy, _shared) = servers.proxy(settings).await;
    let mut peer = Peer::with(proxy, json!({ "elicitation": {} }));
    let mut server = call_on_new(&mut servers, &mut peer).await;
    peer.request("tools/call", json!({ "name": "t" })).await;
    let request = server.expect("tools/call").await;
    // sleep: the clock is paused
    sleep(Duration::from_secs(200)).await;
    server.answer(&request, json!({ "content": [] })).await;
    assert!(peer.wire.recv().await["error"].is_null());
    sleep(Duration::from_secs(55)).await;
    server.silent().await;
}

/// A message of the server that names no call would reach the wrong request.
#[tokio::test]
async fn a_call_and_a_list_at_the_same_time_use_different_connections() {
    let call = ("tools/call", json!({ "content": [] }));
    let list = ("tools/list", json!({ "tools": [] }));
    for requests in [[&call, &list], [&list, &call]] {
        let (settings, mut servers) = Scripted::upstream();
        let (proxy, _shared) = servers.proxy(settings).await;
        let mut peer = Peer::with(proxy, json!({ "elicitation": {} }));
        let mut running = Vec::new();
        for (method, result) in requests {
            peer.request(method, json!({ "name": "t" })).await;
            let (mut server, _) = servers.accept().await;
            let request = server.expect(method).await;
            running.push((server, request, result));
        }
        for (server, request, result) in &mut running {
            server.answer(request, result.clone()).await;
            assert!(peer.wire.recv().await["error"].is_null());
        }
    }
}
