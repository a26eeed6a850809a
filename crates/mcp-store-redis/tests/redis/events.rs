//! The limits of stored events, and replays.

use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use mcp_store_redis::RedisEventStore;
use mcp_transport_http::{Durability, EventStore, Replay, StreamKey};
use rustix::process::Signal;
use tokio::time::timeout;

use crate::process::{LIMIT, Redis};
use crate::stores::{append, key};

/// Returns how many events of a stream are stored after an event; `None` if some are gone.
async fn kept(events: &RedisEventStore, key: StreamKey, after: u64) -> Option<usize> {
    match events.replay(key, after, usize::MAX).await.unwrap() {
        Replay::Events(kept) => Some(kept.len()),
        _ => None,
    }
}

/// Another stream of the session of a key.
fn other(key: StreamKey, stream: u32) -> StreamKey {
    StreamKey::new(key.session, stream)
}

/// Previously, only the events of the standalone stream were removed, so that one client could fill Redis with the events of ended sessions.
#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_session_removes_all_its_events() {
    let Some(redis) = Redis::start("ended", &[]).await else {
        return;
    };
    let events = redis.redis().await.event_store();
    for stream in 0..50 {
        append(&events, other(key(1), stream), 1, 100)
            .await
            .unwrap();
    }
    append(&events, key(2), 1, 100).await.unwrap();
    events.forget_session(key(1).session);
    assert_eq!(kept(&events, key(1), 1).await, None);
    assert_eq!(redis.command::<usize>(&["DBSIZE"]).await, 1);
}

/// Previously, the events of a session or a process had no limit.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_loses_its_own_events_at_the_limits() {
    let Some(redis) = Redis::start("full", &[]).await else {
        return;
    };
    let events = redis.redis().await.event_store();
    let events = events
        .with_max_session_bytes(50_000)
        .with_max_total_bytes(100_000);
    for sequence in 1..=1_000 {
        append(&events, key(1), sequence, 1_000).await.unwrap();
    }
    assert_eq!(kept(&events, key(1), 0).await, None);
    assert_eq!(kept(&events, key(1), 970).await, Some(30));
    assert!(redis.command::<usize>(&["XLEN", &text(key(1))]).await < 45);
    // The other streams of the session make room first.
    append(&events, other(key(1), 2), 1, 32_000).await.unwrap();
    assert_eq!(kept(&events, key(1), 970).await, None);
    assert_eq!(kept(&events, other(key(1), 2), 0).await, Some(1));
    // The largest session makes room for others.
    append(&events, key(3), 1, 30_000).await.unwrap();
    append(&events, key(4), 1, 30_000).await.unwrap();
    assert_eq!(kept(&events, other(key(1), 2), 1).await, None);
    for session in [3, 4] {
        assert_eq!(kept(&events, key(session), 0).await, Some(1));
    }
}

/// The key of a stream in Redis, as the command `XLEN` takes it.
fn text(key: StreamKey) -> String {
    let stream = key.stream.to_be_bytes();
    let bytes = [b"mcp:events:", &key.session.as_bytes()[..], &stream].concat();
    String::from_utf8(bytes).unwrap()
}

/// Previously, the replays of one client delayed the events of all others, also if the client had left.
#[tokio::test]
async fn a_replay_for_a_disconnected_client_reads_no_events() {
    let Some(redis) = Redis::start("left", &[]).await else {
        return;
    };
    let events = redis.redis().await.event_store();
    append(&events, key(1), 1, 100).await.unwrap();
    for _ in 0..100 {
        let mut replay = events.replay(key(1), 0, 1_000);
        let polled = replay
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending());
    }
    timeout(LIMIT, append(&events, key(1), 2, 100))
        .await
        .unwrap()
        .unwrap();
    let statistics = redis.command::<String>(&["INFO", "commandstats"]).await;
    assert!(!statistics.contains("cmdstat_xrange"), "{statistics}");
    assert_eq!(kept(&events, key(1), 0).await, Some(2));
}

/// The endpoint that continues a session ends a call of a process that was killed.
#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_another_process_appends_removes_no_earlier_events() {
    let Some(redis) = Redis::start("continued", &[]).await else {
        return;
    };
    let ended = redis.redis().await.event_store();
    for sequence in 1..=6 {
        append(&ended, key(1), sequence, 100).await.unwrap();
    }
    let other = redis.redis().await.event_store();
    append(&other, key(1), 7, 100).await.unwrap();
    assert_eq!(kept(&other, key(1), 2).await, Some(5));
}

