//! Serves one server behind the gateway as a service.

use std::fmt;
use std::sync::Arc;

use mcp_client::Error;
use mcp_jsonrpc::{ErrorObject, Notification, RawJson, Request, decode_params};
use mcp_protocol::http_headers::HeaderParams;
use mcp_protocol::middleware::{Layers, Middleware, SharedMiddleware};
use mcp_protocol::{
    BoxFuture, MethodName, Payload, Reply, RequestContext, ServerFacts, Service, Session, gate,
};
use mcp_types::{SetLevelRequestParams, SubscribeRequestParams, method, v2026_07_28};

use crate::core::{self, Core};
use crate::text::{check_members, member};
use crate::upstream::Upstream;

/// A server behind the gateway. It is served like a server of this process, in all revisions, even if the server has only one
/// revision. Cloning returns another handle.
#[derive(Clone)]
pub struct Proxy {
    pub(crate) core: Arc<Core>,
    layers: Vec<SharedMiddleware>,
}

impl Proxy {
    /// Connects to the server. The proxy has the name, capabilities and instructions of the server.
    ///
    /// # Errors
    /// The server cannot be started or reached, or no revision is supported by both sides.
    pub async fn connect(upstream: Upstream) -> Result<Self, Error> {
        let (upstream, changes) = (Arc::new(upstream), Arc::default());
        Core::connect(upstream, changes, None).await.map(Self::of)
    }

    pub(crate) fn of(core: Arc<Core>) -> Self {
        Self {
            core,
            layers: Vec::new(),
        }
    }

    /// Adds middleware around all messages of clients, such as telemetry. The first middleware is the outermost. Default: none.
    #[must_use]
    pub fn layer(mut self, middleware: impl Middleware) -> Self {
        self.layers.push(SharedMiddleware::new(middleware));
        self
    }

    /// Returns the settings of the server.
    pub fn upstream(&self) -> &Upstream {
        &self.core.upstream
    }

    /// Returns the revision that the proxy uses with the server.
    pub fn revision(&self) -> mcp_client::Revision {
        self.core.shared.known().revision
    }

    /// Pings the server. Returns the reason if the server does not respond within 2 s. The reason contains no text from the
    /// server.
    pub async fn unready(&self) -> Option<String> {
        self.core.unready().await
    }

    /// Closes the shared connection, and ends all subscriptions. Connections of sessions end with
    /// their sessions.
    pub async fn close(&self) {
        self.core.closing.send_replace(true);
        if let Some(connection) = self.core.shared.current()
            && let Err(error) = connection.client.close().await
        {
            tracing::debug!(%error, "the connection to the server did not close");
        }
    }
}

/// Maximum length of the name of a method that is not part of the protocol, in bytes.
const MAX_METHOD_NAME: usize = 256;

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Proxy").field(&self.core.upstream).finish()
    }
}

impl Service for Proxy {
    fn facts(&self) -> ServerFacts {
        self.core.shared.known().facts.clone()
    }

    fn edition(&self) -> u64 {
        self.core.shared.edition()
    }

    fn sign(&self, parts: &[&[u8]]) -> Option<String> {
        Some(self.core.upstream.cluster.as_ref()?.keys().mac(parts))
    }

    fn has_shared_key(&self) -> bool {
        let cluster = self.core.upstream.cluster.as_ref();
        cluster.is_some_and(|cluster| cluster.keys().is_shared())
    }

    fn has_signed(&self, parts: &[&[u8]], code: &str) -> bool {
        let cluster = self.core.upstream.cluster.as_ref();
        cluster.is_some_and(|cluster| cluster.keys().has_signed(parts, code))
    }

    fn request(&self, request: &Request<'_>, context: RequestContext) -> Reply {
        if let Err(error) = check_members(request.params.unwrap_or("{}")) {
            return Reply::error(error);
        }
        let name = match gate::core_method(&request.method) {
            Some(name) => MethodName::Borrowed(name),
            None => MethodName::Owned((*request.method).to_owned()),
        };
        self.serve(name, request.params, context)
    }

