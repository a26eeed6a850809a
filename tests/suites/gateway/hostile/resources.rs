//! Subscriptions and completions that evade rules, or take much time.

use super::*;
use crate::traced::Traced;

/// Serves the lists of resources of a gateway: one template.
async fn with_template(servers: &mut Scripted, template: &str) -> PipeEnd {
    let capabilities = json!({ "resources": { "subscribe": true } });
    let (mut server, _) = servers.accept_with(capabilities).await;
    let resources = json!({ "resources": [] });
    server.respond("resources/list", resources).await;
    let templates = json!([{ "name": "t", "uriTemplate": template }]);
    let templates = json!({ "resourceTemplates": templates });
    server.respond("resources/templates/list", templates).await;
    server
}

/// A server that connects while a subscription begins must not evade the rules for its resources.
#[tokio::test]
async fn the_scope_of_a_resource_is_checked_when_its_server_is_known() {
    let (slow, mut slow_servers) = Scripted::upstream();
    let (late, mut late_servers) = Scripted::upstream();
    let policy = AccessPolicy::new().rule(
        AccessRule::require_scope("sec", "notes://*")
            .mount("late")
            .kind(ItemKind::Resource),
    );
    let gateway = Gateway::builder()
        .mount("slow", slow)
        .mount("late", late)
        .access(policy)
        // How long the subscription waits for the late server.
        .list_timeout(Duration::from_secs(1))
        .start()
        .unwrap();
    let mut slow = with_template(&mut slow_servers, "slow://{+path}").await;
    // The gateway says nothing when a server is connected.
    for _ in 0..100_000 {
        if gateway.mounts()[0].is_connected {
            break;
        }
        tokio::task::yield_now().await;
    }
    let endpoint = Endpoint::new(gateway.clone()).unwrap();
    let client = at(&endpoint, "10.0.0.1:1");
    let uris = json!(["slow://x", "notes://secret/a"]);
    let listen = json!({ "notifications": { "resourceSubscriptions": uris } });
    let mut client = client;
    client.peer.scopes = Some("other");
    let listening = tokio::spawn(async move {
        let mut reply = client.call(1, "subscriptions/listen", listen).await;
        reply.event().await.unwrap().json()
    });
    let subscribe = slow.next("resources/subscribe").await;
    let mut late = with_template(&mut late_servers, "notes://{+path}").await;
    gateway.settled().await;
    slow.answer(&subscribe, json!({})).await;
    // It was the only server when the rules were checked, so the late one must not get the request.
    let other = slow.next("resources/subscribe").await;
    assert_eq!(other["params"]["uri"], "notes://secret/a");
    slow.refuse(&other, -32002, "resource not found").await;
    let acknowledged = listening.await.unwrap();
    let accepted = &acknowledged["params"]["notifications"]["resourceSubscriptions"];
    assert_eq!(accepted, &json!(["slow://x"]), "{acknowledged}");
    late.silent().await;
}

/// Finding the server of each of many URIs keeps other clients waiting.
#[tokio::test]
async fn the_number_and_size_of_subscribed_uris_are_checked_first() {
    // Counting them against this limit would be the next step.
    let limits = ClientLimits::new().with_requests_per_minute(5.try_into().unwrap());
    let gateway = Gateway::builder().mount("files", upstream(files(), true));
    let gateway = gateway.client_limits(limits).build().await.unwrap();
    let mut peer = Peer::new(gateway);
    let many: Vec<_> = (0..10_000).map(|n| format!("file:///{n}")).collect();
    let long = vec![format!("file:///{}", "x".repeat(8 << 10)); 64];
    for (uris, part) in [(many, "at most 64 resources"), (long, "the limit is 8192")] {
        let listen = json!({ "notifications": { "resourceSubscriptions": uris } });
        let error = peer.expect_error("subscriptions/listen", listen, -32602);
        says(&error.await, part);
    }
}

#[tokio::test]
async fn a_long_uri_is_refused_before_rules_and_templates() {
    let gateway = guarded(allow_list()).await;
    for mut peer in Peer::both(gateway).await {
        let uri = json!({ "uri": format!("file:///srv/{}", "x".repeat(8 << 10)) });
        let error = peer.expect_error("resources/read", uri, -32602).await;
        says(&error, "the limit is 8192");
    }
}

