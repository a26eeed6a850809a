//! Server requests.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{MuxLimits, Payload, Reply};
use mcp_transport_http::ClientOptions;
use mcp_types::method;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::support::*;

const HOUR: Duration = Duration::from_secs(3_600);

/// A pair with a stream for server requests.
async fn asking(options: ClientOptions, ear: (Ear, Notes)) -> (Pair, Stream) {
    let (wire, server) = wire();
    let pair = Pair::with(http(wire, options), server, ear).await;
    let mut pair = pair.opened(Some(SESSION)).await;
    let stream = pair.server.expect_get().await.stream();
    (pair, stream)
}

fn question(id: impl Into<Value>) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": "elicitation/create", "params": {}})
}

/// A handler that waits for a notification of the test.
fn waiting() -> (Ear, Notes, Arc<Notify>) {
    let told = Arc::new(Notify::new());
    let (ear, notes) = ear();
    let waits = Arc::clone(&told);
    let ear = ear.answering(move |_, _| {
        let told = Arc::clone(&waits);
        Reply::Pending(Box::pin(async move {
            told.notified().await;
            Ok(Payload::of("told"))
        }))
    });
    (ear, notes, told)
}

#[tokio::test(start_paused = true)]
async fn a_slow_handler_does_not_block_other_messages() {
    let (ear, notes, told) = waiting();
    let (mut pair, stream) = asking(quiet_but_listening(), (ear, notes)).await;
    stream.event("", &question("a")).await;
    stream
        .event("", &json!({"jsonrpc": "2.0", "method": "notifications/n"}))
        .await;
    assert!(matches!(
        pair.notes.next().await,
        ReceivedMessage::ServerRequest(_)
    ));
    assert!(matches!(
        pair.notes.next().await,
        ReceivedMessage::Notification(..)
    ));
    told.notify_one();
    let answer = pair.server.next().await;
    assert_eq!(
        answer.json(),
        json!({"jsonrpc": "2.0", "id": "a", "result": "told"})
    );
    assert_eq!(answer.header("mcp-session-id"), Some(SESSION));
    answer.accept();
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_server_request_is_not_answered() {
    let (ear, notes, told) = waiting();
    let (mut pair, stream) = asking(quiet_but_listening(), (ear, notes)).await;
    stream.event("", &question(1)).await;
    let params = json!({"requestId": 1, "reason": "too late"});
    let cancelled =
        json!({"jsonrpc": "2.0", "method": method::NOTIFICATIONS_CANCELLED, "params": params});
    stream.event("", &cancelled).await;
    settle().await;
    told.notify_one();
    pair.server.receives_nothing_for(HOUR).await;
    // Its id can be used again.
    stream.event("", &question(1)).await;
    told.notify_one();
    pair.server.next().await.accept();
}

#[tokio::test(start_paused = true)]
async fn a_duplicate_server_request_is_answered_once() {
    let (ear, notes, told) = waiting();
    let (mut pair, stream) = asking(quiet_but_listening(), (ear, notes)).await;
    stream.event("", &question(1)).await;
    stream.event("", &question(1)).await;
    settle().await;
    told.notify_one();
    pair.server.next().await.accept();
    pair.server.receives_nothing_for(HOUR).await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_timeout_is_answered_with_an_error() {
    let (ear, notes, _told) = waiting();
    let ear = ear.with_deadline(Duration::from_secs(9));
    let (mut pair, stream) = asking(quiet_but_listening(), (ear, notes)).await;
    stream.event("", &question(1)).await;
    let began = tokio::time::Instant::now();
    let answer = pair.server.next().await;
    assert_eq!(began.elapsed(), Duration::from_secs(9));
    assert_eq!(answer.json()["error"]["code"], -32603);
    answer.accept();
}

#[tokio::test]
async fn blocking_handlers_have_a_limited_number_of_threads() {
    let (release, blocked) = std::sync::mpsc::channel::<()>();
    let blocked = Arc::new(Mutex::new(blocked));
    let (ear, notes) = ear();
    let ear = ear.answering(move |_, _| {
        let blocked = Arc::clone(&blocked);
        Reply::Blocking(Box::new(move || {
            let _ = blocked.lock().unwrap().recv();
            Ok(Payload::Empty)
        }))
    });
    let options = quiet_but_listening().with_max_blocking_handlers(1);
    let (mut pair, stream) = asking(options, (ear, notes)).await;
    stream.event("", &question(1)).await;
    stream.event("", &question(2)).await;
    let refused = pair.server.next().await;
    assert_eq!(refused.json()["id"], 2);
    let message = refused.json()["error"]["message"].to_string();
    assert!(
        message.contains("ClientOptions::with_max_blocking_handlers"),
        "{message}"
    );
    refused.accept();
    release.send(()).unwrap();
    let answer = pair.server.next().await;
    assert_eq!(
        answer.json(),
        json!({"jsonrpc": "2.0", "id": 1, "result": {}})
    );
    answer.accept();
}

#[tokio::test(start_paused = true)]
async fn server_requests_above_the_limit_are_rejected_but_pings_are_not() {
    let (ear, notes, told) = waiting();
    let limits = MuxLimits::default().with_incoming(2);
    let options = quiet_but_listening().with_limits(limits);
    let (mut pair, stream) = asking(options, (ear, notes)).await;
    for id in 1..=3 {
        stream.event("", &question(id)).await;
    }
    let refused = pair.server.next().await;
    assert_eq!(refused.json()["id"], 3);
    assert_eq!(refused.json()["error"]["code"], -32603);
    // The response is not accepted yet, so one permit is left, then none.
    for id in 4..=9 {
        stream.event("", &question(id)).await;
    }
    let last = pair.server.next().await;
    assert_eq!(last.json()["id"], 4);
    settle().await;
    pair.server
        .receives_nothing_for(Duration::from_millis(1))
        .await;
    refused.accept();
    last.accept();
    settle().await;
    told.notify_waiters();
    let mut ids = Vec::new();
    for _ in 0..2 {
        let answer = pair.server.next().await;
        ids.push(answer.id());
        answer.accept();
    }
    assert_eq!(ids, [1, 2]);
    // All permits were released.
    settle().await;
    stream.event("", &question(10)).await;
    settle().await;
    told.notify_waiters();
    pair.server.next().await.accept();
}

#[tokio::test(start_paused = true)]
async fn a_malformed_server_request_is_rejected_with_its_id() {
    let (mut pair, stream) = asking(quiet_but_listening(), ear()).await;
    stream
        .event("", &json!({"jsonrpc": "2.0", "id": 7, "method": 5}))
        .await;
    let refused = pair.server.next().await;
    assert_eq!(refused.json()["id"], 7);
    assert_eq!(refused.json()["error"]["code"], -32600);
    refused.accept();
    // A message without an id is not answered.
    stream
        .event("", &json!({"jsonrpc": "2.0", "method": 5}))
        .await;
    stream.event("", &json!(["a", "b"])).await;
    pair.server.receives_nothing_for(HOUR).await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_can_return_an_error() {
    let (ear, notes) = ear();
    let ear =
        ear.answering(|request, _| Reply::error(ErrorObject::method_not_found(&request.method)));
    let (mut pair, stream) = asking(quiet_but_listening(), (ear, notes)).await;
    stream.event("", &question(1)).await;
    let refused = pair.server.next().await;
    assert_eq!(refused.json()["error"]["code"], -32601);
    refused.accept();
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_connection_ends_the_handlers() {
    let dropped = Arc::new(Notify::new());
    let (ear, notes) = ear();
    let tells = Arc::clone(&dropped);
    let asked = Arc::new(Mutex::new(None));
    let keeps = Arc::clone(&asked);
    let ear = ear.answering(move |_, exchange| {
        *keeps.lock().unwrap() = Some(exchange.clone());
        struct Tells(Arc<Notify>);
        impl Drop for Tells {
            fn drop(&mut self) {
                self.0.notify_one();
            }
        }
        let tells = Tells(Arc::clone(&tells));
        Reply::Pending(Box::pin(async move {
            std::future::pending::<()>().await;
            drop((tells, exchange));
            Ok(Payload::Empty)
        }))
    });
    let (mut pair, stream) = asking(quiet_but_listening(), (ear, notes)).await;
    stream.event("", &question(1)).await;
    settle().await;
    drop(pair.connection);
    dropped.notified().await;
    // Tasks of the handler can observe the cancellation.
    assert!(asked.lock().unwrap().take().unwrap().is_cancelled());
    let end = pair.server.next().await;
    assert_eq!(end.head.method, http::Method::DELETE);
    end.status(405);
    pair.server.receives_nothing_for(HOUR).await;
}
