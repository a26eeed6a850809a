//! Sessions: opened, named, owned, expired, ended.

use std::collections::HashSet;

use mcp_tests::http::Peer;

use super::{Gate, endpoint, with};
use crate::prelude::*;

// proves: HTTP-052, HTTP-053, SEC-008
#[tokio::test]
async fn session_ids_are_visible_ascii_and_never_the_same() {
    let endpoint = with(
        &Gate::new(),
        ServerOptions::new().with_session_limits(|limits| limits.max_sessions = 2_000),
    );
    let mut ids = HashSet::new();
    for _ in 0..1_000 {
        let mut peer = Peer::new(&endpoint);
        peer.initialize("2025-11-25", json!({})).await;
        let id = peer.session().unwrap().to_owned();
        assert!(id.bytes().all(|byte| (0x21..=0x7E).contains(&byte)));
        assert!(id.len() * 4 >= 256, "256 bits: {id}");
        assert!(ids.insert(id));
    }
}

// proves: HTTP-056, HTTP-058, HTTP-057
#[tokio::test]
async fn an_ended_session_is_gone_for_every_method() {
    let endpoint = endpoint(&Gate::new());
    let peer = Peer::open(&endpoint).await;
    let other = Peer::open(&endpoint).await;
    assert_eq!(endpoint.sessions(), 2);
    assert_eq!(peer.delete().await.status, 204);
    for method in [Method::POST, Method::GET, Method::DELETE] {
        let ping = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;
        let reply = peer.send(method.clone(), ping).await;
        assert_eq!(reply.status, 404, "{method}");
        let reply = peer.with("mcp-session-id", None).send(method, ping).await;
        assert_eq!(reply.status, 400);
    }
    assert_eq!(endpoint.sessions(), 1);
    let reply = other.call(1, "ping", json!({})).await;
    assert_eq!(reply.json().await["result"], json!({}));
}

// T04: an id chosen by the client is neither adopted nor an obstacle.
#[tokio::test]
async fn the_client_does_not_choose_its_session_id() {
    let endpoint = endpoint(&Gate::new());
    let mine = "a".repeat(64);
    let mut peer = Peer::new(&endpoint).with("mcp-session-id", Some(&mine));
    assert_eq!(peer.initialize("2025-11-25", json!({})).await.status, 200);
    assert_ne!(peer.session().unwrap(), mine);
    let reply = peer
        .with("mcp-session-id", Some(&mine))
        .call(1, "ping", json!({}))
        .await;
    assert_eq!(reply.status, 404);
    // An id with one different bit is unknown.
    let id = peer.session().unwrap().to_owned();
    let flipped = format!(
        "{}{}",
        if id.starts_with('0') { '1' } else { '0' },
        &id[1..]
    );
    for wrong in [
        flipped,
        id.to_uppercase(),
        format!("{id} "),
        format!("{id}0"),
        String::new(),
    ] {
        if wrong == id {
            continue;
        }
        let reply = peer
            .with("mcp-session-id", Some(&wrong))
            .call(1, "ping", json!({}))
            .await;
        assert_eq!(reply.status, 404, "{wrong:?}");
    }
}

// proves: LIFE-016
#[tokio::test]
async fn a_second_initialize_within_a_session_is_rejected() {
    let endpoint = endpoint(&Gate::new());
    let mut peer = Peer::open(&endpoint).await;
    let id = peer.session().unwrap().to_owned();
    let reply = peer.initialize("2025-11-25", json!({})).await;
    assert_eq!(reply.status, 400);
    assert!(!reply.headers.contains_key("mcp-session-id"));
    let answer = reply.json().await;
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    assert_eq!(answer["id"], 0);
    assert_eq!(endpoint.sessions(), 1);
    // The session continues, and another one can be opened without its id.
    assert_eq!(peer.call(1, "ping", json!({})).await.status, 200);
    let mut other = peer.with("mcp-session-id", None);
    assert_eq!(other.initialize("2025-11-25", json!({})).await.status, 200);
    assert_ne!(other.session().unwrap(), id);
}

