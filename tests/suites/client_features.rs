//! How a client sends calls and reads the server's messages.

use mcp_client::Timeouts;
use mcp_types::TextContent;

use crate::peer::{accept, calling, client, listing};
use crate::prelude::*;

// proves: SCHEMA-009, ELIC-039
#[tokio::test]
async fn the_required_urls_of_an_error_are_decoded() {
    let (mut wire, client) = PipeEnd::with_tools(client()).await;
    let call = calling(&client, "t");
    let request = wire.expect("tools/call").await;
    let elicitation =
        json!({ "mode": "url", "message": "m", "url": "https://x.y/", "elicitationId": "i" });
    let error = json!({ "code": -32042, "message": "first this", "data": { "elicitations": [elicitation] } });
    wire.send(json!({ "jsonrpc": "2.0", "id": request["id"], "error": error }))
        .await;
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(error.required_urls().unwrap()[0].url, "https://x.y/");
}

// proves: TOOL-001, TOOL-009, TOOL-015, TOOL-038, TOOL-046, M-TOOL-001, M-TOOL-009, M-TOOL-018, M-TOOL-036, M-TOOL-042
#[tokio::test]
async fn the_host_approves_each_call_whatever_the_hints_say() {
    let builder =
        client().approve(|name, arguments| name == "echo" && arguments["message"] != "no");
    let client = connect(builder, everything::server()).await.unwrap();
    assert_eq!(
        called(&client, "echo", json!({ "message": "yes" })).await,
        "yes"
    );
    // `add` claims to be read-only, which does not skip the approval.
    for (name, arguments) in [
        ("echo", json!({ "message": "no" })),
        ("add", json!({ "a": 1, "b": 2 })),
    ] {
        assert_fails!(
            client.call_tool(name, arguments).await,
            Error::Invalid { .. }
        );
    }
    assert!(client.call_tool("echo", json!([1])).await.is_err());
}

// proves: TOOL-031, TOOL-048, BASE-025, M-TOOL-032, M-TOOL-043
#[tokio::test]
async fn structured_output_is_checked_and_decoded() {
    #[derive(serde::Deserialize)]
    struct Weather {
        temperature: f64,
    }
    let built = connect(client(), everything::server()).await.unwrap();
    built.list_tools().await.unwrap();
    let call = built.call_tool("get_weather", json!({ "location": "Rome" }));
    let weather: Weather = call.decoded().await.unwrap();
    assert_eq!(weather.temperature, 21.5);
    #[derive(serde::Deserialize, Debug)]
    struct Wrong {
        #[expect(dead_code, reason = "never decoded")]
        temperature: String,
    }
    let call = built.call_tool("get_weather", json!({ "location": "Rome" }));
    let place = "/structuredContent/temperature";
    fails_with(call.decoded::<Wrong>().await, place);
    let call = built.call_tool("test_error_handling", json!({}));
    fails_with(call.decoded::<Weather>().await, "intentionally");
    let (mut wire, client) = PipeEnd::with_tools(client()).await;
    let listing = listing(&client);
    let request = wire.expect("tools/list").await;
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    let tool = json!({ "name": "t", "inputSchema": { "type": "object" }, "outputSchema": schema });
    wire.answer(&request, json!({ "tools": [tool] })).await;
    listing.await.unwrap().unwrap();
    for (result, fine) in [
        (
            json!({ "content": [], "structuredContent": { "n": 1 } }),
            true,
        ),
        (
            json!({ "content": [], "structuredContent": { "n": "1" } }),
            false,
        ),
        (json!({ "content": [] }), false),
        (json!({ "content": [], "isError": true }), true),
        (json!({ "content": 5 }), false),
    ] {
        let client = client.clone();
        let call = calling(&client, "t");
        wire.respond("tools/call", result.clone()).await;
        let called = call.await.unwrap();
        assert_eq!(called.is_ok(), fine, "{result}");
        // The tool has run, so its result is part of the error.
        if let Err(Error::Output { result: kept, .. }) = called {
            assert_eq!(json!(kept), result);
        } else {
            assert!(fine || result["content"] == 5, "{called:?}");
        }
    }
}

