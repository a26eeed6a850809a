//! Responses to requests, from bytes to bytes.

use std::borrow::Cow;

use bytes::Bytes;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::bench::Fault;
use crate::bench::server::{MOST_BYTES, MOST_STEPS};

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: &'a str,
    #[serde(borrow, default)]
    params: Params<'a>,
}

#[derive(Default, Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    arguments: Arguments<'a>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Meta<'a>,
}

#[derive(Default, Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    message: Option<Cow<'a, str>>,
    bytes: Option<usize>,
    count: Option<usize>,
}

#[derive(Default, Deserialize)]
struct Meta<'a> {
    #[serde(borrow, rename = "progressToken")]
    progress: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    revision: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientInfo")]
    client: Option<Client<'a>>,
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Client<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    version: Cow<'a, str>,
}

#[derive(Serialize)]
struct Response<'a> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    result: Text<'a>,
}

#[derive(Serialize)]
struct Text<'a> {
    content: [Block<'a>; 1],
    #[serde(rename = "resultType", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<ResultMeta>,
}

#[derive(Serialize)]
struct Block<'a> {
    r#type: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
struct ResultMeta {
    #[serde(rename = "io.modelcontextprotocol/serverInfo")]
    server: Server,
}

#[derive(Clone, Copy, Serialize)]
struct Server {
    name: &'static str,
    version: &'static str,
}

const SERVER: Server = Server {
    name: "bench",
    version: "1.0.0",
};

/// The reaction to one message.
#[derive(Debug)]
#[non_exhaustive]
pub enum Answer {
    /// No response, for a notification.
    None,
    /// The response to `initialize`, which may open a session.
    Opened(Vec<u8>),
    /// A response.
    One(Vec<u8>),
    /// A response in pieces with a constant middle.
    Ready([Bytes; 3]),
    /// Notifications followed by the response.
    Many(Vec<Vec<u8>>),
}

/// The prepared parts of the responses.
#[derive(Clone, Debug)]
pub struct Baseline {
    list: Bytes,
    stateless_list: Bytes,
}

impl Baseline {
    /// Prepares the tools of the measured server, and this many more.
    pub fn new(more: usize) -> Self {
        let tools = tools(more);
        let mut list = json!({ "tools": tools });
        let ready = |list: &Value| Bytes::from(list.to_string());
        let session_list = ready(&list);
        list["resultType"] = json!("complete");
        list["ttlMs"] = json!(0);
        list["cacheScope"] = json!("private");
        list["_meta"] = json!({ "io.modelcontextprotocol/serverInfo": SERVER });
        Self {
            list: session_list,
            stateless_list: ready(&list),
        }
    }

    /// Answers one message.
    ///
    /// # Errors
    /// The load does not send such a request.
    pub fn answer(&self, message: &[u8]) -> Result<Answer, Fault> {
        let request: Request<'_> = serde_json::from_slice(message)?;
        let Some(id) = request.id else {
            return Ok(Answer::None);
        };
        let is_stateless = request.params.meta.is_stateless()?;
        match request.method {
            "tools/call" => call(id, &request.params, is_stateless),
            "tools/list" => {
                let list = if is_stateless { &self.stateless_list } else { &self.list };
                let head = format!(r#"{{"jsonrpc":"2.0","id":{},"result":"#, id.get());
                let end = Bytes::from_static(b"}");
                Ok(Answer::Ready([Bytes::from(head), list.clone(), end]))
            }
            "initialize" => Ok(Answer::Opened(opened(id))),
            _ => Ok(Answer::One(
                format!(
                    r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":-32601,"message":"no such method"}}}}"#,
                    id.get()
                )
                .into_bytes(),
            )),
        }
    }
}

impl Meta<'_> {
    /// Checks that a request carries the metadata of 2026-07-28, if it has metadata.
    fn is_stateless(&self) -> Result<bool, Fault> {
        let Some(revision) = &self.revision else {
            return Ok(false);
        };
        let known = self
            .client
            .as_ref()
            .is_some_and(|client| !client.name.is_empty() && !client.version.is_empty());
        if revision == "2026-07-28" && known && self.capabilities.is_some() {
            return Ok(true);
        }
        Err("not a request of 2026-07-28".into())
    }
}

