//! Tools: lists, calls, progress, cancellation.

use std::future::IntoFuture as _;
use std::sync::{Arc, Mutex, PoisonError};

use mcp_types::{CallToolResult, JsonObject, TaskSupport, Tool};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::arguments;
use crate::lifecycle::code;
use crate::profile::Call;
use crate::report::{Fault, Outcome, ensure, same, says, worked};
use crate::target::Session;

/// Number of concurrent calls.
const CONCURRENT: usize = 50;

/// Lists the tools: each must have a unique name and an object as its input schema.
pub(crate) async fn list(session: &Session) -> Outcome {
    let tools = session.client.list_tools().await?;
    ensure(!tools.is_empty(), || "no tools".to_owned())?;
    let mut names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    names.sort_unstable();
    names.dedup();
    same("the number of names", names.len(), tools.len())?;
    for tool in &tools {
        same(&tool.name, &tool.input_schema["type"], "object")?;
    }
    worked(format!("{} tools", tools.len()))
}

/// Calls each listed tool with known arguments, or else with arguments generated from its schema. Tools
/// that run as tasks have a separate row.
pub(crate) async fn call_all(session: &Session, table: Vec<&Call>) -> Outcome {
    let tools = session.client.list_tools().await?;
    let mut called = 0;
    let mut tasks = Vec::new();
    // In the order of the table, because some tools need the results of earlier ones.
    for known in &table {
        ensure(tools.iter().any(|tool| tool.name == known.tool), || {
            format!("{} is not listed", known.tool)
        })?;
        call(session, known).await?;
        called += 1;
    }
    for tool in &tools {
        if is_task(tool) {
            tasks.push(&*tool.name);
        } else if !table.iter().any(|known| known.tool == tool.name) {
            let made_up = arguments::example(&Value::Object(tool.input_schema.clone()));
            call_with(session, &tool.name, made_up, "").await?;
            called += 1;
        }
    }
    let rest = match tasks.len() {
        0 => String::new(),
        _ => format!(", as tasks only: {}", tasks.join(", ")),
    };
    worked(format!("{called} calls{rest}"))
}

fn is_task(tool: &Tool) -> bool {
    let support = tool
        .execution
        .as_ref()
        .and_then(|e| e.task_support.as_ref());
    support == Some(&TaskSupport::Required)
}

/// Calls a tool that must succeed and say the expected text; returns the result.
pub(crate) async fn call(session: &Session, call: &Call) -> Result<CallToolResult, Fault> {
    let arguments = call.arguments.clone().into();
    call_with(session, &call.tool, arguments, &call.says).await
}

/// Calls a tool in the same way.
pub(crate) async fn call_with(
    session: &Session,
    name: &str,
    arguments: Value,
    fragment: &str,
) -> Result<CallToolResult, Fault> {
    let host = session.host.clone();
    let called = session.client.call_tool(name, arguments);
    let result = called.on_progress(move |_| host.progressed()).await;
    let result = result.map_err(|error| format!("{name}: {error}"))?;
    ensure(!result.is_error(), || {
        format!("{name} failed: {}", result.joined_text())
    })?;
    let whole = serde_json::to_string(&result)?;
    ensure(
        whole.contains(fragment) || result.joined_text().contains(fragment),
        || format!("{name} does not say {fragment:?}: {whole:.400}"),
    )?;
    Ok(result)
}

/// A tool with structured output, checked against its schema by the client.
pub(crate) async fn structured(session: &Session, call: &Call) -> Outcome {
    let (name, member) = (&*call.tool, &*call.says);
    let tools = session.client.list_tools().await?;
    let schema = tools.iter().find(|tool| tool.name == name);
    ensure(
        schema.is_some_and(|tool| tool.output_schema.is_some()),
        || format!("{name} advertises no output schema"),
    )?;
    let output = session.client.call_tool(name, call.arguments.clone());
    let output: Value = output.decoded().await?;
    let value = output
        .get(member)
        .ok_or_else(|| format!("no {member} in {output}"))?;
    worked(format!("{name}: {member} is {value:.60}"))
}

/// Calls a tool that fails; its result must be an error.
pub(crate) async fn failing(session: &Session, call: &Call) -> Outcome {
    let name = &*call.tool;
    let result = session.client.call_tool(name, call.arguments.clone());
    let result = result.await?;
    ensure(result.is_error(), || format!("{name} did not fail"))?;
    says(name, &result.joined_text(), &call.says)?;
    worked(result.joined_text())
}

