//! A server made with the Python SDK (`tests/interop/server.py`): what the reference servers
//! lack, among others.

use mcp_client::Changed;
use mcp_protocol::Revision;
use serde_json::json;

use crate::content::{Completing, of_prompt, of_template};
use crate::host::Answer;
use crate::report::{Fault, Outcome, absent, row, same, worked};
use crate::target::{Session, Target};
use crate::tools::{Known, call, known};
use crate::{asks, content, lifecycle, tools};

const NOTE: &str = "peer://note";

/// Every feature.
pub(crate) async fn run(target: &Target) -> Result<(), Fault> {
    let session = target.connect(Revision::LATEST).await?;
    let s = &session;
    row("initialize", async {
        lifecycle::initialized(s, "python-peer")
    })
    .await;
    row("discover", lifecycle::probe()).await;
    row("ping", lifecycle::ping(s)).await;
    row("unknown-method", lifecycle::unknown_method(s)).await;
    row("tools-list", tools::list(s)).await;
    row("tools-call", tools::call_all(s, &table())).await;
    calls(s).await;
    questions(target, s).await;
    contents(s).await;
    row("list-changed", changed(s)).await;
    row("pagination", lifecycle::pages(s)).await;
    row("logging", lifecycle::logging(s, NOTE)).await;
    let tasks = async {
        let declared = s.client.capabilities().tasks.is_some();
        same("the capability tasks", declared, false)?;
        absent("capability \"tasks\" was not declared")
    };
    row("tasks", tasks).await;
    row("shutdown", session.close()).await;
    let sum = known("add", json!({ "a": 2, "b": 3 }), "5");
    lifecycle::revisions(target, &[sum]).await;
    Ok(())
}

/// Tools that fail, wait or need to be called in a certain way have rows of their own; here they
/// are called so that they succeed.
fn table() -> Vec<Known> {
    vec![
        known("add", json!({ "a": 2, "b": 3 }), "5"),
        known("count", json!({ "steps": 2 }), "counted to 2"),
        known("wait", json!({ "seconds": 0.1 }), "nobody cancelled"),
        known("fail", json!({}), "no reason"),
        known("was_cancelled", json!({}), "false"),
        known("needs_url", json!({ "first": false }), "visited"),
        known(
            "ask_url",
            json!({ "url": "https://example.com/" }),
            "accept",
        ),
        known("touch", json!({ "uri": NOTE }), "touched"),
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
    call(s, "was_cancelled", json!({}), "true").await?;
    worked("the tool was told")
}

async fn questions(target: &Target, s: &Session) {
    let prompt = json!({ "prompt": "six times seven?" });
    row("sampling", asks::sampling(s, "ask_model", prompt)).await;
    let all = ["\"name\":\"interop\"", "\"tea\":\"green\"", "\"milk\":true"];
    row("elicitation", asks::form(s, Answer::Fill, "ask_user", &all)).await;
    let defaults = ["\"strength\":1.5", "\"tea\":\"black\"", "\"milk\":true"];
    row(
        "elicitation-defaults",
        asks::form(s, Answer::Minimum, "ask_user", &defaults),
    )
    .await;
    row(
        "elicitation-refused",
        asks::refused(s, "ask_user", ["user: decline", "user: cancel"]),
    )
    .await;
    row("elicitation-url", visit(s)).await;
    row(
        "url-required",
        asks::url_required(s, "needs_url", json!({ "first": true })),
    )
    .await;
    let root = target.root("");
    row("roots", asks::roots(s, "ask_roots", &root.uri)).await;
    let other = target.root("elsewhere");
    let shown = other.uri.clone();
    row(
        "roots-changed",
        asks::roots_changed(s, "ask_roots", other, &shown),
    )
    .await;
}

/// The user visits the URL and its end is told, then refuses.
async fn visit(s: &Session) -> Outcome {
    let link = json!({ "url": "https://example.com/connect" });
    let outcome = asks::url(s, "ask_url", link, ["user: accept", "user: decline"]).await?;
    let over = |seen: &crate::host::Seen| seen.urls_done.iter().any(|id| id == "visit-1");
    s.host.until("the end of the visit", over).await?;
    Ok(outcome)
}

async fn contents(s: &Session) {
    row("resources-list", content::list(s, NOTE)).await;
    row("resources-read", content::read_all(s)).await;
    row("templates", content::templates(s, "ada")).await;
    row("unknown-resource", content::unknown(s, "peer://nowhere")).await;
    let touch = async {
        call(s, "touch", json!({ "uri": NOTE }), "touched").await?;
        Ok(())
    };
    row("subscribe", content::subscribe(s, NOTE, touch)).await;
    row("prompts", content::prompts(s, &[("code", "fn main() {}")])).await;
    row("unknown-prompt", content::unknown_prompt(s)).await;
    row("completion", completions(s)).await;
    let context = Completing {
        reference: of_prompt("review"),
        argument: "language",
        value: "",
        resolved: &[("code", "print")],
        expected: &["python"],
    };
    row("completion-context", content::complete(s, context)).await;
}

async fn completions(s: &Session) -> Outcome {
    let of_prompt = Completing {
        reference: of_prompt("review"),
        argument: "language",
        value: "ru",
        resolved: &[],
        expected: &["rust", "ruby"],
    };
    content::complete(s, of_prompt).await?;
    let of_template = Completing {
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
    call(s, "change", json!({}), "changed").await?;
    content::told(s, &[Changed::Tools, Changed::Prompts, Changed::Resources]).await
}
