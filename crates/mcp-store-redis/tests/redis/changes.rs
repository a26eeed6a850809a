//! Change notifications: at all processes, and after disconnections.

use std::time::Duration;

use mcp_server::{Change, ChangeBus as _};
use mcp_store_redis::RedisChangeBus;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::process::{LIMIT, Redis, command, url_of};

const APPEND_ONLY: &[&str] = &["--appendonly", "yes", "--appendfsync", "always"];
const LISTS: [Change; 3] = [Change::Tools, Change::Prompts, Change::Resources];

/// Receives the changes of a bus.
pub(crate) fn receiver(bus: &RedisChangeBus) -> mpsc::Receiver<Change> {
    let (sender, receiver) = mpsc::channel(10_000);
    bus.receive(move |change| sender.try_send(change.clone()).unwrap());
    receiver
}

/// Publishes a change until it is received, because receivers begin at some time after they were started.
pub(crate) async fn publish_until_received(
    change: &Change,
    bus: &RedisChangeBus,
    receiver: &mut mpsc::Receiver<Change>,
) {
    let received = async {
        loop {
            bus.publish(change.clone());
            let found = timeout(Duration::from_millis(100), receiver.recv()).await;
            if found.is_ok_and(|found| found.as_ref() == Some(change)) {
                break;
            }
        }
    };
    timeout(LIMIT, received).await.unwrap();
}

/// Receives the next changes, without those that are equal to `not`.
async fn next<const N: usize>(receiver: &mut mpsc::Receiver<Change>, not: &Change) -> [Change; N] {
    let mut found = Vec::new();
    while found.len() < N {
        let change = timeout(LIMIT, receiver.recv()).await.unwrap().unwrap();
        if change != *not {
            found.push(change);
        }
    }
    found.try_into().unwrap()
}

fn resource(uri: &str) -> Change {
    Change::Resource(uri.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_reach_all_processes_even_after_a_lost_connection() {
    let Some(mut redis) = Redis::start("changes", APPEND_ONLY).await else {
        return;
    };
    let (one, two) = (
        redis.redis().await.change_bus(),
        redis.redis().await.change_bus(),
    );
    let mut received = [receiver(&one), receiver(&two)];
    let [tools, prompts, resources] = LISTS;
    let odd = resource("x:a b\n\0é");
    let addressed = odd.clone().only_for("alice é");
    let changes = [tools, prompts, resources, odd, addressed];
    for (change, bus) in changes.iter().zip([&one, &two, &one, &two, &one]) {
        for receiver in &mut received {
            publish_until_received(change, bus, receiver).await;
        }
    }
    redis.kill().await;
    assert!(redis.run().await);
    for receiver in &mut received {
        publish_until_received(&Change::Tools, &two, receiver).await;
    }
}

/// Changes the stream of changes while the receivers cannot reach Redis.
async fn change_unseen(redis: &mut Redis, commands: &[&[&str]]) {
    redis.kill().await;
    let hidden = redis.socket().with_extension("hidden");
    assert!(redis.run_at(&hidden).await);
    for words in commands {
        let _: redis::Value = command(&url_of(&hidden), words).await.unwrap();
    }
    redis.kill().await;
    assert!(redis.run().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_that_were_missed_are_received_later_and_once() {
    let Some(mut redis) = Redis::start("missed", APPEND_ONLY).await else {
        return;
    };
    let bus = redis.redis().await.change_bus();
    let mut changes = receiver(&bus);
    let first = resource("x:first");
    publish_until_received(&first, &bus, &mut changes).await;
    let add = |uri| ["XADD", "mcp:changes", "*", "c", uri];
    let missed = [add("resource x:2"), add("tools"), add("resource x:3")];
    change_unseen(&mut redis, &[&missed[0], &missed[1], &missed[2]]).await;
    let found: [Change; 3] = next(&mut changes, &first).await;
    assert_eq!(found, [resource("x:2"), Change::Tools, resource("x:3")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_missed_changes_all_lists_are_treated_as_changed() {
    let Some(mut redis) = Redis::start("gap", APPEND_ONLY).await else {
        return;
    };
    let bus = redis.redis().await.change_bus();
    let mut changes = receiver(&bus);
    let first = resource("x:first");
    publish_until_received(&first, &bus, &mut changes).await;
    let trim = ["XTRIM", "mcp:changes", "MAXLEN", "0"];
    let add = ["XADD", "mcp:changes", "*", "c", "resource x:2"];
    change_unseen(&mut redis, &[&trim, &add]).await;
    let [tools, prompts, resources, last] = next(&mut changes, &first).await;
    assert_eq!([tools, prompts, resources], LISTS);
    assert_eq!(last, resource("x:2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_redis_restart_without_a_file_all_lists_are_treated_as_changed() {
    let Some(mut redis) = Redis::start("forgotten", &[]).await else {
        return;
    };
    let bus = redis.redis().await.change_bus();
    let mut changes = receiver(&bus);
    let first = resource("x:first");
    publish_until_received(&first, &bus, &mut changes).await;
    redis.kill().await;
    assert!(redis.run().await);
    assert_eq!(next(&mut changes, &first).await, LISTS);
    publish_until_received(&resource("x:2"), &bus, &mut changes).await;
}
