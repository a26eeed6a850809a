//! The client of the official Rust SDK against our everything server, over HTTP: `rmcp-client URL URL-OF-PAGES`.
//!
//! Prints one JSON line per feature. The second server is the first one with five items a page, and a tool that needs
//! a URL to be visited first.

// What revisions up to 2025-11-25 have and the newest one lacks is marked as deprecated in this SDK.
#![allow(deprecated)]

mod calls;
mod contents;
mod host;
mod questions;
mod report;

use host::Host;
use report::{Fault, Outcome, absent, ensure, row, same};
use rmcp::model::ProtocolVersion;
use rmcp::service::{QuitReason, RunningService, ServiceError};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// A type of the SDK from its JSON.
fn made<T: DeserializeOwned>(value: Value) -> T {
    match serde_json::from_value(value.clone()) {
        Ok(made) => made,
        Err(error) => panic!("{value} is not what this SDK takes: {error}"),
    }
}

/// A type of the SDK as its JSON.
fn shown(value: impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// One connection.
struct Session {
    client: RunningService<RoleClient, Host>,
    host: Host,
}

impl Session {
    /// Connects by the handshake with one revision, or asks for a newer one first.
    async fn connect(url: &str, revision: Option<&str>) -> Result<Self, Fault> {
        let host = Host::new(revision.unwrap_or("2025-11-25"));
        let lifecycle = match revision {
            Some(_) => ClientLifecycleMode::Initialize,
            None => ClientLifecycleMode::Auto {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
                legacy_version: None,
            },
        };
        let transport = StreamableHttpClientTransport::from_uri(url);
        let client = host
            .clone()
            .serve_with_lifecycle(transport, lifecycle)
            .await?;
        Ok(Self { client, host })
    }

    /// What the server said about itself.
    fn server(&self) -> Value {
        self.client.peer_info().map(shown).unwrap_or_default()
    }

    /// Calls a tool; gives its result as JSON.
    async fn call(&self, name: &str, arguments: Value) -> Result<Value, ServiceError> {
        let params = made(json!({ "name": name, "arguments": arguments }));
        self.client.call_tool(params).await.map(shown)
    }

    /// Calls a tool that must succeed; gives its text.
    async fn said(&self, name: &str, arguments: Value) -> Result<String, Fault> {
        let result = self.call(name, arguments).await?;
        ensure(result["isError"] != true, || {
            format!("{name} failed: {result}")
        })?;
        Ok(text(&result))
    }

    async fn ping(&self) -> Result<(), Fault> {
        let ping = made(json!({ "method": "ping" }));
        self.client.send_request(ping).await?;
        Ok(())
    }

    async fn end(self) -> Outcome {
        let peer = self.client.peer().clone();
        let reason = self.client.cancel().await?;
        ensure(matches!(reason, QuitReason::Cancelled), || {
            format!("{reason:?}")
        })?;
        ensure(peer.is_transport_closed(), || {
            "the transport is still open".to_owned()
        })?;
        Ok("closed".to_owned())
    }
}

/// The text of a result.
fn text(result: &Value) -> String {
    let blocks = result["content"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let texts: Vec<&str> = blocks
        .iter()
        .filter_map(|block| block["text"].as_str())
        .collect();
    texts.join("\n")
}

/// Awaits something that must be refused with this code.
async fn refused<T>(code: i32, answer: impl Future<Output = Result<T, ServiceError>>) -> Outcome {
    match answer.await {
        Ok(_) => Err("the server answered where it must refuse".into()),
        Err(ServiceError::McpError(error)) => {
            same("the code", error.code.0, code)?;
            Ok(format!("code {code}"))
        }
        Err(error) => Err(error.into()),
    }
}

fn initialized(s: &Session) -> Outcome {
    let server = s.server();
    same("the name", &server["serverInfo"]["name"], "everything")?;
    same("the revision", &server["protocolVersion"], "2025-11-25")?;
    let instructions = server["instructions"].as_str().unwrap_or_default();
    ensure(instructions.contains("fixture"), || {
        "no instructions".to_owned()
    })?;
    Ok("everything, 2025-11-25".to_owned())
}

async fn revision(url: &str, revision: &str) -> Outcome {
    let s = Session::connect(url, Some(revision)).await?;
    same("the revision", &s.server()["protocolVersion"], revision)?;
    s.ping().await?;
    same(
        "the sum",
        s.said("add", json!({ "a": 2, "b": 3 })).await?,
        "5",
    )?;
    let weather = s.call("get_weather", json!({ "location": "Oslo" })).await?;
    let structured = !weather["structuredContent"].is_null();
    same("structured output", structured, revision >= "2025-06-18")?;
    s.end().await?;
    Ok("called add and get_weather".to_owned())
}

#[tokio::main]
async fn main() -> Result<(), Fault> {
    let mut args = std::env::args().skip(1);
    let (Some(url), Some(pages)) = (args.next(), args.next()) else {
        return Err("usage: rmcp-client URL URL-OF-PAGES".into());
    };
    row("discover", async {
        match Session::connect(&url, None).await {
            Ok(s) => initialized(&s),
            Err(fault) if fault.to_string().contains("no compatible protocol version") => {
                absent("it gives up where the server lists older revisions alone")
            }
            Err(fault) => Err(fault),
        }
    })
    .await;
    let s = Session::connect(&url, Some("2025-11-25")).await?;
    row("initialize", async { initialized(&s) }).await;
    row("ping", async {
        s.ping().await.map(|()| "answered".to_owned())
    })
    .await;
    row("tasks", async {
        let declared = &s.server()["capabilities"]["tasks"];
        ensure(declared.is_null(), || {
            "the server declares tasks".to_owned()
        })?;
        absent("the server declares no tasks")
    })
    .await;
    calls::rows(&s).await;
    questions::rows(&s, &pages).await;
    contents::rows(&s, &pages).await;
    row("session-end", s.end()).await;
    for one in REVISIONS {
        row(&format!("revision-{one}"), revision(&url, one)).await;
    }
    Ok(())
}
