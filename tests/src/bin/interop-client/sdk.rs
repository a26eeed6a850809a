//! A server written with another SDK, like `tests/interop/server.py`, with features that the reference
//! servers lack. A server omits tools that its framework cannot express; their features count as absent.

use std::time::{Duration, Instant};

use mcp_client::{ChangedList, Era};
use serde_json::json;

use crate::content::{CompletionRequest, of_prompt, of_template};
use crate::host::Answer;
use crate::report::{Fault, Outcome, absent, row, same, worked};
use crate::target::{Session, Target};
use crate::tools::{Known, call, known};
use crate::{content, lifecycle, round_trips, server_requests, tools};

const NOTE: &str = "peer://note";

/// The session, and the names of the server's tools.
pub(crate) struct Peer<'a> {
    pub(crate) session: &'a Session,
    tools: Vec<String>,
}

impl<'a> Peer<'a> {
    async fn new(session: &'a Session) -> Result<Self, Fault> {
        let tools = session.client.list_tools().await?;
        Ok(Self {
            session,
            tools: tools.into_iter().map(|tool| tool.name).collect(),
        })
    }

    fn has(&self, tool: &str) -> bool {
        self.tools.iter().any(|name| name == tool)
    }

    /// Reports a row about a tool that the server may not have.
    pub(crate) async fn row(&self, feature: &str, tool: &str, work: impl Future<Output = Outcome>) {
        let checked = async {
            if self.has(tool) {
                work.await
            } else {
                absent(format!("there is no tool {tool}"))
            }
        };
        row(feature, checked).await;
    }
}

/// Every feature.
pub(crate) async fn run(target: &Target, name: &str) -> Result<(), Fault> {
    let session = target.session().await?;
    let s = &session;
    let peer = &Peer::new(s).await?;
    if target.era == Era::Modern {
        row("discover", async { lifecycle::discovered(s, name) }).await;
        row("revision-2026-07-28", lifecycle::only_modern(target)).await;
    } else {
        row("initialize", async { lifecycle::initialized(s, name) }).await;
        row("ping", lifecycle::ping(s)).await;
    }
    row("auto", lifecycle::probe(target)).await;
    row("unknown-method", lifecycle::unknown_method(s)).await;
    row("tools-list", tools::list(s)).await;
    let table = table().into_iter().filter(|entry| peer.has(entry.name));
    row("tools-call", tools::call_all(s, &table.collect::<Vec<_>>())).await;
    calls(s).await;
    questions(target, peer).await;
    contents(peer).await;
    row("list-changed", changed(s)).await;
    row("pagination", lifecycle::pages(s)).await;
    let log = async || call(s, "tell", json!({}), "told").await.map(|_| ());
    row("logging", lifecycle::logging(s, log)).await;
    match target.era {
        Era::Modern => round_trips::rows(target, peer).await,
        Era::Legacy => sessions(target, peer).await,
    }
    row(target.ending(), session.close()).await;
    if target.era == Era::Legacy {
        let sum = known("add", json!({ "a": 2, "b": 3 }), "5");
        lifecycle::revisions(target, &[sum]).await;
    }
    Ok(())
}

/// The features that only sessions have.
async fn sessions(target: &Target, peer: &Peer<'_>) {
    let s = peer.session;
    if target.is_http() {
        let paused = async {
            call(s, "pause", json!({}), "the client came back").await?;
            worked("answered on another stream")
        };
        peer.row("resumption", "pause", paused).await;
    }
    let tasks = async {
        let declared = s.client.capabilities().tasks.is_some();
        same("the capability tasks", declared, false)?;
        absent("capability \"tasks\" was not declared")
    };
    row("tasks", tasks).await;
    let first = json!({ "first": true });
    let required = server_requests::url_required(s, "needs_url", first);
    peer.row("url-required", "needs_url", required).await;
}

/// Tools that fail, wait or need special arguments have separate rows; here they are called so that
/// they succeed.
fn table() -> Vec<Known> {
    vec![
        known("add", json!({ "a": 2, "b": 3 }), "5"),
        known("count", json!({ "steps": 2 }), "counted to 2"),
        known("wait", json!({ "seconds": 0.1 }), "it was not cancelled"),
        known("fail", json!({}), "no reason"),
        known("was_cancelled", json!({}), "false"),
        known("needs_url", json!({ "first": false }), "visited"),
        known(
            "ask_url",
            json!({ "url": "https://example.com/" }),
            "accept",
        ),
        known("touch", json!({ "uri": NOTE }), "touched"),
        known("pause", json!({}), "the client came back"),
    ]
}

