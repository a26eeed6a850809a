//! What holds a connection open.

use std::fmt;
use std::sync::Arc;

use crate::client::call::start;
use crate::client::outbox::deliver;
use crate::client::outbox::queue::Note;
use crate::client::state::Core;
use mcp_jsonrpc::write_notification;
use mcp_protocol::{
    BoxFuture, Call, CallError, Closed, Connection, Delivery, Extras, Link, TransportError,
};
use mcp_types::method;

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

impl Link for Core {
    fn notify(
        &self,
        method: &str,
        params: Option<&[u8]>,
        delivery: Delivery,
    ) -> Result<(), Closed> {
        if let Some(reason) = self.closed() {
            return Err(reason.clone());
        }
        #[cfg(feature = "legacy")]
        if let Some(mux) = self.legacy.get() {
            return mux.notify(method, params, delivery);
        }
        let mut message = Vec::new();
        write_notification(&mut message, method, params);
        let note = Note {
            message: message.into(),
            session: None,
            opens: method == method::NOTIFICATIONS_INITIALIZED,
        };
        if let Some(core) = self.upgrade() {
            deliver::enqueue(&core, |core| &core.outbox, note, delivery);
        }
        Ok(())
    }

    fn request(&self, method: &'static str, params: Option<Vec<u8>>) -> Call {
        self.request_with(method, params, Extras::default())
    }

    fn request_with(&self, method: &'static str, params: Option<Vec<u8>>, extras: Extras) -> Call {
        #[cfg(feature = "legacy")]
        if let Some(mux) = self.legacy.get() {
            return mux.request_with(method, params, extras);
        }
        match self.upgrade() {
            Some(core) => start::start(core, method, params, extras),
            None => Call::failed(CallError::Closed(Closed::local())),
        }
    }
}
