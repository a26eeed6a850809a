//! A scripted HTTP client that calls an [`Endpoint`] directly. There is no socket, so tests can
//! pause the time and see every byte of a response.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body::Body as _;
use mcp_protocol::http_headers;
use mcp_transport_http::{Body, Endpoint, LegacyEndpoint, PeerAddr, RequestBody};
use mcp_types::{CLIENT_CAPABILITIES_KEY, CLIENT_INFO_KEY, PROTOCOL_VERSION_KEY};
use serde_json::{Value, json};
use tower_service::Service as _;

/// Sends a request to the two endpoints of 2024-11-05.
pub async fn send_legacy(
    legacy: &LegacyEndpoint,
    method: Method,
    uri: &str,
    body: impl Into<Bytes>,
    principal: Option<&str>,
) -> Reply {
    let mut request = Request::builder()
        .method(method)
        .uri(uri)
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "text/event-stream")
        .body(RequestBody::new(body))
        .expect("a request");
    if let Some(principal) = principal {
        let principal = mcp_protocol::Principal::new(principal);
        request.extensions_mut().insert(principal);
    }
    let Ok(response) = legacy.clone().call(request).await;
    Reply::new(response)
}

/// One client of an endpoint: its session, and the headers it sends.
#[derive(Debug, Clone)]
pub struct Peer {
    endpoint: Endpoint,
    /// Sent with every request.
    pub headers: HeaderMap,
    /// The principal in the extensions of every request.
    pub principal: Option<mcp_protocol::Principal>,
    /// The scopes in the extensions of every request.
    pub scopes: Option<&'static str>,
    /// The address in the extensions of every request.
    pub address: Option<std::net::SocketAddr>,
}

