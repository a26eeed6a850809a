//! The client's interface to this transport: the connection handle and the `Link` of the client.

use std::sync::Arc;

use crate::client::call::start;
use crate::client::deliver;
use crate::client::outbox::QueuedMessage;
use crate::client::state::ClientState;
use mcp_jsonrpc::write_notification;
use mcp_protocol::{
    BoxFuture, Call, CallError, Closed, Connection, Delivery, Extras, Link, MethodName,
    RequestOrigin, TransportError,
};
use mcp_types::method;

/// A connection to one server. Dropping this handle closes the connection.
#[derive(Debug)]
pub(crate) struct ConnectionHandle(Arc<ClientState>);

impl ConnectionHandle {
    pub(crate) fn new(state: Arc<ClientState>) -> Self {
        Self(state)
    }
}

impl Connection for ConnectionHandle {
    fn link(&self) -> Arc<dyn Link> {
        Arc::<ClientState>::clone(&self.0)
    }

    fn negotiated(&self, revision: &'static str) {
        self.0.sessions.set_revision(revision);
    }

    fn has_headers(&self) -> bool {
        true
    }

    /// Closes the connection and waits until all of its tasks have ended. It is not an error if the session at the server cannot
    /// be ended, for example because the server is unreachable or does not allow it. On this side, the connection has ended in
    /// any case.
    fn close(&self) -> BoxFuture<'static, Result<(), TransportError>> {
        let state = Arc::clone(&self.0);
        Box::pin(async move {
            state.close(Closed::local());
            state.wait_closed().await;
            Ok(())
        })
    }

    fn closed(&self) -> BoxFuture<'static, Closed> {
        let state = Arc::clone(&self.0);
        Box::pin(async move { state.ended().await })
    }
}

impl Drop for ConnectionHandle {
    fn drop(&mut self) {
        self.0.close(Closed::local());
    }
}

impl Link for ClientState {
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
        let note = QueuedMessage {
            message: message.into(),
            session: None,
            is_initialized: method == method::NOTIFICATIONS_INITIALIZED,
        };
        if let Some(state) = self.this.upgrade() {
            deliver::enqueue(&state, |state| &state.outbox, note, delivery);
        }
        Ok(())
    }

    fn queued_bytes(&self) -> usize {
        #[cfg(feature = "legacy")]
        if let Some(mux) = self.legacy.get() {
            return mux.queued_bytes();
        }
        self.outbox.bytes()
    }

    fn request_with(&self, method: MethodName, params: Option<Vec<u8>>, extras: Extras) -> Call {
        #[cfg(feature = "legacy")]
        if let Some(mux) = self.legacy.get() {
            return mux.request_with(method, params, extras);
        }
        match self.this.upgrade() {
            Some(state) => start::start(state, method, params, extras),
            None => Call::failed(CallError::Closed(Closed::local())),
        }
    }

    fn origin(&self) -> RequestOrigin<'_> {
        RequestOrigin::remote().with_facts(Some(&self.http.endpoint))
    }
}
