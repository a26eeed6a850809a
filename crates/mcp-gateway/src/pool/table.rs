//! The table of the connections to one server. It decides which connection is closed to make room for another one, and which
//! process may start next.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};
use std::thread::available_parallelism;

use mcp_protocol::Owner;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::connection::UpstreamConnection;
use crate::upstream::Upstream;

/// Maximum number of connections of one client that are being closed to make room for other connections. Because of this limit
/// and [`MAX_CLOSING`], a few requests cannot close all unused connections of a server whose processes end slowly.
const MAX_CLOSING_PER_CLIENT: usize = 4;
/// Maximum number of connections of all clients that are being closed to make room for other connections.
const MAX_CLOSING: usize = 8;
/// Minimum of [`max_starts`].
const MIN_STARTS: usize = 4;

/// Returns the maximum number of processes of one server that start at the same time. If too many start at once, the machine is
/// too busy, and they do not answer their first request in time.
fn max_starts() -> usize {
    available_parallelism().map_or(MIN_STARTS, |cores| MIN_STARTS.max(2 * cores.get()))
}

/// The limit that prevents a new connection.
pub(super) enum Full {
    /// The limit of connections for one client.
    Client,
    /// The limit of connections for all clients together.
    All,
}

/// The open connections, and the clients that wait for one.
pub(super) struct Table {
    pub(super) last: u64,
    pub(super) open: BTreeMap<u64, Entry>,
    /// For each client, the number of its requests that wait until all clients together have fewer connections.
    pub(super) waiting: HashMap<Owner, usize>,
    max_starts: usize,
}

/// The stage in the start of a process. Only a limited number of processes start at the same time.
pub(super) enum StartStage {
    /// The process waits for its turn.
    Waiting(Arc<Notify>),
    /// The process may start now.
    Starting,
    /// The process has started or needs no turn.
    Over,
}

/// A connection that is open, is being opened, or is being closed.
pub(super) struct Entry {
    /// The client for which the connection was opened; `None` for the gateway itself.
    pub(super) client: Option<Owner>,
    /// The connection; empty until the connection is established.
    pub(super) connection: Weak<UpstreamConnection>,
    pub(super) is_established: bool,
    /// The time at which the connection began to be opened.
    pub(super) since: Instant,
    /// Whether the connection is being closed to make room for another one. The limits count the connection until it has ended.
    pub(super) is_closing: bool,
    /// Notified if a connection that is not yet established must make room for another one.
    pub(super) stop: Arc<Notify>,
    pub(super) start: StartStage,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            last: 0,
            open: BTreeMap::new(),
            waiting: HashMap::new(),
            max_starts: max_starts(),
        }
    }
}

impl Table {
    /// Finds room for one connection. Returns `None` if no limit is reached. Otherwise returns the reached limit, and the number
    /// and the value of the connection that the caller must close first.
    pub(super) fn make_room(
        &mut self,
        upstream: &Upstream,
        client: Option<&Owner>,
        may_end_calls: bool,
    ) -> Result<Option<(Full, u64, Arc<UpstreamConnection>)>, Full> {
        let own = self.count(client);
        let max_own = upstream.max_connections_per_client;
        let closing = self.open.values().filter(|entry| entry.is_closing);
        // If a connection that is not yet established is already being ended, its end will make room. No other connection with
        // calls is then ended.
        let may_end_calls = may_end_calls && closing.clone().all(|entry| entry.is_established);
        let (full, found) = if client.is_some_and(Owner::is_known) && own >= max_own {
            let closing = closing.filter(|entry| entry.client.as_ref() == client);
            match closing.count() < MAX_CLOSING_PER_CLIENT {
                true => (Full::Client, self.unused(client)),
                false => (Full::Client, None),
            }
        } else if self.open.len() >= upstream.max_connections {
            let found = match closing.count() < MAX_CLOSING {
                true => self.unused(None).or_else(|| {
                    let largest = may_end_calls.then(|| self.of_largest(own));
                    largest.flatten()
                }),
                false => None,
            };
            (Full::All, found)
        } else if client.is_some() && self.is_reserved(upstream, own) {
            return Err(Full::All);
        } else {
            return Ok(None);
        };
        let Some((number, connection)) = found else {
            return Err(full);
        };
        if let Some(entry) = self.open.get_mut(&number) {
            entry.is_closing = true;
        }
        Ok(Some((full, number, connection)))
    }

