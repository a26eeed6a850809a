//! Progress, log messages, changes and cancellation through the gateway.

use mcp_client::ChangedList;
use mcp_gateway::{Gateway, Upstream};
use mcp_host::StderrLog;
use mcp_server::Change;
use mcp_types::ResourceContents;
use tokio::sync::mpsc;

use super::several::named;
use super::{Scripted, connect_to, proxy, upstream};
use crate::peer::{Peer, client};
use crate::prelude::*;

const BOTH: [bool; 2] = [false, true];

#[tokio::test]
async fn progress_and_log_messages_reach_the_caller() {
    for server_is_stateless in BOTH {
        let proxy = proxy(everything::server(), server_is_stateless).await;
        for client_is_stateless in BOTH {
            let (sender, mut seen) = mpsc::channel(64);
            let logs = sender.clone();
            let builder = client().on_log(move |message| {
                logs.try_send(message.data.to_string()).unwrap();
            });
            let client = connect_to(proxy.clone(), builder, client_is_stateless).await;
            client.set_log_level(LoggingLevel::Debug).await.unwrap();
            let call = client.call_tool("test_tool_with_progress", json!({}));
            call.on_progress(move |progress| {
                sender.try_send(progress.progress.to_string()).unwrap()
            })
            .await
            .unwrap();
            let first = seen.recv().await.unwrap();
            assert!(first.parse::<f64>().is_ok(), "{first}");
            while seen.try_recv().is_ok() {}
            called(&client, "test_tool_with_logging", json!({})).await;
            let message = seen.recv().await.unwrap();
            assert!(message.contains("started"), "{message}");
        }
    }
}

#[tokio::test]
async fn changes_reach_sessions_and_subscriptions() {
    let server = Server::builder("changing", "1")
        .tool(Tool::new("one", async || "1"))
        .resource(Resource::new("test://a", "a", async || {
            ResourceContents::text("test://a", "text")
        }));
    let server = server.build().unwrap();
    for server_is_stateless in BOTH {
        let connected = server.clone();
        let connector = move |_: &StderrLog| Ok(mcp_transport_stdio::in_memory(connected.clone()));
        let upstream = Upstream::new("changing", connector);
        let upstream = match server_is_stateless {
            true => upstream.negotiation(Revision::LATEST, Negotiation::Stateless),
            false => {
                upstream.negotiation(Revision::LATEST_WITH_SESSIONS, Negotiation::SessionBased)
            }
        };
        let proxy = mcp_gateway::Proxy::connect(upstream).await.unwrap();
        for client_is_stateless in BOTH {
            let (sender, mut changed) = mpsc::channel(64);
            let builder = client().on_change(move |list| sender.try_send(list).unwrap());
            let client = connect_to(proxy.clone(), builder, client_is_stateless).await;
            let mut subscription = client.subscribe("test://a").await.unwrap();
            server.resources().updated("test://a");
            assert_eq!(subscription.next().await.as_deref(), Some("test://a"));
            let name = format!("new-{server_is_stateless}-{client_is_stateless}");
            server
                .tools()
                .add(Tool::new(&*name, async || "new"))
                .unwrap();
            assert_eq!(changed.recv().await, Some(ChangedList::Tools));
            let tools = client.list_tools().await.unwrap();
            assert!(tools.iter().any(|tool| tool.name == name));
        }
    }
}

/// Each connection to a program is a process of its own. A client that can be asked has another one than its subscriptions.
#[tokio::test]
async fn changes_that_calls_make_reach_the_subscriptions_of_their_client() {
    let connector = |_: &StderrLog| {
        let server = Server::builder("process", "1")
            .tool(Tool::new("touch", async |cx: Ctx| {
                cx.resource_updated("test://a")
            }))
            .tool(Tool::new("grow", async |cx: Ctx| cx.changed(Change::Tools)))
            .resource(Resource::new("test://a", "a", async || {
                ResourceContents::text("test://a", "text")
            }));
        Ok(mcp_transport_stdio::in_memory(server.build().unwrap()))
    };
    let upstream = Upstream::new("process", connector)
        .sharing(mcp_gateway::Sharing::All)
        .negotiation(Revision::LATEST_WITH_SESSIONS, Negotiation::SessionBased);
    let proxy = mcp_gateway::Proxy::connect(upstream).await.unwrap();
    let (sender, mut changed) = mpsc::channel(64);
    let builder = client()
        .on_elicit(async |form| form.accept(json!({})))
        .on_change(move |list| sender.try_send(list).unwrap());
    let client = connect_to(proxy, builder, true).await;
    let mut subscription = client.subscribe("test://a").await.unwrap();
    for _ in 0..2 {
        // The first call opens a connection, the second one uses it again.
        called(&client, "touch", json!({})).await;
        assert_eq!(subscription.next().await.as_deref(), Some("test://a"));
    }
    let mut second = client.subscribe("test://a").await.unwrap();
    drop(subscription);
    called(&client, "touch", json!({})).await;
    assert_eq!(second.next().await.as_deref(), Some("test://a"));
    called(&client, "grow", json!({})).await;
    assert_eq!(changed.recv().await, Some(ChangedList::Tools));
}

