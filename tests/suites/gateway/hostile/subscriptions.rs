//! Subscriptions of one client that take the room of others.

use super::resources::{listening, next_update, updated, with_resource};
use super::*;

/// Subscribes to resources; returns those that the gateway watches.
async fn watched(
    client: &StatelessPeer,
    id: i64,
    uris: &[String],
) -> (mcp_tests::http::Reply, Value) {
    let listen = json!({ "notifications": { "resourceSubscriptions": uris } });
    let mut reply = client.call(id, "subscriptions/listen", listen).await;
    let acknowledged = reply.event().await.unwrap().json();
    let filter = &acknowledged["params"]["notifications"];
    let watched = filter["resourceSubscriptions"].clone();
    (reply, watched)
}

/// A server limits the URIs of one subscription to 64 KiB, so the gateway must not put those of all clients into one.
#[tokio::test]
async fn the_resources_of_one_client_leave_others_their_subscriptions() {
    let proxy = Proxy::connect(upstream(files(), true)).await.unwrap();
    let endpoint = Endpoint::new(proxy).unwrap();
    let (first, other) = (at(&endpoint, "10.0.0.1:1"), at(&endpoint, "10.0.0.2:1"));
    let long = |number| format!("file:///{number}{}", "x".repeat(8_181));
    let uris: Vec<_> = (0..8).map(long).collect();
    let (_first, accepted) = watched(&first, 1, &uris).await;
    assert_eq!(accepted, json!(uris));
    let uris = ["file:///srv/something".to_owned()];
    let (_other, accepted) = watched(&other, 1, &uris).await;
    assert_eq!(accepted, json!(uris));
}

#[tokio::test]
async fn one_client_has_a_share_of_the_watched_resources() {
    let proxy = Proxy::connect(upstream(files(), true)).await.unwrap();
    let endpoint = Endpoint::new(proxy).unwrap();
    let (first, other) = (at(&endpoint, "10.0.0.1:1"), at(&endpoint, "10.0.0.2:1"));
    let uris = |number| -> Vec<_> {
        let uris = (0..64).map(|resource| format!("file:///{number}/{resource}"));
        uris.collect()
    };
    let mut open = Vec::new();
    for number in 0..16 {
        let (reply, accepted) = watched(&first, number, &uris(number)).await;
        assert_eq!(accepted.as_array().unwrap().len(), 64);
        open.push(reply);
    }
    let listen = json!({ "notifications": { "resourceSubscriptions": uris(16) } });
    let refused = first.call(16, "subscriptions/listen", listen).await;
    says(&refused.json().await, "1088 resources; the limit is 1024");
    let (_other, accepted) = watched(&other, 1, &uris(17)).await;
    assert_eq!(accepted, json!(uris(17)));
}

