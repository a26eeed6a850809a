//! What a client tolerates.

use std::collections::BTreeMap;

use mcp_types::ElicitResult;

use crate::peer::{calling, client, listing};
use crate::prelude::*;
use crate::scripted::started;

type Listing = Result<Vec<mcp_types::Tool>, Error>;

/// Lists the tools of a server with these pages.
async fn listed(builder: ClientBuilder, pages: Vec<Value>) -> (Listing, Client) {
    let (mut wire, client) = PipeEnd::with_tools(builder).await;
    let mut listing = listing(&client);
    for page in pages {
        tokio::select! {
            // The client has rejected an earlier page.
            listed = &mut listing => return (listed.unwrap(), client),
            _ = wire.respond("tools/list", page) => {}
        }
    }
    (listing.await.unwrap(), client)
}

fn strict() -> ClientBuilder {
    client().strictness(Strictness::Strict)
}

fn tool(name: &str) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object" } })
}

#[tokio::test]
async fn an_element_that_cannot_be_decoded_is_left_out() {
    for bad in [
        json!({ "name": "bad" }),
        json!({ "name": "bad", "inputSchema": null }),
        json!("bad"),
    ] {
        let page = || vec![json!({ "tools": [tool("a"), bad.clone(), tool("b")] })];
        let (tools, client) = listed(client(), page()).await;
        let names: Vec<_> = tools.unwrap().into_iter().map(|tool| tool.name).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(client.tolerance().count(Deviation::MalformedElement), 1);
        assert!(listed(strict(), page()).await.0.is_err());
    }
}

#[tokio::test]
async fn a_malformed_descriptive_member_is_left_out() {
    let mut decorated = tool("a");
    decorated["icons"] = json!([{ "src": "https://x.y/i.png", "sizes": "48x48" }]);
    let page = || vec![json!({ "tools": [decorated.clone()] })];
    let (tools, client) = listed(client(), page()).await;
    assert_eq!(tools.unwrap()[0].icons, None);
    assert_eq!(client.tolerance().count(Deviation::MalformedDecoration), 1);
    assert!(listed(strict(), page()).await.0.is_err());
}

#[tokio::test]
async fn an_empty_or_repeated_cursor_ends_a_list() {
    let empty = || vec![json!({ "tools": [tool("a")], "nextCursor": "" })];
    let (tools, client) = listed(client(), empty()).await;
    assert_eq!(tools.unwrap().len(), 1);
    assert_eq!(client.tolerance().count(Deviation::EmptyCursor), 1);

    let circle = || {
        vec![
            json!({ "tools": [tool("a")], "nextCursor": "x" }),
            json!({ "tools": [tool("b")], "nextCursor": "x" }),
        ]
    };
    let (tools, client) = listed(self::client(), circle()).await;
    assert_eq!(tools.unwrap().len(), 2);
    assert_eq!(client.tolerance().count(Deviation::RepeatedCursor), 1);
    assert!(listed(strict(), circle()).await.0.is_err());
}

#[tokio::test]
async fn a_tool_result_without_content_counts_as_empty_content() {
    for (builder, fails) in [(client(), false), (strict(), true)] {
        let (mut wire, client) = PipeEnd::with_tools(builder).await;
        let calling = calling(&client, "t");
        wire.respond("tools/call", json!({ "isError": false }))
            .await;
        let result = calling.await.unwrap();
        assert_eq!(result.is_err(), fails);
        assert!(result.is_err() || result.unwrap().content.is_empty());
    }
}

#[tokio::test]
async fn the_template_list_is_empty_if_the_server_does_not_know_the_request() {
    for (builder, fails) in [(client(), false), (strict(), true)] {
        let capabilities = json!({ "resources": {} });
        let (mut wire, client) = PipeEnd::accept(builder, "2025-11-25", capabilities).await;
        let host = client.clone();
        let listing = tokio::spawn(async move { host.list_resource_templates().await });
        let request = wire.expect("resources/templates/list").await;
        wire.refuse(&request, -32601, "unknown method").await;
        assert_eq!(listing.await.unwrap().is_err(), fails);
    }
}

