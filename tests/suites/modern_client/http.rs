//! The same over HTTP, where headers repeat values of the body and a missing response proves
//! nothing.

use mcp_tests::network::Network;
use mcp_transport_http::ClientOptions;
use tokio::time::Instant;

use crate::prelude::*;

use super::listen::subscribe;
use super::{REVISION, client, discovered};
use crate::scripted::{Exchange, HttpServer, Wired, wired};

type Connecting = JoinHandle<Result<Client, Error>>;

fn http(wired: Wired) -> HttpTransport {
    let options = ClientOptions::new().with_random(|| 0);
    let http = HttpTransport::new("http://server.test/mcp").unwrap();
    http.service(wired).options(options)
}

/// A client that has just sent the probe.
async fn probing(builder: ClientBuilder) -> (HttpServer, Connecting, Exchange) {
    let (wired, mut server) = wired();
    let connecting = tokio::spawn(builder.connect(http(wired)));
    let probe = server.next().await;
    assert_eq!(probe.body["method"], "server/discover");
    (server, connecting, probe)
}

pub(super) async fn pair(builder: ClientBuilder, capabilities: Value) -> (HttpServer, Client) {
    let (server, connecting, probe) = probing(builder).await;
    probe.answer(discovered(&[REVISION], capabilities));
    (server, connecting.await.unwrap().unwrap())
}

pub(super) fn refusal(code: i64, data: Value) -> Value {
    json!({ "code": code, "message": "no", "data": data })
}

pub(super) fn listing(client: &Client) -> JoinHandle<Result<Vec<String>, Error>> {
    let client = client.clone();
    tokio::spawn(async move {
        let tools = client.list_tools().await?;
        Ok(tools.into_iter().map(|tool| tool.name).collect())
    })
}

pub(super) fn call(
    client: &Client,
    name: &'static str,
    arguments: Value,
) -> JoinHandle<Result<(), Error>> {
    spawned(client, |client| async move {
        client.call_tool(name, arguments).await.map(|_| ())
    })
}

/// Answers the handshake, which must be the next request.
async fn shakes_hands(mut server: HttpServer, connecting: Connecting) {
    let exchange = server.next().await;
    assert_eq!(exchange.body["method"], "initialize");
    assert_eq!(exchange.header("mcp-protocol-version"), None);
    assert_eq!(exchange.header("mcp-method"), None);
    let info = json!({ "name": "old", "version": "0" });
    let result = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info });
    exchange.answer(result);
    let client = connecting.await.unwrap().unwrap();
    assert!(!client.revision().is_stateless());
    let initialized = server.next().await;
    assert_eq!(
        initialized.header("mcp-protocol-version"),
        Some("2025-11-25")
    );
    initialized.status(202);
}

// proves: M-VER-016, M-HTTP-052, M-HTTP-054, M-HTTP-061
#[tokio::test(start_paused = true)]
async fn other_responses_to_the_probe_lead_to_a_handshake() {
    for status in [400, 404, 405, 406, 415, 422] {
        let (server, connecting, probe) = probing(client()).await;
        probe.respond(status, "text/plain", "what?");
        shakes_hands(server, connecting).await;
    }
    for (status, code) in [(200, -32601), (404, -32601), (400, -32000), (400, -32602)] {
        let (server, connecting, probe) = probing(client()).await;
        probe.refuse(status, refusal(code, Value::Null));
        shakes_hands(server, connecting).await;
        // A server whose error has no id.
        let (server, connecting, probe) = probing(client()).await;
        probe.refuse_as(status, Value::Null, refusal(code, Value::Null));
        shakes_hands(server, connecting).await;
    }
    for (status, media, body) in [
        (202, "text/plain", ""),
        (200, "text/html", "<html>"),
        (200, "application/json", "[]"),
        (200, "application/json", "{\"ok\": true}"),
    ] {
        let (server, connecting, probe) = probing(client()).await;
        probe.respond(status, media, body);
        shakes_hands(server, connecting).await;
    }
}

