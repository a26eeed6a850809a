//! Arguments that are repeated in headers.

use super::client;
use super::http::{call, listing, pair, refusal};
use crate::prelude::*;
use crate::scripted::Exchange;
use crate::traced::Traced;

fn annotated(header: &str) -> Value {
    let region = json!({ "type": "string", "x-mcp-header": header });
    let schema = json!({ "type": "object", "properties": { "region": region } });
    json!({ "name": "query", "inputSchema": schema })
}

// proves: M-HDR-002, M-HDR-003, M-HDR-013, M-HDR-023, M-HDR-029
#[tokio::test(start_paused = true)]
async fn annotated_arguments_have_headers_in_every_round_trip() {
    let asked = client().on_elicit(async |form| form.decline());
    let (mut server, client) = pair(asked, json!({ "tools": {} })).await;
    let listed = listing(&client);
    let mut bad = annotated("no token");
    bad["name"] = json!("bad");
    let tools = json!({ "tools": [annotated("Region"), bad] });
    server.next().await.answer(tools);
    assert_eq!(listed.await.unwrap().unwrap(), ["query"]);
    let calling = call(&client, "query", json!({ "region": "eu ", "other": 1 }));
    let exchange = server.next().await;
    assert_eq!(exchange.header("mcp-param-region"), Some("=?base64?ZXUg?="));
    exchange.answer(json!({ "resultType": "input_required", "requestState": "s" }));
    let exchange = server.next().await;
    assert_eq!(exchange.body["params"]["requestState"], "s");
    assert_eq!(exchange.header("mcp-param-region"), Some("=?base64?ZXUg?="));
    assert_eq!(exchange.header("mcp-name"), Some("query"));
    exchange.answer(json!({ "content": [] }));
    calling.await.unwrap().unwrap();
}

// proves: M-HDR-024
#[tokio::test(start_paused = true)]
async fn a_header_mismatch_lists_the_tools_and_repeats_the_call_once() {
    let (mut server, client) = pair(client(), json!({ "tools": {} })).await;
    let refuse = |exchange: Exchange| {
        exchange.refuse(400, refusal(-32020, Value::Null));
    };
    // The tool was never listed, so its header parameters are unknown.
    let calling = call(&client, "query", json!({ "region": "eu" }));
    let exchange = server.next().await;
    assert_eq!(exchange.header("mcp-param-region"), None);
    refuse(exchange);
    let exchange = server.next().await;
    assert_eq!(exchange.body["method"], "tools/list");
    let result = json!({ "tools": [annotated("Region")], "ttlMs": 60_000 });
    exchange.answer(result.clone());
    let exchange = server.next().await;
    assert_eq!(exchange.header("mcp-param-region"), Some("eu"));
    exchange.answer(json!({ "content": [] }));
    calling.await.unwrap().unwrap();
    // If the new list is the same, the error is returned.
    let calling = call(&client, "query", json!({ "region": "eu" }));
    refuse(server.next().await);
    let exchange = server.next().await;
    assert_eq!(exchange.body["method"], "tools/list", "not from the cache");
    exchange.answer(result);
    assert_eq!(refused(calling.await.unwrap()).code.0, -32020);
    server.done_with(client).await;
}

// proves: M-HDR-014
#[tokio::test(start_paused = true)]
async fn an_omitted_tool_is_logged_with_name_and_reason() {
    let (traced, _guard) = Traced::start();
    let (mut server, client) = pair(client(), json!({ "tools": {} })).await;
    let listing = listing(&client);
    let broken = json!({ "type": "string", "x-mcp-header": "not a token" });
    let schema = json!({ "type": "object", "properties": { "region": broken } });
    let tools = json!([{ "name": "unfit", "inputSchema": schema }]);
    let result =
        json!({ "resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private" });
    server.next().await.answer(result);
    assert!(listing.await.unwrap().unwrap().is_empty());
    let line = traced.line("unfit").expect("a line");
    assert!(
        line.contains("not a token") && line.contains("region"),
        "{line}"
    );
}
