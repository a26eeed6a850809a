//! The events through their public interface.

#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use mcp_store_redb::{RedbEventStore, RedbOptions, RedbStore};
use mcp_transport_http::testing::event_store_contract;
use mcp_transport_http::{Durability, EventStore as _, Replay, SessionId, StreamKey};
use tokio::time::{Instant, advance};

const MINUTE: Duration = Duration::from_secs(60);

/// A file that is removed after the test.
struct TempFile(PathBuf);

impl TempFile {
    fn new(name: &str) -> Self {
        let name = format!("events-{}-{name}", std::process::id());
        Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
    }

    fn open(&self, options: RedbOptions) -> RedbEventStore {
        let store = RedbStore::open_with(&self.0, options).unwrap();
        store.event_store()
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn key(session: u8, stream: u32) -> StreamKey {
    StreamKey::new(SessionId::from_bytes([session; 32]), stream)
}

/// Appends an event of this size and waits until it is durable.
async fn append(
    store: &RedbEventStore,
    key: StreamKey,
    sequence: u64,
    bytes: usize,
) -> Result<(), String> {
    match store.append(key, sequence, event(sequence, bytes)) {
        Durability::Pending(stored) => stored.await.map_err(|error| error.to_string()),
        other => panic!("{other:?}"),
    }
}

fn event(sequence: u64, bytes: usize) -> Bytes {
    let start = sequence.to_be_bytes();
    start.into_iter().cycle().take(bytes).collect()
}

/// Asserts that the events after `after` are those up to `last`.
async fn assert_stored(
    store: &RedbEventStore,
    key: StreamKey,
    after: u64,
    last: u64,
    bytes: usize,
) {
    let expected = (after + 1..=last).map(|sequence| event(sequence, bytes));
    let found = store.replay(key, after, usize::MAX).await.unwrap();
    assert_eq!(found, Replay::Events(expected.collect()));
}

async fn assert_gone(store: &RedbEventStore, key: StreamKey, after: u64) {
    assert_eq!(
        store.replay(key, after, usize::MAX).await.unwrap(),
        Replay::Gone
    );
}

#[tokio::test]
async fn the_store_fulfils_the_contract_of_event_stores() {
    let file = TempFile::new("contract");
    let store = file.open(RedbOptions::new().with_max_session_event_bytes(400 * 512));
    event_store_contract(&store).await.unwrap();
}

#[tokio::test]
async fn durable_events_survive_a_restart() {
    let file = TempFile::new("restart");
    let store = file.open(RedbOptions::new());
    for sequence in 1..=20 {
        append(&store, key(1, 0), sequence, 10).await.unwrap();
    }
    append(&store, key(1, 1), 1, 10).await.unwrap();
    store.forget_stream(key(1, 1));
    // A copy of the file while it is in use, as after a crash. The replay shows that the removal is done.
    assert_gone(&store, key(1, 1), 1).await;
    let copy = TempFile::new("restart-copy");
    fs::copy(&file.0, &copy.0).unwrap();
    drop(store);
    for file in [file, copy] {
        let store = file.open(RedbOptions::new());
        assert!(store.is_shared());
        assert_stored(&store, key(1, 0), 4, 20, 10).await;
        assert_gone(&store, key(1, 1), 1).await;
        // An event that was stored before is ignored, and the next one continues the stream.
        append(&store, key(1, 0), 20, 99).await.unwrap();
        append(&store, key(1, 0), 21, 10).await.unwrap();
        assert_stored(&store, key(1, 0), 19, 21, 10).await;
    }
}

#[tokio::test]
async fn events_that_are_queued_when_the_store_is_dropped_are_stored() {
    let file = TempFile::new("drop");
    let store = file.open(RedbOptions::new().with_max_queued_operations(1));
    let pending: Vec<Durability> = (1..=1_000)
        .map(|sequence| store.append(key(1, 1), sequence, event(sequence, 10)))
        .collect();
    drop((store, pending));
    let store = file.open(RedbOptions::new());
    assert_stored(&store, key(1, 1), 0, 1_000, 10).await;
}

#[tokio::test]
async fn a_session_beyond_its_limit_loses_its_own_oldest_events() {
    let file = TempFile::new("session-limit");
    let options = RedbOptions::new().with_max_session_event_bytes(10_000);
    let store = file.open(options);
    append(&store, key(1, 1), 1, 1_000).await.unwrap();
    append(&store, key(2, 1), 1, 1_000).await.unwrap();
    for sequence in 1..=20 {
        append(&store, key(1, 2), sequence, 1_000).await.unwrap();
    }
    assert_gone(&store, key(1, 1), 0).await;
    assert_gone(&store, key(1, 1), 1).await;
    assert_gone(&store, key(1, 2), 11).await;
    assert_stored(&store, key(1, 2), 12, 20, 1_000).await;
    assert_stored(&store, key(2, 1), 0, 1, 1_000).await;
    // An event that does not fit is reported, and is not missing without notice.
    let long = append(&store, key(1, 2), 21, 10_001).await.unwrap_err();
    assert!(long.contains("with_max_session_event_bytes"), "{long}");
    assert_gone(&store, key(1, 2), 20).await;
    append(&store, key(1, 2), 22, 10).await.unwrap();
    assert_stored(&store, key(1, 2), 21, 22, 10).await;
}

#[tokio::test]
async fn the_total_limit_of_events_does_not_remove_events_of_other_sessions() {
    let file = TempFile::new("total-limit");
    let store = file.open(RedbOptions::new().with_max_event_bytes(10_000));
    for sequence in 1..=6 {
        append(&store, key(1, 1), sequence, 1_000).await.unwrap();
    }
    for sequence in 1..=9 {
        append(&store, key(2, 1), sequence, 1_000).await.unwrap();
    }
    assert_stored(&store, key(1, 1), 0, 6, 1_000).await;
    assert_gone(&store, key(2, 1), 5).await;
    assert_stored(&store, key(2, 1), 8, 9, 1_000).await;
    let full = append(&store, key(3, 1), 1, 5_000).await.unwrap_err();
    assert!(full.contains("with_max_event_bytes"), "{full}");
    assert_gone(&store, key(3, 1), 0).await;
    store.forget_session(key(1, 1).session);
    for sequence in 10..=14 {
        append(&store, key(2, 1), sequence, 1_000).await.unwrap();
    }
    assert_stored(&store, key(2, 1), 8, 14, 1_000).await;
}

#[tokio::test(start_paused = true)]
async fn events_expire_after_the_retention() {
    let file = TempFile::new("retention");
    let store = file.open(RedbOptions::new().with_event_retention(MINUTE));
    append(&store, key(1, 1), 1, 10).await.unwrap();
    advance(MINUTE / 2).await;
    append(&store, key(1, 1), 2, 10).await.unwrap();
    store.expire(Instant::now());
    assert_stored(&store, key(1, 1), 0, 2, 10).await;
    advance(MINUTE / 2).await;
    store.expire(Instant::now());
    assert_gone(&store, key(1, 1), 0).await;
    assert_stored(&store, key(1, 1), 1, 2, 10).await;
    advance(MINUTE).await;
    store.expire(Instant::now());
    for after in [0, 1, 2] {
        assert_gone(&store, key(1, 1), after).await;
    }
    // The session goes on.
    append(&store, key(1, 1), 3, 10).await.unwrap();
    assert_stored(&store, key(1, 1), 2, 3, 10).await;
    // The record that events were lost is kept for a day.
    store.expire(Instant::now() + 20 * 60 * MINUTE);
    assert_gone(&store, key(1, 1), 0).await;
    store.expire(Instant::now() + 25 * 60 * MINUTE);
    assert_stored(&store, key(1, 1), 0, 0, 10).await;
}

#[tokio::test]
async fn a_full_queue_is_reported_and_never_leaves_a_gap() {
    let file = TempFile::new("queue");
    let store = file.open(RedbOptions::new().with_max_queued_event_bytes(1_000));
    let long = append(&store, key(1, 1), 1, 1_001).await.unwrap_err();
    assert!(long.contains("with_max_queued_event_bytes"), "{long}");
    append(&store, key(1, 1), 2, 10).await.unwrap();
    assert_gone(&store, key(1, 1), 0).await;
    assert_stored(&store, key(1, 1), 1, 2, 10).await;
    // Space is released after each transaction.
    for sequence in 3..=10 {
        append(&store, key(1, 1), sequence, 900).await.unwrap();
    }
}
