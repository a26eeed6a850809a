//! The connections of client sessions: each session has one connection to each server.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use mcp_protocol::lock;
use mcp_types::LoggingLevel;
use tokio::sync::watch;

use crate::connection::UpstreamConnection;
use crate::resubscribe::ResubscribeDelay;

/// The connection of one session to one server. The first request opens it. If the connection has ended, the next request opens
/// another connection.
#[derive(Default)]
pub(crate) struct SessionConnection {
    pub(crate) latest: Arc<tokio::sync::Mutex<LatestConnection>>,
    /// Is dropped when the session has ended.
    alive: watch::Sender<()>,
}

/// The latest connection of a session. It may have ended.
#[derive(Default)]
pub(crate) struct LatestConnection {
    pub(crate) connection: Option<Arc<UpstreamConnection>>,
    pub(crate) resubscribe_delay: ResubscribeDelay,
}

impl SessionConnection {
    /// Completes when the session has ended and no request uses this entry.
    pub(crate) fn ended(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut alive = self.alive.subscribe();
        async move { while alive.changed().await.is_ok() {} }
    }

    /// Returns the connection if it is open; `None` if it is closed, or while a request opens it.
    pub(crate) fn current(&self) -> Option<Arc<UpstreamConnection>> {
        self.latest.try_lock().ok()?.connection.clone()
    }

    /// Removes the connection. It is closed after its calls have ended.
    pub(crate) fn close(&self) {
        if let Ok(mut latest) = self.latest.try_lock() {
            latest.connection = None;
        }
    }
}

/// The connections of one session. The key is the number of the proxy that forwards requests to the server.
#[derive(Default)]
pub(crate) struct SessionConnections(Mutex<BTreeMap<u64, Arc<SessionConnection>>>);

impl SessionConnections {
    /// Returns the connection to the server of this proxy.
    pub(crate) fn of(&self, proxy: u64) -> Arc<SessionConnection> {
        Arc::clone(lock(&self.0).entry(proxy).or_default())
    }

    /// Removes the connection to the server of this proxy. It is closed after its calls have ended.
    pub(crate) fn close(&self, proxy: u64) {
        let removed = lock(&self.0).remove(&proxy);
        if let Some(connection) = removed {
            connection.close();
        }
    }
}

/// The log level that the client of a session has set at a gateway with several servers.
#[derive(Default)]
pub(crate) struct ChosenLevel(Mutex<Option<LoggingLevel>>);

impl ChosenLevel {
    pub(crate) fn get(&self) -> Option<LoggingLevel> {
        *lock(&self.0)
    }

    pub(crate) fn set(&self, level: LoggingLevel) {
        *lock(&self.0) = Some(level);
    }
}
