//! The connection to a single Redis server, or to the master that Sentinel names.

use std::sync::Arc;
use std::time::Duration;

use redis::aio::{ConnectionLike, MultiplexedConnection};
#[cfg(feature = "sentinel")]
use redis::sentinel::SentinelClient;
use redis::{
    AsyncConnectionConfig, Client, Cmd, ErrorKind, Pipeline, RedisError, RedisFuture, RedisResult,
    Value,
};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::RedisOptions;

/// A connection that can be opened again. The next command opens it again if it was lost, if it did not respond in time, or if
/// the master has become a replica. Cloning returns another handle to the same connection.
#[derive(Clone)]
pub(crate) struct ReopenedConnection(Arc<Shared>);

/// The client that opens connections.
pub(crate) enum Source {
    Single(Client),
    /// The client of Sentinel. Its mutex is locked after the mutex of the connection's state.
    #[cfg(feature = "sentinel")]
    Sentinel(Mutex<SentinelClient>),
}

struct Shared {
    source: Source,
    state: Mutex<State>,
    connect_timeout: Duration,
    response_timeout: Duration,
}

#[derive(Default)]
struct State {
    connection: Option<MultiplexedConnection>,
    /// Number of connections that were opened before this connection.
    generation: u64,
    /// The end time and the error of the last failed attempt to connect.
    failed: Option<(Instant, RedisError)>,
}

impl ReopenedConnection {
    pub(crate) async fn open(source: Source, options: &RedisOptions) -> RedisResult<Self> {
        let connection = Self(Arc::new(Shared {
            source,
            state: Mutex::default(),
            connect_timeout: options.connect_timeout,
            response_timeout: options.response_timeout,
        }));
        connection.current().await?;
        Ok(connection)
    }

    /// Returns the connection and its generation. If another caller is connecting, waits for that attempt and returns its result.
    async fn current(&self) -> RedisResult<(MultiplexedConnection, u64)> {
        let began = Instant::now();
        let mut state = self.0.state.lock().await;
        let State {
            connection,
            generation,
            failed,
        } = &mut *state;
        if let Some(connection) = connection {
            return Ok((connection.clone(), *generation));
        }
        if let Some((ended, error)) = failed
            && *ended >= began
        {
            return Err(error.clone());
        }
        match self.0.open(self.0.response_timeout).await {
            Ok(opened) => {
                *connection = Some(opened.clone());
                *generation += 1;
                Ok((opened, *generation))
            }
            Err(error) => {
                *failed = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }

    /// Opens a separate connection with this response timeout. The connection is not opened again after it was lost.
    #[cfg(feature = "changes")]
    pub(crate) async fn open_another(
        &self,
        response_timeout: Duration,
    ) -> RedisResult<MultiplexedConnection> {
        self.0.open(response_timeout).await
    }

    /// Runs a command. Discards the connection if the error of the command says that the connection or the master cannot be used.
    async fn run<T>(
        &self,
        command: impl AsyncFnOnce(&mut MultiplexedConnection) -> RedisResult<T>,
        says_lost: impl FnOnce(&T) -> bool,
    ) -> RedisResult<T> {
        let (mut connection, generation) = self.current().await?;
        let outcome = command(&mut connection).await;
        let is_unusable = match &outcome {
            Ok(reply) => says_lost(reply),
            Err(error) => is_lost(error),
        };
        if is_unusable {
            let mut state = self.0.state.lock().await;
            if state.generation == generation {
                state.connection = None;
            }
        }
        outcome
    }
}

impl Shared {
    async fn open(&self, response_timeout: Duration) -> RedisResult<MultiplexedConnection> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.connect_timeout))
            .set_response_timeout(Some(response_timeout));
        let opening = async {
            match &self.source {
                Source::Single(client) => {
                    client
                        .get_multiplexed_async_connection_with_config(&config)
                        .await
                }
                #[cfg(feature = "sentinel")]
                Source::Sentinel(client) => {
                    let mut client = client.lock().await;
                    client.get_async_connection_with_config(&config).await
                }
            }
        };
        // With Sentinel, two connections are opened: to a Sentinel and to the master.
        match timeout(self.connect_timeout * 2, opening).await {
            Ok(opened) => opened,
            Err(_) => Err(RedisError::from((
                ErrorKind::Io,
                "Redis does not respond in time (RedisOptions::with_connect_timeout)",
            ))),
        }
    }
}

/// Returns whether this error means that a new connection is needed.
fn is_lost(error: &RedisError) -> bool {
    error.is_unrecoverable_error() || error.is_io_error()
}

/// Returns whether Redis has replied that it cannot run commands, for example because it has become a replica.
fn says_lost(reply: &Value) -> bool {
    let Value::ServerError(error) = reply else {
        return false;
    };
    matches!(
        error.code(),
        "READONLY" | "MASTERDOWN" | "LOADING" | "NOAUTH"
    )
}

impl ConnectionLike for ReopenedConnection {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        let run =
            async |connection: &mut MultiplexedConnection| connection.req_packed_command(cmd).await;
        Box::pin(self.run(run, says_lost))
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        let run = async move |connection: &mut MultiplexedConnection| {
            connection
                .req_packed_commands(pipeline, offset, count)
                .await
        };
        let is_lost = |replies: &Vec<Value>| replies.iter().any(says_lost);
        Box::pin(self.run(run, is_lost))
    }

    fn get_db(&self) -> i64 {
        match &self.0.source {
            Source::Single(client) => client.get_connection_info().redis_settings().db(),
            #[cfg(feature = "sentinel")]
            Source::Sentinel(_) => 0,
        }
    }
}
