//! Prompts, resources, completion, logging and pages, as a client sees them.

use mcp_server::{Args, CompletionRequest, Ctx, Prompt, Resource, Server, Tool};
use mcp_tests::everything;
use mcp_tests::wire::Wire;
use mcp_types::{Icon, LoggingLevel, PromptMessage};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

async fn open(server: Server) -> Wire {
    Wire::open(server, "2025-11-25", json!({})).await
}

// proves: RES-001, RES-003, RES-005, RES-007, RES-019, RES-020, RES-028, RES-030, RES-032, RES-006
#[tokio::test]
async fn resources_are_listed_read_and_missed() {
    let server = everything::server().resource(
        Resource::new("test://bytes", "Bytes", || vec![0_u8, 159, 146, 150])
            .mime("application/octet-stream"),
    );
    let mut wire = open(server).await;
    let listed = wire.call("resources/list", Value::Null).await;
    for resource in listed["resources"].as_array().unwrap() {
        assert!(resource["uri"].is_string() && resource["name"].is_string());
    }
    let templates = wire.call("resources/templates/list", Value::Null).await;
    assert_eq!(
        templates["resourceTemplates"][0]["uriTemplate"],
        "test://template/{id}/data"
    );
    let read = wire
        .call("resources/read", json!({ "uri": "test://static-text" }))
        .await;
    assert_eq!(
        read["contents"],
        json!([{
            "uri": "test://static-text",
            "mimeType": "text/plain",
            "text": "This is the content of the static text resource."
        }])
    );
    let read = wire
        .call("resources/read", json!({ "uri": "test://bytes" }))
        .await;
    assert_eq!(read["contents"][0]["blob"], "AJ+Slg==");
    assert!(read["contents"][0].get("text").is_none());
    let read = wire
        .call(
            "resources/read",
            json!({ "uri": "test://template/123/data" }),
        )
        .await;
    assert_eq!(read["contents"][0]["uri"], "test://template/123/data");
    assert_eq!(read["contents"][0]["mimeType"], "application/json");
    let data: Value = serde_json::from_str(read["contents"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(data["id"], "123");
    for uri in [
        "test://no-such",
        "test://template/a%2Fb/data",
        "test://template/../data",
        "test://template/%2e%2e/data",
        "not a uri",
    ] {
        let answer = wire
            .answer_to("resources/read", json!({ "uri": uri }))
            .await;
        assert_eq!(answer["error"]["code"], -32002, "{answer}");
        assert_eq!(answer["error"]["data"]["uri"], uri);
    }
    assert_eq!(wire.fails("resources/read", json!({})).await, -32602);
    assert_eq!(
        wire.fails("resources/read", json!({ "uri": "x".repeat(9000) }))
            .await,
        -32602
    );
}

// proves: RES-029, PROMPT-018
#[tokio::test]
async fn failing_resources_and_prompts_are_internal_errors() {
    let server = Server::new("s", "1")
        .resource(Resource::new("x://fails", "f", || {
            Err::<String, _>(std::io::Error::other("disk full"))
        }))
        .prompt(Prompt::new("fails", || Err::<String, _>("no words")));
    let mut wire = open(server).await;
    assert_eq!(
        wire.fails("resources/read", json!({ "uri": "x://fails" }))
            .await,
        -32603
    );
    assert_eq!(
        wire.fails("prompts/get", json!({ "name": "fails" })).await,
        -32603
    );
}

// proves: RES-002, RES-012, RES-013, RES-014, RES-016
#[tokio::test]
async fn updates_reach_subscribers_until_they_unsubscribe() {
    let server = everything::server();
    let (mut wire, mut other) = (open(server.clone()).await, open(server.clone()).await);
    let uri = json!({ "uri": "test://watched-resource" });
    assert_eq!(
        wire.call("resources/subscribe", uri.clone()).await,
        json!({})
    );
    server.resource_updated("test://watched-resource");
    let update = wire.expect("notifications/resources/updated").await;
    assert_eq!(update["params"], uri);
    other.silent().await;
    server.resource_updated("test://static-text");
    wire.silent().await;
    assert_eq!(
        wire.call("resources/unsubscribe", uri.clone()).await,
        json!({})
    );
    server.resource_updated("test://watched-resource");
    wire.silent().await;
    let missing = json!({ "uri": "test://no-such" });
    assert_eq!(wire.fails("resources/subscribe", missing).await, -32002);
    for (subscribe, announce) in [(true, true), (true, false), (false, true), (false, false)] {
        let server = everything::server()
            .subscriptions(subscribe)
            .announce_changes(announce);
        let mut wire = Wire::to(server);
        let declared = wire.handshake("2025-11-25", json!({})).await["capabilities"].clone();
        let resources = &declared["resources"];
        assert_eq!(
            resources.get("subscribe").is_some(),
            subscribe,
            "{resources}"
        );
        assert_eq!(
            resources.get("listChanged").is_some(),
            announce,
            "{resources}"
        );
        let answer = wire.answer_to("resources/subscribe", uri.clone()).await;
        assert_eq!(answer.get("result").is_some(), subscribe, "{answer}");
    }
}

// proves: PROMPT-001, PROMPT-003, PROMPT-005, PROMPT-008, PROMPT-016, PROMPT-017, PROMPT-019
#[tokio::test]
async fn prompts_are_listed_written_and_checked() {
    let mut wire = open(everything::server()).await;
    let listed = wire.call("prompts/list", Value::Null).await;
    let prompt = &listed["prompts"][1];
    assert_eq!(prompt["name"], "test_prompt_with_arguments");
    assert_eq!(
        prompt["arguments"],
        json!([
            { "name": "arg1", "description": "First test argument", "required": true },
            { "name": "arg2", "description": "Second test argument", "required": true }
        ])
    );
    let get = |name: &str, arguments: Value| json!({ "name": name, "arguments": arguments });
    let written = wire
        .call(
            "prompts/get",
            get(
                "test_prompt_with_arguments",
                json!({ "arg1": "a", "arg2": "b" }),
            ),
        )
        .await;
    assert_eq!(
        written["messages"],
        json!([{
            "role": "user",
            "content": { "type": "text", "text": "Prompt with arguments: arg1='a', arg2='b'" }
        }])
    );
    for bad in [
        get("no_such", json!({})),
        get("test_prompt_with_arguments", json!({ "arg1": "a" })),
        get(
            "test_prompt_with_arguments",
            json!({ "arg1": "a", "arg2": 5 }),
        ),
        get(
            "test_prompt_with_arguments",
            json!({ "arg1": "a", "arg2": "b", "arg3": "c" }),
        ),
        get("test_prompt_with_arguments", json!([])),
        json!({}),
    ] {
        assert_eq!(
            wire.fails("prompts/get", bad.clone()).await,
            -32602,
            "{bad}"
        );
    }
}

// proves: PROMPT-017
#[tokio::test]
async fn required_arguments_are_checked_even_if_the_handler_takes_none() {
    let required = mcp_types::PromptArgument::new("a").with_required(true);
    let prompt = Prompt::new("p", || "x").arguments(vec![required]);
    let mut wire = open(Server::new("s", "1").prompt(prompt)).await;
    assert_eq!(
        wire.fails("prompts/get", json!({ "name": "p" })).await,
        -32602
    );
    let given = json!({ "name": "p", "arguments": { "a": "1" } });
    wire.call("prompts/get", given).await;
}

// proves: PROMPT-009, PROMPT-010, PROMPT-013, PROMPT-014, PROMPT-015, SCHEMA-026
#[tokio::test]
async fn prompt_content_is_one_block_with_what_its_kind_needs() {
    let mut wire = open(everything::server()).await;
    let image = wire
        .call("prompts/get", json!({ "name": "test_prompt_with_image" }))
        .await;
    assert_eq!(
        image["messages"][0]["content"],
        json!({ "type": "image", "data": everything::PNG, "mimeType": "image/png" })
    );
    let embedded = wire
        .call(
            "prompts/get",
            json!({ "name": "test_prompt_with_embedded_resource", "arguments": { "resourceUri": "test://x" } }),
        )
        .await;
    assert_eq!(
        embedded["messages"][0]["content"]["resource"],
        json!({
            "uri": "test://x",
            "mimeType": "text/plain",
            "text": "Embedded resource content for testing."
        })
    );
}

fn complete(reference: Value, argument: &str, value: &str) -> Value {
    json!({ "ref": reference, "argument": { "name": argument, "value": value } })
}

// proves: COMP-001, COMP-003, COMP-004, COMP-008, COMP-009, COMP-010, COMP-017
#[tokio::test]
async fn completion_serves_prompts_and_templates_and_checks_its_input() {
    let mut wire = open(everything::server()).await;
    let prompt = json!({ "type": "ref/prompt", "name": "test_prompt_with_arguments" });
    let template = json!({ "type": "ref/resource", "uri": "test://template/{id}/data" });
    let found = wire
        .call(
            "completion/complete",
            complete(prompt.clone(), "arg1", "par"),
        )
        .await;
    assert_eq!(
        found["completion"],
        json!({ "values": ["paris", "park", "party", "compare"], "total": 4, "hasMore": false })
    );
    let found = wire
        .call("completion/complete", complete(template, "id", "4"))
        .await;
    assert_eq!(found["completion"]["values"], json!(["456"]));
    let mut second = complete(prompt.clone(), "arg2", "x");
    second["context"] = json!({ "arguments": { "arg1": "first" } });
    let found = wire.call("completion/complete", second).await;
    assert_eq!(found["completion"]["values"], json!(["first-x"]));
    for bad in [
        complete(
            json!({ "type": "ref/prompt", "name": "no_such" }),
            "arg1",
            "",
        ),
        complete(
            json!({ "type": "ref/resource", "uri": "no://such" }),
            "id",
            "",
        ),
        complete(json!({ "type": "ref/other", "name": "x" }), "arg1", ""),
        complete(prompt.clone(), "no_such", ""),
        complete(prompt.clone(), "arg1", &"x".repeat(5000)),
        json!({ "ref": prompt }),
        json!({}),
    ] {
        assert_eq!(
            wire.fails("completion/complete", bad.clone()).await,
            -32602,
            "{bad}"
        );
    }
    let mut plain = open(Server::new("s", "1").prompt(Prompt::new("p", || "x"))).await;
    let reference = json!({ "type": "ref/prompt", "name": "p" });
    let asked = complete(reference, "a", "");
    assert_eq!(plain.fails("completion/complete", asked).await, -32601);
}

// proves: COMP-011
#[tokio::test]
async fn a_failing_completion_is_an_internal_error() {
    #[derive(Deserialize, JsonSchema)]
    struct One {
        #[expect(dead_code, reason = "only listed")]
        a: String,
    }
    let prompt = Prompt::new("p", |Args(_): Args<One>| "x")
        .complete("a", |_: CompletionRequest| -> Vec<String> {
            panic!("secret")
        });
    let mut wire = open(Server::new("s", "1").prompt(prompt)).await;
    let reference = json!({ "type": "ref/prompt", "name": "p" });
    assert_eq!(
        wire.fails("completion/complete", complete(reference, "a", ""))
            .await,
        -32603
    );
    wire.silent().await;
}

fn logs() -> Server {
    Server::new("logs", "1").tool(Tool::new("log", |cx: Ctx| {
        for (n, level) in LoggingLevel::ALL.iter().enumerate() {
            cx.log_as("test", *level, json!({ "n": n }));
        }
        cx.log(LoggingLevel::Emergency, Value::Null);
        "logged"
    }))
}

// proves: LOG-001, LOG-004, LOG-005, LOG-006, LOG-007, LOG-008, LOG-009
#[tokio::test]
async fn the_level_is_per_session_and_filters() {
    let server = logs();
    let (mut wire, mut other) = (open(server.clone()).await, open(server).await);
    let levels = async |wire: &mut Wire| {
        let id = wire.request("tools/call", json!({ "name": "log" })).await;
        let mut seen = Vec::new();
        loop {
            let message = wire.recv().await;
            if message["id"] == id {
                return seen;
            }
            assert_eq!(message["method"], "notifications/message");
            assert!(message["params"].as_object().unwrap().contains_key("data"));
            seen.push(message["params"]["level"].as_str().unwrap().to_owned());
        }
    };
    assert_eq!(levels(&mut wire).await.len(), 8);
    wire.call("logging/setLevel", json!({ "level": "error" }))
        .await;
    assert_eq!(
        levels(&mut wire).await,
        ["error", "critical", "alert", "emergency", "emergency"]
    );
    wire.call("logging/setLevel", json!({ "level": "debug" }))
        .await;
    assert_eq!(levels(&mut wire).await.len(), 9);
    assert_eq!(levels(&mut other).await.len(), 8);
    assert_eq!(
        wire.fails("logging/setLevel", json!({ "level": "warn" }))
            .await,
        -32602
    );
    let mut silent = open(logs().logging(false)).await;
    assert_eq!(
        silent.tool("log", json!({})).await["content"][0]["text"],
        "logged"
    );
}

// proves: LOG-002
#[tokio::test]
async fn tracing_events_become_log_messages() {
    use tracing_subscriber::layer::SubscriberExt as _;
    let server = logs();
    let subscriber = tracing_subscriber::registry().with(server.log_layer());
    let mut wire = open(server).await;
    wire.call("logging/setLevel", json!({ "level": "debug" }))
        .await;
    tracing::subscriber::with_default(subscriber, || {
        tracing::warn!(target: "my_app", disk = 93, "running full");
        tracing::debug!(target: "mcp_server", "of the SDK itself");
    });
    let message = wire.expect("notifications/message").await;
    assert_eq!(
        message["params"],
        json!({ "level": "warning", "logger": "my_app", "data": { "message": "running full", "disk": 93 } })
    );
    wire.silent().await;
}

// proves: PAGE-003, PAGE-004, PAGE-006, RES-004, RES-010, PROMPT-004
#[tokio::test]
async fn every_list_pages_and_refuses_cursors_it_did_not_make() {
    let server = everything::server()
        .page_size(2)
        .resource(Resource::new("t://{a}", "a", || "x"))
        .resource(Resource::new("u://{b}", "b", || "x"));
    let mut wire = open(server).await;
    for (method, member) in [
        ("tools/list", "tools"),
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ] {
        let mut names = Vec::new();
        let mut params = json!({});
        loop {
            let page = wire.call(method, params.clone()).await;
            assert_eq!(
                page,
                wire.call(method, params).await,
                "a cursor gives the same page"
            );
            let items = page[member].as_array().unwrap();
            assert!((1..=2).contains(&items.len()), "{page}");
            names.extend(items.iter().map(|item| item["name"].to_string()));
            match page.get("nextCursor") {
                None => break,
                Some(cursor) => params = json!({ "cursor": cursor }),
            }
        }
        let distinct: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(distinct.len(), names.len());
        assert!(names.len() > 2, "{method}");
        for cursor in ["", "garbage", "0.0", "2.00000000000000000000000000000000"] {
            assert_eq!(
                wire.fails(method, json!({ "cursor": cursor })).await,
                -32602
            );
        }
    }
    wire.silent().await;
}

#[tokio::test]
async fn pages_stay_whole_when_the_list_changes_in_between() {
    let server = Server::new("s", "1")
        .page_size(2)
        .tools(["a", "b", "c", "d"].map(|name| Tool::new(name, || "x")));
    let mut wire = open(server.clone()).await;
    let first = wire.call("tools/list", Value::Null).await;
    server.remove_tool("b");
    server.add_tools([Tool::new("e", || "x")]).unwrap();
    for _ in 0..2 {
        wire.expect("notifications/tools/list_changed").await;
    }
    let second = wire
        .call("tools/list", json!({ "cursor": first["nextCursor"] }))
        .await;
    assert_eq!(second["tools"][0]["name"], "c");
    let third = wire
        .call("tools/list", json!({ "cursor": second["nextCursor"] }))
        .await;
    assert_eq!(third["tools"][0]["name"], "e");
    assert!(third.get("nextCursor").is_none());
}

// proves: RES-018, TOOL-016, RES-026
#[tokio::test]
async fn decorations_travel_untouched() {
    let icon = Icon::new("https://example.com/i.png").with_mime_type("image/png");
    let server = Server::new("s", "1")
        .icon(icon.clone())
        .website("https://example.com")
        .tool(
            Tool::new("t", || "x")
                .icon(icon.clone())
                .read_only(true)
                .destructive(false),
        )
        .prompt(
            Prompt::new("p", || PromptMessage::assistant("hm"))
                .title("P")
                .icon(icon.clone()),
        )
        .resource(
            Resource::text("x://dir", "dir", "")
                .mime("inode/directory")
                .size(4096)
                .icon(icon),
        );
    let mut wire = Wire::to(server);
    let result = wire.handshake("2025-11-25", json!({})).await;
    assert_eq!(result["serverInfo"]["websiteUrl"], "https://example.com");
    let icons = json!([{ "src": "https://example.com/i.png", "mimeType": "image/png" }]);
    assert_eq!(result["serverInfo"]["icons"], icons);
    let tools = wire.call("tools/list", Value::Null).await;
    assert_eq!(tools["tools"][0]["icons"], icons);
    assert!(tools["tools"][0].get("execution").is_none());
    assert_eq!(
        tools["tools"][0]["annotations"],
        json!({ "readOnlyHint": true, "destructiveHint": false })
    );
    let prompts = wire.call("prompts/list", Value::Null).await;
    assert_eq!(prompts["prompts"][0]["title"], "P");
    let resources = wire.call("resources/list", Value::Null).await;
    assert_eq!(resources["resources"][0]["size"], 4096);
    assert_eq!(resources["resources"][0]["mimeType"], "inode/directory");
}
