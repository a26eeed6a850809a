//! `@modelcontextprotocol/server-everything`.

use mcp_client::ChangedList;
use mcp_protocol::Revision;
use serde_json::{Value, json};

use crate::content::{CompletionRequest, of_prompt, of_template};
use crate::host::Answer;
use crate::report::{Fault, Outcome, absent, ensure, row, worked};
use crate::target::{Session, Target};
use crate::tools::{Known, call, known};
use crate::{content, lifecycle, server_requests, tasks, tools};

const LONG: &str = "trigger-long-running-operation";
const FORM: &str = "trigger-elicitation-request";
const URL: &str = "trigger-url-elicitation";
const TEXT: &str = "demo://resource/dynamic/text/1";
const DOCUMENT: &str = "demo://resource/static/document/features.md";
const TEMPLATE: &str = "demo://resource/dynamic/text/{resourceId}";

/// Every feature.
pub(crate) async fn run(target: &Target) -> Result<(), Fault> {
    let session = target.connect(Revision::LATEST_WITH_SESSIONS).await?;
    let s = &session;
    row("initialize", async {
        lifecycle::initialized(s, "mcp-servers/everything")
    })
    .await;
    row("auto", lifecycle::probe(target)).await;
    row("ping", lifecycle::ping(s)).await;
    row("unknown-method", lifecycle::unknown_method(s)).await;
    row("list-changed", changed(s, target.is_http())).await;
    row("tools-list", tools::list(s)).await;
    row("tools-call", tools::call_all(s, &table())).await;
    calls(s).await;
    questions(target, s).await;
    contents(s).await;
    row("pagination", lifecycle::pages(s)).await;
    row(
        "logging",
        lifecycle::logging(s, lifecycle::by_subscribing(s, TEXT)),
    )
    .await;
    if target.is_http() {
        let none = async { absent("every tool answers on the stream of its call") };
        row("resumption", none).await;
    }
    row(target.ending(), session.close()).await;
    row("tasks", task(target)).await;
    lifecycle::revisions(target, &quick()).await;
    Ok(())
}

/// Two tools that return at once. The second one needs the roots: the server requests them shortly after
/// every handshake, and does not exit before it has the response.
fn quick() -> [Known; 2] {
    [
        known("get-sum", json!({ "a": 2, "b": 3 }), "is 5"),
        known("get-roots-list", json!({}), "Current MCP Roots"),
    ]
}

/// Tools whose useful arguments cannot be derived from their schemas.
fn table() -> Vec<Known> {
    let none = || json!({});
    vec![
        known("echo", json!({ "message": "grüß dich" }), "Echo: grüß dich"),
        known("get-sum", json!({ "a": 2, "b": 3 }), "is 5"),
        known(
            "get-annotated-message",
            json!({ "messageType": "error", "includeImage": true }),
            "\"priority\":1",
        ),
        known("get-env", none(), "PATH"),
        known("get-resource-links", json!({ "count": 4 }), "resource_link"),
        known(
            "get-resource-reference",
            json!({ "resourceType": "Blob", "resourceId": 3 }),
            "demo://resource/dynamic/blob/3",
        ),
        known("get-tiny-image", none(), "\"type\":\"image\""),
        known(
            "gzip-file-as-resource",
            json!({ "name": "a.gz", "data": "data:text/plain,hello", "outputType": "resource" }),
            "application/gzip",
        ),
        known("toggle-simulated-logging", none(), "Started"),
        known("toggle-simulated-logging", none(), "Stopped"),
        known("toggle-subscriber-updates", none(), "Started"),
        known("toggle-subscriber-updates", none(), "Stopped"),
        known(LONG, json!({ "duration": 0.2, "steps": 2 }), "completed"),
        known(
            URL,
            json!({ "url": "https://example.com/" }),
            "completed the URL",
        ),
    ]
}

async fn calls(s: &Session) {
    let city = json!({ "location": "Chicago" });
    row(
        "structured-output",
        tools::structured(s, "get-structured-content", city, "humidity"),
    )
    .await;
    let nowhere = json!({ "resourceType": "Text", "resourceId": 0 });
    row(
        "tool-errors",
        tools::failing(s, "get-resource-reference", nowhere, "Invalid resourceId"),
    )
    .await;
    row(
        "bad-arguments",
        tools::bad_arguments(s, "get-sum", json!({ "a": "two" })),
    )
    .await;
    row("unknown-tool", tools::unknown(s)).await;
    let short = json!({ "duration": 0.5, "steps": 5 });
    row("progress", tools::progress(s, LONG, short, 5)).await;
    let long = json!({ "duration": 3, "steps": 30 });
    row("cancellation", tools::cancel(s, LONG, long)).await;
    let echo = |text: &str| json!({ "message": text });
    row("concurrent", tools::concurrent(s, "echo", echo)).await;
    let text = tools::large_text();
    row("large", tools::large(s, "echo", echo(&text), &text)).await;
}

