//! Tools: lists, calls, progress, cancellation.

use std::future::IntoFuture as _;
use std::sync::{Arc, Mutex, PoisonError};

use mcp_types::{CallToolResult, TaskSupport, Tool};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::arguments;
use crate::lifecycle::code;
use crate::report::{Fault, Outcome, ensure, same, says, worked};
use crate::target::Session;

/// Number of concurrent calls.
pub(crate) const CONCURRENT: usize = 50;

/// A tool with known arguments and a known text of its result.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) name: &'static str,
    pub(crate) arguments: Value,
    pub(crate) says: &'static str,
}

/// Creates an entry of the table of known tools.
pub(crate) fn known(name: &'static str, arguments: Value, says: &'static str) -> Known {
    Known {
        name,
        arguments,
        says,
    }
}

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

/// Calls each listed tool with the arguments of the table, or else with arguments generated from its
/// schema. Tools that run as tasks have a separate row.
pub(crate) async fn call_all(session: &Session, table: &[Known]) -> Outcome {
    let tools = session.client.list_tools().await?;
    let mut called = 0;
    let mut tasks = Vec::new();
    for entry in table {
        ensure(tools.iter().any(|tool| tool.name == entry.name), || {
            format!("{} is not listed", entry.name)
        })?;
    }
    // In the order of the table, because some tools need the results of earlier ones.
    for entry in table {
        call(session, entry.name, entry.arguments.clone(), entry.says).await?;
        called += 1;
    }
    for tool in &tools {
        if is_task(tool) {
            tasks.push(&*tool.name);
        } else if !table.iter().any(|entry| entry.name == tool.name) {
            let made_up = arguments::example(&Value::Object(tool.input_schema.clone()));
            call(session, &tool.name, made_up, "").await?;
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

/// Calls a tool that must succeed with a non-empty result; returns the result.
pub(crate) async fn call(
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
pub(crate) async fn structured(
    session: &Session,
    name: &str,
    arguments: Value,
    member: &str,
) -> Outcome {
    let tools = session.client.list_tools().await?;
    let schema = tools.iter().find(|tool| tool.name == name);
    ensure(
        schema.is_some_and(|tool| tool.output_schema.is_some()),
        || format!("{name} advertises no output schema"),
    )?;
    let output: Value = session.client.call_tool(name, arguments).decoded().await?;
    let value = output
        .get(member)
        .ok_or_else(|| format!("no {member} in {output}"))?;
    worked(format!("{name}: {member} is {value:.60}"))
}

/// Calls a tool that fails; its result must be an error.
pub(crate) async fn failing(
    session: &Session,
    name: &str,
    arguments: Value,
    fragment: &str,
) -> Outcome {
    let result = session.client.call_tool(name, arguments).await?;
    ensure(result.is_error(), || format!("{name} did not fail"))?;
    says(name, &result.joined_text(), fragment)?;
    worked(result.joined_text())
}

/// Sends wrong arguments: the response must be an error result or `invalid params`.
pub(crate) async fn bad_arguments(session: &Session, name: &str, arguments: Value) -> Outcome {
    failed_or_refused(session, name, arguments).await
}

/// Calls an unknown tool, with the same expected response.
pub(crate) async fn unknown(session: &Session) -> Outcome {
    failed_or_refused(session, "no-such-tool", Value::Null).await
}

async fn failed_or_refused(session: &Session, name: &str, arguments: Value) -> Outcome {
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
pub(crate) async fn progress(
    session: &Session,
    name: &str,
    arguments: Value,
    steps: usize,
) -> Outcome {
    let seen = Arc::<Mutex<Vec<f64>>>::default();
    let recorded = Arc::clone(&seen);
    let call = session
        .client
        .call_tool(name, arguments)
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
pub(crate) async fn large(session: &Session, name: &str, arguments: Value, text: &str) -> Outcome {
    let result = call(session, name, arguments, "").await?;
    ensure(holds(&serde_json::to_value(&result)?, text), || {
        format!("{name} gave something else back")
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

/// Sends all calls before the first response; each call must get its own response.
pub(crate) async fn concurrent(
    session: &Session,
    name: &'static str,
    arguments: impl Fn(&str) -> Value,
) -> Outcome {
    let mut calls = JoinSet::new();
    for number in 0..CONCURRENT {
        let mark = format!("call-{number:03}");
        let call = session.client.call_tool(name, arguments(&mark));
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
pub(crate) async fn cancel(session: &Session, name: &str, arguments: Value) -> Outcome {
    let (report, mut reports) = mpsc::channel(1);
    let call = session
        .client
        .call_tool(name, arguments)
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
