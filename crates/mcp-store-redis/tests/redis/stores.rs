//! The rules of the stores, and their errors.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mcp_protocol::task::{Task, TaskCall, TaskOutcome, TaskStore as _, Timestamp};
use mcp_protocol::{Principal, Revision};
use mcp_store_redis::{RedisOptions, RedisSessionStore, RedisStore};
use mcp_transport_http::testing::{event_store_contract, session_store_contract};
use mcp_transport_http::{
    Durability, EndpointId, EventStore, Replay, SessionId, SessionLease, SessionRecord,
    SessionStore as _, SessionStoreErrorKind, StreamKey,
};
use rustix::process::Signal;
use tokio::time::timeout;

use crate::process::{LIMIT, Redis};

const BLUE: EndpointId = EndpointId::from_bytes([1; 16]);
const GREEN: EndpointId = EndpointId::from_bytes([2; 16]);

pub(crate) fn now() -> Timestamp {
    Timestamp::default().after(SystemTime::now().duration_since(UNIX_EPOCH).unwrap())
}

pub(crate) fn later() -> Timestamp {
    now().after(Duration::from_secs(600))
}

pub(crate) fn lease(number: u32) -> SessionLease {
    let mut id = [0; 32];
    id[..4].copy_from_slice(&number.to_be_bytes());
    SessionLease::first(SessionId::from_bytes(id), BLUE)
}

pub(crate) fn record(uri: &str) -> SessionRecord {
    let json = format!(
        r#"{{"format":1,"created":5,"event_tag":7,
        "state":{{"revision":"2025-11-25","subscriptions":["{uri}"],"is_open":true}}}}"#
    );
    SessionRecord::decode(json.as_bytes()).unwrap()
}

fn task(id: &str, owner: Option<&str>) -> Task {
    let arguments = mcp_jsonrpc::RawJson::copy("{}");
    let call = TaskCall::new("any", "target", arguments, Revision::LATEST);
    let minute = Some(Duration::from_secs(60));
    Task::new(id, owner.map(Principal::new), call, now(), minute)
}

pub(crate) fn key(number: u32) -> StreamKey {
    StreamKey::new(lease(number).session, 1)
}