// The pages of one list are kept together, so they have one limit, estimated before a page is decoded.
#[tokio::test]
async fn a_list_that_needs_too_much_memory_is_an_error() {
    let builder = client().max_list_bytes(1 << 20);
    let (mut wire, client) = PipeEnd::with_tools(builder).await;
    let listing = listing(&client);
    // Small text that needs much memory.
    let objects: Vec<Value> = (0..500).map(|n| json!({ "a": n })).collect();
    let schema = json!({ "type": "object", "examples": objects });
    for page in 0..2 {
        let request = wire.expect("tools/list").await;
        let tool = json!({ "name": format!("t{page}"), "inputSchema": schema });
        let page = json!({ "tools": [tool], "nextCursor": format!("{page}") });
        wire.answer(&request, page).await;
    }
    let request = wire.expect("tools/list").await;
    let tool = json!({ "name": "t2", "inputSchema": schema });
    wire.answer(&request, json!({ "tools": [tool] })).await;
    let error = listing.await.unwrap().unwrap_err().to_string();
    assert!(error.contains("ClientBuilder::max_list_bytes"), "{error}");
}

// proves: PAGE-001, PAGE-007, PAGE-008, PAGE-009, PAGE-010, PROMPT-020, M-PAGE-001, M-PAGE-005, M-PAGE-006, M-PAGE-007, M-PROMPT-014, M-PAGE-008
#[tokio::test]
async fn lists_are_read_to_their_last_page_with_unchanged_cursors() {
    let builder = client().strictness(Strictness::Strict);
    let (mut wire, client) = PipeEnd::with_tools(builder).await;
    let listing = listing(&client);
    let tool = |n: usize| json!({ "name": format!("t{n}"), "inputSchema": { "type": "object" } });
    let pages = [
        (0, Some("")),
        (1, Some("ünï\"\n\u{0}🎉")),
        (50, Some("x")),
        (0, None),
    ];
    let mut expected = None;
    for (count, next) in pages {
        let request = wire.expect("tools/list").await;
        assert_eq!(
            request["params"].get("cursor").and_then(Value::as_str),
            expected
        );
        let mut result = json!({ "tools": (0..count).map(tool).collect::<Vec<_>>() });
        if let Some(next) = next {
            result["nextCursor"] = json!(next);
        }
        wire.answer(&request, result).await;
        expected = next;
    }
    assert_eq!(listing.await.unwrap().unwrap().len(), 51);
}

#[tokio::test]
async fn a_repeated_cursor_is_an_error_for_a_strict_client() {
    let builder = client().strictness(Strictness::Strict);
    let (mut wire, client) = PipeEnd::with_tools(builder).await;
    let listing = listing(&client);
    for _ in 0..2 {
        wire.respond("tools/list", json!({ "tools": [], "nextCursor": "again" }))
            .await;
    }
    fails_with(listing.await.unwrap(), "repeats a cursor");
}

// proves: PAGE-011
#[tokio::test]
async fn cursors_do_not_outlive_their_session() {
    let server = everything::server().page_size(1).build().unwrap();
    for _ in 0..2 {
        let client = connect(client(), server.clone()).await.unwrap();
        assert!(client.list_prompts().await.unwrap().len() >= 4);
        client.close().await.unwrap();
    }
}

// proves: ICON-006, ICON-007, ICON-005
#[tokio::test]
async fn icons_with_unsafe_uris_are_dropped() {
    let (mut wire, client) = PipeEnd::with_tools(client()).await;
    let listing = listing(&client);
    let request = wire.expect("tools/list").await;
    let icons: Vec<Value> = [
        "https://example.com/a.png",
        "data:image/png;base64,AAAA",
        "http://example.com/a.png",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "ftp://x/y",
        "ws://x",
        "app:icon",
        "",
        "\u{0}https://x",
    ]
    .map(|src| json!({ "src": src }))
    .to_vec();
    let tool = json!({ "name": "t", "inputSchema": { "type": "object" }, "icons": icons });
    wire.answer(&request, json!({ "tools": [tool] })).await;
    let tools = listing.await.unwrap().unwrap();
    let kept: Vec<_> = tools[0]
        .icons
        .as_ref()
        .unwrap()
        .iter()
        .map(|icon| &*icon.src)
        .collect();
    assert_eq!(
        kept,
        ["https://example.com/a.png", "data:image/png;base64,AAAA"]
    );
}

