//! Tools: lists, calls, progress, cancellation, logging.

use std::collections::BTreeSet;

use rmcp::model::ClientRequest;
use rmcp::service::PeerRequestOptions;
use serde_json::{Value, json};

use crate::place::Target;
use crate::report::{Fault, Outcome, ensure, row, same};
use crate::{Session, made, refused, shown, text};

/// The arguments of tools that require some, and the expected text.
fn known(tool: &str) -> (Value, &'static str) {
    match tool {
        "add" => (json!({ "a": 2, "b": 3 }), "5"),
        "echo" => (json!({ "message": "grüß dich" }), "grüß dich"),
        "get_weather" => (json!({ "location": "Oslo" }), "sunny in Oslo"),
        "json_schema_2020_12_tool" => (json!({ "contactMethod": "phone", "phone": "1" }), "phone"),
        "test_custom_header" => (json!({ "value": "v" }), "v"),
        "greet" => (json!({ "name": "Ada" }), "Ada"),
        "slow_compute" => (
            json!({ "seconds": 0, "label": "nothing" }),
            "computed nothing",
        ),
        "test_sampling" => (json!({ "prompt": "six times seven?" }), "six times seven?"),
        "test_elicitation" => (json!({ "message": "who?" }), "action="),
        "test_image_content" => (json!({}), "\"type\":\"image\""),
        "test_audio_content" => (json!({}), "audio/wav"),
        "test_multiple_content_types" => (json!({}), "test://mixed-content-resource"),
        _ => (json!({}), ""),
    }
}

/// Tools with a separate row, because they fail or wait on purpose.
const APART: [&str; 2] = ["test_error_handling", "wait_for_cancel"];

/// Tools for clients that declare the extension for tasks.
const TASKS: [&str; 5] = [
    "failing_job",
    "protocol_error_job",
    "confirm_delete",
    "multi_input",
    "test_tool_with_task",
];

pub(crate) async fn rows(s: &Session) {
    let no_such = made::<ClientRequest>(json!({ "method": "no/such" }));
    row(
        "unknown-method",
        refused(-32601, s.client.send_request(no_such)),
    )
    .await;
    let reverse = json!({ "method": "com.example/reverse", "params": { "text": "abc" } });
    row("custom-method", async {
        let result = shown(s.client.send_request(made(reverse)).await?);
        same("the text", &result["text"], &json!("cba"))?;
        Ok(result["text"].to_string())
    })
    .await;
    row("tools-list", async {
        Ok(format!("{} tools", s.client.list_all_tools().await?.len()))
    })
    .await;
    row("tools-call", call_all(s)).await;
    row("structured-output", structured(s)).await;
    row("tool-errors", failing(s, "test_error_handling", json!({}))).await;
    row("bad-arguments", failing(s, "add", json!({ "a": "two" }))).await;
    row(
        "unknown-tool",
        refused(-32602, s.call("no-such-tool", json!({}))),
    )
    .await;
    row("progress", progress(s)).await;
    row("cancellation", cancellation(s)).await;
    row("concurrent", concurrent(s)).await;
    row("large", large(s)).await;
}

/// The features that only sessions have.
pub(crate) async fn sessions(s: &Session, place: &Target) {
    row("logging", logging(s)).await;
    if place.is_http() {
        row("resumption", async {
            s.said("test_reconnection", json!({})).await
        })
        .await;
    }
}

/// Calls every tool, with a user that answers every elicitation.
async fn call_all(s: &Session) -> Outcome {
    s.host.fill();
    let tools = s.client.list_all_tools().await?;
    let mut called = 0;
    let is_apart = |name: &str| APART.contains(&name) || TASKS.contains(&name);
    for tool in tools.iter().filter(|tool| !is_apart(&tool.name)) {
        let (arguments, says) = known(&tool.name);
        let result = s.call(&tool.name, arguments).await?;
        let sound = result["isError"] != true && result.to_string().contains(says);
        ensure(sound, || {
            format!("{} does not say {says}: {result}", tool.name)
        })?;
        called += 1;
    }
    Ok(format!("{called} calls"))
}

async fn structured(s: &Session) -> Outcome {
    let result = s.call("get_weather", json!({ "location": "Oslo" })).await?;
    let expected = json!({ "temperature": 21.5, "conditions": "sunny in Oslo" });
    same("the output", &result["structuredContent"], &expected)?;
    Ok(expected.to_string())
}

async fn failing(s: &Session, tool: &str, arguments: Value) -> Outcome {
    let result = s.call(tool, arguments).await?;
    same("isError", &result["isError"], true)?;
    Ok(text(&result))
}

async fn progress(s: &Session) -> Outcome {
    let before = s.host.seen().progress.len();
    s.said("test_tool_with_progress", json!({})).await?;
    let arrived = s
        .host
        .until("progress", |seen| seen.progress.len() >= before + 3);
    let seen = arrived.await?.progress;
    let seen: Vec<f64> = seen[before..]
        .iter()
        .filter_map(|one| one["progress"].as_f64())
        .collect();
    same("progress", seen, vec![0.0, 50.0, 100.0])?;
    Ok("3 reports".to_owned())
}

async fn cancellation(s: &Session) -> Outcome {
    let before = s.host.seen().progress.len();
    let call = json!({
        "method": "tools/call",
        "params": { "name": "wait_for_cancel", "arguments": {} }
    });
    let call = made::<ClientRequest>(call);
    let call = s
        .client
        .send_cancellable_request(call, PeerRequestOptions::no_options())
        .await?;
    s.host
        .until("progress", |seen| seen.progress.len() > before)
        .await?;
    call.cancel(Some("enough".to_owned())).await?;
    s.said("echo", json!({ "message": "still there" })).await?;
    Ok("cancelled after its first progress".to_owned())
}

async fn concurrent(s: &Session) -> Outcome {
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..50 {
        let mark = format!("call-{number:03}");
        let params = made(json!({ "name": "echo", "arguments": { "message": mark } }));
        let peer = s.client.peer().clone();
        calls.spawn(async move { (mark, peer.call_tool(params).await) });
    }
    let mut marks = BTreeSet::new();
    while let Some(done) = calls.join_next().await {
        let (mark, result) = done?;
        same("the answer", text(&shown(result?)), mark.clone())?;
        marks.insert(mark);
    }
    Ok(format!("{} calls", marks.len()))
}

async fn large(s: &Session) -> Outcome {
    let message =
        "plain \"quoted\" back\\slash é 漢字 😀 \u{2028}\u{2029}\u{85}\u{7f}\t\n".repeat(20_000);
    let said = s.said("echo", json!({ "message": message })).await?;
    ensure(said == message, || {
        "echo gave something else back".to_owned()
    })?;
    Ok(format!("{} bytes", message.len()))
}

async fn logging(s: &Session) -> Outcome {
    async fn messages(s: &Session, level: &str, expected: usize) -> Result<Vec<Value>, Fault> {
        let before = s.host.seen().logs.len();
        s.client.set_level(made(json!({ "level": level }))).await?;
        s.said("test_tool_with_logging", json!({})).await?;
        s.ping().await?;
        let arrived = s
            .host
            .until("messages", |seen| seen.logs.len() >= before + expected);
        let logs = arrived.await?.logs.split_off(before);
        same("messages", logs.len(), expected)?;
        Ok(logs)
    }
    messages(s, "error", 0).await?;
    let logs = messages(s, "debug", 3).await?;
    let is_info = logs.iter().all(|message| message["level"] == "info");
    ensure(is_info, || format!("{logs:?}"))?;
    messages(s, "error", 0).await?;
    Ok("3 messages".to_owned())
}