/// Each template is compared with each URI of a client.
#[tokio::test]
async fn resources_are_found_by_the_first_thousand_templates_of_a_server() {
    let others = (0..999).map(|number| format!("notes://other{number}/{{a}}"));
    let ends = ["notes://last/long/{a}", "notes://late/long/{a}"].map(str::to_owned);
    let many = others
        .chain(ends)
        .fold(Server::builder("many", "1"), |server, template| {
            server.resource(Resource::new(template, "many", || "many"))
        });
    let one = Server::builder("one", "1").resource(Resource::new("notes://l{+a}", "one", || "one"));
    let gateway = Gateway::builder()
        .mount("many", upstream(many, true))
        .mount("one", upstream(one, true));
    let mut peer = Peer::new(gateway.build().await.unwrap());
    for (uri, server) in [
        ("notes://last/long/x", "many"),
        ("notes://late/long/x", "one"),
    ] {
        let result = peer.call("resources/read", json!({ "uri": uri })).await;
        assert_eq!(result["contents"][0]["text"], server, "{uri}");
    }
}

/// The names of denied resources are as secret as their content.
#[tokio::test]
async fn a_completion_has_no_values_of_denied_resources() {
    let server = || {
        Server::builder("files", "1")
            .resource(
                Resource::new("file:///{+path}", "files", async || {
                    ResourceContents::text("file:///a", "content")
                })
                .complete_from(
                    "path",
                    ["etc/passwd", "etc/x/../../srv", "srv/a", "srv/b c"],
                ),
            )
            .resource(
                Resource::new("db://{table}/rows/{id}", "rows", async || {
                    ResourceContents::text("db://a/rows/1", "content")
                })
                .complete_from("table", ["secret", "public"])
                .complete_from("id", ["1", "2"]),
            )
            .resource(
                Resource::new("list://{a,b}", "list", async || {
                    ResourceContents::text("list://a,b", "content")
                })
                .complete_from("a", ["x"]),
            )
    };
    let policy = AccessPolicy::new()
        .rule(AccessRule::deny("file:///etc/*"))
        .rule(AccessRule::deny("db://secret/*"))
        .rule(AccessRule::deny("db://public/rows/2"));
    for is_stateless in [false, true] {
        let gateway = Gateway::builder().mount("files", upstream(server(), is_stateless));
        let gateway = gateway.access(policy.clone()).build().await.unwrap();
        for mut peer in Peer::both(gateway).await {
            let known = json!({ "table": "public" });
            for (uri, name, known, expected) in [
                (
                    "file:///{+path}",
                    "path",
                    json!({}),
                    json!(["srv/a", "srv/b c"]),
                ),
                (
                    "db://{table}/rows/{id}",
                    "table",
                    json!({}),
                    json!(["public"]),
                ),
                ("db://{table}/rows/{id}", "id", known, json!(["1"])),
                // Without the table, an id could be one of a denied table.
                ("db://{table}/rows/{id}", "id", json!({}), json!([])),
                (
                    "db://{table}/rows/{id}",
                    "id",
                    json!({ "table": "" }),
                    json!([]),
                ),
                ("list://{a,b}", "a", json!({}), json!([])),
            ] {
                let params = json!({
                    "ref": { "type": "ref/resource", "uri": uri },
                    "argument": { "name": name, "value": "" },
                    "context": { "arguments": known },
                });
                let result = peer.call("completion/complete", params).await;
                assert_eq!(result["completion"]["values"], expected, "{uri}: {result}");
                assert!(result["completion"]["total"].is_null(), "{uri}: {result}");
            }
            // Some servers read a list with one text as the text.
            for context in [
                json!({ "arguments": { "table": ["secret"] } }),
                json!({ "arguments": [] }),
                json!([]),
            ] {
                let uri = "db://{table}/rows/{id}";
                let params = json!({
                    "ref": { "type": "ref/resource", "uri": uri },
                    "argument": { "name": "id", "value": "" },
                    "context": context,
                });
                peer.expect_error("completion/complete", params, -32602)
                    .await;
            }
        }
    }
    // Without rules for resources, nothing is removed.
    let policy = AccessPolicy::new().rule(AccessRule::deny("*").kind(ItemKind::Tool));
    let gateway = Gateway::builder().mount("files", upstream(server(), true));
    let mut peer = Peer::new(gateway.access(policy).build().await.unwrap());
    let params = json!({
        "ref": { "type": "ref/resource", "uri": "list://{a,b}" },
        "argument": { "name": "a", "value": "" },
    });
    let result = peer.call("completion/complete", params).await;
    assert_eq!(result["completion"]["values"], json!(["x"]), "{result}");
}