/// Sends wrong arguments: the response must be an error result or `invalid params`.
pub(crate) async fn bad_arguments(session: &Session, call: &Call) -> Outcome {
    failed_or_refused(session, &call.tool, call.arguments.clone()).await
}

/// Calls an unknown tool, with the same expected response.
pub(crate) async fn unknown(session: &Session) -> Outcome {
    failed_or_refused(session, "no-such-tool", JsonObject::new()).await
}

async fn failed_or_refused(session: &Session, name: &str, arguments: JsonObject) -> Outcome {
    match session.client.call_tool(name, arguments).await {
        Ok(result) => {
            ensure(result.is_error(), || format!("{name} did not fail"))?;
            worked(format!("isError: {}", result.joined_text()))
        }
        Err(error) => {
            let code = code::<()>(Err(error))?;
            same("the code", code, -32602)?;
            worked("code -32602")
        }
    }
}

/// Checks progress: it arrives before the result, increases, and reaches its total.
pub(crate) async fn progress(session: &Session, call: &Call) -> Outcome {
    let name = &*call.tool;
    let steps = call.arguments["steps"].as_u64().ok_or("no steps")? as usize;
    let seen = Arc::<Mutex<Vec<f64>>>::default();
    let recorded = Arc::clone(&seen);
    let call = session
        .client
        .call_tool(name, call.arguments.clone())
        .on_progress(move |progress| {
            let mut seen = recorded.lock().unwrap_or_else(PoisonError::into_inner);
            seen.push(progress.progress);
        });
    ensure(!call.await?.is_error(), || format!("{name} failed"))?;
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
    same("reports of progress", seen.len(), steps)?;
    ensure(seen.is_sorted(), || format!("progress fell: {seen:?}"))?;
    worked(format!("{steps} reports"))
}

/// A text of about a megabyte with characters that are difficult for framing and escaping.
pub(crate) fn large_text() -> String {
    "plain \"quoted\" back\\slash é 漢字 😀 \u{2028}\u{2029}\u{85}\u{7f}\t\n".repeat(20_000)
}

/// Sends a large text as an argument, which the result must contain unchanged.
pub(crate) async fn large(session: &Session, large: &Call, text: &str) -> Outcome {
    let result = call(session, &large.with("{text}", text)).await?;
    ensure(holds(&serde_json::to_value(&result)?, text), || {
        format!("{} gave something else back", large.tool)
    })?;
    worked(format!("{} bytes", text.len()))
}

fn holds(value: &Value, text: &str) -> bool {
    match value {
        Value::String(string) => string.contains(text),
        Value::Array(items) => items.iter().any(|item| holds(item, text)),
        Value::Object(members) => members.values().any(|member| holds(member, text)),
        _ => false,
    }
}

/// Returns the words that distinguish the concurrent calls.
pub(crate) fn marks() -> impl Iterator<Item = String> {
    (0..CONCURRENT).map(|number| format!("call-{number:03}"))
}

/// Sends all calls before the first response; each call must get its own response.
pub(crate) async fn concurrent(session: &Session, call: &Call) -> Outcome {
    let mut calls = JoinSet::new();
    for mark in marks() {
        let arguments = call.with("{mark}", &mark).arguments;
        let call = session.client.call_tool(&*call.tool, arguments);
        calls.spawn(async move { (mark, call.await) });
    }
    while let Some(done) = calls.join_next().await {
        let (mark, result) = done?;
        let result = serde_json::to_value(result?)?;
        ensure(holds(&result, &mark), || format!("{mark} got {result}"))?;
    }
    worked(format!("{CONCURRENT} calls"))
}

/// Drops a call after its first progress notification; the connection must remain usable.
pub(crate) async fn cancel(session: &Session, call: &Call) -> Outcome {
    let name = &*call.tool;
    let (report, mut reports) = mpsc::channel(1);
    let call = session
        .client
        .call_tool(name, call.arguments.clone())
        .on_progress(move |_| {
            let _ = report.try_send(());
        });
    tokio::select! {
        result = call.into_future() => {
            return Err(format!("{name} ended before it was cancelled: {result:?}").into());
        }
        _ = reports.recv() => {}
    }
    session.client.ping().await?;
    ensure(reports.recv().await.is_none(), || {
        "progress was handed on after the call was dropped".to_owned()
    })?;
    worked("dropped after its first progress")
}
