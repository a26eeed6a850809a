//! Servers behind `mcp bridge` and `mcp serve` that restart and report the sessions of before as lost.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::convert::Infallible;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::pin::Pin;
use std::process::{Child, Command, Stdio};
use std::task::{Context, Poll};

use http::{Request, Response, StatusCode};
use mcp_client::{Client, Negotiation, Revision};
use mcp_server::{Server, Tool};
use mcp_transport_http::{Endpoint, HttpTransport, McpRoute, serve_layered};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tower_service::Service;

/// Answers requests of lost sessions with this status, as published servers do, instead of 404.
#[derive(Clone)]
struct Lost {
    inner: McpRoute,
    status: StatusCode,
}

impl<B> Service<Request<B>> for Lost
where
    McpRoute:
        Service<Request<B>, Response = Response<mcp_transport_http::Body>, Error = Infallible>,
    <McpRoute as Service<Request<B>>>::Future: Send + 'static,
{
    type Response = Response<mcp_transport_http::Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (status, response) = (self.status, self.inner.call(request));
        Box::pin(async move {
            let mut response = response.await?;
            if response.status() == StatusCode::NOT_FOUND {
                *response.status_mut() = status;
            }
            Ok(response)
        })
    }
}

/// Serves a session-based server until the runtime is dropped. Returns its address.
fn serve(at: SocketAddr, status: StatusCode) -> (Runtime, SocketAddr) {
    let runtime = Runtime::new().unwrap();
    let listener = runtime.block_on(TcpListener::bind(at)).unwrap();
    let address = listener.local_addr().unwrap();
    let server = Server::builder("restarting", "1")
        .revisions([Revision::LATEST_WITH_SESSIONS])
        .tool(Tool::new("t", async || "done"));
    let endpoint = Endpoint::new(server.build().unwrap()).unwrap();
    let layer = move |inner| Lost { inner, status };
    runtime.spawn(serve_layered(
        listener,
        endpoint,
        layer,
        std::future::pending(),
    ));
    (runtime, address)
}

/// A process, killed when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts `mcp` with these words. Returns the URL that it prints.
fn start(words: &[&str]) -> (Running, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_mcp"))
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    (Running(child), out.lines().next().unwrap().unwrap())
}

/// Calls the tool. Returns the error.
async fn call(client: &Client, tool: &str) -> Result<(), String> {
    let result = client.call_tool(tool, json!({})).await;
    let result = result.map_err(|error| error.to_string())?;
    assert_eq!(result.joined_text(), "done");
    Ok(())
}

fn recovers(words: &[&str], tool: &str, address: SocketAddr, first: Runtime, status: StatusCode) {
    let (_running, url) = start(words);
    let runtime = Runtime::new().unwrap();
    let connect = |negotiation| {
        let transport = HttpTransport::new(&url).unwrap();
        let builder = Client::builder("test", "1").negotiation(negotiation);
        runtime.block_on(builder.connect(transport)).unwrap()
    };
    let clients = [Negotiation::Stateless, Negotiation::SessionBased].map(connect);
    for client in &clients {
        runtime.block_on(call(client, tool)).unwrap();
    }
    drop(first);
    let (_second, _) = serve(address, status);
    for client in &clients {
        // The first call may find out; it is not repeated.
        if let Err(error) = runtime.block_on(call(client, tool)) {
            assert!(error.contains("call again"), "{status}: {error}");
        }
        runtime.block_on(call(client, tool)).unwrap();
    }
}

#[test]
fn bridge_and_serve_replace_a_session_that_the_server_has_lost() {
    for status in [404, 400, 410].map(|status| StatusCode::from_u16(status).unwrap()) {
        let any = "127.0.0.1:0".parse().unwrap();
        let (server, address) = serve(any, status);
        let url = format!("http://{address}/mcp");
        recovers(
            &["bridge", &url, "--listen", "127.0.0.1:0"],
            "t",
            address,
            server,
            status,
        );

        let (server, address) = serve(any, status);
        let url = format!("http://{address}/mcp");
        let file = format!(
            "{}/lost-{}.json",
            env!("CARGO_TARGET_TMPDIR"),
            std::process::id()
        );
        let config = json!({ "mcpServers": { "s": { "url": url } }, "gateway": { "listen": "127.0.0.1:0" } });
        std::fs::write(&file, config.to_string()).unwrap();
        recovers(&["serve", &file], "s__t", address, server, status);
    }
}
