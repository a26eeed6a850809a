//! Limits the open connections to one server, in total and for each client.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::pin::pin;
use std::sync::{Arc, Mutex, Weak};
use std::thread::available_parallelism;
use std::time::Duration;

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{Budget, BudgetPermit, Connection, Owner, lock};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep, timeout};

use crate::connection::UpstreamConnection;
use crate::upstream::Upstream;
use mcp_protocol::LogLimit;

/// Maximum number of connections of one client that are being closed to make room for other connections. Because of this limit
/// and [`MAX_CLOSING`], a few requests cannot close all unused connections of a server whose processes end slowly.
const MAX_CLOSING_PER_CLIENT: usize = 4;
/// Maximum number of connections of all clients that are being closed to make room for other connections.
const MAX_CLOSING: usize = 8;
/// Maximum time that a request waits for a connection while calls of all clients use all connections.
const MAX_WAIT: Duration = Duration::from_secs(2);
/// Maximum time that a request waits for a connection while another connection is being closed to make room.
const MAX_CLOSING_WAIT: Duration = Duration::from_secs(6);
/// Maximum time that a request waits for a connection while calls of its client use all connections that this client may open.
const MAX_OWN_WAIT: Duration = Duration::from_secs(30);
/// Time between two searches for a connection, while a request waits.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// Maximum time that the start of one process delays the start of others, for example if the process never answers.
const MAX_TURN: Duration = Duration::from_secs(2);
/// Minimum of [`max_starts`].
const MIN_STARTS: usize = 4;

/// Maximum total size of the messages that a server has not read, on all its connections, in bytes. One client can use half of
/// this size.
const MAX_QUEUED_BYTES: usize = 64 << 20;

/// The open connections to one server. Each client can open a limited number of them.
pub(crate) struct Capacity {
    table: Mutex<Table>,
    log: LogLimit,
    /// The size of the messages that the server has not read.
    queued: Budget,
}

impl Default for Capacity {
    fn default() -> Self {
        Self {
            table: Mutex::new(Table {
                last: 0,
                open: BTreeMap::new(),
                waiting: HashMap::new(),
                max_starts: max_starts(),
            }),
            log: LogLimit::default(),
            queued: Budget::new("messages that the server has not read", MAX_QUEUED_BYTES),
        }
    }
}

/// Returns the maximum number of processes of one server that start at the same time. Processes that share the processors with
/// many others do not answer the first request in time.
fn max_starts() -> usize {
    available_parallelism().map_or(MIN_STARTS, |cores| MIN_STARTS.max(2 * cores.get()))
}

struct Table {
    last: u64,
    open: BTreeMap<u64, Entry>,
    /// For each client, the number of its requests that wait until all clients together have fewer connections.
    waiting: HashMap<Owner, usize>,
    max_starts: usize,
}

/// How far the start of a process is. Only a limited number of processes start at the same time.
enum StartStage {
    /// The process waits for its turn.
    Waiting(Arc<Notify>),
    /// The process may start now.
    Starting,
    /// The process has started or needs no turn.
    Over,
}

struct Entry {
    /// The client for which the connection was opened; `None` for the gateway itself.
    client: Option<Owner>,
    /// The connection; empty until the connection is established.
    connection: Weak<UpstreamConnection>,
    is_established: bool,
    /// Whether the connection is being closed to make room for another one. The limits count the connection until it has ended.
    is_closing: bool,
    /// Notified if a connection that is not yet established must make room for another one.
    stop: Arc<Notify>,
    start: StartStage,
}

/// A permit to keep one connection open; released on drop. A connection keeps its permit until its process has ended.
pub(crate) struct Permit {
    capacity: Arc<Capacity>,
    number: u64,
    /// The transport's connections that were started while this connection was not yet established. They are closed if the
    /// attempt is stopped.
    started: Mutex<Vec<Arc<dyn Connection>>>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut table = lock(&self.capacity.table);
        table.open.remove(&self.number);
        table.start_next();
    }
}

impl Permit {
    /// Returns the client for which the connection is opened; `None` for the gateway itself.
    fn client(&self) -> Option<Owner> {
        let table = lock(&self.capacity.table);
        table.open.get(&self.number)?.client.clone()
    }

    /// Waits until the process of the connection may start. Clients that have fewer starting processes are first. The turn lasts
    /// until [`connect_in_turn`](Self::connect_in_turn) ends it or the permit is dropped.
    pub(crate) async fn wait_for_turn(&self) {
        let notify = Arc::new(Notify::new());
        self.set_stage(StartStage::Waiting(Arc::clone(&notify)));
        notify.notified().await;
    }

