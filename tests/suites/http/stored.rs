//! The memory of stored events that are sent again.

use mcp_protocol::BoxFuture;
use mcp_server::ServerBuilder;
use mcp_tests::http::{Peer, Reply};
use mcp_transport_http::{
    Durability, EventStore, EventStoreError, MemoryEventStore, Replay, SessionId, StreamKey,
};
use tokio::time::Instant;

use crate::prelude::*;

/// Number and size of the messages of a call.
const MESSAGES: usize = 100;
const MESSAGE: usize = 8 << 10;

/// A store that counts the bytes that were read from it, and whose events another program can remove.
#[derive(Debug, Clone, Default)]
struct Counting {
    events: Arc<MemoryEventStore>,
    read: Arc<AtomicUsize>,
    is_lost: Arc<AtomicBool>,
}

impl EventStore for Counting {
    fn append(&self, key: StreamKey, sequence: u64, event: Bytes) -> Durability {
        self.events.append(key, sequence, event)
    }

    fn replay(
        &self,
        key: StreamKey,
        after: u64,
        bytes: usize,
    ) -> BoxFuture<'_, Result<Replay, EventStoreError>> {
        Box::pin(async move {
            if self.is_lost.load(Ordering::Acquire) {
                return Ok(Replay::Gone);
            }
            let found = self.events.replay(key, after, bytes).await?;
            if let Replay::Events(events) = &found {
                let bytes = events.iter().map(Bytes::len).sum();
                self.read.fetch_add(bytes, Ordering::AcqRel);
            }
            Ok(found)
        })
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

/// A server whose tool sends many long messages.
fn talking() -> ServerBuilder {
    let server = Server::builder("talks", "1");
    server.tool(Tool::new("talk", async |cx: Ctx| {
        for number in 0..MESSAGES {
            let line = format!("{number} {}", "x".repeat(MESSAGE));
            cx.log(LoggingLevel::Error, line);
        }
        "done"
    }))
}

/// Calls the tool, and disconnects after the first event. Returns its id.
async fn abandoned(peer: &Peer) -> String {
    let mut call = peer.tool(1, "talk", json!({})).await;
    call.event().await.unwrap().id.unwrap()
}

async fn resumed(peer: &Peer, id: &str) -> Reply {
    let reply = peer.get(Some(id)).await;
    assert_eq!(reply.status, 200);
    reply
}

/// Previously, each connection that resumed a stream got a copy of all its events from a store outside of the process.
#[tokio::test]
async fn stored_events_are_read_only_as_fast_as_the_client_reads_the_stream() {
    let store = Counting::default();
    let options = ServerOptions::new().with_event_store(store.clone());
    let peer = Peer::open(&Endpoint::with_options(talking(), options).unwrap()).await;
    let id = abandoned(&peer).await;
    let mut again = resumed(&peer, &id).await;
    let mut seen = 0;
    loop {
        let read = store.read.load(Ordering::Acquire);
        assert!(
            read <= (seen + 1) * (MESSAGE + 1_024) + (80 << 10),
            "{read} bytes for {seen} messages"
        );
        let message = again.message().await.unwrap();
        if message["id"] == 1 {
            break;
        }
        let data = message["params"]["data"].as_str().unwrap();
        assert!(data.starts_with(&format!("{seen} ")), "{data:.9}");
        seen += 1;
    }
    assert_eq!(seen, MESSAGES);
    assert_eq!(again.chunk().await, None);
}

#[tokio::test]
async fn events_that_are_sent_again_count_against_the_memory_of_streams() {
    let store = Counting::default();
    let options = ServerOptions::new()
        .with_event_store(store.clone())
        .with_memory_limits(|memory| memory.max_stream_bytes = 300 << 10);
    let peer = Peer::open(&Endpoint::with_options(talking(), options).unwrap()).await;
    let id = abandoned(&peer).await;
    let mut open = Vec::new();
    let refused = loop {
        assert!(open.len() < 8, "more streams than the memory allows");
        let reply = peer.get(Some(&id)).await;
        if reply.status != 200 {
            break reply;
        }
        open.push(reply);
    };
    assert_eq!(refused.status, 503);
    assert!(refused.text().await.contains("max_stream_bytes"));
    assert!(open.len() >= 2, "{}", open.len());
    open.clear();
    assert_eq!(resumed(&peer, &id).await.answer().await["id"], 1);
}

#[tokio::test]
async fn a_replay_ends_when_the_next_events_are_lost() {
    let store = Counting::default();
    let options = ServerOptions::new().with_event_store(store.clone());
    let peer = Peer::open(&Endpoint::with_options(talking(), options).unwrap()).await;
    let id = abandoned(&peer).await;
    let mut again = resumed(&peer, &id).await;
    let mut last = again.event().await.unwrap().id.unwrap();
    store.is_lost.store(true, Ordering::Release);
    while let Some(event) = again.event().await {
        last = event.id.unwrap();
    }
    let reply = peer.get(Some(&last)).await;
    assert_eq!(reply.status, 400);
    assert!(reply.text().await.contains("no longer stored"));
}

/// Previously, the client got an empty stream, and waited for the response.
#[tokio::test]
async fn a_client_receives_400_if_its_response_was_not_stored() {
    let store = Counting::default();
    let options = ServerOptions::new().with_event_store(store.clone());
    let peer = Peer::open(&Endpoint::with_options(talking(), options).unwrap()).await;
    let id = abandoned(&peer).await;
    let mut again = resumed(&peer, &id).await;
    let mut last = id;
    while let Some(event) = again.event().await {
        last = event.id.unwrap();
    }
    let reply = peer.get(Some(&last)).await;
    assert_eq!(reply.status, 400, "there are no events after it");
}

/// Previously, the memory of a replay was charged as long as the stream was open, so that fewer streams were possible.
#[tokio::test]
async fn a_resumed_stream_takes_no_more_memory_than_other_streams() {
    let options = ServerOptions::new()
        .with_event_store(Counting::default())
        .with_memory_limits(|memory| memory.max_stream_bytes = 500 << 10);
    let endpoint = Endpoint::with_options(talking(), options).unwrap();
    let mut open = Vec::new();
    for _ in 0..10 {
        let peer = Peer::open(&endpoint).await;
        let id = abandoned(&peer).await;
        let mut stream = resumed(&peer, &id).await;
        while stream.event().await.is_some() {}
        let standalone = peer.get(None).await;
        assert_eq!(standalone.status, 200);
        open.push((peer, stream, standalone));
    }
}
