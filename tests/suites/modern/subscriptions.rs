//! `subscriptions/listen`.

use mcp_server::Change;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use super::{Peer, named, text};
use crate::prelude::*;

const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

fn id_of(message: &Value) -> &Value {
    &message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"]
}

async fn listen(peer: &mut Peer, filter: Value) -> (Value, Value) {
    let params = peer.params(json!({ "notifications": filter }));
    let id = peer.wire.request("subscriptions/listen", params).await;
    let acknowledged = peer.wire.expect(ACKNOWLEDGED).await;
    assert_eq!(id_of(&acknowledged), &id);
    (id, acknowledged["params"]["notifications"].clone())
}

// proves: M-SUB-001, M-SUB-002, M-SUB-003, M-SUB-004, M-SUB-005, M-SUB-007, M-SUB-009, M-SUB-011, M-SUB-012, M-SUB-017, M-META-017
#[tokio::test]
async fn a_subscription_receives_its_notifications_under_its_id() {
    let server = everything::server().build().unwrap();
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
    server.resources().updated("test://watched-resource");
    server.resources().updated("test://other");
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

    peer.wire.cancel(&first).await;
    text(&peer.tool("test_simple_text", json!({})).await);
    assert_eq!(server.subscribers(), 1);
    server.deliver(&Change::Tools);
    text(&peer.tool("test_simple_text", json!({})).await);

    peer.expect_error("subscriptions/listen", json!({}), -32602)
        .await;
    let many: Vec<String> = (0..1_025).map(|n| format!("test://{n}")).collect();
    let params = json!({ "notifications": { "resourceSubscriptions": many } });
    peer.expect_error("subscriptions/listen", params, -32602)
        .await;
}

// proves: M-SUB-013, M-SUB-014, M-CANC-002, M-CANC-012, M-CANC-019, M-CANC-020
#[tokio::test]
async fn a_closing_server_ends_subscriptions_with_a_result_and_a_cancellation() {
    let server = everything::server().build().unwrap();
    let mut peer = Peer::new(server.clone());
    let (first, _) = listen(&mut peer, json!({ "toolsListChanged": true })).await;
    let params = peer.params(json!({ "notifications": {} }));
    let request =
        json!({ "jsonrpc": "2.0", "id": "s", "method": "subscriptions/listen", "params": params });
    peer.wire.send(request).await;
    peer.wire.expect(ACKNOWLEDGED).await;
    mcp_protocol::Service::closing(&server);
    let mut ends = Vec::new();
    for _ in 0..4 {
        ends.push(peer.wire.recv().await);
    }
    for id in [first, json!("s")] {
        let about = |message: &&Value| message["id"] == id || message["params"]["requestId"] == id;
        let said: Vec<&Value> = ends.iter().filter(about).collect();
        let result = &said[0]["result"];
        assert_eq!(result["resultType"], "complete", "{said:?}");
        let meta = &result["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/subscriptionId"], id);
        assert_eq!(
            meta["io.modelcontextprotocol/serverInfo"]["name"],
            "everything"
        );
        let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
        assert_eq!(said[1..], [&cancelled], "{said:?}");
    }
    assert_eq!(server.subscribers(), 0);
    server.deliver(&Change::Tools);
    peer.silent().await;
}

// proves: M-CANC-003, M-SUB-012
#[tokio::test]
async fn a_subscription_that_the_client_ends_gets_no_response_and_no_end_notification() {
    let server = everything::server().build().unwrap();
    let mut peer = Peer::new(server.clone());
    let (id, _) = listen(&mut peer, json!({ "toolsListChanged": true })).await;
    peer.wire.cancel(&id).await;
    peer.silent().await;
    mcp_protocol::Service::closing(&server);
    server.deliver(&Change::Tools);
    peer.silent().await;
}

