//! A lease that another endpoint takes: the session moves, and running calls stay.

use mcp_tests::http::Peer;
use mcp_transport_http::MemorySessionStore;

use super::{CLIENTS, Gate, WATCHED, node, node_with, nodes, ping, shared_keys, watched};
use crate::prelude::*;

#[tokio::test]
async fn an_endpoint_stops_serving_a_session_that_another_endpoint_has_claimed() {
    let (gate, store) = (Gate::new(), MemorySessionStore::new());
    let (_, one) = node(&gate, store.clone());
    let (_, two) = node(&gate, store.clone());
    let peer = Peer::open(&one).await;
    let mut stream = peer.get(None).await;
    let call = peer.tool(1, "wait", json!({"message": "done"})).await;
    gate.started(1).await;
    let moved = peer.at(&two);
    assert_eq!(ping(&moved).await, 200);
    assert_eq!((one.sessions(), two.sessions()), (1, 1));
    // The request shows the first endpoint that its lease is lost. It claims the session again.
    assert_eq!(ping(&peer).await, 200);
    assert_eq!(stream.message().await, None, "the old stream has ended");
    assert_eq!((one.sessions(), two.sessions()), (1, 1));
    assert_eq!(ping(&moved).await, 200);
    // The call that was running finishes.
    gate.go.add_permits(1);
    assert_eq!(call.said().await, "done");
    assert_eq!(moved.delete().await.status, 204);
    assert_eq!(ping(&peer).await, 404);
    assert_eq!((one.sessions(), two.sessions()), (0, 0));
    assert!(store.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_claimed_session_with_an_open_stream_is_released_without_a_request() {
    let (_store, one, two) = nodes();
    let peer = Peer::open(&one).await;
    let mut stream = peer.get(None).await;
    assert_eq!(ping(&peer.at(&two)).await, 200);
    assert_eq!(stream.message().await, None);
    assert_eq!((one.sessions(), two.sessions()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_the_calls_of_released_sessions() {
    let (gate, store) = (Gate::new(), MemorySessionStore::new());
    let (_, one) = node(&gate, store.clone());
    let (_, two) = node(&gate, store);
    let peer = Peer::open(&one).await;
    let mut call = peer.tool(1, "wait", json!({"message": "done"})).await;
    gate.started(1).await;
    assert_eq!(ping(&peer.at(&two)).await, 200);
    assert_eq!(ping(&peer).await, 200);
    one.close().await;
    while call.event().await.is_some() {}
    assert_eq!(one.in_flight(), 0);
    assert_eq!(ping(&peer.at(&two)).await, 200);
}

/// When the endpoint loses the lease, the running calls stay with the remains of the session, and each loss adds further remains.
#[tokio::test(start_paused = true)]
async fn calls_of_all_earlier_leases_can_be_cancelled() {
    let (gate, store) = (Gate::new(), MemorySessionStore::new());
    let (_, one) = node(&gate, store.clone());
    let (_, two) = node(&gate, store);
    let peer = Peer::open(&one).await;
    let mut calls = Vec::new();
    for id in 1..=3 {
        calls.push(peer.tool(id, "wait", json!({"message": "done"})).await);
        gate.started(1).await;
        assert_eq!(ping(&peer.at(&two)).await, 200);
        assert_eq!(ping(&peer).await, 200);
    }
    assert_eq!(one.in_flight(), 3);
    for (id, mut call) in (1..).zip(calls) {
        let cancelled = json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id},
        });
        assert_eq!(peer.post(cancelled).await.status, 202);
        assert_eq!(call.message().await, None);
    }
    assert_eq!(one.in_flight(), 0);
}

#[tokio::test]
async fn concurrent_requests_claim_a_session_once() {
    let (_store, one, two) = nodes();
    let peer = Peer::open(&one).await.at(&two);
    let calls = (0..16).map(|id| {
        let peer = peer.clone();
        tokio::spawn(async move {
            peer.tool(id, "echo", json!({"message": "hi"}))
                .await
                .said()
                .await
        })
    });
    let calls: Vec<_> = calls.collect();
    for call in calls {
        assert_eq!(call.await.unwrap(), "hi");
    }
    assert_eq!(two.sessions(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_change_is_lost_while_endpoints_take_the_lease_from_each_other() {
    let (gate, store) = (Gate::new(), MemorySessionStore::new());
    let (_, one) = node(&gate, store.clone());
    let (server, two) = node(&gate, store);
    let peer = Peer::open(&one).await;
    let mut clients = Vec::new();
    for client in 0..CLIENTS {
        let peers = [peer.clone(), peer.at(&two)];
        clients.push(tokio::spawn(async move {
            for attempt in 0..1_000 {
                let params = json!({"uri": watched(client)});
                let peer = &peers[(client + attempt) % 2];
                let id = client * 1_000 + attempt;
                let reply = peer.call(id, "resources/subscribe", params).await;
                if reply.status == 200 {
                    assert_eq!(reply.json().await["result"], json!({}));
                    return;
                }
                assert_eq!(reply.status, 503);
                tokio::task::yield_now().await;
            }
            panic!("the client never had the lease for long enough");
        }));
    }
    for client in clients {
        client.await.unwrap();
    }
    let mut stream = peer.at(&two).get(None).await;
    for client in 0..CLIENTS {
        server.resources().updated(&watched(client));
        let update = stream.message().await.unwrap();
        assert_eq!(update["params"]["uri"], watched(client));
    }
}

#[tokio::test]
async fn an_event_id_of_another_endpoint_resumes_the_standalone_stream() {
    let (gate, store) = (Gate::new(), MemorySessionStore::new());
    let (first, one) = node(&gate, store.clone());
    let (second, two) = node(&gate, store.clone());
    let peer = Peer::open(&one).await;
    peer.ask("resources/subscribe", json!({"uri": WATCHED}))
        .await;
    let mut stream = peer.get(None).await;
    first.resources().updated(WATCHED);
    let last = stream.event().await.unwrap().id.unwrap();
    let params = json!({
        "name": "quick", "arguments": {"message": "x"}, "_meta": {"progressToken": 1},
    });
    let mut call = peer.call(1, "tools/call", params).await;
    let of_call = call.event().await.unwrap().id.unwrap();
    let moved = peer.at(&two);
    assert_eq!(ping(&moved).await, 200);
    second.resources().updated(WATCHED);
    let mut resumed = moved.get(Some(&last)).await;
    assert_eq!(resumed.status, 200);
    let update = resumed.message().await.unwrap();
    assert_eq!(update["params"]["uri"], WATCHED);
    let gone = moved.get(Some(&of_call)).await;
    assert_eq!(gone.status, 400);
    assert!(gone.text().await.contains("no longer stored"));
}

#[tokio::test]
async fn messages_for_a_running_call_reach_it_after_the_lease_was_lost() {
    let (gate, store) = (Gate::new(), MemorySessionStore::new());
    let (_, one) = node(&gate, store.clone());
    let (_, two) = node(&gate, store);
    let peer = Peer::open(&one).await;
    let moved = peer.at(&two);
    let mut first = peer.tool(1, "roots", json!({})).await;
    let first_request = first.message().await.unwrap();
    let mut second = moved.tool(2, "roots", json!({})).await;
    let second_request = second.message().await.unwrap();
    assert_eq!(second_request["method"], "roots/list");
    assert_ne!(first_request["id"], second_request["id"]);
    // Each response takes the lease to the endpoint of its call.
    for (peer, request, uri) in [
        (&peer, first_request, "file:///one"),
        (&moved, second_request, "file:///two"),
    ] {
        let result = json!({"roots": [{"uri": uri}]});
        let response = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        assert_eq!(peer.post(response).await.status, 202);
    }
    assert_eq!(first.said().await, "file:///one");
    assert_eq!(second.said().await, "file:///two");

    // A stream of the call can be resumed, and the call cancelled.
    let params = json!({
        "name": "steps", "arguments": {"message": "x"}, "_meta": {"progressToken": 1},
    });
    let mut call = peer.call(3, "tools/call", params).await;
    let last = call.event().await.unwrap().id.unwrap();
    drop(call);
    assert_eq!(ping(&moved).await, 200);
    let mut resumed = peer.get(Some(&last)).await;
    assert_eq!(resumed.status, 200);
    let progress = resumed.message().await.unwrap();
    assert_eq!(progress["method"], "notifications/progress");
    let cancelled = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3},
    });
    assert_eq!(peer.post(cancelled).await.status, 202);
    assert_eq!(resumed.message().await, None);
}

/// Previously, one client could fill the store with sessions that its endpoint had ended.
#[tokio::test(start_paused = true)]
async fn a_session_that_makes_room_is_removed_from_the_store() {
    let (gate, store) = (Gate::new(), MemorySessionStore::new());
    let options = ServerOptions::new()
        .with_session_store(store.clone())
        .with_session_limits(|limits| limits.max_sessions = 2);
    let (_, endpoint) = node_with(&gate, shared_keys(), options);
    let mut peers = Vec::new();
    for _ in 0..5 {
        peers.push(Peer::open(&endpoint).await);
    }
    assert_eq!((endpoint.sessions(), store.len()), (2, 5));
    // sleep: the clock is paused
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!((endpoint.sessions(), store.len()), (2, 2));
    let mut ended = 0;
    for peer in peers {
        ended += usize::from(ping(&peer).await == 404);
    }
    assert_eq!(ended, 3);
}
