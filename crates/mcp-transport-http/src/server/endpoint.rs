//! The tower service.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use http::{Method, Request, Response};
use mcp_protocol::{Closed, IntoService, guarded};
use tokio::time::timeout;

use crate::permit::Capacity;
use crate::server::cluster::{Cluster, Placement};
use crate::server::error::Error;
use crate::server::head::{McpHeaders, PeerAddr, RequestHead};
use crate::server::options::ServerOptions;
use crate::server::request::admission;
use crate::server::request::post;
use crate::server::response::body::Body;
use crate::server::response::refusal::Refusal;
use crate::server::session::stateless::StatelessRequests;
use crate::server::session::table::SessionTable;
use crate::server::state::EndpointState;
use crate::sync::lock;

/// Maximum number of concurrent searches for the stored response of a call whose endpoint has ended. Each search reads all events
/// of a call.
const MAX_KEPT_CALLS: usize = 16;

/// An MCP server as a [tower service] over HTTP requests. It can be mounted in hyper, axum or any
/// other HTTP server, at any path.
///
/// Cloning returns another handle to the same sessions. The service never returns an error: a
/// request that is rejected gets a response with a status and a JSON-RPC error.
///
/// An authentication layer in front of the endpoint can put a [`Principal`](mcp_protocol::Principal) into the request's
/// extensions. The session then belongs to that principal, and handlers can read the principal. A layer can also add a
/// [`Grant`](mcp_protocol::Grant), which contains the scopes of the request.
///
/// [tower service]: tower_service::Service
#[derive(Clone)]
pub struct Endpoint(pub(crate) Arc<SharedEndpoint>);

/// The state that all handles to an endpoint share.
pub(crate) struct SharedEndpoint {
    pub(crate) state: EndpointState,
    /// The other endpoints of the server. `None` if this endpoint works alone.
    cluster: Option<Cluster>,
}

impl Endpoint {
    /// Creates an endpoint with the default [`ServerOptions`].
    ///
    /// # Errors
    /// The server configuration is invalid, for example if two tools have the same name.
    pub fn new(server: impl IntoService) -> Result<Self, Error> {
        Self::with_options(server, ServerOptions::default())
    }

    /// Creates an endpoint with custom options.
    ///
    /// # Errors
    /// The server configuration or an option is invalid.
    pub fn with_options(server: impl IntoService, options: ServerOptions) -> Result<Self, Error> {
        let service = server
            .into_service()
            .map_err(|error| Error::invalid_server(&error))?;
        if let Some(problem) = options.problem() {
            return Err(Error::invalid_options(problem));
        }
        service.start();
        let options = Arc::new(options);
        let cluster = Cluster::of(&options, &service)?;
        let revisions = service.facts().revisions;
        let shared = |limit| Capacity::with_shares(limit, options.client_share_percent);
        let responses = shared(options.memory.max_response_bytes);
        let state = EndpointState {
            sessionless: Mutex::default(),
            stateless: StatelessRequests::new(&service, &options, &responses),
            has_handshake: revisions.iter().any(|revision| !revision.is_stateless()),
            revisions,
            sessions: Arc::new(SessionTable::new()),
            in_flight: shared(options.request_limits.max_in_flight),
            receiving: shared(options.request_limits.max_receiving),
            subscriptions: shared(options.request_limits.max_subscriptions),
            streams: shared(options.memory.max_stream_bytes),
            bodies: shared(options.memory.max_request_bytes),
            responses,
            #[cfg(feature = "legacy")]
            legacy: Default::default(),
            threads: Capacity::new(options.request_limits.max_blocking_handlers),
            kept_calls: Capacity::with_shares(MAX_KEPT_CALLS, options.client_share_percent),
            closing: AtomicBool::new(false),
            service,
            options,
        };
        Ok(Self(Arc::new(SharedEndpoint { state, cluster })))
    }

    /// Returns the number of sessions.
    pub fn sessions(&self) -> usize {
        self.0.state.sessions.usage.total().sessions
    }

    /// Returns the memory that is counted for the sessions, in bytes; see
    /// [`MemoryLimits::max_session_bytes`](crate::MemoryLimits::max_session_bytes).
    pub fn session_bytes(&self) -> usize {
        self.0.state.sessions.usage.total().bytes
    }

    /// Returns the memory that is counted for subscriptions and for the open GET streams of sessions, in bytes; see
    /// [`MemoryLimits::max_stream_bytes`](crate::MemoryLimits::max_stream_bytes).
    pub fn stream_bytes(&self) -> usize {
        self.0.state.streams.used()
    }

