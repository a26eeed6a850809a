//! Requests that end without a response: the client disconnects, the deadline passes, the server
//! closes.

use std::future::poll_fn;
use std::task::Poll;

use mcp_protocol::{Delivery, Payload, Reply};
use mcp_tests::http;
use mcp_types::PROGRESS_TOKEN_KEY;
use tokio::time::{Instant, advance};

use super::super::{Gate, pass, server};
use super::{Probe, permit_on_drop};
use crate::prelude::*;

/// A service whose handler never ends and adds a permit when it is dropped. It can send a
/// notification first.
fn stuck(speaks: bool, endless: bool) -> (Probe, Arc<Semaphore>) {
    let dropped = Arc::new(Semaphore::new(0));
    let gives = Arc::clone(&dropped);
    let probe = Probe::new(move |cx| {
        let exchange = cx.exchange().clone();
        let guard = permit_on_drop(&gives);
        if endless {
            exchange.set_endless();
        }
        Reply::Pending(Box::pin(async move {
            let _guard = guard;
            if speaks {
                let link = exchange.link();
                link.notify("notifications/x", None, Delivery::Lossy)
                    .unwrap();
            }
            std::future::pending().await
        }))
    });
    (probe, dropped)
}

/// Starts a call without a response and drops it.
async fn give_up(client: &StatelessPeer, id: u32) {
    let mut call = Box::pin(client.tool(id, "go", json!({})));
    let started = poll_fn(|cx| Poll::Ready(call.as_mut().poll(cx).is_pending())).await;
    assert!(started);
}

// proves: M-HTTP-028, M-HTTP-029, M-CANC-004
#[tokio::test(start_paused = true)]
async fn a_disconnect_before_the_response_cancels_the_call() {
    let (probe, dropped) = stuck(false, false);
    let endpoint = probe
        .endpoint_with(ServerOptions::new().with_request_limits(|limits| limits.max_in_flight = 1));
    let client = StatelessPeer::new(&endpoint);
    for id in 1..=3 {
        give_up(&client, id).await;
        assert_eq!(
            dropped.available_permits(),
            id as usize,
            "the handler is gone"
        );
        assert_eq!(endpoint.in_flight(), 0, "and its place is free");
    }
}

// proves: M-HTTP-028, M-HTTP-029, M-HTTP-030, M-CANC-004, M-CANC-013
#[tokio::test(start_paused = true)]
async fn a_disconnect_during_a_stream_cancels_the_call() {
    let (probe, dropped) = stuck(true, false);
    let endpoint = probe
        .endpoint_with(ServerOptions::new().with_request_limits(|limits| limits.max_in_flight = 1));
    let client = StatelessPeer::new(&endpoint);
    for id in 1..=3 {
        let mut reply = client.tool(id, "go", json!({})).await;
        assert!(reply.message().await.is_some());
        assert_eq!(endpoint.in_flight(), 1);
        let busy = client.tool("busy", "go", json!({})).await;
        assert_eq!(busy.status, 503);
        assert_eq!(busy.json().await["id"], "busy");
        drop(reply);
        assert_eq!(endpoint.in_flight(), 0, "its place is free at once");
        pass(&dropped).await;
    }
    // The same applies to a stream that the client has not begun to read.
    drop(client.tool(4, "go", json!({})).await);
    assert_eq!(endpoint.in_flight(), 0);
    pass(&dropped).await;
}