async fn questions(target: &Target, s: &Session) {
    let prompt = json!({ "prompt": "six times seven?", "maxTokens": 50 });
    row(
        "sampling",
        server_requests::sampling(s, "trigger-sampling-request", prompt),
    )
    .await;
    let all = [
        "Name: interop",
        "Email: ada@example.com",
        "Birthdate: 2025-11-25",
    ];
    row(
        "elicitation",
        server_requests::form(s, Answer::Fill, FORM, &all),
    )
    .await;
    let defaults = ["dark and stormy", "\"integer\": 42", "fish-1", "pet-1"];
    row(
        "elicitation-defaults",
        server_requests::form(s, Answer::Minimum, FORM, &defaults),
    )
    .await;
    row(
        "elicitation-refused",
        server_requests::refused(s, FORM, ["User declined", "User cancelled"]),
    )
    .await;
    let link = json!({ "url": "https://example.com/connect", "elicitationId": "e-1" });
    let said = ["completed the URL elicitation flow", "declined to open"];
    row("elicitation-url", server_requests::url(s, URL, link, said)).await;
    let first = json!({ "url": "https://example.com/first", "errorPath": true });
    row("url-required", server_requests::url_required(s, URL, first)).await;
    let root = target.root("");
    row(
        "roots",
        server_requests::roots(s, "get-roots-list", &root.uri),
    )
    .await;
    let other = target.root("elsewhere");
    let shown = other.uri.clone();
    row(
        "roots-changed",
        server_requests::roots_changed(s, "get-roots-list", other, &shown),
    )
    .await;
}

async fn contents(s: &Session) {
    row("resources-list", content::list(s, DOCUMENT)).await;
    row("resources-read", content::read_all(s)).await;
    row("templates", content::templates(s, "7")).await;
    row("unknown-resource", content::unknown(s, "demo://nowhere")).await;
    row("subscribe", content::subscribe(s, TEXT, updates(s))).await;
    let arguments = [
        ("city", "Oslo"),
        ("resourceType", "Text"),
        ("resourceId", "1"),
    ];
    row("prompts", content::prompts(s, &arguments)).await;
    row("unknown-prompt", content::unknown_prompt(s)).await;
    row("completion", completions(s)).await;
    let context = CompletionRequest {
        reference: of_prompt("completable-prompt"),
        argument: "name",
        value: "",
        resolved: &[("department", "Engineering")],
        expected: &["Alice", "Bob", "Charlie"],
    };
    row("completion-context", content::complete(s, context)).await;
}

async fn completions(s: &Session) -> Outcome {
    let of_prompt = CompletionRequest {
        reference: of_prompt("completable-prompt"),
        argument: "department",
        value: "S",
        resolved: &[],
        expected: &["Sales", "Support"],
    };
    content::complete(s, of_prompt).await?;
    let of_template = CompletionRequest {
        reference: of_template(TEMPLATE),
        argument: "resourceId",
        value: "12",
        resolved: &[],
        expected: &["12"],
    };
    content::complete(s, of_template).await?;
    worked("a prompt's argument, a template's variable")
}

/// Updates begin at once and are repeated every five seconds; one is enough.
async fn updates(s: &Session) -> Result<(), Fault> {
    call(s, "toggle-subscriber-updates", json!({}), "Started").await?;
    call(s, "toggle-subscriber-updates", json!({}), "Stopped").await?;
    Ok(())
}

/// Tools appear after the handshake, resources by a tool. Over HTTP the server announces its tools
/// before a client can open the stream for that.
async fn changed(s: &Session, is_http: bool) -> Outcome {
    let tools: &[ChangedList] = if is_http { &[] } else { &[ChangedList::Tools] };
    content::told(s, tools).await?;
    let file = json!({ "name": "b.gz", "data": "data:text/plain,hello" });
    let link = call(s, "gzip-file-as-resource", file, "resource_link").await?;
    let link = serde_json::to_value(&link.content)?;
    let uri = link[0]["uri"].as_str().ok_or("no URI in the link")?;
    let told = content::told(s, &[tools, &[ChangedList::Resources]].concat()).await?;
    let read = content::read(&s.client, uri).await?;
    let read: Value = serde_json::to_value(&read.contents)?;
    let blob = read[0]["blob"].as_str().unwrap_or_default();
    ensure(blob.starts_with("H4sI"), || format!("{blob} is not gzip"))?;
    Ok(told)
}

/// On a separate connection, because the server keeps a timer per task and does not exit by itself.
async fn task(target: &Target) -> Outcome {
    let session = target.connect(Revision::LATEST_WITH_SESSIONS).await?;
    let mut arguments = mcp_types::JsonObject::new();
    arguments.insert("topic".to_owned(), json!("python"));
    arguments.insert("ambiguous".to_owned(), json!(true));
    let tool = "simulate-research-query";
    let outcome = tasks::run(&session, tool, arguments, "python (programming)").await;
    session.end().await?;
    outcome
}
