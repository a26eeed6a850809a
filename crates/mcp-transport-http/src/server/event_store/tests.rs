//! Tests of the store in memory: which events it keeps, in which order it drops events, and what it reports.

mod model;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderValue;
use tokio::time::{Instant, advance};

use super::log::{EVENT_COST, SESSION_COST, STREAM_COST};
use super::memory::MemoryEventStore;
use super::*;
use crate::server::session_id::SessionId;

/// The size of each event in these tests, in bytes.
const DATA: usize = 100;

/// Returns the expected memory of a session with this number of streams and events.
fn cost(streams: usize, events: usize) -> usize {
    SESSION_COST + streams * STREAM_COST + events * (EVENT_COST + DATA)
}

fn session(number: u8) -> SessionId {
    let text = format!("{number:02x}").repeat(32);
    SessionId::parse(&HeaderValue::from_str(&text).unwrap()).unwrap()
}

fn key(session_number: u8, stream: u32) -> StreamKey {
    StreamKey {
        session: session(session_number),
        stream,
    }
}

/// Returns an event whose data contains the stream and the sequence number.
fn event(key: StreamKey, sequence: u64) -> Bytes {
    let session = key.session.shard_byte();
    Bytes::from(format!(
        "{:0>DATA$}",
        format!("{session}/{}/{sequence}", key.stream)
    ))
}

fn append(store: &MemoryEventStore, key: StreamKey, sequences: impl IntoIterator<Item = u64>) {
    for sequence in sequences {
        let stored = store.append(key, sequence, event(key, sequence));
        assert!(matches!(stored, Durability::Immediate));
    }
}

fn events(key: StreamKey, sequences: impl IntoIterator<Item = u64>) -> Replay {
    let events = sequences.into_iter().map(|sequence| event(key, sequence));
    Replay::Events(events.collect())
}

async fn replay(store: &MemoryEventStore, key: StreamKey, after: u64) -> Replay {
    store.replay(key, after, usize::MAX).await.unwrap()
}

fn used(store: &MemoryEventStore) -> usize {
    store.total.load(Ordering::Relaxed)
}

#[cfg(feature = "testing")]
#[tokio::test]
async fn the_store_fulfils_the_contract_of_its_trait() {
    let store = MemoryEventStore::new();
    crate::testing::event_store_contract(&store).await.unwrap();
}

#[tokio::test]
async fn a_replay_contains_only_the_events_of_its_stream_in_order() {
    let store = MemoryEventStore::new();
    let (one, two, other) = (key(1, 1), key(1, 2), key(17, 1));
    for sequence in 1..=5 {
        append(&store, one, [sequence]);
        append(&store, two, [sequence]);
        append(&store, other, [sequence]);
    }
    for after in 0..=5 {
        assert_eq!(replay(&store, one, after).await, events(one, after + 1..=5));
        assert_eq!(replay(&store, two, after).await, events(two, after + 1..=5));
        assert_eq!(
            replay(&store, other, after).await,
            events(other, after + 1..=5)
        );
    }
    assert_eq!(replay(&store, one, 99).await, events(one, []));
}

#[tokio::test]
async fn an_unknown_stream_replays_nothing_to_a_client_without_events() {
    let store = MemoryEventStore::new();
    append(&store, key(1, 1), [1]);
    for unknown in [key(1, 2), key(2, 1)] {
        assert_eq!(replay(&store, unknown, 0).await, events(unknown, []));
        assert_eq!(replay(&store, unknown, 1).await, Replay::Gone);
    }
}

#[tokio::test]
async fn the_oldest_events_of_the_session_are_evicted_first() {
    let store = MemoryEventStore::new().with_max_session_bytes(cost(2, 4));
    let (one, two) = (key(1, 1), key(1, 2));
    append(&store, one, [1, 2]);
    append(&store, two, [1, 2]);
    assert_eq!(used(&store), cost(2, 4));
    append(&store, two, [3]);
    assert_eq!(replay(&store, one, 0).await, Replay::Gone);
    assert_eq!(replay(&store, one, 1).await, events(one, [2]));
    append(&store, one, [3]);
    assert_eq!(replay(&store, one, 1).await, Replay::Gone);
    assert_eq!(replay(&store, one, 2).await, events(one, [3]));
    assert_eq!(replay(&store, two, 0).await, events(two, 1..=3));
    append(&store, one, [4]);
    assert_eq!(replay(&store, two, 0).await, Replay::Gone);
    assert_eq!(replay(&store, two, 1).await, events(two, 2..=3));
    assert_eq!(used(&store), cost(2, 4));
}