    /// Lets waiting processes start, until `max_starts` processes are starting.
    pub(super) fn start_next(&mut self) {
        loop {
            let mut starting: HashMap<Option<&Owner>, usize> = HashMap::new();
            for entry in self.open.values() {
                if matches!(entry.start, StartStage::Starting) {
                    *starting.entry(entry.client.as_ref()).or_default() += 1;
                }
            }
            if starting.values().sum::<usize>() >= self.max_starts {
                return;
            }
            let waiting = self.open.iter().filter_map(|(number, entry)| {
                let StartStage::Waiting(notify) = &entry.start else {
                    return None;
                };
                let own = starting.get(&entry.client.as_ref());
                Some((own.copied().unwrap_or(0), *number, Arc::clone(notify)))
            });
            let Some((_, number, notify)) = waiting.min_by_key(|(own, number, _)| (*own, *number))
            else {
                return;
            };
            if let Some(entry) = self.open.get_mut(&number) {
                entry.start = StartStage::Starting;
            }
            notify.notify_one();
        }
    }

    /// Returns whether all free places are for waiting clients that have fewer connections than `own`.
    fn is_reserved(&self, upstream: &Upstream, own: usize) -> bool {
        if own == 0 || self.waiting.is_empty() {
            return false;
        }
        let counts = self.counts();
        let first = self
            .waiting
            .keys()
            .filter(|client| counts.get(client).copied().unwrap_or(0) < own);
        first.count() >= upstream.max_connections.saturating_sub(self.open.len())
    }

    /// Returns the number of connections of each client that has connections.
    fn counts(&self) -> HashMap<&Owner, usize> {
        let mut counts = HashMap::new();
        for client in self.open.values().filter_map(|entry| entry.client.as_ref()) {
            *counts.entry(client).or_default() += 1;
        }
        counts
    }

    fn count(&self, client: Option<&Owner>) -> usize {
        let own = self.open.values();
        own.filter(|entry| entry.client.as_ref() == client).count()
    }

    /// Returns the connection of one client or of all clients that has been unused for the longest time. Prefers connections that
    /// have ended. Chooses connections whose sessions wait for updates of resources only if there is no other connection.
    fn unused(&self, client: Option<&Owner>) -> Option<(u64, Arc<UpstreamConnection>)> {
        let has_ended =
            |entry: &Entry| (entry.connection.upgrade()).is_some_and(|one| !one.is_open());
        let candidates = self.open.iter().filter(|(_, entry)| !entry.is_closing);
        let candidates = candidates.filter(|(_, entry)| match client {
            Some(_) => entry.client.as_ref() == client,
            // The shared connection has no client.
            None => entry.client.is_some() || has_ended(entry),
        });
        let unused = candidates.filter_map(|(number, entry)| {
            let connection = entry.connection.upgrade()?;
            let since = connection.unused_since()?;
            Some(((connection.is_open(), since), *number, connection))
        });
        let ((is_open, _), number, connection) = unused.min_by_key(|(since, ..)| *since)?;
        // A call may have begun to use the connection.
        if !connection.retire_unused() {
            return None;
        }
        if is_open && client.is_none() {
            connection.set_closed_for_others();
        }
        Some((number, connection))
    }

    /// Returns the oldest connection of the client with the most connections. Returns `None` if this client does not have at
    /// least two connections more than `own`. If the oldest connection is not yet established, ends it and returns `None`: its
    /// place is free when its process has ended.
    fn of_largest(&mut self, own: usize) -> Option<(u64, Arc<UpstreamConnection>)> {
        let (largest, count) = self.counts().into_iter().max_by_key(|(_, count)| *count)?;
        if count < own + 2 {
            return None;
        }
        let largest = largest.clone();
        let mut of_largest = self
            .open
            .iter_mut()
            .filter(|(_, entry)| !entry.is_closing && entry.client.as_ref() == Some(&largest))
            .filter(|(_, entry)| !entry.is_established || entry.connection.strong_count() > 0);
        let (number, entry) = of_largest.next()?;
        if !entry.is_established {
            entry.is_closing = true;
            entry.stop.notify_one();
            return None;
        }
        let connection = entry.connection.upgrade()?;
        connection.set_closed_for_others();
        Some((*number, connection))
    }
}
