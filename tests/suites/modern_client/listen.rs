//! Change notifications over a pipe.

use mcp_client::{ChangedList, Subscription};

use super::{claims, client, connected};
use crate::peer::listing;
use crate::prelude::*;
use crate::scripted::Notes;

pub(super) fn capabilities() -> Value {
    json!({ "tools": { "listChanged": true }, "prompts": {},
        "resources": { "subscribe": true, "listChanged": true } })
}

async fn pair(builder: ClientBuilder) -> (PipeEnd, Client) {
    connected(builder, capabilities()).await
}

fn telling(notes: &Notes) -> ClientBuilder {
    let notes = notes.clone();
    client().on_change(move |changed: ChangedList| notes.note(format!("{changed:?}")))
}

/// Returns the next request, which must be `subscriptions/listen`.
async fn listening(wire: &mut PipeEnd) -> Value {
    let request = wire.next("subscriptions/listen").await;
    claims(&request);
    request
}

pub(super) fn filter(request: &Value) -> &Value {
    &request["params"]["notifications"]
}

/// Sends a notification on the stream of a request.
async fn tell(wire: &mut PipeEnd, request: &Value, method: &str, mut params: Value) {
    params["_meta"] = json!({ "io.modelcontextprotocol/subscriptionId": request["id"] });
    wire.notify(method, params).await;
}

pub(super) async fn acknowledge(wire: &mut PipeEnd, request: &Value, honoured: &Value) {
    let method = "notifications/subscriptions/acknowledged";
    tell(wire, request, method, json!({ "notifications": honoured })).await;
}

/// Returns the next `subscriptions/listen`, acknowledged as requested.
async fn welcomed(wire: &mut PipeEnd) -> Value {
    let request = listening(wire).await;
    acknowledge(wire, &request, filter(&request)).await;
    request
}

async fn cancelled(wire: &mut PipeEnd, request: &Value) {
    let message = wire.next("notifications/cancelled").await;
    assert_eq!(message["params"]["requestId"], request["id"]);
}

pub(super) fn subscribe(
    client: &Client,
    uri: &'static str,
) -> JoinHandle<Result<Subscription, Error>> {
    spawned(client, |client| async move { client.subscribe(uri).await })
}

pub(super) async fn updated(wire: &mut PipeEnd, request: &Value, uri: &str) {
    let method = "notifications/resources/updated";
    tell(wire, request, method, json!({ "uri": uri })).await;
}

/// Waits until all earlier messages are processed.
async fn heard(wire: &mut PipeEnd, client: &Client) {
    let pinging = spawned(client, |client| async move { client.ping().await });
    super::welcome(wire, capabilities()).await;
    pinging.await.unwrap().unwrap();
}

// proves: M-SUB-002, M-SUB-003, M-SUB-008, M-SUB-010, M-STDIO-010
#[tokio::test(start_paused = true)]
async fn announced_changes_are_received_only_on_the_stream() {
    let notes = Notes::default();
    let (mut wire, client) = pair(telling(&notes)).await;
    let request = listening(&mut wire).await;
    let asked = json!({ "toolsListChanged": true, "resourcesListChanged": true });
    assert_eq!(*filter(&request), asked);
    let tools = "notifications/tools/list_changed";
    // Too early, without a stream, on another stream.
    tell(&mut wire, &request, tools, json!({})).await;
    let honoured = json!({ "toolsListChanged": true });
    acknowledge(&mut wire, &request, &honoured).await;
    wire.notify(tools, Value::Null).await;
    tell(&mut wire, &json!({ "id": 99 }), tools, json!({})).await;
    tell(&mut wire, &json!({ "id": "2" }), tools, json!({})).await;
    heard(&mut wire, &client).await;
    assert_eq!(notes.take(), [""; 0]);
    tell(&mut wire, &request, tools, json!({})).await;
    heard(&mut wire, &client).await;
    assert_eq!(notes.take(), ["Tools"]);
    let hears = client.subscribed_changes().unwrap();
    assert_eq!(serde_json::to_value(hears).unwrap(), honoured);
}

