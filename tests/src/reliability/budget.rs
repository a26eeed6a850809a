//! The memory of a server whose clients fill every budget at the same time.

use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::time::Duration;

use serde::Serialize;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};

use super::options::Options;
use super::process::{Process, memory, own};
use crate::bench::Fault;
use crate::bench::load::{Connection, print};

/// Bodies that never end, and responses that are not read, of each address.
const LARGE: usize = 24;
/// Sessions and subscriptions of each address.
const SMALL: usize = 200;
/// Idle connections of all addresses together, more than the server accepts.
const IDLE: usize = 8_000;
/// Waiting calls of each address, and of each of its sessions.
const WAITING: usize = 100;
const WAITING_PER_SESSION: usize = 50;
const SETTLE: Duration = Duration::from_secs(2);
/// How long the server may take to accept bytes. At its limit of connections it accepts none.
const STEP: Duration = Duration::from_millis(200);
/// An attacker gives up after so many attempts in sequence.
const ATTEMPTS: usize = 3;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

#[derive(Serialize)]
struct Figures {
    /// Bytes of `ServerOptions::with_memory`; `None` for the defaults.
    budget: Option<u64>,
    /// Whether the attacked process is `mcp bridge`, in front of a server over stdio.
    is_bridge: bool,
    addresses: u8,
    idle_mib: f64,
    /// Resident memory after each kind of attack began, while the former ones continue.
    steps: Vec<(&'static str, f64)>,
    peak_mib: f64,
}

/// A client at one address.
struct Attacker {
    source: Ipv4Addr,
    host: String,
    /// Kept open, so that the server keeps its memory.
    held: Vec<TcpStream>,
    failures: usize,
}

impl Attacker {
    async fn connect(&self) -> Result<TcpStream, Fault> {
        let socket = TcpSocket::new_v4()?;
        socket.set_recv_buffer_size(4 << 10)?;
        socket.bind((self.source, 0).into())?;
        Ok(timeout(STEP, socket.connect(self.host.parse()?)).await??)
    }

    /// A request with this text, as far as the server takes it.
    async fn send(&mut self, headers: &str, length: usize, body: &str) {
        if self.failures >= ATTEMPTS {
            return;
        }
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n\
             {headers}content-length: {length}\r\n\r\n",
            self.host
        );
        if let Ok(mut stream) = self.connect().await {
            let text = [head.as_bytes(), body.as_bytes()].concat();
            // The server may refuse the request before it has read all of it.
            let sent = timeout(STEP, stream.write_all(&text)).await;
            self.failures = if sent.is_ok() { 0 } else { self.failures + 1 };
            self.held.push(stream);
        } else {
            self.failures += 1;
        }
    }

    /// Opens a session whose client says as much about itself as is accepted.
    async fn session(&mut self) -> Option<String> {
        if self.failures >= ATTEMPTS {
            return None;
        }
        let session = timeout(STEP, self.open_session()).await.ok().flatten();
        self.failures = if session.is_some() {
            0
        } else {
            self.failures + 1
        };
        session
    }

    async fn open_session(&self) -> Option<String> {
        let stream = self.connect().await.ok()?;
        let mut connection = Connection::new(stream);
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{{}},"clientInfo":{{"name":"{}","version":"1"}}}}}}"#,
            "x".repeat(15 << 10)
        );
        let reply = connection.exchange(&self.request("", &body)).await.ok()?;
        let session = reply.head.session?;
        let headers = session_header(&session);
        let initialized = self.request(&headers, INITIALIZED);
        connection.exchange(&initialized).await.ok()?;
        Some(session)
    }

    fn request(&self, headers: &str, body: &str) -> Vec<u8> {
        format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n\
             {headers}content-length: {}\r\n\r\n{body}",
            self.host,
            body.len()
        )
        .into_bytes()
    }
}

fn session_header(session: &str) -> String {
    format!("mcp-session-id: {session}\r\nmcp-protocol-version: 2025-11-25\r\n")
}

fn call(tool: &str, count: usize) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{{"count":{count}}}}}}}"#
    )
}