#[tokio::test]
async fn a_cancelled_call_is_cancelled_at_the_server() {
    let (upstream, mut servers) = Scripted::upstream();
    let (proxy, mut shared) = servers.proxy(upstream).await;
    let mut stateless = Peer::new(proxy.clone());
    let id = stateless
        .request("tools/call", json!({ "name": "slow" }))
        .await;
    let request = shared.expect("tools/call").await;
    stateless.wire.cancel(&id).await;
    let cancelled = shared.expect("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], request["id"]);

    let mut session = Peer::session(proxy, json!({})).await;
    let id = session
        .request("tools/call", json!({ "name": "slow" }))
        .await;
    let (mut own, _) = servers.accept().await;
    let request = own.expect("tools/call").await;
    session.wire.cancel(&id).await;
    let cancelled = own.expect("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
}

/// What the server reports while the call waits for its client is sent with the next request of the call.
#[tokio::test]
async fn progress_of_a_parked_call_is_sent_with_its_next_request() {
    let (upstream, mut servers) = Scripted::upstream();
    let (proxy, _shared) = servers.proxy(upstream).await;
    let mut peer = Peer::with(proxy, json!({ "elicitation": {} }));
    let call = json!({ "name": "t", "_meta": { "progressToken": "mine" } });
    peer.request("tools/call", call.clone()).await;
    let (mut server, params) = servers.accept().await;
    assert_eq!(params["capabilities"], json!({ "elicitation": {} }));
    let request = server.expect("tools/call").await;
    let token = &request["params"]["_meta"]["progressToken"];
    let form =
        json!({ "message": "Name?", "requestedSchema": { "type": "object", "properties": {} } });
    let question = server.request("elicitation/create", form.clone()).await;
    let required = peer.wire.recv().await;
    let result = &required["result"];
    assert_eq!(result["resultType"], "input_required");
    assert_eq!(
        result["inputRequests"]["q1"],
        json!({ "method": "elicitation/create", "params": form })
    );
    let progress = json!({ "progressToken": token, "progress": 1 });
    server.notify("notifications/progress", progress).await;
    server.silent().await;
    let mut again = call;
    again["requestState"] = result["requestState"].clone();
    again["inputResponses"] = json!({ "q1": { "action": "decline" } });
    again["_meta"]["progressToken"] = json!("second");
    let id = peer.request("tools/call", again).await;
    let kept = peer.wire.expect("notifications/progress").await;
    assert_eq!(
        kept["params"],
        json!({ "progressToken": "second", "progress": 1 })
    );
    let answer = server.recv().await;
    assert_eq!(
        (&answer["id"], &answer["result"]),
        (&question, &json!({ "action": "decline" }))
    );
    server.answer(&request, json!({ "content": [] })).await;
    let done = peer.wire.recv().await;
    assert_eq!(
        (&done["id"], &done["result"]["resultType"]),
        (&id, &json!("complete"))
    );
}

/// The gateway removes sessions that have ended from its list when the list is long.
#[tokio::test]
async fn each_of_many_open_sessions_is_notified_of_a_change() {
    let server = Server::builder("one", "1").tool(Tool::new("t", async || "done"));
    let gateway = Gateway::builder().mount("a", upstream(server, true));
    let gateway = gateway.build().await.unwrap();
    let mut open = Vec::new();
    for number in 0..150 {
        let peer = Peer::session(gateway.clone(), json!({})).await;
        match number % 2 {
            0 => open.push(peer),
            _ => peer.wire.close().await.unwrap(),
        }
    }
    assert!(gateway.unmount("a"));
    for peer in &mut open {
        peer.wire.expect("notifications/tools/list_changed").await;
    }
}

/// While a call is parked, its server cannot fill the memory of the gateway.
#[tokio::test]
async fn the_number_of_notifications_of_a_parked_call_is_limited() {
    const MAX_KEPT: usize = 64;
    const MAX_KEPT_BYTES: usize = 16 << 10;
    let half = "x".repeat(MAX_KEPT_BYTES / 2 - r#"{"data":"","level":"info"}"#.len());
    let longer = format!("{half}x");
    for (data, sent, expected) in [
        ("x", MAX_KEPT + 2, MAX_KEPT),
        (&*half, 3, 2),
        (&*longer, 3, 1),
    ] {
        let (upstream, mut servers) = Scripted::upstream();
        let (proxy, _shared) = servers.proxy(upstream).await;
        let mut peer = Peer::with(proxy, json!({ "elicitation": {} }));
        let level = json!({ "io.modelcontextprotocol/logLevel": "info" });
        let call = json!({ "name": "t", "_meta": level });
        peer.request("tools/call", call.clone()).await;
        let (mut server, _) = servers.accept().await;
        let request = loop {
            let request = server.recv().await;
            if request["method"] == "tools/call" {
                break request;
            }
            server.answer(&request, json!({})).await;
        };
        let form = json!({ "message": "Name?", "requestedSchema": { "type": "object", "properties": {} } });
        server.request("elicitation/create", form).await;
        let required = peer.wire.recv().await["result"].take();
        for _ in 0..sent {
            let message = json!({ "data": data, "level": "info" });
            server.notify("notifications/message", message).await;
        }
        server.silent().await;
        let mut again = call;
        again["requestState"] = required["requestState"].clone();
        again["inputResponses"] = json!({ "q1": { "action": "decline" } });
        let id = peer.request("tools/call", again).await;
        server.recv().await;
        server.answer(&request, json!({ "content": [] })).await;
        let mut kept = 0;
        while peer.wire.recv().await["id"] != id {
            kept += 1;
        }
        assert_eq!(kept, expected, "{} bytes", data.len());
    }
}

#[tokio::test]
async fn changes_of_every_server_reach_clients() {
    let servers = [false, true].map(|is_stateless| {
        let server = named(if is_stateless { "fs" } else { "git" });
        (is_stateless, server.build().unwrap())
    });
    let mut builder = Gateway::builder();
    for (is_stateless, server) in &servers {
        let connected = server.clone();
        let connector = move |_: &StderrLog| Ok(mcp_transport_stdio::in_memory(connected.clone()));
        let upstream = Upstream::new("changing", connector);
        let (name, upstream) = match is_stateless {
            true => (
                "fs",
                upstream.negotiation(Revision::LATEST, Negotiation::Stateless),
            ),
            false => {
                let newest = Revision::LATEST_WITH_SESSIONS;
                (
                    "git",
                    upstream.negotiation(newest, Negotiation::SessionBased),
                )
            }
        };
        builder = builder.mount(name, upstream);
    }
    let gateway = builder.build().await.unwrap();
    for is_stateless in BOTH {
        let (sender, mut changed) = mpsc::channel(64);
        let builder = client().on_change(move |list| _ = sender.try_send(list));
        let client = connect_to(gateway.clone(), builder, is_stateless).await;
        client.list_tools().await.unwrap();
        for (index, (_, server)) in servers.iter().enumerate() {
            let uri = ["git://own", "fs://own"][index];
            let mut subscription = client.subscribe(uri).await.unwrap();
            server.resources().updated(uri);
            assert_eq!(subscription.next().await.as_deref(), Some(uri));
            let name = format!("new-{is_stateless}");
            let tool = Tool::new(&*name, async || "new");
            server.tools().add(tool).unwrap();
            while changed.recv().await != Some(ChangedList::Tools) {}
            let name = format!("{}__{name}", ["git", "fs"][index]);
            assert_eq!(called(&client, &name, json!({})).await, "new");
            let tools = client.list_tools().await.unwrap();
            assert!(tools.iter().any(|tool| tool.name == name));
        }
    }
}

/// Nothing else would report the changes of a server whose connection has ended meanwhile.
#[tokio::test(start_paused = true)]
async fn a_subscription_connects_to_servers_whose_connection_has_ended() {
    let (settings, mut servers) = Scripted::upstream();
    let (gateway, mut server) = servers
        .gateway(Gateway::builder().mount("a", settings))
        .await;
    let mut peer = Peer::new(gateway);
    peer.request("tools/call", json!({ "name": "a__t" })).await;
    server.expect("tools/call").await;
    drop(server);
    says(&peer.wire.recv().await, "may have run");
    let listen = json!({ "notifications": { "toolsListChanged": true } });
    peer.request("subscriptions/listen", listen).await;
    let mut server = servers.connected().await;
    peer.wire
        .expect("notifications/subscriptions/acknowledged")
        .await;
    server
        .notify("notifications/tools/list_changed", json!({}))
        .await;
    server.respond("tools/list", json!({ "tools": [] })).await;
    peer.wire.expect("notifications/tools/list_changed").await;
}

const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// Answers requests of the gateway to a stateless server, until it opens a stream of changes. Returns the acknowledged request.
async fn listening(server: &mut PipeEnd) -> Value {
    loop {
        let request = server.recv().await;
        let result = match request["method"].as_str().unwrap() {
            "server/discover" => json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": { "tools": { "listChanged": true } }, "ttlMs": 0, "cacheScope": "private",
                "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "scripted", "version": "0" } },
            }),
            "tools/list" => no_tools(),
            "subscriptions/listen" => {
                let meta = json!({ SUBSCRIPTION_KEY: request["id"] });
                let filter = &request["params"]["notifications"];
                let params = json!({ "notifications": filter, "_meta": meta });
                let method = "notifications/subscriptions/acknowledged";
                server.notify(method, params).await;
                return request;
            }
            other => panic!("{other}"),
        };
        server.answer(&request, result).await;
    }
}

fn no_tools() -> Value {
    json!({ "resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private" })
}

/// A server ends the stream when it shuts down, and its next process does not know the stream.
#[tokio::test(start_paused = true)]
async fn changes_are_received_after_the_server_has_ended_the_stream_of_changes() {
    let (settings, mut servers) = Scripted::upstream();
    let settings = settings.negotiation(Revision::LATEST, Negotiation::Stateless);
    let connecting = tokio::spawn(mcp_gateway::Proxy::connect(settings));
    let mut server = servers.accept_raw().await;
    let first = listening(&mut server).await;
    let meta = json!({ SUBSCRIPTION_KEY: first["id"] });
    let end = json!({ "resultType": "complete", "_meta": meta });
    server.answer(&first, end).await;
    let second = listening(&mut server).await;
    let mut peer = Peer::new(connecting.await.unwrap().unwrap());
    let listen = json!({ "notifications": { "toolsListChanged": true } });
    peer.request("subscriptions/listen", listen).await;
    peer.wire
        .expect("notifications/subscriptions/acknowledged")
        .await;
    let changed = "notifications/tools/list_changed";
    let meta = json!({ SUBSCRIPTION_KEY: second["id"] });
    server.notify(changed, json!({ "_meta": meta })).await;
    let refresh = server.expect("tools/list").await;
    server.answer(&refresh, no_tools()).await;
    peer.wire.expect(changed).await;
}

/// A flood of notifications of a server becomes few notifications to clients.
#[tokio::test(start_paused = true)]
async fn a_flood_of_list_changes_becomes_few_notifications() {
    let (settings, mut servers) = Scripted::upstream();
    let (gateway, mut shared) = servers
        .gateway(Gateway::builder().mount("a", settings))
        .await;
    let mut peer = Peer::new(gateway);
    let listen = json!({ "notifications": { "toolsListChanged": true } });
    peer.request("subscriptions/listen", listen).await;
    peer.wire
        .expect("notifications/subscriptions/acknowledged")
        .await;
    for _ in 0..100 {
        shared
            .notify("notifications/tools/list_changed", json!({}))
            .await;
    }
    shared.respond("tools/list", json!({ "tools": [] })).await;
    peer.wire.expect("notifications/tools/list_changed").await;
    shared.silent().await;
    peer.silent().await;
}