#[tokio::test(start_paused = true)]
async fn without_handlers_or_announced_changes_no_stream_is_opened() {
    let (mut wire, client) = pair(client()).await;
    heard(&mut wire, &client).await;
    let silent = json!({ "tools": {} });
    let (mut wire, client) = connected(telling(&Notes::default()), silent).await;
    heard(&mut wire, &client).await;
    assert_eq!(client.subscribed_changes(), None);
}

// proves: M-CACHE-019
#[tokio::test(start_paused = true)]
async fn a_change_invalidates_cached_results() {
    let (mut wire, client) = pair(telling(&Notes::default())).await;
    let stream = welcomed(&mut wire).await;
    for name in ["a", "b"] {
        let listing = listing(&client);
        let request = wire.recv_patiently().await;
        let tool = json!({ "name": name, "inputSchema": { "type": "object" } });
        let result = json!({ "tools": [tool], "ttlMs": 60_000, "cacheScope": "private" });
        wire.answer(&request, result).await;
        assert_eq!(listing.await.unwrap().unwrap()[0].name, name);
        tell(
            &mut wire,
            &stream,
            "notifications/tools/list_changed",
            json!({}),
        )
        .await;
        heard(&mut wire, &client).await;
    }
}

// proves: M-SUB-011, M-SUB-012
#[tokio::test(start_paused = true)]
async fn all_subscriptions_share_a_stream_that_is_replaced_when_they_change() {
    let (mut wire, client) = pair(client()).await;
    let first = subscribe(&client, "a:/1");
    let one = listening(&mut wire).await;
    assert_eq!(*filter(&one), json!({ "resourceSubscriptions": ["a:/1"] }));
    acknowledge(&mut wire, &one, filter(&one)).await;
    let mut first = first.await.unwrap().unwrap();

    let second = subscribe(&client, "a:/2");
    let two = listening(&mut wire).await;
    let both = json!({ "resourceSubscriptions": ["a:/1", "a:/2"] });
    assert_eq!(*filter(&two), both);
    // The old stream is used until the new one is open.
    updated(&mut wire, &one, "a:/1/part").await;
    assert_eq!(first.next().await.as_deref(), Some("a:/1/part"));
    acknowledge(&mut wire, &two, &both).await;
    let mut second = second.await.unwrap().unwrap();
    cancelled(&mut wire, &one).await;
    updated(&mut wire, &one, "a:/1").await;
    updated(&mut wire, &two, "a:/2").await;
    assert_eq!(second.next().await.as_deref(), Some("a:/2"));

    // A second subscription to the same resource needs no new stream.
    let third = subscribe(&client, "a:/2").await.unwrap().unwrap();
    second.unsubscribe().await.unwrap();
    heard(&mut wire, &client).await;
    drop(third);
    let three = welcomed(&mut wire).await;
    let expected = json!({ "resourceSubscriptions": ["a:/1"] });
    assert_eq!(*filter(&three), expected);
    cancelled(&mut wire, &two).await;
    drop(first);
    cancelled(&mut wire, &three).await;
    heard(&mut wire, &client).await;
}

#[tokio::test(start_paused = true)]
async fn an_unsupported_subscription_is_an_error() {
    let (mut wire, client) = pair(client()).await;
    let subscribing = subscribe(&client, "a:/1");
    let request = listening(&mut wire).await;
    acknowledge(&mut wire, &request, &json!({})).await;
    let error = subscribing.await.unwrap().unwrap_err();
    assert!(matches!(error, Error::NotSubscribed { .. }), "{error}");
    cancelled(&mut wire, &request).await;

    let subscribing = subscribe(&client, "a:/1");
    let request = listening(&mut wire).await;
    wire.refuse(&request, -32602, "no such resource").await;
    assert_eq!(refused(subscribing.await.unwrap()).code.0, -32602);

    let subscribing = subscribe(&client, "a:/1");
    let _silent = listening(&mut wire).await;
    let error = subscribing.await.unwrap().unwrap_err();
    assert!(error.is_timeout(), "{error}");

    let (_wire, client) = connected(super::client(), json!({ "resources": {} })).await;
    assert_fails!(client.subscribe("a:/1").await, Error::Unsupported { .. });
}

