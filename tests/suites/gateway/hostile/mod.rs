//! Attacks on the rules of a gateway, and on the limits and connections that its clients share.

mod messages;
mod resources;
mod restored;
mod subscriptions;
pub(super) mod uris;

use mcp_gateway::{AccessPolicy, AccessRule, ClientLimits, Gateway, ItemKind, Proxy, Sharing};
use mcp_server::ServerBuilder;
use mcp_types::ResourceContents;

use super::{Scripted, connect_to, upstream};
use crate::peer::{Peer, client};
use crate::prelude::*;

/// A server that returns the URI of any file, and has a prompt with a completion.
fn files() -> ServerBuilder {
    Server::builder("files", "1")
        .resource(Resource::new("file:///{+path}", "files", async || {
            ResourceContents::text("file:///a", "content")
        }))
        .prompt(
            Prompt::new("open", |Args(given): Args<Name>| given.name)
                .complete("name", || vec!["a".to_owned()]),
        )
}

async fn guarded(policy: AccessPolicy) -> Gateway {
    let gateway = Gateway::builder().mount("files", upstream(files(), false));
    gateway.access(policy).build().await.unwrap()
}

fn allow_list() -> AccessPolicy {
    AccessPolicy::new()
        .rule(AccessRule::allow("file:///srv/*"))
        .rule(AccessRule::deny("*").kind(ItemKind::Resource))
}

