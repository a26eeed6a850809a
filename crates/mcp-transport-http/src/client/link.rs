//! What holds a connection open.

use std::fmt;
use std::sync::Arc;

use mcp_protocol::{BoxFuture, Closed, Connection, Link, TransportError};

use crate::client::state::Core;

/// Dropping it closes the connection.
pub(crate) struct Handle(Arc<Core>);

impl Handle {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        Self(core)
    }
}

impl Connection for Handle {
    fn link(&self) -> Arc<dyn Link> {
        Arc::<Core>::clone(&self.0)
    }

    fn negotiated(&self, revision: &'static str) {
        self.0.session.agree(revision);
    }

    fn has_headers(&self) -> bool {
        true
    }

    /// The session that cannot be ended, because the server is gone or does not allow it, is no
    /// failure: nothing of the connection is left on this side.
    fn close(&self) -> BoxFuture<'static, Result<(), TransportError>> {
        let core = Arc::clone(&self.0);
        Box::pin(async move {
            core.close(Closed::local());
            core.gone().await;
            Ok(())
        })
    }

    fn closed(&self) -> BoxFuture<'static, Closed> {
        let core = Arc::clone(&self.0);
        Box::pin(async move { core.ended().await })
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.close(Closed::local());
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