/// A server that does not know the other variables may complete from all resources.
#[tokio::test]
async fn a_completion_has_no_values_that_could_belong_to_a_denied_resource() {
    let template = |template: &str| {
        Resource::new(template, "t", async || {
            ResourceContents::text("a:b", "content")
        })
        .complete_from("id", ["key", "sec"])
    };
    let templates = [
        ("notes://x/{id}/of/{owner}", json!([])),
        ("tables://{id}/{owner}", json!([])),
        ("mail://{id}/{owner}", json!([])),
        ("db://q/{id}?owner={owner}", json!([])),
        ("rows://{id}/{owner}", json!(["key", "sec"])),
        ("rows://{owner}/{id}", json!([])),
        ("pages://{id}/of/{owner}", json!(["key", "sec"])),
    ];
    let server = Server::builder("files", "1");
    let server = (templates.iter()).fold(server, |server, (uri, _)| server.resource(template(uri)));
    let policy = AccessPolicy::new()
        .rule(AccessRule::deny("notes://x/*/of/secret"))
        .rule(AccessRule::deny("tables://*/secret"))
        .rule(AccessRule::deny("mail://*secret*"))
        .rule(AccessRule::deny("db://q/*owner=secret"))
        .rule(AccessRule::deny("rows://secret/*"));
    let gateway = Gateway::builder().mount("files", upstream(server, true));
    let mut peer = Peer::new(gateway.access(policy).build().await.unwrap());
    for (uri, expected) in templates {
        let params = json!({
            "ref": { "type": "ref/resource", "uri": uri },
            "argument": { "name": "id", "value": "" },
        });
        let result = peer.call("completion/complete", params).await;
        assert_eq!(result["completion"]["values"], expected, "{uri}: {result}");
    }
}

/// A server may complete by the name of the argument, whatever the template is.
#[tokio::test]
async fn only_listed_references_can_be_completed_where_rules_apply() {
    let (settings, mut servers) = Scripted::upstream();
    let policy = AccessPolicy::new()
        .rule(AccessRule::deny("notes://secret/*"))
        .rule(AccessRule::deny("hidden").kind(ItemKind::Prompt));
    let gateway = Gateway::builder().mount("notes", settings).access(policy);
    let building = tokio::spawn(gateway.build());
    let capabilities = json!({ "resources": {}, "prompts": {}, "completions": {} });
    let (mut server, _) = servers.accept_with(capabilities).await;
    let prompts = json!({ "prompts": [{ "name": "open" }] });
    server.respond("prompts/list", prompts).await;
    let resources = json!({ "resources": [] });
    server.respond("resources/list", resources).await;
    let templates = json!([{ "name": "t", "uriTemplate": "notes://{owner}/{id}" }]);
    let templates = json!({ "resourceTemplates": templates });
    server.respond("resources/templates/list", templates).await;
    let mut peer = Peer::new(building.await.unwrap().unwrap());
    let complete = |reference: Value| {
        let argument = json!({ "name": "owner", "value": "" });
        json!({ "ref": reference, "argument": argument })
    };
    for uri in ["notes:{owner}", "notes://x/{owner}", "notes://{owner}/x"] {
        let reference = json!({ "type": "ref/resource", "uri": uri });
        let error = peer.expect_error("completion/complete", complete(reference), -32602);
        says(&error.await, "no server of the gateway lists");
    }
    let reference = json!({ "type": "ref/prompt", "name": "notes__Hidden" });
    let error = peer.expect_error("completion/complete", complete(reference), -32602);
    says(&error.await, "unknown prompt");
    let listed = json!({ "type": "ref/resource", "uri": "notes://{owner}/{id}" });
    peer.request("completion/complete", complete(listed.clone()))
        .await;
    let found =
        json!({ "values": ["secret", "public"], "total": 2, "hasMore": true, "hint": "secret" });
    let found = json!({ "completion": found, "hint": "secret" });
    server.respond("completion/complete", found).await;
    let result = peer.wire.recv().await["result"].clone();
    assert_eq!(result["completion"], json!({ "values": ["public"] }));
    assert!(result["hint"].is_null(), "{result}");
    peer.request("completion/complete", complete(listed)).await;
    let found = json!({ "values": ["public"], "total": 1, "hasMore": false, "hint": "secret" });
    let found = json!({ "completion": found });
    server.respond("completion/complete", found).await;
    let result = peer.wire.recv().await["result"].clone();
    let expected = json!({ "values": ["public"], "total": 1, "hasMore": false });
    assert_eq!(result["completion"], expected);
    let reference = json!({ "type": "ref/prompt", "name": "notes__open" });
    peer.request("completion/complete", complete(reference))
        .await;
    let found = json!({ "completion": { "values": ["a"] } });
    server.respond("completion/complete", found).await;
    assert!(peer.wire.recv().await["result"].is_object());
}

