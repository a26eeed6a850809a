//! `mcp watch` while its server is lost.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use mcp_server::{Server, Tool};
use mcp_transport_http::{Endpoint, serve_with};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// Serves at an address until the runtime is dropped, which closes all connections. Returns the address.
fn serve(at: SocketAddr) -> (Runtime, SocketAddr) {
    let runtime = Runtime::new().unwrap();
    let listener = runtime.block_on(TcpListener::bind(at)).unwrap();
    let address = listener.local_addr().unwrap();
    let server = Server::builder("watched", "1").tool(Tool::new("t", async || "x"));
    let endpoint = Endpoint::new(server.build().unwrap()).unwrap();
    runtime.spawn(serve_with(listener, endpoint, std::future::pending()));
    (runtime, address)
}

#[test]
fn watch_reports_when_the_server_is_lost_and_when_it_responds_again() {
    for revision in ["sessions", "stateless"] {
        let (first, address) = serve("127.0.0.1:0".parse().unwrap());
        let url = format!("http://{address}/mcp");
        let mut child = Command::new(env!("CARGO_BIN_EXE_mcp"))
            .args(["watch", &url, "--revision", revision])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut next = |start: &str| {
            let found = lines.find(|line| line.as_ref().unwrap().starts_with(start));
            found.unwrap().unwrap()
        };
        next("watching");
        drop(first);
        let lost = next("warning: the server does not respond");
        assert!(!lost.contains("::"), "{lost}");
        let (second, _) = serve(address);
        next("note: the server responds again");
        child.kill().unwrap();
        child.wait().unwrap();
        drop(second);
    }
}
