//! The head of an event stream and the durability of its first event.

use mcp_protocol::BoxFuture;
use mcp_tests::http::{Peer, Reply};
use mcp_transport_http::{
    Durability, EventStore, EventStoreError, MemoryEventStore, Replay, SessionId, StreamKey,
};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::{Gate, with};
use crate::prelude::*;

/// Longer than the delay before a response becomes an event stream, and shorter than the interval of keep-alive
/// comments.
const WAIT: Duration = Duration::from_secs(5);
const KEEP_ALIVE: Duration = Duration::from_secs(15);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Writes {
    Pending,
    Complete,
    Fail,
}

/// A store whose writes complete or fail when the test says so.
#[derive(Debug, Clone)]
struct Slow {
    events: Arc<MemoryEventStore>,
    writes: watch::Sender<Writes>,
}

impl Slow {
    fn new() -> Self {
        Self {
            events: Arc::default(),
            writes: watch::Sender::new(Writes::Pending),
        }
    }
}

impl EventStore for Slow {
    fn append(&self, key: StreamKey, sequence: u64, event: Bytes) -> Durability {
        self.events.append(key, sequence, event);
        let mut writes = self.writes.subscribe();
        Durability::Pending(Box::pin(async move {
            let ended = writes.wait_for(|writes| *writes != Writes::Pending).await;
            match ended.as_deref() {
                Ok(Writes::Complete) => Ok(()),
                _ => Err(EventStoreError::new("the disk is full")),
            }
        }))
    }

    fn replay(
        &self,
        key: StreamKey,
        after: u64,
        bytes: usize,
    ) -> BoxFuture<'_, Result<Replay, EventStoreError>> {
        self.events.replay(key, after, bytes)
    }

    fn forget_stream(&self, key: StreamKey) {
        self.events.forget_stream(key);
    }

    fn forget_session(&self, session: SessionId) {
        self.events.forget_session(session);
    }

    fn expire(&self, now: Instant) {
        self.events.expire(now);
    }
}

async fn opened(store: &Slow) -> (Gate, Peer) {
    let gate = Gate::new();
    let options = ServerOptions::new()
        .with_event_store(store.clone())
        .with_streams(|streams| streams.keep_alive_interval = KEEP_ALIVE);
    let peer = Peer::open(&with(&gate, options)).await;
    (gate, peer)
}

async fn call(peer: &Peer, tool: &str) -> Reply {
    let params = json!({
        "name": tool, "arguments": {"message": "x"}, "_meta": {"progressToken": 1},
    });
    peer.call(1, "tools/call", params).await
}

// A client can resume a stream only if it has received an event id. If the process ends before the first event is
// durable, the client must not have a stream: the end of its request is then an error, and not a stream that it can
// neither read nor resume.
#[tokio::test(start_paused = true)]
async fn the_head_of_a_stream_arrives_with_its_first_durable_event() {
    // The handler sends a message and runs, sends a message and returns, or runs without a message.
    for tool in ["steps", "quick", "wait"] {
        let store = Slow::new();
        let (gate, peer) = opened(&store).await;
        let mut reply = Box::pin(call(&peer, tool));
        let early = timeout(WAIT, &mut reply).await;
        assert!(early.is_err(), "{tool}: a head without an event");
        store.writes.send_replace(Writes::Complete);
        let mut reply = reply.await;
        assert_eq!(reply.status, 200, "{tool}");
        assert_eq!(reply.kind(), "text/event-stream", "{tool}");
        let start = Instant::now();
        let first = reply.event().await.unwrap();
        assert!(first.id.is_some(), "{tool}: {first:?}");
        assert_eq!(start.elapsed(), Duration::ZERO, "{tool}");
        gate.go.add_permits(3);
        assert_eq!(reply.said().await, "x", "{tool}");
    }
}

// The call is not affected by a store that fails: its client receives all events as long as it stays connected.
#[tokio::test(start_paused = true)]
async fn a_stream_whose_first_event_cannot_be_stored_is_sent() {
    for tool in ["steps", "quick", "wait"] {
        let store = Slow::new();
        let (gate, peer) = opened(&store).await;
        let mut reply = Box::pin(call(&peer, tool));
        assert!(timeout(WAIT, &mut reply).await.is_err(), "{tool}");
        store.writes.send_replace(Writes::Fail);
        gate.go.add_permits(3);
        assert_eq!(reply.await.said().await, "x", "{tool}");
    }
}

// A store that never finishes a write delays the head only until the client needs a sign that the connection is alive.
#[tokio::test(start_paused = true)]
async fn a_response_head_is_delayed_by_at_most_the_keep_alive_interval() {
    let store = Slow::new();
    let (gate, peer) = opened(&store).await;
    let start = Instant::now();
    let mut reply = call(&peer, "steps").await;
    assert_eq!(start.elapsed(), KEEP_ALIVE);
    assert_eq!(reply.chunk().await.unwrap(), ":\n\n");
    assert_eq!(
        start.elapsed(),
        KEEP_ALIVE,
        "the comment comes with the head"
    );
    store.writes.send_replace(Writes::Complete);
    gate.go.add_permits(3);
    assert_eq!(reply.said().await, "x");
}

// A client that leaves while the head waits does not end its call, whose response is stored.
#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_before_the_head_does_not_end_its_call() {
    let store = Slow::new();
    let (gate, peer) = opened(&store).await;
    assert!(timeout(WAIT, call(&peer, "wait")).await.is_err());
    gate.go.add_permits(1);
    gate.ended.acquire().await.unwrap().forget();
}
