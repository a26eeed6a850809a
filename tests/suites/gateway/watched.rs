//! Subscriptions to changes through a gateway of one server.

use mcp_gateway::Proxy;
use mcp_protocol::IntoService;
use mcp_types::ResourceContents;

use super::Scripted;
use crate::peer::Peer;
use crate::prelude::*;

const MAX_RESOURCES: usize = 64;
const MAX_URI_BYTES: usize = 8 << 10;

/// A stateless server whose resources are all URIs that begin with `test://`.
fn server() -> Server {
    let resource = Resource::new("test://{+path}", "any", async || {
        ResourceContents::text("test://a", "text")
    });
    Server::builder("any", "1")
        .resource(resource)
        .build()
        .unwrap()
}

/// A gateway of this server.
async fn proxy(server: &Server) -> Proxy {
    let connected = server.clone();
    let connector =
        move |_: &mcp_host::StderrLog| Ok(mcp_transport_stdio::in_memory(connected.clone()));
    let settings = mcp_gateway::Upstream::new("any", connector)
        .negotiation(Revision::LATEST, Negotiation::Stateless);
    Proxy::connect(settings).await.unwrap()
}

fn uri(path: &str) -> Value {
    json!({ "uri": format!("test://{path}") })
}

/// Accepts a connection of the gateway to a server that notifies of changes of its tools.
async fn with_changes(servers: &mut Scripted) -> PipeEnd {
    let capabilities = json!({ "tools": { "listChanged": true } });
    let (mut shared, _) = servers.accept_with(capabilities).await;
    shared.respond("tools/list", json!({ "tools": [] })).await;
    shared
}

/// Without the connection, the client would wait for changes that nothing reports.
#[tokio::test(start_paused = true)]
async fn listening_for_list_changes_reconnects_a_lost_server_or_fails() {
    let (settings, mut servers, is_up) = Scripted::switched();
    let connecting = tokio::spawn(Proxy::connect(settings));
    let mut shared = with_changes(&mut servers).await;
    let mut peer = Peer::new(connecting.await.unwrap().unwrap());
    peer.request("tools/call", json!({ "name": "t" })).await;
    shared.expect("tools/call").await;
    is_up.store(false, Ordering::Release);
    drop(shared);
    says(&peer.wire.recv().await, "may have run");
    let listen = json!({ "notifications": { "toolsListChanged": true } });
    let refused = peer.answer("subscriptions/listen", listen.clone()).await;
    assert_eq!(refused["error"]["code"], -32603, "{refused}");
    is_up.store(true, Ordering::Release);
    peer.request("subscriptions/listen", listen).await;
    let mut shared = with_changes(&mut servers).await;
    let acknowledged = "notifications/subscriptions/acknowledged";
    let acknowledged = peer.wire.expect(acknowledged).await;
    let accepted = &acknowledged["params"]["notifications"];
    assert_eq!(accepted, &json!({ "toolsListChanged": true }));
    let name = "notifications/tools/list_changed";
    shared.notify(name, json!({})).await;
    shared.respond("tools/list", json!({ "tools": [] })).await;
    peer.wire.expect(name).await;
}

#[tokio::test]
async fn a_session_can_have_64_subscriptions_and_repeat_each_of_them() {
    let proxy = proxy(&server()).await;
    let mut peer = Peer::session(proxy, json!({})).await;
    for number in 0..MAX_RESOURCES {
        peer.call("resources/subscribe", uri(&number.to_string()))
            .await;
    }
    let error = peer.expect_error("resources/subscribe", uri("more"), -32603);
    says(&error.await, "has 64 subscriptions");
    peer.call("resources/subscribe", uri("0")).await;
    peer.call("resources/unsubscribe", uri("0")).await;
    peer.call("resources/subscribe", uri("more")).await;
}

#[tokio::test]
async fn a_session_receives_no_updates_of_a_resource_after_it_unsubscribes() {
    let server = server();
    let mut peer = Peer::session(proxy(&server).await, json!({})).await;
    for path in ["a", "b"] {
        peer.call("resources/subscribe", uri(path)).await;
    }
    // A subscription that the client repeats is still one subscription.
    peer.call("resources/subscribe", uri("a")).await;
    server.resources().updated("test://a");
    let updated = "notifications/resources/updated";
    assert_eq!(peer.wire.expect(updated).await["params"], uri("a"));
    peer.call("resources/unsubscribe", uri("a")).await;
    server.resources().updated("test://a");
    server.resources().updated("test://b");
    assert_eq!(peer.wire.expect(updated).await["params"], uri("b"));
}

