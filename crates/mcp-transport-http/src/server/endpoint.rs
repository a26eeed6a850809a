//! The tower service, and which session a request belongs to.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use mcp_protocol::{Closed, Principal, Revision, Service, guarded};
use tokio::time::{Instant, timeout_at};

use super::admission::{self, shown};
use super::asked::Asked;
use super::body::Body;
use super::heads::{Doubled, Heads};
use super::id::SessionId;
use super::modern::{Modern, is_announced};
use super::options::Options;
use super::refusal::Refusal;
use super::serve::{Error, PeerAddr};
use super::session::{HttpSession, shared};
use super::table::{Place, Table};
use super::text::Text;
use super::work::Slot;
use super::{lock, post};
use crate::headers::{EVENT_STREAM, JSON, PROTOCOL_VERSION};
use crate::threads::Threads;

/// An MCP server as a [tower service] over HTTP requests: mount it in hyper, axum or anything
/// else, at any path.
///
/// Cloning gives another handle to the same sessions. It never fails: what is wrong with a
/// request is told in the response.
///
/// A layer in front of it may put a [`Principal`] into the request's extensions; sessions then
/// belong to it, and handlers see it. A [`Grant`](mcp_protocol::Grant) there says which scopes
/// the request has.
///
/// [tower service]: tower_service::Service
#[derive(Clone)]
pub struct Endpoint(pub(crate) Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) service: Arc<dyn Service>,
    pub(crate) options: Arc<Options>,
    pub(crate) sessions: Arc<Table>,
    /// Without sessions: what serves each revision, for everybody.
    stateless: Mutex<Vec<(Revision, Arc<HttpSession>)>>,
    /// What serves requests that belong to no session.
    pub(crate) modern: Modern,
    pub(crate) revisions: Vec<Revision>,
    /// Whether any of them opens with a handshake.
    pub(crate) has_handshake: bool,
    pub(crate) in_flight: AtomicUsize,
    pub(crate) subscriptions: AtomicUsize,
    pub(crate) bodies: Arc<AtomicUsize>,
    #[cfg(feature = "legacy")]
    pub(crate) legacy: crate::legacy::server::LegacySessions,
    pub(crate) threads: Threads,
    closing: AtomicBool,
    idle: tokio::sync::Notify,
}

impl Endpoint {
    /// An endpoint with the default [`Options`].
    ///
    /// # Errors
    /// The server is not fit to be served; the error says what to mend.
    pub fn new(service: impl Service) -> Result<Self, Error> {
        Self::with_options(service, Options::default())
    }

    /// An endpoint with options of your own.
    ///
    /// # Errors
    /// The server is not fit to be served, or an option makes no sense.
    pub fn with_options(service: impl Service, options: Options) -> Result<Self, Error> {
        service.ready().map_err(Error::unready)?;
        if let Some(problem) = options.problem() {
            return Err(Error::unready(problem));
        }
        let service: Arc<dyn Service> = Arc::new(service);
        let options = Arc::new(options);
        let revisions = service.facts().revisions;
        Ok(Self(Arc::new(Shared {
            stateless: Mutex::default(),
            modern: Modern::new(&service, &options),
            has_handshake: revisions.iter().any(|it| !it.is_stateless()),
            revisions,
            sessions: Arc::new(Table::new()),
            in_flight: AtomicUsize::new(0),
            subscriptions: AtomicUsize::new(0),
            bodies: Arc::default(),
            #[cfg(feature = "legacy")]
            legacy: Default::default(),
            threads: Threads::new(options.blocking),
            closing: AtomicBool::new(false),
            idle: tokio::sync::Notify::new(),
            service,
            options,
        })))
    }

    /// How many sessions there are.
    pub fn sessions(&self) -> usize {
        self.0.sessions.len()
    }

    /// How many requests run, those of sessions included whose client went away.
    pub fn in_flight(&self) -> usize {
        self.0.in_flight.load(Ordering::Acquire)
    }

    /// How many subscriptions of clients without sessions are open.
    pub fn subscriptions(&self) -> usize {
        self.0.subscriptions.load(Ordering::Acquire)
    }

