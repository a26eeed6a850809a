//! Messages that reach other clients, or fill the memory.

use super::*;

/// The result of a stateless server with these members.
fn stateless(members: Value) -> Value {
    let mut result = json!({ "resultType": "complete", "ttlMs": 0, "cacheScope": "private" });
    for (name, value) in members.as_object().into_iter().flatten() {
        result[name] = value.clone();
    }
    result
}

/// A server may send messages of a call after its response, at any time.
#[tokio::test]
async fn a_log_message_after_a_response_reaches_no_other_client() {
    let (settings, mut servers) = Scripted::upstream();
    let settings = settings
        .sharing(Sharing::Principal)
        .negotiation(Revision::LATEST, Negotiation::Stateless);
    let connecting = tokio::spawn(Proxy::connect(settings));
    let mut server = servers.0.recv().await.unwrap();
    let capabilities = json!({ "tools": {}, "logging": {} });
    let found = json!({ "supportedVersions": ["2026-07-28"], "capabilities": capabilities });
    server.respond("server/discover", stateless(found)).await;
    let tools = stateless(json!({ "tools": [] }));
    server.respond("tools/list", tools).await;
    let endpoint = Endpoint::new(connecting.await.unwrap().unwrap()).unwrap();
    let level = "io.modelcontextprotocol/logLevel";
    let alice = at(&endpoint, "10.0.0.1:1").with_meta(level, "debug");
    let bob = at(&endpoint, "10.0.0.2:1").with_meta(level, "debug");

    let done = stateless(json!({ "content": [] }));
    let of_alice = tokio::spawn(async move { alice.tool(1, "t", json!({})).await.json().await });
    server.respond("tools/call", done.clone()).await;
    assert!(of_alice.await.unwrap()["result"].is_object());

    let of_bob = tokio::spawn(async move {
        let mut reply = bob.tool(1, "t", json!({})).await;
        let mut messages = Vec::new();
        match reply.headers["content-type"] == "application/json" {
            true => messages.push(reply.json().await),
            false => {
                while let Some(event) = reply.event().await {
                    messages.push(event.json());
                }
            }
        }
        messages
    });
    let call = server.expect("tools/call").await;
    let late = json!({ "level": "error", "data": "late secret of alice" });
    server.notify("notifications/message", late).await;
    server.answer(&call, done).await;
    let messages = of_bob.await.unwrap();
    assert!(
        !json!(messages).to_string().contains("secret"),
        "{messages:?}"
    );
    assert!(
        messages.last().unwrap()["result"].is_object(),
        "{messages:?}"
    );
}

/// A handler that blocks makes a server stop reading.
#[tokio::test]
async fn notifications_to_a_server_that_does_not_read_are_bounded() {
    const SENT: usize = 64;
    const BYTES: usize = 32 << 10;
    const QUEUED: usize = 512 << 10;
    let (settings, mut servers) = Scripted::upstream();
    let (proxy, _shared) = servers.proxy(settings).await;
    let mut client = Peer::session(proxy, json!({})).await;
    let call = json!({ "name": "t" });
    client.request("tools/call", call.clone()).await;
    let (mut server, _) = servers.accept().await;
    server.respond("tools/call", json!({ "content": [] })).await;
    assert!(client.wire.recv().await["result"].is_object());

    let large = json!({ "text": "x".repeat(64 << 10) });
    client.wire.notify("notifications/large", large).await;
    let text = "x".repeat(BYTES);
    for number in 0..SENT {
        let params = json!({ "number": number, "text": text });
        client.wire.notify("notifications/foo", params).await;
    }
    // All of them were received by the gateway.
    client.silent().await;
    // The server reads again, and the next message after them is the call.
    client.request("tools/call", call).await;
    let mut queued = 0;
    let next = loop {
        let message = server.recv().await;
        if message["method"] != "notifications/foo" {
            break message;
        }
        queued += message["params"]["text"].as_str().unwrap().len();
    };
    assert_eq!(next["method"], "tools/call");
    assert!(queued >= BYTES, "notifications are forwarded");
    assert!(queued <= QUEUED, "{queued} bytes");
    server.answer(&next, json!({ "content": [] })).await;
    assert!(client.wire.recv().await["result"].is_object());
}