/// Of repeated members, the server reads the last and the rule could see the first.
#[tokio::test]
async fn a_request_with_a_repeated_member_is_refused() {
    let gateway = guarded(allow_list()).await;
    let mut peer = Peer::session(gateway, json!({})).await;
    let (good, bad) = (r#""uri":"file:///srv/a""#, r#""uri":"file:///etc/passwd""#);
    let escaped = r#""\u0075ri":"file:///etc/passwd""#;
    let mut params = Vec::new();
    for (first, second) in [(good, bad), (bad, good), (good, escaped), (escaped, good)] {
        for method in ["resources/read", "resources/subscribe"] {
            params.push((method, format!("{{{first},{second}}}")));
        }
        let reference = format!(r#"{{"type":"ref/resource",{first},{second}}}"#);
        let argument = r#"{"name":"path","value":""}"#;
        let text = format!(r#"{{"ref":{reference},"argument":{argument}}}"#);
        params.push(("completion/complete", text));
        let plain = format!(r#"{{"type":"ref/resource",{good}}}"#);
        let text = format!(r#"{{"ref":{plain},"ref":{reference},"argument":{argument}}}"#);
        params.push(("completion/complete", text));
    }
    params.push(("tools/call", r#"{"name":"a","name":"b"}"#.to_owned()));
    params.push((
        "tools/call",
        r#"{"name":"a","arguments":{"x":1,"\u0078":2}}"#.to_owned(),
    ));
    params.push((
        "tools/call",
        r#"{"name":"a","arguments":{"x":[{"y":1,"y":2}]}}"#.to_owned(),
    ));
    for (id, (method, params)) in (100..).zip(params) {
        let text =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        peer.wire.raw(&text).await;
        let answer = peer.wire.recv().await;
        assert_eq!(answer["error"]["code"], -32602, "{text}: {answer}");
        let message = answer["error"]["message"].as_str().unwrap();
        let is_named = message.contains("is repeated") || message.contains("has an escape");
        assert!(is_named, "{text}: {message}");
    }
    peer.call("resources/read", json!({ "uri": "file:///srv/a" }))
        .await;
}

/// Servers remove tabs, resolve `..` and ignore the host of a file.
#[tokio::test]
async fn a_uri_that_servers_read_differently_is_refused_where_rules_apply() {
    let deny_list = AccessPolicy::new().rule(AccessRule::deny("file:///etc/*"));
    for policy in [allow_list(), deny_list] {
        let gateway = guarded(policy).await;
        for is_stateless in [false, true] {
            let mut peer = Peer::open(gateway.clone(), json!({}), is_stateless).await;
            for uri in [
                "file:///srv/.\t./etc/passwd",
                "file:///srv/.\n./etc/passwd",
                "file:///srv/%2e\t%2e/etc/passwd",
                "file:///e\ttc/passwd",
                " file:///etc/passwd",
                "fi\tle:///etc/passwd",
                "file:etc/passwd",
                "file://other/etc/passwd",
                "file:///srv/%252e%252e/etc/passwd",
                "file:///srv/{/../../etc/passwd",
                "file:///srv/{\t/../../etc/passwd",
                "file:/%2Fetc/passwd",
            ] {
                let params = json!({ "uri": uri });
                let answer = peer.answer("resources/read", params).await;
                assert!(answer["error"].is_object(), "{uri:?}: {answer}");
                let reference = json!({ "type": "ref/resource", "uri": uri });
                let argument = json!({ "name": "path", "value": "" });
                let params = json!({ "ref": reference, "argument": argument });
                let answer = peer.answer("completion/complete", params).await;
                assert!(answer["error"].is_object(), "{uri:?}: {answer}");
            }
        }
    }
    // Without rules for resources, the server decides.
    let policy = AccessPolicy::new().rule(AccessRule::deny("*").kind(ItemKind::Tool));
    let mut peer = Peer::session(guarded(policy).await, json!({})).await;
    let uri = json!({ "uri": "file:///srv/a?b" });
    peer.call("resources/read", uri).await;
}

/// A server reads the type of a reference, and the gateway looked at its members.
#[tokio::test]
async fn a_denied_prompt_cannot_be_completed() {
    let policy = AccessPolicy::new().rule(AccessRule::deny("open"));
    let mut peer = Peer::session(guarded(policy).await, json!({})).await;
    for reference in [
        json!({ "type": "ref/prompt", "name": "files__open" }),
        json!({ "type": "ref/prompt", "name": "open", "uri": "file:///srv/a" }),
        json!({ "type": "ref/resource", "name": "open", "uri": "file:///srv/a" }),
        json!({ "type": "ref/other", "name": "open", "uri": "file:///srv/a" }),
        json!({ "name": "open" }),
    ] {
        let argument = json!({ "name": "name", "value": "" });
        let params = json!({ "ref": reference, "argument": argument });
        peer.expect_error("completion/complete", params, -32602)
            .await;
    }
}

/// A subscription causes as many requests to servers as it names resources.
#[tokio::test]
async fn subscriptions_count_against_the_limits_of_a_client() {
    let limits = ClientLimits::new().with_requests_per_minute(5.try_into().unwrap());
    let gateway = Gateway::builder().mount("files", upstream(files(), true));
    let gateway = gateway.client_limits(limits).build().await.unwrap();
    let mut peer = Peer::new(gateway);
    let uris: Vec<_> = (0..64).map(|n| format!("file:///{n}")).collect();
    let listen = json!({ "notifications": { "resourceSubscriptions": uris } });
    peer.request("subscriptions/listen", listen.clone()).await;
    peer.wire
        .expect("notifications/subscriptions/acknowledged")
        .await;
    let error = peer.expect_error("subscriptions/listen", listen, -32603);
    says(&error.await, "requestsPerMinute");
    let call = json!({ "uri": "file:///1" });
    says(
        &peer.expect_error("resources/read", call, -32603).await,
        "requestsPerMinute",
    );
}

/// One client cannot take all subscriptions.
#[tokio::test]
async fn one_client_cannot_use_all_subscriptions() {
    let gateway = Gateway::builder().mount("files", upstream(files(), true));
    let endpoint = Endpoint::new(gateway.build().await.unwrap()).unwrap();
    let listen = json!({ "notifications": { "toolsListChanged": true } });
    let (first, other) = (at(&endpoint, "10.0.0.1:1"), at(&endpoint, "10.0.0.2:1"));
    let mut open = Vec::new();
    for id in 0..128 {
        let reply = first.call(id, "subscriptions/listen", listen.clone()).await;
        open.push(reply);
    }
    assert_eq!((endpoint.in_flight(), endpoint.subscriptions()), (0, 128));
    let refused = first
        .call(128, "subscriptions/listen", listen.clone())
        .await;
    says(&refused.json().await, "128 subscriptions");
    let mut reply = other.call(1, "subscriptions/listen", listen).await;
    assert!(reply.event().await.unwrap().json()["method"].is_string());
}

/// A stateless client at this address.
fn at(endpoint: &Endpoint, address: &str) -> StatelessPeer {
    let mut client = StatelessPeer::new(endpoint);
    client.peer.address = Some(address.parse().unwrap());
    client
}

/// Parked calls of one address must not use the whole limit.
#[tokio::test]
async fn one_address_cannot_use_all_parked_calls() {
    let asking = Server::builder("asks", "1").tool(Tool::new("ask", async |cx: Ctx| {
        cx.roots().await.map(|roots| roots.len().to_string())
    }));
    let proxy = Proxy::connect(upstream(asking, false)).await.unwrap();
    let endpoint = Endpoint::new(proxy).unwrap();
    let ask = async |address| {
        let reply = at(&endpoint, address).tool(1, "ask", json!({})).await;
        reply.json().await
    };
    for _ in 0..16 {
        assert!(ask("10.0.0.1:1").await["result"]["requestState"].is_string());
    }
    says(&ask("10.0.0.1:2").await, "too many parked calls");
    assert!(ask("10.0.0.2:1").await["result"]["requestState"].is_string());
}

/// Abandoned sessions, each with a connection, must not use all connections.
#[tokio::test]
async fn abandoned_sessions_of_one_address_do_not_use_all_connections() {
    let opened = Arc::new(AtomicUsize::new(0));
    let server = Server::builder("one", "1").tool(Tool::new("one", async || "1"));
    let (server, counter) = (server.build().unwrap(), Arc::clone(&opened));
    let connector = move |_: &mcp_host::StderrLog| {
        counter.fetch_add(1, Ordering::AcqRel);
        Ok(mcp_transport_stdio::in_memory(server.clone()))
    };
    let settings = mcp_gateway::Upstream::new("one", connector)
        .negotiation(Revision::LATEST_WITH_SESSIONS, Negotiation::SessionBased)
        .max_connections(8)
        .max_connections_per_client(4);
    let proxy = Proxy::connect(settings).await.unwrap();
    let endpoint = Endpoint::new(proxy).unwrap();
    let open = async |address: &str| {
        let mut peer = mcp_tests::http::Peer::new(&endpoint);
        peer.address = Some(address.parse().unwrap());
        peer.handshake("2025-11-25", json!({})).await;
        let answer = peer.ask("tools/call", json!({ "name": "one" })).await;
        assert!(answer["error"].is_null(), "{address}: {answer}");
        peer
    };
    let mut sessions = Vec::new();
    for address in ["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"] {
        for _ in 0..20 {
            sessions.push(open(address).await);
        }
    }
    // A session whose connection was closed continues with a new connection.
    let answer = sessions[0].ask("tools/call", json!({ "name": "one" }));
    assert!(answer.await["error"].is_null());
}

/// A server request for a cancelled call must not go to the next client.
#[tokio::test]
async fn a_server_request_of_a_cancelled_call_reaches_no_other_client() {
    let (settings, mut servers) = Scripted::upstream();
    let (proxy, _shared) = servers.proxy(settings.sharing(Sharing::All)).await;
    let capabilities = json!({ "elicitation": {} });
    let mut first = Peer::with(proxy.clone(), capabilities.clone());
    let id = first.request("tools/call", json!({ "name": "t" })).await;
    let (mut server, _) = servers.accept().await;
    server.expect("tools/call").await;
    first.wire.cancel(&id).await;
    server.expect("notifications/cancelled").await;

    let mut second = Peer::with(proxy, capabilities);
    second.request("tools/call", json!({ "name": "t" })).await;
    let (mut other, _) = servers.accept().await;
    other.expect("tools/call").await;
    // The connection of the cancelled call is closed, so the server cannot send the late request.
    server.ended().await;
    other
        .request("elicitation/create", json!({ "message": "Question of B" }))
        .await;
    let asked = second.wire.recv().await;
    let message = &asked["result"]["inputRequests"]["q1"]["params"]["message"];
    assert_eq!(message, "Question of B", "{asked}");
}

/// A log message of any call must not go to the only call that wants log messages.
#[tokio::test]
async fn a_log_message_is_delivered_only_if_its_call_is_certain() {
    let (settings, mut servers) = Scripted::upstream();
    let (proxy, mut shared) = servers.proxy(settings.sharing(Sharing::All)).await;
    let mut quiet = Peer::new(proxy.clone());
    quiet.request("tools/call", json!({ "name": "t" })).await;
    let of_quiet = shared.expect("tools/call").await;
    let mut curious = Peer::new(proxy);
    let level = json!({ "io.modelcontextprotocol/logLevel": "debug" });
    let call = json!({ "name": "t", "_meta": level });
    curious.request("tools/call", call).await;
    // A call that wants log messages does not share its connection.
    let (mut own, _) = servers.accept().await;
    own.respond("logging/setLevel", json!({})).await;
    let of_curious = own.expect("tools/call").await;
    let message = |text: &str| json!({ "level": "error", "data": text });
    shared
        .notify(
            "notifications/message",
            message("secret of the quiet client"),
        )
        .await;
    shared.answer(&of_quiet, json!({ "content": [] })).await;
    quiet.wire.recv().await;
    own.notify("notifications/message", message("own")).await;
    own.answer(&of_curious, json!({ "content": [] })).await;
    let logged = curious.wire.expect("notifications/message").await;
    assert_eq!(logged["params"]["data"], "own");
    assert!(curious.wire.recv().await["result"].is_object());
}

/// A server with endless pages must not fill the memory.
#[tokio::test]
async fn the_gateway_stops_reading_a_list_with_endless_pages() {
    let (settings, mut servers) = Scripted::upstream();
    let builder = Gateway::builder()
        .mount("a", settings)
        .search_above(10)
        // On a busy machine, the time must not end the list before its size does.
        .list_timeout(Duration::from_secs(600));
    let (gateway, mut server) = servers.gateway(builder).await;
    let client = connect_to(gateway.clone(), client(), true).await;
    let (mut pages, description) = (0, "x".repeat(1 << 20));
    let mut listing = client.list_tools().into_future();
    let tools = loop {
        let request = tokio::select! {
            tools = &mut listing => break tools.unwrap(),
            request = server.recv() => request,
        };
        pages += 1;
        assert!(pages < 20, "the gateway keeps too much");
        let schema = json!({ "type": "object" });
        let name = format!("t{pages}");
        let tool = json!({ "name": name, "description": description, "inputSchema": schema });
        let page = json!({ "tools": [tool], "nextCursor": format!("p{pages}") });
        server.answer(&request, page).await;
    };
    assert!(!tools.is_empty() && pages >= 8, "{pages} pages");
    drop(gateway);
}

/// A list of several servers is divided into pages, and nothing is lost.
#[tokio::test]
async fn a_page_of_the_gateway_has_a_limited_size_and_no_item_is_lost() {
    let mut builder = Gateway::builder();
    for name in ["a", "b", "c"] {
        let long = "x".repeat(1 << 20);
        let mut server = Server::builder(name, "1");
        for number in 0..2 {
            let tool = Tool::new(format!("{name}{number}"), async || "done");
            server = server.tool(tool.description(long.clone()));
        }
        builder = builder.mount(name, upstream(server, true));
    }
    let gateway = builder.build().await.unwrap();
    let mut peer = Peer::new(gateway.clone());
    let first = peer.call("tools/list", json!({})).await;
    assert_eq!(first["tools"].as_array().unwrap().len(), 2, "one server");
    assert!(first["nextCursor"].is_string());
    let tools = connect_to(gateway, client(), true).await;
    let tools = tools.list_tools().await.unwrap();
    let names: Vec<_> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(
        names,
        ["a__a0", "a__a1", "b__b0", "b__b1", "c__c0", "c__c1"]
    );
}

/// A client over HTTP at this address can park calls with an eighth of the memory.
#[tokio::test]
async fn one_address_cannot_use_all_memory_for_parked_calls() {
    let asking = Server::builder("asks", "1")
        .tool(Tool::new("ask", async |Args(_): Args<Echo>, cx: Ctx| {
            cx.roots().await.map(|roots| roots.len().to_string())
        }));
    let limits = mcp_gateway::ParkingLimits::default().with_max_bytes(8 * 1_000);
    let proxy = Proxy::connect(upstream(asking, false).parking(limits)).await;
    let endpoint = Endpoint::new(proxy.unwrap()).unwrap();
    let ask = async |address, bytes| {
        let arguments = json!({ "message": "x".repeat(bytes) });
        let reply = at(&endpoint, address).tool(1, "ask", arguments).await;
        reply.json().await
    };
    assert!(ask("10.0.0.1:1", 400).await["result"]["requestState"].is_string());
    says(&ask("10.0.0.1:1", 400).await, "for one client");
    assert!(ask("10.0.0.2:1", 400).await["result"]["requestState"].is_string());
    says(&ask("10.0.0.3:1", 1_000).await, "for one client");
}

/// A message that a server sends after its response belongs to the client of that response.
#[tokio::test]
async fn a_late_server_request_reaches_no_other_address() {
    let (settings, mut servers) = Scripted::upstream();
    let (proxy, _shared) = servers.proxy(settings.sharing(Sharing::All)).await;
    let endpoint = Endpoint::new(proxy).unwrap();
    let call = |address: &'static str| {
        let client = at(&endpoint, address);
        tokio::spawn(async move { client.tool(1, "t", json!({})).await.json().await })
    };
    let first = call("10.0.0.1:1");
    let (mut server, _) = servers.accept().await;
    server.respond("tools/call", json!({ "content": [] })).await;
    first.await.unwrap();
    let second = call("10.0.0.2:1");
    let (mut other, _) = servers.accept().await;
    other.respond("tools/call", json!({ "content": [] })).await;
    second.await.unwrap();
    let again = call("10.0.0.1:2");
    server.respond("tools/call", json!({ "content": [] })).await;
    again.await.unwrap();
}

/// Sessions that begin together wait for a connection instead of failing.
#[tokio::test]
async fn concurrent_new_sessions_of_one_address_are_all_served() {
    let server = Server::builder("one", "1").tool(Tool::new("one", async || "1"));
    let settings = upstream(server, false).max_connections_per_client(4);
    let endpoint = Endpoint::new(Proxy::connect(settings).await.unwrap()).unwrap();
    let mut sessions = tokio::task::JoinSet::new();
    for _ in 0..40 {
        let mut peer = mcp_tests::http::Peer::new(&endpoint);
        peer.address = Some("10.0.0.1:1".parse().unwrap());
        sessions.spawn(async move {
            peer.handshake("2025-11-25", json!({})).await;
            peer.ask("tools/call", json!({ "name": "one" })).await
        });
    }
    for answer in sessions.join_all().await {
        assert!(answer["error"].is_null(), "{answer}");
    }
}
