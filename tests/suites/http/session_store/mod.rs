//! Sessions in a store that two endpoints share.

mod failures;
mod forwarding;
mod leases;
mod restart;

use mcp_server::{ServerBuilder, StateKeys};
use mcp_tests::http::Peer;
use mcp_transport_http::{MemorySessionStore, SessionStore};

use super::{Gate, with};
use crate::prelude::*;

const WATCHED: &str = "test://watched";

/// The number of clients that change one session at the same time.
const CLIENTS: usize = 16;

fn watched(client: usize) -> String {
    format!("test://watched/{client}")
}

/// A server that shows the state of its session, and an endpoint of it with `store`.
fn node(gate: &Gate, store: impl SessionStore) -> (Server, Endpoint) {
    let options = ServerOptions::new().with_session_store(store);
    node_with(gate, shared_keys(), options)
}

fn shared_keys() -> StateKeys {
    StateKeys::new([7; 32])
}

fn node_with(gate: &Gate, keys: StateKeys, options: ServerOptions) -> (Server, Endpoint) {
    let resources = (0..CLIENTS).map(|client| Resource::new(watched(client), "watched", || "text"));
    let server = resources.fold(super::server(gate), ServerBuilder::resource);
    let server = server
        .state_keys(keys)
        .resource(Resource::new(WATCHED, "watched", || "text"))
        .tool(Tool::new("state", |cx: Ctx| {
            cx.log(LoggingLevel::Info, "info");
            cx.log(LoggingLevel::Error, "error");
            let client = cx.client().expect("a client").name.clone();
            let capabilities = cx.client_capabilities().expect("capabilities");
            format!("{client}, roots: {}", capabilities.roots.is_some())
        }))
        .tool(Tool::new("roots", async |cx: Ctx| {
            let roots = cx.roots().await?;
            Ok::<_, HandlerError>(roots[0].uri.clone())
        }))
        .build()
        .unwrap();
    let endpoint = Endpoint::with_options(server.clone(), options).unwrap();
    (server, endpoint)
}

/// Two nodes with one store.
fn nodes() -> (MemorySessionStore, Endpoint, Endpoint) {
    let (gate, store) = (Gate::new(), MemorySessionStore::new());
    let (_, one) = node(&gate, store.clone());
    let (_, two) = node(&gate, store.clone());
    (store, one, two)
}

async fn ping(peer: &Peer) -> StatusCode {
    peer.call(1, "ping", json!({})).await.status
}

#[tokio::test]
async fn a_session_continues_at_another_endpoint_with_its_state() {
    let (gate, store) = (Gate::new(), MemorySessionStore::new());
    let (_, one) = node(&gate, store.clone());
    let (server, two) = node(&gate, store.clone());
    let peer = Peer::open(&one).await;
    peer.ask("logging/setLevel", json!({"level": "error"}))
        .await;
    peer.ask("resources/subscribe", json!({"uri": WATCHED}))
        .await;
    let moved = peer.at(&two);
    let mut reply = moved.tool(1, "state", json!({})).await;
    assert_eq!(reply.message().await.unwrap()["params"]["data"], "error");
    assert_eq!(reply.said().await, "peer, roots: true");
    let mut stream = moved.get(None).await;
    server.resources().updated(WATCHED);
    let update = stream.message().await.unwrap();
    assert_eq!(update["params"]["uri"], WATCHED);
    // Changes at the second endpoint reach the first one.
    moved
        .ask("resources/unsubscribe", json!({"uri": WATCHED}))
        .await;
    moved
        .ask("logging/setLevel", json!({"level": "emergency"}))
        .await;
    let answer = peer.tool(2, "state", json!({})).await;
    assert_eq!(answer.kind(), "application/json", "nothing is logged");
    assert_eq!(answer.said().await, "peer, roots: true");
    assert_eq!(store.len(), 1);
}

