//! A scripted client over a pipe, with a session or without one, and calls of a client in the background.

use mcp_protocol::IntoService;
use mcp_server::ServerBuilder;

use crate::prelude::*;

/// The `_meta` of a stateless client with these capabilities.
pub(crate) fn meta(capabilities: Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "scripted", "version": "0" },
        "io.modelcontextprotocol/clientCapabilities": capabilities
    })
}

/// A client of a server, with its declared capabilities.
pub(crate) struct Peer {
    pub(crate) wire: PipeEnd,
    /// Declared with each request of a stateless client.
    pub(crate) capabilities: Value,
    pub(crate) is_stateless: bool,
}

impl Peer {
    /// Creates a stateless client without capabilities.
    pub(crate) fn new(service: impl IntoService) -> Self {
        Self::with(service, json!({}))
    }

    /// Creates a stateless client.
    pub(crate) fn with(service: impl IntoService, capabilities: Value) -> Self {
        Self {
            wire: PipeEnd::to(service),
            capabilities,
            is_stateless: true,
        }
    }

    /// Opens a session of 2025-11-25.
    pub(crate) async fn session(service: impl IntoService, capabilities: Value) -> Self {
        Self {
            wire: PipeEnd::open(service, "2025-11-25", capabilities.clone()).await,
            capabilities,
            is_stateless: false,
        }
    }

    /// Creates a client of either kind.
    pub(crate) async fn open(
        service: impl IntoService,
        capabilities: Value,
        is_stateless: bool,
    ) -> Self {
        match is_stateless {
            true => Self::with(service, capabilities),
            false => Self::session(service, capabilities).await,
        }
    }

    /// Creates one client with a session and one without.
    pub(crate) async fn both(service: impl IntoService) -> [Self; 2] {
        let service = service.into_service().unwrap();
        let session = Self::session(service.clone(), json!({})).await;
        [session, Self::new(service)]
    }

    /// Adds the `_meta` of a stateless client below the members of `_meta` that the params have.
    pub(crate) fn params(&self, mut params: Value) -> Value {
        if self.is_stateless {
            let own = params["_meta"].take();
            params["_meta"] = meta(self.capabilities.clone());
            for (key, value) in own.as_object().into_iter().flatten() {
                params["_meta"][key] = value.clone();
            }
        }
        params
    }

    /// Sends a request; returns its id.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let params = self.params(params);
        self.wire.request(method, params).await
    }

    /// Sends a request; returns its response, which must be the next frame.
    pub(crate) async fn answer(&mut self, method: &str, params: Value) -> Value {
        let params = self.params(params);
        self.wire.answer_to(method, params).await
    }

    /// Sends a request; returns its result.
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Value {
        let params = self.params(params);
        let result = self.wire.call(method, params).await;
        assert_eq!(
            result["resultType"].is_string(),
            self.is_stateless,
            "{result}"
        );
        result
    }

    /// Calls a tool with further params; returns its result.
    pub(crate) async fn tool(&mut self, name: &str, more: Value) -> Value {
        self.call("tools/call", named(name, more)).await
    }

    /// Returns what the server declares about itself.
    pub(crate) async fn discover(&mut self) -> Value {
        self.call("server/discover", json!({})).await
    }

    /// Sends a request that must be rejected with this code; returns the error.
    pub(crate) async fn expect_error(&mut self, method: &str, params: Value, code: i64) -> Value {
        let params = self.params(params);
        self.wire.expect_error(method, params, code).await
    }

    /// Asserts that nothing was sent: the next frame is the response to another request.
    pub(crate) async fn silent(&mut self) {
        if self.is_stateless {
            self.discover().await;
        } else {
            self.wire.silent().await;
        }
    }
}

/// Adds a name to params.
pub(crate) fn named(name: &str, more: Value) -> Value {
    let mut params = more;
    params["name"] = json!(name);
    params
}

/// Returns the text of a result.
pub(crate) fn text(result: &Value) -> &str {
    let text = &result["content"][0]["text"];
    text.as_str().unwrap_or_else(|| panic!("{result}"))
}

/// Creates a server whose tool `ask` counts the roots of the client.
pub(crate) fn counting_roots() -> ServerBuilder {
    Server::builder("asks", "1").tool(Tool::new("ask", async |cx: Ctx| {
        cx.roots().await.map(|roots| roots.len().to_string())
    }))
}

/// Creates a client without capabilities.
pub(crate) fn client() -> ClientBuilder {
    Client::builder("host", "0.1")
}

/// Connects this client to a scripted server of 2025-11-25 without capabilities.
pub(crate) async fn accept(builder: ClientBuilder) -> (PipeEnd, Client) {
    PipeEnd::accept(builder, "2025-11-25", json!({})).await
}

/// Calls a tool without arguments in the background.
pub(crate) fn calling(
    client: &Client,
    tool: &'static str,
) -> JoinHandle<Result<CallToolResult, Error>> {
    let call = client.call_tool(tool, json!({}));
    tokio::spawn(async move { call.await })
}

/// Lists the tools in the background.
pub(crate) fn listing(client: &Client) -> JoinHandle<Result<Vec<mcp_types::Tool>, Error>> {
    spawned(client, |client| async move { client.list_tools().await })
}

/// Notifies when it is dropped.
pub(crate) struct Gone(pub(crate) Arc<Notify>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}
