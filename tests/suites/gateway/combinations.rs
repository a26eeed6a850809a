//! Calls in the four combinations of session-based and stateless clients and servers.

use mcp_gateway::Proxy;
use mcp_types::Root;

use super::{Scripted, connect_to, proxy};
use crate::peer::{Peer, client, text};
use crate::prelude::*;

const BOTH: [bool; 2] = [false, true];

/// A client that answers everything.
fn answering() -> ClientBuilder {
    client()
        .on_elicit(async |form| match &*form.params.message {
            "Who?" => form.accept(json!({ "username": "ada", "email": "ada@example.com" })),
            _ => form.accept(json!({ "name": "Ada" })),
        })
        .on_sample(async |sample| Ok(sample.reply("a model", "Paris")))
        .roots([Root::new("file:///work")])
}

#[tokio::test]
async fn a_server_request_reaches_the_client_in_every_combination() {
    for server_is_stateless in BOTH {
        let proxy = proxy(everything::server(), server_is_stateless).await;
        for client_is_stateless in BOTH {
            let client = connect_to(proxy.clone(), answering(), client_is_stateless).await;
            let tools = client.list_tools().await.unwrap();
            assert!(tools.iter().any(|tool| tool.name == "test_simple_text"));
            let said = async |tool: &str, arguments: Value| called(&client, tool, arguments).await;
            assert_eq!(
                said("test_input_required_result_elicitation", json!({})).await,
                "Hello, Ada!"
            );
            assert_eq!(
                said("test_input_required_result_multiple_inputs", json!({})).await,
                "Paris, Ada: 1 roots"
            );
            assert_eq!(
                said("test_sampling", json!({ "prompt": "What?" })).await,
                "LLM response: Paris"
            );
            assert_eq!(
                said("test_elicitation", json!({ "message": "Who?" })).await,
                "User response: action=accept, content={\"username\":\"ada\",\"email\":\"ada@example.com\"}"
            );
            let prompts = client.list_prompts().await.unwrap();
            assert!(!prompts.is_empty());
            let read = client.read_resource("test://static-text").await.unwrap();
            assert_eq!(read.contents.len(), 1);
        }
        proxy.close().await;
    }
}

/// A task of the server would be lost, because the gateway does not forward requests about tasks.
#[tokio::test]
async fn the_tasks_capability_of_a_client_is_not_declared_to_servers() {
    let capabilities = json!({ "extensions": { "io.modelcontextprotocol/tasks": {}, "x/y": {} } });
    for server_is_stateless in BOTH {
        let declared = Tool::new("declared", |cx: Ctx| {
            json!(cx.client_capabilities()).to_string()
        });
        let server = Server::builder("s", "1").tool(declared);
        let proxy = proxy(server, server_is_stateless).await;
        for client_is_stateless in BOTH {
            let service = proxy.clone();
            let mut peer = Peer::open(service, capabilities.clone(), client_is_stateless).await;
            let result = peer.tool("declared", json!({})).await;
            let declared = text(&result);
            assert!(!declared.contains("/tasks"), "{declared}");
            if server_is_stateless || !client_is_stateless {
                assert!(declared.contains("x/y"), "{declared}");
            }
        }
    }
}

/// A server of 2025-03-26 can answer several calls in one message.
#[tokio::test]
async fn a_batch_of_responses_completes_the_calls_of_the_clients() {
    let (upstream, mut servers) = Scripted::upstream();
    let connecting = tokio::spawn(Proxy::connect(upstream));
    let mut server = servers.0.recv().await.unwrap();
    server.welcome("2025-03-26", json!({ "tools": {} })).await;
    server.expect("notifications/initialized").await;
    server.respond("tools/list", json!({ "tools": [] })).await;
    let mut peer = Peer::new(connecting.await.unwrap().unwrap());
    let mut responses = Vec::new();
    for name in ["a", "b"] {
        peer.request("tools/call", json!({ "name": name })).await;
        let id = server.expect("tools/call").await["id"].take();
        responses.push(json!({ "jsonrpc": "2.0", "id": id, "result": { "content": [] } }));
    }
    server.send(responses.into()).await;
    for _ in 0..2 {
        let response = peer.wire.recv().await;
        assert!(response["result"].is_object(), "{response}");
    }
}

/// Some servers list a tool only for a client that it can ask.
#[tokio::test]
async fn a_list_depends_on_the_capabilities_of_the_client() {
    let (upstream, mut servers) = Scripted::upstream();
    let (proxy, mut shared) = servers.proxy(upstream).await;
    let mut plain = Peer::new(proxy.clone());
    plain.request("tools/list", json!({})).await;
    shared.respond("tools/list", json!({ "tools": [] })).await;
    let listed = plain.wire.recv().await;
    assert_eq!(listed["result"]["tools"], json!([]));

    let mut capable = Peer::with(proxy, json!({ "elicitation": {} }));
    let tool = json!({ "name": "ask", "inputSchema": { "type": "object" } });
    capable.request("tools/list", json!({})).await;
    let (mut own, params) = servers.accept().await;
    assert_eq!(params["capabilities"], json!({ "elicitation": {} }));
    own.respond("tools/list", json!({ "tools": [tool] })).await;
    let listed = capable.wire.recv().await;
    assert_eq!(listed["result"]["tools"][0]["name"], "ask");
    // A call uses the same connection.
    capable
        .request("tools/call", json!({ "name": "ask" }))
        .await;
    own.respond("tools/call", json!({ "content": [] })).await;
    let called = capable.wire.recv().await;
    assert_eq!(called["result"]["content"], json!([]));
}