/// Connects to a server that answers `initialize` with this result.
async fn handshake(builder: ClientBuilder, result: Value) -> Result<Client, Error> {
    let (mut wire, transport) = PipeEnd::server();
    let builder = builder.negotiation(Negotiation::SessionBased);
    let connecting = tokio::spawn(builder.connect(transport));
    wire.respond("initialize", result).await;
    connecting.await.unwrap()
}

// A result of another type was indexed by name, which panics.
#[tokio::test]
async fn a_result_that_is_not_an_object_is_an_error() {
    for result in [json!(3), json!("text"), json!([]), json!(true)] {
        for builder in [client(), strict()] {
            let error = handshake(builder, result.clone()).await.unwrap_err();
            assert!(error.to_string().contains("initialize"), "{error}");
        }
        let (tools, _client) = listed(client(), vec![result]).await;
        assert!(matches!(tools, Err(Error::InvalidResult { .. })));
    }
}

#[tokio::test]
async fn malformed_server_descriptions_do_not_fail_the_connection() {
    let server = json!({ "name": "s", "version": "1" });
    let result = |info: Value, capabilities: Value| json!({ "protocolVersion": "2025-11-25", "serverInfo": info, "capabilities": capabilities });
    let icons = json!([{ "src": "https://x.y/i.png", "sizes": "48x48" }]);
    for (info, capabilities, has_tools) in [
        (json!({ "name": "s" }), json!({ "tools": {} }), true),
        (
            json!({ "name": "s", "version": "1", "icons": icons }),
            json!({}),
            false,
        ),
        (json!({ "name": "s", "version": 1 }), json!({}), false),
        (server.clone(), json!({ "tools": true }), true),
        (server.clone(), json!({ "tools": [] }), true),
        (
            server.clone(),
            json!({ "tools": { "listChanged": "yes" } }),
            true,
        ),
        (
            server.clone(),
            json!({ "tools": {}, "logging": false }),
            true,
        ),
        (server.clone(), json!([]), false),
    ] {
        let result = || result(info.clone(), capabilities.clone());
        let client = handshake(client(), result()).await.unwrap();
        assert_eq!(client.server_info().name, "s");
        assert_eq!(
            client.capabilities().tools.is_some(),
            has_tools,
            "{capabilities}"
        );
        assert!(client.capabilities().logging.is_none());
        assert_eq!(client.tolerance().count(Deviation::MalformedDecoration), 1);
        assert!(
            handshake(strict(), result()).await.is_err(),
            "{info} {capabilities}"
        );
    }
}