#[tokio::test(start_paused = true)]
async fn a_rejection_does_not_affect_other_subscriptions() {
    let (mut wire, client) = pair(client()).await;
    let first = subscribe(&client, "a:/1");
    let one = welcomed(&mut wire).await;
    let mut first = first.await.unwrap().unwrap();
    let second = subscribe(&client, "a:/2");
    let two = listening(&mut wire).await;
    wire.refuse(&two, -32602, "no such resource").await;
    second.await.unwrap().unwrap_err();
    updated(&mut wire, &one, "a:/1").await;
    assert_eq!(first.next().await.as_deref(), Some("a:/1"));
    // The open stream has what is still wanted.
    heard(&mut wire, &client).await;
    drop(first);
    cancelled(&mut wire, &one).await;
}

#[tokio::test(start_paused = true)]
async fn a_resource_that_a_restarted_server_rejects_ends_only_its_subscription() {
    let (mut wire, client) = pair(client()).await;
    let mut open = Vec::new();
    let subscribing = subscribe_all(&client, ["a:/1", "a:/2"].map(str::to_owned));
    let stream = welcomed(&mut wire).await;
    for subscribing in subscribing {
        open.push(subscribing.await.unwrap().unwrap());
    }
    end(&mut wire, &stream).await;
    for count in [2, 1] {
        let request = listening(&mut wire).await;
        assert_eq!(resources(&request).len(), count);
        wire.refuse(&request, -32602, "no such resource a:/1").await;
    }
    let stream = welcomed(&mut wire).await;
    assert_eq!(*resources(&stream), ["a:/2"]);
    assert_eq!(open[0].next().await, None);
    updated(&mut wire, &stream, "a:/2").await;
    assert_eq!(open[1].next().await.as_deref(), Some("a:/2"));
    let again = subscribe(&client, "a:/1");
    assert_eq!(resources(&welcomed(&mut wire).await).len(), 2);
    again.await.unwrap().unwrap();
}

