//! Subscriptions of sessions whose connection has ended.

use super::resources::{listening, next_update, with_resource};
use super::*;

/// Accepts the connection of a session, to a server with resources.
async fn with_subscriptions(servers: &mut Scripted) -> PipeEnd {
    let capabilities = json!({ "resources": { "subscribe": true }, "tools": {} });
    servers.accept_with(capabilities).await.0
}

/// Previously, the connection of a session that only waited for updates was closed to make room, and its updates ended without a message.
#[tokio::test]
async fn a_session_keeps_its_subscriptions_when_its_connection_is_closed() {
    let (settings, mut servers) = Scripted::upstream();
    let settings = settings.max_connections(3).max_connections_per_client(8);
    let connecting = tokio::spawn(Proxy::connect(settings));
    let mut shared = with_subscriptions(&mut servers).await;
    shared.respond("tools/list", json!({ "tools": [] })).await;
    let proxy = connecting.await.unwrap().unwrap();
    let endpoint = Endpoint::new(proxy).unwrap();
    let listener = session(&endpoint, "10.0.0.1:1").await;
    let mut updates = listener.get(None).await;
    let uri = json!({ "uri": "notes://a" });
    let subscribing = listener.ask("resources/subscribe", uri.clone());
    let accepting = async {
        let mut own = with_subscriptions(&mut servers).await;
        own.respond("resources/subscribe", json!({})).await;
        own
    };
    let (_, mut own) = tokio::join!(subscribing, accepting);
    // The connections of sessions that wait for nothing are closed first.
    for number in 2..6 {
        let other = session(&endpoint, &format!("10.0.0.{number}:1")).await;
        called(&other, &mut servers).await;
    }
    own.notify("notifications/resources/updated", uri.clone())
        .await;
    assert_eq!(updates.event().await.unwrap().json()["params"], uri);
    // When its connection has ended, the session reads the resource again. The next connection has its subscriptions.
    drop(own);
    assert_eq!(updates.event().await.unwrap().json()["params"], uri);
    let answer = listener.ask("tools/call", json!({ "name": "t" }));
    let served = async {
        let mut own = with_subscriptions(&mut servers).await;
        let first = own.recv().await;
        let second = own.recv().await;
        for request in [&first, &second] {
            own.answer(request, json!({ "content": [] })).await;
        }
        let mut methods = [&first["method"], &second["method"]];
        methods.sort_by_key(|method| method.to_string());
        assert_eq!(methods, ["resources/subscribe", "tools/call"]);
        own
    };
    let (answer, mut own) = tokio::join!(answer, served);
    assert!(answer["error"].is_null(), "{answer}");
    assert_eq!(updates.event().await.unwrap().json()["params"], uri);
    own.notify("notifications/resources/updated", uri.clone())
        .await;
    assert_eq!(updates.event().await.unwrap().json()["params"], uri);
}

/// A client of a proxy whose session watches resources of a scripted server.
struct WatchingSession {
    servers: Scripted,
    endpoint: Endpoint,
    client: mcp_tests::http::Peer,
    updates: mcp_tests::http::Reply,
    /// The shared connection, and that of the session.
    _shared: PipeEnd,
    own: PipeEnd,
}

impl WatchingSession {
    async fn of(uris: &[&str], max_connections: usize) -> Self {
        let (settings, mut servers) = Scripted::upstream();
        let settings = settings.max_connections(max_connections);
        let connecting = tokio::spawn(Proxy::connect(settings));
        let mut shared = with_subscriptions(&mut servers).await;
        shared.respond("tools/list", json!({ "tools": [] })).await;
        let proxy = connecting.await.unwrap().unwrap();
        let endpoint = Endpoint::new(proxy).unwrap();
        let client = session(&endpoint, "10.0.0.1:1").await;
        let updates = client.get(None).await;
        let subscribing = async {
            for uri in uris {
                let subscribed = client
                    .ask("resources/subscribe", json!({ "uri": uri }))
                    .await;
                assert!(subscribed["error"].is_null(), "{subscribed}");
            }
        };
        let accepting = async {
            let mut own = with_subscriptions(&mut servers).await;
            for _ in uris {
                own.respond("resources/subscribe", json!({})).await;
            }
            own
        };
        let ((), own) = tokio::join!(subscribing, accepting);
        Self {
            servers,
            endpoint,
            client,
            updates,
            _shared: shared,
            own,
        }
    }

