//! The connections to a server. A session-based server has one connection for each session of a client, and other connections for
//! the requests of stateless clients. A stateless server has one connection for each principal if it is a program or if users
//! have accounts.

mod account_failures;
mod capacity;
mod sessions;
mod table;

use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use mcp_protocol::{Owner, Principal, lock};
use tokio::time::{Instant, sleep};

pub(crate) use self::account_failures::AccountFailures;
pub(crate) use self::capacity::{Capacity, NewestConnection, Permit};
pub(crate) use self::sessions::{
    ChosenLevel, LatestConnection, SessionConnection, SessionConnections,
};

use crate::connection::{InUse, UpstreamConnection};

/// Time after which an unused connection is closed.
const MAX_IDLE: Duration = Duration::from_secs(60);
/// Time after which an unused connection to the program of a stateless server is closed. It is longer than [`MAX_IDLE`]: when the
/// connection is closed, the program ends, and the principal loses the data in the memory of the program.
const MAX_PROGRAM_IDLE: Duration = Duration::from_secs(30 * 60);

/// The key of pooled connections: requests with equal keys may use the same connection.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) principal: Option<Principal>,
    /// The client, if the server can send messages that do not name their call; otherwise `None`. With this member, no other
    /// client uses the connection. A message that arrives after the response of its call therefore reaches the same client.
    pub(crate) owner: Option<Owner>,
    /// The client information and capabilities as JSON text. `None` for the separate connection of a principal, whose requests
    /// contain this data or need no session.
    pub(crate) identity: Option<String>,
}

impl Key {
    fn max_idle(&self) -> Duration {
        match self.identity {
            Some(_) => MAX_IDLE,
            None => MAX_PROGRAM_IDLE,
        }
    }
}

/// The connections for requests of stateless clients, and the connections to the programs of principals.
#[derive(Default)]
pub(crate) struct Pool(Mutex<Pooled>);

#[derive(Default)]
struct Pooled {
    by_key: HashMap<Key, Vec<Entry>>,
    /// The locks that are held while a connection is opened, by the key of the connection. Other requests with the same key wait
    /// and then share the connection.
    opening: HashMap<Key, Weak<tokio::sync::Mutex<()>>>,
    is_swept: bool,
}

struct Entry {
    connection: Arc<UpstreamConnection>,
    users: usize,
    /// Whether only one call may use the connection at a time.
    is_exclusive: bool,
    last_used: Instant,
}

/// A lease of a connection for one call.
pub(crate) struct Lease {
    pub(crate) connection: InUse,
    /// The pool entry that the lease releases; `None` for a connection outside of the pool.
    pub(crate) home: Option<Home>,
}

/// The pool entry of a leased connection.
pub(crate) struct Home {
    pool: Arc<Pool>,
    key: Key,
    is_exclusive: bool,
    /// Whether the server can still send messages for the call of an exclusive lease. If it can, the connection is not used
    /// again, because the messages would reach another client.
    is_unanswered: bool,
}

impl Lease {
    /// Waits for the response of the server to the call. If the wait is cancelled, the pool does not use an exclusive connection
    /// again.
    pub(crate) async fn response<T>(&mut self, response: impl Future<Output = T>) -> T {
        if let Some(home) = &mut self.home {
            home.is_unanswered = home.is_exclusive;
        }
        let response = response.await;
        if let Some(home) = &mut self.home {
            home.is_unanswered = false;
        }
        response
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(home) = self.home.take() else {
            return;
        };
        let mut pooled = lock(&home.pool.0);
        let entries = pooled.by_key.get_mut(&home.key);
        let Some(entries) = entries else { return };
        let is_own = |entry: &Entry| Arc::ptr_eq(&entry.connection, &self.connection);
        if home.is_unanswered {
            // The connection closes when `self.connection` is dropped, after the lock is released.
            entries.retain(|entry| !is_own(entry));
            return;
        }
        for entry in entries.iter_mut().filter(|entry| is_own(entry)) {
            entry.users -= 1;
            entry.is_exclusive = false;
            entry.last_used = Instant::now();
        }
        if !mem::replace(&mut pooled.is_swept, true) {
            let pool = Arc::downgrade(&home.pool);
            tokio::spawn(async move {
                loop {
                    sleep(MAX_IDLE).await;
                    let Some(pool) = pool.upgrade() else { return };
                    if !pool.sweep(Instant::now()) {
                        return;
                    }
                }
            });
        }
    }
}