impl Peer {
    /// Creates a client without a session.
    pub fn new(endpoint: &Endpoint) -> Self {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("host", "localhost"),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ] {
            headers.insert(name, value.parse().expect("a header value"));
        }
        Self {
            endpoint: endpoint.clone(),
            headers,
            principal: None,
            scopes: None,
            address: None,
        }
    }

    /// Returns the client with another value of a header, or without the header.
    #[must_use]
    pub fn with(&self, name: &'static str, value: Option<&str>) -> Self {
        let mut peer = self.clone();
        peer.headers.remove(name);
        if let Some(value) = value {
            let value = http::HeaderValue::from_bytes(value.as_bytes()).expect("a header value");
            peer.headers.insert(name, value);
        }
        peer
    }

    /// Returns the client with the same session at another endpoint.
    #[must_use]
    pub fn at(&self, endpoint: &Endpoint) -> Self {
        Self {
            endpoint: endpoint.clone(),
            ..self.clone()
        }
    }

    /// The session id, if there is one.
    pub fn session(&self) -> Option<&str> {
        self.headers.get("mcp-session-id")?.to_str().ok()
    }

    /// Sends any request.
    pub async fn send(&self, method: Method, body: impl Into<Bytes>) -> Reply {
        let mut request = Request::new(RequestBody::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = "/mcp".parse().expect("a path");
        *request.headers_mut() = self.headers.clone();
        if let Some(principal) = &self.principal {
            request.extensions_mut().insert(principal.clone());
        }
        if let Some(scopes) = self.scopes {
            let grant = mcp_protocol::Grant::new(scopes.split(' '));
            request.extensions_mut().insert(grant);
        }
        if let Some(address) = self.address {
            request.extensions_mut().insert(PeerAddr(address));
        }
        self.request(request).await
    }

    /// Sends a prepared request.
    pub async fn request(&self, request: Request<RequestBody>) -> Reply {
        let response = self.endpoint.clone().call(request).await;
        Reply::new(response.expect("an endpoint never fails"))
    }

    /// Sends one message by POST.
    pub async fn post(&self, message: Value) -> Reply {
        self.send(Method::POST, message.to_string()).await
    }

    /// Sends a request by POST.
    pub async fn call(&self, id: impl Into<Value>, method: &str, params: Value) -> Reply {
        let id = id.into();
        self.post(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await
    }

    /// Sends a request by POST; returns the response message.
    pub async fn ask(&self, method: &str, params: Value) -> Value {
        self.call("ask", method, params).await.answer().await
    }

    /// Calls a tool by POST.
    pub async fn tool(&self, id: impl Into<Value>, name: &str, arguments: Value) -> Reply {
        self.call(
            id,
            "tools/call",
            json!({"name": name, "arguments": arguments}),
        )
        .await
    }

    /// Opens or resumes a stream by GET.
    pub async fn get(&self, last: Option<&str>) -> Reply {
        let peer = self.with("last-event-id", last);
        peer.send(Method::GET, "").await
    }

    /// Ends the session.
    pub async fn delete(&self) -> Reply {
        self.send(Method::DELETE, "").await
    }

    /// Sends `initialize` and keeps the session id, without `notifications/initialized`.
    pub async fn initialize(&mut self, revision: &str, capabilities: Value) -> Reply {
        let client = json!({"name": "peer", "version": "0"});
        let params = json!({
            "protocolVersion": revision, "capabilities": capabilities, "clientInfo": client,
        });
        let reply = self.call(0, "initialize", params).await;
        if let Some(id) = reply.headers.get("mcp-session-id") {
            self.headers.insert("mcp-session-id", id.clone());
        }
        reply
    }

    /// Sends `initialize` as a new client.
    pub async fn begin(endpoint: &Endpoint) -> Reply {
        let mut peer = Self::new(endpoint);
        peer.initialize("2025-11-25", json!({})).await
    }

    /// Opens a session of this revision; returns the result of `initialize`.
    pub async fn handshake(&mut self, revision: &str, capabilities: Value) -> Value {
        let reply = self.initialize(revision, capabilities).await;
        assert_eq!(reply.status, StatusCode::OK);
        let mut answer = reply.answer().await;
        assert_eq!(answer["result"]["protocolVersion"], revision, "{answer}");
        if revision > "2025-03-26" {
            *self = self.with("mcp-protocol-version", Some(revision));
        }
        let opened = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let reply = self.post(opened).await;
        assert_eq!(reply.status, StatusCode::ACCEPTED);
        answer["result"].take()
    }

    /// Opens a session of this revision with these capabilities.
    pub async fn open_as(endpoint: &Endpoint, revision: &str, capabilities: Value) -> Self {
        let mut peer = Self::new(endpoint);
        peer.handshake(revision, capabilities).await;
        peer
    }

    /// Opens a session of 2025-11-25 with capabilities for all server requests.
    pub async fn open(endpoint: &Endpoint) -> Self {
        let capabilities = json!({"elicitation": {}, "sampling": {}, "roots": {}});
        Self::open_as(endpoint, "2025-11-25", capabilities).await
    }
}

/// A client of the stateless revision: each request carries its metadata, and its headers repeat
/// some of it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StatelessPeer {
    /// Its headers are sent with every request, unless the request determines them.
    pub peer: Peer,
    /// The `_meta` of every request.
    pub meta: Value,
}

impl StatelessPeer {
    /// Creates a client with capabilities for all input requests.
    pub fn new(endpoint: &Endpoint) -> Self {
        Self {
            peer: Peer::new(endpoint),
            meta: json!({
                PROTOCOL_VERSION_KEY: "2026-07-28",
                CLIENT_INFO_KEY: {"name": "peer", "version": "0"},
                CLIENT_CAPABILITIES_KEY: {"elicitation": {}, "sampling": {}, "roots": {}},
            }),
        }
    }

    /// Returns the client with another member of `_meta`.
    #[must_use]
    pub fn with_meta(&self, key: &str, value: impl Into<Value>) -> Self {
        let mut client = self.clone();
        client.meta[key] = value.into();
        client
    }

    /// Builds a request.
    pub fn request(&self, id: impl Into<Value>, method: &str, mut params: Value) -> Value {
        params["_meta"] = self.meta.clone();
        json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
    }

    /// Returns a client with the headers that repeat values of `request`.
    pub fn mirroring(&self, request: &Value) -> Peer {
        let params = &request["params"];
        let method = request["method"].as_str();
        let name = match method.and_then(http_headers::name_member) {
            Some(member) => params[member].as_str().map(http_headers::encode),
            None => None,
        };
        let version = params["_meta"][PROTOCOL_VERSION_KEY].as_str();
        self.peer
            .with("mcp-protocol-version", version)
            .with("mcp-method", method)
            .with("mcp-name", name.as_deref())
    }

    /// Sends a request by POST.
    pub async fn call(&self, id: impl Into<Value>, method: &str, params: Value) -> Reply {
        let request = self.request(id, method, params);
        self.mirroring(&request).post(request).await
    }

