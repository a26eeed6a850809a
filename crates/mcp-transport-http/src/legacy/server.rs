//! The server of the HTTP+SSE transport.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use mcp_jsonrpc::{ErrorObject, TreeSize, parse_measured};
use mcp_protocol::middleware::{Discarded, Role};
use mcp_protocol::modern::MAX_IDENTITY_MEMORY;
use mcp_protocol::{Caller, Closed, Grant, Mux, MuxLimits, Principal, ServerSession};
use tokio::time::{Instant, Sleep, sleep};

use super::sessions::Session;
use super::work::spawn;
use crate::permit::Permit;
use crate::server::endpoint::{Endpoint, SharedEndpoint};
use crate::server::head::{McpHeaders, RequestHead};
use crate::server::request::admission;
use crate::server::request::body::{charge_tree, read_body};
use crate::server::response::body::{Body, EventSource, event_stream};
use crate::server::response::refusal::Refusal;
use crate::server::session::usage::Usage;
use crate::server::session_id::SessionId;
use crate::server::state::SUBSCRIPTION;
use crate::server::stream::frames;
use crate::sync::lock;

/// The query parameter with the session id.
const SESSION: &str = "sessionId";

/// The HTTP+SSE transport of revision 2024-11-05, for use in addition to an [`Endpoint`]. It is a tower service that answers GET
/// with the event stream and receives messages by POST.
///
/// It can be mounted at one path for both, or at two paths. The event stream tells the client to post messages to the path of the
/// GET, unless [`message_path`](Self::message_path) sets another path.
#[derive(Clone)]
pub struct LegacyEndpoint {
    endpoint: Arc<SharedEndpoint>,
    message_path: Option<Arc<str>>,
}

impl Endpoint {
    /// Returns a service for clients of revision 2024-11-05, with the same server and the same
    /// limits.
    pub fn legacy(&self) -> LegacyEndpoint {
        LegacyEndpoint {
            endpoint: Arc::clone(&self.0),
            message_path: None,
        }
    }
}

impl LegacyEndpoint {
    /// Sets the absolute path to which clients post messages.
    #[must_use]
    pub fn message_path(mut self, path: impl Into<Arc<str>>) -> Self {
        self.message_path = Some(path.into());
        self
    }

    async fn serve<B>(&self, parts: Box<RequestHead>, body: B) -> Result<Response<Body>, Refusal>
    where
        B: http_body::Body + Send,
        B::Data: Send,
    {
        let state = &self.endpoint.state;
        admission::admit(state, &parts, &McpHeaders::of(&parts.headers))?;
        if !state.has_handshake {
            return Err(Refusal::new(
                StatusCode::NOT_FOUND,
                "this server supports only the stateless revision, which has no HTTP+SSE transport; use Streamable HTTP",
            ));
        }
        match parts.method {
            Method::GET => self.open(parts),
            Method::POST => self.receive(parts, body).await,
            _ => Err(Refusal::method_not_allowed("GET, POST", "send GET or POST")),
        }
    }

    /// Handles GET: opens a session. The session ends with its event stream.
    fn open(&self, parts: Box<RequestHead>) -> Result<Response<Body>, Refusal> {
        let mcp_headers = McpHeaders::of(&parts.headers);
        admission::check_accept(&parts.headers, &mcp_headers, admission::EVENTS)?;
        let state = &self.endpoint.state;
        let principal = parts.extensions.get::<Principal>().cloned();
        let owner = parts.owner();
        let reservation = state.reserve_session(owner.clone())?;
        let memory = state.stream_permit(&parts, SUBSCRIPTION + MAX_IDENTITY_MEMORY)?;
        let id = SessionId::random().map_err(|error| {
            tracing::error!(%error, "the operating system has no random numbers");
            Refusal::busy("the server cannot create a session id; send again later")
        })?;
        let path = self.message_path.as_deref().unwrap_or(parts.uri.path());
        let mut first = b"event: endpoint\n".to_vec();
        frames::message(&mut first, |out| {
            out.extend_from_slice(path.as_bytes());
            out.extend_from_slice(format!("?{SESSION}={}", id.text()).as_bytes());
        });
        let options = &state.options;
        let limits = MuxLimits::default()
            .with_frame(options.request_limits.message)
            .with_incoming(options.session_limits.max_in_flight_per_session)
            .with_outgoing(options.session_limits.max_in_flight_per_session)
            .with_queue_bytes(options.streams.max_queued_bytes);
        let inbound = ServerSession::new(Arc::clone(&state.service));
        let mut caller = Caller::remote();
        caller.principal.clone_from(&principal);
        // Responses are sent on this stream, where a `WWW-Authenticate` challenge cannot replace
        // them.
        caller.grant = parts.extensions.get().map(Grant::unanswered);
        let grant = caller.grant.clone();
        caller.facts = Some(parts);
        let mux = Mux::on_behalf(inbound, limits, caller);
        let session = Arc::new(Session {
            mux: Arc::clone(&mux),
            principal,
            owner,
            grant,
        });
        reservation.commit();
        lock(&state.legacy.0).insert(id, session);
        Ok(event_stream(Body::events(SseBody {
            first: Some(first.into()),
            mux,
            id,
            endpoint: Arc::clone(&self.endpoint),
            lines: Vec::new(),
            keep_alive: None,
            _memory: memory,
        })))
    }