    /// Returns the number of running requests, including requests of sessions whose client has
    /// disconnected.
    pub fn in_flight(&self) -> usize {
        self.0.state.in_flight.used()
    }

    /// Returns the number of open subscriptions of the stateless revision.
    pub fn subscriptions(&self) -> usize {
        self.0.state.subscriptions.used()
    }

    /// Shuts down gracefully. Rejects new requests, and [notifies the server](mcp_protocol::Service::closing), so that
    /// subscriptions end. Waits up to [`ServerTimeouts::shutdown`](crate::ServerTimeouts::shutdown) for running requests. Then
    /// closes all sessions and streams.
    ///
    /// # Cancel safety
    /// If the future is dropped, the endpoint keeps rejecting new requests, and sessions and streams that were not closed yet
    /// stay open.
    pub async fn close(&self) {
        let state = &self.0.state;
        state.closing.store(true, Ordering::Release);
        if guarded(|| state.service.closing()).is_err() {
            tracing::error!("the server panicked at shutdown");
        }
        let drained = async {
            // In this order, because a running request may turn into a subscription.
            state.in_flight.drained().await;
            state.subscriptions.drained().await;
        };
        // Requests that are still running after the timeout are cancelled below.
        let _ = timeout(state.options.timeouts.shutdown, drained).await;
        state.sessions.close(&Closed::local());
        #[cfg(feature = "legacy")]
        state.legacy.close(&Closed::local());
        for (_, session) in lock(&state.sessionless).drain(..) {
            session.close(&Closed::local());
        }
        state.stateless.close(&Closed::local());
    }

    /// Serves a request that was sent from the address `peer`.
    pub(super) fn serve_from<B>(
        &self,
        request: Request<B>,
        peer: Option<PeerAddr>,
    ) -> ResponseFuture
    where
        B: http_body::Body + Send + 'static,
        B::Data: Send,
        B::Error: Send,
    {
        let shared = Arc::clone(&self.0);
        let (parts, body) = request.into_parts();
        // Boxed, because several futures pass the head on.
        let asked = Box::new(RequestHead::new(parts, peer));
        Box::pin(async move {
            let (state, cluster) = (&shared.state, shared.cluster.as_ref());
            let served = match asked.method {
                Method::POST => post::serve(state, cluster, asked, body).await,
                // Boxed because this branch is rare: the future of a request is as large as its largest branch.
                _ => Box::pin(serve_without_message(state, cluster, asked)).await,
            };
            served.or_else(|refusal| Ok(refusal.into_response()))
        })
    }

    pub(crate) fn options(&self) -> &ServerOptions {
        &self.0.state.options
    }
}

/// The response of an endpoint.
pub(super) type ResponseFuture =
    Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

impl<B> tower_service::Service<Request<B>> for Endpoint
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Send,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        self.serve_from(request, None)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("sessions", &self.sessions())
            .field("in_flight", &self.in_flight())
            .field("subscriptions", &self.subscriptions())
            .finish_non_exhaustive()
    }
}

/// Serves a request that contains no JSON-RPC message. Such a request opens or resumes a stream, or ends a session.
async fn serve_without_message(
    state: &EndpointState,
    cluster: Option<&Cluster>,
    parts: Box<RequestHead>,
) -> Result<Response<Body>, Refusal> {
    let mcp_headers = McpHeaders::of(&parts.headers);
    admission::admit(state, &parts, &mcp_headers)?;
    let has_sessions =
        state.options.sessions && state.has_handshake && !mcp_headers.names_stateless_revision;
    let mut claimed = None;
    if let Some(cluster) = cluster {
        match cluster.before(state, &parts, &mcp_headers, None).await? {
            Placement::Here(guard) => claimed = guard,
            #[cfg(feature = "forward")]
            Placement::Elsewhere(response) => return Ok(response),
        }
    }
    let claimed = claimed.as_ref();
    match parts.method {
        Method::GET if has_sessions => state.listen(&parts, &mcp_headers, claimed).await,
        Method::DELETE if has_sessions => state.end(&parts, &mcp_headers, claimed, cluster).await,
        Method::GET | Method::DELETE => Err(Refusal::method_not_allowed(
            "POST",
            "this server has no sessions; send POST",
        )),
        _ => Err(Refusal::method_not_allowed(
            if has_sessions {
                "POST, GET, DELETE"
            } else {
                "POST"
            },
            "send POST, GET or DELETE",
        )),
    }
}
