//! Sends change notifications to all processes of a server.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mcp_server::{Change, ChangeBus};
use redis::streams::{StreamRangeReply, StreamReadReply};
use redis::{RedisResult, Value};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::connection::{Connection, Connector};

/// Maximum number of changes that wait for Redis.
const MAX_QUEUED: usize = 1_024;
/// Number of changes that Redis keeps for processes whose connection was lost.
const MAX_KEPT: usize = 1_000;
/// Maximum time for which one Redis command waits for changes.
const WAIT: Duration = Duration::from_secs(10);
/// Pause before the next attempt to reach Redis.
const RETRY: Duration = Duration::from_millis(200);

/// A [`ChangeBus`] in Redis, from [`RedisStore::change_bus`](crate::RedisStore::change_bus). Cloning returns another handle to the same bus.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use mcp_server::Server;
/// use mcp_store_redis::RedisStore;
///
/// let bus = RedisStore::connect("redis://127.0.0.1:6379").await?.change_bus();
/// let server = Server::builder("files", "1.0.0").change_bus(bus.clone()).build()?;
/// let receiver = server.clone();
/// bus.receive(move |change| receiver.deliver(change));
/// # Ok(())
/// # }
/// ```
///
/// Redis keeps the latest 1,000 changes, and a process that was disconnected receives the changes that it has missed. If the
/// process has missed more than 1,000 changes, it treats the lists of tools, prompts and resources as changed.
#[derive(Clone)]
pub struct RedisChangeBus {
    changes: mpsc::Sender<Change>,
    connector: Connector,
    key: Arc<str>,
}

impl RedisChangeBus {
    pub(crate) fn new(connection: Connection, connector: Connector, prefix: &str) -> Self {
        let key: Arc<str> = format!("{prefix}changes").into();
        let (changes, receiver) = mpsc::channel(MAX_QUEUED);
        tokio::spawn(publish(connection, Arc::clone(&key), receiver));
        Self {
            changes,
            connector,
            key,
        }
    }

    /// Starts a task that calls `deliver` with each change that any process publishes after this call. The returned handle can
    /// end the task.
    ///
    /// # Panics
    /// Panics outside a tokio runtime.
    pub fn receive(&self, deliver: impl Fn(&Change) + Send + Sync + 'static) -> JoinHandle<()> {
        let receiver = Receiver {
            connector: self.connector.clone(),
            key: Arc::clone(&self.key),
            last: None,
        };
        tokio::spawn(receiver.run(deliver))
    }
}

impl ChangeBus for RedisChangeBus {
    /// Publishes a change. If 1,024 other changes wait for Redis, or if Redis cannot be reached, drops the change and logs an
    /// error.
    fn publish(&self, change: Change) {
        if self.changes.try_send(change).is_err() {
            tracing::error!(
                "a change was not published: {MAX_QUEUED} other changes wait for Redis"
            );
        }
    }
}

impl fmt::Debug for RedisChangeBus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisChangeBus")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

async fn publish(mut connection: Connection, key: Arc<str>, mut changes: mpsc::Receiver<Change>) {
    while let Some(change) = changes.recv().await {
        let Some(text) = text_of(&change) else {
            tracing::error!(?change, "this version cannot publish the change");
            continue;
        };
        let mut command = redis::cmd("XADD");
        command.arg(&*key).arg("MAXLEN").arg("~").arg(MAX_KEPT);
        command.arg("*").arg("c").arg(text);
        let added: RedisResult<Value> = command.query_async(&mut connection).await;
        if let Err(error) = added {
            tracing::error!(%error, "a change was not published");
        }
    }
}

/// Writes a change as text. The text of a change for one user begins with `for`, the length of the user's key in bytes, and the
/// key. The text of the change itself follows.
fn text_of(change: &Change) -> Option<String> {
    Some(match change {
        Change::Tools => "tools".to_owned(),
        Change::Prompts => "prompts".to_owned(),
        Change::Resources => "resources".to_owned(),
        Change::Resource(uri) => format!("resource {uri}"),
        Change::ForUser { user, change } => {
            format!("for {} {user} {}", user.len(), text_of(change)?)
        }
        _ => return None,
    })
}

