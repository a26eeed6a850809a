//! Tools that a mount renames, hides, describes or calls with fixed arguments.

use mcp_gateway::{Gateway, Mount, Transform, Upstream};
use mcp_host::StderrLog;
use mcp_protocol::{IntoService as _, Service};
use mcp_server::middleware::{Next, Request, Response};
use mcp_server::{ErrorCode, ServerBuilder};
use mcp_transport_http::serve_with;

use super::{connect_to, upstream};
use crate::peer::client;
use crate::prelude::*;
use crate::traced::Traced;

/// A tool that returns its arguments; headers repeat its region.
fn tool(name: &str) -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "path": { "type": "string" }
        },
        "required": ["region", "path"]
    });
    Tool::dynamic(name, schema, |Args(args): Args<JsonObject>| {
        Value::Object(args).to_string()
    })
}

fn server() -> ServerBuilder {
    Server::builder("tools", "1")
        .tool(tool("go"))
        .tool(tool("push"))
        .tool(tool("log").read_only(true))
}

async fn gateway(transform: Transform) -> Gateway {
    let mount = Mount::new(upstream(server(), true)).transform(transform);
    let gateway = Gateway::builder().mount("m", mount).build().await;
    gateway.unwrap()
}

#[tokio::test]
async fn tools_are_renamed_described_and_hidden() {
    let transform = Transform::new()
        .rename("go", "walk")
        .describe("go", "Walks.")
        .hide("push");
    let gateway = gateway(transform).await;
    for is_stateless in [false, true] {
        let client = connect_to(gateway.clone(), client(), is_stateless).await;
        let tools = client.list_tools().await.unwrap();
        let names: Vec<_> = tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, ["m__walk", "m__log"]);
        assert_eq!(tools[0].description.as_deref(), Some("Walks."));
        let arguments = json!({ "region": "eu", "path": "a" });
        let result = called(&client, "m__walk", arguments.clone()).await;
        assert_eq!(result, r#"{"region":"eu","path":"a"}"#);
        for hidden in ["m__push", "m__PUSH", "m__go"] {
            let error = refused(client.call_tool(hidden, arguments.clone()).await);
            assert!(error.message.contains("unknown tool"), "{error}");
        }
    }
}

#[tokio::test]
async fn fixed_arguments_are_not_shown_and_cannot_be_changed() {
    let transform = Transform::new().fix_argument("go", "path", "/srv");
    let gateway = gateway(transform).await;
    for is_stateless in [false, true] {
        let client = connect_to(gateway.clone(), client(), is_stateless).await;
        let tools = client.list_tools().await.unwrap();
        let schema = json!(tools[0].input_schema);
        assert_eq!(schema["required"], json!(["region"]));
        assert!(schema["properties"]["path"].is_null(), "{schema}");
        for arguments in [
            json!({ "region": "eu" }),
            json!({ "region": "eu", "path": "/etc" }),
        ] {
            let result = called(&client, "m__go", arguments).await;
            assert_eq!(result, r#"{"region":"eu","path":"/srv"}"#);
        }
    }
}

/// If the operator misspelled the name, clients would choose the value of the argument.
#[tokio::test]
async fn a_tool_without_a_fixed_argument_in_its_schema_is_not_offered() {
    let (traced, _guard) = Traced::start();
    let transform = Transform::new().fix_argument("go", "pth", "/srv");
    let gateway = gateway(transform).await;
    let line = traced.line("pth").unwrap();
    for part in ["mount=m", "tool=\"go\"", "did you mean \"path\"?"] {
        assert!(line.contains(part), "{part}: {line}");
    }
    for is_stateless in [false, true] {
        let client = connect_to(gateway.clone(), client(), is_stateless).await;
        let tools = client.list_tools().await.unwrap();
        let names: Vec<_> = tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, ["m__push", "m__log"]);
        let arguments = json!({ "region": "eu", "path": "a" });
        let error = refused(client.call_tool("m__go", arguments).await);
        assert!(error.message.contains("unknown tool"), "{error}");
    }
}

#[tokio::test]
async fn only_read_only_tools_are_offered() {
    let gateway = gateway(Transform::new().read_only()).await;
    let client = connect_to(gateway, client(), true).await;
    let tools = client.list_tools().await.unwrap();
    let names: Vec<_> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["m__log"]);
    let arguments = json!({ "region": "eu", "path": "a" });
    called(&client, "m__log", arguments.clone()).await;
    refused(client.call_tool("m__push", arguments).await);
}