// proves: RES-015, RES-017, ROOT-021
#[tokio::test]
async fn dropping_a_subscription_unsubscribes_from_the_resource() {
    let resources = json!({ "resources": { "subscribe": true } });
    let (mut wire, client) = PipeEnd::accept(client(), "2025-11-25", resources).await;
    let subscribing = spawned(&client, |client| async move {
        client.subscribe("test://dir").await
    });
    let request = wire.expect("resources/subscribe").await;
    // An update directly after the response is not lost.
    wire.answer(&request, json!({})).await;
    for uri in [
        "test://dir",
        "test://directory",
        "test://dir/part",
        "test://other",
    ] {
        wire.notify("notifications/resources/updated", json!({ "uri": uri }))
            .await;
    }
    let mut subscription = subscribing.await.unwrap().unwrap();
    assert_eq!(subscription.next().await.as_deref(), Some("test://dir"));
    assert_eq!(
        subscription.next().await.as_deref(),
        Some("test://dir/part")
    );
    drop(subscription);
    let request = wire.expect("resources/unsubscribe").await;
    assert_eq!(request["params"]["uri"], "test://dir");
    wire.answer(&request, json!({})).await;
    let subscribing = spawned(&client, |client| async move {
        client.subscribe("test://no").await
    });
    let request = wire.expect("resources/subscribe").await;
    wire.refuse(&request, -32002, "no such resource").await;
    assert!(subscribing.await.unwrap().is_err());
    wire.silent().await;
    let (mut wire, client) = accept(self::client()).await;
    assert!(matches!(
        client.subscribe("x:y").await,
        Err(Error::Unsupported { .. })
    ));
    wire.silent().await;
}

/// The requests that end subscriptions must neither fill the table of requests in flight nor fail when it is full.
#[tokio::test]
async fn dropped_subscriptions_are_ended_a_few_at_a_time() {
    let resources = json!({ "resources": { "subscribe": true } });
    let (mut wire, client) = PipeEnd::accept(client(), "2025-11-25", resources).await;
    let subscribe = |uri: String| {
        spawned(
            &client,
            move |client| async move { client.subscribe(uri).await },
        )
    };
    let mut open = Vec::new();
    for number in 0..40 {
        let subscribing = subscribe(format!("test://{number}"));
        wire.respond("resources/subscribe", json!({})).await;
        open.push(subscribing.await.unwrap().unwrap());
    }
    drop(open);
    let mut ending = Vec::new();
    for _ in 0..8 {
        ending.push(wire.expect("resources/unsubscribe").await);
    }
    wire.silent().await;
    // A resource in the queue is subscribed to again.
    let subscribing = subscribe("test://39".to_owned());
    wire.respond("resources/subscribe", json!({})).await;
    let again = subscribing.await.unwrap().unwrap();
    // The server may process the request in flight late.
    let subscribing = subscribe("test://0".to_owned());
    wire.silent().await;
    wire.answer(&ending.remove(0), json!({})).await;
    let mut ended = 8;
    loop {
        let request = wire.recv().await;
        let is_subscribe = request["method"] == "resources/subscribe";
        ended += usize::from(!is_subscribe);
        assert_ne!(request["params"]["uri"], "test://39", "{request}");
        wire.answer(&request, json!({})).await;
        if let Some(waiting) = ending.pop() {
            wire.answer(&waiting, json!({})).await;
        }
        if ended == 39 {
            break;
        }
    }
    subscribing.await.unwrap().unwrap();
    assert_eq!(again.uri(), "test://39");
}