    /// Waits for `connecting`. The turn ends when `connecting` completes, at the latest after [`MAX_TURN`]. Stops the server and
    /// returns `None` if the sender of `caller` is dropped, or if the connection must make room for another one.
    pub(crate) async fn connect_in_turn<T>(
        &self,
        connecting: impl Future<Output = T>,
        caller: oneshot::Receiver<()>,
    ) -> Option<T> {
        let stop = {
            let table = lock(&self.capacity.table);
            let entry = table.open.get(&self.number);
            entry.map(|entry| Arc::clone(&entry.stop))?
        };
        let connected = {
            let mut connecting = pin!(connecting);
            let in_turn = async {
                let connected = timeout(MAX_TURN, &mut connecting).await;
                self.end_turn();
                match connected {
                    Ok(connected) => connected,
                    Err(_) => connecting.await,
                }
            };
            tokio::select! {
                connected = in_turn => Some(connected),
                _ = caller => None,
                () = stop.notified() => None,
            }
        };
        let started = std::mem::take(&mut *lock(&self.started));
        if connected.is_none() {
            for connection in started {
                if let Err(error) = connection.close().await {
                    tracing::debug!(%error, "a connection did not close");
                }
            }
        }
        connected
    }

    /// Records a connection that is not yet established. If the server is not a process of this machine, ends the turn.
    pub(crate) fn started(&self, connection: &Arc<dyn Connection>) {
        lock(&self.started).push(Arc::clone(connection));
        if connection.has_headers() {
            self.end_turn();
        }
    }

    /// Lets the next process start. Has no effect if the turn is already over.
    fn end_turn(&self) {
        self.set_stage(StartStage::Over);
    }

    fn set_stage(&self, stage: StartStage) {
        let mut table = lock(&self.capacity.table);
        if let Some(entry) = table.open.get_mut(&self.number) {
            entry.start = stage;
        }
        table.start_next();
    }

    /// Charges the client of the connection for a message until the server has read it.
    ///
    /// # Errors
    /// The messages that wait have reached a limit.
    pub(crate) fn charge(&self, bytes: usize) -> Result<BudgetPermit, ErrorObject> {
        let client = self.client().unwrap_or_default();
        let charged = self.capacity.queued.acquire(&client, bytes);
        charged.map_err(|error| ErrorObject::internal(error.to_string()))
    }

    /// Sets the connection of this permit. After this call, the connection can be closed to make room for another connection.
    pub(crate) fn set_connection(&self, connection: &Arc<UpstreamConnection>) {
        if let Some(entry) = lock(&self.capacity.table).open.get_mut(&self.number) {
            entry.connection = Arc::downgrade(connection);
            entry.is_established = true;
        }
    }
}

/// A request that waits for a connection. It waits until this is dropped.
struct WaitingRequest {
    capacity: Arc<Capacity>,
    client: Owner,
}

impl Drop for WaitingRequest {
    fn drop(&mut self) {
        let mut table = lock(&self.capacity.table);
        if let Some(waiting) = table.waiting.get_mut(&self.client) {
            *waiting -= 1;
            if *waiting == 0 {
                table.waiting.remove(&self.client);
            }
        }
    }
}

/// The limit that prevents a new connection.
enum Full {
    /// The limit of connections for one client.
    Client,
    /// The limit of connections for all clients together.
    All,
}

impl Capacity {
    /// Returns the number of open connections.
    pub(crate) fn open(&self) -> usize {
        lock(&self.table).open.len()
    }

    /// Returns a permit to open a connection for a client, or for the gateway itself. If necessary, closes a connection that no
    /// call uses. If all connections are in use and `may_end_calls` is true, looks for the client with the most connections. If
    /// this client has at least two connections more than the new client, closes its oldest connection. Otherwise, waits for a
    /// limited time until a connection is unused. During this time, `other` can return another value instead, such as a
    /// connection that a call has released.
    ///
    /// # Errors
    /// A limit is reached, and no connection can be closed.
    pub(crate) async fn permit_or<T>(
        self: &Arc<Self>,
        upstream: &Upstream,
        client: Option<&Owner>,
        may_end_calls: bool,
        mut other: impl FnMut() -> Option<T>,
    ) -> Result<Result<Permit, T>, ErrorObject> {
        let start = Instant::now();
        let mut place = None;
        loop {
            if let Some(other) = other() {
                return Ok(Err(other));
            }
            let full = match self.try_permit(upstream, client, may_end_calls).await {
                Ok(permit) => return Ok(Ok(permit)),
                Err(full) => full,
            };
            let limit = match full {
                Full::Client => MAX_OWN_WAIT,
                Full::All if self.is_closing_any() => MAX_CLOSING_WAIT,
                Full::All => MAX_WAIT,
            };
            if let (Full::All, Some(client)) = (&full, client) {
                place.get_or_insert_with(|| self.wait(client));
            }
            if start.elapsed() >= limit {
                let error = refused(upstream, &full);
                self.log_refusal(upstream, client, &error);
                return Err(error);
            }
            // Connections that are being opened, and short calls, end soon.
            sleep(RETRY_INTERVAL).await;
        }
    }

