//! The example `orders`: one handler, run as a function, over stdio and over HTTP, on every
//! revision.

#[path = "../examples/orders.rs"]
mod orders;

use mcp_server::{Ask, State};
use mcp_transport_http::serve_layered;
use orders::{Confirm, Orders, cancel_order, server};

use crate::prelude::*;

#[tokio::test]
async fn the_handler_can_be_called_as_a_function() {
    let orders = Orders::sample();
    let no = Ask(Confirm { sure: false });
    assert!(cancel_order(7, no, State(orders.clone())).await.is_err());
    let yes = || Ask(Confirm { sure: true });
    let receipt = cancel_order(7, yes(), State(orders.clone())).await.unwrap();
    assert_eq!((receipt.0.order, receipt.0.refund), (7, 1_250));
    assert!(cancel_order(7, yes(), State(orders.clone())).await.is_err());
    assert_eq!(orders.len(), 1);
}

const YES: &str = r#"{"action":"accept","content":{"sure":true}}"#;

fn answer() -> Value {
    serde_json::from_str(YES).unwrap()
}

fn check(result: &Value, orders: &Orders) {
    assert_eq!(result["content"][0]["type"], "text", "{result}");
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, json!({ "order": 7, "refund": 1_250 }));
    assert_eq!(orders.len(), 1, "it was done once");
}

#[tokio::test]
async fn the_example_works_over_a_pipe_at_every_revision() {
    let params = json!({ "name": "cancel_order", "arguments": { "order": 7 } });
    for revision in Revision::WITH_SESSIONS {
        let orders = Orders::sample();
        let capabilities = json!({ "elicitation": {} });
        let mut wire = PipeEnd::open(server(orders.clone()), revision.as_str(), capabilities).await;
        let id = wire.request("tools/call", params.clone()).await;
        let message = wire.recv().await;
        if !revision.rules().elicitation {
            // The client cannot be asked, so the order stays.
            assert_eq!(message["result"]["isError"], true, "{message}");
            assert_eq!(orders.len(), 2);
            continue;
        }
        assert_eq!(message["params"]["message"], "Really cancel the order?");
        wire.answer(&message, answer()).await;
        let done = wire.recv().await;
        assert_eq!(done["id"], id);
        check(&done["result"], &orders);
    }
    let orders = Orders::sample();
    let mut wire = PipeEnd::to(server(orders.clone()));
    let mut params = params;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} }
    });
    let asked = wire.call("tools/call", params.clone()).await;
    let (key, question) = asked["inputRequests"]
        .as_object()
        .unwrap()
        .iter()
        .next()
        .unwrap();
    assert_eq!(question["params"]["message"], "Really cancel the order?");
    params["inputResponses"] = json!({ key: answer() });
    check(&wire.call("tools/call", params).await, &orders);
}

/// Serves the example behind its authentication layer. Returns the URL and the database.
async fn serve() -> (String, Orders) {
    let orders = Orders::sample();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let endpoint = Endpoint::new(server(orders.clone())).unwrap();
    let door = orders::door(&url).unwrap();
    let serving = serve_layered(
        listener,
        endpoint,
        move |site| door.layer(site),
        std::future::pending::<()>(),
    );
    tokio::spawn(serving);
    (url, orders)
}

async fn call(url: &str, token: &str) -> Result<CallToolResult, Error> {
    let client = Client::builder("clerk", "1")
        .on_elicit(async |form| form.accept(json!({ "sure": true })))
        .connect(HttpTransport::new(url).unwrap().bearer(token).unwrap())
        .await?;
    client
        .call_tool("cancel_order", json!({ "order": 7 }))
        .await
}

#[tokio::test]
async fn the_example_works_over_http_with_the_required_scope() {
    let (url, orders) = serve().await;
    fails_with(call(&url, "stranger").await, "401");
    fails_with(
        call(&url, "reader").await,
        "needs the scope \"orders:write\"",
    );
    assert_eq!(orders.len(), 2);
    let done = call(&url, "clerk").await.unwrap();
    check(&serde_json::to_value(done).unwrap(), &orders);
}
