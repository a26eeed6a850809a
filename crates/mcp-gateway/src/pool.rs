//! Connections to a session-based server: one for each session of a client, and others for the requests of
//! stateless clients.

use std::collections::{BTreeMap, HashMap};
use std::mem;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_protocol::Principal;
use mcp_types::LoggingLevel;
use tokio::time::{Instant, sleep};

use crate::connection::UpstreamConnection;
use crate::sync::lock;

/// How long an unused connection is kept.
const MAX_IDLE: Duration = Duration::from_secs(60);

/// The connection of one session; it is opened by the first request, and again after it has ended.
#[derive(Default)]
pub(crate) struct SessionConnection(pub(crate) tokio::sync::Mutex<Option<Arc<UpstreamConnection>>>);

impl SessionConnection {
    /// Returns the connection, if it is open and no request is opening it.
    pub(crate) fn current(&self) -> Option<Arc<UpstreamConnection>> {
        self.0.try_lock().ok()?.clone()
    }

    /// Removes the connection, which closes it when its calls have ended.
    pub(crate) fn close(&self) {
        if let Ok(mut connection) = self.0.try_lock() {
            *connection = None;
        }
    }
}

/// The connections of one session, by the number of the proxy.
#[derive(Default)]
pub(crate) struct SessionConnections(Mutex<BTreeMap<u64, Arc<SessionConnection>>>);

impl SessionConnections {
    /// Returns the connection to the server of this proxy.
    pub(crate) fn of(&self, proxy: u64) -> Arc<SessionConnection> {
        Arc::clone(lock(&self.0).entry(proxy).or_default())
    }

    /// Removes the connection, which closes it when its calls have ended.
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

/// Who may use a pooled connection: all requests with an equal key.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) principal: Option<Principal>,
    /// The client and its capabilities as JSON text.
    pub(crate) identity: String,
}

/// The connections for requests of stateless clients.
#[derive(Default)]
pub(crate) struct Pool(Mutex<Pooled>);

#[derive(Default)]
struct Pooled {
    by_key: HashMap<Key, Vec<Entry>>,
    is_swept: bool,
}

struct Entry {
    connection: Arc<UpstreamConnection>,
    users: usize,
    last_used: Instant,
}

/// The right to use a connection for one call.
pub(crate) struct Lease {
    pub(crate) connection: Arc<UpstreamConnection>,
    /// Where the connection is used again; `None` if it is not, or if the pool does not own it.
    pub(crate) home: Option<(Arc<Pool>, Key)>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some((pool, key)) = self.home.take() else {
            return;
        };
        let mut pooled = lock(&pool.0);
        let entries = pooled.by_key.get_mut(&key).into_iter().flatten();
        for entry in entries {
            if Arc::ptr_eq(&entry.connection, &self.connection) {
                entry.users -= 1;
                entry.last_used = Instant::now();
            }
        }
        if !mem::replace(&mut pooled.is_swept, true) {
            let pool = Arc::downgrade(&pool);
            tokio::spawn(async move {
                loop {
                    sleep(MAX_IDLE).await;
                    let Some(pool) = pool.upgrade() else { return };
                    if !pool.sweep(Instant::now(), MAX_IDLE) {
                        return;
                    }
                }
            });
        }
    }
}

impl Pool {
    /// Closes connections that were not used for this time. Returns whether any are left.
    pub(crate) fn sweep(&self, now: Instant, idle: Duration) -> bool {
        let mut pooled = lock(&self.0);
        pooled.by_key.retain(|_, entries| {
            entries.retain(|entry| {
                entry.connection.is_open()
                    && (entry.users > 0 || now.duration_since(entry.last_used) < idle)
            });
            !entries.is_empty()
        });
        pooled.is_swept = !pooled.by_key.is_empty();
        pooled.is_swept
    }

    /// Returns the open connections for requests of this principal.
    pub(crate) fn open_of(&self, principal: Option<&Principal>) -> Vec<Arc<UpstreamConnection>> {
        let pooled = lock(&self.0);
        let entries = pooled.by_key.iter();
        let entries = entries.filter(|(key, _)| key.principal.as_ref() == principal);
        let connections = entries.flat_map(|(_, entries)| entries);
        let connections = connections.map(|entry| &entry.connection);
        connections
            .filter(|connection| connection.is_open())
            .cloned()
            .collect()
    }

    /// Takes an open connection with this key. One that can ask its client is used by one call at a time.
    pub(crate) fn take(&self, key: &Key, is_exclusive: bool) -> Option<Arc<UpstreamConnection>> {
        let mut pooled = lock(&self.0);
        let entries = pooled.by_key.get_mut(key)?;
        let is_free =
            |entry: &&mut Entry| entry.connection.is_open() && (!is_exclusive || entry.users == 0);
        let entry = entries.iter_mut().rev().find(is_free)?;
        entry.users += 1;
        Some(Arc::clone(&entry.connection))
    }

    pub(crate) fn add(&self, key: Key, connection: &Arc<UpstreamConnection>) {
        let mut pooled = lock(&self.0);
        let entries = pooled.by_key.entry(key).or_default();
        entries.retain(|entry| entry.connection.is_open());
        entries.push(Entry {
            connection: Arc::clone(connection),
            users: 1,
            last_used: Instant::now(),
        });
    }
}
