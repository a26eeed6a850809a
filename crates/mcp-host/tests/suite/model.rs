//! Tools, calls and results in the formats of model APIs.

use mcp_client::CallToolResult;
use mcp_client::types::{ContentBlock, JsonObject};
use mcp_host::{Host, HostError, ModelApi, ToolBudget, ToolSearch, ToolUse};
use mcp_server::middleware::{Next, Request, Response};
use mcp_server::{Args, Server, Tool};
use serde_json::{Value, json};

use crate::support::{Killable, client};

const FORMATS: [ModelApi; 4] = [
    ModelApi::OpenAiChat,
    ModelApi::OpenAiResponses,
    ModelApi::Anthropic,
    ModelApi::Gemini,
];

fn host(name: &str) -> Host {
    let connector = Killable::default().connector(|_| {
        let run = |Args(arguments): Args<JsonObject>| Value::Object(arguments).to_string();
        let echo = Tool::dynamic("echo", json!({ "type": "object" }), run);
        Some(Server::builder("fixture", "1.0.0").tool(echo))
    });
    Host::builder(client()).connector(name, connector).start()
}

/// A response with one call in each format.
fn response(format: ModelApi, name: &str) -> Value {
    match format {
        ModelApi::OpenAiChat => json!({ "choices": [{ "message": { "tool_calls": [
            { "id": "1", "type": "function", "function": { "name": name, "arguments": "{\"a\":1}" } }
        ] } }] }),
        ModelApi::OpenAiResponses => json!({ "output": [
            { "type": "message", "content": [] },
            { "type": "function_call", "id": "x", "call_id": "1", "name": name, "arguments": "{\"a\":1}" }
        ] }),
        ModelApi::Anthropic => json!({ "content": [
            { "type": "text", "text": "I look" },
            { "type": "tool_use", "id": "1", "name": name, "input": { "a": 1 } }
        ] }),
        _ => json!({ "candidates": [{ "content": { "role": "model", "parts": [
            { "text": "I look" }, { "functionCall": { "id": "1", "name": name, "args": { "a": 1 } } }
        ] } }] }),
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_of_each_format_is_run_and_answered() {
    // Gemini needs another name for this one.
    let host = host("9lives");
    host.settled().await;
    for format in FORMATS {
        let list = format.tools(&host.tools());
        assert!(list.dropped.is_empty(), "{:?}", list.dropped);
        let tool = match format {
            ModelApi::OpenAiChat => &list.tools[0]["function"],
            ModelApi::Gemini => &list.tools[0]["functionDeclarations"][0],
            _ => &list.tools[0],
        };
        let name = tool["name"].as_str().unwrap();
        let first = name.chars().next().unwrap();
        assert_eq!(first == '_', format == ModelApi::Gemini, "{name}");

        let uses = format.tool_uses(&response(format, name));
        assert_eq!(uses, [ToolUse::new("1", name, json!({ "a": 1 }))]);
        let result = host.call(&uses[0]).await;
        let answered = format.results(&[(uses[0].clone(), result)]);
        let text = r#"{"a":1}"#;
        let expected = match format {
            ModelApi::OpenAiChat => {
                json!([{ "role": "tool", "tool_call_id": "1", "content": text }])
            }
            ModelApi::OpenAiResponses => {
                json!([{ "type": "function_call_output", "call_id": "1", "output": text }])
            }
            ModelApi::Anthropic => json!([{ "role": "user", "content": [{
                "type": "tool_result", "tool_use_id": "1", "is_error": false,
                "content": [{ "type": "text", "text": text }]
            }] }]),
            _ => json!([{ "role": "user", "parts": [{ "functionResponse": {
                "id": "1", "name": name, "response": { "output": text }
            } }] }]),
        };
        assert_eq!(Value::from(answered), expected);
        assert_eq!(format.tool_uses(&json!({ "error": "overloaded" })), []);
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_reads_the_output_of_a_tool_that_ran_even_if_it_is_invalid() {
    let connector = Killable::default().connector(|_| {
        let schema = json!({ "type": "object", "properties": { "grams": { "type": "number" } } });
        let tool = Tool::new("weigh", || ()).output_schema(schema.as_object()?.clone());
        let layer = async |request: Request, next: Next| match request.method() {
            "tools/call" => {
                Response::result(json!({ "content": [], "structuredContent": { "grams": "5" } }))
            }
            _ => next.run(request).await,
        };
        Some(Server::builder("scale", "1.0.0").tool(tool).layer(layer))
    });
    let host = Host::builder(client())
        .connector("scale", connector)
        .start();
    host.settled().await;
    let tool_use = ToolUse::new("1", "scale__weigh", json!({}));
    let results = [(tool_use.clone(), host.call(&tool_use).await)];
    for format in FORMATS {
        let text = Value::from(format.results(&results)).to_string();
        assert!(text.contains("ran, but its output"), "{text}");
        assert!(text.contains(r#"{\"grams\":\"5\"}"#), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_writes_nonsense_gets_an_error() {
    let host = host("one");
    host.settled().await;
    let response = json!({ "choices": [{ "message": { "tool_calls": [
        { "id": "1", "type": "function", "function": { "name": "one__echo", "arguments": "{\"a\":" } },
        { "id": "2", "type": "function", "function": { "name": "one__ech", "arguments": "" } }
    ] } }] });
    let mut results = Vec::new();
    for tool_use in ModelApi::OpenAiChat.tool_uses(&response) {
        let result = host.call(&tool_use).await;
        results.push((tool_use, result));
    }
    assert!(matches!(results[0].1, Err(HostError::Arguments { .. })));
    assert!(matches!(results[1].1, Err(HostError::UnknownTool { .. })));
    for (message, part) in ModelApi::OpenAiChat
        .results(&results)
        .iter()
        .zip(["JSON object", "similar names: one__echo"])
    {
        let text = message["content"].as_str().unwrap();
        assert!(text.starts_with("Error: ") && text.contains(part), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn each_api_gets_the_schemas_that_it_accepts() {
    let schema = json!({
        "type": "object",
        "properties": {
            "id": { "type": "string", "format": "uuid" },
            "list": { "type": "array" },
            "bad name!": { "type": "string" }
        },
        "required": ["id"],
        "oneOf": [{ "required": ["list"] }, { "properties": { "other": { "type": "integer" } } }]
    });
    let connector = Killable::default().connector(move |_| {
        let tool = Tool::dynamic("work", schema.clone(), || "done").description("works");
        Some(Server::builder("fixture", "1.0.0").tool(tool))
    });
    let host = Host::builder(client()).connector("one", connector).start();
    host.settled().await;
    let list = |format: ModelApi| {
        let list = format.tools(&host.tools());
        let pointers: Vec<String> = list.dropped.into_iter().map(|lost| lost.pointer).collect();
        (list.tools, pointers)
    };

    let (tools, dropped) = list(ModelApi::OpenAiResponses);
    let parameters = &tools[0]["parameters"];
    assert_eq!(dropped, ["/oneOf"]);
    assert!(parameters.get("oneOf").is_none() && tools[0]["strict"] == false);
    assert_eq!(
        parameters["properties"]["list"],
        json!({ "type": "array", "items": {} })
    );
    assert_eq!(
        parameters["properties"]["other"],
        json!({ "type": "integer" })
    );
    assert_eq!(
        list(ModelApi::OpenAiChat).0[0]["function"]["parameters"],
        *parameters
    );

    let (tools, dropped) = list(ModelApi::Anthropic);
    assert_eq!(dropped, ["/oneOf", "/properties/bad name!"]);
    assert!(
        tools[0]["input_schema"]["properties"]
            .get("bad name!")
            .is_none()
    );
    assert_eq!(tools[0]["description"], "works");

    let (tools, dropped) = list(ModelApi::Gemini);
    assert_eq!(
        dropped,
        ["/oneOf", "/properties/id/format", "/properties/bad name!"]
    );
    assert_eq!(
        tools[0]["functionDeclarations"][0]["parameters"]["required"],
        json!(["id"])
    );
}

#[test]
fn each_kind_of_content_reaches_the_model_or_is_described() {
    let tool_use = ToolUse::new("1", "one__work", json!({}));
    let results = |format: ModelApi, result: CallToolResult| {
        let results = format.results(&[(tool_use.clone(), Ok(result))]);
        serde_json::to_string(&results).unwrap()
    };
    let content = || {
        let mut result = CallToolResult::new(vec![
            ContentBlock::text("words"),
            ContentBlock::image("aW1n", "image/png"),
            ContentBlock::audio("YXVkaW8=", "audio/wav"),
            ContentBlock::resource_link("file:///a", "link"),
        ]);
        result.structured_content = Some(json!({ "sum": 5 }));
        result
    };
    for format in FORMATS {
        let text = results(format, content());
        for part in ["words", "aW1n", "file:///a", r#"{\"sum\":5}"#] {
            assert!(text.contains(part), "{format:?} misses {part}: {text}");
        }
        assert_eq!(
            text.contains("YXVkaW8="),
            format == ModelApi::OpenAiChat,
            "{text}"
        );
        assert!(
            format == ModelApi::OpenAiChat || text.contains("audio: about 6 bytes of audio/wav")
        );
        assert!(results(format, CallToolResult::new(Vec::new())).contains("no content"));

        // JSON that the text has already is not repeated.
        let mut result = CallToolResult::new(vec![ContentBlock::text(r#"{ "sum": 5 }"#)]);
        result.structured_content = Some(json!({ "sum": 5 }));
        result.is_error = Some(true);
        let text = results(format, result);
        assert_eq!(text.matches("sum").count(), 1, "{text}");
        let is_marked = ["\"is_error\":true", "\"error\":", "Error: "];
        assert!(is_marked.iter().any(|mark| text.contains(mark)), "{text}");
    }
}

/// An API refuses the whole request because of one result or schema.
#[test]
fn image_data_is_sent_as_base64_without_a_prefix_or_whitespace() {
    let image = |data: &str| {
        let content = vec![ContentBlock::image(data, "image/png")];
        let tool_use = ToolUse::new("1", "a__b", json!({}));
        let results = [(tool_use, Ok(CallToolResult::new(content)))];
        ModelApi::Anthropic.results(&results)[0]["content"][0]["content"][0].clone()
    };
    for data in [
        "aGVs\nbG8=",
        "data:image/png;base64,aGVsbG8=",
        " aGVsbG8=\r\n",
    ] {
        assert_eq!(image(data)["source"]["data"], "aGVsbG8=", "{data:?}");
    }
    for data in ["aGVsbG8", "a-b_", "data:text", "a=b="] {
        assert_eq!(image(data)["type"], "text", "{data:?}");
    }
}

/// Creates a host with two servers, of which one has many tools.
async fn large_host() -> Host {
    let many = Killable::default().connector(|_| {
        let tools = (0..300).map(|number| {
            let text = format!("Reads sensor {number} of a building");
            Tool::new(format!("sensor{number}"), move || number.to_string()).description(text)
        });
        let tools: Vec<_> = tools.collect();
        Some(Server::builder("many", "1.0.0").tools(tools))
    });
    let mail = Killable::default().connector(|_| {
        let run = |Args(arguments): Args<JsonObject>| Value::Object(arguments).to_string();
        let schema = json!({ "type": "object", "properties": { "to": { "type": "string" } } });
        let send = Tool::dynamic("sendMessage", schema, run).description("Sends an e-mail");
        Some(Server::builder("mail", "1.0.0").tool(send))
    });
    let host = Host::builder(client())
        .connector("many", many)
        .connector("9mail", mail)
        .start();
    host.settled().await;
    host
}

fn names(format: ModelApi, tools: &Value) -> Vec<&str> {
    let list = match format {
        ModelApi::Gemini => &tools[0]["functionDeclarations"],
        _ => tools,
    };
    let all = list.as_array().unwrap().iter();
    all.map(|tool| match format {
        ModelApi::OpenAiChat => tool["function"]["name"].as_str().unwrap(),
        _ => tool["name"].as_str().unwrap(),
    })
    .collect()
}

#[tokio::test(start_paused = true)]
async fn a_list_over_the_budget_is_replaced_by_search() {
    let host = large_host().await;
    let tools = host.tools();
    for format in FORMATS {
        let all = format.tools(&tools);
        let tokens = all.tools.to_string().len().div_ceil(3);
        let within = format.tools_within_budget(&tools, &ToolBudget::new(tokens));
        assert_eq!(within, all, "exactly the budget");

        let budget = ToolBudget::new(tokens - 1).with_pinned("many__sensor7");
        let over = format.tools_within_budget(&tools, &budget);
        assert_eq!(over.search, Some(ToolSearch::Tools));
        let is_pinned = |lost: &mcp_host::DroppedKeyword| lost.tool == "many__sensor7";
        assert!(over.dropped.iter().all(is_pinned), "{:?}", over.dropped);
        let expected = ["many__sensor7", "search_tools", "call_tool"];
        assert_eq!(names(format, &over.tools), expected);
        let text = over.tools.to_string();
        assert!(text.contains("9mail (1), many (300)"), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_finds_tools_and_calls_them() {
    let host = large_host().await;
    let run = async |name: &str, input: Value| {
        let result = host.call(&ToolUse::new("1", name, input)).await;
        result.map(|result| result.joined_text())
    };
    let found = run("search_tools", json!({ "query": "send an email message" }))
        .await
        .unwrap();
    let first: Value = serde_json::from_str(found.lines().next().unwrap()).unwrap();
    assert_eq!(first["inputSchema"]["properties"]["to"]["type"], "string");
    let name = first["name"].as_str().unwrap();
    assert_eq!(name, "9mail__sendMessage");
    for arguments in [json!({ "to": "a" }), json!("{\"to\":\"a\"}")] {
        let input = json!({ "name": name, "arguments": arguments });
        assert_eq!(run("call_tool", input).await.unwrap(), r#"{"to":"a"}"#);
    }

    let sensor = |limit: u64| json!({ "query": "building sensors", "limit": limit });
    let found = run("search_tools", sensor(1_000_000)).await.unwrap();
    assert_eq!(found.lines().count(), 20, "the maximum");
    assert_eq!(run("search_tools", sensor(1_000_000)).await.unwrap(), found);
    assert_eq!(
        run("search_tools", sensor(0))
            .await
            .unwrap()
            .lines()
            .count(),
        1
    );
    let nothing = run("search_tools", json!({ "query": "weather" }))
        .await
        .unwrap();
    assert!(nothing.contains("No tool"), "{nothing}");

    for input in [
        json!({}),
        json!({ "name": name, "arguments": "{" }),
        json!({ "name": name, "arguments": [1] }),
    ] {
        let error = run("call_tool", input).await.unwrap_err();
        assert!(matches!(error, HostError::Arguments { .. }), "{error}");
    }
    let input = json!({ "name": "call_tool", "arguments": { "name": name } });
    let error = run("call_tool", input).await.unwrap_err();
    assert!(matches!(error, HostError::UnknownTool { .. }), "{error}");
}

/// The request and the messages of one search that the API leaves to the host.
async fn searched(host: &Host, format: ModelApi, call: Value) -> (Value, Value, ToolUse) {
    let budget = ToolBudget::new(1)
        .with_pinned("many__sensor7")
        .with_search(ToolSearch::Client);
    let offered = format.tools_within_budget(&host.tools(), &budget);
    assert_eq!(offered.search, Some(ToolSearch::Client));
    let tool_use = format.tool_uses(&call).pop().unwrap();
    let result = host.call(&tool_use).await;
    let answers = format.results(&[(tool_use.clone(), result)]);
    (offered.tools, answers[0].clone(), tool_use)
}

#[tokio::test(start_paused = true)]
async fn anthropic_loads_the_deferred_tools_that_a_search_of_the_host_has_found() {
    let host = large_host().await;
    let search = |query: &str| {
        json!({ "content": [
            { "type": "tool_use", "id": "1", "name": "tool_search", "input": { "query": query, "limit": 2 } }
        ] })
    };
    let found = searched(&host, ModelApi::Anthropic, search("send an email")).await;
    let (tools, answer, _) = found;
    let listed: Vec<_> = tools.as_array().unwrap().iter().collect();
    assert_eq!(listed.len(), 302, "all tools and the search");
    let loaded = listed.iter().filter(|tool| tool["defer_loading"] != true);
    let loaded: Vec<_> = loaded.map(|tool| &tool["name"]).collect();
    assert_eq!(loaded, ["many__sensor7", "tool_search"]);
    assert_eq!(
        answer,
        json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "1", "content": [
            { "type": "tool_reference", "tool_name": "9mail__sendMessage" }
        ] }] })
    );

    let (_, answer, _) = searched(&host, ModelApi::Anthropic, search("weather")).await;
    let text = answer["content"][0]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("No tool has these words"), "{text}");
    let invalid = json!({ "content": [{ "type": "tool_use", "id": "1", "name": "tool_search", "input": {} }] });
    let (_, answer, _) = searched(&host, ModelApi::Anthropic, invalid).await;
    assert_eq!(answer["content"][0]["is_error"], true, "{answer}");
}

#[tokio::test(start_paused = true)]
async fn openai_responses_load_the_definitions_that_a_search_of_the_host_has_found() {
    let host = large_host().await;
    let search = |arguments: Value, execution: &str| {
        json!({ "output": [{
            "type": "tool_search_call", "id": "x", "call_id": "1", "execution": execution,
            "status": "completed", "arguments": arguments
        }] })
    };
    let format = ModelApi::OpenAiResponses;
    for arguments in [
        json!({ "query": "send message" }),
        json!(r#"{"query":"send message"}"#),
    ] {
        let found = searched(&host, format, search(arguments, "client")).await;
        let (tools, answer, tool_use) = found;
        assert_eq!(tool_use.name, "tool_search");
        assert_eq!(tools[0]["name"], "many__sensor7");
        assert_eq!(
            (&tools[1]["type"], &tools[1]["execution"]),
            (&json!("tool_search"), &json!("client"))
        );
        assert_eq!(tools[1]["parameters"]["required"], json!(["query"]));
        assert_eq!(
            tools.as_array().unwrap().len(),
            2,
            "the others are in no request"
        );
        assert_eq!(
            answer,
            json!({
                "type": "tool_search_output", "call_id": "1", "execution": "client", "status": "completed",
                "tools": [{
                    "name": "9mail__sendMessage", "description": "Sends an e-mail",
                    "parameters": { "type": "object", "properties": { "to": { "type": "string" } } },
                    "type": "function", "strict": false, "defer_loading": true
                }]
            })
        );
    }
    let provider = search(json!({}), "server");
    assert_eq!(format.tool_uses(&provider), [], "the provider has answered");
    let (_, answer, _) = searched(
        &host,
        format,
        search(json!({ "query": "weather" }), "client"),
    )
    .await;
    assert_eq!(answer["tools"], json!([]));

    let called = json!({ "output": [{
        "type": "function_call", "call_id": "2", "namespace": "x", "name": "9mail__sendMessage",
        "arguments": r#"{"to":"a"}"#
    }] });
    let result = host.call(&format.tool_uses(&called)[0]).await.unwrap();
    assert_eq!(result.joined_text(), r#"{"to":"a"}"#);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_searches_gets_all_tools_that_are_not_pinned_as_deferred() {
    let host = large_host().await;
    let tools = host.tools();
    let budget = ToolBudget::new(1)
        .with_pinned("many__sensor7")
        .with_search(ToolSearch::Provider);
    let offered = ModelApi::Anthropic.tools_within_budget(&tools, &budget);
    assert_eq!(offered.search, Some(ToolSearch::Provider));
    assert_eq!(
        offered.tools[1],
        json!({ "type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25" })
    );
    assert_eq!(offered.tools[2]["defer_loading"], true);

    let offered = ModelApi::OpenAiResponses.tools_within_budget(&tools, &budget);
    assert_eq!(offered.tools[1], json!({ "type": "tool_search" }));
    let namespaces = &offered.tools.as_array().unwrap()[2..];
    let names: Vec<_> = namespaces.iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["9mail__tools", "many__tools"]);
    assert_eq!(
        namespaces[0]["description"],
        "Tools of the server 9mail: sendMessage"
    );
    assert_eq!(namespaces[0]["tools"][0]["defer_loading"], true);
    let long = namespaces[1]["description"].as_str().unwrap();
    assert!(long.len() < 510 && long.ends_with(" .."), "{long}");

    for format in [ModelApi::OpenAiChat, ModelApi::Gemini] {
        let offered = format.tools_within_budget(&tools, &budget);
        assert_eq!(offered.search, Some(ToolSearch::Tools), "no other search");
    }
}

#[tokio::test(start_paused = true)]
async fn the_model_reads_a_long_result_in_parts() {
    let long = "ä".repeat(2_000);
    let texts = long.clone();
    let server = move || {
        let (text, structured) = (texts.clone(), json!({ "rows": vec![7; 2_000] }));
        Server::builder("fixture", "1.0.0")
            .tool(Tool::new("text", move || text.clone()))
            .tool(Tool::new("rows", move || {
                mcp_server::Json(structured.clone())
            }))
            .tool(Tool::new("short", || "short"))
    };
    let connector = Killable::default().connector(move |_| Some(server()));
    let host = Host::builder(client())
        .connector("one", connector)
        .max_result_bytes(1_024)
        .start();
    host.settled().await;
    let call = async |name: &str, input: Value| {
        let result = host.call(&ToolUse::new("1", name, input)).await.unwrap();
        (result.joined_text(), result)
    };
    assert_eq!(call("one__short", json!({})).await.0, "short");
    let (start, _) = call("one__text", json!({})).await;
    assert!(start.len() < 1_200, "{start}");
    assert!(start.starts_with(&"ä".repeat(512)), "{start}");
    assert!(start.contains("1024 of 4000 bytes"), "{start}");

    // The parts are the whole text.
    let mut read = start.split('\n').next().unwrap().to_owned();
    while read.len() < long.len() {
        let input = json!({ "handle": 1, "offset": read.len() });
        let (part, _) = call("read_result", input).await;
        read += part.split('\n').next().unwrap();
    }
    assert_eq!(read, long);

    // Structured content is text for the model, so it is cut as text.
    let (rows, result) = call("one__rows", json!({})).await;
    assert!(
        rows.contains("Read on with read_result: {\"handle\":2"),
        "{rows}"
    );
    assert!(result.structured_content.is_none());

    for (input, problem) in [
        (json!({ "handle": 9, "offset": 0 }), "no longer stored"),
        (json!({ "handle": 1, "offset": 9_999 }), "at most 4000"),
        (
            json!({ "handle": 1, "offset": 1 }),
            "beginning of a character",
        ),
        (json!({ "handle": 1 }), "must be integers"),
    ] {
        let (text, result) = call("read_result", input).await;
        assert!(result.is_error() && text.contains(problem), "{text}");
    }
    // The oldest results are removed first.
    for _ in 0..32 {
        call("one__text", json!({})).await;
    }
    let (text, _) = call("read_result", json!({ "handle": 1, "offset": 0 })).await;
    assert!(text.contains("no longer stored"), "{text}");

    // The model is offered the tool, even when it has to search for others.
    let offered = |tools: Value| tools.to_string().contains("read_result");
    assert!(offered(ModelApi::OpenAiChat.tools(&host.tools()).tools));
    let within = ModelApi::Gemini.tools_within_budget(&host.tools(), &ToolBudget::new(1));
    assert!(within.search.is_some() && offered(within.tools));
    host.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_large_definition_in_a_search_result_does_not_remove_other_definitions() {
    let connector = Killable::default().connector(|_| {
        let run = |Args(_): Args<JsonObject>| "";
        let large = json!({ "type": "object", "description": "x".repeat(70_000) });
        let small = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
        let server = Server::builder("s", "1")
            .tool(Tool::dynamic("read_file_file", large, run).description("read file file file"))
            .tool(Tool::dynamic("read_file", small, run).description("Reads."));
        Some(server)
    });
    let host = Host::builder(client()).connector("s", connector).start();
    host.settled().await;
    let call = json!({ "output": [{ "type": "tool_search_call", "call_id": "1", "arguments": { "query": "read file" } }] });
    let answer = searched_plain(&host, call).await;
    let tools = answer["tools"].as_array().unwrap();
    let find = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
    assert_eq!(
        find("s__read_file")["parameters"]["properties"]["path"]["type"],
        "string"
    );
    let large = find("s__read_file_file");
    assert_eq!(large["description"], "read file file file");
    assert!(large.to_string().len() < 1_000);
}

/// Returns the answer to a search of OpenAI Responses.
async fn searched_plain(host: &Host, call: Value) -> Value {
    let format = ModelApi::OpenAiResponses;
    let tool_use = format.tool_uses(&call).pop().unwrap();
    let result = host.call(&tool_use).await;
    format.results(&[(tool_use, result)]).remove(0)
}

#[tokio::test(start_paused = true)]
async fn the_report_of_removed_keywords_is_limited() {
    let mut definitions = serde_json::Map::new();
    for number in 0..15 {
        let next = json!({ "$ref": format!("#/$defs/d{}", number + 1) });
        let (one, other) = ("a".repeat(500), "b".repeat(500));
        let schema = json!({ "x-unknown": 1, "properties": { one: next, other: next } });
        definitions.insert(format!("d{number}"), schema);
    }
    let schema = json!({ "type": "object", "$ref": "#/$defs/d0", "$defs": definitions });
    let connector = Killable::default().connector(move |_| {
        let run = |Args(_): Args<JsonObject>| "";
        Some(Server::builder("s", "1").tool(Tool::dynamic("t", schema.clone(), run)))
    });
    let host = Host::builder(client()).connector("s", connector).start();
    host.settled().await;
    for format in FORMATS {
        let dropped = format.tools(&host.tools()).dropped;
        let bytes: usize = dropped.iter().map(|one| one.pointer.len()).sum();
        assert!(
            dropped.len() <= 1_000 && bytes <= 1_100_000,
            "{} of {bytes}",
            dropped.len()
        );
    }
}