/// The sessions of a client count, too.
#[tokio::test]
async fn the_resources_of_sessions_count_against_the_share_of_their_client() {
    let proxy = Proxy::connect(upstream(files(), true)).await.unwrap();
    let endpoint = Endpoint::new(proxy).unwrap();
    let client = at(&endpoint, "10.0.0.1:1");
    let uris: Vec<_> = (0..64).map(|number| format!("file:///{number}")).collect();
    let mut open = Vec::new();
    for number in 0..16 {
        open.push(watched(&client, number, &uris).await);
    }
    let mut session = mcp_tests::http::Peer::new(&endpoint);
    session.address = Some("10.0.0.1:2".parse().unwrap());
    session.handshake("2025-11-25", json!({})).await;
    let subscribe = json!({ "uri": "file:///65" });
    let refused = session
        .call(1, "resources/subscribe", subscribe.clone())
        .await;
    says(&refused.json().await, "1025 resources; the limit is 1024");
    open.pop();
    for _ in 0..100_000 {
        let reply = session
            .call(2, "resources/subscribe", subscribe.clone())
            .await;
        if reply.json().await["result"].is_object() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("the resources of an ended subscription are still counted");
}

/// A subscription of a client must not keep the process of a removed server running.
#[tokio::test]
async fn a_removed_server_ends_although_a_client_watches_its_resources() {
    let (settings, mut servers) = Scripted::upstream();
    let building = tokio::spawn(Gateway::builder().mount("notes", settings).build());
    let mut server = with_resource(&mut servers, "notes://a").await;
    let gateway = building.await.unwrap().unwrap();
    let endpoint = Endpoint::new(gateway.clone()).unwrap();
    let client = at(&endpoint, "10.0.0.1:1");
    let mut client = listening(client, "notes://a", &mut server).await;
    assert!(gateway.unmount("notes"));
    server.drained().await;
    // The client reads the resource again, and learns that it is gone.
    assert_eq!(next_update(&mut client).await, "notes://a");
}

#[tokio::test]
async fn the_subscriptions_of_a_replaced_server_move_to_the_new_one() {
    let (settings, mut servers) = Scripted::upstream();
    let building = tokio::spawn(Gateway::builder().mount("notes", settings).build());
    let mut old = with_resource(&mut servers, "notes://a").await;
    let gateway = building.await.unwrap().unwrap();
    let endpoint = Endpoint::new(gateway.clone()).unwrap();
    let client = at(&endpoint, "10.0.0.1:1");
    let mut client = listening(client, "notes://a", &mut old).await;
    let (settings, mut servers) = Scripted::upstream();
    let mounting = tokio::spawn(async move { gateway.mount("notes", settings).await });
    let mut new = with_resource(&mut servers, "notes://a").await;
    mounting.await.unwrap().unwrap();
    let request = new.respond("resources/subscribe", json!({})).await;
    assert_eq!(request["params"]["uri"], "notes://a");
    old.drained().await;
    // It may be different at the new server.
    assert_eq!(next_update(&mut client).await, "notes://a");
    let name = "notifications/resources/updated";
    new.notify(name, updated("notes://a/part")).await;
    assert_eq!(next_update(&mut client).await, "notes://a/part");
}

/// The session of a client keeps its subscriptions to the resources of a stateless server.
#[tokio::test]
async fn a_session_learns_that_its_server_is_removed_and_can_subscribe_again() {
    let gateway = Gateway::builder().mount("files", upstream(files(), true));
    let gateway = gateway.build().await.unwrap();
    let client = connect_to(gateway.clone(), client(), false).await;
    let mut subscription = client.subscribe("file:///a").await.unwrap();
    assert!(gateway.unmount("files"));
    let changed = subscription.next().await;
    assert_eq!(changed.as_deref(), Some("file:///a"));
    let server = files().build().unwrap();
    let started = server.clone();
    let connector =
        move |_: &mcp_host::StderrLog| Ok(mcp_transport_stdio::in_memory(started.clone()));
    let settings = mcp_gateway::Upstream::new("files", connector)
        .negotiation(Revision::LATEST, Negotiation::Stateless);
    gateway.mount("files", settings).await.unwrap();
    let _again = client.subscribe("file:///a").await.unwrap();
    server.resources().updated("file:///a");
    let changed = subscription.next().await;
    assert_eq!(changed.as_deref(), Some("file:///a"));
}

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
    let session = async |address: &str| {
        let mut peer = mcp_tests::http::Peer::new(&endpoint);
        peer.address = Some(address.parse().unwrap());
        peer.handshake("2025-11-25", json!({})).await;
        peer
    };
    let listener = session("10.0.0.1:1").await;
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
        let other = session(&format!("10.0.0.{number}:1")).await;
        let answer = other.ask("tools/call", json!({ "name": "t" }));
        let served = async {
            let mut server = with_subscriptions(&mut servers).await;
            server.respond("tools/call", json!({ "content": [] })).await;
            server
        };
        let (answer, server) = tokio::join!(answer, served);
        assert!(answer["error"].is_null(), "{answer}");
        drop(server);
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
        let mut client = mcp_tests::http::Peer::new(&endpoint);
        client.address = Some("10.0.0.1:1".parse().unwrap());
        client.handshake("2025-11-25", json!({})).await;
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
        let call = self.client.ask("tools/call", json!({ "name": "t" }));
        let served = async {
            let mut own = with_subscriptions(&mut self.servers).await;
            own.respond("tools/call", json!({ "content": [] })).await;
            own
        };
        let (answer, own) = tokio::join!(call, served);
        assert!(answer["error"].is_null(), "{answer}");
        self.own = own;
    }
}