#[tokio::test(start_paused = true)]
async fn the_total_timeout_of_a_list_applies_to_all_pages_together() {
    let capabilities = json!({ "prompts": {}, "resources": {} });
    let (mut wire, client) = PipeEnd::accept(client(), "2025-11-25", capabilities).await;
    let seconds = Duration::from_secs;
    let call = client.list_prompts();
    let call = call.timeouts(Timeouts::new(seconds(5), seconds(10)));
    let listing = tokio::spawn(async move { call.await });
    // Each page is in time, and the list never ends.
    for page in 0..3 {
        let request = wire.expect("prompts/list").await;
        tokio::time::advance(seconds(4)).await;
        let next = json!({ "prompts": [], "nextCursor": page.to_string() });
        wire.answer(&request, next).await;
    }
    let error = listing.await.unwrap().unwrap_err();
    assert!(
        matches!(error, Error::Timeout { setting: "Timeouts::total", after, .. } if after == seconds(10)),
        "{error}"
    );
    let call = client.request_raw("resources/list", json!({}));
    let call = call.timeouts(Timeouts::new(seconds(1), seconds(1)));
    let error = call.await.unwrap_err();
    assert!(error.to_string().contains("resources/list"), "{error}");
}

// proves: COMP-002, COMP-016, PROMPT-006, M-PROMPT-006
#[tokio::test]
async fn completion_requests_contain_resolved_arguments_and_prompt_arguments_are_text() {
    let capabilities = json!({ "completions": {}, "prompts": {} });
    let (mut wire, client) = PipeEnd::accept(client(), "2025-11-25", capabilities).await;
    let completing = tokio::spawn({
        let client = client.clone();
        async move {
            let reference = mcp_types::PromptReference::new("p");
            let call = client.complete(reference, "a", "x");
            call.resolved([("b", "2")]).await
        }
    });
    let request = wire.expect("completion/complete").await;
    assert_eq!(
        request["params"],
        json!({
            "ref": { "type": "ref/prompt", "name": "p" },
            "argument": { "name": "a", "value": "x" },
            "context": { "arguments": { "b": "2" } }
        })
    );
    wire.answer(&request, json!({ "completion": { "values": [] } }))
        .await;
    assert_eq!(completing.await.unwrap().unwrap().completion.total, None);
    let getting = tokio::spawn(async move {
        client
            .get_prompt("p")
            .arguments([("n", 5.to_string())])
            .await
    });
    let request = wire.expect("prompts/get").await;
    assert_eq!(request["params"]["arguments"], json!({ "n": "5" }));
    wire.answer(&request, json!({ "messages": [] })).await;
    getting.await.unwrap().unwrap();
}

#[tokio::test]
async fn unknown_content_blocks_and_custom_error_codes_are_kept() {
    let (mut wire, client) = PipeEnd::with_tools(client()).await;
    let call = calling(&client, "t");
    let request = wire.expect("tools/call").await;
    let hologram = json!({ "type": "hologram", "volume": [1] });
    wire.answer(
        &request,
        json!({ "content": [hologram, { "type": "text", "text": "x" }] }),
    )
    .await;
    let result = call.await.unwrap().unwrap();
    assert_eq!(result.joined_text(), "x");
    assert_eq!(serde_json::to_value(&result.content[0]).unwrap(), hologram);
    assert_eq!(result.content[1], TextContent::new("x").into());
    let call = calling(&client, "t");
    let request = wire.expect("tools/call").await;
    wire.refuse(&request, -31999, "private").await;
    assert_eq!(refused(call.await.unwrap()).code.0, -31999);
}

// proves: LIFE-039
#[tokio::test]
async fn two_servers_of_one_host_receive_nothing_of_each_other() {
    let builder = client().on_sample(async |ask| Ok(ask.reply("m", ask.server.name.clone())));
    let (mut one, first) =
        PipeEnd::accept(builder.clone(), "2025-11-25", json!({ "tools": {} })).await;
    let (mut two, _second) = PipeEnd::accept(builder, "2025-06-18", json!({ "tools": {} })).await;
    let call = calling(&first, "t");
    let request = one.expect("tools/call").await;
    // The other server answers an id that belongs to the first connection.
    two.send(json!({ "jsonrpc": "2.0", "id": request["id"], "result": { "content": [] } }))
        .await;
    two.silent().await;
    assert!(!call.is_finished());
    one.answer(&request, json!({ "content": [] })).await;
    call.await.unwrap().unwrap();
}
