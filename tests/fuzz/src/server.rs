//! Whole servers: over a pipe, and over HTTP.

use std::convert::Infallible;
use std::sync::LazyLock;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use mcp_server::testing::TestClient;
use mcp_server::types::JsonObject;
use mcp_server::{
    Args, Ask, Ctx, LoggingLevel, Prompt, Resource, Server, ServerBuilder, StateKeys, TaskMode,
    Tool,
};
use mcp_transport_http::{Body, Endpoint, ServerOptions};
use mcp_transport_stdio::serve_io;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::io::sink;
use tower_service::Service;

#[derive(Deserialize, JsonSchema)]
struct Echo {
    message: String,
}

/// Sure?
#[derive(Deserialize, JsonSchema)]
struct Confirm {
    sure: bool,
}

fn server() -> ServerBuilder {
    let region = json!({ "type": "string", "x-mcp-header": "Region" });
    let regional = json!({ "type": "object", "properties": { "region": region } });
    Server::builder("fuzzed", "1.0.0")
        .tool(Tool::new("echo", |Args(echo): Args<Echo>, cx: Ctx| {
            cx.log(LoggingLevel::Error, "called");
            echo.message
        }))
        .tool(Tool::new("ask", |Ask(confirm): Ask<Confirm>| {
            confirm.sure.to_string()
        }))
        .tool(Tool::dynamic(
            "region",
            regional,
            |Args(arguments): Args<JsonObject>| format!("{arguments:?}"),
        ))
        .tool(Tool::new("later", || "done").task(TaskMode::Optional))
        .prompt(Prompt::new("greet", || "hello"))
        .resource(Resource::new("any:///{path}", "any", || "text"))
        .state_keys(StateKeys::new([7; 32]))
}

const STATELESS: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"f","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}"#;

/// Lines of a client. A line that begins with `-` is a request of 2026-07-28, with `+` one of a session, each as a method
/// and its params; other lines are sent unchanged. The session is open if the first byte of the input is odd.
pub fn pipe(data: &[u8]) {
    let (first, data) = data.split_first().unwrap_or((&0, data));
    let mut input = Vec::new();
    if first % 2 == 1 {
        input.extend_from_slice(
            br#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"f","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
"#,
        );
    }
    for (number, line) in data.split(|byte| *byte == b'\n').enumerate().take(32) {
        input.extend_from_slice(&expanded(number + 1, line));
        input.push(b'\n');
    }
    crate::run(async {
        // The end of the input ends the server; an invalid message does not.
        let served = serve_io(server(), &*input, sink()).await;
        assert!(served.is_ok(), "{served:?}");
    });
}

fn expanded(id: usize, line: &[u8]) -> Vec<u8> {
    let Some((kind @ (b'-' | b'+'), line)) = line.split_first() else {
        return line.to_vec();
    };
    let space = line.iter().position(|byte| *byte == b' ');
    let (name, params) = line.split_at(space.unwrap_or(line.len()));
    let mut out = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"").into_bytes();
    out.extend_from_slice(name);
    out.extend_from_slice(b"\",\"params\":{");
    out.extend_from_slice(params);
    if *kind == b'-' {
        if !params.trim_ascii().is_empty() {
            out.push(b',');
        }
        out.extend_from_slice(STATELESS.as_bytes());
    }
    out.extend_from_slice(b"}}");
    out
}

/// The `requestState` of a call. It is not encrypted with the key of the server, so the tool asks again or the call fails.
pub fn request_state(data: &[u8]) {
    static CLIENT: LazyLock<TestClient> = LazyLock::new(|| {
        TestClient::new(server()).answer(json!({ "elicitation": {} }), |_, _| {
            Ok(json!({ "action": "decline" }))
        })
    });
    let answers = json!({ "a": { "action": "accept", "content": { "sure": true } } });
    let params = json!({
        "name": "ask",
        "arguments": {},
        "requestState": String::from_utf8_lossy(data),
        "inputResponses": answers,
    });
    if let Ok(result) = crate::run(CLIENT.request("tools/call", params)) {
        assert_ne!(result["content"][0]["text"], "true", "{result}");
    }
}

