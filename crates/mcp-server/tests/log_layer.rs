//! The layer that sends `tracing` events to clients.

use mcp_server::testing::{TestClient, block_on};
use mcp_server::{LogLayer, Revision, Server, Tool};
use serde_json::{Value, json};
use tracing::Instrument as _;
use tracing::subscriber::with_default;
use tracing_subscriber::layer::SubscriberExt as _;

fn server() -> Server {
    let quiet = Tool::new("quiet", || tracing::debug!("below the level"));
    let sync = Tool::new("sync", || tracing::info!(user = "ada", "saved"));
    let later = Tool::new("later", async || {
        let work = async { tracing::warn!(target: "mcp_notes::store", "slow") };
        std::future::ready(()).await;
        tracing::info_span!("inner").in_scope(|| tracing::info!(target: "mcp_server", "own"));
        work.in_current_span().await;
    });
    let server = Server::builder("s", "1").tools([quiet, sync, later]);
    server.build().expect("a valid server")
}

fn messages(client: &TestClient) -> Vec<Value> {
    let messages = client.heard().into_iter();
    messages
        .filter(|(method, _)| method == "notifications/message")
        .map(|(_, params)| params)
        .collect()
}

#[test]
fn an_event_goes_only_to_the_client_whose_request_caused_it() {
    for revision in [Revision::LATEST_WITH_SESSIONS, Revision::LATEST] {
        let subscriber = tracing_subscriber::registry().with(LogLayer::new());
        let server = server();
        let client = || TestClient::at(revision, server.clone());
        let (ada, alan) = (client(), client());
        with_default(subscriber, || {
            block_on(alan.call_tool("quiet", json!({}))).unwrap();
            block_on(ada.call_tool("sync", json!({}))).unwrap();
            block_on(ada.call_tool("later", json!({}))).unwrap();
            tracing::error!("outside of requests");
        });
        let heard = messages(&ada);
        let found: Vec<&Value> = heard.iter().map(|it| &it["data"]["message"]).collect();
        assert_eq!(found, ["saved", "slow"], "{revision}");
        assert_eq!(heard[0]["data"]["user"], "ada");
        assert_eq!(heard[1]["logger"], "mcp_notes::store");
        let quiet = messages(&alan);
        assert!(
            quiet
                .iter()
                .all(|it| it["data"]["message"] == "below the level"),
            "{quiet:?}"
        );
    }
}

#[test]
fn events_outside_of_requests_are_broadcast_only_on_demand() {
    let server = server();
    let client = TestClient::at(Revision::LATEST_WITH_SESSIONS, server.clone());
    block_on(client.call_tool("quiet", json!({}))).unwrap();
    let silent = tracing_subscriber::registry().with(LogLayer::new());
    with_default(silent, || tracing::error!("kept"));
    let loud = tracing_subscriber::registry().with(LogLayer::new().broadcast(&server));
    with_default(loud, || tracing::error!("sent"));
    let heard = messages(&client);
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert_eq!(heard[0]["data"]["message"], "sent");
}
