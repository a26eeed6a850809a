//! The client's cache of results.

use mcp_client::CacheLimits;
use mcp_types::{ReadResourceResult, Tool};
use tokio::time::advance;

use super::{client, connected};
use crate::peer::listing;
use crate::prelude::*;

async fn pair(builder: ClientBuilder) -> (PipeEnd, Client) {
    connected(builder, json!({ "tools": {}, "resources": {} })).await
}

fn read(client: &Client, uri: &'static str) -> JoinHandle<Result<ReadResourceResult, Error>> {
    let call = client.read_resource(uri);
    tokio::spawn(async move { call.await })
}

fn tools(ttl: i64, names: &[&str], next: Option<&str>) -> Value {
    let tool = |name: &&str| json!({ "name": name, "inputSchema": { "type": "object" } });
    let tools: Vec<Value> = names.iter().map(tool).collect();
    let mut page = json!({ "resultType": "complete", "tools": tools, "ttlMs": ttl,
        "cacheScope": "private" });
    if let Some(next) = next {
        page["nextCursor"] = json!(next);
    }
    page
}

async fn names(listing: JoinHandle<Result<Vec<Tool>, Error>>) -> Vec<String> {
    let tools = listing.await.unwrap().unwrap();
    tools.into_iter().map(|tool| tool.name).collect()
}

/// Answers the next request, which must be `tools/list`, and returns its cursor.
async fn serve(wire: &mut PipeEnd, page: Value) -> Value {
    let request = wire.next("tools/list").await;
    wire.answer(&request, page).await;
    request["params"]["cursor"].clone()
}

// proves: M-CACHE-006, M-CACHE-010, M-CACHE-011
#[tokio::test(start_paused = true)]
async fn a_stale_list_is_fetched_again_when_it_is_requested() {
    let (mut wire, client) = pair(client()).await;
    let listed = listing(&client);
    serve(&mut wire, tools(60_000, &["a"], None)).await;
    assert_eq!(names(listed).await, ["a"]);
    assert_eq!(names(listing(&client)).await, ["a"], "without a request");
    advance(Duration::from_secs(60)).await;
    let listed = listing(&client);
    serve(&mut wire, tools(0, &["b"], None)).await;
    assert_eq!(names(listed).await, ["b"]);
    let listed = listing(&client);
    serve(&mut wire, tools(0, &["c"], None)).await;
    assert_eq!(names(listed).await, ["c"], "it was stale at once");
}

// proves: M-CACHE-020, M-CACHE-022, M-CACHE-023
#[tokio::test(start_paused = true)]
async fn each_page_has_a_separate_time_to_live() {
    let (mut wire, client) = pair(client()).await;
    let listed = listing(&client);
    serve(&mut wire, tools(60_000, &["a"], Some("2"))).await;
    serve(&mut wire, tools(10_000, &["b"], None)).await;
    assert_eq!(names(listed).await, ["a", "b"]);
    advance(Duration::from_secs(30)).await;
    let listed = listing(&client);
    assert_eq!(serve(&mut wire, tools(10_000, &["c"], None)).await, "2");
    assert_eq!(names(listed).await, ["a", "c"]);
    client.clear_cache();
    let listed = listing(&client);
    assert_eq!(serve(&mut wire, tools(0, &["d"], None)).await, Value::Null);
    assert_eq!(names(listed).await, ["d"]);
}

// proves: M-CACHE-024
#[tokio::test(start_paused = true)]
async fn a_cursor_that_became_invalid_leads_back_to_the_first_page() {
    let (mut wire, client) = pair(client()).await;
    let listed = listing(&client);
    serve(&mut wire, tools(60_000, &["a"], Some("2"))).await;
    serve(&mut wire, tools(0, &["b"], None)).await;
    listed.await.unwrap().unwrap();
    let listed = listing(&client);
    let request = wire.recv_patiently().await;
    assert_eq!(request["params"]["cursor"], "2");
    wire.refuse(&request, -32602, "no such page").await;
    let cursor = serve(&mut wire, tools(0, &["c"], Some("3"))).await;
    assert_eq!(cursor, Value::Null);
    let request = wire.recv_patiently().await;
    wire.refuse(&request, -32602, "nor this one").await;
    assert!(listed.await.unwrap().is_err(), "once is enough");
}

// proves: M-CACHE-004
#[tokio::test(start_paused = true)]
async fn results_after_input_requests_are_not_cached() {
    let asked = client().on_elicit(async |form| form.decline());
    let (mut wire, client) = pair(asked).await;
    let kept = json!({ "contents": [], "ttlMs": 60_000, "cacheScope": "public" });
    for _ in 0..2 {
        let reading = read(&client, "a:b");
        let request = wire.recv_patiently().await;
        let state = json!({ "resultType": "input_required", "requestState": "s", "ttlMs": 60_000 });
        wire.answer(&request, state).await;
        wire.answer_next(kept.clone()).await;
        reading.await.unwrap().unwrap();
    }
}

// proves: M-CACHE-003
#[tokio::test(start_paused = true)]
async fn results_are_cached_separately_for_each_resource() {
    let (mut wire, client) = pair(client()).await;
    for uri in ["a:1", "a:2"] {
        let reading = read(&client, uri);
        let request = wire.recv_patiently().await;
        assert_eq!(request["params"]["uri"], uri);
        let content = json!({ "uri": uri, "text": uri });
        wire.answer(&request, json!({ "contents": [content], "ttlMs": 60_000 }))
            .await;
        reading.await.unwrap().unwrap();
    }
    for uri in ["a:1", "a:2"] {
        let result = read(&client, uri).await.unwrap().unwrap();
        let result = serde_json::to_value(result).unwrap();
        assert_eq!(result["contents"][0]["text"], uri);
    }
}

#[tokio::test(start_paused = true)]
async fn the_cache_can_be_bypassed_or_disabled() {
    let (mut wire, client) = pair(client()).await;
    let listed = listing(&client);
    serve(&mut wire, tools(60_000, &["a"], None)).await;
    listed.await.unwrap().unwrap();
    let again = client.clone();
    let asking = tokio::spawn(async move {
        let params = mcp_types::PaginatedRequestParams::default();
        let call = again.request::<mcp_types::ListToolsRequest>(&params);
        call.fresh().await
    });
    serve(&mut wire, tools(60_000, &["b"], None)).await;
    asking.await.unwrap().unwrap();
    assert_eq!(names(listing(&client)).await, ["b"]);

    let (mut wire, client) = pair(super::client().cache(CacheLimits::NONE)).await;
    for _ in 0..2 {
        let listed = listing(&client);
        serve(&mut wire, tools(60_000, &["a"], None)).await;
        listed.await.unwrap().unwrap();
    }
}

// proves: M-CACHE-013
#[tokio::test(start_paused = true)]
async fn an_error_about_an_unknown_tool_makes_the_tool_list_stale() {
    let (mut wire, client) = pair(client()).await;
    let listed = listing(&client);
    serve(&mut wire, tools(60_000, &["a"], None)).await;
    listed.await.unwrap().unwrap();
    let calling = spawned(&client, |client| async move {
        client.call_tool("a", Value::Null).await
    });
    let request = wire.recv_patiently().await;
    wire.refuse(&request, -32602, "unknown tool").await;
    calling.await.unwrap().unwrap_err();
    let listed = listing(&client);
    serve(&mut wire, tools(60_000, &["b"], None)).await;
    assert_eq!(names(listed).await, ["b"]);
}