pub(super) fn updated(uri: &str) -> Value {
    json!({ "uri": uri })
}

/// Servers notify all their sessions, and the URI of a denied resource is as secret as its content.
#[tokio::test]
async fn a_session_receives_only_updates_of_resources_that_it_subscribed_to_and_may_use() {
    let name = "notifications/resources/updated";
    let (settings, mut servers) = Scripted::upstream();
    let policy = AccessPolicy::new()
        .rule(AccessRule::deny("notes://secret/*"))
        .rule(AccessRule::deny("notes://pub/hidden"))
        .rule(AccessRule::require_scope("s", "notes://pub/scoped"));
    let gateway = Gateway::builder().mount("notes", settings).access(policy);
    let building = tokio::spawn(gateway.build());
    let shared = with_template(&mut servers, "notes://{+path}").await;
    let gateway = building.await.unwrap().unwrap();
    let mut peer = Peer::session(gateway.clone(), json!({})).await;
    drop(shared);
    let subscribe = peer.request("resources/subscribe", updated("notes://pub"));
    subscribe.await;
    let (mut server, _) = servers
        .accept_with(json!({ "resources": { "subscribe": true } }))
        .await;
    server.respond("resources/subscribe", json!({})).await;
    assert!(peer.wire.recv().await["result"].is_object());
    for uri in [
        "notes://secret/a",
        "notes://public",
        "notes://pub/hidden",
        "notes:pub/hidden",
        "notes://pub/scoped",
    ] {
        server.notify(name, updated(uri)).await;
    }
    let more = json!({ "URI": "notes://secret/a", "uri": "notes://pub/a" });
    server.notify(name, more).await;
    let received = peer.wire.expect(name).await;
    assert_eq!(received["params"], updated("notes://pub/a"));
    server.notify(name, updated("notes://pub")).await;
    let received = peer.wire.expect(name).await;
    assert_eq!(received["params"], updated("notes://pub"));
    // A rule that was added denies what the client has subscribed to.
    let policy = AccessPolicy::new().rule(AccessRule::deny("notes://pub"));
    let set = gateway.set_policy(policy, ClientLimits::new());
    set.unwrap();
    server.notify(name, updated("notes://pub")).await;
    receives_no_update(&mut peer, &mut server).await;
    let set = gateway.set_policy(AccessPolicy::new(), ClientLimits::new());
    set.unwrap();
    let unsubscribe = peer.request("resources/unsubscribe", updated("notes://pub"));
    unsubscribe.await;
    server.respond("resources/unsubscribe", json!({})).await;
    server.notify(name, updated("notes://pub/b")).await;
    receives_no_update(&mut peer, &mut server).await;
}

