//! What a server tolerates.

use mcp_server::{Elicitation, ServerBuilder, TaskMode};
use mcp_tests::http::Peer as HttpPeer;
use tokio::time::advance;

use crate::peer::{Peer, named, text};
use crate::prelude::*;

#[derive(Deserialize, JsonSchema)]
struct Compute {
    seconds: u32,
    #[serde(default)]
    label: String,
}

#[derive(Deserialize, JsonSchema)]
struct Account {
    name: String,
    #[serde(default)]
    nick: Option<String>,
}

fn server() -> ServerBuilder {
    let ask = async |cx: Ctx| {
        Ok::<_, HandlerError>(match cx.elicit::<Account>("Which account?").await? {
            Elicitation::Accepted(account) => {
                format!("{} {}", account.name, account.nick.unwrap_or_default())
            }
            _ => "declined".to_owned(),
        })
    };
    let typed = |Args(compute): Args<Compute>| format!("{}{}", compute.seconds, compute.label);
    let dynamic = |Args(arguments): Args<JsonObject>| json!(arguments).to_string();
    let schema = json!({ "type": "object", "properties": { "label": { "type": "string" } } });
    Server::builder("s", "1")
        .tool(Tool::new("none", || "x"))
        .tool(Tool::new("typed", typed))
        .tool(Tool::dynamic("dynamic", schema, dynamic))
        .tool(Tool::new("ask", ask))
}

fn arguments(tool: &str, arguments: Value) -> Value {
    named(tool, json!({ "arguments": arguments }))
}

