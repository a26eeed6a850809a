//! A store that fails, and limits.

use std::collections::HashSet;

use mcp_protocol::BoxFuture;
use mcp_protocol::task::Timestamp;
use mcp_tests::http::Peer;
use mcp_transport_http::{
    EndpointId, MemorySessionStore, SessionId, SessionLease, SessionRecord, SessionStore,
    SessionStoreError, SessionStoreErrorKind,
};
use tokio::time::{sleep, timeout};

use super::{Gate, WATCHED, node, node_with, ping, shared_keys, with};
use crate::gate::pass;
use crate::prelude::*;

/// What a [`Switchable`] store does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Mode {
    Works,
    Fails,
    Hangs,
    /// Calls have their effect, and return after a permit.
    Delays,
    /// Changed sessions are not stored.
    IsFull,
    /// Changed sessions are stored later than the test lasts.
    HangsAtUpdates,
}

/// A store that can be switched off.
#[derive(Debug, Clone)]
pub(super) struct Switchable {
    store: MemorySessionStore,
    mode: Arc<Mutex<Mode>>,
    /// Gets a permit from each delayed call, when it has had its effect.
    pub(super) delayed: Arc<Semaphore>,
    /// The permits for delayed calls.
    pub(super) go: Arc<Semaphore>,
    renewed: Arc<Mutex<HashSet<SessionId>>>,
}

impl Switchable {
    fn new() -> Self {
        Self::of(MemorySessionStore::new())
    }

    pub(super) fn of(store: MemorySessionStore) -> Self {
        let [delayed, go] = [0; 2].map(|permits| Arc::new(Semaphore::new(permits)));
        Self {
            store,
            mode: Arc::new(Mutex::new(Mode::Works)),
            delayed,
            go,
            renewed: Arc::default(),
        }
    }

    pub(super) fn set(&self, mode: Mode) {
        *self.mode.lock().unwrap() = mode;
    }

    fn mode(&self) -> Mode {
        *self.mode.lock().unwrap()
    }

    fn run<'a, T: Send + 'a>(
        &self,
        call: BoxFuture<'a, Result<T, SessionStoreError>>,
    ) -> BoxFuture<'a, Result<T, SessionStoreError>> {
        match self.mode() {
            Mode::Works | Mode::IsFull | Mode::HangsAtUpdates => call,
            Mode::Delays => {
                let (delayed, go) = (Arc::clone(&self.delayed), Arc::clone(&self.go));
                Box::pin(async move {
                    let done = call.await;
                    delayed.add_permits(1);
                    pass(&go).await;
                    done
                })
            }
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
        self.renewed.lock().unwrap().insert(lease.session);
        self.run(self.store.renew(lease, expires, now))
    }

    fn update(
        &self,
        lease: SessionLease,
        record: SessionRecord,
        expires: Timestamp,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), SessionStoreError>> {
        match self.mode() {
            Mode::IsFull => Box::pin(async {
                let kind = SessionStoreErrorKind::Full;
                Err(SessionStoreError::new(kind, "full"))
            }),
            Mode::HangsAtUpdates => Box::pin(std::future::pending()),
            _ => self.run(self.store.update(lease, record, expires, now)),
        }
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
async fn requests_get_503_while_the_session_store_fails() {
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
    let store = MemorySessionStore::new().with_max_sessions(1);
    let (_, one) = node(&gate, store.clone());
    let peer = Peer::open(&one).await;
    assert_eq!(Peer::begin(&one).await.status, 503);
    assert_eq!(one.sessions(), 1, "the session that was not stored is gone");
    assert_eq!(peer.delete().await.status, 204);
    assert_eq!(Peer::begin(&one).await.status, 200);

    let store = Switchable::new();
    let options = ServerOptions::new()
        .with_session_store(store.clone())
        .with_session_limits(|limits| limits.max_store_calls = 1);
    let (_, one) = node_with(&gate, shared_keys(), options);
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
    let (gate, store) = (Gate::new(), MemorySessionStore::new());
    let (_, one) = node(&gate, store.clone());
    let options = ServerOptions::new()
        .with_session_limits(|limits| limits.max_sessions_per_principal = 1)
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

/// As if the nodes of some sessions were away, or the store had no room for their changes.
#[tokio::test(start_paused = true)]
async fn sessions_that_cannot_be_stored_do_not_prevent_the_renewal_of_other_sessions() {
    const SESSIONS: usize = 32;
    for mode in [Mode::IsFull, Mode::HangsAtUpdates] {
        let (gate, store) = (Gate::new(), Switchable::new());
        let (_, one) = node(&gate, store.clone());
        let (mut peers, mut streams) = (Vec::new(), Vec::new());
        for _ in 0..SESSIONS {
            let peer = Peer::open(&one).await;
            streams.push(peer.get(None).await);
            peers.push(peer);
        }
        store.set(mode);
        for peer in &peers[SESSIONS / 2..] {
            let params = json!({"uri": WATCHED});
            let subscribed = peer.call(1, "resources/subscribe", params).await;
            assert_eq!(subscribed.status, 503);
        }
        store.renewed.lock().unwrap().clear();
        let renewed = async {
            while store.renewed.lock().unwrap().len() < SESSIONS / 2 {
                // sleep: the next round of renewals is awaited.
                sleep(Duration::from_secs(1)).await;
            }
        };
        timeout(Duration::from_secs(40), renewed).await.unwrap();
    }
}