// proves: M-TOOL-013, M-PROMPT-007, M-RES-008, M-RES-002, M-SUB-006, M-LOG-005
#[tokio::test]
async fn each_change_is_notified_at_once_to_its_subscription() {
    let loud = Tool::new("loud", |cx: Ctx| {
        cx.progress(1.0, None);
        cx.log(LoggingLevel::Emergency, "only for the caller");
        "done"
    });
    let server = everything::server().tool(loud).build().unwrap();
    let mut peer = Peer::new(server.clone());
    let all = json!({ "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true });
    let (id, honoured) = listen(&mut peer, all.clone()).await;
    assert_eq!(honoured, all);
    let params = peer.params(named("loud", json!({})));
    text(&peer.wire.call("tools/call", params).await);

    server.tools().add([Tool::new("new", || "x")]).unwrap();
    let heard = peer.wire.expect("notifications/tools/list_changed").await;
    assert_eq!(id_of(&heard), &id);
    server.prompts().add([Prompt::new("new", || "x")]).unwrap();
    let heard = peer.wire.expect("notifications/prompts/list_changed").await;
    assert_eq!(id_of(&heard), &id);
    server
        .resources()
        .add([Resource::text("x://new", "new", "x")])
        .unwrap();
    // A notification of one subscription may arrive before the acknowledgement of another.
    let params = peer.params(json!({ "notifications": { "toolsListChanged": true } }));
    let second = peer.wire.request("subscriptions/listen", params).await;
    let heard = peer
        .wire
        .expect("notifications/resources/list_changed")
        .await;
    assert_eq!(id_of(&heard), &id);
    assert_eq!(id_of(&peer.wire.expect(ACKNOWLEDGED).await), &second);
    peer.silent().await;

    for (subscribe, announce) in [(true, true), (true, false), (false, true), (false, false)] {
        let mut peer = Peer::new(everything::announcing(subscribe, announce));
        let told = peer.call("server/discover", json!({})).await;
        let resources = &told["capabilities"]["resources"];
        assert_eq!(resources["subscribe"] == true, subscribe, "{resources}");
        assert_eq!(resources["listChanged"] == true, announce, "{resources}");
        let filter = json!({ "resourcesListChanged": true, "resourceSubscriptions": ["test://static-text"] });
        let (_, honoured) = listen(&mut peer, filter).await;
        assert_eq!(honoured["resourcesListChanged"] == true, announce);
        assert_eq!(honoured["resourceSubscriptions"].is_array(), subscribe);
    }
}

#[tokio::test]
async fn a_bus_distributes_changes_and_every_process_delivers_them() {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let bus = Arc::clone(&sent);
    let server = Server::builder("s", "1")
        .tool(Tool::new("t", || "x"))
        .change_bus(move |change| bus.lock().unwrap().push(change))
        .build()
        .unwrap();
    let mut peer = Peer::new(server.clone());
    let (id, _) = listen(&mut peer, json!({ "toolsListChanged": true })).await;
    server.tools().add([Tool::new("u", || "y")]).unwrap();
    assert_eq!(
        *sent.lock().unwrap(),
        [Change::Tools],
        "only the bus receives the change"
    );
    text(&peer.tool("u", json!({})).await);
    server.deliver(&Change::Tools);
    let heard = peer.wire.expect("notifications/tools/list_changed").await;
    assert_eq!(id_of(&heard), &id);
}

/// A host that closes many programs does not wait for the time limit of each.
#[tokio::test(start_paused = true)]
async fn a_subscription_does_not_delay_the_end_of_a_server_whose_input_has_ended() {
    let (client, server) = tokio::io::duplex(64 << 10);
    let (input, output) = tokio::io::split(server);
    let serving = mcp_transport_stdio::serve_io(everything::server(), input, output);
    let serving = tokio::spawn(serving);
    let (read, mut write) = tokio::io::split(client);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let request = json!({
        "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen",
        "params": { "notifications": { "toolsListChanged": true }, "_meta": meta },
    });
    let line = format!("{request}\n");
    write.write_all(line.as_bytes()).await.unwrap();
    let mut lines = BufReader::new(read).lines();
    let acknowledged = lines.next_line().await.unwrap().unwrap();
    assert!(acknowledged.contains(ACKNOWLEDGED), "{acknowledged}");
    let start = tokio::time::Instant::now();
    write.shutdown().await.unwrap();
    serving.await.unwrap().unwrap();
    let took = start.elapsed();
    assert!(took < Duration::from_millis(100), "{took:?}");
}
