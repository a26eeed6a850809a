//! Endpoints that forward the requests of a session to the one that serves it.

use std::future::ready;
use std::sync::atomic::AtomicU64;

use bytes::Bytes;
use mcp_protocol::BoxFuture;
use mcp_protocol::task::Timestamp;
use mcp_server::StateKeys;
use mcp_tests::http::{Peer, Reply};
use mcp_transport_http::{
    Durability, EndpointId, EventStore, EventStoreError, MemoryEventStore, MemorySessionStore,
    Replay, SessionId, SessionLease, SessionRecord, SessionStore, StreamKey, serve_with,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::time::{Instant, timeout};

use super::failures::{Mode, Switchable};
use super::{Gate, WATCHED, node, node_with, nodes, ping, shared_keys};
use crate::gate::pass;
use crate::prelude::*;

/// Events that several endpoints share, and the number of those that each stream has lost.
#[derive(Debug, Clone, Default)]
struct SharedEvents(Arc<MemoryEventStore>, Arc<AtomicU64>);

impl EventStore for SharedEvents {
    fn append(&self, key: StreamKey, sequence: u64, event: Bytes) -> Durability {
        self.0.append(key, sequence, event)
    }

    fn replay(
        &self,
        key: StreamKey,
        after: u64,
        bytes: usize,
    ) -> BoxFuture<'_, Result<Replay, EventStoreError>> {
        match after < self.1.load(Ordering::Acquire) {
            true => Box::pin(ready(Ok(Replay::Gone))),
            false => self.0.replay(key, after, bytes),
        }
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn forget_stream(&self, key: StreamKey) {
        self.0.forget_stream(key);
    }

    fn forget_session(&self, session: SessionId) {
        self.0.forget_session(session);
    }

    fn expire(&self, now: Instant) {
        self.0.expire(now);
    }
}

/// The stores of a cluster.
struct Cluster {
    keys: fn() -> StateKeys,
    gate: Gate,
    sessions: MemorySessionStore,
    events: SharedEvents,
}

impl Cluster {
    fn new() -> Self {
        Self {
            keys: shared_keys,
            gate: Gate::new(),
            sessions: MemorySessionStore::new(),
            events: SharedEvents::default(),
        }
    }

    /// Creates an endpoint that others reach at `address`.
    fn node(&self, address: SocketAddr) -> (Server, Endpoint) {
        self.node_of(self.sessions.clone(), address)
    }

    /// The same, with another handle of the session store.
    fn node_of(&self, store: impl SessionStore, address: SocketAddr) -> (Server, Endpoint) {
        let options = ServerOptions::new()
            .with_session_store(store)
            .with_event_store(self.events.clone())
            .with_forwarding(format!("http://{address}/mcp").parse().unwrap());
        node_with(&self.gate, (self.keys)(), options)
    }

    /// Creates an endpoint, and serves it.
    async fn served(&self) -> Endpoint {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (_, endpoint) = self.node(listener.local_addr().unwrap());
        let served = endpoint.clone();
        tokio::spawn(serve_with(listener, served, std::future::pending()));
        endpoint
    }

    /// Creates an endpoint at whose address no process listens.
    async fn unreachable(&self) -> (Server, Endpoint) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        self.node(listener.local_addr().unwrap())
    }

    /// Creates an endpoint at whose address each connection receives these bytes after its request, and ends.
    async fn scripted(&self, response: &'static str) -> Endpoint {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (_, endpoint) = self.node(listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((mut connection, _)) = listener.accept().await {
                let _ = connection.read(&mut [0; 4_096]).await;
                let _ = connection.write_all(response.as_bytes()).await;
            }
        });
        endpoint
    }
}

async fn steps(peer: &Peer) -> Reply {
    let params = json!({
        "name": "steps", "arguments": {"message": "done"}, "_meta": {"progressToken": 1},
    });
    peer.call(7, "tools/call", params).await
}

/// Answers a request for the roots at `peer`, and checks that the call gets the answer.
async fn give_roots(mut call: Reply, peer: &Peer) {
    let request = call.message().await.unwrap();
    assert_eq!(request["method"], "roots/list");
    let roots = json!({"roots": [{"uri": "file:///r"}]});
    let response = json!({"jsonrpc": "2.0", "id": request["id"], "result": roots});
    assert_eq!(peer.post(response).await.status, 202);
    assert_eq!(call.said().await, "file:///r");
}

