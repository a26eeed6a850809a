//! `mcp watch` while its server is lost, and without further changes.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

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

/// Returns the lines of stderr. They end if a line does not arrive within a minute.
fn lines_of(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let stderr = child.stderr.take().unwrap();
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        let mut lines = BufReader::new(stderr).lines();
        lines.try_for_each(|line| sender.send(line.unwrap()))
    });
    std::iter::from_fn(move || lines.recv_timeout(Duration::from_secs(60)).ok())
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
        let mut lines = lines_of(&mut child);
        let mut next = |start: &str| {
            let found = lines.find(|line| line.starts_with(start));
            found.unwrap_or_else(|| panic!("no line that starts with {start:?}"))
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

/// A server that ends the first stream of changes, and refuses the next ones. It ends at the fourth check whether it responds, which
/// limits the time of the test.
#[cfg(unix)]
const REFUSING: &str = r#"
checks=0
listened=
while read -r line; do
  id=$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
  meta='{"io.modelcontextprotocol/subscriptionId":'$id'}'
  case "$line" in
    *'"server/discover"'*)
      checks=$((checks + 1))
      test "$checks" -lt 4 || exit
      answer '{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}' ;;
    *'"subscriptions/listen"'*)
      if test -z "$listened"; then
        listened=yes
        printf '{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":%s}}\n' "$meta"
        answer '{"resultType":"complete","_meta":'$meta'}'
      else
        printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no more streams"}}\n' "$id"
      fi ;;
    *'"id"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
  esac
done"#;

#[cfg(unix)]
#[test]
fn watch_reports_that_the_server_refuses_to_send_further_changes() {
    let words = [
        "watch",
        "--revision",
        "stateless",
        "--",
        "sh",
        "-c",
        REFUSING,
    ];
    let mut child = Command::new(env!("CARGO_BIN_EXE_mcp"))
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = lines_of(&mut child);
    let start = "warning: changes of lists and resources are no longer received: ";
    let warning = lines.find_map(|line| line.strip_prefix(start).map(str::to_owned));
    assert!(warning.unwrap().contains("no more streams"));
    child.kill().unwrap();
    child.wait().unwrap();
}
