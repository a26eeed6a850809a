//! Several processes of a server behind a load balancer, with one Redis. Needs `redis-server` and `haproxy`.

use std::ffi::OsStr;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use mcp_server::{ServerBuilder, StateKeys};
use mcp_store_redis::RedisStore;
use mcp_transport_http::ServerOptions;
use tokio::net::{TcpStream, UnixStream};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use crate::bench::Fault;
use crate::everything::serve_http;

/// Limit of the start of a process.
const START: Duration = Duration::from_secs(30);
/// Interval between two attempts to connect to a process that starts.
const ATTEMPT: Duration = Duration::from_millis(10);

/// The options of a node: sessions and events in this Redis, and its address for the other nodes.
///
/// # Errors
/// The address is malformed.
pub fn options(address: &str, redis: &RedisStore) -> Result<ServerOptions, Fault> {
    Ok(ServerOptions::new()
        .with_event_store(redis.event_store())
        .with_session_store(redis.session_store())
        .with_forwarding(format!("http://{address}/mcp").parse()?))
}

/// Serves a server as a node: with everything in this Redis that the nodes share.
///
/// # Errors
/// Redis cannot be reached, the server cannot listen on the address, or its configuration is invalid.
pub async fn serve_node(address: &str, redis: &str, server: ServerBuilder) -> Result<(), Fault> {
    let redis = RedisStore::connect(redis).await?;
    let bus = redis.change_bus();
    let server = server
        // A key for tests. All nodes have the same.
        .state_keys(StateKeys::new([7; 32]))
        .task_store(redis.task_store())
        .change_bus(bus.clone())
        .build()?;
    let receiver = server.clone();
    bus.receive(move |change| receiver.deliver(change));
    serve_http(address, server, options(address, &redis)?).await
}

/// The running processes. They are killed on drop.
#[derive(Debug)]
pub struct Cluster {
    folder: PathBuf,
    balancer: SocketAddr,
    nodes: Vec<Node>,
    _redis: Child,
    _haproxy: Child,
}

/// One process of the server.
#[derive(Debug)]
struct Node {
    address: SocketAddr,
    command: Vec<String>,
    process: Option<Child>,
}

impl Cluster {
    /// Starts Redis, `nodes` processes and the load balancer. `command` is the command line of a node with this address and this
    /// URL of Redis.
    ///
    /// # Errors
    /// A program is missing or does not start.
    pub async fn start(
        nodes: usize,
        command: impl Fn(&str, &str) -> Vec<String>,
    ) -> Result<Self, Fault> {
        for program in ["redis-server", "haproxy"] {
            installed(program).await?;
        }
        // The path of a socket has at most 107 bytes.
        let folder = std::env::temp_dir().join(format!("mcp-cluster-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let socket = folder.join("redis");
        let words = ["--port", "0", "--save", "", "--unixsocket"].map(OsStr::new);
        let redis = start(
            "redis-server",
            words.into_iter().chain([socket.as_os_str()]),
        )?;
        connected("redis-server", || UnixStream::connect(&socket)).await?;
        let url = format!("redis+unix://{}", socket.display());

        // Taken together, so that they differ, and free when the listeners are dropped.
        let listeners: Vec<TcpListener> = (0..=nodes)
            .map(|_| TcpListener::bind("127.0.0.1:0"))
            .collect::<Result<_, _>>()?;
        let addresses: Vec<SocketAddr> = listeners
            .iter()
            .map(TcpListener::local_addr)
            .collect::<Result<_, _>>()?;
        drop(listeners);
        let [balancer, addresses @ ..] = &*addresses else {
            return Err("a cluster has nodes".into());
        };
        let mut config = include_str!("haproxy.cfg").replace("{balancer}", &balancer.to_string());
        for address in addresses {
            config += &format!("    server node-{} {address}\n", address.port());
        }
        let file = folder.join("haproxy.cfg");
        fs::write(&file, config)?;
        let nodes = addresses.iter().map(|address| Node {
            address: *address,
            command: command(&address.to_string(), &url),
            process: None,
        });
        let mut cluster = Self {
            folder,
            balancer: *balancer,
            nodes: nodes.collect(),
            _redis: redis,
            _haproxy: start(
                "haproxy",
                [OsStr::new("-db"), OsStr::new("-f"), file.as_os_str()],
            )?,
        };
        for node in 0..cluster.nodes.len() {
            cluster.restart(node).await?;
        }
        connected("haproxy", || TcpStream::connect(cluster.balancer)).await?;
        Ok(cluster)
    }

    /// Returns the host and port of the load balancer.
    pub fn host(&self) -> String {
        self.balancer.to_string()
    }

    /// Kills a node, whose number is below the number of nodes.
    ///
    /// # Errors
    /// The system does not do it.
    pub async fn kill(&mut self, node: usize) -> Result<(), Fault> {
        if let Some(mut process) = self.nodes[node].process.take() {
            process.kill().await?;
        }
        Ok(())
    }

    /// Starts a node again and waits until it listens.
    ///
    /// # Errors
    /// It does not start.
    pub async fn restart(&mut self, node: usize) -> Result<(), Fault> {
        let node = &mut self.nodes[node];
        let [program, args @ ..] = &*node.command else {
            return Err("the command of a node is empty".into());
        };
        node.process = Some(start(program, args)?);
        connected(program, || TcpStream::connect(node.address)).await
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Checks that a program can be started.
async fn installed(program: &str) -> Result<(), Fault> {
    let mut command = Command::new(program);
    let version = command.arg("-v").stdout(Stdio::null()).status().await;
    version.map(drop).map_err(|error| {
        format!("{program} cannot be started: {error}; on Debian: apt-get install {program}").into()
    })
}

/// Starts a program that is killed on drop, and when this process is killed.
fn start<A: AsRef<OsStr>>(
    program: &str,
    args: impl IntoIterator<Item = A>,
) -> Result<Child, Fault> {
    let mut command = Command::new("setpriv");
    command
        .args(["--pdeathsig", "KILL", program])
        .args(args)
        .stdout(Stdio::null())
        .kill_on_drop(true);
    let started = command.spawn();
    started
        .map_err(|error| format!("setpriv cannot be started: {error}; install util-linux").into())
}

/// Waits until a connection to a program can be opened.
async fn connected<C, F>(program: &str, connect: impl Fn() -> F) -> Result<(), Fault>
where
    F: Future<Output = std::io::Result<C>>,
{
    let attempts = async {
        while connect().await.is_err() {
            sleep(ATTEMPT).await;
        }
    };
    let listens = timeout(START, attempts).await;
    Ok(listens.map_err(|_| format!("{program} does not listen after {START:?}"))?)
}