const LOST: &str = "the server process that ran this request has ended";

/// Previously, each call of a session failed after ten seconds as long as its endpoint hung.
#[tokio::test(start_paused = true)]
async fn a_session_whose_endpoint_hangs_continues_at_another_endpoint() {
    let cluster = Cluster::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (_, hanging) = cluster.node(listener.local_addr().unwrap());
    let peers = [Peer::open(&hanging).await, Peer::open(&hanging).await];
    let other = cluster.served().await;
    let moved = peers.map(|peer| peer.at(&other));
    let answer = moved[0].ask("ping", json!({})).await;
    assert!(answer["error"]["message"].as_str().unwrap().contains(LOST));
    // Its next request, and the other sessions of the endpoint, do not wait.
    let start = Instant::now();
    for peer in &moved {
        assert_eq!(ping(peer).await, 200);
    }
    assert_eq!(start.elapsed(), Duration::ZERO);
    drop(listener);
}

/// A proxy in front of an endpoint that hangs responds, too.
#[tokio::test(start_paused = true)]
async fn a_response_of_a_proxy_does_not_count_as_a_response_of_a_hanging_endpoint() {
    let cluster = Cluster::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (_, hanging) = cluster.node(listener.local_addr().unwrap());
    let peers = [Peer::open(&hanging).await, Peer::open(&hanging).await];
    let other = cluster.served().await;
    let moved = peers.map(|peer| peer.at(&other));
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut connection, _)) = listener.accept().await {
            let mut start = [0; 7];
            connection.read_exact(&mut start).await.unwrap();
            if start == *b"OPTIONS" {
                let response =
                    b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                connection.write_all(response).await.unwrap();
            }
            open.push(connection);
        }
    });
    let answer = moved[0].ask("ping", json!({})).await;
    assert!(answer["error"]["message"].as_str().unwrap().contains(LOST));
    tokio::time::sleep(Duration::from_secs(5)).await;
    let start = Instant::now();
    assert_eq!(ping(&moved[1]).await, 200);
    assert_eq!(start.elapsed(), Duration::ZERO);
}

/// Previously, an endpoint that had hung for a moment lost its sessions for half a minute, while it ran their calls.
#[tokio::test(start_paused = true)]
async fn an_endpoint_that_responds_again_keeps_its_sessions() {
    let cluster = Cluster::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (_, hanging) = cluster.node(listener.local_addr().unwrap());
    let peers = [Peer::open(&hanging).await, Peer::open(&hanging).await];
    let other = cluster.served().await;
    let moved = peers.map(|peer| peer.at(&other));
    let answer = moved[0].ask("ping", json!({})).await;
    assert!(answer["error"]["message"].as_str().unwrap().contains(LOST));
    let served = hanging.clone();
    tokio::spawn(serve_with(listener, served, std::future::pending()));
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(ping(&moved[1]).await, 200);
    assert_eq!((hanging.sessions(), other.sessions()), (2, 0));
}

#[tokio::test]
async fn an_endpoint_forwards_requests_of_a_session_and_does_not_claim_the_session() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.served().await, cluster.served().await);
    let peer = Peer::open(&one).await;
    let moved = peer.at(&two);
    assert_eq!(
        moved.tool(1, "state", json!({})).await.said().await,
        "peer, roots: true"
    );
    assert_eq!((one.sessions(), two.sessions()), (1, 0));
    assert_eq!(moved.delete().await.status, 204);
    assert_eq!((one.sessions(), two.sessions()), (0, 0));
    assert_eq!(ping(&moved).await, 404);
}

/// Returns the id of the peer's session.
fn session_id(peer: &Peer) -> SessionId {
    let text = peer.session().unwrap();
    let byte = |n: usize| u8::from_str_radix(&text[2 * n..2 * n + 2], 16).unwrap();
    SessionId::from_bytes(std::array::from_fn(byte))
}

/// Takes the lease of a session as a program that can write to the store, and returns its record as JSON.
async fn taken(store: &MemorySessionStore, peer: &Peer) -> (SessionLease, Value) {
    let writer = EndpointId::from_bytes([9; 16]);
    let claimed = store.claim(session_id(peer), writer, Timestamp::default());
    let (lease, record) = claimed.await.unwrap().unwrap();
    let record = serde_json::from_slice(&record.encode().unwrap()).unwrap();
    (lease, record)
}

