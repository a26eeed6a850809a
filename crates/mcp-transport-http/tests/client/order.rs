//! The order of notifications and calls.

use std::time::Duration;

use mcp_protocol::{Delivery, MuxLimits};
use mcp_types::method;
use serde_json::json;

use crate::support::*;

const HOUR: Duration = Duration::from_secs(3_600);

#[tokio::test(start_paused = true)]
async fn notifications_are_sent_in_order() {
    let mut pair = Pair::open(quiet()).await;
    for n in 0..5 {
        let params = format!("{{\"n\":{n}}}");
        let params = Some(params.as_bytes());
        pair.link
            .notify("notifications/test", params, Delivery::Always)
            .unwrap();
    }
    for n in 0..5 {
        let seen = pair.server.next().await;
        assert_eq!(seen.json()["params"]["n"], n);
        // The next notification waits until this one is accepted.
        pair.server
            .receives_nothing_for(Duration::from_secs(1))
            .await;
        seen.accept();
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_does_not_overtake_earlier_notifications() {
    let mut pair = Pair::open(quiet()).await;
    pair.notify(method::NOTIFICATIONS_ROOTS_LIST_CHANGED);
    let call = pair.call(method::TOOLS_LIST);
    pair.notify("notifications/later");
    let seen = pair
        .server
        .expect(method::NOTIFICATIONS_ROOTS_LIST_CHANGED)
        .await;
    pair.server
        .receives_nothing_for(Duration::from_secs(1))
        .await;
    seen.accept();
    let mut both = [pair.server.next().await, pair.server.next().await];
    both.sort_by_key(|seen| seen.json()["method"].to_string());
    let [later, list] = both;
    // A call does not wait for later notifications.
    list.answer(&json!({}));
    result(call).await;
    later.accept();
}

#[tokio::test(start_paused = true)]
async fn a_blocked_notification_delays_calls_for_a_limited_time() {
    let limit = Duration::from_secs(7);
    let mut pair = Pair::open(quiet().with_delivery_timeout(limit)).await;
    pair.notify("notifications/test");
    let call = pair.call(method::PING);
    let stuck = pair.server.expect("notifications/test").await;
    let began = tokio::time::Instant::now();
    let seen = pair.server.expect(method::PING).await;
    assert_eq!(began.elapsed().as_secs(), 7);
    seen.answer(&json!({}));
    result(call).await;
    stuck.abandoned().await;
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_notification_is_sent_again_once() {
    let mut pair = Pair::open(quiet()).await;
    pair.notify("notifications/test");
    drop(pair.server.expect("notifications/test").await);
    pair.server.expect("notifications/test").await.refuse();
    pair.server.receives_nothing_for(HOUR).await;
    // A rejected notification is not sent again.
    pair.notify("notifications/test");
    pair.server.expect("notifications/test").await.status(400);
    pair.server.receives_nothing_for(HOUR).await;
    pair.headers_of(method::PING).await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_in_response_to_a_notification_does_not_block_the_queue() {
    let mut pair = Pair::open(quiet()).await;
    pair.notify("notifications/test");
    let stream = pair.server.expect("notifications/test").await.stream();
    let began = tokio::time::Instant::now();
    pair.headers_of(method::PING).await;
    assert!(began.elapsed() <= Duration::from_secs(1));
    stream.abandoned().await;
}

#[tokio::test(start_paused = true)]
async fn droppable_notifications_are_dropped_from_a_full_queue() {
    let limits = MuxLimits::default().with_queue_bytes(1_000);
    let mut pair = Pair::open(quiet().with_limits(limits)).await;
    let big = format!("{{\"text\":\"{}\"}}", "x".repeat(400));
    let send = |name: &str, delivery| {
        pair.link
            .notify(name, Some(big.as_bytes()), delivery)
            .unwrap();
    };
    // The first is sent at once and does not wait in the queue.
    send("notifications/first", Delivery::Always);
    settle().await;
    for _ in 0..10 {
        send("notifications/lossy", Delivery::Lossy);
    }
    for _ in 0..10 {
        send("notifications/always", Delivery::Always);
    }
    let mut names = Vec::new();
    for _ in 0..6 {
        let seen = pair.server.next().await;
        names.push(
            seen.json()["method"]
                .as_str()
                .unwrap()
                .rsplit('/')
                .next()
                .unwrap()
                .to_owned(),
        );
        seen.accept();
    }
    assert_eq!(
        names,
        ["first", "lossy", "lossy", "lossy", "always", "always"]
    );
    pair.server.receives_nothing_for(HOUR).await;
}