#[tokio::test]
async fn the_uri_of_a_subscription_has_at_most_8192_bytes() {
    let proxy = proxy(&server()).await;
    let longest = "x".repeat(MAX_URI_BYTES - "test://".len());
    let longer = format!("{longest}x");
    let mut session = Peer::session(proxy.clone(), json!({})).await;
    session.call("resources/subscribe", uri(&longest)).await;
    let error = session.expect_error("resources/subscribe", uri(&longer), -32602);
    says(&error.await, "the limit is 8192");
    let mut peer = Peer::new(proxy);
    let listen = |path: &str| {
        let uris = [format!("test://{path}")];
        json!({ "notifications": { "resourceSubscriptions": uris } })
    };
    let error = peer.expect_error("subscriptions/listen", listen(&longer), -32602);
    says(&error.await, "the limit is 8192");
    peer.request("subscriptions/listen", listen(&longest)).await;
    peer.wire
        .expect("notifications/subscriptions/acknowledged")
        .await;
}

/// The acknowledgement is the first message, and a server that does not respond delays it for a limited time.
#[tokio::test(start_paused = true)]
async fn changes_before_the_acknowledgement_are_sent_after_it() {
    for responds in [true, false] {
        let (settings, mut servers) = Scripted::upstream();
        let connecting = tokio::spawn(Proxy::connect(settings));
        let capabilities =
            json!({ "tools": { "listChanged": true }, "resources": { "subscribe": true } });
        let (mut shared, _) = servers.accept_with(capabilities).await;
        shared.respond("tools/list", json!({ "tools": [] })).await;
        let mut peer = Peer::new(connecting.await.unwrap().unwrap());
        let listen = json!({ "notifications": {
            "toolsListChanged": true, "resourceSubscriptions": ["test://a"],
        } });
        peer.request("subscriptions/listen", listen).await;
        let request = shared.expect("resources/subscribe").await;
        let changed = "notifications/tools/list_changed";
        for _ in 0..2 {
            shared.notify(changed, json!({})).await;
            shared.respond("tools/list", json!({ "tools": [] })).await;
        }
        peer.silent().await;
        let start = tokio::time::Instant::now();
        if responds {
            shared.answer(&request, json!({})).await;
        }
        let acknowledged = peer.wire.recv_patiently().await;
        assert_eq!(
            acknowledged["method"],
            "notifications/subscriptions/acknowledged"
        );
        let accepted = &acknowledged["params"]["notifications"]["resourceSubscriptions"];
        assert_eq!(accepted.is_array(), responds, "{acknowledged}");
        assert!(start.elapsed() <= Duration::from_secs(20));
        let change = peer.wire.recv().await;
        assert_eq!(change["method"], changed);
        let id = "io.modelcontextprotocol/subscriptionId";
        assert_eq!(
            change["params"]["_meta"][id],
            acknowledged["params"]["_meta"][id]
        );
        peer.silent().await;
    }
}

/// Otherwise, the client would wait for changes that the server never reports.
#[tokio::test]
async fn a_subscription_accepts_only_lists_whose_changes_the_server_announces() {
    let (settings, mut servers) = Scripted::upstream();
    let connecting = tokio::spawn(Proxy::connect(settings));
    let _shared = with_changes(&mut servers).await;
    let mut peer = Peer::new(connecting.await.unwrap().unwrap());
    let lists = json!({ "toolsListChanged": true, "promptsListChanged": true });
    let listen = json!({ "notifications": lists });
    peer.request("subscriptions/listen", listen).await;
    let acknowledged = "notifications/subscriptions/acknowledged";
    let acknowledged = peer.wire.expect(acknowledged).await;
    let accepted = &acknowledged["params"]["notifications"];
    assert_eq!(accepted, &json!({ "toolsListChanged": true }));
}

#[tokio::test]
async fn a_subscription_completes_when_the_gateway_closes() {
    let service = proxy(&server()).await.into_service().unwrap();
    let mut peer = Peer::new(Arc::clone(&service));
    let listen = json!({ "notifications": {} });
    let id = peer.request("subscriptions/listen", listen).await;
    let acknowledged = "notifications/subscriptions/acknowledged";
    peer.wire.expect(acknowledged).await;
    service.closing();
    let done = peer.wire.recv().await;
    assert_eq!((&done["id"], done["result"].is_object()), (&id, true));
}
