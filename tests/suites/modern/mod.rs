//! The stateless revision over a pipe: request metadata, multi round-trip requests, subscriptions.

mod admission;
mod base;
mod extensions;
mod features;
mod lists;
mod refusals;
mod rounds;
mod running;
mod subscriptions;
mod tools;
mod transports;
mod users;

use mcp_protocol::Service;
use mcp_tests::wire::Wire;
use serde_json::{Value, json};

/// The `_meta` of a client with these capabilities.
fn meta(capabilities: Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "scripted", "version": "0" },
        "io.modelcontextprotocol/clientCapabilities": capabilities
    })
}

/// A client of a server, with its declared capabilities.
struct Peer {
    wire: Wire,
    capabilities: Value,
}

impl Peer {
    fn new(service: impl Service) -> Self {
        Self {
            wire: Wire::to(service),
            capabilities: json!({}),
        }
    }

    fn with(service: impl Service, capabilities: Value) -> Self {
        Self {
            capabilities,
            ..Self::new(service)
        }
    }

    fn params(&self, mut params: Value) -> Value {
        params["_meta"] = meta(self.capabilities.clone());
        params
    }

    async fn answer(&mut self, method: &str, params: Value) -> Value {
        let params = self.params(params);
        self.wire.answer_to(method, params).await
    }

    async fn call(&mut self, method: &str, params: Value) -> Value {
        let params = self.params(params);
        let result = self.wire.call(method, params).await;
        assert!(result["resultType"].is_string(), "{result}");
        result
    }

    async fn tool(&mut self, name: &str, more: Value) -> Value {
        self.call("tools/call", named(name, more)).await
    }

    /// Returns the code of an error.
    async fn fails(&mut self, method: &str, params: Value) -> i64 {
        let answer = self.answer(method, params).await;
        let code = answer["error"]["code"].as_i64();
        code.unwrap_or_else(|| panic!("{answer}"))
    }

    /// Asserts that nothing was sent: the next frame is the response to another request.
    async fn silent(&mut self) {
        self.call("server/discover", json!({})).await;
    }
}

fn named(name: &str, more: Value) -> Value {
    let mut params = more;
    params["name"] = json!(name);
    params
}

/// Returns the text of a result.
fn text(result: &Value) -> &str {
    assert_eq!(result["resultType"], "complete", "{result}");
    result["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{result}"))
}
