//! The requests of the load generator, as bytes.

use std::fmt;
use std::io::Write as _;

/// Transport and revision of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// Lines, 2025-11-25.
    Stdio,
    /// Lines, 2026-07-28.
    StdioModern,
    /// POST in a session, 2025-11-25.
    Http,
    /// POST without a session, 2025-11-25.
    HttpStateless,
    /// POST, 2026-07-28.
    HttpModern,
}

impl Protocol {
    const NAMES: [(&'static str, Self); 5] = [
        ("stdio", Self::Stdio),
        ("stdio-modern", Self::StdioModern),
        ("http", Self::Http),
        ("http-stateless", Self::HttpStateless),
        ("http-modern", Self::HttpModern),
    ];

    /// Returns the protocol with this name on the command line.
    pub fn named(name: &str) -> Option<Self> {
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, wire)| *wire)
    }

    /// Returns whether the transport is HTTP.
    pub fn is_http(self) -> bool {
        matches!(self, Self::Http | Self::HttpStateless | Self::HttpModern)
    }

    /// Returns whether each request carries its metadata.
    pub fn is_stateless(self) -> bool {
        matches!(self, Self::StdioModern | Self::HttpModern)
    }

    /// The revision.
    pub fn revision(self) -> &'static str {
        if self.is_stateless() {
            "2026-07-28"
        } else {
            "2025-11-25"
        }
    }
}

/// The call that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Workload {
    /// A text of this many bytes, returned unchanged.
    Echo(usize),
    /// A text of this many bytes, requested by the number.
    Big(usize),
    /// This many notifications before the response.
    Steps(usize),
    /// Computing for this many microseconds.
    Work(usize),
    /// The list of tools, of this length.
    List(usize),
}

impl Workload {
    /// Parses the form on the command line, such as `echo:64`.
    pub fn named(text: &str) -> Option<Self> {
        let (name, number) = text.split_once(':')?;
        let number = number.parse().ok()?;
        match name {
            "echo" => Some(Self::Echo(number)),
            "big" => Some(Self::Big(number)),
            "steps" => Some(Self::Steps(number)),
            "work" => Some(Self::Work(number)),
            "list" => Some(Self::List(number)),
            _ => None,
        }
    }

    /// Returns the text of the result; a list has none.
    pub fn text(self) -> String {
        match self {
            Self::Echo(bytes) | Self::Big(bytes) => "x".repeat(bytes),
            Self::Steps(_) | Self::Work(_) => "done".to_owned(),
            Self::List(_) => String::new(),
        }
    }

    fn method(self) -> &'static str {
        match self {
            Self::List(_) => "tools/list",
            _ => "tools/call",
        }
    }

    fn tool(self) -> Option<&'static str> {
        match self {
            Self::Echo(_) => Some("echo"),
            Self::Big(_) => Some("big"),
            Self::Steps(_) => Some("steps"),
            Self::Work(_) => Some("work"),
            Self::List(_) => None,
        }
    }

    fn params(self, meta: &str) -> String {
        let arguments = match self {
            Self::Echo(_) => format!(r#"{{"message":"{}"}}"#, self.text()),
            Self::Big(bytes) => format!(r#"{{"bytes":{bytes}}}"#),
            Self::Steps(count) => format!(r#"{{"count":{count}}}"#),
            Self::Work(micros) => format!(r#"{{"micros":{micros}}}"#),
            Self::List(_) => return format!("{{{}}}", meta.trim_end_matches(',')),
        };
        let tool = self.tool().unwrap_or_default();
        format!(r#"{{{meta}"name":"{tool}","arguments":{arguments}}}"#)
    }
}

/// A request without its id.
#[derive(Clone, Debug)]
pub struct Requests {
    head: Option<Head>,
    rest: String,
}

/// The text before and after the content length.
#[derive(Clone, Debug)]
struct Head {
    before: String,
    after: String,
}

const OPEN: &str = r#"{"jsonrpc":"2.0","id":"#;

impl Requests {
    /// Creates the requests of one kind. `host` is the address of the server, with a path if that is not
    /// `/mcp`, and `session` the session id of the response to `initialize`.
    pub fn new(wire: Protocol, asked: Workload, host: &str, session: Option<&str>) -> Self {
        let progress = matches!(asked, Workload::Steps(_));
        let meta = meta(wire, progress);
        let rest = format!(
            r#","method":"{}","params":{}}}"#,
            asked.method(),
            asked.params(&meta)
        );
        let head = wire.is_http().then(|| {
            let mut head = Head::new(host);
            head.header("MCP-Protocol-Version", wire.revision());
            if let Some(session) = session {
                head.header("Mcp-Session-Id", session);
            }
            if wire.is_stateless() {
                head.header("Mcp-Method", asked.method());
                if let Some(tool) = asked.tool() {
                    head.header("Mcp-Name", tool);
                }
            }
            head
        });
        Self { head, rest }
    }

    /// Calls a tool with this text before its name, as gateways with several servers add it.
    #[must_use]
    pub fn with_tool_prefix(mut self, prefix: &str) -> Self {
        const NAME: &str = r#""name":""#;
        if let Some(at) = self.rest.rfind(NAME) {
            self.rest.insert_str(at + NAME.len(), prefix);
        }
        self
    }

    /// Appends the request with this id.
    pub fn write(&self, id: u64, out: &mut Vec<u8>) {
        if let Some(head) = &self.head {
            let digits = id.checked_ilog10().unwrap_or(0) as usize + 1;
            let length = OPEN.len() + digits + self.rest.len();
            head.write(length, out);
        }
        // Writing to memory does not fail.
        let _ = write!(out, "{OPEN}{id}{}", self.rest);
        if self.head.is_none() {
            out.push(b'\n');
        }
    }
}

/// Splits an address and the path of the endpoint; the default is `/mcp`.
pub fn address_and_path(host: &str) -> (&str, &str) {
    let end = host.find('/').unwrap_or(host.len());
    match host.split_at(end) {
        (address, "") => (address, "/mcp"),
        both => both,
    }
}

impl Head {
    fn new(host: &str) -> Self {
        let (host, path) = address_and_path(host);
        Self {
            before: format!(
                "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
                 Accept: application/json, text/event-stream\r\nContent-Length: "
            ),
            after: "\r\n".to_owned(),
        }
    }

    fn header(&mut self, name: &str, value: impl fmt::Display) {
        self.after += &format!("{name}: {value}\r\n");
    }

    fn write(&self, length: usize, out: &mut Vec<u8>) {
        let _ = write!(out, "{}{length}{}\r\n", self.before, self.after);
    }
}

/// Returns the messages that open a session, in order. Only the first one has a response, which
/// contains the session id.
pub fn opening(wire: Protocol, host: &str, session: Option<&str>) -> [Vec<u8>; 2] {
    let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"load","version":"1"}}}"#;
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    [(initialize, None), (initialized, session)].map(|(body, session)| {
        let mut out = Vec::new();
        if wire.is_http() {
            let mut head = Head::new(host);
            if let Some(session) = session {
                head.header("MCP-Protocol-Version", wire.revision());
                head.header("Mcp-Session-Id", session);
            }
            head.write(body.len(), &mut out);
        }
        out.extend_from_slice(body.as_bytes());
        if !wire.is_http() {
            out.push(b'\n');
        }
        out
    })
}

/// A GET for the stream of a session.
pub fn listening(host: &str, session: &str) -> Vec<u8> {
    let (host, path) = address_and_path(host);
    format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept: text/event-stream\r\n\
         MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: {session}\r\n\r\n"
    )
    .into_bytes()
}

