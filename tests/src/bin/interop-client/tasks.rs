//! Tools that run as tasks (2025-11-25), awaited like other calls or through a handle.

use std::sync::{Arc, Mutex, PoisonError};

use mcp_client::{CallStart, Error, TaskHandle, TaskRef};
use mcp_types::TaskStatus;

use crate::profile::Call;
use crate::report::{Fault, Outcome, ensure, same, says, worked};
use crate::target::Session;

/// A task that requests input: awaited; then started, listed, polled and resumed; and a task that is cancelled.
pub(crate) async fn run(session: &Session, call: &Call) -> Outcome {
    let (tool, fragment) = (&*call.tool, &*call.says);
    let client = &session.client;
    let forms = session.host.seen().forms.len();
    let states = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&states);
    // The tool was not listed, so the client does not know yet that it runs as a task.
    let result = client
        .call_tool(tool, call.arguments.clone())
        .on_status(move |state| {
            let mut noted = noted.lock().unwrap_or_else(PoisonError::into_inner);
            noted.push(state.status.clone());
        })
        .await?;
    says(tool, &result.joined_text(), fragment)?;
    same("forms", session.host.seen().forms.len(), forms + 1)?;
    let states = states
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    for status in [TaskStatus::Working, TaskStatus::InputRequired] {
        ensure(states.contains(&status), || {
            format!("the task was never {status}: {states:?}")
        })?;
    }

    let task = start(session, call).await?;
    let id = task.task_ref().id();
    let listed = client.list_tasks().await?;
    ensure(listed.iter().any(|one| one.task_id == id), || {
        "the task is not listed".to_owned()
    })?;
    let stored = serde_json::to_string(task.task_ref())?;
    let ticket: TaskRef = serde_json::from_str(&stored)?;
    let result = client.task(ticket).wait().await?;
    says(tool, &result.joined_text(), fragment)?;
    same(
        "the status",
        task.status().await?.status,
        TaskStatus::Completed,
    )?;

    let task = start(session, call).await?;
    task.cancel().await?;
    same(
        "the status",
        task.status().await?.status,
        TaskStatus::Cancelled,
    )?;
    let outcome = task.wait().await;
    ensure(matches!(outcome, Err(Error::TaskCancelled { .. })), || {
        format!("a cancelled task came to {outcome:?}")
    })?;
    worked("one awaited, one resumed, one cancelled")
}

async fn start(session: &Session, call: &Call) -> Result<TaskHandle, Fault> {
    let call = session
        .client
        .call_tool(&*call.tool, call.arguments.clone());
    match call.start().await? {
        CallStart::Task(task) => Ok(task),
        other => Err(format!("a call that is no task: {other:?}").into()),
    }
}
