//! Sessions in a store that two endpoints share.

use mcp_protocol::BoxFuture;
use mcp_protocol::task::Timestamp;
use mcp_server::ServerBuilder;
use mcp_tests::http::Peer;
use mcp_transport_http::{
    EndpointId, MemorySessions, SessionId, SessionLease, SessionRecord, SessionStore,
    SessionStoreError, SessionStoreErrorKind,
};

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
    node_with(gate, ServerOptions::new().with_session_store(store))
}

fn node_with(gate: &Gate, options: ServerOptions) -> (Server, Endpoint) {
    let resources = (0..CLIENTS).map(|client| Resource::new(watched(client), "watched", || "text"));
    let server = resources.fold(super::server(gate), ServerBuilder::resource);
    let server = server
        .logging(true)
        .subscriptions(true)
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
fn nodes() -> (MemorySessions, Endpoint, Endpoint) {
    let (gate, store) = (Gate::new(), MemorySessions::new());
    let (_, one) = node(&gate, store.clone());
    let (_, two) = node(&gate, store.clone());
    (store, one, two)
}

async fn ping(peer: &Peer) -> StatusCode {
    peer.call(1, "ping", json!({})).await.status
}

#[tokio::test]
async fn a_session_continues_at_another_endpoint_with_its_state() {
    let (gate, store) = (Gate::new(), MemorySessions::new());
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
async fn an_endpoint_lets_go_of_a_session_that_another_one_has_claimed() {
    let (gate, store) = (Gate::new(), MemorySessions::new());
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
async fn a_session_with_an_open_stream_is_let_go_without_a_request() {
    let (_store, one, two) = nodes();
    let peer = Peer::open(&one).await;
    let mut stream = peer.get(None).await;
    assert_eq!(ping(&peer.at(&two)).await, 200);
    assert_eq!(stream.message().await, None);
    assert_eq!((one.sessions(), two.sessions()), (0, 1));
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

#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_the_calls_of_sessions_that_were_let_go() {
    let (gate, store) = (Gate::new(), MemorySessions::new());
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
    let (gate, store) = (Gate::new(), MemorySessions::new());
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
    let (gate, store) = (Gate::new(), MemorySessions::new());
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
    let (gate, store) = (Gate::new(), MemorySessions::new());
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

#[tokio::test]
async fn a_session_in_a_file_survives_a_restart() {
    let name = format!("sessions-{}.redb", std::process::id());
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let open = || {
        let store = mcp_tasks_redb::RedbTaskStore::open(&path).unwrap();
        node(&Gate::new(), store.sessions())
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

/// What a [`Switchable`] store does.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mode {
    Works,
    Fails,
    Hangs,
}

/// A store that can be switched off.
#[derive(Debug, Clone)]
struct Switchable {
    store: MemorySessions,
    mode: Arc<Mutex<Mode>>,
}

impl Switchable {
    fn new() -> Self {
        Self {
            store: MemorySessions::new(),
            mode: Arc::new(Mutex::new(Mode::Works)),
        }
    }

    fn set(&self, mode: Mode) {
        *self.mode.lock().unwrap() = mode;
    }

    fn run<'a, T: Send + 'a>(
        &self,
        call: BoxFuture<'a, Result<T, SessionStoreError>>,
    ) -> BoxFuture<'a, Result<T, SessionStoreError>> {
        match *self.mode.lock().unwrap() {
            Mode::Works => call,
            Mode::Fails => Box::pin(async {
                let kind = SessionStoreErrorKind::Unavailable;
                Err(SessionStoreError::new(kind, "a secret address"))
            }),
            Mode::Hangs => Box::pin(std::future::pending()),
        }
    }
}

impl SessionStore for Switchable {
    fn create(
        &self,
        lease: SessionLease,
        record: SessionRecord,
        expires: Timestamp,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), SessionStoreError>> {
        self.run(self.store.create(lease, record, expires, now))
    }

    fn load(
        &self,
        id: SessionId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Option<SessionRecord>, SessionStoreError>> {
        self.run(self.store.load(id, now))
    }

    fn claim(
        &self,
        id: SessionId,
        owner: EndpointId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Option<(SessionLease, SessionRecord)>, SessionStoreError>> {
        self.run(self.store.claim(id, owner, now))
    }

    fn renew(
        &self,
        lease: SessionLease,
        expires: Timestamp,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), SessionStoreError>> {
        self.run(self.store.renew(lease, expires, now))
    }

    fn update(
        &self,
        lease: SessionLease,
        record: SessionRecord,
        expires: Timestamp,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), SessionStoreError>> {
        self.run(self.store.update(lease, record, expires, now))
    }

    fn remove(
        &self,
        lease: SessionLease,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), SessionStoreError>> {
        self.run(self.store.remove(lease, now))
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_down_gives_503_until_it_recovers() {
    let (gate, store) = (Gate::new(), Switchable::new());
    let (_, one) = node(&gate, store.clone());
    let (_, two) = node(&gate, store.clone());
    let peer = Peer::open(&one).await;
    for mode in [Mode::Fails, Mode::Hangs] {
        store.set(mode);
        for peer in [peer.clone(), peer.at(&two)] {
            let level = peer.call(1, "logging/setLevel", json!({"level": "error"}));
            for reply in [level.await, peer.get(None).await, peer.delete().await] {
                assert_eq!(reply.status, 503, "{mode:?}");
                assert_eq!(reply.headers["retry-after"], "1");
                assert!(!reply.text().await.contains("secret"));
            }
        }
        let mut new = Peer::new(&one);
        let reply = new.initialize("2025-11-25", json!({})).await;
        assert_eq!(reply.status, 503);
        assert_eq!(reply.json().await["id"], 0);
        assert_eq!(new.session(), None);
        assert_eq!((one.sessions(), two.sessions()), (1, 0));
    }
    store.set(Mode::Works);
    assert_eq!(ping(&peer).await, 200);
    assert_eq!(ping(&peer.at(&two)).await, 200);
    assert_eq!(peer.delete().await.status, 204);
    assert!(store.store.is_empty());
}

#[tokio::test]
async fn the_store_and_its_calls_have_limits() {
    let gate = Gate::new();
    let store = MemorySessions::new().with_max_sessions(1);
    let (_, one) = node(&gate, store.clone());
    let peer = Peer::open(&one).await;
    assert_eq!(Peer::begin(&one).await.status, 503);
    assert_eq!(one.sessions(), 1, "the session that was not stored is gone");
    assert_eq!(peer.delete().await.status, 204);
    assert_eq!(Peer::begin(&one).await.status, 200);

    let store = Switchable::new();
    let options = ServerOptions::new()
        .with_session_store(store.clone())
        .with_max_session_store_calls(1);
    let (_, one) = node_with(&gate, options);
    let peer = Peer::open(&one).await;
    store.set(Mode::Hangs);
    let waiting = peer.clone();
    let waiting = tokio::spawn(async move { ping(&waiting).await });
    tokio::task::yield_now().await;
    assert_eq!(ping(&peer).await, 503);
    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled());
    store.set(Mode::Works);
    assert_eq!(ping(&peer).await, 200);
}

#[tokio::test]
async fn a_full_endpoint_does_not_claim_a_session() {
    let (gate, store) = (Gate::new(), MemorySessions::new());
    let (_, one) = node(&gate, store.clone());
    let options = ServerOptions::new()
        .with_max_sessions_per_principal(1)
        .with_session_store(store);
    let two = with(&gate, options);
    let mut peers = Vec::new();
    for _ in 0..2 {
        let mut peer = Peer::new(&one);
        peer.principal = Some(Principal::new("alice"));
        peer.handshake("2025-11-25", json!({})).await;
        peers.push(peer);
    }
    assert_eq!(ping(&peers[0].at(&two)).await, 200);
    assert_eq!(ping(&peers[1].at(&two)).await, 503);
    assert_eq!(ping(&peers[1]).await, 200);
}
