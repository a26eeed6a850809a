//! Whole clients against hostile servers: over a pipe, and over HTTP.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use mcp_client::{Client, ClientBuilder, Revision};
use mcp_transport_http::{ClientOptions, HttpTransport, RequestBody};
use mcp_transport_stdio::Pipe;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
use tower_service::Service;

const INITIALIZED: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{"subscribe":true},"logging":{}},"serverInfo":{"name":"s","version":"1"}}"#;
const TIMEOUT: Duration = Duration::from_secs(5);

fn client() -> ClientBuilder {
    Client::builder("fuzzed", "1").connect_timeout(TIMEOUT)
}

/// Uses the client as a host would. The errors depend on the input.
async fn use_client(client: &Client) {
    let calls = async {
        let _ = client.list_tools().await;
        let _ = client.call_tool("echo", json!({ "message": "a" })).await;
        let _ = client.read_resource("any:///a").await;
        let _ = client.list_prompts().await;
    };
    // The deadline also ends calls that a hostile server keeps alive.
    let _ = tokio::time::timeout(TIMEOUT, calls).await;
}

/// Lines of a server: each is sent after the client wrote a line. A line that begins with `=` is the result of the request
/// that the client sent last. The handshake succeeds if the first byte of the input is odd.
pub fn pipe(data: &[u8]) {
    let (first, data) = data.split_first().unwrap_or((&0, data));
    let (client_end, mut server_end) = duplex(1 << 16);
    let mut lines: Vec<Vec<u8>> = Vec::new();
    if first % 2 == 1 {
        lines.push(format!("={INITIALIZED}").into_bytes());
    }
    let sent = data.split(|byte| *byte == b'\n').take(32);
    lines.extend(sent.map(<[u8]>::to_vec));
    crate::run(async move {
        let hostile = tokio::spawn(async move {
            let mut read = vec![0; 1 << 14];
            for line in lines {
                let Ok(count @ 1..) = server_end.read(&mut read).await else {
                    break;
                };
                let line = match line.strip_prefix(b"=") {
                    Some(result) => response(last_id(&read[..count]), result),
                    None => line,
                };
                let written = server_end.write_all(&line).await.is_ok();
                if !written || server_end.write_all(b"\n").await.is_err() {
                    break;
                }
            }
        });
        let (read, write) = tokio::io::split(client_end);
        let builder = client().revision(Revision::V2025_11_25);
        if let Ok(client) = builder.connect(Pipe::new(read, write)).await {
            use_client(&client).await;
            // Closing reports how the connection ended, which depends on the input.
            let _ = client.close().await;
        }
        hostile.abort();
    });
}

fn last_id(text: &[u8]) -> &[u8] {
    let member = b"\"id\":";
    let at = text.windows(member.len()).rposition(|part| part == member);
    let digits = at.map_or(&text[..0], |at| &text[at + member.len()..]);
    let end = digits.iter().position(|byte| b",}".contains(byte));
    &digits[..end.unwrap_or(digits.len())]
}

fn response(id: &[u8], result: &[u8]) -> Vec<u8> {
    [
        b"{\"jsonrpc\":\"2.0\",\"id\":",
        id,
        b",\"result\":",
        result,
        b"}",
    ]
    .concat()
}

/// The response of each POST after the handshake: the first line is the content type, the rest the body.
pub fn sse(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n');
    let (kind, body) = data.split_at(end.unwrap_or(0));
    let hostile = Hostile {
        is_json: kind == b"json",
        body: Bytes::copy_from_slice(body.strip_prefix(b"\n").unwrap_or(body)),
    };
    crate::run(async {
        let options = ClientOptions::new().with_max_reconnects(2).with_max_total_reconnects(4);
        let transport = HttpTransport::new("http://localhost/mcp").expect("the URL is valid");
        let transport = transport.options(options).service(hostile);
        let builder = client().revision(Revision::V2025_11_25);
        if let Ok(client) = builder.connect(transport).await {
            use_client(&client).await;
            let _ = client.close().await;
        }
    });
}

#[derive(Clone)]
struct Hostile {
    is_json: bool,
    body: Bytes,
}

impl Service<Request<RequestBody>> for Hostile {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let message = request.body().as_bytes();
        let is_handshake = message.windows(12).any(|part| part == b"\"initialize\"");
        let (kind, body) = if is_handshake {
            let body = response(last_id(message), INITIALIZED.as_bytes());
            ("application/json", body.into())
        } else if self.is_json {
            ("application/json", self.body.clone())
        } else {
            ("text/event-stream", self.body.clone())
        };
        let mut answer = Response::new(Full::new(body));
        let kind = http::HeaderValue::from_static(kind);
        answer.headers_mut().insert("content-type", kind);
        ready(Ok(answer))
    }
}
