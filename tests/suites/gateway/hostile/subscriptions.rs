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
async fn the_resources_of_one_client_do_not_use_up_subscriptions_of_other_clients() {
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
async fn one_client_cannot_use_all_watched_resources() {
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
async fn resources_that_sessions_watch_count_against_the_limit_of_their_client() {
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
async fn subscriptions_move_from_a_replaced_server_to_the_new_server() {
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
async fn a_session_is_notified_when_its_server_is_removed_and_can_subscribe_again() {
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

/// A server that does not respond takes only the time of its own resources.
#[tokio::test(start_paused = true)]
async fn a_silent_server_does_not_delay_subscriptions_at_other_servers() {
    let read = async || std::future::pending::<String>().await;
    let silent = Server::builder("silent", "1")
        .resource(Resource::new("silent:///a", "a", read))
        .resource(Resource::new("silent:///b", "b", read));
    let good = Server::builder("good", "1").resource(Resource::text("good:///a", "a", "text"));
    let gateway = Gateway::builder()
        .mount("silent", upstream(silent, false))
        .mount("good", upstream(good, false));
    let mut peer = Peer::new(gateway.build().await.unwrap());
    let uris = ["silent:///a", "silent:///b", "good:///a"];
    let listen = json!({ "notifications": { "resourceSubscriptions": uris } });
    peer.request("subscriptions/listen", listen).await;
    let acknowledged = peer.wire.recv_patiently().await;
    let accepted = &acknowledged["params"]["notifications"]["resourceSubscriptions"];
    assert_eq!(accepted, &json!(["good:///a"]), "{acknowledged}");
}
