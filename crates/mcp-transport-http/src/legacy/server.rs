//! The server's side of it.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use mcp_jsonrpc::{ErrorObject, parse};
use mcp_protocol::{Caller, Closed, Grant, Mux, MuxLimits, Principal, ServerSession};
use tokio::time::{Instant, Sleep, sleep};

use super::sessions::Session;
use super::work::spawn;
use crate::server::endpoint::Endpoint;
use crate::server::request::head::Heads;
use crate::server::request::{admission, body};
use crate::server::response::body::{Body, EventSource, event_stream};
use crate::server::response::refusal::Refusal;
use crate::server::session::id::SessionId;
use crate::server::state::Shared;
use crate::server::stream::frames;
use crate::sync::lock;

/// The query parameter of the address messages are sent to.
const SESSION: &str = "sessionId";

/// The two-endpoint transport of revision 2024-11-05, beside an [`Endpoint`]: a tower service that
/// answers GET with the stream of events, and takes messages by POST.
///
/// Mount it at one path or at two. The stream tells the client where to send messages: to the
/// path the GET came in at, unless [`with_message_path`](Self::with_message_path) says otherwise.
#[derive(Clone)]
pub struct LegacyEndpoint {
    shared: Arc<Shared>,
    message_path: Option<Arc<str>>,
}

impl Endpoint {
    /// The same server for clients of revision 2024-11-05, under the same limits.
    pub fn legacy(&self) -> LegacyEndpoint {
        LegacyEndpoint {
            shared: Arc::clone(&self.0),
            message_path: None,
        }
    }
}

impl LegacyEndpoint {
    /// Sets where clients send messages, as an absolute path.
    #[must_use]
    pub fn with_message_path(mut self, path: impl Into<Arc<str>>) -> Self {
        self.message_path = Some(path.into());
        self
    }

    async fn serve<B>(&self, parts: Box<Parts>, body: B) -> Result<Response<Body>, Refusal>
    where
        B: http_body::Body + Send,
        B::Data: Send,
    {
        let shared = &self.shared;
        shared.admit(&parts, &Heads::of(&parts.headers))?;
        if !shared.has_handshake {
            return Err(Refusal::new(
                StatusCode::NOT_FOUND,
                "no revision that this transport carries is served here",
            ));
        }
        match parts.method {
            Method::GET => self.open(parts),
            Method::POST => self.receive(&parts, body).await,
            _ => Err(Refusal::method_not_allowed("GET, POST", "send GET or POST")),
        }
    }

    /// GET: opens a session, which lives as long as its stream.
    fn open(&self, parts: Box<Parts>) -> Result<Response<Body>, Refusal> {
        let heads = Heads::of(&parts.headers);
        admission::check_accept(&parts.headers, &heads, admission::EVENTS)?;
        let shared = &self.shared;
        let principal = parts.extensions.get::<Principal>().cloned();
        let place = shared.place(principal.clone())?;
        let id = SessionId::random().map_err(|error| {
            tracing::error!(%error, "the system has no random numbers");
            Refusal::busy("no session can be opened now")
        })?;
        let path = self.message_path.as_deref().unwrap_or(parts.uri.path());
        let mut first = b"event: endpoint\n".to_vec();
        frames::message(&mut first, |out| {
            out.extend_from_slice(path.as_bytes());
            out.extend_from_slice(format!("?{SESSION}={}", id.text()).as_bytes());
        });
        let options = &shared.options;
        let limits = MuxLimits::default()
            .with_frame(options.frame)
            .with_incoming(options.session_in_flight)
            .with_outgoing(options.session_in_flight)
            .with_queue_bytes(options.queue_bytes);
        let inbound = ServerSession::new(Arc::clone(&shared.service));
        let mut caller = Caller::remote();
        caller.principal.clone_from(&principal);
        // The answers come on this stream, where none can be replaced by a challenge.
        caller.grant = parts.extensions.get().map(Grant::unanswered);
        caller.facts = Some(parts);
        let mux = Mux::on_behalf(inbound, limits, caller);
        let session = Arc::new(Session {
            mux: Arc::clone(&mux),
            principal,
        });
        place.keep();
        lock(&shared.legacy.0).insert(id, session);
        Ok(event_stream(Body::events(Pipe {
            first: Some(first.into()),
            mux,
            id,
            shared: Arc::clone(shared),
            lines: Vec::new(),
            keep_alive: None,
        })))
    }

    /// POST: one message, or a batch where the revision has them. Whatever there is to say to it
    /// is said on the stream.
    async fn receive<B>(&self, parts: &Parts, body: B) -> Result<Response<Body>, Refusal>
    where
        B: http_body::Body + Send,
        B::Data: Send,
    {
        let heads = Heads::of(&parts.headers);
        admission::check_content(&parts.headers, &heads)?;
        let shared = &self.shared;
        let session = self.session(parts)?;
        let whole = body::read(body, &heads, &shared.options, &shared.bodies).await?;
        if let Err(error) = parse(&whole.bytes, &shared.options.frame) {
            return Err(Refusal::unreadable(&error));
        }
        if session.mux.is_congested() {
            return Err(Refusal::busy(
                "the stream of the session is not read; read it",
            ));
        }
        if session.mux.closed().is_some() {
            return Err(no_session());
        }
        // The slot is for what waits; one message may hold several requests.
        let slot = Arc::new(shared.slot()?);
        session.mux.receive(&whole.bytes, &mut |work| {
            spawn(work, &shared.threads, Arc::clone(&slot));
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
                    "the query parameter {SESSION} is missing; send messages to the address the \
                     endpoint event told"
                ))
            })?;
        let principal = parts.extensions.get::<Principal>();
        let session = SessionId::parse_text(id.as_bytes())
            .and_then(|id| lock(&self.shared.legacy.0).get(&id).cloned());
        session
            .filter(|session| session.principal.as_ref() == principal)
            .ok_or_else(no_session)
    }
}

fn no_session() -> Refusal {
    Refusal::with_error(
        StatusCode::NOT_FOUND,
        ErrorObject::invalid_request("there is no such session, or its stream has ended"),
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
            let served = this.serve(Box::new(parts), body).await;
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

/// The stream of a session. Dropping it ends the session.
pub(crate) struct Pipe {
    first: Option<Bytes>,
    mux: Arc<Mux>,
    id: SessionId,
    shared: Arc<Shared>,
    lines: Vec<u8>,
    keep_alive: Option<Pin<Box<Sleep>>>,
}

impl EventSource for Pipe {
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

impl Pipe {
    /// Says something when nothing was said for long.
    fn poll_quiet(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let interval = self.shared.options.keep_alive;
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

impl Drop for Pipe {
    fn drop(&mut self) {
        let session = lock(&self.shared.legacy.0).remove(&self.id);
        self.mux.close(Closed::eof());
        if let Some(session) = session {
            self.shared.sessions.release(session.principal.as_ref());
        }
    }
}