async fn write(store: &MemorySessionStore, lease: SessionLease, record: &Value) {
    let record = SessionRecord::decode(record.to_string().as_bytes()).unwrap();
    let (now, later) = (Timestamp::default(), Timestamp::from_millis(u64::MAX));
    store.update(lease, record, later, now).await.unwrap();
}

// Otherwise, a program that can write to the store could make the server send requests with their tokens to any address.
#[tokio::test]
async fn requests_are_forwarded_only_to_addresses_that_the_server_has_signed() {
    let trap = TcpListener::bind("127.0.0.1:0").await.unwrap();
    // With keys that only one process has, the endpoint claims the session.
    for (keys, status) in [
        (shared_keys as fn() -> StateKeys, 404),
        (StateKeys::random, 200),
    ] {
        let cluster = Cluster {
            keys,
            ..Cluster::new()
        };
        let store = &cluster.sessions;
        let (one, two) = (cluster.served().await, cluster.served().await);
        let (_, other) = taken(store, &Peer::open(&one).await).await;
        for code in ["of this session", "of another session", "none"] {
            let peer = Peer::open(&one).await;
            let (lease, mut record) = taken(store, &peer).await;
            record["address"] = json!(format!("http://{}/mcp", trap.local_addr().unwrap()));
            match code {
                "of another session" => record["code"] = other["code"].clone(),
                "none" => drop(record.as_object_mut().unwrap().shift_remove("code")),
                _ => assert!(record["code"].is_string()),
            }
            write(store, lease, &record).await;
            let sessions = two.sessions();
            let moved = peer.at(&two);
            let served = timeout(Duration::from_secs(10), ping(&moved)).await;
            assert_eq!(served.expect("not forwarded"), status, "{code}");
            let claimed = usize::from(status == 200);
            assert_eq!(two.sessions(), sessions + claimed, "{code}");
            let connection = timeout(Duration::ZERO, trap.accept()).await;
            assert!(connection.is_err(), "{code}");
        }
    }
}

#[tokio::test]
async fn a_stored_session_with_a_changed_record_is_not_continued() {
    let (store, one, two) = nodes();
    let (_, other) = taken(&store, &Peer::open(&one).await).await;
    let changes: [(&str, Value); 8] = [
        ("/code", other["code"].clone()),
        ("/code", json!("")),
        ("/created", json!(0)),
        ("/event_tag", json!(0)),
        ("/state/revision", json!("2025-06-18")),
        ("/state/client/info/name", json!("admin")),
        ("/state/client/capabilities", json!({})),
        ("/state/is_open", json!(false)),
    ];
    for (member, value) in changes {
        let peer = Peer::open(&one).await;
        let (lease, mut record) = taken(&store, &peer).await;
        let place = record.pointer_mut(member);
        assert_ne!(std::mem::replace(place.unwrap(), value.clone()), value);
        write(&store, lease, &record).await;
        assert_eq!(ping(&peer.at(&two)).await, 404, "{member}: {value}");
    }
    // The members that a record can have besides those of a new session.
    for (parent, member, value) in [
        ("", "principal", json!("alice")),
        ("", "address", json!("http://127.0.0.1:9/mcp")),
        ("/state", "log_level", json!("debug")),
        ("/state", "subscriptions", json!([WATCHED])),
    ] {
        let peer = Peer::open(&one).await;
        let (lease, mut record) = taken(&store, &peer).await;
        let parent = record.pointer_mut(parent).unwrap();
        assert_ne!(parent.get(member), Some(&value));
        parent[member] = value;
        write(&store, lease, &record).await;
        assert_eq!(ping(&peer.at(&two)).await, 404, "{member}");
    }
    let peer = Peer::open(&one).await;
    let (lease, record) = taken(&store, &peer).await;
    write(&store, lease, &record).await;
    assert_eq!(ping(&peer.at(&two)).await, 200);
}

#[tokio::test]
async fn a_response_reaches_the_call_at_another_endpoint() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.served().await, cluster.served().await);
    let peer = Peer::open(&one).await;
    // Forwarded in both directions: the call, its stream, and the response.
    for (caller, other) in [(&one, &two), (&two, &one), (&two, &two)] {
        let call = peer.at(caller).tool(1, "roots", json!({})).await;
        give_roots(call, &peer.at(other)).await;
        // The next call asks again.
        let changed = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"});
        assert_eq!(peer.at(other).post(changed).await.status, 202);
    }
}