    /// Returns the URI of the next update that the client receives.
    async fn next_update(&mut self) -> String {
        let event = self.updates.event().await.unwrap().json();
        event["params"]["uri"].as_str().unwrap().to_owned()
    }

    /// Ends the connection of the session, and calls a tool, for which the gateway opens another one.
    async fn reconnect(&mut self, watched: usize) {
        self.own = PipeEnd::server().0;
        for _ in 0..watched {
            self.next_update().await;
        }
        self.call().await;
    }

    async fn call(&mut self) {
        self.own = called(&self.client, &mut self.servers).await;
    }
}

/// Calls a tool, for which the gateway opens a connection. Returns its end at the server.
async fn called(client: &mcp_tests::http::Peer, servers: &mut Scripted) -> PipeEnd {
    let call = client.ask("tools/call", json!({ "name": "t" }));
    let served = async {
        let mut server = with_subscriptions(servers).await;
        server.respond("tools/call", json!({ "content": [] })).await;
        server
    };
    let (answer, server) = tokio::join!(call, served);
    assert!(answer["error"].is_null(), "{answer}");
    server
}

/// Opens a session for a client at this address.
async fn session(endpoint: &Endpoint, address: &str) -> mcp_tests::http::Peer {
    let mut peer = mcp_tests::http::Peer::new(endpoint);
    peer.address = Some(address.parse().unwrap());
    peer.handshake("2025-11-25", json!({})).await;
    peer
}

/// Previously, each call of a client could cause a thousand subscriptions if the server ended after each call.
#[tokio::test(start_paused = true)]
async fn repeatedly_lost_subscriptions_are_restored_with_growing_delays() {
    let mut watching = WatchingSession::of(&["notes://a"], 16).await;
    let mut waits = Vec::new();
    for _ in 0..4 {
        watching.reconnect(1).await;
        let opened = tokio::time::Instant::now();
        watching.own.respond("resources/subscribe", json!({})).await;
        waits.push(opened.elapsed());
        watching.next_update().await;
    }
    assert!(
        waits.is_sorted_by(|before, after| *after >= 2 * *before),
        "{waits:?}"
    );
}

/// Previously, the client did not notice that a subscription was refused, and one without a response prevented all others.
#[tokio::test(start_paused = true)]
async fn a_session_is_notified_of_resources_that_are_not_watched_after_a_reconnection() {
    let mut watching = WatchingSession::of(&["notes://a", "notes://b", "notes://c"], 16).await;
    watching.reconnect(3).await;
    for _ in 0..3 {
        let request = watching.own.recv().await;
        match request["params"]["uri"].as_str().unwrap() {
            "notes://a" => watching.own.refuse(&request, -32000, "busy").await,
            "notes://b" => {}
            _ => watching.own.answer(&request, json!({})).await,
        }
    }
    let mut updated = [watching.next_update().await, watching.next_update().await];
    updated.sort();
    assert_eq!(updated, ["notes://a", "notes://c"]);
    // After the timeout.
    assert_eq!(watching.next_update().await, "notes://b");
}

/// Previously, connections of crashed programs counted as open, and live connections were closed instead.
#[tokio::test]
async fn an_ended_connection_makes_room_before_an_open_connection() {
    // The shared connection is closed for that of a session.
    let mut watching = WatchingSession::of(&["notes://a"], 2).await;
    let live = session(&watching.endpoint, "10.0.0.2:1").await;
    let mut server = called(&live, &mut watching.servers).await;
    watching.own = PipeEnd::server().0;
    assert_eq!(watching.next_update().await, "notes://a");
    let third = session(&watching.endpoint, "10.0.0.3:1").await;
    let _third = called(&third, &mut watching.servers).await;
    serves(&live, &mut server).await;
}