// proves: M-HTTP-053, M-VER-004, M-VER-010
#[tokio::test(start_paused = true)]
async fn a_rejected_revision_that_the_server_lists_is_tried_once_more() {
    for with_id in [true, false] {
        let (mut server, connecting, probe) = probing(client()).await;
        let first = probe.body["id"].clone();
        let data = json!({ "supported": [REVISION], "requested": REVISION });
        let id = if with_id { first.clone() } else { Value::Null };
        probe.refuse_as(400, id, refusal(-32022, data));
        let again = server.next().await;
        assert_eq!(again.body["method"], "server/discover");
        assert_ne!(again.body["id"], first);
        again.answer(discovered(&[REVISION], json!({})));
        let client = connecting.await.unwrap().unwrap();
        assert!(client.revision().is_stateless());
    }
    let (server, connecting, probe) = probing(client()).await;
    let data = json!({ "supported": ["2025-11-25"], "requested": REVISION });
    probe.refuse(400, refusal(-32022, data));
    shakes_hands(server, connecting).await;

    for code in [-32020, -32021] {
        let (mut server, connecting, probe) = probing(client()).await;
        probe.refuse(400, refusal(code, json!({})));
        assert_eq!(refused(connecting.await.unwrap()).code.0, code);
        server.is_done().await;
    }
}