#[tokio::test]
async fn a_client_that_has_received_the_evicted_events_misses_nothing() {
    let store = MemoryEventStore::new().with_max_session_bytes(cost(2, 1));
    let (one, two) = (key(1, 1), key(1, 2));
    append(&store, one, 1..=3);
    append(&store, two, [1]);
    assert_eq!(replay(&store, one, 2).await, Replay::Gone);
    assert_eq!(replay(&store, one, 3).await, events(one, []));
}

#[tokio::test]
async fn a_full_store_does_not_evict_events_of_other_sessions() {
    let store = MemoryEventStore::new().with_max_total_bytes(cost(1, 3) + cost(1, 1));
    let (one, two) = (key(1, 1), key(2, 1));
    append(&store, one, 1..=3);
    append(&store, two, 1..=3);
    assert_eq!(replay(&store, one, 0).await, events(one, 1..=3));
    assert_eq!(replay(&store, two, 1).await, Replay::Gone);
    assert_eq!(replay(&store, two, 2).await, events(two, [3]));
    let late = key(3, 1);
    append(&store, late, [1]);
    assert_eq!(
        replay(&store, late, 0).await,
        Replay::Gone,
        "there was no room for it"
    );
    assert_eq!(replay(&store, two, 2).await, events(two, [3]));
    store.forget_session(one.session);
    append(&store, late, [2]);
    assert_eq!(replay(&store, late, 0).await, Replay::Gone);
    assert_eq!(replay(&store, late, 1).await, events(late, [2]));
}

#[tokio::test]
async fn an_event_too_large_to_store_affects_only_its_stream() {
    let store = MemoryEventStore::new().with_max_session_bytes(10_000);
    let (one, two) = (key(1, 1), key(1, 2));
    append(&store, one, [1]);
    append(&store, two, [1]);
    store.append(one, 2, Bytes::from(vec![0; 10_001]));
    append(&store, one, [3]);
    assert_eq!(replay(&store, one, 1).await, Replay::Gone);
    assert_eq!(replay(&store, one, 2).await, events(one, [3]));
    assert_eq!(replay(&store, two, 0).await, events(two, [1]));
    assert_eq!(used(&store), cost(2, 2));
}

#[tokio::test(start_paused = true)]
async fn events_expire_after_the_retention() {
    let store = MemoryEventStore::new().with_retention(Duration::from_secs(10));
    let one = key(1, 1);
    append(&store, one, [1]);
    advance(Duration::from_secs(4)).await;
    append(&store, one, [2]);
    store.expire(Instant::now() + Duration::from_millis(5_999));
    assert_eq!(replay(&store, one, 0).await, events(one, 1..=2));
    advance(Duration::from_secs(6)).await;
    store.expire(Instant::now());
    assert_eq!(replay(&store, one, 0).await, Replay::Gone);
    assert_eq!(replay(&store, one, 1).await, events(one, [2]));
    advance(Duration::from_secs(4)).await;
    store.expire(Instant::now());
    for after in 0..=2 {
        assert_eq!(replay(&store, one, after).await, Replay::Gone);
    }
    assert_eq!(used(&store), cost(0, 0));
}

#[tokio::test]
async fn a_forgotten_stream_leaves_no_events_and_no_records() {
    let store = MemoryEventStore::new();
    for stream in 1..=3 {
        append(&store, key(1, stream), 1..=4);
        append(&store, key(2, stream), 1..=4);
    }
    store.forget_stream(key(1, 2));
    assert_eq!(used(&store), cost(2, 8) + cost(3, 12));
    assert_eq!(replay(&store, key(1, 2), 2).await, Replay::Gone);
    assert_eq!(replay(&store, key(1, 3), 2).await, events(key(1, 3), 3..=4));
    store.forget_stream(key(1, 2));
    store.forget_stream(key(9, 9));
    store.forget_session(session(2));
    store.forget_session(session(9));
    assert_eq!(used(&store), cost(2, 8));
    store.forget_stream(key(1, 1));
    store.forget_stream(key(1, 3));
    assert_eq!(used(&store), 0);
    assert!(store.shard(session(1)).is_empty());
    assert!(store.shard(session(2)).is_empty());
}

#[tokio::test]
async fn new_events_of_a_forgotten_stream_are_evicted_after_older_events() {
    let store = MemoryEventStore::new().with_max_session_bytes(cost(2, 4));
    let (one, two) = (key(1, 1), key(1, 2));
    append(&store, one, 1..=2);
    append(&store, two, 1..=2);
    store.forget_stream(one);
    append(&store, one, 1..=2);
    append(&store, one, [3]);
    assert_eq!(replay(&store, one, 0).await, events(one, 1..=3));
    assert_eq!(replay(&store, two, 0).await, Replay::Gone);
    assert_eq!(replay(&store, two, 1).await, events(two, [2]));
}

