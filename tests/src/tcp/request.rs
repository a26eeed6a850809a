//! Requests as bytes, valid or not.

use serde_json::Value;

/// Returns the message that opens a session.
pub fn initialize() -> String {
    serde_json::json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": crate::wire::initialize_params("2025-11-25", serde_json::json!({})),
    })
    .to_string()
}

/// Returns a call of a tool with one text as its argument.
pub fn tool(id: impl Into<Value>, name: &str, message: &str) -> String {
    serde_json::json!({
        "jsonrpc": "2.0", "id": id.into(), "method": "tools/call",
        "params": {"name": name, "arguments": {"message": message}},
    })
    .to_string()
}

/// A request as bytes, valid or not.
#[derive(Debug, Clone)]
pub struct Request {
    line: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
}

impl Request {
    /// Creates a POST of this body with the headers of a client.
    pub fn post(body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        let length = body.len().to_string();
        let mut request = Self::of("POST /mcp HTTP/1.1")
            .with("content-type", "application/json")
            .with("content-length", length);
        request.body = body;
        request
    }

    /// Creates a GET of a stream.
    pub fn get() -> Self {
        Self::of("GET /mcp HTTP/1.1").with("accept", "text/event-stream")
    }

    fn of(line: &str) -> Self {
        let request = Self {
            line: line.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        };
        request
            .with("host", "localhost")
            .with("accept", "application/json, text/event-stream")
    }

    /// Replaces the first line.
    #[must_use]
    pub fn line(&self, line: &str) -> Self {
        let line = line.to_owned();
        Self {
            line,
            ..self.clone()
        }
    }

    /// Replaces the path.
    #[must_use]
    pub fn at(&self, path: &str) -> Self {
        let line = self.line.replacen("/mcp", path, 1);
        self.line(&line)
    }

    /// Sets a header in place of those with its name.
    #[must_use]
    pub fn with(&self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.without(name).and(name, value)
    }

    /// Adds a header.
    #[must_use]
    pub fn and(&self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let mut request = self.clone();
        let header = (name.to_owned(), value.as_ref().to_owned());
        request.headers.push(header);
        request
    }

    /// Removes the headers with this name.
    #[must_use]
    pub fn without(&self, name: &str) -> Self {
        let mut request = self.clone();
        request.headers.retain(|(it, _)| it != name);
        request
    }

    /// Replaces the body; an empty one is omitted.
    #[must_use]
    pub fn carrying(&self, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        let length = body.len().to_string();
        let mut request = self.with("content-length", length);
        request.body = body;
        request
    }

    /// Sends the body in chunks, without a content length.
    #[must_use]
    pub fn chunked(&self, piece: usize) -> Self {
        let mut body = Vec::new();
        for chunk in self.body.chunks(piece) {
            body.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            body.extend_from_slice(chunk);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(b"0\r\n\r\n");
        let mut request = self.without("content-length");
        request.body = body;
        request.with("transfer-encoding", "chunked")
    }

    /// The head alone.
    pub fn head(&self) -> Vec<u8> {
        let mut out = self.line.clone().into_bytes();
        out.extend_from_slice(b"\r\n");
        for (name, value) in &self.headers {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b": ");
            out.extend_from_slice(value);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"\r\n");
        out
    }

    /// Head and body.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = self.head();
        out.extend_from_slice(&self.body);
        out
    }
}
