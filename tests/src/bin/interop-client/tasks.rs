//! Tools that run as tasks (2025-11-25), through the client's typed requests.

use std::time::Duration;

use mcp_types::{
    CallToolRequestParams, CancelTaskRequest, CancelTaskRequestParams, CreateTaskResult,
    GetTaskPayloadRequest, GetTaskPayloadRequestParams, GetTaskRequest, GetTaskRequestParams,
    JsonObject, ListTasksRequest, PaginatedRequestParams, Request, Task, TaskMetadata, TaskStatus,
    method,
};

use crate::report::{Fault, Outcome, ensure, same, says, worked};
use crate::target::Session;

/// `tools/call` with a `task` member, which is answered with the task.
#[derive(Debug)]
enum StartTask {}

impl Request for StartTask {
    const METHOD: &'static str = method::TOOLS_CALL;
    type Params = CallToolRequestParams;
    type Result = CreateTaskResult;
}

/// A task that asks the user on the way: started, watched, listed, answered, fetched; and
/// another one cancelled.
pub(crate) async fn run(
    session: &Session,
    tool: &str,
    arguments: JsonObject,
    fragment: &str,
) -> Outcome {
    let task = start(session, tool, arguments.clone()).await?;
    let forms = session.host.seen().forms.len();
    wait(session, &task, TaskStatus::InputRequired).await?;
    let params = PaginatedRequestParams::default();
    let listed = session.client.request::<ListTasksRequest>(&params).await?;
    ensure(
        listed.tasks.iter().any(|one| one.task_id == task.task_id),
        || format!("{} is not listed", task.task_id),
    )?;
    // The question travels with the wait for the result.
    let params = GetTaskPayloadRequestParams::new(&*task.task_id);
    let result = session
        .client
        .request::<GetTaskPayloadRequest>(&params)
        .await?;
    says(tool, &serde_json::to_string(&result)?, fragment)?;
    same("forms", session.host.seen().forms.len(), forms + 1)?;
    wait(session, &task, TaskStatus::Completed).await?;

    let second = start(session, tool, arguments).await?;
    let params = CancelTaskRequestParams::new(&*second.task_id);
    let cancelled = session.client.request::<CancelTaskRequest>(&params).await?;
    same("the status", cancelled.status, TaskStatus::Cancelled)?;
    worked("one completed, one cancelled")
}

async fn start(session: &Session, tool: &str, arguments: JsonObject) -> Result<Task, Fault> {
    let params = CallToolRequestParams::new(tool)
        .with_arguments(arguments)
        .with_task(TaskMetadata::default().with_ttl(60_000));
    let created = session.client.request::<StartTask>(&params).await?;
    same("the status", &created.task.status, &TaskStatus::Working)?;
    Ok(created.task)
}

/// Looks at the task as often as it likes, until it has this status.
async fn wait(session: &Session, task: &Task, status: TaskStatus) -> Result<(), Fault> {
    let params = GetTaskRequestParams::new(&*task.task_id);
    let pause = Duration::from_millis(task.poll_interval.unwrap_or(500).min(1_000));
    loop {
        let now = session.client.request::<GetTaskRequest>(&params).await?;
        if now.status == status {
            return Ok(());
        }
        let over = [
            TaskStatus::Completed,
            TaskStatus::Failed,
            TaskStatus::Cancelled,
        ];
        ensure(!over.contains(&now.status), || {
            format!("the task is {}, not {status}", now.status)
        })?;
        tokio::time::sleep(pause).await;
    }
}