/// Previously, each call of a client could cause a thousand subscriptions if the server ended after each call.
#[tokio::test(start_paused = true)]
async fn subscriptions_that_are_lost_again_and_again_are_made_later_each_time() {
    let mut session = WatchingSession::of(&["notes://a"], 16).await;
    let mut waits = Vec::new();
    for _ in 0..4 {
        session.reconnect(1).await;
        let opened = tokio::time::Instant::now();
        session.own.respond("resources/subscribe", json!({})).await;
        waits.push(opened.elapsed());
        session.next_update().await;
    }
    assert!(
        waits.is_sorted_by(|before, after| *after >= 2 * *before),
        "{waits:?}"
    );
}

/// Previously, the client did not notice that a subscription was refused, and one without a response prevented all others.
#[tokio::test(start_paused = true)]
async fn a_session_learns_which_resources_its_next_connection_does_not_watch() {
    let mut session = WatchingSession::of(&["notes://a", "notes://b", "notes://c"], 16).await;
    session.reconnect(3).await;
    for _ in 0..3 {
        let request = session.own.recv().await;
        match request["params"]["uri"].as_str().unwrap() {
            "notes://a" => session.own.refuse(&request, -32000, "busy").await,
            "notes://b" => {}
            _ => session.own.answer(&request, json!({})).await,
        }
    }
    let mut updated = [session.next_update().await, session.next_update().await];
    updated.sort();
    assert_eq!(updated, ["notes://a", "notes://c"]);
    // After the timeout.
    assert_eq!(session.next_update().await, "notes://b");
}

/// Previously, connections of crashed programs counted as open, and live connections were closed instead.
#[tokio::test]
async fn an_ended_connection_makes_room_before_a_live_one() {
    // The shared connection is closed for that of a session.
    let mut session = WatchingSession::of(&["notes://a"], 2).await;
    let call = async |servers: &mut Scripted, address: &str| {
        let mut other = mcp_tests::http::Peer::new(&session.endpoint);
        other.address = Some(address.parse().unwrap());
        other.handshake("2025-11-25", json!({})).await;
        let answer = other.ask("tools/call", json!({ "name": "t" }));
        let served = async {
            let mut server = with_subscriptions(servers).await;
            server.respond("tools/call", json!({ "content": [] })).await;
            server
        };
        let (answer, server) = tokio::join!(answer, served);
        assert!(answer["error"].is_null(), "{answer}");
        (other, server)
    };
    let (live, mut server) = call(&mut session.servers, "10.0.0.2:1").await;
    session.own = PipeEnd::server().0;
    assert_eq!(
        session.updates.event().await.unwrap().json()["params"]["uri"],
        "notes://a"
    );
    let _third = call(&mut session.servers, "10.0.0.3:1").await;
    let answer = live.ask("tools/call", json!({ "name": "t" }));
    let served = server.respond("tools/call", json!({ "content": [] }));
    let (answer, _) = tokio::join!(answer, served);
    assert!(answer["error"].is_null(), "{answer}");
}

/// Previously, other clients could delay the updates of a session by a minute.
#[tokio::test(start_paused = true)]
async fn a_session_whose_connection_made_room_for_others_subscribes_soon() {
    // The shared connection is closed for that of a session.
    let mut session = WatchingSession::of(&["notes://a"], 1).await;
    for number in 2..8 {
        let mut other = mcp_tests::http::Peer::new(&session.endpoint);
        other.address = Some(format!("10.0.0.{number}:1").parse().unwrap());
        other.handshake("2025-11-25", json!({})).await;
        let answer = other.ask("tools/call", json!({ "name": "t" }));
        let served = async {
            let mut server = with_subscriptions(&mut session.servers).await;
            server.respond("tools/call", json!({ "content": [] })).await;
            server
        };
        let (answer, _server) = tokio::join!(answer, served);
        assert!(answer["error"].is_null(), "{answer}");
        session.next_update().await;
        session.call().await;
        let opened = tokio::time::Instant::now();
        session.own.respond("resources/subscribe", json!({})).await;
        assert!(opened.elapsed() <= Duration::from_secs(2));
        session.next_update().await;
    }
}