#[tokio::test]
async fn a_stored_session_belongs_to_its_principal() {
    let (_store, one, two) = nodes();
    for owner in [Some("alice"), Some(""), None] {
        let mut peer = Peer::new(&one);
        peer.principal = owner.map(Principal::new);
        peer.handshake("2025-11-25", json!({})).await;
        for thief in [Some("bob"), Some(""), None] {
            if thief == owner {
                continue;
            }
            let mut moved = peer.at(&two);
            moved.principal = thief.map(Principal::new);
            assert_eq!(ping(&moved).await, 404);
            assert_eq!(moved.get(None).await.status, 404);
            assert_eq!(moved.delete().await.status, 404);
        }
        assert_eq!(two.sessions(), 0);
        assert_eq!(ping(&peer.at(&two)).await, 200);
        assert_eq!(peer.at(&two).delete().await.status, 204);
    }
}

#[tokio::test]
async fn a_foreign_session_is_not_claimed() {
    let (gate, store) = (Gate::new(), MemorySessionStore::new());
    let (server, one) = node(&gate, store.clone());
    let (_, two) = node(&gate, store);
    let mut peer = Peer::new(&one);
    peer.principal = Some(Principal::new("alice"));
    peer.handshake("2025-11-25", json!({})).await;
    peer.ask("resources/subscribe", json!({"uri": WATCHED}))
        .await;
    let mut stream = peer.get(None).await;
    let mut thief = peer.at(&two);
    thief.principal = Some(Principal::new("bob"));
    assert_eq!(ping(&thief).await, 404);
    // If another endpoint had claimed the session, this endpoint would have ended the stream.
    assert_eq!(ping(&peer).await, 200);
    server.resources().updated(WATCHED);
    let update = stream.message().await.expect("the stream is still open");
    assert_eq!(update["params"]["uri"], WATCHED);
}

#[tokio::test]
async fn an_unknown_session_is_not_found() {
    let (store, one, two) = nodes();
    let peer = Peer::open(&one).await;
    assert_eq!(peer.at(&two).delete().await.status, 204);
    assert!(store.is_empty());
    for endpoint in [&one, &two] {
        let peer = peer.at(endpoint);
        assert_eq!(ping(&peer).await, 404);
        assert_eq!(peer.get(None).await.status, 404);
        assert_eq!(peer.delete().await.status, 404);
        assert_eq!(endpoint.sessions(), 0);
    }
}

#[tokio::test]
async fn a_session_survives_the_shutdown_of_its_endpoint() {
    let (store, one, two) = nodes();
    let peer = Peer::open(&one).await;
    one.close().await;
    drop(one);
    assert_eq!(store.len(), 1);
    assert_eq!(ping(&peer.at(&two)).await, 200);
}

#[tokio::test]
async fn a_handshake_can_be_completed_at_another_endpoint() {
    let (_store, one, two) = nodes();
    let mut peer = Peer::new(&one);
    peer.initialize("2025-06-18", json!({})).await;
    let moved = peer
        .at(&two)
        .with("mcp-protocol-version", Some("2025-06-18"));
    assert_eq!(ping(&moved).await, 200);
    let opened = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(moved.post(opened).await.status, 202);
    let reply = peer.tool(1, "state", json!({})).await;
    assert_eq!(reply.said().await, "peer, roots: false");
    // The session exists, so it cannot be initialized again at any endpoint.
    assert_eq!(peer.initialize("2025-06-18", json!({})).await.status, 400);
}

#[tokio::test]
async fn a_session_in_a_file_survives_a_restart() {
    let name = format!("sessions-{}.redb", std::process::id());
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let open = || {
        let store = mcp_store_redb::RedbStore::open(&path).unwrap();
        node(&Gate::new(), store.session_store())
    };
    let (server, endpoint) = open();
    let peer = Peer::open(&endpoint).await;
    peer.ask("resources/subscribe", json!({"uri": WATCHED}))
        .await;
    endpoint.close().await;
    let headers = peer.headers.clone();
    drop((server, endpoint, peer));
    // The last handle of the file belongs to a task that was aborted.
    tokio::task::yield_now().await;
    let (server, endpoint) = open();
    let mut peer = Peer::new(&endpoint);
    peer.headers = headers;
    let mut stream = peer.get(None).await;
    server.resources().updated(WATCHED);
    let update = stream.message().await.unwrap();
    assert_eq!(update["params"]["uri"], WATCHED);
    std::fs::remove_file(&path).unwrap();
}
