//! A gateway that a test starts, and requests to it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

pub(crate) fn mcp(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp"));
    command.args(words).stdin(Stdio::null()).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

pub(crate) fn calc() -> String {
    example("calc")
}

/// An example, which cargo builds beside the tests.
pub(crate) fn example(name: &str) -> String {
    let test = std::env::current_exe().unwrap();
    let built = test.parent().unwrap().parent().unwrap();
    built
        .join("examples")
        .join(name)
        .to_str()
        .unwrap()
        .to_owned()
}

/// A configuration file of this test.
pub(crate) fn file(name: &str) -> PathBuf {
    let process = std::process::id();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("serve-{name}-{process}"));
    std::fs::create_dir_all(&folder).unwrap();
    folder.join("gateway.json")
}

pub(crate) fn write(file: &Path, servers: &Value, mut gateway: Value) {
    gateway["listen"] = json!("127.0.0.1:0");
    let config = json!({ "mcpServers": servers, "gateway": gateway });
    std::fs::write(file, config.to_string()).unwrap();
}

/// Maximum time to wait for the next line of stderr.
const LINE_TIMEOUT: Duration = Duration::from_secs(60);

/// The lines of stderr. They end when the gateway ends, or if it writes nothing for a minute.
pub(crate) struct Log(Receiver<std::io::Result<String>>);

impl Log {
    fn new(stderr: ChildStderr) -> Self {
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            let mut lines = BufReader::new(stderr).lines();
            lines.try_for_each(|line| sender.send(line))
        });
        Self(receiver)
    }
}

impl Iterator for Log {
    type Item = std::io::Result<String>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.recv_timeout(LINE_TIMEOUT).ok()
    }
}

/// A running gateway; ended when dropped.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) out: std::io::Lines<BufReader<ChildStdout>>,
    pub(crate) log: Log,
}

impl Running {
    pub(crate) fn start(file: &Path) -> Self {
        Self::with(file, &[])
    }

    /// Starts a gateway with these environment variables.
    pub(crate) fn with(file: &Path, variables: &[(&str, &str)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcp"));
        command.arg("serve").arg(file);
        command.envs(variables.iter().copied());
        Self::spawn(command)
    }

    /// Starts a gateway in a shell, after a command of the shell.
    pub(crate) fn after(first: &str, file: &Path) -> Self {
        let mut command = Command::new("sh");
        let line = format!("{first}; exec \"$0\" \"$@\"");
        command.args(["-c", &line, env!("CARGO_BIN_EXE_mcp"), "serve"]);
        command.arg(file);
        Self::spawn(command)
    }

    fn spawn(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap()).lines();
        let log = Log::new(child.stderr.take().unwrap());
        Self { child, out, log }
    }

    pub(crate) fn url(&mut self) -> String {
        self.out.next().unwrap().unwrap()
    }

    /// Reads stderr until a line with this text.
    pub(crate) fn logged(&mut self, part: &str) -> String {
        let lines = &mut self.log;
        let line = lines.map(Result::unwrap).find(|line| line.contains(part));
        line.unwrap_or_else(|| panic!("no line with {part:?}"))
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The process may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the status line of a GET request.
pub(crate) fn status(url: &str, path: &str) -> String {
    let response = get(url, path);
    response.lines().next().unwrap_or_default().to_owned()
}

/// Returns the response to a GET request.
pub(crate) fn get(url: &str, path: &str) -> String {
    exchange(url, &format!("GET {path}"), "")
}

/// Sends a request with this first line, and these header lines with the body; returns the response.
pub(crate) fn exchange(url: &str, line: &str, rest: &str) -> String {
    let address = url.strip_prefix("http://").unwrap();
    let address = address.strip_suffix("/mcp").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let end = if rest.is_empty() { "\r\n" } else { rest };
    write!(
        stream,
        "{line} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{end}"
    )
    .unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

/// Calls the tool `one__ask` in the stateless revision, with these members in the params; returns the result.
pub(crate) fn ask(url: &str, members: Value) -> Value {
    let mut params = members;
    for (name, value) in call("one__ask", &json!({})).as_object().unwrap() {
        params[name] = value.clone();
    }
    let response = post(TOKEN.1, url, &params);
    let (_, body) = response.split_once("\r\n\r\n").unwrap();
    let answer: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("{response}"));
    assert!(answer["error"].is_null(), "{answer}");
    answer["result"].clone()
}

/// Sends a call of the stateless revision with these params and this token; returns the response.
pub(crate) fn post(token: &str, url: &str, params: &Value) -> String {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let message = message.to_string();
    let headers = [
        "content-type: application/json",
        "accept: application/json, text/event-stream",
        "mcp-protocol-version: 2026-07-28",
        "mcp-method: tools/call",
        &format!("mcp-name: {}", params["name"].as_str().unwrap()),
        &format!("authorization: Bearer {token}"),
        &format!("content-length: {}", message.len()),
    ]
    .join("\r\n");
    exchange(url, "POST /mcp", &format!("{headers}\r\n\r\n{message}"))
}

/// An address with a free port, for a gateway that must know the address that it listens on.
pub(crate) fn chosen_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

pub(crate) const KEY: &str = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";
pub(crate) const TOKEN: (&str, &str) = ("MCP_GATEWAY_TOKEN", "9p4wJ0cY2mXqT7vLr3sZ");

/// Returns the params of a call of the stateless revision.
pub(crate) fn call(tool: &str, arguments: &Value) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
    });
    json!({ "name": tool, "arguments": arguments, "_meta": meta })
}
