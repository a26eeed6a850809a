//! Server requests and input requests of handlers: what is sent, what is rejected before it is sent, and
//! which responses reach the handler.

mod forms;
mod roots;
mod sampling;
mod urls;

use crate::peer::{Peer, named, text};
use crate::prelude::*;

/// Calls a tool that requests input; returns the request.
async fn asked(peer: &mut Peer, tool: &str) -> Value {
    if peer.is_stateless {
        let result = peer.tool(tool, json!({})).await;
        assert_eq!(result["resultType"], "input_required", "{result}");
        let requests = result["inputRequests"].as_object().unwrap();
        return requests.values().next().unwrap().clone();
    }
    peer.wire
        .request("tools/call", named(tool, json!({})))
        .await;
    let request = peer.wire.recv().await;
    assert!(request["method"].is_string(), "{request}");
    request
}

/// Calls a tool that requests input once, and gives it this response; returns the result of the tool.
async fn answered(peer: &mut Peer, tool: &str, response: Value) -> Value {
    if !peer.is_stateless {
        let request = asked(peer, tool).await;
        peer.wire.answer(&request, response).await;
        return peer.wire.recv().await["result"].take();
    }
    let first = peer.tool(tool, json!({})).await;
    let key = first["inputRequests"]
        .as_object()
        .unwrap()
        .keys()
        .next()
        .unwrap();
    let mut more = json!({ "inputResponses": { key: response } });
    if !first["requestState"].is_null() {
        more["requestState"] = first["requestState"].clone();
    }
    peer.tool(tool, more).await
}

/// Calls `ask`, which fails with this text and sends no request.
async fn failed(peer: &mut Peer, fragment: &str) {
    let result = peer.tool("ask", json!({})).await;
    assert_eq!(result["isError"], true, "{result}");
    assert!(text(&result).contains(fragment), "{result}");
}

/// Calls `ask`, which needs a capability that the client did not declare.
async fn undeclared(peer: &mut Peer, needed: Value, fragment: &str) {
    if !peer.is_stateless {
        return failed(peer, fragment).await;
    }
    let error = peer
        .expect_error("tools/call", named("ask", json!({})), -32021)
        .await;
    assert_eq!(error["data"], json!({ "requiredCapabilities": needed }));
}