#[tokio::test]
async fn streams_without_events_do_not_fill_the_session() {
    let store = MemoryEventStore::new().with_max_session_bytes(cost(8, 8));
    for number in 1..=1_000 {
        let stream = key(1, number);
        append(&store, stream, [1]);
        assert!(used(&store) <= cost(8, 8));
        assert_eq!(replay(&store, stream, 0).await, events(stream, [1]));
    }
    for number in 1..=990 {
        assert_eq!(
            replay(&store, key(1, number), 0).await,
            Replay::Gone,
            "{number}"
        );
    }
    let next = key(1, 1_001);
    assert_eq!(replay(&store, next, 0).await, events(next, []));
    store.forget_session(session(1));
    assert_eq!(used(&store), 0);
}

#[tokio::test(start_paused = true)]
async fn streams_without_events_expire_after_the_retention() {
    let store = MemoryEventStore::new().with_max_session_bytes(cost(2, 1));
    let (one, two) = (key(1, 1), key(1, 2));
    append(&store, one, [1]);
    advance(Duration::from_secs(299)).await;
    append(&store, two, [1]);
    store.expire(Instant::now());
    assert_eq!(replay(&store, one, 1).await, events(one, []));
    advance(Duration::from_secs(1)).await;
    store.expire(Instant::now());
    assert_eq!(used(&store), cost(1, 1));
    assert_eq!(replay(&store, one, 0).await, Replay::Gone);
    append(&store, one, [2]);
    assert_eq!(replay(&store, one, 0).await, Replay::Gone);
    assert_eq!(replay(&store, one, 1).await, events(one, [2]));
    assert_eq!(replay(&store, two, 0).await, Replay::Gone);
}

#[tokio::test]
async fn skipped_sequence_numbers_never_give_an_incomplete_replay() {
    let store = MemoryEventStore::new();
    let one = key(1, 1);
    append(&store, one, [1, 2, 5, 6, 5, 0]);
    assert_eq!(replay(&store, one, 1).await, Replay::Gone);
    assert_eq!(replay(&store, one, 3).await, Replay::Gone);
    assert_eq!(replay(&store, one, 4).await, events(one, 5..=6));
    assert_eq!(used(&store), cost(1, 2));
    append(&store, one, [u64::MAX, u64::MAX]);
    assert_eq!(used(&store), cost(1, 1));
    store.append(one, 3, Bytes::from(vec![0; 11 << 20]));
    assert_eq!(replay(&store, one, 6).await, Replay::Gone);
    assert_eq!(used(&store), cost(1, 0));
}

#[test]
fn sessions_on_many_threads_share_one_total() {
    let store = Arc::new(MemoryEventStore::new().with_max_total_bytes(4 * cost(1, 20)));
    std::thread::scope(|scope| {
        for number in 0..4 {
            let store = Arc::clone(&store);
            scope.spawn(move || {
                for sequence in 1..=2_000 {
                    append(&store, key(number, 1), [sequence]);
                }
            });
        }
    });
    assert!(used(&store) <= 4 * (cost(1, 20) + SESSION_COST));
    (0..4).for_each(|number| store.forget_session(session(number)));
    assert_eq!(used(&store), 0);
}

#[test]
fn a_panic_under_the_lock_does_not_poison_the_store() {
    let store = MemoryEventStore::new();
    let one = key(1, 1);
    append(&store, one, [1]);
    std::thread::scope(|scope| {
        let holder = scope.spawn(|| {
            let _shard = store.shard(one.session);
            panic!("while the lock is held");
        });
        assert!(holder.join().is_err());
    });
    append(&store, one, [2]);
    assert_eq!(used(&store), cost(1, 2));
}

#[test]
fn debug_output_does_not_contain_events() {
    let store = MemoryEventStore::new();
    append(&store, key(1, 1), [1]);
    let replay = events(key(1, 1), [1, 2]);
    let text = format!(
        "{store:?} {replay:?} {:?} {:?}",
        key(1, 1),
        Durability::Immediate
    );
    assert!(text.contains("Events(2)"), "{text}");
    assert!(text.contains("SessionId(..)"), "{text}");
    assert!(!text.contains("0101") && !text.contains("1/1/1"), "{text}");
}

#[test]
fn an_error_has_its_cause_as_source() {
    let error = EventStoreError::new("the database is away").with_source("refused");
    assert_eq!(error.to_string(), "the database is away");
    assert_eq!(error.source().unwrap().to_string(), "refused");
    assert!(EventStoreError::new("x").source().is_none());
}
