//! `mcp serve` and `mcp bridge --listen` under attack by clients at fifty addresses, each of which uses all of its limits.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{self, BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

/// Number of attacking addresses, and the number of sessions and calls that each opens.
const ADDRESSES: u8 = 50;
const SESSIONS: usize = 60;
const CALLS: usize = 12;
const MAX_MIB: usize = 256;
const MAX_WAIT: Duration = Duration::from_secs(2);

/// The limits of `mcp serve` in this test.
const SERVE_PROCESSES: usize = 120;
/// The default limit of `mcp bridge`.
const BRIDGE_PROCESSES: usize = 256;

/// The process of a running gateway; killed on drop.
struct Running {
    child: Child,
    address: SocketAddr,
    /// The call that the clients send.
    call: Value,
    max_processes: usize,
}

impl Running {
    /// Starts `mcp serve` with a session-based server: each session that uses it has a process.
    fn serve() -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("attack-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("gateway.json");
        let limits = json!({ "maxConnections": SERVE_PROCESSES, "maxConnectionsPerClient": 8 });
        let config = json!({
            "mcpServers": { "one": { "command": example("ask") } },
            "gateway": { "listen": "127.0.0.1:0", "servers": { "one": limits } },
        });
        std::fs::write(&file, config.to_string()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcp"));
        command.arg("serve").arg(&file);
        Self::start(command, call("one__ask", &json!({})), SERVE_PROCESSES)
    }

    /// Starts `mcp bridge --listen` with one of the examples.
    fn bridge(server: &str, call: Value) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcp"));
        command.args(["bridge", "--listen", "127.0.0.1:0", "--"]);
        command.arg(example(server));
        Self::start(command, call, BRIDGE_PROCESSES)
    }

    fn start(mut command: Command, call: Value, max_processes: usize) -> Self {
        let mut child = command
            .env("MCP_LOG", "error")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = out.find_map(|line| {
            let url = line.unwrap();
            let address = url.strip_prefix("http://")?.strip_suffix("/mcp")?;
            Some(address.parse().unwrap())
        });
        Self {
            child,
            address: address.expect("the URL"),
            call,
            max_processes,
        }
    }

    /// Peak resident memory in MiB.
    fn peak(&self) -> usize {
        self.status("VmHWM:")
    }

    /// Returns a value of the status of the process in MiB.
    fn status(&self, name: &str) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        let kib: usize = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        kib / 1024
    }

    /// Resident memory in MiB.
    fn resident(&self) -> usize {
        self.status("VmRSS:")
    }

    /// Number of child processes.
    fn children(&self) -> usize {
        let id = self.child.id();
        let listed = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
        listed.split_whitespace().count()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The process may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the path of an example, which cargo builds beside the tests.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let built = test.parent().unwrap().parent().unwrap();
    let path = built.join("examples").join(name);
    let built = path.exists();
    assert!(built, "{path:?} is missing; run cargo build --examples");
    path
}

/// Connects from another address of this machine.
async fn connect(from: [u8; 4], to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((from, 0).into()).unwrap();
    socket.connect(to).await.unwrap()
}

/// Sends a message by POST on a connection.
async fn send(stream: &mut TcpStream, session: Option<&str>, message: &Value) -> io::Result<()> {
    let body = message.to_string();
    let session = session.map_or(String::new(), |id| format!("mcp-session-id: {id}\r\n"));
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         {session}content-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).await
}

/// Reads a response with `Content-Length`, or the beginning of an event stream; returns the head and the body.
async fn receive(stream: &mut TcpStream) -> io::Result<String> {
    let (mut text, mut bytes) = (String::new(), vec![0; 1 << 14]);
    loop {
        let count = stream.read(&mut bytes).await?;
        text += &String::from_utf8_lossy(&bytes[..count]);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            continue;
        };
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let is_complete = length.is_none_or(|length| body.len() >= length.parse().unwrap());
        if is_complete || count == 0 {
            return Ok(text);
        }
    }
}

/// Capabilities of a client that need much memory compared with their text.
fn heavy_capabilities() -> Value {
    let mut nested = json!({});
    for _ in 0..40 {
        nested = json!({ "a": nested });
    }
    json!({ "elicitation": {}, "experimental": { "a": nested, "b": nested, "c": nested } })
}

fn initialize(capabilities: &Value) -> Value {
    let client = json!({ "name": "client", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })
}

