//! The client of the official Rust SDK against our everything server:
//!
//! ```text
//! rmcp-client REVISION stdio FOLDER INTEROP-CLIENT EVERYTHING-SERVER
//! rmcp-client REVISION http URL URL-OF-PAGES
//! rmcp-client visit URL
//! rmcp-client steady URL
//! ```
//!
//! REVISION is sessions or stateless. Prints one JSON line per feature. INTEROP-CLIENT records how a server ends, and serves
//! the everything server with small pages; the URLs are those of the two servers.

// rmcp marks features that the newest revision lacks as deprecated.
#![allow(deprecated)]

mod calls;
mod contents;
mod host;
mod modern;
mod place;
#[path = "../../../../src/bin/interop-client/report.rs"]
#[allow(dead_code, reason = "other programs use the rest")]
mod report;
mod server_requests;
mod steady;
mod visit;

use std::path::PathBuf;

use host::Host;
use place::{Server, Target};
use report::{Fault, Outcome, absent, ensure, row, same};
use rmcp::RoleClient;
use rmcp::service::{QuitReason, RunningService, ServiceError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The newest session-based revision.
const LATEST: &str = "2025-11-25";
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
    /// The file in which the witness records how the server ended.
    status: Option<PathBuf>,
    is_stateless: bool,
}

impl Session {
    /// Returns the server's information.
    fn server(&self) -> Value {
        self.client.peer_info().map(shown).unwrap_or_default()
    }

    /// Calls a tool; returns its result as JSON.
    async fn call(&self, name: &str, arguments: Value) -> Result<Value, ServiceError> {
        let params = made(json!({ "name": name, "arguments": arguments }));
        self.client.call_tool(params).await.map(shown)
    }

    /// Calls a tool that must succeed; returns its text.
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
        match &self.status {
            Some(status) => place::left(status, self.is_stateless).await,
            None => Ok("closed".to_owned()),
        }
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

/// Awaits a request that must be rejected with this code.
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
    same("the revision", &server["protocolVersion"], LATEST)?;
    let instructions = server["instructions"].as_str().unwrap_or_default();
    ensure(instructions.contains("fixture"), || {
        "no instructions".to_owned()
    })?;
    Ok(format!("everything, {LATEST}"))
}

async fn revision(place: &Target, revision: &str) -> Outcome {
    let s = place.connect(Server::Everything, Some(revision)).await?;
    same("the revision", &s.server()["protocolVersion"], revision)?;
    s.ping().await?;
    let sum = s.said("add", json!({ "a": 2, "b": 3 })).await?;
    same("the sum", sum, "5")?;
    let weather = s.call("get_weather", json!({ "location": "Oslo" })).await?;
    let structured = !weather["structuredContent"].is_null();
    same("structured output", structured, revision >= "2025-06-18")?;
    s.end().await?;
    Ok("called add and get_weather".to_owned())
}

async fn auto(place: &Target) -> Outcome {
    match place.connect(Server::Everything, None).await {
        Ok(s) => {
            let revision = s.server()["protocolVersion"].clone();
            s.end().await?;
            Ok(revision.as_str().unwrap_or_default().to_owned())
        }
        Err(fault) if fault.to_string().contains("no compatible protocol version") => {
            absent("it gives up where the server lists older revisions alone")
        }
        Err(fault) => Err(fault),
    }
}

/// Reports the features that only sessions have.
async fn sessions(place: &Target) -> Result<(), Fault> {
    row("auto", auto(place)).await;
    let s = place.connect(Server::Everything, Some(LATEST)).await?;
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
    calls::sessions(&s, place).await;
    server_requests::rows(&s, place).await;
    contents::rows(&s, place).await;
    contents::sessions(&s).await;
    row(place.ending(), s.end()).await;
    for one in REVISIONS {
        row(&format!("revision-{one}"), revision(place, one)).await;
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Fault> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["visit", url] => return visit::conversation(url).await,
        ["steady", url] => return steady::run(url).await,
        _ => {}
    }
    let place = Target::new(&args)?;
    if place.is_stateless {
        modern::conversation(&place).await
    } else {
        sessions(&place).await
    }
}
