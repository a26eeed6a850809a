//! T11: short text that needs much memory, measured from outside the server process.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bytes::Bytes;
use mcp_tests::tcp::{Conn, Session};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

const PROGRAM: &str = env!("CARGO_BIN_EXE_attacked-server");

/// A server process that is ended with the test.
pub(super) struct Process {
    child: Child,
    pub(super) address: String,
}

impl Process {
    pub(super) fn start() -> Self {
        // Returns freed memory at once. By default glibc keeps such blocks, and they cannot be
        // told apart from memory that the server uses.
        let mut command = Command::new(PROGRAM);
        command.env("MALLOC_MMAP_THRESHOLD_", "131072");
        Self::spawn(command)
    }

    /// Starts a server that can open only this number of files.
    pub(super) fn with_files(files: usize) -> Self {
        let mut command = Command::new("sh");
        let limited = format!("ulimit -n {files}; exec \"$0\" \"$@\"");
        command.args(["-c", &limited, PROGRAM]);
        Self::spawn(command)
    }

    /// Starts a server with the default settings of the allocator. Each thread parses one message at a time, which takes up to 16 MiB, so
    /// the number of threads does not depend on the machine.
    pub(super) fn with_default_allocator() -> Self {
        let mut command = Command::new(PROGRAM);
        command.env("TOKIO_WORKER_THREADS", "2");
        Self::spawn(command)
    }

    fn spawn(mut command: Command) -> Self {
        let mut child = command
            .arg("127.0.0.1:0")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut url).unwrap();
        let address = url.trim().strip_prefix("http://").unwrap();
        let address = address.strip_suffix("/mcp").unwrap().to_owned();
        Self { child, address }
    }

    /// Connects from the local address `127.0.1.{from}`.
    pub(super) async fn connect_from(&self, from: u8) -> Conn {
        Conn::new(self.stream_from(from, None).await)
    }

    /// Connects from the local address `127.0.1.{from}`, with a small receive buffer, so that little of each unread response is taken.
    pub(super) async fn narrow_from(&self, from: u8) -> Conn {
        Conn::new(self.stream_from(from, Some(4 << 10)).await)
    }

    async fn stream_from(&self, from: u8, buffer: Option<u32>) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        if let Some(bytes) = buffer {
            socket.set_recv_buffer_size(bytes).unwrap();
        }
        socket.bind(([127, 0, 1, from], 0).into()).unwrap();
        socket.connect(self.address.parse().unwrap()).await.unwrap()
    }

    pub(super) async fn connect(&self) -> Conn {
        Conn::new(TcpStream::connect(&self.address).await.unwrap())
    }

    /// Asserts that the process has used at most 256 MiB, and that it serves a client at another address.
    pub(super) async fn survives(&self) {
        let peak = self.peak() >> 20;
        assert!(peak < 256, "{peak} MiB");
        self.serves(255).await;
    }

    /// Asserts that a client at the local address `127.0.1.{from}` is served within 30 s. The limit is high because debug builds run on
    /// busy machines; `docs/reliability.md` has measured times.
    pub(super) async fn serves(&self, from: u8) {
        let served = async {
            let mut conn = self.connect_from(from).await;
            let session = Session::open(&mut conn).await;
            healthy(&mut conn, &session).await;
        };
        timeout(Duration::from_secs(30), served)
            .await
            .expect("a response");
    }

    /// The peak memory in bytes.
    pub(super) fn peak(&self) -> usize {
        let status = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(status).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib: usize = line.unwrap().trim_end_matches("kB").trim().parse().unwrap();
        kib << 10
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

use super::healthy;

const BODY: usize = 4 << 20;
const PARALLEL: usize = 64;

/// As many small objects as fit.
pub(super) fn objects(bytes: usize) -> String {
    let object = "{\"a\":1},";
    let objects = object.repeat(bytes / object.len());
    format!("[{}]", objects.trim_end_matches(','))
}

// 64 parallel bodies of 4 MiB with half a million objects each, as body and as arguments: all are
// rejected, none is built, and the server uses little more memory than its limit on bodies.
#[tokio::test]
async fn t11_little_text_does_not_become_much_memory() {
    let server = Process::start();
    let session = Session::open(&mut server.connect().await).await;
    let before = server.peak();
    let call = |arguments: &str| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\
             \"echo\",\"arguments\":{{\"message\":{arguments}}}}}}}"
        )
    };
    let bodies = [objects(BODY - 8), call(&objects(BODY - 256))];
    for body in bodies {
        let request = Bytes::from(session.post(body).bytes());
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..PARALLEL {
            let (mut conn, request) = (server.connect().await, request.clone());
            calls.spawn(async move {
                // A body rejected for lack of capacity may not be read completely.
                let _ = conn.try_send(request).await;
                let said = conn.try_head().await;
                said.map(|answer| answer.status)
            });
        }
        while let Some(status) = calls.join_next().await {
            let status = status.unwrap();
            // On a busy machine, a body can arrive too slowly.
            let is_rejected = matches!(status, None | Some(400 | 408 | 503));
            assert!(is_rejected, "{status:?}");
        }
    }
    let grown = server.peak() - before;
    assert!(grown < 160 << 20, "{} MiB", grown >> 20);
    server.survives().await;
}