fn call(id: &RawValue, params: &Params<'_>, is_stateless: bool) -> Result<Answer, Fault> {
    let arguments = &params.arguments;
    match (params.name.as_deref(), arguments) {
        (
            Some("echo"),
            Arguments {
                message: Some(message),
                ..
            },
        ) => Ok(Answer::One(text(id, message, is_stateless)?)),
        (
            Some("big"),
            Arguments {
                bytes: Some(bytes), ..
            },
        ) => {
            let long = "x".repeat(*bytes.min(&MOST_BYTES));
            Ok(Answer::One(text(id, &long, is_stateless)?))
        }
        (
            Some("steps"),
            Arguments {
                count: Some(count), ..
            },
        ) => {
            let token = params.meta.progress.ok_or("no progress token")?;
            let mut all = Vec::with_capacity(count + 1);
            for step in 1..=*count.min(&MOST_STEPS) {
                all.push(progress(token, step)?);
            }
            all.push(text(id, "done", is_stateless)?);
            Ok(Answer::Many(all))
        }
        (name, _) => Err(format!("no such call: {name:?}").into()),
    }
}

/// A result with one block of text.
fn text(id: &RawValue, text: &str, is_stateless: bool) -> Result<Vec<u8>, Fault> {
    let mut out = Vec::with_capacity(128 + text.len());
    let content = [Block {
        r#type: "text",
        text,
    }];
    let result = Text {
        content,
        kind: is_stateless.then_some("complete"),
        meta: is_stateless.then_some(ResultMeta { server: SERVER }),
    };
    let response = Response {
        jsonrpc: "2.0",
        id,
        result,
    };
    serde_json::to_writer(&mut out, &response)?;
    Ok(out)
}

fn progress(token: &RawValue, step: usize) -> Result<Vec<u8>, Fault> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Progress<'a> {
        progress_token: &'a RawValue,
        progress: usize,
    }
    #[derive(Serialize)]
    struct Notification<'a> {
        jsonrpc: &'static str,
        method: &'static str,
        params: Progress<'a>,
    }
    Ok(serde_json::to_vec(&Notification {
        jsonrpc: "2.0",
        method: "notifications/progress",
        params: Progress {
            progress_token: token,
            progress: step,
        },
    })?)
}

fn opened(id: &RawValue) -> Vec<u8> {
    let result = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": { "tools": { "listChanged": true } },
        "serverInfo": SERVER,
    });
    format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id.get()).into_bytes()
}

fn tools(more: usize) -> Vec<Value> {
    let schema = |name: &str, kind: Value| json!({ "type": "object", "properties": { name: kind }, "required": [name] });
    let message = || {
        schema(
            "message",
            json!({"type": "string", "description": "Comes back."}),
        )
    };
    let integer = || json!({"type": "integer", "minimum": i64::MIN, "maximum": i64::MAX});
    let described = |text: &str| json!({"type": "integer", "minimum": 0, "description": text, "maximum": u64::MAX});
    let mut tools = vec![
        json!({"name": "echo", "inputSchema": message()}),
        json!({"name": "add", "inputSchema": {
            "type": "object", "properties": {"a": integer(), "b": integer()}, "required": ["a", "b"],
        }}),
        json!({"name": "big", "inputSchema": schema("bytes", described("How long the answer is."))}),
        json!({"name": "steps", "inputSchema":
            schema("count", described("How many notifications come before the answer."))}),
    ];
    tools.extend((0..more).map(|n| {
        json!({
            "name": format!("dummy_{n:04}"),
            "description": "Makes the list of tools a longer one",
            "inputSchema": message(),
        })
    }));
    tools
}
