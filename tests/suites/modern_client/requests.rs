//! Messages of a client of a stateless server.

use mcp_client::KeepAlive;
use mcp_types::{GetPromptRequest, Root, SetLevelRequest, SubscribeRequest};

use super::{claims, client, closed, connected, round_trips};
use crate::peer::listing;
use crate::prelude::*;

// proves: M-META-008, M-CANC-005, M-CANC-011, M-STDIO-012
#[tokio::test(start_paused = true)]
async fn the_log_level_is_sent_with_every_request() {
    let (mut wire, client) = connected(client(), json!({ "tools": {}, "logging": {} })).await;
    let level = "io.modelcontextprotocol/logLevel";
    let list = || spawned(&client, |client| async move { client.list_tools().await });
    let listing = list();
    let request = wire.recv_patiently().await;
    assert_eq!(request["params"]["_meta"][level], Value::Null);
    wire.answer(&request, json!({ "tools": [] })).await;
    listing.await.unwrap().unwrap();
    client.set_log_level(LoggingLevel::Warning).await.unwrap();
    let listing = list();
    let request = wire.next("tools/list").await;
    assert_eq!(request["params"]["_meta"][level], "warning");
    // Dropping a call cancels it by its id.
    listing.abort();
    let cancelled = wire.next("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
}

#[tokio::test(start_paused = true)]
async fn a_log_level_is_an_error_for_servers_without_logging() {
    let (_wire, client) = connected(client(), json!({})).await;
    assert_fails!(
        client.set_log_level(LoggingLevel::Info).await,
        Error::Unsupported { .. }
    );
    assert!(client.require::<SetLevelRequest>().is_err());
    assert!(client.require::<GetPromptRequest>().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_ping_sends_server_discover() {
    let (mut wire, client) = connected(client(), json!({})).await;
    let pinging = tokio::spawn(async move { client.ping().await });
    let request = super::welcome(&mut wire, json!({})).await;
    claims(&request);
    pinging.await.unwrap().unwrap();

    let interval = Duration::from_secs(30);
    let kept = super::client().keep_alive(KeepAlive::new(interval, 2));
    let (mut wire, client) = connected(kept, json!({})).await;
    super::welcome(&mut wire, json!({})).await;
    for _ in 0..2 {
        wire.next("server/discover").await;
    }
    assert!(client.closed().await.is_local());
}

// proves: M-ROOT-009, M-ROOT-002
#[tokio::test(start_paused = true)]
async fn roots_may_change_without_a_notification_on_the_stateless_revision() {
    let roots = client().roots([Root::new("file:///a")]);
    let (mut wire, client) = connected(roots, json!({ "tools": {} })).await;
    client.set_roots([Root::new("file:///b")]).unwrap();
    let listing = listing(&client);
    let request = wire.next("tools/list").await;
    let meta = &request["params"]["_meta"];
    let capabilities = &meta["io.modelcontextprotocol/clientCapabilities"];
    assert_eq!(capabilities["roots"], json!({}));
    drop(listing);
}

// proves: M-STDIO-007, M-STDIO-008
#[tokio::test(start_paused = true)]
async fn a_stateless_client_answers_no_server_requests() {
    let asked = client().on_elicit(async |form| form.decline());
    let (mut wire, client) = connected(asked, json!({ "tools": {} })).await;
    wire.request("ping", Value::Null).await;
    wire.request("elicitation/create", json!({ "message": "?" }))
        .await;
    wire.send(json!({ "jsonrpc": "2.0", "id": 7, "method": 8 }))
        .await;
    wire.send(json!([{ "jsonrpc": "2.0", "id": 9, "method": "ping" }]))
        .await;
    let listing = listing(&client);
    wire.respond("tools/list", json!({ "tools": [] })).await;
    listing.await.unwrap().unwrap();
}

// proves: M-META-006
#[tokio::test(start_paused = true)]
async fn a_client_may_omit_its_name() {
    let (mut wire, transport) = PipeEnd::server();
    let connecting = tokio::spawn(client().anonymous().connect(transport));
    let probe = super::welcome(&mut wire, json!({})).await;
    let meta = &probe["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"], Value::Null);
    claims(&probe);
    connecting.await.unwrap().unwrap();
}

// proves: M-DISC-013
#[tokio::test(start_paused = true)]
async fn members_unknown_to_the_revision_are_not_sent() {
    let resources = json!({ "resources": { "subscribe": true } });
    let (wire, client) = connected(client(), resources).await;
    let params = serde_json::from_value(json!({ "uri": "a:b" })).unwrap();
    assert_fails!(
        client.request::<SubscribeRequest>(&params).await,
        Error::Unsupported { .. }
    );
    assert_fails!(client.list_tools().await, Error::Unsupported { .. });
    closed(client, wire).await;
}

#[tokio::test(start_paused = true)]
async fn prompts_and_resources_may_send_input_requests() {
    let (mut wire, client) = connected(
        round_trips::accepting(),
        json!({ "prompts": {}, "resources": {} }),
    )
    .await;
    let getting = spawned(&client, |client| async move {
        client.get_prompt("p").arguments([("a", "b")]).await
    });
    wire.answer_next(round_trips::asks_for("?")).await;
    let retry = wire.next("prompts/get").await;
    assert_eq!(retry["params"]["arguments"], json!({ "a": "b" }));
    wire.answer(&retry, json!({ "resultType": "complete", "messages": [] }))
        .await;
    getting.await.unwrap().unwrap();

    let reading = tokio::spawn(async move { client.read_resource("a:b").await });
    wire.answer_next(round_trips::asks(
        json!({ "q": round_trips::form("?") }),
        json!("s"),
    ))
    .await;
    let retry = wire.recv_patiently().await;
    assert_eq!(retry["params"]["uri"], "a:b");
    assert_eq!(retry["params"]["requestState"], "s");
    wire.answer(&retry, json!({ "contents": [] })).await;
    reading.await.unwrap().unwrap();
}