/// Opens a session; returns its id.
async fn open(stream: &mut TcpStream, capabilities: &Value) -> io::Result<String> {
    send(stream, None, &initialize(capabilities)).await?;
    let response = receive(stream).await?.to_lowercase();
    let mut lines = response.lines();
    let id = lines.find_map(|line| line.strip_prefix("mcp-session-id: "));
    let id = id.ok_or_else(|| io::Error::other(response.clone()))?;
    let id = id.trim().to_owned();
    let opened = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    send(stream, Some(&id), &opened).await?;
    receive(stream).await?;
    Ok(id)
}

fn call(tool: &str, arguments: &Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
}

/// Opens sessions with heavy capabilities. In some of them, starts calls that wait for the client, and leaves.
async fn attack(from: [u8; 4], to: SocketAddr, call: Value) -> Vec<TcpStream> {
    let capabilities = heavy_capabilities();
    let mut stream = connect(from, to).await;
    let mut waiting = Vec::new();
    for number in 0..SESSIONS {
        // The gateway may refuse the session, or close the connection.
        let Ok(id) = open(&mut stream, &capabilities).await else {
            break;
        };
        if number < CALLS {
            let mut own = connect(from, to).await;
            let _ = send(&mut own, Some(&id), &call).await;
            // The response is a request of the server, or an error.
            let _ = timeout(Duration::from_secs(5), receive(&mut own)).await;
            waiting.push(own);
        }
    }
    waiting
}

/// Clients at fifty addresses that obey the limits must not keep a client at another address from being served.
async fn fifty_addresses_attack(gateway: Running) {
    let to = gateway.address;
    let mut attacks = Vec::new();
    for last in 1..=ADDRESSES {
        attacks.push(tokio::spawn(attack(
            [127, 0, 9, last],
            to,
            gateway.call.clone(),
        )));
    }
    let (mut slowest, mut most, mut served) = (Duration::ZERO, 0, 0);
    while !attacks.iter().all(tokio::task::JoinHandle::is_finished) || served < 5 {
        let start = Instant::now();
        let mut stream = connect([127, 0, 8, 1], to).await;
        let id = open(&mut stream, &json!({})).await.expect("a session");
        send(&mut stream, Some(&id), &gateway.call).await.unwrap();
        let response = receive(&mut stream).await.unwrap();
        // This client does not support elicitation, so the tool `ask` fails at once, with a message of the server.
        assert!(!response.contains("connections"), "{response}");
        slowest = slowest.max(start.elapsed());
        most = most.max(gateway.children());
        served += 1;
    }
    let mut held = Vec::new();
    for attack in attacks {
        held.extend(attack.await.unwrap());
    }
    eprintln!(
        "peak {} MiB, at most {most} processes, {served} calls of another address, the slowest took {slowest:?}",
        gateway.peak()
    );
    assert!(gateway.peak() <= MAX_MIB, "{} MiB", gateway.peak());
    // A process that is being closed may take a moment to end.
    assert!(most <= gateway.max_processes + 8, "{most} processes");
    assert!(slowest <= MAX_WAIT, "{slowest:?}");
    drop(held);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_addresses_neither_fill_the_memory_nor_lock_out_another_client() {
    fifty_addresses_attack(Running::serve()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bridge_to_a_session_based_server_withstands_fifty_addresses() {
    fifty_addresses_attack(Running::bridge("ask", call("ask", &json!({})))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bridge_to_a_stateless_server_withstands_fifty_addresses() {
    let add = call("add", &json!({ "a": 1, "b": 2 }));
    fifty_addresses_attack(Running::bridge("calc", add)).await;
}

/// After a large result, the connection to the program stays open for the session. It must not keep the buffer of the result.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_of_idle_sessions_keep_no_large_buffers() {
    const IDLE_SESSIONS: u8 = 40;
    let gateway = Running::bridge("ask", call("large", &json!({})));
    let mut first = 0;
    for number in 1..=IDLE_SESSIONS {
        let from = [127, 0, 9, number];
        let mut stream = connect(from, gateway.address).await;
        let id = open(&mut stream, &json!({})).await.unwrap();
        send(&mut stream, Some(&id), &gateway.call).await.unwrap();
        let (mut length, mut bytes) = (0, vec![0; 1 << 16]);
        while length < 2_500_000 {
            let read = timeout(Duration::from_secs(30), stream.read(&mut bytes));
            let count = read.await.unwrap().unwrap();
            assert!(count > 0, "the response ends after {length} bytes");
            length += count;
        }
        if number == 1 {
            first = gateway.resident();
        }
    }
    let grown = gateway.resident().saturating_sub(first);
    eprintln!("{IDLE_SESSIONS} sessions, {grown} MiB more than with one");
    assert!(gateway.children() >= usize::from(IDLE_SESSIONS));
    assert!(grown <= usize::from(IDLE_SESSIONS), "{grown} MiB");
}