#[tokio::test]
async fn another_endpoint_claims_the_sessions_of_an_unreachable_endpoint() {
    let cluster = Cluster::new();
    let (_, one) = cluster.unreachable().await;
    let (two, three) = (cluster.served().await, cluster.served().await);
    let peer = Peer::open(&one).await;
    assert_eq!(ping(&peer.at(&two)).await, 200);
    assert_eq!(ping(&peer.at(&three)).await, 200);
    assert_eq!((two.sessions(), three.sessions()), (1, 0));
}

/// Two endpoints notice at the same time that the one of a session is lost, and one of them claims the session first.
#[tokio::test]
async fn a_session_is_not_taken_from_the_endpoint_that_has_just_claimed_it() {
    let cluster = Cluster::new();
    let (_, lost) = cluster.unreachable().await;
    let first = cluster.served().await;
    let store = Switchable::of(cluster.sessions.clone());
    let (_, second) = cluster.node_of(store.clone(), listen().await.1);
    let peer = Peer::open(&lost).await;
    let moved = peer.at(&second);
    // The second endpoint has read the address of the lost one.
    store.set(Mode::Delays);
    let waiting = moved.clone();
    let waiting = tokio::spawn(async move { ping(&waiting).await });
    pass(&store.delayed).await;
    store.set(Mode::Works);
    let call = peer.at(&first).tool(2, "roots", json!({})).await;
    store.go.add_permits(1);
    assert_eq!(waiting.await.unwrap(), 200);
    assert_eq!((first.sessions(), second.sessions()), (1, 0));
    give_roots(call, &moved).await;
}

#[tokio::test]
async fn a_session_from_before_forwarding_stays_at_the_endpoint_that_continues_it() {
    let cluster = Cluster::new();
    let (_, before) = node(&cluster.gate, cluster.sessions.clone());
    let (one, two) = (cluster.served().await, cluster.served().await);
    let peer = Peer::open(&before).await;
    for endpoint in [&one, &two, &one] {
        assert_eq!(ping(&peer.at(endpoint)).await, 200);
    }
    assert_eq!((one.sessions(), two.sessions()), (1, 0));
}

#[tokio::test]
async fn a_session_of_a_lost_endpoint_continues_while_the_store_is_full() {
    let cluster = Cluster::new();
    let (_, lost) = cluster.unreachable().await;
    let store = Switchable::of(cluster.sessions.clone());
    let (_, two) = cluster.node_of(store.clone(), listen().await.1);
    let peer = Peer::open(&lost).await;
    store.set(Mode::IsFull);
    assert_eq!(ping(&peer.at(&two)).await, 200);
}

#[tokio::test]
async fn another_endpoint_claims_the_sessions_of_an_endpoint_that_is_shutting_down() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.served().await, cluster.served().await);
    let peer = Peer::open(&one).await;
    let moved = peer.at(&two);
    // The connection between the endpoints stays open.
    assert_eq!(ping(&moved).await, 200);
    let call = peer.tool(1, "wait", json!({"message": "done"})).await;
    let closing = one.clone();
    let closing = tokio::spawn(async move { closing.close().await });
    while ping(&peer).await == 200 {
        tokio::task::yield_now().await;
    }
    assert_eq!(ping(&moved).await, 200);
    assert_eq!(two.sessions(), 1);
    cluster.gate.go.add_permits(1);
    assert_eq!(call.said().await, "done");
    closing.await.unwrap();
}

#[tokio::test]
async fn a_call_whose_endpoint_ends_fails_with_an_error() {
    const HEAD: &str =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let without_id = format!("{HEAD}3\r\n:\n\n\r\n").leak();
    for response in ["", HEAD, without_id] {
        let cluster = Cluster::new();
        let one = cluster.scripted(response).await;
        let (_, two) = cluster.unreachable().await;
        let peer = Peer::open(&one).await.at(&two);
        let answer = peer.tool(5, "state", json!({})).await.answer().await;
        assert_eq!(answer["id"], 5, "{answer}");
        let error = &answer["error"];
        assert_eq!(error["code"], -32603);
        assert!(error["message"].as_str().unwrap().contains(LOST), "{error}");
        // Nothing else was lost.
        let notification = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"});
        let status = if response.is_empty() { 202 } else { 200 };
        assert_eq!(peer.post(notification).await.status, status);
    }
}

