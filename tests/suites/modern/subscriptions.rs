//! `subscriptions/listen`.

use std::sync::{Arc, Mutex};

use mcp_server::{Change, Server, Tool};
use mcp_tests::everything;
use serde_json::{Value, json};

use super::{Peer, text};

fn id_of(message: &Value) -> &Value {
    &message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"]
}

async fn listen(peer: &mut Peer, filter: Value) -> (Value, Value) {
    let params = peer.params(json!({ "notifications": filter }));
    let id = peer.wire.request("subscriptions/listen", params).await;
    let acknowledged = peer
        .wire
        .expect("notifications/subscriptions/acknowledged")
        .await;
    assert_eq!(id_of(&acknowledged), &id);
    (id, acknowledged["params"]["notifications"].clone())
}

// proves: M-SUB-001, M-SUB-002, M-SUB-003, M-SUB-004, M-SUB-005, M-SUB-007, M-SUB-009, M-SUB-011, M-SUB-012, M-SUB-017, M-META-017
#[tokio::test]
async fn a_subscription_hears_what_it_asked_for_under_its_id() {
    let server = everything::server();
    let mut peer = Peer::new(server.clone());
    let filter = json!({
        "toolsListChanged": true,
        "promptsListChanged": false,
        "resourceSubscriptions": ["test://watched-resource", "test://none"]
    });
    let (first, honoured) = listen(&mut peer, filter).await;
    assert_eq!(
        honoured,
        json!({ "toolsListChanged": true, "resourceSubscriptions": ["test://watched-resource"] })
    );
    let (second, honoured) = listen(&mut peer, json!({ "promptsListChanged": true })).await;
    assert_eq!(honoured, json!({ "promptsListChanged": true }));
    assert_eq!(server.subscribers(), 2);

    server.deliver(&Change::Prompts);
    server.deliver(&Change::Resources);
    server.resource_updated("test://watched-resource");
    server.resource_updated("test://other");
    server.deliver(&Change::Tools);
    let heard = peer.wire.expect("notifications/prompts/list_changed").await;
    assert_eq!(id_of(&heard), &second);
    let heard = peer.wire.expect("notifications/resources/updated").await;
    assert_eq!(
        (id_of(&heard), &heard["params"]["uri"]),
        (&first, &json!("test://watched-resource"))
    );
    let heard = peer.wire.expect("notifications/tools/list_changed").await;
    assert_eq!(id_of(&heard), &first);

    peer.wire
        .notify("notifications/cancelled", json!({ "requestId": first }))
        .await;
    text(&peer.tool("test_simple_text", json!({})).await);
    assert_eq!(server.subscribers(), 1);
    server.deliver(&Change::Tools);
    text(&peer.tool("test_simple_text", json!({})).await);

    let broken = peer.answer("subscriptions/listen", json!({})).await;
    assert_eq!(broken["error"]["code"], -32602, "{broken}");
    let many: Vec<String> = (0..1_025).map(|n| format!("test://{n}")).collect();
    let params = json!({ "notifications": { "resourceSubscriptions": many } });
    let refused = peer.answer("subscriptions/listen", params).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
}

// proves: M-SUB-013, M-SUB-014
#[tokio::test]
async fn a_server_that_closes_ends_subscriptions_with_a_result() {
    let server = everything::server();
    let mut peer = Peer::new(server.clone());
    let (id, _) = listen(&mut peer, json!({ "toolsListChanged": true })).await;
    mcp_protocol::Service::closing(&server);
    let end = peer.wire.recv().await;
    assert_eq!(end["id"], id);
    assert_eq!(end["result"]["resultType"], "complete");
    let meta = &end["result"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/subscriptionId"], id);
    assert_eq!(
        meta["io.modelcontextprotocol/serverInfo"]["name"],
        "everything"
    );
    assert_eq!(server.subscribers(), 0);
}

#[tokio::test]
async fn what_is_not_announced_is_not_honoured() {
    let tool = Tool::new("t", || "x");
    let mut peer = Peer::new(Server::new("s", "1").tool(tool).announce_changes(false));
    let wanted = json!({ "toolsListChanged": true, "resourcesListChanged": true });
    let (_, honoured) = listen(&mut peer, wanted).await;
    assert_eq!(honoured, json!({}));
}

#[tokio::test]
async fn a_bus_carries_changes_and_every_process_delivers_what_it_hears() {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let bus = Arc::clone(&sent);
    let server = Server::new("s", "1")
        .tool(Tool::new("t", || "x"))
        .change_bus(move |change| bus.lock().unwrap().push(change));
    let mut peer = Peer::new(server.clone());
    let (id, _) = listen(&mut peer, json!({ "toolsListChanged": true })).await;
    server.add_tools([Tool::new("u", || "y")]).unwrap();
    assert_eq!(
        *sent.lock().unwrap(),
        [Change::Tools],
        "nothing but the bus hears of it"
    );
    text(&peer.tool("u", json!({})).await);
    server.deliver(&Change::Tools);
    let heard = peer.wire.expect("notifications/tools/list_changed").await;
    assert_eq!(id_of(&heard), &id);
}
