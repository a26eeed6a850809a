//! Resources that the server does not acknowledge, or that end their stream, beside those of others.

use std::pin::pin;

use tokio::time::{Instant, sleep, timeout};

use super::connected;
use super::listen::{acknowledge, capabilities, end, filter, subscribe, subscribe_all, updated};
use crate::prelude::*;

/// The time in which others must have their subscriptions.
const SOON: Duration = Duration::from_secs(10);

/// Serves streams until a future completes: ignores those with `a:/silent`, ends those with `a:/ends`, and counts the others.
async fn serve<T>(wire: &mut PipeEnd, done: impl Future<Output = T>) -> (T, Vec<Value>) {
    let (mut done, mut open) = (pin!(done), Vec::new());
    loop {
        let message = tokio::select! {
            done = &mut done => return (done, open),
            message = wire.recv_patiently() => message,
        };
        if message["method"] != "subscriptions/listen" {
            continue;
        }
        let asked = filter(&message).to_string();
        if asked.contains("a:/silent") {
            continue;
        }
        acknowledge(wire, &message, filter(&message)).await;
        if asked.contains("a:/ends") {
            end(wire, &message).await;
        } else {
            open.push(message);
        }
    }
}

async fn pair() -> (PipeEnd, Client) {
    connected(super::client(), capabilities()).await
}

/// The other resources of the stream must not wait until the acknowledgement times out.
#[tokio::test(start_paused = true)]
async fn a_resource_that_is_not_acknowledged_does_not_stop_other_resources() {
    let (mut wire, client) = pair().await;
    let (first, _) = serve(&mut wire, subscribe(&client, "a:/1")).await;
    let mut first = first.unwrap().unwrap();
    for (silent, other) in [("a:/silent/1", "a:/2"), ("a:/silent/2", "a:/3")] {
        let silent = subscribe(&client, silent);
        let began = Instant::now();
        // The request with the silent resource is sent first.
        let later = async {
            sleep(Duration::from_millis(100)).await;
            subscribe(&client, other).await
        };
        let (subscribed, open) = serve(&mut wire, later).await;
        subscribed.unwrap().unwrap();
        assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
        let stream = open.last().unwrap();
        updated(&mut wire, stream, "a:/1").await;
        assert_eq!(first.next().await.as_deref(), Some("a:/1"));
        let (silent, _) = serve(&mut wire, silent).await;
        assert!(silent.unwrap().unwrap_err().is_timeout());
    }
}

#[tokio::test(start_paused = true)]
async fn a_resource_can_be_subscribed_although_another_is_never_acknowledged() {
    for leaves in [false, true] {
        let (mut wire, client) = pair().await;
        let silent = subscribe(&client, "a:/silent");
        let later = async {
            sleep(Duration::from_secs(20)).await;
            if leaves {
                silent.abort();
            }
            timeout(SOON, subscribe(&client, "a:/1")).await
        };
        let (subscribed, _) = serve(&mut wire, later).await;
        subscribed.expect("in time").unwrap().unwrap();
    }
}

/// A silent resource among new ones fails alone.
#[tokio::test(start_paused = true)]
async fn an_unacknowledged_resource_does_not_fail_other_resources_of_its_request() {
    let (mut wire, client) = pair().await;
    let uris = ["a:/1", "a:/silent", "a:/2"].map(str::to_owned);
    let mut all = subscribe_all(&client, uris);
    let silent = all.remove(1);
    let others = async {
        for other in all {
            timeout(SOON, other)
                .await
                .expect("in time")
                .unwrap()
                .unwrap();
        }
    };
    serve(&mut wire, others).await;
    let (silent, _) = serve(&mut wire, silent).await;
    assert!(silent.unwrap().is_err());
}

/// Only the resource that ends its stream is opened with growing delays.
#[tokio::test(start_paused = true)]
async fn a_resource_that_ends_its_stream_does_not_delay_other_resources() {
    let (mut wire, client) = pair().await;
    let (first, _) = serve(&mut wire, subscribe(&client, "a:/1")).await;
    let _first = first.unwrap().unwrap();
    let _ends = subscribe(&client, "a:/ends");
    let wait = sleep(Duration::from_secs(60));
    serve(&mut wire, wait).await;
    let mut open = Vec::new();
    for uri in ["a:/2", "a:/3", "a:/4"] {
        let began = Instant::now();
        let (subscribed, _) = serve(&mut wire, subscribe(&client, uri)).await;
        open.push(subscribed.unwrap().unwrap());
        assert!(began.elapsed() < Duration::from_secs(2), "{uri}: {began:?}");
        let wait = sleep(Duration::from_secs(5));
        let (_, streams) = serve(&mut wire, wait).await;
        assert!(streams.is_empty(), "{uri} is requested again");
    }
}

/// More resources than the client has streams.
#[tokio::test(start_paused = true)]
async fn resources_that_are_not_acknowledged_do_not_use_all_streams() {
    let (mut wire, client) = pair().await;
    let _silent = subscribe_all(
        &client,
        (0..600).map(|number| format!("a:/silent/{number}")),
    );
    let later = async {
        sleep(Duration::from_secs(20)).await;
        timeout(SOON, subscribe(&client, "a:/1")).await
    };
    let (subscribed, _) = serve(&mut wire, later).await;
    subscribed.expect("in time").unwrap().unwrap();
}