pub(super) async fn run(options: &Options) -> Result<(), Fault> {
    let addresses = options.number("--addresses", 20)?;
    let addresses = u8::try_from(addresses)?.clamp(1, 100);
    let budget = options.value("--memory");
    let bridge = options.value("--mcp");
    let (server, host) = match bridge {
        Some(program) => {
            let own = own()?;
            let args = ["bridge", "--listen", "127.0.0.1:0", "--", &own, "server"];
            Process::serving(program, &args).await?
        }
        None => {
            let mut args = vec!["127.0.0.1:0"];
            args.extend(budget.map(|_| "--memory"));
            args.extend(budget);
            Process::server(&args).await?
        }
    };
    let mib = |name| Ok::<_, Fault>(memory(server.id(), name)? as f64 / 1_024.0);
    let idle_mib = mib("VmRSS")?;
    let mut attackers: Vec<Attacker> = (1..=addresses)
        .map(|last| Attacker {
            source: Ipv4Addr::new(127, 0, 1, last),
            host: host.clone(),
            held: Vec::new(),
            failures: 0,
        })
        .collect();
    let mut steps = Vec::new();
    for name in [
        "stored events",
        "unread responses",
        "unfinished bodies",
        "waiting calls",
        "sessions and subscriptions",
        "unfinished heads",
    ] {
        for attacker in &mut attackers {
            attacker.failures = 0;
            match name {
                "stored events" => events(attacker).await,
                "unread responses" => responses(attacker).await,
                "unfinished bodies" => bodies(attacker).await,
                "waiting calls" => waiting(attacker).await,
                "sessions and subscriptions" => sessions(attacker).await,
                _ => heads(attacker, IDLE / usize::from(addresses)).await,
            }
        }
        sleep(SETTLE).await;
        steps.push((name, mib("VmRSS")?));
        eprintln!("{:?}", steps.last());
    }
    let figures = Figures {
        budget: budget.map(str::parse).transpose()?,
        is_bridge: bridge.is_some(),
        addresses,
        idle_mib,
        steps,
        peak_mib: mib("VmHWM")?,
    };
    print(&figures)
}

/// Each call sends 4 MiB of log messages, which are stored for a client that may resume.
async fn events(attacker: &mut Attacker) {
    for _ in 0..LARGE {
        if let Some(session) = attacker.session().await {
            let headers = session_header(&session);
            for _ in 0..3 {
                let body = call("flood", 128);
                attacker.send(&headers, body.len(), &body).await;
            }
        }
    }
}

async fn responses(attacker: &mut Attacker) {
    if let Some(session) = attacker.session().await {
        let headers = session_header(&session);
        for _ in 0..LARGE {
            let body = call("big", (4 << 20) - 200);
            attacker.send(&headers, body.len(), &body).await;
        }
    }
}

async fn bodies(attacker: &mut Attacker) {
    for length in [4 << 20, 1 << 20] {
        let body = " ".repeat(length - 1);
        for _ in 0..LARGE {
            attacker.send("", length, &body).await;
        }
    }
}

/// Calls that do not end, with arguments that need much more memory than their text.
async fn waiting(attacker: &mut Attacker) {
    let objects = vec![r#"{"a":1}"#; 500].join(",");
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"wait","arguments":{{"objects":[{objects}]}}}}}}"#
    );
    for _ in 0..WAITING / WAITING_PER_SESSION {
        if let Some(session) = attacker.session().await {
            let headers = session_header(&session);
            for _ in 0..WAITING_PER_SESSION {
                attacker.send(&headers, body.len(), &body).await;
            }
        }
    }
}

/// Sessions, each with a subscription to many URIs.
async fn sessions(attacker: &mut Attacker) {
    for number in 0..SMALL {
        if let Some(session) = attacker.session().await {
            let headers = session_header(&session);
            let mut requests = Vec::new();
            for part in 0..8 {
                let uri = format!("any:///{number}-{part}-{}", "x".repeat(7 << 10));
                let body = format!(
                    r#"{{"jsonrpc":"2.0","id":{part},"method":"resources/subscribe","params":{{"uri":"{uri}"}}}}"#
                );
                requests.extend(attacker.request(&headers, &body));
            }
            if let Ok(mut stream) = attacker.connect().await {
                // The server may close the connection.
                let _ = timeout(STEP, stream.write_all(&requests)).await;
                attacker.held.push(stream);
            }
        }
    }
}

/// Connections with a head that never ends.
async fn heads(attacker: &mut Attacker, connections: usize) {
    let mut head = String::from("POST /mcp HTTP/1.1\r\n");
    for number in 0..60 {
        // Writing to memory does not fail.
        let _ = write!(head, "x-{number}: {}\r\n", "y".repeat(64));
    }
    for _ in 0..connections {
        if attacker.failures >= ATTEMPTS {
            return;
        }
        attacker.failures += 1;
        if let Ok(mut stream) = attacker.connect().await {
            let sent = timeout(STEP, stream.write_all(head.as_bytes())).await;
            if sent.is_ok() {
                attacker.failures = 0;
            }
            attacker.held.push(stream);
        }
    }
}
