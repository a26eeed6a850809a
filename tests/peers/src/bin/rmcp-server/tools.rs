//! Tools.

use std::sync::atomic::Ordering;
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CustomNotification, ErrorCode, ListToolsResult, ServerNotification,
};
use serde_json::{Map, Value, json};

use crate::{Context, Peer, lock, made, shown};

/// Tools a page.
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
        tool("echo", "Says it back", &[("text", text())]),
        tool("weather", "Gives structured output", &[("city", text())]),
        tool("count", "Reports progress", &[("steps", number())]),
        tool(
            "ask_model",
            "Asks the client's model",
            &[("prompt", text())],
        ),
        tool("ask_url", "Sends the user to a URL", &[("url", text())]),
        tool("touch", "Says that a resource changed", &[("uri", text())]),
    ];
    for (name, description) in [
        ("fail", "Fails if there is a reason to"),
        ("wait", "Waits until it is cancelled, and remembers that"),
        ("was_cancelled", "Whether the tool that waits was cancelled"),
        ("ask_user", "Asks the user to fill in a form"),
        ("ask_roots", "Asks for the roots"),
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

fn lost(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

/// Runs a tool; gives its result as JSON.
pub(crate) async fn call(
    peer: &Peer,
    call: CallToolRequestParams,
    cx: &Context,
) -> Result<Value, ErrorData> {
    let arguments = Value::Object(call.arguments.unwrap_or_default());
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
        "wait" => wait(peer, arguments["seconds"].as_f64().unwrap_or(300.0), cx).await?,
        "was_cancelled" => said(peer.cancelled.load(Ordering::Relaxed).to_string()),
        "touch" => {
            let uri = text("uri").to_owned();
            if lock(&peer.subscribed).contains(&uri) {
                let updated = made(json!({ "uri": uri }))?;
                cx.peer
                    .notify_resource_updated(updated)
                    .await
                    .map_err(lost)?;
            }
            said("touched")
        }
        "change" => {
            cx.peer.notify_tool_list_changed().await.map_err(lost)?;
            cx.peer.notify_prompt_list_changed().await.map_err(lost)?;
            cx.peer.notify_resource_list_changed().await.map_err(lost)?;
            said("changed")
        }
        "ask_model" => {
            let content = json!({ "type": "text", "text": text("prompt") });
            let question = json!({
                "messages": [{ "role": "user", "content": content }],
                "maxTokens": 50
            });
            let answer = cx
                .peer
                .create_message(made(question)?)
                .await
                .map_err(lost)?;
            let answer = shown(answer);
            let text = answer["content"]["text"].as_str().unwrap_or_default();
            said(format!(
                "{}: {text}",
                answer["model"].as_str().unwrap_or_default()
            ))
        }
        "ask_user" => ask_user(cx).await?,
        "ask_url" => ask_url(text("url"), cx).await?,
        "ask_roots" => {
            let answer = cx.peer.list_roots().await.map_err(lost)?;
            said(shown(answer)["roots"].to_string())
        }
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

async fn wait(peer: &Peer, seconds: f64, cx: &Context) -> Result<Value, ErrorData> {
    report(cx, 1.0, None).await?;
    tokio::select! {
        () = tokio::time::sleep(Duration::from_secs_f64(seconds)) => Ok(said("nobody cancelled")),
        () = cx.ct.cancelled() => {
            peer.cancel();
            Ok(failed("cancelled"))
        }
    }
}

async fn ask_user(cx: &Context) -> Result<Value, ErrorData> {
    let question = json!({
        "mode": "form",
        "message": "What may it be?",
        "requestedSchema": {
            "type": "object",
            "properties": {
                "name": { "type": "string", "minLength": 2, "description": "Who orders" },
                "sugar": { "type": "integer", "minimum": 0, "maximum": 5 },
                "strength": { "type": "number", "default": 1.5 },
                "tea": { "type": "string", "enum": ["green", "black"], "default": "black" },
                "milk": { "type": "boolean", "default": true }
            },
            "required": ["name", "sugar"]
        }
    });
    let answer = cx
        .peer
        .create_elicitation(made(question)?)
        .await
        .map_err(lost)?;
    let answer = shown(answer);
    Ok(match answer["action"].as_str() {
        Some("accept") => said(answer["content"].to_string()),
        action => said(format!("user: {}", action.unwrap_or_default())),
    })
}

async fn ask_url(url: &str, cx: &Context) -> Result<Value, ErrorData> {
    let question = json!({
        "mode": "url",
        "message": "Please look at this",
        "url": url,
        "elicitationId": "visit-1"
    });
    let answer = cx
        .peer
        .create_elicitation(made(question)?)
        .await
        .map_err(lost)?;
    let answer = shown(answer);
    let action = answer["action"].as_str().unwrap_or_default();
    if action == "accept" {
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
