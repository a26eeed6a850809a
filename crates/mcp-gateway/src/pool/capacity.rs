//! How many connections to one server are open, and who opened them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::Owner;
use tokio::time::timeout;

use crate::connection::UpstreamConnection;
use crate::sync::lock;
use crate::upstream::Upstream;

/// How long a new connection waits for the end of the one whose place it takes.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The open connections to one server. Each client can open a share of them.
#[derive(Default)]
pub(crate) struct Capacity(Mutex<Table>);

#[derive(Default)]
struct Table {
    last: u64,
    open: BTreeMap<u64, Entry>,
}

struct Entry {
    /// The client that opened it; `None` for the gateway itself.
    client: Option<Owner>,
    /// Set when the connection is established.
    connection: Weak<UpstreamConnection>,
}

/// The right to have a connection open. Released on drop.
pub(crate) struct Permit {
    capacity: Arc<Capacity>,
    number: u64,
}

impl Drop for Permit {
    fn drop(&mut self) {
        lock(&self.capacity.0).open.remove(&self.number);
    }
}

impl Permit {
    /// Names the connection, which can be closed for another one from now on.
    pub(crate) fn is_of(&self, connection: &Arc<UpstreamConnection>) {
        if let Some(entry) = lock(&self.capacity.0).open.get_mut(&self.number) {
            entry.connection = Arc::downgrade(connection);
        }
    }
}

/// Why no connection can be opened.
enum Full {
    /// The client has opened its share.
    Client,
    /// All connections are open.
    All,
}

impl Capacity {
    /// Returns the right to open a connection for a client, or for the gateway itself. If necessary, closes a connection that no call uses; if all
    /// connections are in use, that of the client with the most connections that was opened first, unless the new client has as many.
    ///
    /// # Errors
    /// All connections are in use, or all of the client.
    pub(crate) async fn permit(
        self: &Arc<Self>,
        upstream: &Upstream,
        client: Option<&Owner>,
    ) -> Result<Permit, ErrorObject> {
        let (number, closed) = {
            let mut table = lock(&self.0);
            let closed = table.make_room(upstream, client)?;
            table.last += 1;
            let number = table.last;
            let entry = Entry {
                client: client.cloned(),
                connection: Weak::new(),
            };
            table.open.insert(number, entry);
            (number, closed)
        };
        let permit = Permit {
            capacity: Arc::clone(self),
            number,
        };
        if let Some(connection) = closed {
            let server = &*upstream.name;
            tracing::info!(server, "closed a connection to open another one");
            // The new connection does not wait longer for a server that does not end.
            let _ = timeout(CLOSE_TIMEOUT, connection.evict()).await;
        }
        Ok(permit)
    }
}

impl Table {
    /// Makes room for a connection. Returns the connection that must be closed for it.
    fn make_room(
        &mut self,
        upstream: &Upstream,
        client: Option<&Owner>,
    ) -> Result<Option<Arc<UpstreamConnection>>, ErrorObject> {
        let own = self.count(client);
        let max_own = upstream.max_connections_per_client;
        let (found, full) = if client.is_some_and(Owner::is_known) && own >= max_own {
            (self.unused(client), Full::Client)
        } else if self.open.len() >= upstream.max_connections {
            let unused = self.unused(None);
            (unused.or_else(|| self.of_largest(own)), Full::All)
        } else {
            return Ok(None);
        };
        let (number, connection) = found.ok_or_else(|| refused(upstream, &full))?;
        self.open.remove(&number);
        Ok(Some(connection))
    }

    fn count(&self, client: Option<&Owner>) -> usize {
        let own = self.open.values();
        own.filter(|entry| entry.client.as_ref() == client).count()
    }

    /// Returns the connection that was unused for the longest time, of one client or of all.
    fn unused(&self, client: Option<&Owner>) -> Option<(u64, Arc<UpstreamConnection>)> {
        let candidates = self.open.iter().filter(|(_, entry)| {
            entry.client.is_some() && (client.is_none() || entry.client.as_ref() == client)
        });
        let unused = candidates.filter_map(|(number, entry)| {
            let connection = entry.connection.upgrade()?;
            let since = connection.unused_since()?;
            Some((since, *number, connection))
        });
        let (_, number, connection) = unused.min_by_key(|(since, ..)| *since)?;
        Some((number, connection))
    }

    /// Returns the first connection of the client with the most connections, if it has at least two more than `own`.
    fn of_largest(&self, own: usize) -> Option<(u64, Arc<UpstreamConnection>)> {
        let mut counts: HashMap<&Owner, usize> = HashMap::new();
        for client in self.open.values().filter_map(|entry| entry.client.as_ref()) {
            *counts.entry(client).or_default() += 1;
        }
        let (largest, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
        if count < own + 2 {
            return None;
        }
        let mut of_largest =
            (self.open.iter()).filter(|(_, entry)| entry.client.as_ref() == Some(largest));
        of_largest.find_map(|(number, entry)| Some((*number, entry.connection.upgrade()?)))
    }
}

fn refused(upstream: &Upstream, full: &Full) -> ErrorObject {
    let name = &*upstream.name;
    ErrorObject::internal(match full {
        Full::Client => format!(
            "{} connections of this client to the server {name:?} are in use, the limit for one client (max_connections_per_client); wait \
             for the end of a call",
            upstream.max_connections_per_client
        ),
        Full::All => format!(
            "{} connections to the server {name:?} are in use, which is the limit (max_connections); try again later",
            upstream.max_connections
        ),
    })
}