#[tokio::test]
async fn a_client_without_capabilities_receives_no_server_requests() {
    for server_is_stateless in BOTH {
        let proxy = proxy(everything::server(), server_is_stateless).await;
        for client_is_stateless in BOTH {
            let client = connect_to(proxy.clone(), client(), client_is_stateless).await;
            let asked = called(
                &client,
                "test_input_required_result_capabilities",
                json!({}),
            )
            .await;
            assert_eq!(asked, "no capability to use");
        }
    }
}

#[tokio::test]
async fn errors_keep_their_code_and_resource_errors_follow_the_revision() {
    for server_is_stateless in BOTH {
        let proxy = proxy(everything::server(), server_is_stateless).await;
        for client_is_stateless in BOTH {
            let client = connect_to(proxy.clone(), client(), client_is_stateless).await;
            let unknown = refused(client.call_tool("no-such-tool", json!({})).await);
            assert_eq!(unknown.code.0, -32602, "{unknown}");
            let missing = refused(client.read_resource("test://missing").await);
            let code = match client_is_stateless {
                true => -32602,
                false => -32002,
            };
            assert_eq!(missing.code.0, code, "{missing}");
        }
    }
}

#[tokio::test]
async fn clients_of_older_revisions_receive_results_of_their_revision() {
    for server_is_stateless in BOTH {
        let proxy = proxy(everything::server(), server_is_stateless).await;
        let mut wire = PipeEnd::open(proxy, "2024-11-05", json!({})).await;
        let list = wire.call("tools/list", json!({})).await;
        for tool in list["tools"].as_array().unwrap() {
            for member in ["title", "outputSchema", "annotations", "icons", "execution"] {
                assert!(tool.get(member).is_none(), "{member} in {tool}");
            }
        }
        assert!(list.get("ttlMs").is_none() && list.get("resultType").is_none());
        let result = wire.tool("test_simple_text", json!({})).await;
        assert!(result.get("structuredContent").is_none(), "{result}");
    }
}

#[tokio::test]
async fn methods_that_the_protocol_does_not_have_are_passed_on() {
    for server_is_stateless in BOTH {
        let proxy = proxy(everything::server(), server_is_stateless).await;
        for client_is_stateless in BOTH {
            let client = connect_to(proxy.clone(), client(), client_is_stateless).await;
            let call = |method: &'static str, params| client.request_raw(method, params);
            let text = json!({ "text": "abc" });
            let reversed = call("com.example/reverse", text).await.unwrap();
            let reversed: Value = reversed.decode().unwrap();
            assert_eq!(reversed["text"], "cba");
            let unknown = call("com.example/unknown", json!({})).await;
            let rejection = unknown.unwrap_err().rejection().cloned().unwrap();
            assert_eq!(rejection.code, mcp_client::ErrorCode::METHOD_NOT_FOUND);
            let long = client.request_raw("x".repeat(300), json!({})).await;
            assert!(long.unwrap_err().rejection().is_some());
            let invalid = call("com.example/reverse", json!([1])).await.unwrap_err();
            assert!(invalid.to_string().contains("must be a JSON object"));
        }
    }
}

/// The members and numbers of a request and its result reach the other side as they were written.
#[tokio::test]
async fn unknown_members_and_numbers_are_kept() {
    let (upstream, mut servers) = Scripted::upstream();
    let (proxy, mut shared) = servers.proxy(upstream).await;
    let odd =
        json!({ "big": 9_007_199_254_740_993_u64, "float": 1.0, "deep": [{ "x-unknown": null }] });
    let params = json!({ "name": "t", "arguments": odd, "x-extra": { "a": 1.0 } });
    let result =
        json!({ "content": [{ "type": "text", "text": "ok", "x-new": odd }], "x-result": odd });
    for is_stateless in [true, false] {
        let mut peer = Peer::open(proxy.clone(), json!({}), is_stateless).await;
        let id = peer.request("tools/call", params.clone()).await;
        let mut own;
        let server = match is_stateless {
            true => &mut shared,
            false => {
                own = servers.accept().await.0;
                &mut own
            }
        };
        let request = server.respond("tools/call", result.clone()).await;
        for (name, value) in params.as_object().unwrap() {
            assert_eq!(request["params"][name].to_string(), value.to_string());
        }
        let meta = &request["params"]["_meta"];
        assert!(
            meta.is_null(),
            "the metadata of the stateless revision is not for this server: {meta}"
        );
        let answer = peer.wire.recv().await;
        assert_eq!(answer["id"], id);
        for (name, value) in result.as_object().unwrap() {
            assert_eq!(answer["result"][name].to_string(), value.to_string());
        }
        assert_eq!(text(&answer["result"]), "ok");
    }
}

/// A stateless server sees the client behind the gateway, and not the gateway.
#[tokio::test]
async fn the_identity_of_the_client_reaches_the_server() {
    let server = || {
        Server::builder("who", "1").tool(Tool::new("who", async |cx: Ctx| {
            let client = cx.client().map(|client| client.name.clone());
            client.unwrap_or_default()
        }))
    };
    for server_is_stateless in BOTH {
        let proxy = proxy(server(), server_is_stateless).await;
        for client_is_stateless in BOTH {
            let builder = Client::builder("the-client", "7").on_elicit(async |form| form.decline());
            let client = connect_to(proxy.clone(), builder, client_is_stateless).await;
            assert_eq!(called(&client, "who", json!({})).await, "the-client");
        }
    }
}
