//! A client as hosts use it, with calls whose results are known.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_client::{Client, Error, Negotiation, Revision};
use mcp_transport_http::HttpTransport;
use mcp_transport_stdio::ChildProcess;
use serde_json::json;
use tokio::time::timeout;

use super::options::Options;
use super::process::own;
use super::server::Tables;
use crate::bench::Fault;
use crate::bench::load::print;
use crate::random::Random;

/// A call that takes longer never ends.
pub(super) const HANG: Duration = Duration::from_secs(60);

/// How a client reaches its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Path {
    /// 2025-11-25 over HTTP.
    Session,
    /// 2026-07-28 over HTTP.
    Stateless,
    /// A server process with pipes.
    Stdio,
}

/// The result of an action.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The right answer.
    Right,
    /// Another answer.
    Wrong(String),
    /// An error, which the caller was told.
    Failed(String),
    /// No answer in [`HANG`].
    Hung,
}

/// A connected client.
pub(super) struct User {
    pub(super) client: Client,
}

impl User {
    /// Connects to the server at this address; over stdio, starts a server.
    pub(super) async fn connect(path: Path, host: &str) -> Result<Self, Fault> {
        let is_stateless = path == Path::Stateless;
        let (revision, negotiation) = match is_stateless {
            true => (Revision::V2026_07_28, Negotiation::Stateless),
            false => (Revision::V2025_11_25, Negotiation::SessionBased),
        };
        let builder = Client::builder("user", "1.0.0")
            .revision(revision)
            .negotiation(negotiation);
        let connected = match path {
            Path::Stdio => builder.connect(ChildProcess::new(own()?).arg("server")),
            _ => {
                let transport = HttpTransport::new(format!("http://{host}/mcp"))?;
                let client = timeout(HANG, builder.connect(transport)).await;
                return Ok(Self { client: client?? });
            }
        };
        let client = timeout(HANG, connected).await??;
        Ok(Self { client })
    }

    /// A call whose result is known.
    pub(super) async fn act(&self, random: &mut Random) -> Outcome {
        let text = format!(
            "{}-{}",
            random.below(1 << 40),
            "x".repeat(random.below(2_000) as usize)
        );
        match random.below(10) {
            0 => self.lists().await,
            1 | 2 => self.steps(1 + random.below(20) as usize).await,
            _ => self.echo(text).await,
        }
    }

    pub(super) async fn echo(&self, text: String) -> Outcome {
        let call = self.client.call_tool("echo", json!({ "message": text }));
        judge(timeout(HANG, call).await, |result| {
            let said = result.joined_text();
            (said == text).then_some(()).ok_or(said)
        })
    }

    async fn steps(&self, count: usize) -> Outcome {
        let steps = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&steps);
        let call = self.client.call_tool("steps", json!({ "count": count }));
        let call = call.on_progress(move |_| {
            seen.fetch_add(1, Ordering::Relaxed);
        });
        judge(timeout(HANG, call).await, |result| {
            let (said, seen) = (result.joined_text(), steps.load(Ordering::Relaxed));
            // Progress is dropped under load, and never repeated.
            let is_right = said == "done" && seen <= count;
            is_right
                .then_some(())
                .ok_or(format!("{said}, {seen} of {count}"))
        })
    }

    async fn lists(&self) -> Outcome {
        judge(timeout(HANG, self.client.list_tools()).await, |tools| {
            let is_right = tools.iter().any(|tool| tool.name == "echo");
            is_right
                .then_some(())
                .ok_or(format!("{} tools", tools.len()))
        })
    }

    /// Starts a call that never ends and drops it, which cancels it.
    pub(super) async fn cancel(&self, after: Duration) {
        let call = self.client.call_tool("wait", json!({}));
        // It ends only with an error.
        let _ = timeout(after, call).await;
    }

    /// Subscribes to a resource, changes it and waits for the notification.
    pub(super) async fn subscribe(&self, uri: &str) -> Outcome {
        let changed = async {
            let mut subscription = self.client.subscribe(uri).await?;
            self.client
                .call_tool("touch", json!({ "uri": uri }))
                .await?;
            let changed = subscription.next().await;
            subscription.unsubscribe().await?;
            Ok::<_, Error>(changed)
        };
        judge(timeout(HANG, changed).await, |changed| {
            let changed = changed.unwrap_or_default();
            (changed == uri).then_some(()).ok_or(changed)
        })
    }

    pub(super) async fn tables(&self) -> Result<Tables, Fault> {
        let call = self.client.call_tool("tables", json!({}));
        let result = timeout(HANG, call).await??;
        Ok(serde_json::from_str(&result.joined_text())?)
    }
}

fn judge<T>(
    ended: Result<Result<T, Error>, tokio::time::error::Elapsed>,
    check: impl FnOnce(T) -> Result<(), String>,
) -> Outcome {
    match ended {
        Err(_) => Outcome::Hung,
        Ok(Err(error)) => Outcome::Failed(error.to_string()),
        Ok(Ok(result)) => check(result).map_or_else(Outcome::Wrong, |()| Outcome::Right),
    }
}

/// The program that is killed: uses the server until then.
pub(super) async fn run(options: &Options) -> Result<(), Fault> {
    let host = options.words.get(1).ok_or(super::options::USAGE)?;
    let mut random = Random::new(std::process::id().into());
    let mut users = Vec::new();
    for path in [Path::Session, Path::Stateless, Path::Stdio] {
        users.push(User::connect(path, host).await?);
    }
    // The process of the server over stdio, which must not outlive this one.
    let stdio = users.last().ok_or("no client")?;
    print(&stdio.tables().await?.pid)?;
    loop {
        for user in &users {
            user.act(&mut random).await;
            user.cancel(Duration::from_millis(random.below(5))).await;
        }
    }
}