/// Reads a resource, and checks that no update arrives before the response.
async fn receives_no_update(peer: &mut Peer, server: &mut PipeEnd) {
    let read = peer.request("resources/read", updated("notes://other"));
    read.await;
    let contents = json!({ "contents": [] });
    server.respond("resources/read", contents).await;
    loop {
        let message = peer.wire.recv().await;
        assert_ne!(
            message["method"], "notifications/resources/updated",
            "{message}"
        );
        if message["result"]["contents"].is_array() {
            return;
        }
    }
}

/// The client learns only that the resource is left out, so the operator needs the log.
#[tokio::test]
async fn a_denied_resource_of_a_subscription_is_logged() {
    let (traced, _guard) = Traced::start();
    let (settings, mut servers) = Scripted::upstream();
    let policy = AccessPolicy::new().rule(AccessRule::deny("notes://pub/hidden"));
    let gateway = Gateway::builder().mount("notes", settings).access(policy);
    let building = tokio::spawn(gateway.build());
    let _server = with_template(&mut servers, "notes://{+path}").await;
    let mut peer = Peer::new(building.await.unwrap().unwrap());
    let listen = json!({ "notifications": { "resourceSubscriptions": ["notes://pub/hidden"] } });
    peer.request("subscriptions/listen", listen).await;
    peer.wire
        .expect("notifications/subscriptions/acknowledged")
        .await;
    let line = traced.line("a request was denied").unwrap();
    for part in [
        "kind=\"resource\"",
        "notes://pub/hidden",
        "a rule denies it",
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }
}

#[tokio::test]
async fn a_subscription_receives_no_updates_of_denied_parts() {
    let (settings, mut servers) = Scripted::upstream();
    let policy = AccessPolicy::new().rule(AccessRule::deny("notes://pub/hidden"));
    let gateway = Gateway::builder().mount("notes", settings).access(policy);
    let building = tokio::spawn(gateway.build());
    let mut shared = with_template(&mut servers, "notes://{+path}").await;
    let mut peer = Peer::new(building.await.unwrap().unwrap());
    let listen = json!({ "notifications": { "resourceSubscriptions": ["notes://pub"] } });
    peer.request("subscriptions/listen", listen).await;
    shared.respond("resources/subscribe", json!({})).await;
    peer.wire
        .expect("notifications/subscriptions/acknowledged")
        .await;
    let name = "notifications/resources/updated";
    shared.notify(name, updated("notes://pub/hidden")).await;
    shared.notify(name, updated("notes://pub/a")).await;
    let received = peer.wire.expect(name).await;
    assert_eq!(received["params"]["uri"], "notes://pub/a");
}

/// Serves the lists of a server that lists one resource and a template.
pub(super) async fn with_resource(servers: &mut Scripted, uri: &str) -> PipeEnd {
    let capabilities = json!({ "resources": { "subscribe": true } });
    let (mut server, _) = servers.accept_with(capabilities).await;
    let resources = json!({ "resources": [{ "name": "r", "uri": uri }] });
    server.respond("resources/list", resources).await;
    let templates = json!([{ "name": "t", "uriTemplate": "notes://{+path}" }]);
    let templates = json!({ "resourceTemplates": templates });
    server.respond("resources/templates/list", templates).await;
    server
}

