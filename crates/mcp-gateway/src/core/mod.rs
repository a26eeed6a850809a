//! The state of a proxy, and how it serves requests.

mod calls;
mod connect;
mod lease;
mod listen;
mod parking;

use std::sync::{Arc, Weak};

use mcp_client::Error;
use mcp_jsonrpc::ErrorObject;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

pub(crate) use self::listen::unsubscribe;
use crate::caller::Routes;
use crate::changes::Changes;
use crate::connection::UpstreamConnection;
use crate::parked::ParkedCalls;
use crate::pool::Pool;
use crate::shared::SharedConnection;
use crate::upstream::Upstream;

/// The state of a proxy.
pub(crate) struct Core {
    pub(crate) upstream: Upstream,
    connections: Arc<Semaphore>,
    pub(crate) shared: SharedConnection,
    pub(crate) pool: Arc<Pool>,
    pub(crate) parked: ParkedCalls,
    pub(crate) changes: Changes,
    pub(crate) closing: watch::Sender<bool>,
}

impl Core {
    /// Returns the right to open a connection.
    ///
    /// # Errors
    /// There are too many connections.
    pub(crate) fn permit(&self) -> Result<OwnedSemaphorePermit, ErrorObject> {
        permit(&self.connections, &self.upstream)
    }
}

fn permit(
    connections: &Arc<Semaphore>,
    upstream: &Upstream,
) -> Result<OwnedSemaphorePermit, ErrorObject> {
    Arc::clone(connections).try_acquire_owned().map_err(|_| {
        ErrorObject::internal(format!(
            "{} connections to the server {:?} are open, which is the limit (max_connections); try again later",
            upstream.max_connections, upstream.name
        ))
    })
}

impl Core {
    /// Opens the first connection, which learns what the server offers.
    pub(crate) async fn connect(upstream: Upstream) -> Result<Arc<Self>, Error> {
        // The callback needs the core, which needs the connection.
        let (core_of_callback, core_is_known) = watch::channel(Weak::<Self>::new());
        let on_change = Box::new(move |list| {
            let core = core_is_known.borrow().clone();
            Self::on_change(core)(list);
        });
        let connections = Arc::new(Semaphore::new(upstream.max_connections));
        let first = UpstreamConnection::open(
            &upstream,
            None,
            (upstream.newest, upstream.negotiation),
            Routes::new(None),
            Some(on_change),
            permit(&connections, &upstream).map_err(Error::Rejected)?,
        )
        .await?;
        let core = Arc::new(Self {
            upstream,
            connections,
            shared: SharedConnection::new(Arc::clone(&first)).await,
            pool: Arc::default(),
            parked: ParkedCalls::default(),
            changes: Changes::default(),
            closing: watch::Sender::new(false),
        });
        core_of_callback.send_replace(Arc::downgrade(&core));
        core.watch_shared(&first);
        Ok(core)
    }
}