/// Values of `Mcp-*` headers of a correct call: one line each, in this order.
pub fn http_headers(data: &[u8]) {
    const NAMES: [&str; 5] = [
        "mcp-param-region",
        "mcp-name",
        "mcp-method",
        "mcp-protocol-version",
        "mcp-session-id",
    ];
    let body = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"region\",\"arguments\":{{\"region\":\
         \"eu\"}},{STATELESS}}}}}"
    );
    let mut request = post(body.into());
    for (name, value) in NAMES.iter().zip(data.split(|byte| *byte == b'\n')) {
        if let Ok(value) = HeaderValue::from_bytes(value)
            && !value.is_empty()
        {
            request.headers_mut().insert(*name, value);
        }
    }
    let (status, body) = crate::run(async {
        let mut endpoint = endpoint();
        read(respond(&mut endpoint, request).await).await
    });
    if status == 200 && !body.is_empty() {
        // The call ran, so the header names the value that ran.
        let first = data.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let is_base64 = first.starts_with(b"=?base64?");
        assert!(is_base64 || first.trim_ascii() == b"eu", "{body:?}");
    }
}

/// Several requests to one endpoint, which are separated by a zero byte. The first line of each is a method, the next ones
/// are headers until an empty line, and the rest is the body.
pub fn http_endpoint(data: &[u8]) {
    crate::run(async {
        let mut endpoint = endpoint();
        let mut session = None;
        for part in data.split(|byte| *byte == 0).take(8) {
            let Some(mut request) = parsed(part) else {
                continue;
            };
            if let Some(session) = &session
                && !request.headers().contains_key("mcp-protocol-version")
            {
                request
                    .headers_mut()
                    .insert("mcp-session-id", HeaderValue::clone(session));
            }
            let is_stream = request.method() == Method::GET;
            let response = respond(&mut endpoint, request).await;
            assert!(!response.status().is_server_error() || response.status() == 503);
            let opened = response.headers().get("mcp-session-id").cloned();
            session = opened.or(session);
            // A stream of a session does not end.
            if !is_stream {
                read(response).await;
            }
        }
        endpoint.close().await;
    });
}

fn parsed(part: &[u8]) -> Option<Request<Full<Bytes>>> {
    let (method, mut rest) = line(part);
    let mut request = post(Bytes::new());
    *request.method_mut() = match method {
        b"" => Method::POST,
        method => Method::from_bytes(method).ok()?,
    };
    loop {
        let (header, after) = line(rest);
        rest = after;
        if header.is_empty() {
            break;
        }
        let colon = header.iter().position(|byte| *byte == b':')?;
        let (name, value) = header.split_at(colon);
        let name = HeaderName::from_bytes(name).ok()?;
        let value = HeaderValue::from_bytes(value[1..].trim_ascii()).ok()?;
        request.headers_mut().append(name, value);
    }
    *request.body_mut() = Full::new(Bytes::copy_from_slice(rest));
    Some(request)
}

fn line(text: &[u8]) -> (&[u8], &[u8]) {
    match text.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&text[..end], &text[end + 1..]),
        None => (text, &[]),
    }
}

fn endpoint() -> Endpoint {
    Endpoint::with_options(server(), ServerOptions::new()).expect("the server is valid")
}

fn post(body: Bytes) -> Request<Full<Bytes>> {
    Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .body(Full::new(body))
        .expect("the request is valid")
}

async fn respond(endpoint: &mut Endpoint, request: Request<Full<Bytes>>) -> Response<Body> {
    let response: Result<_, Infallible> = endpoint.call(request).await;
    response.unwrap_or_else(|never| match never {})
}

/// The status and the body, or what arrives of it within a minute of the paused clock.
async fn read(response: Response<Body>) -> (u16, Bytes) {
    let status = response.status().as_u16();
    let body = response.into_body().collect();
    let minute = std::time::Duration::from_secs(60);
    match tokio::time::timeout(minute, body).await {
        Ok(Ok(body)) => (status, body.to_bytes()),
        _ => (status, Bytes::new()),
    }
}
