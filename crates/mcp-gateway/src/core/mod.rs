//! The state of a proxy, and the requests that it serves.

mod accounts;
mod calls;
mod connect;
mod lease;
mod listen;
mod lists;
mod params;
mod parking;
mod readiness;
mod watches;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use mcp_client::Error;
use mcp_protocol::Session;
use tokio::sync::watch;

pub(crate) use self::listen::{ChangeSource, check_uri, check_uris, listen, unsubscribe};
pub(crate) use self::lists::ListPage;
use self::readiness::Readiness;
use self::watches::ResourceSubscriptions;
pub(crate) use self::watches::SubscribeLocks;
use crate::caller::Routes;
use crate::catalog::Catalog;
use crate::changes::Changes;
use crate::connection::UpstreamConnection;
use crate::debounce::Debounce;
use crate::parked::ParkedCalls;
use crate::pool::{AccountFailures, Capacity, Pool, SessionConnection, SessionConnections};
use crate::repair::Repairs;
use crate::shared::SharedConnection;
use crate::upstream::Upstream;
use mcp_protocol::LogLimit;

/// The state of a proxy.
pub(crate) struct Core {
    /// A number that is different for each proxy of this process.
    number: u64,
    pub(crate) upstream: Arc<Upstream>,
    connections: Arc<Capacity>,
    pub(crate) shared: SharedConnection,
    pub(crate) pool: Arc<Pool>,
    pub(crate) parked: ParkedCalls,
    pub(crate) changes: Arc<Changes>,
    watches: ResourceSubscriptions,
    debounce: Arc<Debounce>,
    readiness: Arc<Readiness>,
    repairs: Repairs,
    /// Limits the number of log messages about failed calls and failed attempts to connect.
    failures: LogLimit,
    /// Limits the number of log messages about scopes that the account at the server lacks.
    missing_scopes: LogLimit,
    account_failures: AccountFailures,
    /// The items that the server lists; only for a gateway with several servers.
    catalog: Option<Arc<Catalog>>,
    /// Whether the gateway is closing, or the server was removed from the gateway.
    pub(crate) closing: watch::Sender<bool>,
}

impl Core {
    /// Returns the numbers of open connections to the server and of parked calls.
    pub(crate) fn load(&self) -> (usize, usize) {
        (self.connections.open(), self.parked.len())
    }

    /// Returns the entry for the connection of a session.
    pub(crate) fn connection_of(&self, session: &Session) -> Arc<SessionConnection> {
        session.value(SessionConnections::default).of(self.number)
    }

    /// Closes the connection of a session after the calls of the session have ended.
    pub(crate) fn close_session(&self, session: &Session) {
        session
            .value(SessionConnections::default)
            .close(self.number);
    }

    /// Opens the first connection, and stores what the server offers.
    pub(crate) async fn connect(
        upstream: Arc<Upstream>,
        changes: Arc<Changes>,
        catalog: Option<Arc<Catalog>>,
    ) -> Result<Arc<Self>, Error> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        // The callback needs the core, which needs the connection.
        let (core_of_callback, core_is_known) = watch::channel(Weak::<Self>::new());
        let on_change = Box::new(move |list| {
            let core = core_is_known.borrow().clone();
            Self::on_change(core)(list);
        });
        let connections = Arc::<Capacity>::default();
        let permit = connections.permit(&upstream, None, true).await;
        let first = UpstreamConnection::open(
            &upstream,
            upstream.transport(None)?,
            None,
            (upstream.newest, upstream.negotiation),
            Routes::new(None),
            Some(on_change),
            permit.map_err(Error::Rejected)?,
        )
        .await?;
        let first = Arc::clone(&first);
        let core = Arc::new(Self {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            upstream,
            connections,
            shared: SharedConnection::new(Arc::clone(&first), catalog.as_deref()).await,
            pool: Arc::default(),
            parked: ParkedCalls::default(),
            changes,
            watches: ResourceSubscriptions::default(),
            debounce: Arc::default(),
            readiness: Arc::default(),
            repairs: Repairs::default(),
            failures: LogLimit::default(),
            missing_scopes: LogLimit::default(),
            account_failures: AccountFailures::default(),
            catalog,
            closing: watch::Sender::new(false),
        });
        core_of_callback.send_replace(Arc::downgrade(&core));
        core.watch_shared(&first);
        Ok(core)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mcp_jsonrpc::RawJson;
    use mcp_protocol::{MethodName, RequestContext};

    use super::Core;

    /// Returns the size of the future that the function returns.
    fn size_of_future<F>(
        _: impl Fn(Arc<Core>, MethodName, Option<RawJson>, RequestContext) -> F,
    ) -> usize {
        size_of::<F>()
    }

    #[test]
    fn the_future_of_a_request_has_a_limited_size() {
        let size = size_of_future(Core::forward);
        // 2 KiB, and the bytes that JSON objects with a fixed member order add to the errors that the future can hold.
        assert!(size <= 2_304, "{size} bytes");
    }
}