/// Returns the member `_meta` and a comma, or nothing if there is no metadata.
fn meta(wire: Protocol, progress: bool) -> String {
    let stateless = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"load","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}"#;
    let members: Vec<&str> = [
        wire.is_stateless().then_some(stateless),
        progress.then_some(r#""progressToken":"p""#),
    ]
    .into_iter()
    .flatten()
    .collect();
    if members.is_empty() {
        return String::new();
    }
    format!(r#""_meta":{{{}}},"#, members.join(","))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn written(requests: &Requests, id: u64) -> String {
        let mut out = Vec::new();
        requests.write(id, &mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn each_generated_line_is_one_request() {
        for (wire, asked) in [
            (Protocol::Stdio, Workload::Echo(3)),
            (Protocol::Stdio, Workload::List(1)),
            (Protocol::StdioModern, Workload::List(1)),
            (Protocol::StdioModern, Workload::Steps(2)),
        ] {
            let line = written(&Requests::new(wire, asked, "", None), 12);
            let (message, end) = line.split_at(line.len() - 1);
            assert_eq!(end, "\n");
            let message: Value = serde_json::from_str(message).expect("json");
            assert_eq!(message["id"], 12);
            let revision = &message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
            assert_eq!(revision == "2026-07-28", wire.is_stateless());
        }
    }

    #[test]
    fn a_request_uses_the_path_of_its_address_or_the_default_path() {
        let [request, _] = opening(Protocol::Http, "h:1/", None);
        assert!(request.starts_with(b"POST / HTTP/1.1\r\nHost: h:1\r\n"));
        let [request, _] = opening(Protocol::Http, "h:1", None);
        assert!(request.starts_with(b"POST /mcp HTTP/1.1\r\nHost: h:1\r\n"));
    }

    #[test]
    fn a_tool_prefix_is_written_before_the_name_of_the_tool() {
        let requests = Requests::new(Protocol::StdioModern, Workload::Echo(3), "", None);
        let line = written(&requests.with_tool_prefix("s/"), 1);
        let message: Value = serde_json::from_str(&line).expect("json");
        assert_eq!(message["params"]["name"], "s/echo");
    }

    #[test]
    fn content_length_is_the_length_of_the_body() {
        let requests = Requests::new(Protocol::HttpModern, Workload::Echo(64), "h:1", None);
        for id in [0, 9, 10, 12_345] {
            let request = written(&requests, id);
            let (head, body) = request.split_once("\r\n\r\n").expect("a head");
            let length = head
                .split("\r\n")
                .find_map(|line| line.strip_prefix("Content-Length: "))
                .expect("a length");
            assert_eq!(length.parse(), Ok(body.len()));
            assert!(head.contains("Mcp-Name: echo"), "{head}");
            serde_json::from_str::<Value>(body).expect("json");
        }
    }
}