    fn readiness(&self) -> Option<BoxFuture<'static, Result<(), ErrorObject>>> {
        let core = Arc::clone(&self.core);
        Some(Box::pin(async move {
            let reason = core.unready().await;
            reason.map_or(Ok(()), |reason| {
                let text = format!("the server behind this proxy cannot serve requests: {reason}");
                Err(ErrorObject::internal(text))
            })
        }))
    }

    /// Returns whether the proxy passes the method on, although it is not part of the protocol. The server rejects methods that
    /// it does not know.
    fn has_method(&self, name: &str) -> bool {
        name.len() <= MAX_METHOD_NAME && !gate::is_core_method(name)
    }

    fn notification(&self, notification: &Notification<'_>, session: &Arc<Session>) {
        if session.revision().is_stateless() {
            return;
        }
        if let Some(connection) = self.core.connection_of(session).current() {
            connection.notify(&notification.method, notification.params);
        }
    }

    fn header_params(&self, tool: &str) -> Option<Arc<HeaderParams>> {
        if self.core.upstream.has_accounts() {
            // The parameters depend on the user, so only the server checks the headers.
            return None;
        }
        self.core.shared.known().header_params.get(tool).cloned()
    }

    fn layers(&self) -> Option<Layers> {
        Layers::of_async(self.layers.clone())
    }

    fn closing(&self) {
        self.core.closing.send_replace(true);
    }

    fn opened(&self, session: &Arc<Session>) {
        if self.core.shared.known().revision.is_stateless() {
            self.core.changes.add_session(session);
        }
    }

    fn closed(&self, session: &Arc<Session>) {
        self.core.close_session(session);
    }
}

impl Proxy {
    /// Serves a request with these params.
    pub(crate) fn serve(
        &self,
        name: impl Into<MethodName>,
        params: Option<&str>,
        context: RequestContext,
    ) -> Reply {
        let (core, name) = (&self.core, name.into());
        let served = match &*name {
            method::SUBSCRIPTIONS_LISTEN => self.start_listening(params, context),
            method::LOGGING_SET_LEVEL
            | method::RESOURCES_SUBSCRIBE
            | method::RESOURCES_UNSUBSCRIBE
                if core.shared.known().revision.is_stateless() =>
            {
                self.serve_session_method(&name, params, &context)
            }
            _ => {
                let params = params.map(RawJson::copy);
                let core = Arc::clone(core);
                Ok(Reply::Pending(Box::pin(
                    core.forward(name, params, context),
                )))
            }
        };
        served.unwrap_or_else(Reply::error)
    }
}

/// Requests that the proxy handles itself.
impl Proxy {
    fn start_listening(
        &self,
        params: Option<&str>,
        context: RequestContext,
    ) -> Result<Reply, ErrorObject> {
        let filter = params.and_then(|params| member(params, "notifications"));
        let filter: v2026_07_28::SubscriptionFilter = decode_params(filter)?;
        let core = Arc::clone(&self.core);
        Ok(Reply::Pending(Box::pin(core::listen(
            core, filter, context,
        ))))
    }

    /// Handles requests of a session-based client whose methods do not exist on a stateless server.
    fn serve_session_method(
        &self,
        name: &str,
        params: Option<&str>,
        context: &RequestContext,
    ) -> Result<Reply, ErrorObject> {
        let session = context.session();
        if name == method::LOGGING_SET_LEVEL {
            let params: SetLevelRequestParams = decode_params(params)?;
            session.set_log_level(params.level);
            return Ok(Reply::ok(Payload::Empty));
        }
        let params: SubscribeRequestParams = decode_params(params)?;
        if name == method::RESOURCES_UNSUBSCRIBE {
            core::unsubscribe(&params.uri, session);
            return Ok(Reply::ok(Payload::Empty));
        }
        let (core, session) = (Arc::clone(&self.core), Arc::clone(session));
        let client = context.owner();
        Ok(Reply::Pending(Box::pin(async move {
            core.subscribe(params.uri, &session, &client).await
        })))
    }
}