#[tokio::test]
async fn a_server_with_an_unknown_older_revision_is_used_at_the_oldest_known_revision() {
    let result = |version: &str| {
        let info = json!({ "name": "s", "version": "1" });
        json!({ "protocolVersion": version, "serverInfo": info, "capabilities": {} })
    };
    let client = handshake(client(), result("2024-10-07")).await.unwrap();
    assert_eq!(client.revision(), Revision::V2024_11_05);
    assert!(handshake(strict(), result("2024-10-07")).await.is_err());
    for version in ["2099-01-01", "2024-11-06", "1.0", ""] {
        let error = handshake(self::client(), result(version))
            .await
            .unwrap_err();
        assert!(error.to_string().contains("no common"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_without_an_id_answers_the_probe() {
    let (mut wire, transport) = PipeEnd::server();
    let connecting = tokio::spawn(client().connect(transport));
    let began = tokio::time::Instant::now();
    wire.next("server/discover").await;
    let error = json!({ "code": -32600, "message": "what?" });
    wire.send(json!({ "jsonrpc": "2.0", "id": null, "error": error }))
        .await;
    wire.welcome("2025-11-25", json!({})).await;
    connecting.await.unwrap().unwrap();
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_insists_on_initialize_first_is_started_again() {
    let (transport, mut starts) = started();
    let connecting = tokio::spawn(client().connect(transport));
    let mut wire = starts.next().await;
    for method in ["server/discover", "initialize"] {
        let request = wire.next(method).await;
        wire.refuse(&request, -32002, "expected initialize").await;
    }
    let mut wire = starts.next().await;
    wire.welcome("2025-11-25", json!({})).await;
    connecting.await.unwrap().unwrap();
}

#[tokio::test]
async fn log_messages_are_requested_if_there_is_a_callback() {
    for wants_log in [true, false] {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&lines);
        let builder = match wants_log {
            true => client().on_log(move |line| log.lock().unwrap().push(line.level)),
            false => client(),
        };
        let server = Server::builder("s", "1").tool(Tool::new("t", async |cx: Ctx| {
            cx.log(LoggingLevel::Info, "said");
            cx.log(LoggingLevel::Debug, "not said");
            "done"
        }));
        let client = connect(builder, server).await.unwrap();
        assert!(client.revision().is_stateless());
        called(&client, "t", json!({})).await;
        let expected = if wants_log {
            vec![LoggingLevel::Info]
        } else {
            Vec::new()
        };
        assert_eq!(*lines.lock().unwrap(), expected);
    }
}

#[tokio::test]
async fn the_error_of_a_form_names_the_field() {
    let builder = client().on_elicit(async |form| form.accept(json!({ "name": 5 })));
    let capabilities = json!({});
    let (mut wire, _client) = PipeEnd::accept(builder, "2025-11-25", capabilities).await;
    let schema = json!({
        "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"]
    });
    let params = json!({ "mode": "form", "message": "m", "requestedSchema": schema });
    let error = wire
        .expect_error("elicitation/create", params, -32603)
        .await;
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("field \"name\""), "{message}");
}

/// The result of a call is never lost for its decoration: the tool has run.
#[tokio::test]
async fn a_result_with_a_malformed_member_is_kept() {
    let link = json!({ "type": "resource_link", "uri": "x://a", "size": "7" });
    for (block, expected) in [
        (
            json!({ "type": "text", "text": "t", "annotations": { "audience": "user" } }),
            json!({ "type": "text", "text": "t" }),
        ),
        (
            link,
            json!({ "type": "resource_link", "uri": "x://a", "name": "x://a" }),
        ),
        (
            json!({ "data": "AA==", "mimeType": "image/png" }),
            json!({ "type": "image", "data": "AA==", "mimeType": "image/png" }),
        ),
        (
            json!({ "type": "image", "data": "AA==" }),
            json!({ "type": "image", "data": "AA==", "mimeType": "image/*" }),
        ),
        (json!("plain"), json!({ "type": "text", "text": "plain" })),
    ] {
        for (builder, fails) in [(client(), false), (strict(), true)] {
            let (mut wire, client) = PipeEnd::with_tools(builder).await;
            let calling = calling(&client, "t");
            let result = json!({ "content": [block], "isError": "false", "_meta": 1 });
            wire.respond("tools/call", result).await;
            let result = calling.await.unwrap();
            assert_eq!(result.is_err(), fails, "{block}");
            let Ok(result) = result else { continue };
            assert_eq!(json!(result.content), json!([expected]));
            assert_eq!(result.is_error, Some(false));
            assert!(client.tolerance().count(Deviation::MalformedContent) > 0);
        }
    }
}

#[tokio::test]
async fn a_list_cursor_that_is_a_number_is_accepted() {
    let pages = || {
        vec![
            json!({ "tools": [tool("a")], "nextCursor": 7 }),
            json!({ "tools": [tool("b")] }),
        ]
    };
    let (tools, client) = listed(client(), pages()).await;
    assert_eq!(tools.unwrap().len(), 2);
    assert_eq!(client.tolerance().count(Deviation::NumericCursor), 1);
    assert!(listed(strict(), pages()[..1].to_vec()).await.0.is_err());
}

/// Servers that pass on the levels of their own log.
#[tokio::test]
async fn a_log_message_with_another_level_or_without_data_is_kept() {
    for (strictness, is_kept) in [(Strictness::Tolerant, true), (Strictness::Strict, false)] {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&lines);
        let builder = client().strictness(strictness);
        let builder = builder.on_log(move |line| log.lock().unwrap().push((line.level, line.data)));
        let (mut wire, client) = PipeEnd::with_tools(builder).await;
        for params in [
            json!({ "level": "warn", "data": 1 }),
            json!({ "level": "INFO", "message": "text" }),
            json!({ "level": "trace", "data": null }),
            json!({ "data": "no level" }),
            json!([]),
        ] {
            wire.notify("notifications/message", params).await;
        }
        wire.silent().await;
        let expected = [
            (LoggingLevel::Warning, json!(1)),
            (LoggingLevel::Info, json!("text")),
            (LoggingLevel::Info, Value::Null),
            (LoggingLevel::Info, json!("no level")),
        ];
        let (expected, count) = match is_kept {
            true => (&expected[..], 4),
            false => (&[][..], 0),
        };
        assert_eq!(*lines.lock().unwrap(), expected);
        let counted = client.tolerance().count(Deviation::MalformedLogMessage);
        assert_eq!(counted, count);
    }
}

/// Forms of the official Python SDK: optional, referenced and enum types of a language.
#[tokio::test]
async fn only_a_tolerant_client_shows_a_form_whose_fields_have_no_type() {
    let form = json!({
        "title": "Order",
        "$defs": { "Colour": { "enum": ["red", "green"], "title": "Colour" } },
        "properties": {
            "count": { "anyOf": [{ "type": "integer", "minimum": 1 }, { "type": "null" }], "default": null, "title": "Count" },
            "colour": { "$ref": "#/$defs/Colour", "default": "red" },
            "other": { "allOf": [{ "$ref": "#/$defs/Colour" }], "description": "Other" },
            "size": { "oneOf": [{ "const": "s", "title": "Small" }, { "const": "l" }] },
            "rank": { "enum": [1, 2] },
            "note": { "type": ["string", "null"] },
            "price": { "type": "number", "default": "5" },
        },
        "required": ["count", "colour"],
    });
    for (strictness, is_shown) in [(Strictness::Tolerant, true), (Strictness::Strict, false)] {
        let shown = Arc::new(Mutex::new(None));
        let seen = Arc::clone(&shown);
        let builder = client().strictness(strictness).on_elicit(move |form| {
            *seen.lock().unwrap() = Some(json!(form.params.requested_schema));
            async { ElicitResult::accept(BTreeMap::from([("colour".to_owned(), "red".into())])) }
        });
        let (mut wire, client) = PipeEnd::with_tools(builder).await;
        let params = json!({ "message": "Order?", "requestedSchema": form });
        wire.request("elicitation/create", params).await;
        let reply = wire.recv().await;
        assert_eq!(reply["result"]["action"] == "accept", is_shown, "{reply}");
        let Some(shown) = shown.lock().unwrap().take() else {
            continue;
        };
        let expected = json!({
            "title": "Order",
            "type": "object",
            "properties": {
                "count": { "type": "integer", "minimum": 1, "title": "Count" },
                "colour": { "type": "string", "enum": ["red", "green"], "title": "Colour", "default": "red" },
                "other": { "type": "string", "enum": ["red", "green"], "title": "Colour", "description": "Other" },
                "size": { "type": "string", "oneOf": [{ "const": "s", "title": "Small" }, { "const": "l", "title": "l" }] },
                "rank": { "type": "integer" },
                "note": { "type": "string" },
                "price": { "type": "number" },
            },
            "required": ["colour"],
        });
        for (name, field) in expected["properties"].as_object().unwrap() {
            assert_eq!(shown["properties"][name], *field, "{name}");
        }
        assert_eq!(shown["required"], expected["required"]);
        assert_eq!(client.tolerance().count(Deviation::MalformedForm), 1);
    }
}
