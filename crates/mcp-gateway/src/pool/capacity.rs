//! Limits the open connections to one server, in total and for each client.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{Budget, BudgetPermit, Connection, Owner, lock};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep, timeout};

use super::table::{Entry, Full, StartStage, Table};
use crate::connection::UpstreamConnection;
use crate::upstream::Upstream;
use mcp_protocol::LogLimit;

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

/// Maximum total size of the messages that a server has not read, on all its connections, in bytes. One client can use half of
/// this size.
const MAX_QUEUED_BYTES: usize = 64 << 20;

/// The open connections to one server. Each client can open a limited number of them.
pub(crate) struct Capacity {
    table: Mutex<Table>,
    log: LogLimit,
    /// The limit on log entries about connections that the gateway did not end.
    end_log: LogLimit,
    /// The size of the messages that the server has not read.
    queued: Budget,
}

impl Default for Capacity {
    fn default() -> Self {
        Self {
            table: Mutex::default(),
            log: LogLimit::default(),
            end_log: LogLimit::default(),
            queued: Budget::new("messages that the server has not read", MAX_QUEUED_BYTES),
        }
    }
}

/// Maximum time that a connection without a response counts as [`NewestConnection::Opening`]. After this time, a server that
/// hangs is not reported as ready, although clients try to connect.
const MAX_OPENING: Duration = Duration::from_secs(5);

/// The newest connection to a server.
pub(crate) enum NewestConnection {
    /// The connection is being opened.
    Opening,
    /// The connection is open.
    Open(Arc<UpstreamConnection>),
}

/// A permit to keep one connection open; released on drop. A connection keeps its permit until its process has ended.
pub(crate) struct Permit {
    capacity: Arc<Capacity>,
    number: u64,
    /// The transport's connections that the attempt to establish this connection has started. They are closed if the attempt is
    /// stopped.
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

    /// Returns the number of ends of connections that were not logged since the last log entry, or `None` if the end of this
    /// connection must not be logged: it was not yet established, or there were too many entries.
    pub(crate) fn admit_log_of_end(&self) -> Option<u64> {
        let table = lock(&self.capacity.table);
        let is_established = table.open.get(&self.number)?.is_established;
        drop(table);
        let now = std::time::Instant::now();
        is_established.then(|| self.capacity.end_log.admit(now))?
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
            // The connection was established before it could be stopped.
            entry.is_closing = false;
        }
    }
}

/// A request that waits for a connection. The request is counted as waiting until this value is dropped.
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
            since: Instant::now(),
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

    /// Returns the newest open connection. If no connection is open, but one has been opening for a short time, returns
    /// [`NewestConnection::Opening`].
    pub(crate) fn newest_connection(&self) -> Option<NewestConnection> {
        let table = lock(&self.table);
        let mut entries = table.open.values().rev();
        let open = entries.clone().find_map(|entry| {
            let connection = entry.connection.upgrade()?;
            connection
                .is_open()
                .then_some(NewestConnection::Open(connection))
        });
        let is_opening =
            |entry: &Entry| !entry.is_established && entry.since.elapsed() < MAX_OPENING;
        open.or_else(|| entries.any(is_opening).then_some(NewestConnection::Opening))
    }

    fn log_refusal(&self, upstream: &Upstream, client: Option<&Owner>, error: &ErrorObject) {
        if let (Some(client), Some(omitted)) = (client, self.log.admit(std::time::Instant::now())) {
            let (server, reason) = (&*upstream.name, &*error.message);
            tracing::warn!(%client, server, reason, omitted, "a request was denied");
        }
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
