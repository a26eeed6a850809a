//! Tools.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CustomNotification, ErrorCode, ListToolsResult, ServerNotification,
};
use serde_json::{Map, Value, json};

use crate::input::{self, InputOutcome, InputRequests};
use crate::{Context, Peer, is_stateless, lost, made, shown};

/// Number of tools per page.
const PAGE: usize = 4;

/// A page of tools; the cursor is the number of the first one.
pub(crate) fn list(cursor: Option<String>) -> Result<ListToolsResult, ErrorData> {
    let all = all();
    let start = match cursor {
        Some(cursor) => cursor
            .parse()
            .map_err(|_| ErrorData::invalid_params("no such cursor", None))?,
        None => 0,
    };
    let page: Vec<&Value> = all.iter().skip(start).take(PAGE).collect();
    let mut result = json!({ "tools": page });
    if start + PAGE < all.len() {
        result["nextCursor"] = (start + PAGE).to_string().into();
    }
    made(result)
}

fn all() -> Vec<Value> {
    let text = || json!({ "type": "string" });
    let number = || json!({ "type": "number" });
    let mut tools = vec![
        tool(
            "add",
            "Adds two numbers",
            &[("a", number()), ("b", number())],
        ),
        tool("echo", "Returns its argument", &[("text", text())]),
        tool("weather", "Gives structured output", &[("city", text())]),
        tool("count", "Reports progress", &[("steps", number())]),
        tool(
            "ask_model",
            "InputRequests the client's model",
            &[("prompt", text())],
        ),
        tool("ask_url", "Sends the user to a URL", &[("url", text())]),
        tool("touch", "Says that a resource changed", &[("uri", text())]),
        tool(
            "headed",
            "Gives the header that its argument was mirrored in",
            &[(
                "value",
                json!({ "type": "string", "x-mcp-header": "Value" }),
            )],
        ),
    ];
    for (name, description) in [
        ("fail", "Fails if a reason is given"),
        (
            "wait",
            "Waits until it is cancelled, and creates the file `record` then, which another process can see",
        ),
        ("was_cancelled", "Whether the tool that waits was cancelled"),
        ("ask_user", "InputRequests the user to fill in a form"),
        ("ask_roots", "InputRequests for the roots"),
        ("ask_all", "InputRequests user, model and host at once"),
        (
            "ask_twice",
            "InputRequests, and asks again because of the answer",
        ),
        ("tell", "Logs a message"),
        (
            "needs_url",
            "Needs a URL to be visited first, if it is told to",
        ),
        ("change", "Says that every list changed"),
    ] {
        tools.push(tool(name, description, &[]));
    }
    tools[2]["outputSchema"] = json!({
        "type": "object",
        "properties": { "city": text(), "celsius": number() },
        "required": ["city", "celsius"]
    });
    tools
}

fn tool(name: &str, description: &str, required: &[(&str, Value)]) -> Value {
    let properties = required
        .iter()
        .map(|(name, schema)| ((*name).to_owned(), schema.clone()));
    let names: Vec<&str> = required.iter().map(|(name, _)| *name).collect();
    json!({
        "name": name,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": properties.collect::<Map<_, _>>(),
            "required": names
        }
    })
}

fn said(text: impl Into<String>) -> Value {
    json!({ "content": [{ "type": "text", "text": text.into() }] })
}

fn failed(text: impl Into<String>) -> Value {
    let mut result = said(text);
    result["isError"] = true.into();
    result
}

/// Runs a tool; returns its result as JSON.
pub(crate) async fn call(
    peer: &Peer,
    call: CallToolRequestParams,
    cx: &Context,
) -> Result<Value, ErrorData> {
    let arguments = Value::Object(call.arguments.unwrap_or_default());
    let asks = &InputRequests::new(call.input_responses, call.request_state);
    let text = |name: &str| arguments[name].as_str().unwrap_or_default();
    Ok(match &*call.name {
        "add" => match (arguments["a"].as_f64(), arguments["b"].as_f64()) {
            (Some(a), Some(b)) => said((a + b).to_string()),
            _ => failed("a and b have to be numbers"),
        },
        "echo" => said(text("text")),
        "weather" => {
            let weather = json!({ "city": text("city"), "celsius": 21.5 });
            let mut result = said(weather.to_string());
            result["structuredContent"] = weather;
            result
        }
        "fail" if !text("reason").is_empty() => failed(format!("it failed {}", text("reason"))),
        "fail" => said("no reason to fail"),
        "count" => count(arguments["steps"].as_u64().unwrap_or(0), cx).await?,
        "wait" => {
            let seconds = arguments["seconds"].as_f64().unwrap_or(300.0);
            wait(seconds, text("record"), cx).await?
        }
        "was_cancelled" => said(Path::new(text("record")).is_file().to_string()),
        "touch" => {
            peer.touch(cx, text("uri")).await?;
            said("touched")
        }
        "change" => {
            peer.change(cx).await?;
            said("changed")
        }
        "tell" => {
            peer.log(cx, "told").await?;
            said("told")
        }
        "headed" => {
            let parts = cx.extensions.get::<axum::http::request::Parts>();
            let header = parts.and_then(|parts| parts.headers.get("mcp-param-value"));
            said(header.map_or("no header", |header| header.to_str().unwrap_or("not text")))
        }
        "ask_model" => match asks
            .ask(cx, &[("model", input::model(text("prompt")))])
            .await?
        {
            InputOutcome::Answers(given) => said(input::heard(&given["model"])),
            InputOutcome::Round(round) => round,
        },
        "ask_user" => match asks.ask(cx, &[("order", order())]).await? {
            InputOutcome::Answers(given) => answered(&given["order"]),
            InputOutcome::Round(round) => round,
        },
        "ask_url" => ask_url(text("url"), asks, cx).await?,
        "ask_all" => ask_all(asks, cx).await?,
        "ask_twice" => ask_twice(asks, cx).await?,
        "ask_roots" => match asks.ask(cx, &[("roots", input::roots())]).await? {
            InputOutcome::Answers(given) => said(given["roots"]["roots"].to_string()),
            InputOutcome::Round(round) => round,
        },
        "needs_url" => {
            let first = arguments["first"].as_bool().unwrap_or(false);
            if first && !peer.visited.swap(true, Ordering::Relaxed) {
                let visit = json!({
                    "mode": "url",
                    "message": "Visit this first",
                    "url": "https://example.com/first",
                    "elicitationId": "visit-2"
                });
                let data = json!({ "elicitations": [visit] });
                return Err(ErrorData::new(
                    ErrorCode(-32042),
                    "a visit is needed",
                    Some(data),
                ));
            }
            said("visited")
        }
        other => {
            return Err(ErrorData::invalid_params(
                format!("there is no tool {other}"),
                None,
            ));
        }
    })
}