// T03: a session is bound to the principal that opened it.
// proves: SEC-010
#[tokio::test]
async fn a_session_is_served_only_to_the_principal_that_opened_it() {
    let endpoint = endpoint(&Gate::new());
    let mut alice = Peer::new(&endpoint);
    alice.principal = Some(Principal::new("alice"));
    alice.initialize("2025-11-25", json!({})).await;
    for principal in [Some(Principal::new("bob")), None] {
        let mut thief = alice.clone();
        thief.principal = principal;
        assert_eq!(thief.call(1, "ping", json!({})).await.status, 404);
        assert_eq!(thief.get(None).await.status, 404);
        assert_eq!(thief.delete().await.status, 404);
    }
    assert_eq!(alice.call(1, "ping", json!({})).await.status, 200);
}

// proves: HTTP-026, LIFE-027
#[tokio::test(start_paused = true)]
async fn an_idle_session_ends_and_a_used_session_continues() {
    let gate = Gate::new();
    let endpoint = with(
        &gate,
        ServerOptions::new()
            .with_timeouts(|timeouts| timeouts.session_idle = Duration::from_secs(60)),
    );
    let idle = Peer::open(&endpoint).await;
    let calling = Peer::open(&endpoint).await;
    let listening = Peer::open(&endpoint).await;
    let call = calling.tool(1, "wait", json!({"message": "at last"})).await;
    let stream = listening.get(None).await;
    assert_eq!(endpoint.sessions(), 3);
    tokio::time::sleep(Duration::from_secs(90)).await;
    assert_eq!(endpoint.sessions(), 2);
    assert_eq!(idle.call(1, "ping", json!({})).await.status, 404);
    gate.go.add_permits(1);
    assert_eq!(call.said().await, "at last");
    drop(stream);
    tokio::time::sleep(Duration::from_secs(90)).await;
    assert_eq!(endpoint.sessions(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_handshake_that_is_not_completed_does_not_keep_a_session() {
    let endpoint = endpoint(&Gate::new());
    let mut peer = Peer::new(&endpoint);
    peer.initialize("2025-11-25", json!({})).await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(endpoint.sessions(), 1);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(endpoint.sessions(), 0);
}

#[tokio::test]
async fn a_refused_handshake_releases_its_capacity() {
    // Capacity for one session whose client describes itself with little memory.
    for options in [
        ServerOptions::new().with_session_limits(|limits| limits.max_sessions = 1),
        ServerOptions::new()
            .with_client_share(100)
            .with_memory_limits(|memory| memory.max_session_bytes = 8 << 10),
    ] {
        let options = options.with_session_limits(|limits| limits.max_sessions_per_principal = 1);
        let endpoint = with(&Gate::new(), options);
        let mut peer = Peer::new(&endpoint);
        peer.principal = Some(Principal::new("alice"));
        let broken = peer.call(1, "initialize", json!({})).await;
        assert_eq!(broken.json().await["error"]["code"], -32602);
        let objects = vec![json!({}); 20];
        let heavy = json!({"experimental": {"x": {"y": objects}}});
        let heavy = peer.clone().initialize("2025-11-25", heavy).await;
        let is_refused = heavy.status == 503;
        assert_eq!(endpoint.sessions(), usize::from(!is_refused));
        if is_refused {
            assert!(heavy.text().await.contains("max_session_bytes"));
            assert_eq!(endpoint.session_bytes(), 0);
            assert_eq!(peer.initialize("2025-11-25", json!({})).await.status, 200);
        }
        assert_eq!(endpoint.sessions(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn the_session_that_was_unused_the_longest_makes_room_for_another() {
    let options = ServerOptions::new().with_session_limits(|limits| limits.max_sessions = 2);
    let endpoint = with(&Gate::new(), options);
    let used = async |peer: &Peer| {
        // sleep: the clock is paused
        tokio::time::sleep(Duration::from_secs(10)).await;
        let reply = peer.call(1, "ping", json!({})).await;
        reply.status.as_u16()
    };
    let first = Peer::open(&endpoint).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let second = Peer::open(&endpoint).await;
    assert_eq!((used(&second).await, used(&first).await), (200, 200));
    let third = Peer::open(&endpoint).await;
    assert_eq!(endpoint.sessions(), 2);
    assert_eq!((used(&first).await, used(&third).await), (200, 200));
    assert_eq!(used(&second).await, 404);
}

#[tokio::test(start_paused = true)]
async fn the_number_of_sessions_is_limited() {
    let options = ServerOptions::new()
        .with_session_limits(|limits| limits.max_sessions = 3)
        .with_session_limits(|limits| limits.max_sessions_per_principal = 2);
    let endpoint = with(&Gate::new(), options);
    let alice = |endpoint| {
        let mut peer = Peer::new(endpoint);
        peer.principal = Some(Principal::new("alice"));
        peer
    };
    for _ in 0..2 {
        let reply = alice(&endpoint).initialize("2025-11-25", json!({})).await;
        assert_eq!(reply.status, 200);
    }
    let reply = alice(&endpoint).initialize("2025-11-25", json!({})).await;
    assert_eq!(reply.status, 503);
    assert!(reply.text().await.contains("max_sessions_per_principal"));
    let bob = || {
        let mut peer = Peer::new(&endpoint);
        peer.principal = Some(Principal::new("bob"));
        peer
    };
    let reply = bob().initialize("2025-11-25", json!({})).await;
    assert_eq!(reply.status, 200);
    // No session of a principal is ended to make room.
    let reply = bob().initialize("2025-11-25", json!({})).await;
    assert_eq!(reply.status, 503);
    assert_eq!(reply.headers["retry-after"], "1");
    assert!(reply.text().await.contains("max_sessions"));
    // A rejected handshake does not use capacity either.
    let reply = Peer::new(&endpoint).call(1, "initialize", json!({})).await;
    assert_eq!(reply.status, 503);
    assert_eq!(endpoint.sessions(), 3);
}

// proves: HTTP-064
#[tokio::test]
async fn without_sessions_no_state_is_stored_and_the_header_names_the_revision() {
    let gate = Gate::new();
    let endpoint = with(&gate, ServerOptions::new().without_sessions());
    let mut peer = Peer::new(&endpoint);
    let reply = peer
        .initialize("2025-06-18", json!({"elicitation": {}}))
        .await;
    assert!(peer.session().is_none());
    let answer = reply.json().await;
    let result = &answer["result"];
    assert_eq!(result["protocolVersion"], "2025-06-18");
    assert_eq!(
        result["capabilities"],
        json!({"tools": {}}),
        "nothing that needs a memory"
    );
    let opened = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(peer.post(opened).await.status, 202);
    for (header, batches) in [(None, true), (Some("2025-11-25"), false)] {
        let peer = peer.with("mcp-protocol-version", header);
        let answer = peer
            .tool(1, "echo", json!({"message": "hi"}))
            .await
            .json()
            .await;
        assert_eq!(answer["result"]["content"][0]["text"], "hi");
        let batch = json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]);
        assert_eq!(peer.post(batch).await.status == StatusCode::OK, batches);
    }
    let wrong = peer.with("mcp-protocol-version", Some("2099-01-01"));
    let reply = wrong.tool(1, "echo", json!({"message": "hi"})).await;
    assert_eq!(reply.status, 400);
    // Equal ids of different clients do not conflict.
    let one = peer.tool(1, "wait", json!({"message": "one"}));
    let two = peer.tool(1, "wait", json!({"message": "two"}));
    gate.go.add_permits(2);
    let (one, two) = tokio::join!(one, two);
    assert_eq!(one.said().await, "one");
    assert_eq!(two.said().await, "two");
    for method in [Method::GET, Method::DELETE] {
        let reply = peer.send(method, "").await;
        assert_eq!(reply.status, 405);
        assert_eq!(reply.headers["allow"], "POST");
    }
}

// A session ends at the end of its lifetime although a stream is open.
#[tokio::test(start_paused = true)]
async fn a_stream_does_not_prolong_the_life_of_its_session() {
    let lifetime = Duration::from_secs(3_600);
    let options =
        ServerOptions::new().with_timeouts(|timeouts| timeouts.session_lifetime = lifetime);
    let endpoint = with(&Gate::new(), options);
    let peer = Peer::open(&endpoint).await;
    let mut stream = peer.get(None).await;
    tokio::time::sleep(lifetime - Duration::from_secs(1)).await;
    assert_eq!(endpoint.sessions(), 1);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(endpoint.sessions(), 0);
    assert_eq!(stream.message().await, None);
}
