//! Middleware, and handlers of messages that are not part of the protocol.

use std::sync::Arc;

use mcp_jsonrpc::{ErrorObject, decode, decode_params};
use mcp_protocol::middleware::{Middleware, SharedMiddleware};
use mcp_protocol::{BoxFuture, Outcome, Payload};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ClientBuilder;

impl ClientBuilder {
    /// Adds middleware around all messages of the client, in both directions. The first middleware added is the outermost: it
    /// receives outbound messages last and inbound messages first. On the stateless revision, middleware receives the request of
    /// every round trip, and each input request once.
    pub fn layer(mut self, middleware: impl Middleware) -> Self {
        let middleware = SharedMiddleware::new(middleware);
        self.handlers.custom.layers.push(middleware);
        self
    }

    /// Adds a handler for a request from the server that is not part of the protocol. Params that cannot be decoded into `P` are
    /// rejected before the handler is called. If a method has several handlers, the last one is used. [`connect`](Self::connect)
    /// fails if the protocol defines a method with this name. On the stateless revision the handler is never called, because
    /// servers send no requests.
    pub fn method<P, T, F>(
        mut self,
        name: impl Into<String>,
        handler: impl Fn(P) -> F + Send + Sync + 'static,
    ) -> Self
    where
        P: DeserializeOwned,
        T: Serialize + Send + Sync + 'static,
        F: Future<Output = Result<T, ErrorObject>> + Send + 'static,
    {
        let handler = move |params: Option<&str>| {
            let result = handler(decode_params(params)?);
            let outcome: BoxFuture<'static, Outcome> =
                Box::pin(async move { result.await.map(Payload::of) });
            Ok(outcome)
        };
        let methods = &mut self.handlers.custom.methods;
        methods.insert(name.into(), Arc::new(handler));
        self
    }

    /// Adds a handler for a notification from the server that is not part of the protocol. The rules of [`method`](Self::method)
    /// apply. The handler runs on the tokio task that receives messages, so the handler must not block. A notification is dropped
    /// if its params cannot be decoded into `P`.
    pub fn on_notification<P: DeserializeOwned>(
        mut self,
        name: impl Into<String>,
        handler: impl Fn(P) + Send + Sync + 'static,
    ) -> Self {
        let handler = move |params: &str| match decode(params) {
            Ok(params) => handler(params),
            Err(error) => tracing::debug!(%error, "ignored a malformed custom notification"),
        };
        let notifications = &mut self.handlers.custom.notifications;
        notifications.insert(name.into(), Arc::new(handler));
        self
    }
}
