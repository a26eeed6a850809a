//! Connections to a single Redis server, to the master that Sentinel names, or to a cluster.

use redis::aio::ConnectionLike;
#[cfg(feature = "changes")]
use redis::aio::MultiplexedConnection;
use redis::{Client, Cmd, Pipeline, RedisFuture, RedisResult, Value};
#[cfg(feature = "cluster")]
use redis::{cluster::ClusterClient, cluster_async::ClusterConnection};

use crate::RedisOptions;
use crate::options::Topology;
use crate::reopened::{ReopenedConnection, Source};

/// A connection that is opened again after it was lost. Cloning returns another handle to the same connection.
#[derive(Clone)]
pub(crate) enum Connection {
    Reopened(ReopenedConnection),
    /// A connection that is not opened again after it was lost.
    #[cfg(feature = "changes")]
    Once(MultiplexedConnection),
    #[cfg(feature = "cluster")]
    Cluster(ClusterConnection),
}

/// Opens additional connections to the same Redis.
#[derive(Clone)]
#[cfg_attr(
    not(feature = "changes"),
    expect(dead_code, reason = "opens the connection of the bus")
)]
pub(crate) enum Connector {
    Reopened(ReopenedConnection),
    #[cfg(feature = "cluster")]
    Cluster(Box<ClusterClient>),
}

/// Connects to the Redis that the URL and the options describe.
pub(crate) async fn connect(
    url: &str,
    options: &RedisOptions,
) -> RedisResult<(Connection, Connector)> {
    let source = match &options.topology {
        Topology::Single => Source::Single(Client::open(url)?),
        #[cfg(feature = "sentinel")]
        Topology::Sentinel(sentinels) => {
            let client = crate::sentinel::client(url, sentinels)?;
            Source::Sentinel(client.into())
        }
        #[cfg(feature = "cluster")]
        Topology::Cluster(nodes) => {
            let nodes = std::iter::once(url).chain(nodes.iter().map(String::as_str));
            let client = ClusterClient::builder(nodes)
                .retries(1)
                .connection_timeout(options.connect_timeout)
                .response_timeout(options.response_timeout)
                .build()?;
            let connection = client.get_async_connection().await?;
            return Ok((
                Connection::Cluster(connection),
                Connector::Cluster(Box::new(client)),
            ));
        }
    };
    let connection = ReopenedConnection::open(source, options).await?;
    Ok((
        Connection::Reopened(connection.clone()),
        Connector::Reopened(connection),
    ))
}

#[cfg(feature = "changes")]
impl Connector {
    /// Opens a connection for commands that block. `timeout` is the timeout of its responses.
    pub(crate) async fn open(&self, timeout: std::time::Duration) -> RedisResult<Connection> {
        match self {
            Self::Reopened(connection) => {
                Ok(Connection::Once(connection.open_another(timeout).await?))
            }
            #[cfg(feature = "cluster")]
            Self::Cluster(client) => {
                let config = redis::cluster::ClusterConfig::new().set_response_timeout(timeout);
                let connection = client.get_async_connection_with_config(config);
                Ok(Connection::Cluster(connection.await?))
            }
        }
    }
}

impl Connection {
    /// Returns whether Redis is a cluster. The commands of one pipeline must then have keys with the same hash tag.
    pub(crate) fn is_cluster(&self) -> bool {
        #[cfg(feature = "cluster")]
        return matches!(self, Self::Cluster(_));
        #[cfg(not(feature = "cluster"))]
        false
    }
}

impl ConnectionLike for Connection {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        match self {
            Self::Reopened(connection) => connection.req_packed_command(cmd),
            #[cfg(feature = "changes")]
            Self::Once(connection) => connection.req_packed_command(cmd),
            #[cfg(feature = "cluster")]
            Self::Cluster(connection) => connection.req_packed_command(cmd),
        }
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        match self {
            Self::Reopened(connection) => connection.req_packed_commands(pipeline, offset, count),
            #[cfg(feature = "changes")]
            Self::Once(connection) => connection.req_packed_commands(pipeline, offset, count),
            #[cfg(feature = "cluster")]
            Self::Cluster(connection) => connection.req_packed_commands(pipeline, offset, count),
        }
    }

    fn get_db(&self) -> i64 {
        match self {
            Self::Reopened(connection) => connection.get_db(),
            #[cfg(feature = "changes")]
            Self::Once(connection) => connection.get_db(),
            #[cfg(feature = "cluster")]
            Self::Cluster(connection) => connection.get_db(),
        }
    }
}