    /// Ends the endpoint in good order: new requests are refused, the server
    /// [is told](Service::closing) so that subscriptions end, running requests get
    /// [`Options::with_grace`] to finish, then every session and every stream ends.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the endpoint closed to new requests and the rest as it is.
    pub async fn close(&self) {
        let shared = &self.0;
        shared.closing.store(true, Ordering::Release);
        if guarded(|| shared.service.closing()).is_err() {
            tracing::error!("the server panicked when it was told of its end");
        }
        let limit = Instant::now() + shared.options.grace;
        loop {
            let changed = shared.idle.notified();
            let is_idle = self.in_flight() == 0 && self.subscriptions() == 0;
            if is_idle || timeout_at(limit, changed).await.is_err() {
                break;
            }
        }
        shared.sessions.close(&Closed::local());
        #[cfg(feature = "legacy")]
        shared.legacy.close(&Closed::local());
        for (_, session) in lock(&shared.stateless).drain(..) {
            session.close(&Closed::local());
        }
        shared.modern.close(&Closed::local());
    }

    /// Serves a request that comes from this address.
    pub(super) fn serve_from<B>(&self, request: Request<B>, peer: Option<PeerAddr>) -> Responding
    where
        B: http_body::Body + Send + 'static,
        B::Data: Send,
        B::Error: Send,
    {
        let shared = Arc::clone(&self.0);
        let (parts, body) = request.into_parts();
        // Boxed, because it is handed on from future to future.
        let asked = Box::new(Asked::new(parts, peer));
        Box::pin(async move {
            let served = shared.serve(asked, body).await;
            Ok(served.unwrap_or_else(Refusal::into_response))
        })
    }

    pub(crate) fn options(&self) -> &Options {
        &self.0.options
    }
}

/// A response in the making.
pub(super) type Responding =
    Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

impl<B> tower_service::Service<Request<B>> for Endpoint
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Send,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Responding;

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