    fn is_closing_any(&self) -> bool {
        let table = lock(&self.table);
        table.open.values().any(|entry| entry.is_closing)
    }

    /// Records that a request of a client waits for a connection.
    fn wait(self: &Arc<Self>, client: &Owner) -> WaitingRequest {
        let mut table = lock(&self.table);
        *table.waiting.entry(client.clone()).or_default() += 1;
        WaitingRequest {
            capacity: Arc::clone(self),
            client: client.clone(),
        }
    }

    /// Returns a permit to open a connection, in the same way as [`permit_or`](Self::permit_or).
    pub(crate) async fn permit(
        self: &Arc<Self>,
        upstream: &Upstream,
        client: Option<&Owner>,
        may_end_calls: bool,
    ) -> Result<Permit, ErrorObject> {
        let permit = self.permit_or(upstream, client, may_end_calls, || None::<Infallible>);
        permit
            .await
            .map(|permit| permit.unwrap_or_else(|never| match never {}))
    }

    async fn try_permit(
        self: &Arc<Self>,
        upstream: &Upstream,
        client: Option<&Owner>,
        may_end_calls: bool,
    ) -> Result<Permit, Full> {
        let (full, victim, connection) = {
            let mut table = lock(&self.table);
            match table.make_room(upstream, client, may_end_calls)? {
                None => return Ok(self.insert(&mut table, client)),
                Some(victim) => victim,
            }
        };
        let victim = Permit {
            capacity: Arc::clone(self),
            number: victim,
            started: Mutex::default(),
        };
        let server = &*upstream.name;
        tracing::info!(server, "closed a connection to open another one");
        // The connection is closed in a separate task, so that it is closed even if the request is cancelled.
        let closing = tokio::spawn(async move {
            connection.evict().await;
            victim
        });
        let victim = closing.await.map_err(|_| full)?;
        let mut table = lock(&self.table);
        table.open.remove(&victim.number);
        let permit = self.insert(&mut table, client);
        drop(table);
        Ok(permit)
    }

    fn insert(self: &Arc<Self>, table: &mut Table, client: Option<&Owner>) -> Permit {
        table.last += 1;
        let number = table.last;
        let entry = Entry {
            client: client.cloned(),
            connection: Weak::new(),
            is_established: false,
            is_closing: false,
            stop: Arc::default(),
            start: StartStage::Over,
        };
        table.open.insert(number, entry);
        Permit {
            capacity: Arc::clone(self),
            number,
            started: Mutex::default(),
        }
    }

    /// Returns whether a connection can be opened without closing another open connection.
    pub(crate) fn has_room(&self, upstream: &Upstream) -> bool {
        let table = lock(&self.table);
        let has_ended =
            |entry: &&Entry| (entry.connection.upgrade()).is_some_and(|one| !one.is_open());
        let ended = table.open.values().filter(has_ended).count();
        table.open.len() - ended < upstream.max_connections
    }

    fn log_refusal(&self, upstream: &Upstream, client: Option<&Owner>, error: &ErrorObject) {
        if let (Some(client), Some(omitted)) = (client, self.log.admit(std::time::Instant::now())) {
            let (server, reason) = (&*upstream.name, &*error.message);
            tracing::warn!(%client, server, reason, omitted, "a request was denied");
        }
    }
}

impl Table {
    /// Finds room for one connection. Returns `None` if no limit is reached. Otherwise returns the reached limit, and the number
    /// and the value of the connection that the caller must close first.
    fn make_room(
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
    fn start_next(&mut self) {
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
        // A call may have begun to use it.
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

fn refused(upstream: &Upstream, full: &Full) -> ErrorObject {
    let name = &*upstream.name;
    ErrorObject::internal(match full {
        Full::Client => format!(
            "calls of this client use all {} connections to the server {name:?} that one client can have \
             (\"maxConnectionsPerClient\"); wait for the end of a call",
            upstream.max_connections_per_client
        ),
        Full::All => format!(
            "{} connections to the server {name:?} are in use, which is the limit (max_connections); try again later",
            upstream.max_connections
        ),
    })
}