/// The server of a shared connection does not say for whom it sends an update, and a subscription to `notes://` contains everything.
#[tokio::test]
async fn a_subscription_receives_no_updates_that_may_belong_to_another_client() {
    let (settings, mut servers) = Scripted::upstream();
    let building = tokio::spawn(Gateway::builder().mount("notes", settings).build());
    let mut server = with_resource(&mut servers, "notes://pub/listed").await;
    let endpoint = Endpoint::new(building.await.unwrap().unwrap()).unwrap();
    let (wide, exact) = (at(&endpoint, "10.0.0.1:1"), at(&endpoint, "10.0.0.2:1"));
    let name = "notifications/resources/updated";
    let mut wide = listening(wide, "notes://", &mut server).await;
    // So far there are no other clients whose resources could be secret.
    server.notify(name, updated("notes://diary/1")).await;
    assert_eq!(next_update(&mut wide).await, "notes://diary/1");
    let mut exact = listening(exact, "notes://diary", &mut server).await;
    for uri in ["notes://diary", "notes://Diary", "notes://diary/1"] {
        server.notify(name, updated(uri)).await;
    }
    server.notify(name, updated("notes://pub/listed")).await;
    assert_eq!(next_update(&mut wide).await, "notes://pub/listed");
    assert_eq!(next_update(&mut exact).await, "notes://diary");
    drop(exact);
    // The server keeps the subscription of the client that has left.
    let request = server.expect("resources/unsubscribe").await;
    server.refuse(&request, -32601, "unknown method").await;
    for uri in ["notes://diary", "notes://pub/listed"] {
        server.notify(name, updated(uri)).await;
    }
    assert_eq!(next_update(&mut wide).await, "notes://pub/listed");
}

/// A client must not end the updates of others by a subscription of its own.
#[tokio::test]
async fn a_subscription_does_not_end_the_updates_of_other_clients() {
    let (settings, mut servers) = Scripted::upstream();
    let building = tokio::spawn(Gateway::builder().mount("notes", settings).build());
    let mut server = with_resource(&mut servers, "notes://alice/10").await;
    let endpoint = Endpoint::new(building.await.unwrap().unwrap()).unwrap();
    let (alice, other) = (at(&endpoint, "10.0.0.1:1"), at(&endpoint, "10.0.0.2:1"));
    let mut alice = listening(alice, "notes://", &mut server).await;
    let mut others = Vec::new();
    for (number, uri) in ["notes://a", "notes://alice"].into_iter().enumerate() {
        others.push(listening(other.clone(), uri, &mut server).await);
        let name = "notifications/resources/updated";
        server.notify(name, updated("notes://alice/10")).await;
        assert_eq!(
            next_update(&mut alice).await,
            "notes://alice/10",
            "{number}"
        );
    }
}

/// Subscribes to a resource.
pub(super) async fn listening(
    client: StatelessPeer,
    uri: &str,
    server: &mut PipeEnd,
) -> mcp_tests::http::Reply {
    let listen = json!({ "notifications": { "resourceSubscriptions": [uri] } });
    let calling = tokio::spawn(async move {
        let mut reply = client.call(1, "subscriptions/listen", listen).await;
        reply.event().await.unwrap();
        reply
    });
    server.respond("resources/subscribe", json!({})).await;
    calling.await.unwrap()
}

/// Returns the URI of the next update.
pub(super) async fn next_update(reply: &mut mcp_tests::http::Reply) -> String {
    let event = reply.event().await.unwrap().json();
    event["params"]["uri"].as_str().unwrap().to_owned()
}

/// The request succeeds, so it needs no challenge, which would say that a value was removed.
#[tokio::test]
async fn a_completion_leaves_out_values_that_need_a_scope_without_a_challenge() {
    let policy = AccessPolicy::new().rule(AccessRule::require_scope("sec", "notes://secret/*"));
    let server = Server::builder("notes", "1").resource(
        Resource::new("notes://{owner}/1", "note", async || "text")
            .complete_from("owner", ["secret", "pub"]),
    );
    let gateway = Gateway::builder().mount("notes", upstream(server, true));
    let endpoint = Endpoint::new(gateway.access(policy).build().await.unwrap()).unwrap();
    let mut client = StatelessPeer::new(&endpoint);
    for (scopes, expected) in [("other", json!(["pub"])), ("sec", json!(["secret", "pub"]))] {
        client.peer.scopes = Some(scopes);
        let params = json!({
            "ref": { "type": "ref/resource", "uri": "notes://{owner}/1" },
            "argument": { "name": "owner", "value": "" },
        });
        let reply = client.call(1, "completion/complete", params).await;
        assert_eq!(reply.status, 200);
        let result = reply.json().await;
        assert_eq!(
            result["result"]["completion"]["values"], expected,
            "{result}"
        );
    }
}