/// Calls a tool, which this server must serve.
async fn serves(client: &mcp_tests::http::Peer, server: &mut PipeEnd) {
    let answer = client.ask("tools/call", json!({ "name": "t" }));
    let served = server.respond("tools/call", json!({ "content": [] }));
    let (answer, _) = tokio::join!(answer, served);
    assert!(answer["error"].is_null(), "{answer}");
}

/// Previously, only ended connections of sessions made room.
#[tokio::test]
async fn an_ended_shared_connection_makes_room_before_an_open_connection() {
    let (settings, mut servers) = Scripted::upstream();
    let building = Gateway::builder().mount("notes", settings.max_connections(2));
    let building = tokio::spawn(building.build());
    let mut shared = with_resource(&mut servers, "notes://a").await;
    let endpoint = Endpoint::new(building.await.unwrap().unwrap()).unwrap();
    let listener = at(&endpoint, "10.0.0.1:1");
    let mut listener = listening(listener, "notes://a", &mut shared).await;
    let live = session(&endpoint, "10.0.0.2:1").await;
    let call = live.ask("tools/call", json!({ "name": "notes__t" }));
    let served = async {
        let mut server = with_subscriptions(&mut servers).await;
        server.respond("tools/call", json!({ "content": [] })).await;
        server
    };
    let (_, mut server) = tokio::join!(call, served);
    drop(shared);
    let mut shared = with_resource(&mut servers, "notes://a").await;
    shared.respond("resources/subscribe", json!({})).await;
    assert_eq!(next_update(&mut listener).await, "notes://a");
    let answer = live.ask("tools/call", json!({ "name": "notes__t" }));
    let served = server.respond("tools/call", json!({ "content": [] }));
    let (answer, _) = tokio::join!(answer, served);
    assert!(answer["error"].is_null(), "{answer}");
}

/// Previously, other clients could delay the updates of a session by a minute; then they could cause all its subscriptions with each call.
#[tokio::test(start_paused = true)]
async fn a_session_whose_connection_was_closed_for_others_resubscribes_within_two_seconds() {
    // The shared connection is closed for that of a session.
    let mut watching = WatchingSession::of(&["notes://a"], 1).await;
    let mut waits = Vec::new();
    for number in 2..8 {
        let other = session(&watching.endpoint, &format!("10.0.0.{number}:1")).await;
        let _other = called(&other, &mut watching.servers).await;
        watching.next_update().await;
        watching.call().await;
        let opened = tokio::time::Instant::now();
        watching.own.respond("resources/subscribe", json!({})).await;
        waits.push(opened.elapsed());
        watching.next_update().await;
    }
    assert!(waits.is_sorted(), "{waits:?}");
    let last = waits.last().unwrap().as_secs_f32();
    assert!((1.5..=2.1).contains(&last), "{waits:?}");
}

/// Previously, the server got subscriptions that the client had ended.
#[tokio::test(start_paused = true)]
async fn a_subscription_that_ends_before_it_is_restored_is_not_restored() {
    let mut watching = WatchingSession::of(&["notes://a", "notes://b"], 16).await;
    watching.reconnect(2).await;
    let uri = json!({ "uri": "notes://b" });
    let ended = watching.client.ask("resources/unsubscribe", uri);
    let served = watching.own.respond("resources/unsubscribe", json!({}));
    let (ended, _) = tokio::join!(ended, served);
    assert!(ended["error"].is_null(), "{ended}");
    let request = watching.own.respond("resources/subscribe", json!({})).await;
    assert_eq!(request["params"]["uri"], "notes://a");
    assert_eq!(watching.next_update().await, "notes://a");
    serves(&watching.client, &mut watching.own).await;
}

/// Previously, subscriptions without a response kept the connection in use for up to a minute.
#[tokio::test(start_paused = true)]
async fn a_connection_with_unanswered_subscriptions_can_be_closed_to_make_room() {
    let mut watching = WatchingSession::of(&["notes://a"], 1).await;
    watching.reconnect(1).await;
    watching.own.expect("resources/subscribe").await;
    let asked = tokio::time::Instant::now();
    let other = session(&watching.endpoint, "10.0.0.2:1").await;
    let _other = called(&other, &mut watching.servers).await;
    assert!(
        asked.elapsed() <= Duration::from_secs(2),
        "{:?}",
        asked.elapsed()
    );
}