pub(crate) async fn append(
    events: &impl EventStore,
    key: StreamKey,
    sequence: u64,
    length: usize,
) -> Result<(), String> {
    match events.append(key, sequence, vec![b'x'; length].into()) {
        Durability::Pending(stored) => {
            let stored = timeout(LIMIT, stored).await.unwrap();
            stored.map_err(|error| error.to_string())
        }
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn create(
    store: &RedisSessionStore,
    number: u32,
) -> Result<(), SessionStoreErrorKind> {
    let created = store
        .create(lease(number), record("a:1"), later(), now())
        .await;
    created.map_err(|error| error.kind())
}

pub(crate) async fn renew(
    store: &RedisSessionStore,
    number: u32,
) -> Result<(), SessionStoreErrorKind> {
    let renewed = timeout(LIMIT, store.renew(lease(number), later(), now())).await;
    renewed.unwrap().map_err(|error| error.kind())
}

/// Renews until Redis is available again.
pub(crate) async fn renewed(
    store: &RedisSessionStore,
    number: u32,
) -> Result<(), SessionStoreErrorKind> {
    let again = async {
        loop {
            match renew(store, number).await {
                Err(SessionStoreErrorKind::Unavailable) => tokio::task::yield_now().await,
                done => return done,
            }
        }
    };
    timeout(LIMIT, again).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_fulfils_the_contract_of_session_stores() {
    let Some(redis) = Redis::start("contract", &[]).await else {
        return;
    };
    session_store_contract(&redis.store().await).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_fulfils_the_contract_of_event_stores() {
    let Some(redis) = Redis::start("events", &[]).await else {
        return;
    };
    let events = redis.redis().await.event_store();
    event_store_contract(&events).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_and_too_long_events_are_not_kept() {
    let Some(redis) = Redis::start("limits", &[]).await else {
        return;
    };
    let events = redis.redis().await.event_store();
    let none = events.clone().with_retention(Duration::ZERO);
    let error = append(&none, key(4), 1, 10).await.unwrap_err();
    assert!(error.contains("had expired"), "{error}");
    // Long enough for a busy machine.
    let short = events.clone().with_retention(Duration::from_millis(500));
    append(&short, key(1), 1, 10).await.unwrap();
    // Redis removes the stream by its own clock.
    let expired = async {
        while events.replay(key(1), 0, usize::MAX).await.unwrap() != Replay::Events(Vec::new()) {
            tokio::task::yield_now().await;
        }
    };
    timeout(LIMIT, expired).await.unwrap();
    assert_eq!(
        events.replay(key(1), 1, usize::MAX).await.unwrap(),
        Replay::Gone
    );

    let few = events.clone().with_max_stream_events(10);
    for sequence in 1..=300 {
        append(&few, key(2), sequence, 10).await.unwrap();
    }
    assert_eq!(
        events.replay(key(2), 0, usize::MAX).await.unwrap(),
        Replay::Gone
    );
    let Replay::Events(kept) = events.replay(key(2), 290, usize::MAX).await.unwrap() else {
        panic!("the last events are gone");
    };
    assert_eq!(kept.len(), 10);

    let error = append(&events, key(3), 1, (1 << 20) + 1).await.unwrap_err();
    assert!(error.contains("with_max_event_bytes"), "{error}");
    let none = events.clone().with_max_queued_bytes(9);
    let error = append(&none, key(3), 1, 10).await.unwrap_err();
    assert!(error.contains("with_max_queued_bytes"), "{error}");
    assert_eq!(
        events.replay(key(3), 0, usize::MAX).await.unwrap(),
        Replay::Events(Vec::new())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_redis_does_not_store_is_reported_despite_later_events() {
    let Some(mut redis) = Redis::start("lost", &[]).await else {
        return;
    };
    let events = redis.redis().await.event_store();
    append(&events, key(1), 1, 10).await.unwrap();
    redis.kill().await;
    assert!(append(&events, key(1), 2, 10).await.is_err());
    assert!(events.replay(key(1), 0, usize::MAX).await.is_err());
    assert!(redis.run().await);
    let stored = async { while append(&events, key(1), 3, 10).await.is_err() {} };
    timeout(LIMIT, stored).await.unwrap();
    assert_eq!(
        events.replay(key(1), 0, usize::MAX).await.unwrap(),
        Replay::Gone
    );
    // The second event was stored with the third.
    let Replay::Events(kept) = events.replay(key(1), 1, usize::MAX).await.unwrap() else {
        panic!("the events after the lost one are gone");
    };
    assert_eq!(kept.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn stores_with_the_same_prefix_share_sessions() {
    let Some(redis) = Redis::start("shared", &[]).await else {
        return;
    };
    let (one, other) = (redis.store().await, redis.store().await);
    create(&one, 1).await.unwrap();
    let claimed = other.claim(lease(1).session, GREEN, now()).await.unwrap();
    assert_eq!(claimed, Some((lease(1).next(GREEN), record("a:1"))));
    assert_eq!(renew(&one, 1).await, Err(SessionStoreErrorKind::LeaseLost));

    let apart = redis.redis_with(RedisOptions::new().with_prefix("another:"));
    let apart = apart.await.session_store();
    assert_eq!(apart.load(lease(1).session, now()).await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_redis_with_an_append_only_file_keeps_the_sessions() {
    let settings = &["--appendonly", "yes", "--appendfsync", "always"];
    let Some(mut redis) = Redis::start("append", settings).await else {
        return;
    };
    let store = redis.store().await;
    create(&store, 1).await.unwrap();
    redis.kill().await;
    assert_eq!(
        renew(&store, 1).await,
        Err(SessionStoreErrorKind::Unavailable)
    );
    assert!(redis.run().await);
    renewed(&store, 1).await.unwrap();
    assert_eq!(
        store.load(lease(1).session, now()).await.unwrap(),
        Some(record("a:1"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_lost_if_a_redis_without_persistence_is_killed() {
    let Some(mut redis) = Redis::start("memory", &[]).await else {
        return;
    };
    let store = redis.store().await;
    create(&store, 1).await.unwrap();
    redis.kill().await;
    assert!(redis.run().await);
    assert_eq!(
        renewed(&store, 1).await,
        Err(SessionStoreErrorKind::LeaseLost)
    );
    assert_eq!(store.load(lease(1).session, now()).await.unwrap(), None);
    create(&store, 1).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_on_a_redis_without_responses_fail_in_time_and_recover() {
    let Some(redis) = Redis::start("stopped", &[]).await else {
        return;
    };
    let store = redis.store().await;
    create(&store, 1).await.unwrap();
    redis.signal(Signal::STOP);
    let began = std::time::Instant::now();
    assert_eq!(
        renew(&store, 1).await,
        Err(SessionStoreErrorKind::Unavailable)
    );
    let took = began.elapsed();
    redis.signal(Signal::CONT);
    assert!(took < Duration::from_secs(10), "{took:?}");
    renewed(&store, 1).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn at_maxmemory_new_sessions_are_rejected_and_open_sessions_continue() {
    let settings = &["--maxmemory", "8mb", "--maxmemory-policy", "noeviction"];
    let Some(redis) = Redis::start("full", settings).await else {
        return;
    };
    let store = redis.store().await;
    let long = record(&"x".repeat(100_000));
    let mut created = 0;
    let kind = loop {
        match store
            .create(lease(created), long.clone(), later(), now())
            .await
        {
            Ok(()) => created += 1,
            Err(error) => break error.kind(),
        }
        assert!(created < 1_000);
    };
    assert_eq!(kind, SessionStoreErrorKind::Full);
    assert!(created > 10, "{created}");
    for number in 0..created {
        renew(&store, number).await.unwrap();
    }
    let claimed = store.claim(lease(0).session, GREEN, now()).await.unwrap();
    assert_eq!(claimed, Some((lease(0).next(GREEN), long.clone())));
    // A removed session makes room.
    for number in 1..created {
        store.remove(lease(number), now()).await.unwrap();
    }
    create(&store, created).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_fulfils_the_contract_of_task_stores() {
    let Some(redis) = Redis::start("tasks", &[]).await else {
        return;
    };
    let number = std::sync::atomic::AtomicUsize::new(0);
    let mut stores = Vec::new();
    for store in 0..10 {
        let options = RedisOptions::new().with_prefix(format!("{store}:"));
        stores.push(redis.redis_with(options).await.task_store());
    }
    let fresh = || stores[number.fetch_add(1, std::sync::atomic::Ordering::Relaxed)].clone();
    mcp_protocol::task::contract::check(fresh).await.unwrap();

    let few = redis.redis().await.task_store().with_max_tasks(2);
    for id in ["a", "b"] {
        few.create(task(id, None)).await.unwrap();
    }
    let full = few.create(task("c", None)).await.unwrap_err();
    assert_eq!(full.to_string(), "the task store is full: 2 tasks");
    let own = few.with_max_tasks(10).with_max_tasks_per_owner(2);
    let full = own.create(task("c", None)).await.unwrap_err();
    assert_eq!(
        full.to_string(),
        "the task store is full: 2 tasks of one owner"
    );
    own.create(task("c", Some(""))).await.unwrap();
}

#[tokio::test]
async fn errors_do_not_contain_the_password() {
    for url in ["redis://user:secret@127.0.0.1:1", "nonsense://secret"] {
        let error = RedisStore::connect(url).await.unwrap_err();
        assert!(
            !format!("{error} {error:?}").contains("secret"),
            "{error:?}"
        );
    }
}

/// Another client of the same Redis can write any value.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_or_event_that_exceeds_the_limit_is_not_read() {
    let Some(redis) = Redis::start("large", &[]).await else {
        return;
    };
    let store = redis.store().await;
    create(&store, 1).await.unwrap();
    let session = lease(1).session;
    let text = |start: &str, rest: &[u8]| {
        let bytes = [start.as_bytes(), session.as_bytes(), rest].concat();
        String::from_utf8(bytes).unwrap()
    };
    let long = "x".repeat(SessionRecord::MAX_BYTES + 1);
    let words = ["HSET", &text("mcp:session:", &[]), "record", &long];
    redis.command::<()>(&words).await;
    let error = store.load(session, now()).await.unwrap_err();
    assert_eq!(error.kind(), SessionStoreErrorKind::Unreadable);
    assert!(error.to_string().contains("exceeds the limit"), "{error}");
    let events = redis.redis().await.event_store().with_max_event_bytes(9);
    let stream = text("mcp:events:", &1_u32.to_be_bytes());
    redis
        .command::<()>(&["XADD", &stream, "1-0", "e", "0123456789"])
        .await;
    let error = events.replay(key(1), 0, 1).await.unwrap_err();
    assert!(error.to_string().contains("exceeds the limit"), "{error}");
}

/// Previously, one client could fill Redis with large tasks.
#[tokio::test(flavor = "multi_thread")]
async fn the_size_of_all_tasks_is_limited() {
    let Some(redis) = Redis::start("bytes", &[]).await else {
        return;
    };
    let tasks = redis.redis().await.task_store().with_max_bytes(2_000);
    tasks.create(task("a", None)).await.unwrap();
    let mut large = tasks.get("a").await.unwrap().unwrap();
    large.set_message(&"x".repeat(1_000), now()).unwrap();
    let large = tasks.put(large).await.unwrap();
    let mut larger = large.clone();
    let json = mcp_jsonrpc::RawJson::copy(&format!("[\"{}\"]", "x".repeat(2_000)));
    let is_error = false;
    larger
        .end(TaskOutcome::Result { json, is_error }, now())
        .unwrap();
    let error = tasks.put(larger).await.unwrap_err();
    assert!(error.to_string().contains("2000 bytes"), "{error}");
    let mut created = 0;
    while tasks.create(task(&created.to_string(), None)).await.is_ok() {
        created += 1;
        assert!(created < 10, "more than 2,000 bytes");
    }
    assert!(created >= 1);
    // A task that is removed or becomes smaller makes room.
    let mut small = large.clone();
    small.set_message("", now()).unwrap();
    tasks.put(small).await.unwrap();
    tasks.create(task("b", None)).await.unwrap();
    for id in ["a", "b"] {
        assert!(tasks.remove(id).await.unwrap());
    }
    for number in 0..created {
        assert!(tasks.remove(&number.to_string()).await.unwrap());
    }
    assert_eq!(
        redis.command::<String>(&["GET", "{mcp:tasks}:bytes"]).await,
        "0"
    );
}
