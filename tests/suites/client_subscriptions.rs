//! Subscriptions of clients in a session whose server does not answer `resources/unsubscribe`.

use mcp_client::Subscription;
use tokio::time::Instant;

use crate::peer::client;
use crate::prelude::*;

async fn pair() -> (PipeEnd, Client) {
    let resources = json!({ "resources": { "subscribe": true } });
    PipeEnd::accept(client(), "2025-11-25", resources).await
}

fn subscribe(client: &Client, uri: String) -> JoinHandle<Result<Subscription, Error>> {
    spawned(
        client,
        move |client| async move { client.subscribe(uri).await },
    )
}

/// Answers the next `resources/subscribe`, and no other request.
async fn accept(
    wire: &mut PipeEnd,
    subscribing: JoinHandle<Result<Subscription, Error>>,
) -> Subscription {
    loop {
        let request = wire.recv_patiently().await;
        if request["method"] == "resources/subscribe" {
            wire.answer(&request, json!({})).await;
            return subscribing.await.unwrap().unwrap();
        }
    }
}

/// A new subscription must not wait until the queue of subscriptions to end has room.
#[tokio::test(start_paused = true)]
async fn subscriptions_do_not_wait_until_other_subscriptions_have_ended() {
    let (mut wire, client) = pair().await;
    let mut open = Vec::new();
    for number in 0..600 {
        let uri = format!("test://{number}/{}", "x".repeat(8 << 10));
        let subscribing = subscribe(&client, uri);
        open.push(accept(&mut wire, subscribing).await);
    }
    drop(open);
    let began = Instant::now();
    let subscribing = subscribe(&client, "test://other".to_owned());
    accept(&mut wire, subscribing).await;
    assert!(
        began.elapsed() < Duration::from_secs(1),
        "{:?}",
        began.elapsed()
    );
}

/// A resource whose end is not confirmed is subscribed to again after a few seconds.
#[tokio::test(start_paused = true)]
async fn an_unanswered_unsubscribe_delays_a_new_subscription_to_its_resource_by_a_few_seconds() {
    for by_drop in [true, false] {
        let (mut wire, client) = pair().await;
        let subscribing = subscribe(&client, "test://a".to_owned());
        let first = accept(&mut wire, subscribing).await;
        let ending = async move {
            match by_drop {
                true => drop(first),
                false => drop(first.unsubscribe().await),
            }
        };
        let ending = tokio::spawn(ending);
        wire.next("resources/unsubscribe").await;
        let began = Instant::now();
        let subscribing = subscribe(&client, "test://a".to_owned());
        accept(&mut wire, subscribing).await;
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "{:?}",
            began.elapsed()
        );
        ending.abort();
    }
}