/// The pipe to a program keeps the bytes of a cancelled request until they are written.
#[tokio::test]
async fn cancelled_calls_count_as_queued_while_the_server_does_not_read() {
    const SESSIONS: usize = 16;
    let (settings, mut servers) = Scripted::upstream();
    let (proxy, _shared) = servers.proxy(settings).await;
    let small = json!({ "name": "t" });
    let large = json!({ "name": "t", "arguments": { "text": "x".repeat(3_400_000) } });
    let mut open = Vec::new();
    let refused = 'refused: loop {
        assert!(open.len() < SESSIONS, "large calls are never refused");
        let mut client = Peer::session(proxy.clone(), json!({})).await;
        client.request("tools/call", small.clone()).await;
        let (mut server, _) = servers.accept().await;
        server.respond("tools/call", json!({ "content": [] })).await;
        assert!(client.wire.recv().await["result"].is_object());
        for _ in 0..2 {
            let id = client.request("tools/call", large.clone()).await;
            client.request("ping", json!({})).await;
            let response = client.wire.recv().await;
            if response["id"] == id {
                break 'refused response;
            }
            let cancel = json!({ "requestId": id });
            client.wire.notify("notifications/cancelled", cancel).await;
        }
        open.push((client, server));
    };
    says(&refused, "messages that the server has not read");
    assert!(open.len() > 4, "{} sessions", open.len());
    // What closed connections kept is free again.
    drop(open);
    let mut client = Peer::session(proxy, json!({})).await;
    client.request("tools/call", large).await;
    let (mut server, _) = servers.accept().await;
    server.respond("tools/call", json!({ "content": [] })).await;
    assert!(client.wire.recv().await["result"].is_object());
}

/// Previously, a new session ended the lists and completions of stateless clients.
#[tokio::test]
async fn a_new_session_ends_no_request_on_the_shared_connection() {
    let (settings, mut servers) = Scripted::upstream();
    let connecting = tokio::spawn(Proxy::connect(settings));
    let capabilities = json!({ "completions": {}, "prompts": {}, "tools": {} });
    let (mut shared, _) = servers.accept_with(capabilities.clone()).await;
    shared.respond("tools/list", json!({ "tools": [] })).await;
    let proxy = connecting.await.unwrap().unwrap();
    let mut stateless = Peer::new(proxy.clone());
    for method in ["completion/complete", "prompts/list"] {
        let reference = json!({ "type": "ref/prompt", "name": "p" });
        let argument = json!({ "name": "a", "value": "" });
        let params = json!({ "ref": reference, "argument": argument });
        stateless.request(method, params).await;
        let slow = shared.expect(method).await;
        let opening = Peer::session(proxy.clone(), json!({}));
        let mut session = opening.await;
        session.request("tools/call", json!({ "name": "t" })).await;
        let (mut own, _) = servers.accept_with(capabilities.clone()).await;
        own.respond("tools/call", json!({ "content": [] })).await;
        assert!(session.wire.recv().await["result"].is_object());
        let result = json!({ "completion": { "values": ["v"] }, "prompts": [] });
        shared.answer(&slow, result).await;
        let answer = stateless.wire.recv().await;
        assert!(answer["result"].is_object(), "{method}: {answer}");
    }
}

/// Hosts that ignore case would read the second member, which no rule has checked.
#[tokio::test]
async fn a_listed_item_keeps_only_the_uri_member_that_was_checked() {
    let (settings, mut servers) = Scripted::upstream();
    let gateway = Gateway::builder().mount("notes", settings);
    let gateway = gateway.access(AccessPolicy::new().rule(AccessRule::deny("bank://*")));
    let building = tokio::spawn(gateway.build());
    let (mut server, _) = servers.accept_with(json!({ "resources": {} })).await;
    let item = r#"{"name":"a","uri":"notes://a","URI":"bank://accounts"}"#;
    let answer = async {
        loop {
            let request = server.recv().await;
            let (id, list) = (&request["id"], &request["method"]);
            let items = match list.as_str().unwrap() {
                "resources/list" => format!(r#""resources":[{item}]"#),
                _ => r#""resourceTemplates":[]"#.to_owned(),
            };
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{{items}}}}}"#);
            server.raw(&text).await;
        }
    };
    let read = async {
        let gateway = building.await.unwrap().unwrap();
        let mut peer = Peer::new(gateway);
        peer.call("resources/list", json!({})).await
    };
    let list = tokio::select! {
        list = read => list,
        () = answer => unreachable!(),
    };
    assert_eq!(
        list["resources"],
        json!([{ "name": "a", "uri": "notes://a" }])
    );
}
