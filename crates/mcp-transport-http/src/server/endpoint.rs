//! The tower service, and which session a request belongs to.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use http::{Method, Request, Response};
use mcp_protocol::{Closed, Service, guarded};
use tokio::time::timeout;

use crate::permit::Capacity;
use crate::server::error::Error;
use crate::server::options::Options;
use crate::server::request::head::{Asked, Heads, PeerAddr};
use crate::server::request::post;
use crate::server::request::revision::is_announced;
use crate::server::response::body::Body;
use crate::server::response::refusal::Refusal;
use crate::server::running::table::Modern;
use crate::server::session::table::Table;
use crate::server::state::Shared;
use crate::sync::lock;

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
            in_flight: Capacity::new(options.in_flight),
            subscriptions: Capacity::new(options.subscriptions),
            bodies: Capacity::new(options.bodies_bytes),
            #[cfg(feature = "legacy")]
            legacy: Default::default(),
            threads: Capacity::new(options.blocking),
            closing: AtomicBool::new(false),
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
        self.0.in_flight.used()
    }

    /// How many subscriptions of clients without sessions are open.
    pub fn subscriptions(&self) -> usize {
        self.0.subscriptions.used()
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
        let drained = async {
            // In this order: a request that runs may become a subscription.
            shared.in_flight.drained().await;
            shared.subscriptions.drained().await;
        };
        // Those that are still running then are cancelled below.
        let _ = timeout(shared.options.grace, drained).await;
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
            let served = serve(&shared, asked, body).await;
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

async fn serve<B>(
    shared: &Arc<Shared>,
    parts: Box<Asked>,
    body: B,
) -> Result<Response<Body>, Refusal>
where
    B: http_body::Body + Send,
    B::Data: Send,
{
    if parts.method == Method::POST {
        return post::serve(shared, parts, body).await;
    }
    let heads = Heads::of(&parts.headers);
    shared.admit(&parts, &heads)?;
    let has_sessions =
        shared.options.sessions && shared.has_handshake && !is_announced(&parts.headers, &heads);
    match parts.method {
        Method::GET if has_sessions => shared.listen(&parts, &heads).await,
        Method::DELETE if has_sessions => shared.end(&parts, &heads),
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
