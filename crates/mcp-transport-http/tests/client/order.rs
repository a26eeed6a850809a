//! What is said in order is heard in order.

use std::time::Duration;

use mcp_protocol::{Delivery, MuxLimits};
use mcp_types::method;
use serde_json::json;

use crate::support::*;

const HOUR: Duration = Duration::from_secs(3_600);

#[tokio::test(start_paused = true)]
async fn notifications_are_sent_one_after_the_other() {
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
        // The next one waits until this one is accepted.
        pair.server.is_left_alone_for(Duration::from_secs(1)).await;
        seen.accept();
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_does_not_overtake_what_was_said_before_it() {
    let mut pair = Pair::open(quiet()).await;
    pair.notify(method::NOTIFICATIONS_ROOTS_LIST_CHANGED);
    let call = pair.call(method::TOOLS_LIST);
    pair.notify("notifications/later");
    let seen = pair
        .server
        .expect(method::NOTIFICATIONS_ROOTS_LIST_CHANGED)
        .await;
    pair.server.is_left_alone_for(Duration::from_secs(1)).await;
    seen.accept();
    let mut both = [pair.server.next().await, pair.server.next().await];
    both.sort_by_key(|seen| seen.json()["method"].to_string());
    let [later, list] = both;
    // It does not wait for what was said after it.
    list.answer(&json!({}));
    result(call).await;
    later.accept();
}

#[tokio::test(start_paused = true)]
async fn a_notification_nobody_accepts_holds_calls_up_for_a_limited_time() {
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
async fn a_notification_that_broke_on_the_way_is_sent_once_more() {
    let mut pair = Pair::open(quiet()).await;
    pair.notify("notifications/test");
    drop(pair.server.expect("notifications/test").await);
    pair.server.expect("notifications/test").await.refuse();
    pair.server.is_left_alone_for(HOUR).await;
    // One that was refused is not sent again.
    pair.notify("notifications/test");
    pair.server.expect("notifications/test").await.status(400);
    pair.server.is_left_alone_for(HOUR).await;
    pair.headers_of(method::PING).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_answers_a_notification_with_a_stream_does_not_hold_it_up() {
    let mut pair = Pair::open(quiet()).await;
    pair.notify("notifications/test");
    let stream = pair.server.expect("notifications/test").await.stream();
    let began = tokio::time::Instant::now();
    pair.headers_of(method::PING).await;
    assert!(began.elapsed() <= Duration::from_secs(1));
    stream.abandoned().await;
}

#[tokio::test(start_paused = true)]
async fn what_may_be_lost_gives_way_when_too_much_waits() {
    let limits = MuxLimits::default().with_queue_bytes(1_000);
    let mut pair = Pair::open(quiet().with_limits(limits)).await;
    let big = format!("{{\"text\":\"{}\"}}", "x".repeat(400));
    let send = |name: &str, delivery| {
        pair.link
            .notify(name, Some(big.as_bytes()), delivery)
            .unwrap();
    };
    // The first is taken at once, so it does not wait.
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
    pair.server.is_left_alone_for(HOUR).await;
}
