//! Middleware around the connection of a client, and around inbound notifications.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock, Weak};

use super::chain::Layers;
use super::link::LayeredLink;
use super::message::{Direction, Notification, Request};
use crate::connection::{Discarded, OpenedSession, Role, SessionEnds};
use crate::{
    BoxFuture, Closed, Connection, Exchange, ForwardInbound, Inbound, Link, Reply, Revision,
    Transport, TransportError,
};

impl Layers {
    /// Returns a transport whose messages pass through the middleware, in both directions.
    pub fn wrap_transport(&self, transport: Box<dyn Transport>) -> Box<dyn Transport> {
        Box::new(LayeredTransport {
            layers: self.clone(),
            inner: transport,
        })
    }

    /// Passes an inbound notification through the middleware. `end` receives it after the last middleware.
    pub(crate) fn inbound_notification(
        &self,
        notification: &mcp_jsonrpc::Notification<'_>,
        revision: Option<Revision>,
        mut end: impl FnMut(&mcp_jsonrpc::Notification<'_>),
    ) {
        let passing = Notification {
            direction: Direction::Inbound,
            method: Cow::Borrowed(&*notification.method),
            params: notification.params.map(Cow::Borrowed),
            revision,
        };
        self.notify(passing, &mut |passed| {
            end(&mcp_jsonrpc::Notification::new(
                passed.method(),
                passed.params(),
            ));
        });
    }
}

struct LayeredTransport {
    layers: Layers,
    inner: Box<dyn Transport>,
}

impl Transport for LayeredTransport {
    fn start(
        self: Box<Self>,
        inbound: Arc<dyn Inbound>,
    ) -> BoxFuture<'static, Result<Arc<dyn Connection>, TransportError>> {
        let revision = Arc::<OnceLock<Revision>>::default();
        let ends = Arc::<SessionEnds>::default();
        let inbound = Arc::new(LayeredInbound {
            layers: self.layers.clone(),
            inner: inbound,
            link: OnceLock::new(),
            revision: Arc::clone(&revision),
            ends: Arc::clone(&ends),
        });
        Box::pin(async move {
            let inner = self.inner.start(inbound).await?;
            let layers = self.layers.clone();
            let link = LayeredLink::new(self.layers, inner.link(), Arc::clone(&revision));
            let connection: Arc<dyn Connection> = Arc::new(LayeredConnection {
                inner,
                link: Arc::new(link),
                layers,
                revision,
                ends,
            });
            Ok(connection)
        })
    }

    fn reconnect(&self) -> Option<Box<dyn Transport>> {
        let transport = self.inner.reconnect()?;
        Some(self.layers.wrap_transport(transport))
    }
}

/// The client side of a connection. Inbound messages pass through the middleware before they reach the client.
struct LayeredInbound {
    layers: Layers,
    inner: Arc<dyn Inbound>,
    /// The link to the peer. It is stored here because `inner` holds only a weak reference to the link.
    link: OnceLock<Arc<dyn Link>>,
    revision: Arc<OnceLock<Revision>>,
    ends: Arc<SessionEnds>,
}

impl ForwardInbound for LayeredInbound {
    fn inner(&self) -> &dyn Inbound {
        &*self.inner
    }

    fn opened(&self, link: Weak<dyn Link>) {
        let revision = Arc::clone(&self.revision);
        let link = LayeredLink::weak(self.layers.clone(), link, revision);
        let link = self.link.get_or_init(|| Arc::new(link));
        self.inner.opened(Arc::downgrade(link));
    }

    fn request(&self, request: &mcp_jsonrpc::Request<'_>, exchange: Exchange) -> Reply {
        let revision = self.revision.get().copied();
        let passing = Request::inbound(request, revision, exchange.link());
        let inner = Arc::clone(&self.inner);
        self.layers.inbound(passing, move |request| {
            request.read(|request| inner.request(request, exchange))
        })
    }

    fn notification(&self, notification: &mcp_jsonrpc::Notification<'_>) {
        let revision = self.revision.get().copied();
        self.layers
            .inbound_notification(notification, revision, |notification| {
                self.inner.notification(notification);
            });
    }

    fn discarded(&self, message: Discarded<'_>) {
        self.layers.discarded(Role::Client, message);
        self.inner.discarded(message);
    }

    fn closed(&self, reason: &Closed) {
        self.inner.closed(reason);
        self.ends.run(reason);
    }
}

/// A connection whose messages pass through the middleware.
#[derive(Debug)]
struct LayeredConnection {
    inner: Arc<dyn Connection>,
    link: Arc<LayeredLink>,
    layers: Layers,
    revision: Arc<OnceLock<Revision>>,
    ends: Arc<SessionEnds>,
}

impl Connection for LayeredConnection {
    fn link(&self) -> Arc<dyn Link> {
        let link: Arc<LayeredLink> = Arc::clone(&self.link);
        link
    }

    fn negotiated(&self, revision: &'static str) {
        // A connection negotiates one revision.
        if let Ok(revision) = revision.parse::<Revision>()
            && self.revision.set(revision).is_ok()
            && !revision.is_stateless()
        {
            let session = OpenedSession::new(Role::Client, revision);
            self.ends.extend(self.layers.session(session));
        }
        self.inner.negotiated(revision);
    }

    fn has_headers(&self) -> bool {
        self.inner.has_headers()
    }

    fn close(&self) -> BoxFuture<'static, Result<(), TransportError>> {
        self.inner.close()
    }

    fn closed(&self) -> BoxFuture<'static, Closed> {
        self.inner.closed()
    }
}