/// Previously, each batch of events waited for its own timeout; then, all of them were lost.
#[tokio::test(flavor = "multi_thread")]
async fn events_that_wait_for_a_redis_without_responses_are_stored_later() {
    let Some(redis) = Redis::start("hangs", &[]).await else {
        return;
    };
    let events = redis.redis().await.event_store();
    let events = events.with_max_stream_events(20_000);
    append(&events, key(1), 1, 10).await.unwrap();
    redis.signal(Signal::STOP);
    let start = Instant::now();
    let waiting: Vec<_> = (2..10_000)
        .map(|sequence| events.append(key(1), sequence, "event".into()))
        .collect();
    for durability in waiting {
        let Durability::Pending(stored) = durability else {
            panic!("{durability:?}");
        };
        assert!(stored.await.is_err());
    }
    // A batch has 256 events, and a timeout of half a second.
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "{:?}",
        start.elapsed()
    );
    redis.signal(Signal::CONT);
    all_stored(&events, 9_998).await;
}

/// Waits until a replay from the first event returns this number of events.
async fn all_stored(events: &RedisEventStore, count: usize) {
    let stored = async {
        while !matches!(
            events.replay(key(1), 1, usize::MAX).await,
            Ok(Replay::Events(kept)) if kept.len() == count
        ) {
            tokio::task::yield_now().await;
        }
    };
    timeout(LIMIT, stored).await.unwrap();
}

/// Previously, the events of each failed round trip were lost, so that the streams could not be resumed any more.
#[tokio::test(flavor = "multi_thread")]
async fn events_that_redis_refuses_for_a_moment_are_stored_later() {
    let Some(redis) = Redis::start("refuses", &[]).await else {
        return;
    };
    let events = redis.redis().await.event_store();
    append(&events, key(1), 1, 10).await.unwrap();
    redis.command::<()>(&["REPLICAOF", "127.0.0.1", "1"]).await;
    for sequence in 2..=20 {
        append(&events, key(1), sequence, 10).await.unwrap_err();
    }
    redis.command::<()>(&["REPLICAOF", "NO", "ONE"]).await;
    all_stored(&events, 19).await;
    redis
        .command::<()>(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"])
        .await;
    for sequence in 21..=40 {
        let _ = append(&events, key(1), sequence, 10).await;
    }
    all_stored(&events, 39).await;
}

/// Previously, a process that was only interrupted appended its response behind the error of the process that had ended the call.
#[tokio::test(flavor = "multi_thread")]
async fn no_event_is_stored_after_the_last_event_of_a_stream() {
    let Some(redis) = Redis::start("last", &[]).await else {
        return;
    };
    let interrupted = redis.redis().await.event_store();
    let events = redis.redis().await.event_store();
    for sequence in 1..=20 {
        append(&interrupted, key(1), sequence, 10).await.unwrap();
    }
    let append_last = async |sequence| match events.append_last(key(1), sequence, "last".into()) {
        Durability::Pending(stored) => stored.await.map_err(|error| error.to_string()),
        durability => panic!("{durability:?}"),
    };
    // The endpoint has stored more than this process has read.
    let error = append_last(20).await.unwrap_err();
    assert!(error.contains("CONTINUED"), "{error}");
    for _ in 0..2 {
        append_last(21).await.unwrap();
    }
    for sequence in 21..=30 {
        append(&interrupted, key(1), sequence, 10).await.unwrap();
    }
    // Whatever the client has received from the interrupted process.
    for (after, count) in [(3, 18), (20, 1), (21, 1), (30, 1)] {
        let replay = events.replay(key(1), after, usize::MAX).await.unwrap();
        let Replay::Ended(kept) = replay else {
            panic!("{after}: {replay:?}");
        };
        assert_eq!((kept.len(), &kept[count - 1][..]), (count, &b"last"[..]));
    }
    // In parts.
    let part = events.replay(key(1), 10, 40).await.unwrap();
    assert_eq!(part, Replay::Events(vec![vec![b'x'; 10].into(); 4]));
}