/// Headers are checked against the name and arguments of the client, and written again for the server, which checks them
/// against the changed ones.
#[tokio::test]
async fn headers_match_the_name_and_arguments_that_the_gateway_has_changed() {
    let (listener, address) = listen().await;
    let endpoint = Endpoint::new(server()).unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(serve_with(listener, endpoint, async {
        // A dropped sender also stops the server.
        let _ = stopped.await;
    }));
    let url = format!("http://{address}/mcp");
    let connector = move |_: &StderrLog| HttpTransport::new(&url);
    let settings = Upstream::new("http", connector);
    let settings = settings.negotiation(Revision::LATEST, Negotiation::Stateless);
    let transform = Transform::new()
        .rename("go", "walk")
        .fix_argument("push", "region", "eu");
    let mount = Mount::new(settings).transform(transform);
    let gateway = Gateway::builder().mount("m", mount).build().await.unwrap();
    let endpoint = Endpoint::new(gateway.clone()).unwrap();
    let client = StatelessPeer::new(&endpoint);
    let with_region = |region: &str| {
        let mut client = client.clone();
        client.peer = client.peer.with("mcp-param-region", Some(region));
        client
    };
    let arguments = json!({ "region": "eu", "path": "a" });
    let (eu, us) = (with_region("eu"), with_region("us"));
    let called = eu.tool(1, "m__walk", arguments.clone()).await;
    let called = called.json().await;
    let text = &called["result"]["content"][0]["text"];
    assert_eq!(text, r#"{"region":"eu","path":"a"}"#, "{called}");
    // The header must have the value and name of the body.
    let reply = us.tool(2, "m__walk", arguments.clone()).await;
    reply.refused(400, -32020).await;
    let reply = client.tool(3, "m__walk", arguments.clone()).await;
    reply.refused(400, -32020).await;
    let params = json!({ "name": "m__walk", "arguments": arguments });
    let request = client.request(4, "tools/call", params);
    for name in ["walk", "go", "m__push"] {
        let peer = eu.mirroring(&request).with("mcp-name", Some(name));
        let reply = peer.post(request.clone()).await;
        reply.refused(400, -32020).await;
    }
    // A fixed argument has its header at the server.
    let called = client.tool(5, "m__push", json!({ "path": "a" })).await;
    let called = called.json().await;
    let text = &called["result"]["content"][0]["text"];
    assert_eq!(text, r#"{"path":"a","region":"eu"}"#, "{called}");
    gateway.close().await;
    drop(stop);
    serving.await.unwrap().unwrap();
}

/// The parameters of a tool that are echoed in headers can change without a notification.
#[tokio::test]
async fn the_gateway_lists_the_tools_and_repeats_the_call_after_a_header_mismatch() {
    let (listener, address) = listen().await;
    let methods = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&methods);
    let changed = Server::builder("changed", "1")
        .tool(Tool::new("go", async || "went"))
        .layer(move |request: Request, next: Next| {
            let method = request.method().to_owned();
            let is_first = {
                let mut seen = seen.lock().unwrap();
                seen.push(method.clone());
                seen.iter().filter(|other| **other == method).count() == 1
            };
            async move {
                match method == "tools/call" && is_first {
                    true => {
                        Response::error(ErrorObject::new(ErrorCode::HEADER_MISMATCH, "changed"))
                    }
                    false => next.run(request).await,
                }
            }
        });
    let endpoint = Endpoint::new(changed.build().unwrap()).unwrap();
    let serving = tokio::spawn(serve_with(listener, endpoint, std::future::pending()));
    let connector = move |_: &StderrLog| HttpTransport::new(format!("http://{address}/mcp"));
    let settings = Upstream::new("http", connector);
    let settings = settings.negotiation(Revision::LATEST, Negotiation::Stateless);
    let gateway = Gateway::builder()
        .mount("m", settings)
        .build()
        .await
        .unwrap();
    methods.lock().unwrap().clear();
    let mut peer = crate::peer::Peer::new(gateway.clone());
    let result = peer.tool("m__go", json!({ "arguments": {} })).await;
    assert_eq!(crate::peer::text(&result), "went");
    let seen = methods.lock().unwrap().clone();
    assert_eq!(seen, ["tools/call", "tools/list", "tools/call"]);
    gateway.close().await;
    serving.abort();
}

#[test]
fn an_arc_of_a_service_returns_the_header_parameters_of_the_service() {
    let service: Arc<dyn Service> = server().into_service().unwrap();
    let shared = Arc::new(service);
    assert!(Service::header_params(&shared, "push").is_some());
    assert!(Service::header_params(&shared, "unknown").is_none());
}
