//! `mcp serve`, as an operator runs it.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

fn mcp(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp"));
    command.args(words).stdin(Stdio::null()).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// The example `calc`, which cargo builds beside the tests.
fn calc() -> String {
    let test = std::env::current_exe().unwrap();
    let built = test.parent().unwrap().parent().unwrap();
    built
        .join("examples")
        .join("calc")
        .to_str()
        .unwrap()
        .to_owned()
}

/// A configuration file of this test.
fn file(name: &str) -> PathBuf {
    let process = std::process::id();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("serve-{name}-{process}"));
    std::fs::create_dir_all(&folder).unwrap();
    folder.join("gateway.json")
}

fn write(file: &Path, servers: &Value, mut gateway: Value) {
    gateway["listen"] = json!("127.0.0.1:0");
    let config = json!({ "mcpServers": servers, "gateway": gateway });
    std::fs::write(file, config.to_string()).unwrap();
}

/// A running gateway; ended when dropped.
struct Running {
    child: Child,
    out: std::io::Lines<BufReader<ChildStdout>>,
    log: std::io::Lines<BufReader<ChildStderr>>,
}

impl Running {
    fn start(file: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_mcp"))
            .arg("serve")
            .arg(file)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap()).lines();
        let log = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { child, out, log }
    }

    fn url(&mut self) -> String {
        self.out.next().unwrap().unwrap()
    }

    /// Reads stderr until a line with this text.
    fn logged(&mut self, part: &str) -> String {
        let lines = &mut self.log;
        let line = lines.map(Result::unwrap).find(|line| line.contains(part));
        line.unwrap_or_else(|| panic!("no line with {part:?}"))
    }

    fn signal(&self, name: &str) {
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
fn status(url: &str, path: &str) -> String {
    let response = get(url, path);
    response.lines().next().unwrap_or_default().to_owned()
}

/// Returns the response to a GET request.
fn get(url: &str, path: &str) -> String {
    let address = url.strip_prefix("http://").unwrap();
    let address = address.strip_suffix("/mcp").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"
    )
    .unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

#[test]
fn servers_of_a_file_are_served_and_reloaded() {
    let (calc, file) = (calc(), file("reload"));
    let one = json!({ "one": { "command": calc } });
    write(&file, &one, json!({}));
    let mut gateway = Running::start(&file);
    let url = gateway.url();
    let add = |tool: &str| mcp(&["call", &url, tool, "a=2", "b=3"]);
    let called = add("one__add");
    assert_eq!(text(&called.stdout), "5\n", "{}", text(&called.stderr));
    assert!(!add("two__add").status.success());

    let two = json!({ "one": { "command": calc }, "two": { "command": calc } });
    let tools = json!({ "add": { "rename": "plus", "arguments": { "b": 10 } } });
    write(
        &file,
        &two,
        json!({ "servers": { "two": { "tools": tools } } }),
    );
    gateway.signal("HUP");
    gateway.logged("reloaded");
    let called = mcp(&["call", &url, "two__plus", "a=2"]);
    assert_eq!(text(&called.stdout), "12\n", "{}", text(&called.stderr));
    assert_eq!(text(&add("one__add").stdout), "5\n");

    // A file with an error changes nothing.
    std::fs::write(&file, r#"{"mcpServers":{},"gateway":{"servrs":{}}}"#).unwrap();
    gateway.signal("HUP");
    let line = gateway.logged("former configuration stays");
    assert!(
        line.contains("servrs") && line.contains("/gateway"),
        "{line}"
    );
    assert_eq!(text(&add("one__add").stdout), "5\n");

    write(&file, &one, json!({}));
    gateway.signal("HUP");
    gateway.logged("reloaded");
    assert!(!mcp(&["call", &url, "two__plus", "a=2"]).status.success());
    assert_eq!(text(&add("one__add").stdout), "5\n");

    gateway.signal("TERM");
    assert!(gateway.child.wait().unwrap().success());
}

#[test]
fn health_checks_say_whether_required_servers_are_connected() {
    let (calc, file) = (calc(), file("health"));
    let servers =
        json!({ "calc": { "command": calc }, "broken": { "command": "/no/such/program" } });
    write(&file, &servers, json!({}));
    let mut gateway = Running::start(&file);
    let url = gateway.url();
    for (path, expected) in [
        ("/healthz", "200"),
        ("/readyz", "200"),
        ("/other", "404"),
        ("/readyz/", "404"),
    ] {
        let status = status(&url, path);
        assert!(status.contains(expected), "{path}: {status}");
    }
    // The other server is listed.
    let listed = mcp(&["list", &url]);
    assert!(text(&listed.stdout).starts_with("calc__add"), "{listed:?}");
    drop(gateway);
    write(
        &file,
        &servers,
        json!({ "servers": { "broken": { "required": true } } }),
    );
    let mut gateway = Running::start(&file);
    let url = gateway.url();
    assert!(status(&url, "/healthz").contains("200"));
    assert!(status(&url, "/readyz").contains("503"));
    gateway.logged("broken: ");
}

#[test]
fn a_file_is_checked_without_starting() {
    let file = file("check");
    let path = file.to_str().unwrap();
    // This program is not started.
    write(
        &file,
        &json!({ "a": { "command": "/no/such/program" } }),
        json!({}),
    );
    let checked = mcp(&["serve", path, "--check"]);
    assert!(checked.status.success(), "{}", text(&checked.stderr));
    write(
        &file,
        &json!({ "a": { "command": "a", "urll": "b" } }),
        json!({}),
    );
    let checked = mcp(&["serve", path, "--check"]);
    assert_eq!(checked.status.code(), Some(1));
    let error = text(&checked.stderr);
    assert!(error.contains("urll") && error.contains(path), "{error}");
    let missing = mcp(&["serve", "/no/such/file.json"]);
    assert_eq!(missing.status.code(), Some(1));
    // An address that others can reach needs a URL, and with it a token.
    let open = json!({ "mcpServers": {}, "gateway": { "listen": "0.0.0.0:0" } });
    std::fs::write(&file, open.to_string()).unwrap();
    let refused = mcp(&["serve", path]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("publicUrl"), "{refused:?}");
}

/// A host that only starts programs can use a gateway too.
#[test]
fn a_gateway_is_served_over_stdio() {
    let file = file("stdio");
    write(&file, &json!({ "one": { "command": calc() } }), json!({}));
    let gateway = [env!("CARGO_BIN_EXE_mcp"), "serve", file.to_str().unwrap()];
    let mut words = vec!["call", "one__add", "a=2", "b=3", "--"];
    words.extend(gateway);
    words.push("--stdio");
    let called = mcp(&words);
    assert_eq!(text(&called.stdout), "5\n", "{}", text(&called.stderr));
}

#[test]
fn clients_need_a_token_of_the_authorization_server_of_the_file() {
    let (calc, file) = (calc(), file("auth"));
    // The gateway must be reached at the address that it listens on, so the port is chosen here.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let config = json!({
        "mcpServers": { "one": { "command": calc } },
        "gateway": {
            "listen": address.to_string(),
            "publicUrl": format!("http://{address}/mcp"),
            "auth": { "issuer": "https://login.example.com", "scopes": ["tools"] },
        }
    });
    std::fs::write(&file, config.to_string()).unwrap();
    let mut gateway = Running::start(&file);
    let url = gateway.url();
    let refused = get(&url, "/mcp").to_lowercase();
    assert!(refused.starts_with("http/1.1 401 "), "{refused}");
    assert!(refused.contains("scope=\"tools\""), "{refused}");
    let metadata = get(&url, "/.well-known/oauth-protected-resource/mcp");
    assert!(metadata.contains("https://login.example.com"), "{metadata}");
}