impl Shared {
    async fn serve<B>(
        self: &Arc<Self>,
        parts: Box<Asked>,
        body: B,
    ) -> Result<Response<Body>, Refusal>
    where
        B: http_body::Body + Send,
        B::Data: Send,
    {
        if parts.method == Method::POST {
            return post::serve(self, parts, body).await;
        }
        let heads = Heads::of(&parts.headers);
        self.admit(&parts, &heads)?;
        let has_sessions =
            self.options.sessions && self.has_handshake && !is_announced(&parts.headers, &heads);
        match parts.method {
            Method::GET if has_sessions => self.listen(&parts, &heads).await,
            Method::DELETE if has_sessions => self.end(&parts, &heads),
            Method::GET | Method::DELETE => Err(Refusal::method_not_allowed(
                "POST",
                "there are no sessions here; send POST",
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

    /// Whether anything of this request is looked at.
    pub(crate) fn admit(&self, parts: &Parts, heads: &Heads<'_>) -> Result<(), Refusal> {
        admission::check_source(&self.options, parts, heads)?;
        if self.closing.load(Ordering::Acquire) {
            return Err(Refusal::busy("the server is shutting down"));
        }
        Ok(())
    }

    /// A place for a session.
    pub(crate) fn place(&self, principal: Option<Principal>) -> Result<Place<'_>, Refusal> {
        Place::take(&self.sessions, &self.options, principal)
    }

    /// One of the places for requests that run.
    pub(crate) fn slot(self: &Arc<Self>) -> Result<Slot, Refusal> {
        Slot::take(self).ok_or_else(|| {
            Refusal::busy(format!(
                "{} requests are in flight, the limit of Options::with_in_flight; \
                 send again later",
                self.options.in_flight
            ))
        })
    }

    /// The same place for a request that says it is going to last, as a subscription does.
    pub(crate) fn lasting_slot(&self, slot: Slot) -> Result<Slot, Refusal> {
        slot.into_lasting().ok_or_else(|| {
            Refusal::busy(format!(
                "{} subscriptions are open, the limit of Options::with_subscriptions; \
                 subscribe again later",
                self.options.subscriptions
            ))
        })
    }

    /// A slot was given back.
    pub(crate) fn slot_freed(&self, lasting: bool) {
        let places = if lasting {
            &self.subscriptions
        } else {
            &self.in_flight
        };
        if places.fetch_sub(1, Ordering::AcqRel) == 1 && self.closing.load(Ordering::Acquire) {
            self.idle.notify_one();
        }
    }

    /// The session a request names; it is looked for only if it may be used by who sends it.
    pub(crate) fn session(
        &self,
        parts: &Parts,
        heads: &Heads<'_>,
    ) -> Result<Arc<HttpSession>, Refusal> {
        if !self.options.sessions {
            return self.sessionless(heads);
        }
        let value = match heads.session.only() {
            Ok(Some(value)) => value,
            Ok(None) => {
                return Err(Refusal::bad_request(
                    "the Mcp-Session-Id header is missing; send the one the answer to initialize \
                     had",
                ));
            }
            Err(Doubled) => {
                return Err(Refusal::bad_request(
                    "the Mcp-Session-Id header comes more than once; send it once",
                ));
            }
        };
        let found = SessionId::parse(value).and_then(|id| self.sessions.find(&id));
        let principal = parts.extensions.get::<Principal>();
        let session = found
            .filter(|session| {
                let own = session.principal.as_ref() == principal;
                if !own {
                    tracing::warn!("refused a session to a principal it does not belong to");
                }
                own
            })
            .ok_or_else(|| {
                Refusal::new(
                    StatusCode::NOT_FOUND,
                    "there is no such session, or it has ended; send initialize without \
                     Mcp-Session-Id to open one",
                )
            })?;
        session.touch();
        check_revision(heads, &session, &self.revisions)?;
        Ok(session)
    }

    fn sessionless(&self, heads: &Heads<'_>) -> Result<Arc<HttpSession>, Refusal> {
        let revision = match heads.version.text(&PROTOCOL_VERSION)? {
            None => Revision::ASSUMED,
            Some(text) => text
                .parse()
                .ok()
                .filter(|revision: &Revision| !revision.is_stateless())
                .filter(|revision| self.revisions.contains(revision))
                .ok_or_else(|| unsupported(text, &self.revisions))?,
        };
        let mut sessions = lock(&self.stateless);
        if let Some((_, session)) = sessions.iter().find(|(it, _)| *it == revision) {
            return Ok(Arc::clone(session));
        }
        let session = shared(&self.service, &self.options, Some(revision));
        sessions.push((revision, Arc::clone(&session)));
        Ok(session)
    }

    /// What can be done may have changed since; the next request looks again.
    pub(crate) fn forget_sessionless(&self) {
        lock(&self.stateless).clear();
    }
}

/// The version header names a revision that is served. It may be missing: older revisions do not
/// know it. One that was not negotiated is no fault either: the session's counts.
///
/// Specification: transports, protocol version header.
fn check_revision(
    heads: &Heads<'_>,
    session: &HttpSession,
    served: &[Revision],
) -> Result<(), Refusal> {
    let agreed = session.inbound.session().revision();
    if heads.version.is(agreed.as_str().as_bytes()) {
        return Ok(());
    }
    let Some(text) = heads.version.text(&PROTOCOL_VERSION)? else {
        return Ok(());
    };
    if text
        .parse()
        .is_ok_and(|revision| served.contains(&revision))
    {
        return Ok(());
    }
    Err(unsupported(text, served))
}

pub(crate) fn unsupported(text: &str, served: &[Revision]) -> Refusal {
    let served: Vec<&str> = served.iter().map(|revision| revision.as_str()).collect();
    Refusal::bad_request(format!(
        "Mcp-Protocol-Version {} is not supported; this server speaks {}",
        shown(text),
        served.join(", ")
    ))
}

/// A response that is one JSON text.
pub(crate) fn json(text: impl Into<Text>) -> Response<Body> {
    let mut response = Response::new(text.into().into_body());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    response
}

/// A response that carries events, told to proxies not to hold them back.
pub(crate) fn event_stream(body: Body) -> Response<Body> {
    const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    // hyper keeps the map for as long as the stream is open.
    *headers = HeaderMap::with_capacity(3);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(BUFFERING, HeaderValue::from_static("no"));
    response
}