#[tokio::test]
async fn a_stream_with_ids_ends_without_an_error_so_that_the_client_resumes_it() {
    const RESPONSE: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n\
                            16\r\n: requests [5]\nid: 1\n\n\r\n";
    let cluster = Cluster::new();
    let one = cluster.scripted(RESPONSE).await;
    let (_, two) = cluster.unreachable().await;
    let peer = Peer::open(&one).await.at(&two);
    let reply = peer.tool(5, "state", json!({})).await;
    assert_eq!(reply.text().await, ": requests [5]\nid: 1\n\n");
}

#[tokio::test]
async fn a_call_of_a_lost_endpoint_is_resumed_to_its_end() {
    let cluster = Cluster::new();
    let (_, one) = cluster.unreachable().await;
    let (_, two) = cluster.unreachable().await;
    let peer = Peer::open(&one).await;
    let mut call = steps(&peer).await;
    let last = call.event().await.unwrap().id.unwrap();
    cluster.gate.go.add_permits(1);
    let moved = peer.at(&two);
    let mut progress = Vec::new();
    for _ in 0..2 {
        progress.push(call.message().await.unwrap()["params"]["progress"].clone());
    }
    assert_eq!(progress, [json!(1), json!(2)]);
    // Twice, because the first response may be lost on its way.
    for _ in 0..2 {
        let mut rest = moved.get(Some(&last)).await;
        assert_eq!(rest.status, 200);
        for step in [1, 2] {
            assert_eq!(rest.message().await.unwrap()["params"]["progress"], step);
        }
        let answer = rest.message().await.unwrap();
        assert_eq!(answer["id"], 7);
        assert!(answer["error"]["message"].as_str().unwrap().contains(LOST));
        assert_eq!(rest.message().await, None);
    }
}

/// Resumes a call that has ended at a lost endpoint, after its second event, when the events before are gone. Returns its result.
async fn resumed_result(gone: u64) -> String {
    let cluster = Cluster::new();
    let (_, one) = cluster.unreachable().await;
    let (_, two) = cluster.unreachable().await;
    let peer = Peer::open(&one).await;
    let mut call = steps(&peer).await;
    cluster.gate.go.add_permits(3);
    call.event().await.unwrap();
    let last = call.event().await.unwrap().id.unwrap();
    assert_eq!(call.said().await, "done");
    cluster.events.1.store(gone, Ordering::Release);
    peer.at(&two).get(Some(&last)).await.said().await
}

#[tokio::test]
async fn a_result_that_was_stored_is_not_replaced_by_an_error() {
    assert_eq!(resumed_result(0).await, "done");
}

/// Previously, the first event was read, too, so that the result was lost with it.
#[tokio::test]
async fn a_result_is_sent_again_although_the_first_events_of_its_call_are_lost() {
    assert_eq!(resumed_result(2).await, "done");
}

/// A store whose events cannot be read, and the number of attempts.
#[derive(Debug, Clone, Default)]
struct Stuck(SharedEvents, Arc<AtomicU64>);

impl EventStore for Stuck {
    fn append(&self, key: StreamKey, sequence: u64, event: Bytes) -> Durability {
        self.0.append(key, sequence, event)
    }

    fn replay(
        &self,
        _: StreamKey,
        _: u64,
        _: usize,
    ) -> BoxFuture<'_, Result<Replay, EventStoreError>> {
        self.1.fetch_add(1, Ordering::AcqRel);
        Box::pin(std::future::pending())
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn forget_stream(&self, key: StreamKey) {
        self.0.forget_stream(key);
    }

    fn forget_session(&self, session: SessionId) {
        self.0.forget_session(session);
    }

    fn expire(&self, now: Instant) {
        self.0.expire(now);
    }
}

