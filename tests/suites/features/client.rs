//! A client and the messages of a scripted server.

use mcp_client::ChangedList;
use mcp_types::Root;

use crate::peer::{client, listing};
use crate::prelude::*;

// proves: SCHEMA-016
#[tokio::test]
async fn meta_of_notifications_reaches_the_host() {
    let seen: Arc<Mutex<Option<Value>>> = Arc::default();
    let slot = Arc::clone(&seen);
    let builder = client().on_log(move |message| {
        *slot.lock().unwrap() = message.meta.map(|meta| serde_json::to_value(meta).unwrap());
    });
    let (mut wire, _client) = PipeEnd::accept(builder, "2025-11-25", json!({})).await;
    let meta = json!({ "com.example/trace": "t" });
    let params = json!({ "level": "info", "data": 1, "_meta": meta });
    wire.notify("notifications/message", params).await;
    wire.silent().await;
    assert_eq!(*seen.lock().unwrap(), Some(meta));
}

// proves: SCHEMA-030
#[tokio::test]
async fn a_listed_tool_without_name_or_schema_is_named_in_the_error() {
    for (tool, missing) in [
        (json!({ "name": "t" }), "inputSchema"),
        (json!({ "name": "t", "inputSchema": null }), "inputSchema"),
        (json!({ "inputSchema": { "type": "object" } }), "name"),
    ] {
        let builder = client().strictness(Strictness::Strict);
        let (mut wire, client) = PipeEnd::with_tools(builder).await;
        let listing = listing(&client);
        wire.respond("tools/list", json!({ "tools": [tool] })).await;
        let error = listing.await.unwrap().unwrap_err().to_string();
        assert!(
            error.contains("/tools/0") && error.contains(missing),
            "{error}"
        );
    }
}

// proves: SCHEMA-034
#[tokio::test]
async fn an_elicitation_completion_without_an_id_is_ignored() {
    let count = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&count);
    let builder = client()
        .on_elicit_url(async |ask| ask.accept())
        .on_elicit_url_done(move |_| {
            counts.fetch_add(1, Ordering::SeqCst);
        });
    let (mut wire, _client) = PipeEnd::accept(builder, "2025-11-25", json!({})).await;
    let visit =
        json!({ "mode": "url", "message": "m", "url": "https://x.y/", "elicitationId": "i" });
    wire.call("elicitation/create", visit).await;
    for params in [Value::Null, json!({}), json!({ "elicitationId": 5 })] {
        let notice = "notifications/elicitation/complete";
        wire.notify(notice, params).await;
    }
    wire.silent().await;
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

// proves: SCHEMA-038, SCHEMA-040
#[tokio::test]
async fn a_client_routes_every_method_and_notification_of_a_server() {
    let builder = client()
        .roots([])
        .on_sample(async |ask| Ok(ask.reply("m", "x")))
        .on_elicit(async |form| form.decline());
    let (mut wire, _client) = PipeEnd::accept(builder, "2025-11-25", json!({})).await;
    let message = json!({ "role": "user", "content": { "type": "text", "text": "x" } });
    let sampling = json!({ "messages": [message], "maxTokens": 1 });
    let schema = json!({ "type": "object", "properties": {} });
    let form = json!({ "message": "?", "requestedSchema": schema });
    for (method, params) in [
        ("ping", Value::Null),
        ("roots/list", Value::Null),
        ("sampling/createMessage", sampling),
        ("elicitation/create", form),
    ] {
        wire.call(method, params).await;
    }
    for method in ["tools/list", "initialize", "tasks/get", "roots/List"] {
        wire.expect_error(method, json!({}), -32601).await;
    }
    for (notification, params) in [
        ("cancelled", json!({ "requestId": 1 })),
        ("progress", json!({ "progressToken": 1, "progress": 1 })),
        ("message", json!({ "level": "info", "data": 1 })),
        ("resources/updated", json!({ "uri": "x:y" })),
        ("tools/list_changed", Value::Null),
        ("prompts/list_changed", Value::Null),
        ("resources/list_changed", Value::Null),
        ("elicitation/complete", json!({ "elicitationId": "x" })),
        (
            "tasks/status",
            json!({ "taskId": "t", "status": "working" }),
        ),
    ] {
        wire.notify(&format!("notifications/{notification}"), params)
            .await;
    }
    wire.silent().await;
}

// proves: LOG-018, LOG-007
#[tokio::test]
async fn log_messages_and_list_changes_reach_the_host() {
    type Logged = (LoggingLevel, Option<String>, Value);
    let logs: Arc<Mutex<Vec<Logged>>> = Arc::default();
    let changes: Arc<Mutex<Vec<ChangedList>>> = Arc::default();
    let (log, change) = (Arc::clone(&logs), Arc::clone(&changes));
    let builder = client()
        .strictness(Strictness::Strict)
        .on_log(move |m| log.lock().unwrap().push((m.level, m.logger, m.data)))
        .on_change(move |c| change.lock().unwrap().push(c));
    let (mut wire, _client) = PipeEnd::accept(builder, "2025-11-25", json!({})).await;
    for params in [
        json!({ "level": "warning", "data": null }),
        json!({ "level": "warn", "data": 1 }),
        json!({ "level": "info" }),
        json!({ "level": "info", "logger": "db", "data": [1] }),
    ] {
        wire.notify("notifications/message", params).await;
    }
    for list in ["tools", "prompts", "resources"] {
        wire.notify(&format!("notifications/{list}/list_changed"), Value::Null)
            .await;
    }
    wire.silent().await;
    assert_eq!(
        *logs.lock().unwrap(),
        [
            (LoggingLevel::Warning, None, Value::Null),
            (LoggingLevel::Info, Some("db".to_owned()), json!([1]))
        ]
    );
    assert_eq!(
        *changes.lock().unwrap(),
        [
            ChangedList::Tools,
            ChangedList::Prompts,
            ChangedList::Resources
        ]
    );
}

// proves: ROOT-002, ROOT-003, ROOT-004, ROOT-006
#[tokio::test]
async fn roots_are_answered_and_changes_announced() {
    let (mut wire, client) = PipeEnd::accept(
        client().roots([Root::new("file:///a")]),
        "2025-11-25",
        json!({}),
    )
    .await;
    let expected = json!({ "roots": [{ "uri": "file:///a" }] });
    assert_eq!(wire.call("roots/list", Value::Null).await, expected);
    client
        .set_roots([Root::new("file:///b").with_name("B")])
        .unwrap();
    wire.expect("notifications/roots/list_changed").await;
    let expected = json!([{ "uri": "file:///b", "name": "B" }]);
    assert_eq!(wire.call("roots/list", json!({})).await["roots"], expected);
    client.set_roots([]).unwrap();
    wire.expect("notifications/roots/list_changed").await;
    let expected = json!({ "roots": [] });
    assert_eq!(wire.call("roots/list", Value::Null).await, expected);
}