#[tokio::test]
async fn null_for_an_optional_argument_counts_as_absent() {
    for mut peer in Peer::both(server().strictness(Strictness::Strict)).await {
        let call = arguments("typed", json!({ "seconds": 1, "label": null }));
        assert_eq!(text(&peer.call("tools/call", call).await), "1");
        let call = arguments("dynamic", json!({ "label": null, "more": 1 }));
        assert_eq!(text(&peer.call("tools/call", call).await), r#"{"more":1}"#);
        let call = arguments("typed", json!({ "seconds": null, "label": null }));
        let result = peer.call("tools/call", call).await;
        assert!(text(&result).contains("/seconds"), "{result}");
    }
}

#[tokio::test]
async fn an_argument_of_a_tool_without_arguments_is_ignored() {
    let server = server().build().unwrap();
    for mut peer in Peer::both(server.clone()).await {
        let call = arguments("none", json!({ "random_string": "x" }));
        assert_eq!(text(&peer.call("tools/call", call).await), "x");
    }
    assert_eq!(server.tolerance().count(Deviation::UnexpectedArgument), 2);
}

#[tokio::test]
async fn every_advertised_input_schema_has_the_member_properties() {
    let schema = json!({ "type": "object" });
    let server = server().tool(Tool::dynamic("open", schema, || "x"));
    let mut peer = Peer::new(server);
    for tool in peer.call("tools/list", json!({})).await["tools"]
        .as_array()
        .unwrap()
    {
        assert!(tool["inputSchema"]["properties"].is_object(), "{tool}");
    }
}

/// Calls `ask` and answers its form once; returns the next result, and the key of the form.
async fn asked(peer: &mut Peer, content: Value) -> (Value, String) {
    let response = json!({ "action": "accept", "content": content });
    if !peer.is_stateless {
        peer.wire
            .request("tools/call", named("ask", json!({})))
            .await;
        let request = peer.wire.expect("elicitation/create").await;
        peer.wire.answer(&request, response).await;
        return (peer.wire.recv().await["result"].take(), String::new());
    }
    let first = peer.tool("ask", json!({})).await;
    let key = first["inputRequests"].as_object().unwrap().keys().next();
    let key = key.unwrap().clone();
    let again = peer
        .tool("ask", json!({ "inputResponses": { &key: response } }))
        .await;
    (again, key)
}

#[tokio::test]
async fn null_and_additional_fields_of_a_form_are_ignored() {
    for is_stateless in [false, true] {
        let server = server().build().unwrap();
        let capabilities = json!({ "elicitation": {} });
        let mut peer = Peer::open(server.clone(), capabilities, is_stateless).await;
        let content = json!({ "name": "ada", "nick": null, "extra": "x" });
        let (result, _) = asked(&mut peer, content).await;
        assert_eq!(text(&result), "ada ");
        assert_eq!(server.tolerance().count(Deviation::NullFormField), 1);
        assert_eq!(server.tolerance().count(Deviation::ExtraFormField), 1);
    }
}

#[tokio::test]
async fn a_strict_server_rejects_null_and_additional_fields_of_a_form() {
    for is_stateless in [false, true] {
        for (content, problem) in [
            (json!({ "name": "ada", "nick": null }), "field \"nick\""),
            (json!({ "name": "ada", "extra": "x" }), "field \"extra\""),
        ] {
            let server = server().strictness(Strictness::Strict);
            let capabilities = json!({ "elicitation": {} });
            let mut peer = Peer::open(server, capabilities, is_stateless).await;
            let (result, key) = asked(&mut peer, content).await;
            let said = match is_stateless {
                true => &result["inputRequests"][key]["params"]["message"],
                false => &result["content"][0]["text"],
            };
            assert!(said.as_str().unwrap().contains(problem), "{result}");
        }
    }
}

#[tokio::test]
async fn an_invalid_input_response_is_requested_again_a_limited_number_of_times() {
    let mut peer = Peer::with(server(), json!({ "elicitation": {} }));
    let mut params = json!({});
    for round in 0.. {
        assert!(round < 20, "no end");
        let call = peer.params(named("ask", params));
        let response = peer.wire.answer_to("tools/call", call).await;
        let result = &response["result"];
        if result.is_null() {
            let error = response["error"]["message"].as_str().unwrap();
            assert!(error.contains("field \"name\""), "{error}");
            break;
        }
        let (key, form) = result["inputRequests"]
            .as_object()
            .unwrap()
            .iter()
            .next()
            .unwrap();
        let message = form["params"]["message"].as_str().unwrap();
        assert!(message.starts_with("Which account?"));
        assert_eq!(message.contains("field \"name\""), round > 0, "{message}");
        let answer = json!({ "action": "accept", "content": { "username": "ada" } });
        params = json!({ "inputResponses": { key: answer } });
        if !result["requestState"].is_null() {
            params["requestState"] = result["requestState"].clone();
        }
    }
}

/// The user reads the message of the form.
#[tokio::test]
async fn the_problem_of_an_input_response_is_described_without_names_of_rust_types() {
    let mut peer = Peer::with(server(), json!({ "elicitation": {} }));
    let first = peer.tool("ask", json!({})).await;
    let key = first["inputRequests"].as_object().unwrap().keys().next();
    let key = key.unwrap();
    for response in [json!(null), json!(7)] {
        let again = json!({ "inputResponses": { key: response } });
        let result = peer.tool("ask", again).await;
        let message = &result["inputRequests"][key]["params"]["message"];
        let message = message.as_str().unwrap();
        assert!(message.contains("expected an object"), "{message}");
        assert!(!message.contains("ElicitResult"), "{message}");
    }
}

#[tokio::test]
async fn the_first_request_opens_a_session_without_an_initialized_notification() {
    let server = server().build().unwrap();
    let mut wire = PipeEnd::to(server.clone());
    let params = mcp_tests::wire::initialize_params("2025-11-25", json!({ "elicitation": {} }));
    wire.call("initialize", params).await;
    wire.request("tools/call", json!({ "name": "ask" })).await;
    wire.expect("elicitation/create").await;
    assert_eq!(server.tolerance().count(Deviation::MissingInitialized), 1);
}

#[tokio::test(start_paused = true)]
async fn a_session_in_use_does_not_end_because_of_a_missing_initialized_notification() {
    let endpoint = Endpoint::new(server()).unwrap();
    let mut peer = HttpPeer::new(&endpoint);
    peer.initialize("2025-11-25", json!({})).await;
    for id in 1..4 {
        let reply = peer.call(id, "tools/list", json!({})).await;
        assert_eq!(reply.status, 200);
        advance(Duration::from_secs(75)).await;
    }
    // A session that was never used ends.
    let mut unused = HttpPeer::new(&endpoint);
    unused.initialize("2025-11-25", json!({})).await;
    advance(Duration::from_secs(120)).await;
    tokio::task::yield_now().await;
    assert_eq!(unused.call(1, "tools/list", json!({})).await.status, 404);
}

/// A request of the stateless revision with this metadata, to a server over stdio.
fn stateless(meta: Value, arguments: Value) -> Value {
    let mut all = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    for (key, value) in meta.as_object().unwrap() {
        all[format!("io.modelcontextprotocol/{key}")] = value.clone();
    }
    json!({ "name": "typed", "arguments": arguments, "_meta": all })
}

#[tokio::test]
async fn a_client_that_describes_itself_in_a_malformed_way_is_served() {
    for meta in [
        json!({ "logLevel": null, "clientInfo": null }),
        json!({ "logLevel": "DEBUG" }),
        json!({ "clientInfo": { "name": "x" } }),
        json!({ "clientInfo": { "name": "x", "version": null, "icons": 1 } }),
        json!({ "clientCapabilities": [] }),
        json!({ "clientCapabilities": { "roots": true, "extensions": { "x/y": null } } }),
    ] {
        // `TestClient` would replace this metadata with its own metadata.
        let mut wire = PipeEnd::to(server());
        let params = stateless(meta.clone(), json!({ "seconds": 1 }));
        let result = wire.call("tools/call", params).await;
        assert_eq!(text(&result), "1", "{meta}");
    }
    for (client_info, capabilities) in [
        (json!({ "name": "x" }), json!({})),
        (json!({ "name": "x", "version": "1" }), json!([])),
        (
            json!({ "name": "x", "version": "1" }),
            json!({ "roots": true, "sampling": null }),
        ),
        (json!(null), json!(null)),
    ] {
        for strictness in [Strictness::Tolerant, Strictness::Strict] {
            let server = server().strictness(strictness).build().unwrap();
            let mut wire = PipeEnd::to(server.clone());
            let params = json!({
                "protocolVersion": "2025-11-25", "clientInfo": client_info, "capabilities": capabilities,
            });
            wire.request("initialize", params).await;
            let reply = wire.recv().await;
            let is_served = reply["result"]["serverInfo"].is_object();
            assert_eq!(is_served, strictness == Strictness::Tolerant, "{reply}");
        }
    }
}

#[tokio::test]
async fn null_counts_as_absent_in_the_optional_members_of_a_call() {
    // Without a tool that runs as a task, the server ignores the member "task".
    let server = server().tool(Tool::new("job", || "x").task(TaskMode::Optional));
    for mut peer in Peer::both(server.strictness(Strictness::Strict)).await {
        let params = json!({
            "name": "typed", "arguments": { "seconds": 1 }, "task": null, "inputResponses": null, "requestState": null,
        });
        assert_eq!(text(&peer.call("tools/call", params).await), "1");
    }
}

#[tokio::test]
async fn an_empty_array_instead_of_arguments_counts_as_an_empty_object() {
    let server = server().build().unwrap();
    for mut peer in Peer::both(server.clone()).await {
        let call = named("none", json!({ "arguments": [] }));
        assert_eq!(text(&peer.call("tools/call", call).await), "x");
    }
    assert_eq!(server.tolerance().count(Deviation::EmptyArray), 2);
}