async fn calls(s: &Session) {
    let city = json!({ "city": "Oslo" });
    row(
        "structured-output",
        tools::structured(s, "weather", city, "celsius"),
    )
    .await;
    let why = json!({ "reason": "on purpose" });
    row(
        "tool-errors",
        tools::failing(s, "fail", why, "it failed on purpose"),
    )
    .await;
    row(
        "bad-arguments",
        tools::bad_arguments(s, "add", json!({ "a": "two" })),
    )
    .await;
    row("unknown-tool", tools::unknown(s)).await;
    row(
        "progress",
        tools::progress(s, "count", json!({ "steps": 7 }), 7),
    )
    .await;
    row("cancellation", cancelled(s)).await;
    let echo = |text: &str| json!({ "text": text });
    row("concurrent", tools::concurrent(s, "echo", echo)).await;
    let text = tools::large_text();
    row("large", tools::large(s, "echo", echo(&text), &text)).await;
}

async fn cancelled(s: &Session) -> Outcome {
    tools::cancel(s, "wait", json!({})).await?;
    // If the end of a connection is the cancellation, the tool notices it a moment later.
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        match call(s, "was_cancelled", json!({}), "true").await {
            Ok(_) => return worked("the tool was told"),
            Err(_) if Instant::now() < end => tokio::time::sleep(Duration::from_millis(50)).await,
            Err(fault) => return Err(fault),
        }
    }
}

async fn questions(target: &Target, peer: &Peer<'_>) {
    let s = peer.session;
    let prompt = json!({ "prompt": "six times seven?" });
    row(
        "sampling",
        server_requests::sampling(s, "ask_model", prompt),
    )
    .await;
    let all = ["\"name\":\"interop\"", "\"tea\":\"green\"", "\"milk\":true"];
    row(
        "elicitation",
        server_requests::form(s, Answer::Fill, "ask_user", &all),
    )
    .await;
    let defaults = ["\"strength\":1.5", "\"tea\":\"black\"", "\"milk\":true"];
    row(
        "elicitation-defaults",
        server_requests::form(s, Answer::Minimum, "ask_user", &defaults),
    )
    .await;
    row(
        "elicitation-refused",
        server_requests::refused(s, "ask_user", ["user: decline", "user: cancel"]),
    )
    .await;
    peer.row("elicitation-url", "ask_url", visit(target, s))
        .await;
    let root = target.root("");
    row("roots", server_requests::roots(s, "ask_roots", &root.uri)).await;
    let other = target.root("elsewhere");
    let shown = other.uri.clone();
    row(
        "roots-changed",
        server_requests::roots_changed(s, "ask_roots", other, &shown),
    )
    .await;
}

/// The user visits the URL, then declines. In a session the server announces the end of the visit.
async fn visit(target: &Target, s: &Session) -> Outcome {
    let link = json!({ "url": "https://example.com/connect" });
    let outcome =
        server_requests::url(s, "ask_url", link, ["user: accept", "user: decline"]).await?;
    if target.era == Era::Modern {
        return Ok(outcome);
    }
    let over = |seen: &crate::host::Observations| seen.urls_done.iter().any(|id| id == "visit-1");
    s.host.until("the end of the visit", over).await?;
    Ok(outcome)
}

async fn contents(peer: &Peer<'_>) {
    let s = peer.session;
    row("resources-list", content::list(s, NOTE)).await;
    row("resources-read", content::read_all(s)).await;
    row("templates", content::templates(s, "ada")).await;
    row("unknown-resource", content::unknown(s, "peer://nowhere")).await;
    let touch = async {
        call(s, "touch", json!({ "uri": NOTE }), "touched").await?;
        Ok(())
    };
    let subscribed = content::subscribe(s, NOTE, touch);
    peer.row("subscribe", "touch", subscribed).await;
    row("prompts", content::prompts(s, &[("code", "fn main() {}")])).await;
    row("unknown-prompt", content::unknown_prompt(s)).await;
    row("completion", completions(s)).await;
    let context = CompletionRequest {
        reference: of_prompt("review"),
        argument: "language",
        value: "",
        resolved: &[("code", "print")],
        expected: &["python"],
    };
    row("completion-context", content::complete(s, context)).await;
}

async fn completions(s: &Session) -> Outcome {
    let of_prompt = CompletionRequest {
        reference: of_prompt("review"),
        argument: "language",
        value: "ru",
        resolved: &[],
        expected: &["rust", "ruby"],
    };
    content::complete(s, of_prompt).await?;
    let of_template = CompletionRequest {
        reference: of_template("peer://greeting/{name}"),
        argument: "name",
        value: "al",
        resolved: &[],
        expected: &["alan"],
    };
    content::complete(s, of_template).await?;
    worked("a prompt's argument, a template's variable")
}

async fn changed(s: &Session) -> Outcome {
    if s.client.known_version().era() == Era::Modern && !listens(s).await {
        return absent("the server has agreed to tell of nothing");
    }
    call(s, "change", json!({}), "changed").await?;
    content::told(
        s,
        &[
            ChangedList::Tools,
            ChangedList::Prompts,
            ChangedList::Resources,
        ],
    )
    .await
}

/// Whether the server acknowledges the subscription, which the client requests with all others.
async fn listens(s: &Session) -> bool {
    let end = Instant::now() + Duration::from_secs(10);
    while s.client.subscribed_changes().is_none() && Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    s.client.subscribed_changes().is_some()
}