/// Previously, a client could make the endpoint read the calls of any number of its sessions at the same time, and others waited.
#[tokio::test(start_paused = true)]
async fn one_client_resumes_a_limited_number_of_calls_of_a_lost_endpoint_at_once() {
    let cluster = Cluster::new();
    let (_, one) = cluster.unreachable().await;
    let stuck = Stuck::default();
    let options = ServerOptions::new()
        .with_session_store(cluster.sessions.clone())
        .with_event_store(stuck.clone());
    let (_, two) = node_with(&cluster.gate, shared_keys(), options);
    let mut refused = 0;
    let mut waiting = Vec::new();
    for _ in 0..24 {
        let peer = Peer::open(&one).await;
        let mut call = steps(&peer).await;
        let id = call.event().await.unwrap().id.unwrap();
        let moved = peer.at(&two);
        let mut resumed = Box::pin(async move { moved.get(Some(&id)).await.status });
        match timeout(Duration::from_millis(1), &mut resumed).await {
            Ok(status) => {
                assert_eq!(status, 503);
                refused += 1;
            }
            Err(_) => waiting.push(resumed),
        }
    }
    assert!(refused >= 8, "{refused}");
    assert_eq!(stuck.1.load(Ordering::Acquire), waiting.len() as u64);
    // A place is free again when a client has left.
    let count = waiting.len() as u64;
    drop(waiting);
    let peer = Peer::open(&one).await;
    let id = steps(&peer).await.event().await.unwrap().id.unwrap();
    let moved = peer.at(&two);
    let resumed = timeout(Duration::from_millis(1), moved.get(Some(&id))).await;
    assert!(resumed.is_err());
    assert_eq!(stuck.1.load(Ordering::Acquire), count + 1);
}

/// Previously, each of them was charged for its replay as long as it was open.
#[tokio::test]
async fn resumed_streams_of_a_lost_endpoint_take_no_more_memory_than_other_streams() {
    let cluster = Cluster::new();
    let (first, one) = cluster.unreachable().await;
    let options = ServerOptions::new()
        .with_session_store(cluster.sessions.clone())
        .with_event_store(cluster.events.clone())
        .with_memory_limits(|memory| memory.max_stream_bytes = 200 << 10);
    let (second, two) = node_with(&cluster.gate, shared_keys(), options);
    let mut open = Vec::new();
    for _ in 0..5 {
        let peer = Peer::open(&one).await;
        peer.ask("resources/subscribe", json!({"uri": WATCHED}))
            .await;
        let mut stream = peer.get(None).await;
        first.resources().updated(WATCHED);
        let last = stream.event().await.unwrap().id.unwrap();
        drop(stream);
        let mut stream = peer.at(&two).get(Some(&last)).await;
        assert_eq!(stream.status, 200, "{} streams are open", open.len());
        second.resources().updated(WATCHED);
        assert!(stream.event().await.is_some());
        open.push((peer, stream));
    }
}

#[tokio::test]
async fn new_messages_on_the_standalone_stream_follow_the_messages_of_a_lost_endpoint() {
    let cluster = Cluster::new();
    let (first, one) = cluster.unreachable().await;
    let (_, two) = cluster.unreachable().await;
    let (third, three) = cluster.unreachable().await;
    let peer = Peer::open(&one).await;
    peer.ask("resources/subscribe", json!({"uri": WATCHED}))
        .await;
    let mut stream = peer.get(None).await;
    first.resources().updated(WATCHED);
    let last = stream.event().await.unwrap().id.unwrap();
    drop(stream);
    for _ in 0..3 {
        first.resources().updated(WATCHED);
    }
    assert_eq!(ping(&peer.at(&two)).await, 200);
    let mut stream = peer.at(&three).get(Some(&last)).await;
    third.resources().updated(WATCHED);
    let mut ids = Vec::new();
    for _ in 0..4 {
        ids.push(stream.event().await.unwrap().id.unwrap());
    }
    let expected = ["0-2-", "0-3-", "0-4-", "0-1-"];
    assert!(
        ids.iter()
            .zip(expected)
            .all(|(id, expected)| id.starts_with(expected)),
        "{ids:?}"
    );
}

#[test]
fn an_address_that_cannot_be_used_is_rejected() {
    let gate = Gate::new();
    for address in ["https://a/mcp", "/mcp"] {
        let options = ServerOptions::new().with_forwarding(address.parse().unwrap());
        let server = super::super::server(&gate).build().unwrap();
        let endpoint = Endpoint::with_options(server, options);
        fails_with(endpoint, "is not an http URL with a host");
    }
}