fn parse(text: &str) -> Option<Change> {
    if let Some(addressed) = text.strip_prefix("for ") {
        let (bytes, rest) = addressed.split_once(' ')?;
        let (user, change) = rest.split_at_checked(bytes.parse().ok()?)?;
        return Some(parse_change(change.strip_prefix(' ')?)?.only_for(user));
    }
    parse_change(text)
}

/// Reads a change that is for all users.
fn parse_change(text: &str) -> Option<Change> {
    Some(match text {
        "tools" => Change::Tools,
        "prompts" => Change::Prompts,
        "resources" => Change::Resources,
        _ => Change::Resource(text.strip_prefix("resource ")?.to_owned()),
    })
}

/// Receives the changes of all processes.
struct Receiver {
    connector: Connector,
    key: Arc<str>,
    /// The id of the last change that was received.
    last: Option<String>,
}

impl Receiver {
    async fn run(mut self, deliver: impl Fn(&Change) + Send + Sync + 'static) {
        loop {
            if let Err(error) = self.receive(&deliver).await {
                tracing::warn!(%error, "the changes of other processes cannot be received");
            }
            sleep(RETRY).await;
        }
    }

    /// Receives changes on a separate connection, until the connection is lost.
    async fn receive(&mut self, deliver: &(impl Fn(&Change) + Sync)) -> RedisResult<()> {
        let mut connection = self.connector.open(WAIT * 2).await?;
        if self.last.is_none() {
            self.last = Some(self.newest(&mut connection).await?);
        } else if self.is_gap(&mut connection).await? {
            tracing::warn!("changes of other processes were missed; all lists count as changed");
            [Change::Tools, Change::Prompts, Change::Resources]
                .iter()
                .for_each(deliver);
        }
        loop {
            let mut command = redis::cmd("XREAD");
            command.arg("BLOCK").arg(WAIT.as_millis() as usize);
            command.arg("STREAMS").arg(&*self.key).arg(&self.last);
            let found: Option<StreamReadReply> = command.query_async(&mut connection).await?;
            let streams = found.map(|found| found.keys).unwrap_or_default();
            for entry in streams.into_iter().flat_map(|stream| stream.ids) {
                let text: Option<String> = entry.get("c");
                match text.as_deref().and_then(parse) {
                    Some(change) => deliver(&change),
                    None => tracing::warn!(?text, "a change of another process is unknown"),
                }
                self.last = Some(entry.id);
            }
        }
    }

    /// Returns the id of the newest change.
    async fn newest(&self, connection: &mut Connection) -> RedisResult<String> {
        let mut command = redis::cmd("XREVRANGE");
        command
            .arg(&*self.key)
            .arg("+")
            .arg("-")
            .arg("COUNT")
            .arg(1);
        let found: StreamRangeReply = command.query_async(connection).await?;
        let newest = found.ids.into_iter().next();
        Ok(newest.map_or_else(|| "0-0".to_owned(), |entry| entry.id))
    }

    /// Returns whether the process may have missed changes: the last change that it has received is no longer stored. In this
    /// case, continues with the oldest stored change.
    async fn is_gap(&mut self, connection: &mut Connection) -> RedisResult<bool> {
        let Some(last) = self.last.clone().filter(|last| last != "0-0") else {
            return Ok(false);
        };
        let mut command = redis::cmd("XRANGE");
        command.arg(&*self.key).arg(&last).arg(&last);
        let found: StreamRangeReply = command.query_async(connection).await?;
        if !found.ids.is_empty() {
            return Ok(false);
        }
        self.last = Some("0-0".to_owned());
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_for_one_user_is_never_read_as_a_change_for_all_users() {
        for user in ["alice", "", "for 3 a b", "\u{e4} resource x:1", " "] {
            for change in [Change::Tools, Change::Resource("x: 1 ".to_owned())] {
                let change = change.only_for(user);
                assert_eq!(parse(&text_of(&change).unwrap()), Some(change));
            }
        }
        for text in [
            "for",
            "for ",
            "for 1",
            "for 9 a tools",
            "for 1 a",
            "for 1 atools",
            "for 1 a for 1 b tools",
            "for x a tools",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
