//! The program of an example, and the clients of the tests.

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use mcp_sdk::client::{Client, ClientBuilder, ErrorObject, Negotiation};
use mcp_sdk::http::HttpTransport;
use mcp_sdk::stdio::{ChildProcess, Stderr};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::io::{BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// The deadline of each step, also on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// How a client opens its connection: on the session-based revisions, and on the stateless one.
pub(crate) const BOTH: [Negotiation; 2] = [Negotiation::SessionBased, Negotiation::Stateless];

/// Waits for `work` until the deadline.
pub(crate) async fn within<T>(work: impl IntoFuture<Output = T>) -> T {
    let done = timeout(LIMIT, work.into_future()).await;
    done.expect("the step took too long")
}

/// Returns the path of the program of an example.
pub(crate) fn path(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let target = test.parent().unwrap().parent().unwrap();
    let path = target
        .join("examples")
        .join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(
        path.exists(),
        "{} is missing: run cargo build --examples",
        path.display()
    );
    path
}

/// Returns a path for a file that the test writes and removes.
pub(crate) fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()))
}

/// A builder for a client with this negotiation.
pub(crate) fn client(negotiation: Negotiation) -> ClientBuilder {
    Client::builder("test", "1.0.0").negotiation(negotiation)
}

/// A transport that starts the example `name` as a host does.
pub(crate) fn child(name: &str) -> ChildProcess {
    ChildProcess::new(path(name))
}

/// The same, and the lines of its stderr.
pub(crate) fn child_with_stderr(name: &str) -> (ChildProcess, mpsc::Receiver<String>) {
    let (sender, lines) = mpsc::channel(64);
    let note = move |line: &str| drop(sender.try_send(line.to_owned()));
    (child(name).stderr(Stderr::Callback(Arc::new(note))), lines)
}

/// Calls a tool, and returns its result as JSON.
pub(crate) async fn call(client: &Client, tool: &str, arguments: Value) -> Value {
    let result = within(client.call_tool(tool, arguments)).await.unwrap();
    serde_json::to_value(result).unwrap()
}

/// Calls a tool, and returns the text of its result.
pub(crate) async fn text(client: &Client, tool: &str, arguments: Value) -> String {
    within(client.call_tool(tool, arguments))
        .await
        .unwrap()
        .joined_text()
}

/// Calls a tool that the server rejects.
pub(crate) async fn rejection(client: &Client, tool: &str, arguments: Value) -> ErrorObject {
    let error = within(client.call_tool(tool, arguments)).await.unwrap_err();
    error
        .rejection()
        .unwrap_or_else(|| panic!("{error}"))
        .clone()
}

/// An example that runs. It is killed when it is dropped.
pub(crate) struct Program {
    process: Child,
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: Output<ChildStdout>,
    pub(crate) stderr: Output<ChildStderr>,
}

impl Program {
    pub(crate) fn start(name: &str, args: &[&str]) -> Self {
        Self::start_with(name, args, &[])
    }

    /// Starts the example `name` with these arguments and environment variables.
    pub(crate) fn start_with(name: &str, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = Command::new(path(name));
        command
            .args(args)
            .envs(variables.iter().copied())
            .kill_on_drop(true);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        Self {
            stdin: process.stdin.take().unwrap(),
            stdout: Output::new(process.stdout.take().unwrap()),
            stderr: Output::new(process.stderr.take().unwrap()),
            process,
        }
    }

    /// Starts a server at a free port, and returns its URL.
    pub(crate) async fn serve(name: &str) -> (Self, String) {
        let mut program = Self::start(name, &["127.0.0.1:0"]);
        let url = program.url().await;
        (program, url)
    }

    /// Waits for the line with the URL of the server.
    pub(crate) async fn url(&mut self) -> String {
        let line = self.stderr.until("serving ").await;
        line.trim_start_matches("serving ").to_owned()
    }

    /// Sends SIGTERM.
    #[cfg(unix)]
    pub(crate) fn terminate(&self) {
        let id = self.process.id().unwrap().try_into().unwrap();
        let id = rustix::process::Pid::from_raw(id).unwrap();
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    }

    /// Waits for the end of the program.
    pub(crate) async fn ended(mut self) -> ExitStatus {
        drop(self.stdin);
        within(self.process.wait()).await.unwrap()
    }
}

/// The lines that a program prints.
pub(crate) struct Output<R> {
    lines: Lines<BufReader<R>>,
}

impl<R: AsyncRead + Unpin> Output<R> {
    fn new(stream: R) -> Self {
        Self {
            lines: BufReader::new(stream).lines(),
        }
    }

    /// Reads up to a line that contains `text`, and returns the line.
    pub(crate) async fn until(&mut self, text: &str) -> String {
        let mut before = String::new();
        while let Some(line) = within(self.lines.next_line()).await.unwrap() {
            if line.contains(text) {
                return line;
            }
            before += &line;
            before.push('\n');
        }
        panic!("the program ended before {text:?}: {before}");
    }

    /// Reads the remaining lines.
    pub(crate) async fn rest(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(line) = within(self.lines.next_line()).await.unwrap() {
            lines.push(line);
        }
        lines
    }
}

/// Connects to a server by its URL.
pub(crate) async fn connect(builder: ClientBuilder, url: &str) -> Client {
    within(builder.connect(HttpTransport::new(url).unwrap()))
        .await
        .unwrap()
}

/// Sends a GET request, and returns the whole response.
pub(crate) async fn get(url: &str) -> String {
    let (host, path) = url.trim_start_matches("http://").split_once('/').unwrap();
    let mut stream = within(TcpStream::connect(host)).await.unwrap();
    let request = format!("GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    within(stream.write_all(request.as_bytes())).await.unwrap();
    let mut response = String::new();
    within(stream.read_to_string(&mut response)).await.unwrap();
    response
}