// proves: M-CANC-016
#[tokio::test(start_paused = true)]
async fn an_unread_response_leaves_nothing_behind() {
    let gate = Gate::new();
    let endpoint = Endpoint::new(server(&gate)).unwrap();
    let client = StatelessPeer::new(&endpoint).with_meta(PROGRESS_TOKEN_KEY, 1);
    let reply = client.tool(1, "steps", json!({"message": "x"})).await;
    gate.go.add_permits(3);
    while endpoint.in_flight() > 0 {
        tokio::task::yield_now().await;
    }
    drop(reply);
    assert_eq!(endpoint.in_flight(), 0);
    drop(client.tool(2, "quick", json!({"message": "x"})).await);
    assert_eq!(endpoint.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_request_has_until_its_deadline_as_json_and_as_a_stream() {
    for speaks in [false, true] {
        let (mut probe, dropped) = stuck(speaks, false);
        probe.deadline = Some(Duration::from_secs(40));
        let endpoint = probe.endpoint_with(
            ServerOptions::new()
                .with_streams(|streams| streams.keep_alive_interval = Duration::from_secs(60)),
        );
        let began = Instant::now();
        let reply = StatelessPeer::new(&endpoint).tool(1, "go", json!({})).await;
        let kind = if speaks {
            "text/event-stream"
        } else {
            "application/json"
        };
        assert_eq!(reply.kind(), kind);
        assert_eq!(reply.status, 200);
        let answer = reply.answer().await;
        assert_eq!(answer["error"]["code"], -32603, "{answer}");
        assert_eq!(began.elapsed(), Duration::from_secs(40));
        assert_eq!(dropped.available_permits(), 1);
        assert_eq!(endpoint.in_flight(), 0);
    }
}

// proves: M-HTTP-024
#[tokio::test(start_paused = true)]
async fn subscriptions_outlive_the_deadline() {
    let (mut probe, dropped) = stuck(true, true);
    probe.deadline = Some(Duration::from_secs(1));
    let options = ServerOptions::new()
        .with_request_limits(|limits| limits.max_in_flight = 1)
        .with_request_limits(|limits| limits.max_subscriptions = 1);
    let endpoint = probe.endpoint_with(options);
    let client = StatelessPeer::new(&endpoint);
    let mut reply = client.tool(1, "go", json!({})).await;
    assert!(reply.message().await.is_some());
    for _ in 0..10 {
        assert_eq!(reply.chunk().await.unwrap(), ":\n\n");
    }
    assert_eq!(dropped.available_permits(), 0);
    // A subscription does not use the capacity of requests and has a separate limit.
    assert_eq!((endpoint.in_flight(), endpoint.subscriptions()), (0, 1));
    let busy = client.tool(2, "go", json!({})).await;
    assert_eq!(busy.status, 503);
    let body = busy.json().await;
    assert!(
        body["error"]["message"]
            .as_str()
            .unwrap()
            .contains("max_subscriptions")
    );
    assert_eq!(dropped.available_permits(), 1, "the one that was refused");
    drop(reply);
    assert_eq!(endpoint.subscriptions(), 0);
}

// A handler that declares it only while it runs.
#[tokio::test(start_paused = true)]
async fn a_handler_can_remove_its_deadline_after_it_started() {
    let mut probe = Probe::new(|cx| {
        Reply::Pending(Box::pin(async move {
            // sleep: the clock is paused
            tokio::time::sleep(Duration::from_millis(500)).await;
            cx.exchange().set_endless();
            tokio::time::sleep(Duration::from_secs(100)).await;
            Ok(Payload::Empty)
        }))
    });
    probe.deadline = Some(Duration::from_secs(1));
    let endpoint = probe.endpoint();
    let reply = StatelessPeer::new(&endpoint).tool(1, "go", json!({})).await;
    assert_eq!(reply.kind(), "text/event-stream");
    assert_eq!(reply.answer().await["result"]["resultType"], "complete");
}

// proves: M-HTTP-066
#[tokio::test(start_paused = true)]
async fn a_closing_endpoint_ends_subscriptions_gracefully() {
    let endpoint = Endpoint::new(server(&Gate::new())).unwrap();
    let client = StatelessPeer::new(&endpoint);
    let filter = json!({"notifications": {"toolsListChanged": true}});
    let mut listen = client.call("l", "subscriptions/listen", filter).await;
    assert!(listen.message().await.is_some());
    assert_eq!((endpoint.in_flight(), endpoint.subscriptions()), (0, 1));
    let began = Instant::now();
    endpoint.close().await;
    assert_eq!(began.elapsed(), Duration::ZERO, "the endpoint did not wait");
    let last = listen.message().await.unwrap();
    assert_eq!(last["id"], "l");
    assert!(last["result"].is_object(), "{last}");
    assert_eq!(listen.message().await, None);
    let late = client.tool(1, "echo", json!({"message": "x"})).await;
    assert_eq!(late.status, 503);
}

#[tokio::test(start_paused = true)]
async fn an_unchecked_subscription_counts_as_a_subscription_and_has_a_deadline() {
    for admits in [true, false] {
        let admitted = Arc::new(Notify::new());
        let checked = Arc::clone(&admitted);
        let read = move || {
            let checked = Arc::clone(&checked);
            async move {
                checked.notified().await;
                "text"
            }
        };
        let server = Server::builder("s", "1")
            .resource(Resource::new("x:///a", "a", read))
            .deadline(Duration::from_secs(10));
        let endpoint = Endpoint::new(server.build().unwrap()).unwrap();
        let client = StatelessPeer::new(&endpoint);
        let filter = json!({"notifications": {"resourceSubscriptions": ["x:///a"]}});
        let mut listen = Box::pin(client.call("l", "subscriptions/listen", filter));
        let is_pending = poll_fn(|cx| Poll::Ready(listen.as_mut().poll(cx).is_pending())).await;
        assert!(is_pending);
        assert_eq!((endpoint.in_flight(), endpoint.subscriptions()), (0, 1));
        if admits {
            admitted.notify_one();
            let mut listen = listen.await;
            let acknowledged = listen.message().await.unwrap();
            assert_eq!(
                acknowledged["params"]["notifications"]["resourceSubscriptions"][0],
                "x:///a"
            );
            advance(Duration::from_secs(100)).await;
            assert_eq!((endpoint.in_flight(), endpoint.subscriptions()), (0, 1));
            drop(listen);
        } else {
            let began = Instant::now();
            let answer = listen.await.answer().await;
            assert_eq!(answer["error"]["code"], -32603, "{answer}");
            assert_eq!(began.elapsed(), Duration::from_secs(10));
        }
        assert_eq!((endpoint.in_flight(), endpoint.subscriptions()), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_closing_endpoint_waits_up_to_the_shutdown_timeout() {
    for (speaks, endless) in [(false, false), (true, false), (true, true)] {
        let (mut probe, dropped) = stuck(speaks, endless);
        let told = Arc::new(AtomicBool::new(false));
        let hears = Arc::clone(&told);
        probe.closing = Box::new(move || hears.store(true, Ordering::Release));
        let grace = Duration::from_secs(5);
        let endpoint = probe.endpoint_with(
            ServerOptions::new().with_timeouts(|timeouts| timeouts.shutdown = grace),
        );
        let client = StatelessPeer::new(&endpoint);
        let call = tokio::spawn(async move { client.tool(1, "go", json!({})).await });
        advance(Duration::from_millis(1)).await;
        let began = Instant::now();
        endpoint.close().await;
        assert_eq!(began.elapsed(), grace);
        assert!(told.load(Ordering::Acquire));
        let reply: http::Reply = call.await.unwrap();
        assert_eq!(reply.status, if speaks { 200 } else { 503 });
        let answer = reply.answer().await;
        assert_eq!(answer["error"]["code"], -32603, "{answer}");
        assert_eq!(answer["id"], 1);
        assert_eq!(dropped.available_permits(), 1);
        assert_eq!((endpoint.in_flight(), endpoint.subscriptions()), (0, 0));
    }
}