/// Ends a stream as a server does that shuts down.
pub(super) async fn end(wire: &mut PipeEnd, stream: &Value) {
    let meta = json!({ "io.modelcontextprotocol/subscriptionId": stream["id"] });
    let result = json!({ "resultType": "complete", "_meta": meta });
    wire.answer(stream, result).await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_the_server_ends_is_opened_again() {
    for by_result in [true, false] {
        let (mut wire, client) = pair(client()).await;
        let subscribing = subscribe(&client, "a:/1");
        let stream = welcomed(&mut wire).await;
        let mut subscription = subscribing.await.unwrap().unwrap();
        if by_result {
            end(&mut wire, &stream).await;
        }
        let params = json!({ "requestId": stream["id"] });
        wire.notify("notifications/cancelled", params).await;
        if !by_result {
            cancelled(&mut wire, &stream).await;
        }
        let again = welcomed(&mut wire).await;
        assert_eq!(filter(&again), filter(&stream));
        updated(&mut wire, &again, "a:/1").await;
        assert_eq!(subscription.next().await.as_deref(), Some("a:/1"));
    }
}

#[tokio::test(start_paused = true)]
async fn streams_that_end_at_once_are_opened_with_growing_delays() {
    let (mut wire, _client) = pair(telling(&Notes::default())).await;
    let began = tokio::time::Instant::now();
    for _ in 0..40 {
        let stream = welcomed(&mut wire).await;
        end(&mut wire, &stream).await;
    }
    assert!(began.elapsed() > Duration::from_secs(120), "{began:?}");
}

#[tokio::test(start_paused = true)]
async fn the_end_of_change_notifications_is_reported() {
    let builder = |notes: &Notes| {
        let ended = notes.clone();
        telling(notes).on_changes_ended(move |reason| ended.note(format!("ended: {reason}")))
    };
    // The server rejects the stream.
    let notes = Notes::default();
    let (mut wire, client) = pair(builder(&notes)).await;
    let request = listening(&mut wire).await;
    wire.refuse(&request, -32601, "no such method").await;
    heard(&mut wire, &client).await;
    let reported = notes.take();
    assert!(reported[0].contains("no such method"), "{reported:?}");
    // The server never acknowledges a stream.
    let (mut wire, client) = pair(builder(&notes)).await;
    for _ in 0..17 {
        let request = listening(&mut wire).await;
        end(&mut wire, &request).await;
    }
    heard(&mut wire, &client).await;
    assert_eq!(notes.take(), ["ended: the server ended the subscription"]);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_connection_ends_all_streams() {
    let (mut wire, client) = pair(client()).await;
    let subscribing = subscribe(&client, "a:/1");
    welcomed(&mut wire).await;
    let mut subscription = subscribing.await.unwrap().unwrap();
    let waiting = subscribe(&client, "a:/2");
    listening(&mut wire).await;
    drop(wire);
    assert_eq!(subscription.next().await, None);
    assert_fails!(waiting.await.unwrap(), Error::NotSubscribed { .. });
}

/// Subscribes to resources at the same time.
pub(super) fn subscribe_all(
    client: &Client,
    uris: impl IntoIterator<Item = String>,
) -> Vec<JoinHandle<Result<Subscription, Error>>> {
    let uris = uris.into_iter();
    uris.map(|uri| spawned(client, |client| async move { client.subscribe(uri).await }))
        .collect()
}

fn resources(request: &Value) -> &Vec<Value> {
    filter(request)["resourceSubscriptions"].as_array().unwrap()
}

#[tokio::test(start_paused = true)]
async fn resources_are_spread_over_streams_of_limited_size() {
    let (mut wire, client) = pair(client()).await;
    let short = subscribe_all(&client, (0..32).map(|number| format!("a:/{number}")));
    let one = welcomed(&mut wire).await;
    assert_eq!(resources(&one).len(), 32);
    let mut open = Vec::new();
    for subscribing in short {
        open.push(subscribing.await.unwrap().unwrap());
    }
    // Two URIs of 8 KiB fit into a stream.
    let long = |number: u8| format!("b:/{number}{}", "x".repeat((8 << 10) - 4));
    for uris in [[long(0), long(1)], [long(2), "a:/last".to_owned()]] {
        let subscribing = subscribe_all(&client, uris.clone());
        let stream = welcomed(&mut wire).await;
        assert_eq!(resources(&stream).len(), 2);
        for subscribing in subscribing {
            open.push(subscribing.await.unwrap().unwrap());
        }
    }
    // Room in the first stream is used again.
    drop(open.remove(7));
    let smaller = welcomed(&mut wire).await;
    assert_eq!(resources(&smaller).len(), 31);
    cancelled(&mut wire, &one).await;
    let subscribing = subscribe(&client, "a:/again");
    let full = welcomed(&mut wire).await;
    assert_eq!(resources(&full).len(), 32);
    subscribing.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_rejected_resource_does_not_end_other_subscriptions() {
    let (mut wire, client) = pair(client()).await;
    let first = subscribe(&client, "a:/1");
    let one = welcomed(&mut wire).await;
    let mut first = first.await.unwrap().unwrap();
    let mut others = subscribe_all(&client, ["a:/2", "a:/3"].map(str::to_owned));
    for count in [3, 2] {
        let request = listening(&mut wire).await;
        assert_eq!(resources(&request).len(), count);
        wire.refuse(&request, -32602, "no such resource a:/2").await;
    }
    let request = welcomed(&mut wire).await;
    assert_eq!(*resources(&request), ["a:/1", "a:/3"]);
    let mut third = others.pop().unwrap().await.unwrap().unwrap();
    refused(others.pop().unwrap().await.unwrap());
    cancelled(&mut wire, &one).await;
    for (subscription, uri) in [(&mut first, "a:/1"), (&mut third, "a:/3")] {
        updated(&mut wire, &request, uri).await;
        assert_eq!(subscription.next().await.as_deref(), Some(uri));
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_after_a_rejection_is_opened_again() {
    let (mut wire, client) = pair(client()).await;
    let mut subscribing = subscribe_all(&client, ["a:/1", "a:/2"].map(str::to_owned));
    let both = welcomed(&mut wire).await;
    let second = subscribing.pop().unwrap().await.unwrap().unwrap();
    let mut first = subscribing.pop().unwrap().await.unwrap().unwrap();
    drop(second);
    let one = listening(&mut wire).await;
    wire.refuse(&one, -32000, "too many subscriptions").await;
    heard(&mut wire, &client).await;
    end(&mut wire, &both).await;
    let again = welcomed(&mut wire).await;
    updated(&mut wire, &again, "a:/1").await;
    first.next().await.unwrap();
}