impl Pool {
    /// Closes connections that have been unused for too long. Returns whether the pool still has connections.
    fn sweep(&self, now: Instant) -> bool {
        let mut pooled = lock(&self.0);
        pooled.by_key.retain(|key, entries| {
            let idle = key.max_idle();
            entries.retain(|entry| {
                entry.connection.is_open()
                    && (entry.users > 0 || now.duration_since(entry.last_used) < idle)
            });
            !entries.is_empty()
        });
        pooled.is_swept = !pooled.by_key.is_empty();
        pooled.is_swept
    }

    /// Returns the lock that must be held while a connection with this key is opened. Concurrent requests then do not open
    /// several connections.
    pub(crate) fn opening(&self, key: &Key) -> Arc<tokio::sync::Mutex<()>> {
        let mut pooled = lock(&self.0);
        let opening = &mut pooled.opening;
        opening.retain(|_, lock| lock.strong_count() > 0);
        if let Some(lock) = opening.get(key).and_then(Weak::upgrade) {
            return lock;
        }
        let lock = Arc::default();
        opening.insert(key.clone(), Arc::downgrade(&lock));
        lock
    }

    /// Returns whether a connection with this key is open.
    pub(crate) fn has_open(&self, key: &Key) -> bool {
        let pooled = lock(&self.0);
        let entries = pooled.by_key.get(key).into_iter().flatten();
        entries.into_iter().any(|entry| entry.connection.is_open())
    }

    /// Returns the open connections of this principal, except its separate connections, which have no [`Key::identity`].
    pub(crate) fn open_of(&self, principal: Option<&Principal>) -> Vec<Arc<UpstreamConnection>> {
        let pooled = lock(&self.0);
        let entries = pooled.by_key.iter();
        let entries = entries
            .filter(|(key, _)| key.identity.is_some() && key.principal.as_ref() == principal);
        let connections = entries.flat_map(|(_, entries)| entries);
        let connections = connections.map(|entry| &entry.connection);
        connections
            .filter(|connection| connection.is_open())
            .cloned()
            .collect()
    }

    /// Leases an open connection with this key. With `is_exclusive`, no other call uses the connection until the lease ends.
    pub(crate) fn take(self: &Arc<Self>, key: Key, is_exclusive: bool) -> Result<Lease, Key> {
        let mut pooled = lock(&self.0);
        let is_free =
            |entry: &&mut Entry| !entry.is_exclusive && (!is_exclusive || entry.users == 0);
        let entries = pooled.by_key.get_mut(&key);
        let mut free = entries.into_iter().flatten().rev().filter(is_free);
        let Some((entry, connection)) = free.find_map(|entry| {
            let connection = entry.connection.in_use()?;
            Some((entry, connection))
        }) else {
            return Err(key);
        };
        entry.users += 1;
        entry.is_exclusive = is_exclusive;
        Ok(self.lease(connection, key, is_exclusive))
    }

    /// Adds a connection to the pool, and leases the connection.
    pub(crate) fn add(self: &Arc<Self>, key: Key, connection: InUse, is_exclusive: bool) -> Lease {
        let mut pooled = lock(&self.0);
        let entries = pooled.by_key.entry(key.clone()).or_default();
        entries.retain(|entry| entry.connection.is_open());
        entries.push(Entry {
            connection: Arc::clone(&connection),
            users: 1,
            is_exclusive,
            last_used: Instant::now(),
        });
        self.lease(connection, key, is_exclusive)
    }

    fn lease(self: &Arc<Self>, connection: InUse, key: Key, is_exclusive: bool) -> Lease {
        let home = Home {
            pool: Arc::clone(self),
            key,
            is_exclusive,
            is_unanswered: false,
        };
        Lease {
            connection,
            home: Some(home),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_no_request_holds_is_removed() {
        let pool = Pool::default();
        let key = |name: &str| Key {
            principal: Some(Principal::new(name)),
            owner: None,
            identity: None,
        };
        let held = pool.opening(&key("held"));
        for number in 0..10 {
            drop(pool.opening(&key(&number.to_string())));
        }
        assert!(Arc::ptr_eq(&held, &pool.opening(&key("held"))));
        assert!(lock(&pool.0).opening.len() <= 2);
    }
}