async fn report(cx: &Context, progress: f64, total: Option<f64>) -> Result<(), ErrorData> {
    if let Some(token) = cx.meta.get_progress_token() {
        let mut report = json!({ "progressToken": shown(token), "progress": progress });
        if let Some(total) = total {
            report["total"] = total.into();
        }
        cx.peer.notify_progress(made(report)?).await.map_err(lost)?;
    }
    Ok(())
}

async fn count(steps: u64, cx: &Context) -> Result<Value, ErrorData> {
    for step in 1..=steps {
        report(cx, step as f64, Some(steps as f64)).await?;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(said(format!("counted to {steps}")))
}

async fn wait(seconds: f64, record: &str, cx: &Context) -> Result<Value, ErrorData> {
    report(cx, 1.0, None).await?;
    tokio::select! {
        () = tokio::time::sleep(Duration::from_secs_f64(seconds)) => Ok(said("it was not cancelled")),
        () = cx.ct.cancelled() => {
            let recorded = std::fs::write(record, "");
            Ok(failed(recorded.map_or_else(|error| error.to_string(), |()| "cancelled".to_owned())))
        }
    }
}

fn order() -> Value {
    input::user(
        "What may it be?",
        json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "minLength": 2, "description": "The name of the customer" },
                "sugar": { "type": "integer", "minimum": 0, "maximum": 5 },
                "strength": { "type": "number", "default": 1.5 },
                "tea": { "type": "string", "enum": ["green", "black"], "default": "black" },
                "milk": { "type": "boolean", "default": true }
            },
            "required": ["name", "sugar"]
        }),
    )
}

fn answered(answer: &Value) -> Value {
    match answer["action"].as_str() {
        Some("accept") => said(answer["content"].to_string()),
        action => said(format!("user: {}", action.unwrap_or_default())),
    }
}

async fn ask_all(asks: &InputRequests, cx: &Context) -> Result<Value, ErrorData> {
    let wanted = [
        ("user", input::name("Enter your name")),
        ("model", input::model("say hello")),
        ("roots", input::roots()),
    ];
    Ok(match asks.ask(cx, &wanted).await? {
        InputOutcome::Round(round) => round,
        InputOutcome::Answers(given) => said(format!(
            "{}; {}; {}",
            given["user"]["content"]["name"],
            input::heard(&given["model"]),
            given["roots"]["roots"]
        )),
    })
}

/// The first response is returned in `requestState`.
async fn ask_twice(asks: &InputRequests, cx: &Context) -> Result<Value, ErrorData> {
    let first = match &asks.state {
        Some(first) => first.clone(),
        None => match asks
            .ask(cx, &[("first", input::name("Enter your name"))])
            .await?
        {
            InputOutcome::Round(round) => return Ok(round),
            InputOutcome::Answers(given) => shown(&given["first"]["content"]["name"])
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        },
    };
    let question = input::name(&format!("And who comes with {first}?"));
    Ok(match asks.ask(cx, &[("second", question)]).await? {
        InputOutcome::Round(mut round) => {
            round["requestState"] = first.into();
            round
        }
        InputOutcome::Answers(given) => said(format!(
            "{first} and {}",
            given["second"]["content"]["name"]
        )),
    })
}

async fn ask_url(url: &str, asks: &InputRequests, cx: &Context) -> Result<Value, ErrorData> {
    let visit = match asks.ask(cx, &[("visit", input::visit(url, cx))]).await? {
        InputOutcome::Round(round) => return Ok(round),
        InputOutcome::Answers(given) => given["visit"].clone(),
    };
    let action = visit["action"].as_str().unwrap_or_default();
    if action == "accept" && !is_stateless(cx) {
        // The SDK has no type for it.
        let over = CustomNotification::new(
            "notifications/elicitation/complete",
            Some(json!({ "elicitationId": "visit-1" })),
        );
        let over = ServerNotification::CustomNotification(over);
        cx.peer.send_notification(over).await.map_err(lost)?;
    }
    Ok(said(format!("user: {action}")))
}
