//! `/healthz` and `/readyz` of `mcp serve`.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mcp_server::{Server, Tool};
use mcp_transport_http::{Endpoint, serve_with};
use serde_json::json;
use tokio::runtime::Runtime;

use super::support::*;

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
    let response = get(&url, "/readyz");
    assert!(response.starts_with("HTTP/1.1 503"), "{response}");
    assert!(
        response.ends_with("\r\n\r\nbroken: it is not connected\n"),
        "{response}"
    );
    gateway.logged("broken: ");
}

/// Serves at an address until the runtime is dropped, which closes all connections. Returns the address.
fn serve(at: SocketAddr) -> (Runtime, SocketAddr) {
    let runtime = Runtime::new().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind(at)).unwrap();
    let address = listener.local_addr().unwrap();
    let server = Server::builder("required", "1").tool(Tool::new("t", async || "x"));
    let endpoint = Endpoint::new(server.build().unwrap()).unwrap();
    runtime.spawn(serve_with(listener, endpoint, std::future::pending()));
    (runtime, address)
}

/// Waits until `/readyz` has this status, and returns the response.
fn ready_with(url: &str, status: &str) -> String {
    let start = Instant::now();
    loop {
        let response = get(url, "/readyz");
        if response.starts_with(&format!("HTTP/1.1 {status} ")) {
            return response;
        }
        assert!(start.elapsed() < Duration::from_secs(30), "{response}");
        // sleep: the result of a check is used for one second, and its end sends no event.
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// A load balancer sends requests only to gateways whose required servers respond.
#[test]
fn health_checks_name_a_required_server_from_its_end_to_its_restart() {
    let file = file("restarted");
    let (first, address) = serve("127.0.0.1:0".parse().unwrap());
    let servers = json!({ "far": { "url": format!("http://{address}/mcp") } });
    let required = json!({ "servers": { "far": { "required": true } } });
    write(&file, &servers, required);
    let mut gateway = Running::start(&file);
    let url = gateway.url();
    ready_with(&url, "200");
    drop(first);
    let response = ready_with(&url, "503");
    assert!(response.contains("\r\n\r\nfar: it "), "{response}");
    let (_second, _) = serve(address);
    ready_with(&url, "200");
}

/// A proxy between the gateway and the server answers `ping` itself, unless the gateway asks for the server behind it.
#[test]
fn a_required_server_is_checked_through_bridges_and_other_gateways() {
    let file = file("behind");
    for revision in ["2025-11-25", "2026-07-28"] {
        let (server, address) = serve("127.0.0.1:0".parse().unwrap());
        let far = format!("http://{address}/mcp");
        let bridge = json!({
            "command": env!("CARGO_BIN_EXE_mcp"),
            "args": ["bridge", far, "--stdio", "--revision", revision],
        });
        write(
            &file,
            &json!({ "bridge": bridge }),
            json!({ "servers": { "bridge": { "required": true } } }),
        );
        let mut inner = Running::start(&file);
        let inner_url = inner.url();
        write(
            &file,
            &json!({ "inner": { "url": inner_url } }),
            json!({ "servers": { "inner": { "required": true } } }),
        );
        let mut outer = Running::start(&file);
        let outer_url = outer.url();
        ready_with(&inner_url, "200");
        ready_with(&outer_url, "200");
        drop(server);
        let response = ready_with(&inner_url, "503");
        assert!(response.contains("bridge: it "), "{response}");
        let response = ready_with(&outer_url, "503");
        assert!(response.contains("inner: it "), "{response}");
        let (_server, _) = serve(address);
        ready_with(&inner_url, "200");
        ready_with(&outer_url, "200");
    }
}

/// A liveness probe restarts a gateway that does not respond within 30 s.
#[test]
fn a_server_that_hangs_delays_neither_health_checks_nor_other_servers() {
    let file = file("hangs");
    let hangs = json!({ "command": "sleep", "args": ["600"] });
    write(
        &file,
        &json!({ "calc": { "command": calc() }, "hangs": hangs }),
        json!({}),
    );
    let start = Instant::now();
    let mut gateway = Running::start(&file);
    let url = gateway.url();
    assert!(status(&url, "/healthz").contains("200"));
    let called = mcp(&["call", &url, "calc__add", "a=2", "b=3"]);
    assert_eq!(text(&called.stdout), "5\n", "{}", text(&called.stderr));
    // The first attempt to connect ends after 30 s.
    assert!(start.elapsed() < Duration::from_secs(28));
}