    /// Calls a tool by POST.
    pub async fn tool(&self, id: impl Into<Value>, name: &str, arguments: Value) -> Reply {
        let params = json!({"name": name, "arguments": arguments});
        self.call(id, "tools/call", params).await
    }
}

/// A response, read piece by piece.
#[derive(Debug)]
pub struct Reply {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    body: Body,
    text: Vec<u8>,
    events: VecDeque<Event>,
}

/// One parsed event of a stream, without comments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// The `id` line.
    pub id: Option<String>,
    /// The `event` line.
    pub event: Option<String>,
    /// The `retry` line.
    pub retry: Option<String>,
    /// The `data` lines; `None` if there were none.
    pub data: Option<String>,
}

impl Event {
    /// The data as JSON.
    pub fn json(&self) -> Value {
        let data = self.data.as_deref().expect("an event with data");
        serde_json::from_str(data).expect("data that is JSON")
    }
}

impl Reply {
    /// Wraps the response of an endpoint.
    pub fn new(response: Response<Body>) -> Self {
        let (parts, body) = response.into_parts();
        Self {
            status: parts.status,
            headers: parts.headers,
            body,
            text: Vec::new(),
            events: VecDeque::new(),
        }
    }

    /// The media type, without parameters.
    pub fn kind(&self) -> &str {
        let kind = self.headers.get("content-type");
        kind.map_or("", |kind| kind.to_str().expect("text"))
    }

    /// The body itself.
    pub fn into_body(self) -> Body {
        self.body
    }

    /// Returns the next piece of the body, `None` at the end.
    pub async fn chunk(&mut self) -> Option<Bytes> {
        let frame = poll_fn(|cx| Pin::new(&mut self.body).poll_frame(cx)).await?;
        let Ok(frame) = frame;
        Some(frame.into_data().unwrap_or_default())
    }

    /// Reads the rest of the body.
    pub async fn text(mut self) -> String {
        let mut all = std::mem::take(&mut self.text);
        while let Some(chunk) = self.chunk().await {
            all.extend_from_slice(&chunk);
        }
        String::from_utf8(all).expect("UTF-8")
    }

    /// Reads the body as JSON.
    pub async fn json(self) -> Value {
        let text = self.text().await;
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text:?}"))
    }

    /// Reads the error of a response that must have this status and this code, and opens no session; returns the whole
    /// message.
    pub async fn refused(self, status: u16, code: i64) -> Value {
        assert_eq!(self.headers.get("mcp-session-id"), None);
        let found = self.status;
        let body = self.json().await;
        assert_eq!(found, status, "{body}");
        assert_eq!(body["error"]["code"], code, "{body}");
        body
    }

    /// Reads the response message: the JSON body, or the last event.
    pub async fn answer(mut self) -> Value {
        if self.kind() == "application/json" {
            return self.json().await;
        }
        let mut last = Value::Null;
        while let Some(event) = self.event().await {
            if event.data.as_deref().is_some_and(|data| !data.is_empty()) {
                last = event.json();
            }
        }
        last
    }

    /// Reads the text of the tool result in the body.
    pub async fn said(self) -> String {
        let answer = self.answer().await;
        let text = answer["result"]["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Reads the next event, `None` at the end.
    pub async fn event(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            let chunk = self.chunk().await?;
            self.text.extend_from_slice(&chunk);
            while let Some(end) = self.text.windows(2).position(|pair| pair == b"\n\n") {
                let block: Vec<u8> = self.text.drain(..end + 2).collect();
                let block = String::from_utf8(block).expect("UTF-8");
                self.events.extend(read_event(&block));
            }
        }
    }

    /// Reads the next event with a message.
    pub async fn message(&mut self) -> Option<Value> {
        loop {
            let event = self.event().await?;
            if event.data.as_deref().is_some_and(|data| !data.is_empty()) {
                return Some(event.json());
            }
        }
    }
}

fn read_event(block: &str) -> Option<Event> {
    let mut event = Event::default();
    let mut any = false;
    for line in block.lines().filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
        let field = match name {
            "id" => &mut event.id,
            "event" => &mut event.event,
            "retry" => &mut event.retry,
            "data" => &mut event.data,
            _ => continue,
        };
        any = true;
        *field = Some(value);
    }
    any.then_some(event)
}