#[tokio::test(start_paused = true)]
async fn missing_credentials_end_the_negotiation() {
    for status in [401, 407] {
        for body in [
            "",
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"x"}}"#,
        ] {
            let (mut server, connecting, probe) = probing(client()).await;
            probe.respond(status, "application/json", body);
            let error = connecting.await.unwrap().unwrap_err();
            let text = error.to_string();
            assert!(matches!(error, Error::Connect { .. }), "{status}: {text}");
            assert!(text.contains(&status.to_string()), "{text}");
            server.is_done().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn inconclusive_probe_responses_lead_to_a_handshake() {
    let body = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"x"}}"#;
    for status in [403, 408, 429, 500, 501, 502, 503] {
        for body in ["", body] {
            let (server, connecting, probe) = probing(client()).await;
            probe.respond(status, "application/json", body);
            shakes_hands(server, connecting).await;
        }
    }
    let (server, connecting, probe) = probing(client()).await;
    probe.break_off();
    shakes_hands(server, connecting).await;
    let (server, connecting, probe) = probing(client()).await;
    drop(probe.stream());
    shakes_hands(server, connecting).await;

    // The server accepts the probe and never answers it, or never ends its stream.
    for answers in [false, true] {
        let began = Instant::now();
        let (server, connecting, probe) = probing(client()).await;
        let (probe, stream) = match answers {
            true => (None, Some(probe.stream())),
            false => (Some(probe), None),
        };
        shakes_hands(server, connecting).await;
        assert_eq!(began.elapsed(), Duration::from_secs(5), "probe_timeout");
        drop((probe, stream));
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_handshake_reports_the_failed_probe() {
    let (mut server, connecting, probe) = probing(client()).await;
    probe.respond(503, "text/plain", "overloaded");
    server.next().await.respond(500, "text/plain", "broken");
    let error = connecting.await.unwrap().unwrap_err();
    assert!(error.is_retryable());
    let text = error.to_string();
    for part in [
        "500",
        "broken",
        "server/discover failed before",
        "503",
        "overloaded",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert!(!text.contains("executed"), "{text}");
    server.is_done().await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_requires_the_stateless_revision_reports_the_http_status() {
    for (status, negotiation) in [
        (503, Negotiation::Stateless),
        (
            403,
            Negotiation::Prior(mcp_client::KnownVersion::of(Revision::LATEST)),
        ),
    ] {
        let (mut server, connecting, probe) = probing(client().negotiation(negotiation)).await;
        probe.respond(status, "text/plain", "no");
        let error = connecting.await.unwrap().unwrap_err().to_string();
        assert!(error.contains(&status.to_string()), "{error}");
        server.is_done().await;
    }
}

// proves: M-HTTP-007, M-HTTP-008, M-HTTP-009, M-HTTP-010, M-HTTP-011, M-HTTP-031, M-HTTP-032
// proves: M-HTTP-038, M-HTTP-039, M-HTTP-051
#[tokio::test(start_paused = true)]
async fn each_message_is_a_post_whose_headers_echo_its_body_without_a_session() {
    let (mut server, connecting, probe) = probing(client()).await;
    let check = |exchange: &Exchange, method: &str, name: Option<&str>| {
        assert_eq!(exchange.head.method, Method::POST);
        assert_eq!(exchange.body["method"], method);
        assert_eq!(exchange.header("mcp-method"), Some(method));
        assert_eq!(exchange.header("mcp-name"), name);
        assert_eq!(exchange.header("mcp-protocol-version"), Some(REVISION));
        assert_eq!(exchange.header("mcp-session-id"), None);
        let accept = exchange.header("accept").unwrap();
        assert!(accept.contains("application/json") && accept.contains("text/event-stream"));
    };
    check(&probe, "server/discover", None);
    let everything = json!({ "tools": {}, "prompts": {}, "resources": {} });
    let result = discovered(&[REVISION], everything);
    probe.answer_with("mcp-session-id", "4711", result);
    let client = connecting.await.unwrap().unwrap();

    let listed = listing(&client);
    let exchange = server.next().await;
    check(&exchange, "tools/list", None);
    exchange.answer(json!({ "tools": [] }));
    listed.await.unwrap().unwrap();
    let called = call(&client, "naïve", json!({}));
    let exchange = server.next().await;
    check(&exchange, "tools/call", Some("=?base64?bmHDr3Zl?="));
    let stream = exchange.stream();
    let result = json!({ "content": [] });
    stream.answer(result).await;
    called.await.unwrap().unwrap();
    let read = spawned(&client, |client| async move {
        client.read_resource("file:///a").await
    });
    let exchange = server.next().await;
    check(&exchange, "resources/read", Some("file:///a"));
    exchange.answer(json!({ "contents": [] }));
    read.await.unwrap().unwrap();
    let got = spawned(&client, |client| async move {
        client.get_prompt("p").arguments([("a", "b")]).await
    });
    let exchange = server.next().await;
    check(&exchange, "prompts/get", Some("p"));
    exchange.answer(json!({ "messages": [] }));
    got.await.unwrap().unwrap();

    client.close().await.unwrap();
    server.done_with(client).await;
}

// proves: M-HTTP-063, M-CANC-001
#[tokio::test(start_paused = true)]
async fn the_end_of_the_stream_is_the_cancellation() {
    let (mut server, client) = pair(client(), json!({ "tools": {} })).await;
    let calling = call(&client, "slow", json!({}));
    let stream = server.next().await.stream();
    tokio::task::yield_now().await;
    calling.abort();
    stream.abandoned().await;
    server.done_with(client).await;
}

// proves: M-HTTP-012, M-HTTP-025, M-HTTP-026, M-HTTP-027
#[tokio::test(start_paused = true)]
async fn a_broken_stream_fails_its_call() {
    let (mut server, client) = pair(client(), json!({ "tools": {} })).await;
    let calling = call(&client, "a", json!({}));
    let stream = server.next().await.stream();
    stream.raw(": alive\n\n").await;
    stream.raw("id: 7\nretry: 1\ndata:\n\n").await;
    // The client does not answer this.
    let question = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    stream.raw(&format!("data: {question}\n\n")).await;
    drop(stream);
    let error = calling.await.unwrap().unwrap_err().to_string();
    assert!(error.contains("before the response"), "{error}");
    assert!(error.contains("may have run"), "{error}");
    // Requests without side effects are not repeated either.
    let listed = listing(&client);
    server.next().await.break_off();
    assert!(listed.await.unwrap().is_err());
    server.done_with(client).await;
}

// proves: M-HTTP-065
#[tokio::test(start_paused = true)]
async fn a_404_with_an_unknown_method_error_fails_only_its_call() {
    let (mut server, client) = pair(client(), json!({ "tools": {} })).await;
    let listed = listing(&client);
    let exchange = server.next().await;
    exchange.refuse(404, refusal(-32601, Value::Null));
    assert_eq!(refused(listed.await.unwrap()).code.0, -32601);
    server.done_with(client).await;
}

// proves: M-SUB-012, M-SUB-015
#[tokio::test(start_paused = true)]
async fn an_interrupted_stream_of_changes_is_opened_again() {
    let capabilities = json!({ "resources": { "subscribe": true } });
    let (mut server, client) = pair(client(), capabilities).await;
    let subscribing = subscribe(&client, "a:/1");
    let mut stream = server.next().await.listen().await;
    let mut subscription = subscribing.await.unwrap().unwrap();
    for n in 0..20 {
        let params = json!({ "uri": format!("a:/1/{n}") });
        stream.tell("notifications/resources/updated", params).await;
        assert_eq!(subscription.next().await.unwrap(), format!("a:/1/{n}"));
        drop(stream);
        stream = server.next().await.listen().await;
    }
    drop(subscription);
    stream.abandoned().await;
    server.done_with(client).await;
}

#[tokio::test(start_paused = true)]
async fn a_subscription_that_keeps_failing_is_abandoned() {
    let capabilities = json!({ "resources": { "subscribe": true } });
    let (mut server, client) = pair(client(), capabilities).await;
    let subscribing = subscribe(&client, "a:/1");
    let stream = server.next().await.listen().await;
    let mut subscription = subscribing.await.unwrap().unwrap();
    drop(stream);
    let began = Instant::now();
    let mut tries = 0;
    let watching = tokio::spawn(async move { subscription.next().await });
    while !watching.is_finished() {
        match server.next_within(Duration::from_secs(60)).await {
            Some(exchange) => {
                exchange.respond(503, "text/plain", "");
                tries += 1;
            }
            None => break,
        }
    }
    assert_eq!(watching.await.unwrap(), None);
    assert_eq!(tries, 16);
    assert!(began.elapsed() > Duration::from_secs(60));
}

/// A client of a real server, without a socket.
async fn of_everything(builder: ClientBuilder) -> (Client, Network) {
    let endpoint = Endpoint::new(everything::server()).unwrap();
    let network = Network::to(&endpoint);
    let http = HttpTransport::new("http://localhost/mcp").unwrap();
    let connecting = builder.connect(http.service(network.clone()));
    (connecting.await.unwrap(), network)
}

#[tokio::test]
async fn a_client_gets_the_same_results_on_both_kinds_of_revisions() {
    let account = json!({ "username": "octocat", "email": "o@example.com" });
    for negotiation in [Negotiation::Auto, Negotiation::SessionBased] {
        let account = account.clone();
        let host = client()
            .negotiation(negotiation)
            .on_elicit(move |form| std::future::ready(form.accept(account.clone())))
            .on_sample(async |ask| Ok(ask.reply("model", "hello")));
        let (client, network) = of_everything(host).await;
        let is_stateless = negotiation == Negotiation::Auto;
        assert_eq!(client.revision().is_stateless(), is_stateless);
        assert!(!client.list_tools().await.unwrap().is_empty());
        let arguments = json!({ "message": "who?" });
        let said = client
            .call_tool("test_elicitation", arguments)
            .await
            .unwrap();
        assert!(said.joined_text().contains("octocat"), "{said:?}");
        let arguments = json!({ "prompt": "?" });
        assert_eq!(
            called(&client, "test_sampling", arguments).await,
            "LLM response: hello"
        );
        client.close().await.unwrap();
        let (_, others) = network.requests();
        assert_eq!(
            others == 0,
            is_stateless,
            "only sessions need other methods"
        );
    }
}
