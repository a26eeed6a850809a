//! Stateless servers that are programs: each connection has a separate process with separate memory.

use mcp_gateway::{Gateway, Sharing, Upstream};
use mcp_host::StderrLog;
use mcp_server::{Change, ServerBuilder};
use mcp_tests::http::Peer as HttpPeer;
use mcp_types::ResourceContents;

use crate::prelude::*;

/// A server with notes in its memory.
fn notes() -> ServerBuilder {
    let notes = Arc::<Mutex<Vec<String>>>::default();
    let (read, added) = (Arc::clone(&notes), notes);
    Server::builder("notes", "1")
        .tool(Tool::new(
            "add",
            move |Args(note): Args<JsonObject>, cx: Ctx| {
                let note = note["note"].as_str().unwrap().to_owned();
                cx.changed(Change::Resource(format!("notes://{note}")));
                added.lock().unwrap().push(note);
                "added"
            },
        ))
        .tool(Tool::new("list", move || {
            format!("[{}]", read.lock().unwrap().join(","))
        }))
        .resource(Resource::new("notes://{note}", "a note", async || {
            ResourceContents::text("notes://a", "a note")
        }))
}

/// Returns settings for the server, and the counter of its started processes.
fn program(sharing: Sharing) -> (Upstream, Arc<AtomicUsize>) {
    let started = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&started);
    let connector = move |_: &StderrLog| {
        count.fetch_add(1, Ordering::AcqRel);
        Ok(mcp_transport_stdio::in_memory(notes().build().unwrap()))
    };
    let upstream = Upstream::new("notes", connector)
        .sharing(sharing)
        .negotiation(Revision::LATEST, Negotiation::Stateless);
    (upstream, started)
}

async fn endpoint(upstream: Upstream) -> Endpoint {
    let gateway = Gateway::builder().mount("m", upstream).build().await;
    Endpoint::new(gateway.unwrap()).unwrap()
}

fn stateless(endpoint: &Endpoint, user: Option<&str>) -> StatelessPeer {
    let mut client = StatelessPeer::new(endpoint);
    client.peer.principal = user.map(Principal::new);
    client
}

async fn in_session(endpoint: &Endpoint, user: &str) -> HttpPeer {
    let mut peer = HttpPeer::new(endpoint);
    peer.principal = Some(Principal::new(user));
    peer.handshake("2025-11-25", json!({})).await;
    peer
}

async fn add(client: &StatelessPeer, note: &str) {
    let added = client.tool(1, "m__add", json!({ "note": note })).await;
    assert_eq!(added.said().await, "added");
}

async fn list(client: &StatelessPeer) -> String {
    client.tool(1, "m__list", json!({})).await.said().await
}

#[tokio::test]
async fn users_do_not_share_the_memory_of_a_program() {
    let (upstream, _) = program(Sharing::Principal);
    let endpoint = endpoint(upstream).await;
    let (ada, bob) = (
        stateless(&endpoint, Some("ada")),
        stateless(&endpoint, Some("bob")),
    );
    add(&ada, "hers").await;
    add(&bob, "his").await;
    assert_eq!(
        (list(&ada).await, list(&bob).await),
        ("[hers]".to_owned(), "[his]".to_owned())
    );
    // All clients of a user use the same program, also those with sessions.
    for (user, expected) in [("ada", "[hers]"), ("bob", "[his]"), ("eve", "[]")] {
        let session = in_session(&endpoint, user).await;
        let listed = session.tool(1, "m__list", json!({})).await;
        assert_eq!(listed.said().await, expected);
        let tools = session.ask("tools/list", json!({})).await;
        assert_eq!(
            tools["result"]["tools"].as_array().unwrap().len(),
            2,
            "{tools}"
        );
    }
}

/// Two programs of one user would each have a part of what the user has stored.
#[tokio::test]
async fn concurrent_requests_of_a_user_start_one_program() {
    let (upstream, started) = program(Sharing::Principal);
    let endpoint = endpoint(upstream).await;
    let before = started.load(Ordering::Acquire);
    let ada = stateless(&endpoint, Some("ada"));
    let mut adding = tokio::task::JoinSet::new();
    for note in ["a", "b", "c", "d"] {
        let ada = ada.clone();
        adding.spawn(async move { add(&ada, note).await });
    }
    adding.join_all().await;
    assert_eq!(started.load(Ordering::Acquire), before + 1);
    assert_eq!(list(&ada).await.len(), "[a,b,c,d]".len());
}

#[tokio::test]
async fn users_share_a_program_with_sharing_all() {
    let (upstream, started) = program(Sharing::All);
    let endpoint = endpoint(upstream).await;
    add(&stateless(&endpoint, Some("ada")), "hers").await;
    assert_eq!(list(&stateless(&endpoint, Some("bob"))).await, "[hers]");
    assert_eq!(list(&stateless(&endpoint, None)).await, "[hers]");
    assert_eq!(started.load(Ordering::Acquire), 1);
}

#[tokio::test]
async fn the_least_recently_used_program_makes_room_for_another_user() {
    let (upstream, started) = program(Sharing::Principal);
    let endpoint = endpoint(upstream.max_connections(2)).await;
    for user in ["ada", "bob", "eve"] {
        add(&stateless(&endpoint, Some(user)), user).await;
    }
    for (user, expected) in [("bob", "[bob]"), ("eve", "[eve]"), ("ada", "[]")] {
        assert_eq!(list(&stateless(&endpoint, Some(user))).await, expected);
    }
    // The program of the start, one program for each user, and ada's second program.
    assert_eq!(started.load(Ordering::Acquire), 5);
}

#[tokio::test]
async fn updates_of_a_program_reach_only_its_user() {
    let (upstream, _) = program(Sharing::Principal);
    let endpoint = endpoint(upstream).await;
    let uris = json!(["notes://hers", "notes://his"]);
    let filter = json!({ "notifications": { "resourceSubscriptions": uris } });
    let mut subscriptions = Vec::new();
    for user in ["ada", "bob"] {
        let client = stateless(&endpoint, Some(user));
        let mut subscription = client.call(1, "subscriptions/listen", filter.clone()).await;
        let accepted = subscription.message().await.unwrap();
        let accepted = &accepted["params"]["notifications"];
        assert_eq!(accepted["resourceSubscriptions"], uris, "{accepted}");
        subscriptions.push((client, subscription));
    }
    // The first update of each user is about the user's own note, although the other note was added before or at the same time.
    for ((client, _), note) in subscriptions.iter().zip(["hers", "his"]) {
        add(client, note).await;
    }
    for ((_, mut subscription), note) in subscriptions.into_iter().zip(["hers", "his"]) {
        let update = subscription.message().await.unwrap();
        assert_eq!(
            update["params"]["uri"],
            format!("notes://{note}"),
            "{update}"
        );
    }
}

/// The user loses what the program has in memory.
#[tokio::test(start_paused = true)]
async fn the_program_of_a_user_is_kept_for_half_an_hour_after_its_last_use() {
    let (upstream, started) = program(Sharing::Principal);
    let endpoint = endpoint(upstream).await;
    let ada = stateless(&endpoint, Some("ada"));
    add(&ada, "hers").await;
    let before = started.load(Ordering::Acquire);
    // sleep: the clock is paused
    tokio::time::sleep(Duration::from_secs(29 * 60)).await;
    assert_eq!(list(&ada).await, "[hers]");
    assert_eq!(started.load(Ordering::Acquire), before);
    tokio::time::sleep(Duration::from_secs(31 * 60)).await;
    assert_eq!(list(&ada).await, "[]");
}