    /// Handles POST: receives one message, or a batch if the revision has batches. Responses are sent on the event stream.
    async fn receive<B>(&self, parts: Box<RequestHead>, body: B) -> Result<Response<Body>, Refusal>
    where
        B: http_body::Body + Send,
        B::Data: Send,
    {
        let mcp_headers = McpHeaders::of(&parts.headers);
        admission::check_content(&parts.headers, &mcp_headers)?;
        let state = &self.endpoint.state;
        let session = self.session(&parts)?;
        let mut message = read_body(body, &parts, &mcp_headers, state).await?;
        let mut size = TreeSize::default();
        let parsed = parse_measured(
            &message.bytes,
            &state.options.request_limits.message,
            &mut size,
        );
        if let Err(error) = parsed {
            if let Some(layers) = state.service.layers() {
                layers.discarded(Role::Server, Discarded::Malformed(&error));
            }
            if error.is_response() {
                // Fails the server request that the malformed response belongs to. Nothing is sent.
                session.mux.receive(&message.bytes, &mut |_| {});
            }
            return Err(Refusal::unparsable(&error));
        }
        charge_tree(&mut message.memory, &size, &parts, &state.bodies)?;
        if session.mux.is_congested() {
            return Err(Refusal::busy(
                "the client does not read the event stream of the session; read it before sending more",
            ));
        }
        if session.mux.closed().is_some() {
            return Err(no_session());
        }
        // One permit for the POST, because one body can contain several requests.
        let permit = state.request_permit(&parts)?;
        let (bytes, memory) = message.into_parts();
        let permits = Arc::new((permit, memory));
        // Each request is verified by itself. A later token does not add scopes to the stream, on which
        // the responses are sent.
        let mut caller = Caller::remote();
        caller.principal.clone_from(&session.principal);
        let granted: Option<&Grant> = parts.extensions.get();
        caller.grant = granted
            .zip(session.grant.as_ref())
            .map(|(granted, opened)| granted.intersection(opened));
        caller.facts = Some(parts);
        session.mux.receive_for(caller, &bytes, &mut |work| {
            spawn(work, &state.threads, Arc::clone(&permits));
        });
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::ACCEPTED;
        Ok(response)
    }

    fn session(&self, parts: &Parts) -> Result<Arc<Session>, Refusal> {
        let query = parts.uri.query().unwrap_or_default();
        let id = query
            .split('&')
            .find_map(|pair| pair.strip_prefix(SESSION)?.strip_prefix('='))
            .ok_or_else(|| {
                Refusal::bad_request(format!(
                    "the query parameter {SESSION} is missing; send messages to the URL of the \
                     endpoint event"
                ))
            })?;
        let principal = parts.extensions.get::<Principal>();
        let session = SessionId::parse_text(id.as_bytes())
            .and_then(|id| lock(&self.endpoint.state.legacy.0).get(&id).cloned());
        session
            .filter(|session| session.principal.as_ref() == principal)
            .ok_or_else(no_session)
    }
}

fn no_session() -> Refusal {
    Refusal::with_error(
        StatusCode::NOT_FOUND,
        ErrorObject::invalid_request(
            "the session does not exist, or its stream has ended; open a new stream",
        ),
    )
}

impl<B> tower_service::Service<Request<B>> for LegacyEndpoint
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Send,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let this = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let served = this
                .serve(Box::new(RequestHead::new(parts, None)), body)
                .await;
            Ok(served.unwrap_or_else(Refusal::into_response))
        })
    }
}

impl fmt::Debug for LegacyEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LegacyEndpoint")
            .field("message_path", &self.message_path)
            .finish_non_exhaustive()
    }
}

/// The event stream of a session. Dropping it ends the session.
pub(crate) struct SseBody {
    first: Option<Bytes>,
    mux: Arc<Mux>,
    id: SessionId,
    endpoint: Arc<SharedEndpoint>,
    lines: Vec<u8>,
    keep_alive: Option<Pin<Box<Sleep>>>,
    _memory: Permit,
}

impl EventSource for SseBody {
    fn is_end(&self) -> bool {
        false
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(first));
        }
        match self.mux.poll_output(cx, &mut self.lines) {
            Poll::Ready(false) => Poll::Ready(None),
            Poll::Ready(true) => {
                self.keep_alive = None;
                let mut out = Vec::with_capacity(self.lines.len() + 64);
                let lines = self.lines.split(|byte| *byte == b'\n');
                for line in lines.filter(|line| !line.is_empty()) {
                    out.extend_from_slice(b"event: message\n");
                    frames::message(&mut out, |out| out.extend_from_slice(line));
                }
                self.lines.clear();
                Poll::Ready(Some(out.into()))
            }
            Poll::Pending => self.poll_quiet(cx),
        }
    }
}

impl SseBody {
    /// Returns a comment if nothing was sent for the keep-alive interval.
    fn poll_quiet(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let interval = self.endpoint.state.options.streams.keep_alive_interval;
        let timer = self
            .keep_alive
            .get_or_insert_with(|| Box::pin(sleep(interval)));
        if timer.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        timer.as_mut().reset(Instant::now() + interval);
        Poll::Ready(Some(Bytes::from_static(frames::COMMENT)))
    }
}

impl Drop for SseBody {
    fn drop(&mut self) {
        let state = &self.endpoint.state;
        let session = lock(&state.legacy.0).remove(&self.id);
        self.mux.close(Closed::eof());
        if let Some(session) = session {
            let usage = &state.sessions.usage;
            usage.release(session.owner.as_ref(), Usage::SESSION);
        }
    }
}
