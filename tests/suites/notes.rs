//! The example `notes`: no user learns anything about the notes of another user.

#[path = "../examples/notes.rs"]
mod example;

use mcp_client::{ChangedList, Subscription};
use mcp_types::ResourceTemplateReference;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::prelude::*;

/// Maximum time until a notification arrives.
const LIMIT: Duration = Duration::from_secs(30);

/// A connected client, and the list changes of which it was notified.
struct User {
    client: Client,
    changed: mpsc::Receiver<ChangedList>,
}

impl User {
    async fn connect(url: &str, token: &str, negotiation: Negotiation) -> Self {
        let (notify, changed) = mpsc::channel(64);
        let client = Client::builder("reader", "1")
            .negotiation(negotiation)
            .on_change(move |list| {
                let _ = notify.try_send(list);
            })
            .connect(HttpTransport::new(url).unwrap().bearer(token).unwrap())
            .await
            .unwrap();
        Self { client, changed }
    }

    async fn write(&self, name: &str, text: &str) {
        let written = called(
            &self.client,
            "write_note",
            json!({ "name": name, "text": text }),
        )
        .await;
        assert_eq!(written, format!("wrote {name}"));
    }

    async fn read(&self, name: &str) -> Result<String, Error> {
        let read = self.client.read_resource(format!("note:///{name}")).await?;
        Ok(serde_json::to_string(&read).unwrap())
    }

    /// Returns the list of resources and the completions for an empty name, as text.
    async fn listed(&self) -> String {
        let resources = self.client.list_resources().await.unwrap();
        let template = ResourceTemplateReference::new("note:///{name}");
        let completed = self.client.complete(template, "name", "").await.unwrap();
        serde_json::to_string(&(resources, completed)).unwrap()
    }
}

async fn within<T>(work: impl Future<Output = Option<T>>) -> T {
    timeout(LIMIT, work)
        .await
        .expect("in time")
        .expect("a notification")
}

async fn serve() -> String {
    let (listener, address) = listen().await;
    let (router, _) = example::router(address).unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}/mcp")
}

async fn users_learn_nothing_of_each_other(negotiation: Negotiation) {
    let url = serve().await;
    let connect = |token| User::connect(&url, token, negotiation);
    let mut laptop = connect("alice-on-a-laptop").await;
    let (mut phone, mut bob) = (
        connect("alice-on-a-phone").await,
        connect("bob-on-a-phone").await,
    );
    // Both users have a note `shopping`, with the same URI; only Alice has `diary`.
    bob.write("shopping", "Bob needs bread").await;
    laptop.write("shopping", "Alice needs apples").await;
    laptop.write("diary", "Alice likes Bob").await;

    let (hers, his) = (phone.listed().await, bob.listed().await);
    assert!(
        hers.contains("shopping") && hers.contains("diary"),
        "{hers}"
    );
    assert!(his.contains("shopping") && !his.contains("diary"), "{his}");
    assert!(phone.read("shopping").await.unwrap().contains("apples"));
    assert!(bob.read("shopping").await.unwrap().contains("bread"));
    let (hidden, unknown) = (bob.read("diary").await, bob.read("nothing").await);
    let [hidden, unknown] = [hidden, unknown].map(refused);
    let unnamed = |error: &ErrorObject, name| format!("{error:?}").replace(name, "x");
    assert_eq!(unnamed(&hidden, "diary"), unnamed(&unknown, "nothing"));
    let [hidden, unknown] =
        ["diary", "nothing"].map(|name| bob.client.subscribe(format!("note:///{name}")));
    let (hidden, unknown) = (hidden.await.unwrap_err(), unknown.await.unwrap_err());
    let unnamed = |error: &Error, name| format!("{error}").replace(name, "x");
    assert_eq!(unnamed(&hidden, "diary"), unnamed(&unknown, "nothing"));

    let mut of_alice = phone.client.subscribe("note:///shopping").await.unwrap();
    let mut of_bob = bob.client.subscribe("note:///shopping").await.unwrap();
    // The update of `last` arrives after all earlier notifications.
    bob.write("last", "1").await;
    let mut last = bob.client.subscribe("note:///last").await.unwrap();
    bob.write("last", "2").await;
    within(last.next()).await;
    while bob.changed.try_recv().is_ok() || has_next(&mut of_bob).await {}
    while phone.changed.try_recv().is_ok() || laptop.changed.try_recv().is_ok() {}
    laptop.write("shopping", "Alice needs plums").await;
    laptop.write("garden", "Alice has trees").await;
    assert_eq!(within(of_alice.next()).await, "note:///shopping");
    assert_eq!(within(phone.changed.recv()).await, ChangedList::Resources);
    assert_eq!(within(laptop.changed.recv()).await, ChangedList::Resources);
    bob.write("last", "3").await;
    within(last.next()).await;
    assert!(!has_next(&mut of_bob).await, "Bob's note did not change");
    assert!(bob.changed.try_recv().is_err(), "Bob's list did not change");
    bob.write("shopping", "Bob needs butter").await;
    assert_eq!(within(of_bob.next()).await, "note:///shopping");
}

/// Whether a notification of the subscription has arrived.
async fn has_next(subscription: &mut Subscription) -> bool {
    timeout(Duration::ZERO, subscription.next()).await.is_ok()
}

#[tokio::test]
async fn users_with_sessions_receive_no_data_of_each_other() {
    users_learn_nothing_of_each_other(Negotiation::SessionBased).await;
}

#[tokio::test]
async fn users_without_sessions_receive_no_data_of_each_other() {
    users_learn_nothing_of_each_other(Negotiation::Stateless).await;
}
