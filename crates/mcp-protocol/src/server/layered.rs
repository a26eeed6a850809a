//! The middleware of a server in one session.

use std::sync::{Arc, OnceLock, Weak};

use mcp_jsonrpc::{ErrorObject, Request};

use super::session::ServerSession;
use crate::middleware::{self, Layers, OpenedSession, Role, SessionEnds};
use crate::modern::RequestMeta;
use crate::{Closed, Exchange, Link, Reply, Revision};

/// The middleware of the server, for one session.
pub(super) struct Layered {
    pub(super) layers: Layers,
    /// The session, which handles the messages after the middleware.
    this: Weak<ServerSession>,
    pub(super) revision: Arc<OnceLock<Revision>>,
    /// The link to the client. It is stored here because the session holds only a weak reference to the link.
    pub(super) link: OnceLock<Arc<dyn Link>>,
    ends: SessionEnds,
}

impl Layered {
    pub(super) fn new(layers: Layers, this: Weak<ServerSession>) -> Self {
        Self {
            layers,
            this,
            revision: Arc::default(),
            link: OnceLock::new(),
            ends: SessionEnds::default(),
        }
    }

    /// Reports that the session was opened.
    pub(super) fn open(&self, revision: Revision) {
        let session = OpenedSession::new(Role::Server, revision);
        self.ends.extend(self.layers.session(session));
    }

    /// Reports that the session has ended.
    pub(super) fn end(&self, reason: &Closed) {
        self.ends.run(reason);
    }

    /// Passes a request through the middleware to the session.
    pub(super) fn request(
        &self,
        request: &Request<'_>,
        exchange: Exchange,
        meta: Option<RequestMeta>,
    ) -> Reply {
        let Some(this) = self.this.upgrade() else {
            return Reply::error(ErrorObject::internal("the session has ended"));
        };
        let revision = match &meta {
            Some(meta) => Some(meta.revision),
            None => self.revision.get().copied(),
        };
        let passing = middleware::Request::inbound(request, revision, exchange.link());
        self.layers.to_server(passing, this, exchange, meta)
    }
}
