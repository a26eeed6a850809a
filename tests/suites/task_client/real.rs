//! Client and server together: the same handlers, calls and tests on both kinds of revisions.

use mcp_client::{CallStart, TaskRef};
use mcp_server::TaskMode;
use mcp_types::TaskStatus;

use super::{SeenStates, accepting, client};
use crate::gate::OnDrop;
use crate::peer::calling;
use crate::prelude::*;

const REVISIONS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

/// Asks for a name, as a task.
fn hello() -> Tool {
    Tool::new("hello", async |cx: Ctx| {
        cx.status("asking");
        let answer = cx.named("name").elicit::<Name>("who?").await?;
        let name = answer.accepted().map_or_else(String::new, |it| it.name);
        Ok::<_, HandlerError>(format!("hello, {name}"))
    })
    .task(TaskMode::Required)
}

/// Runs until it is dropped, which is counted.
fn endless(dropped: &Arc<AtomicUsize>, started: &Arc<Notify>) -> Tool {
    let (dropped, started) = (Arc::clone(dropped), Arc::clone(started));
    Tool::new("endless", move || {
        let dropped = Arc::clone(&dropped);
        let guard = OnDrop(move || {
            dropped.fetch_add(1, Ordering::Relaxed);
        });
        let started = Arc::clone(&started);
        async move {
            let _guard = guard;
            started.notify_one();
            std::future::pending::<String>().await
        }
    })
    .task(TaskMode::Required)
}

async fn with(builder: ClientBuilder, revision: Revision, tools: Vec<Tool>) -> Client {
    let server = Server::builder("tasks", "1").tools(tools);
    let client = connect(builder.revision(revision), server).await.unwrap();
    assert_eq!(client.revision(), revision);
    client
}

// proves: M-TASK-004, M-TASK-011, M-TASK-013, TASK-013, TASK-044
#[tokio::test(start_paused = true)]
async fn a_task_that_requests_input_needs_one_await_on_all_revisions() {
    for revision in REVISIONS {
        let client = with(accepting(), revision, vec![hello()]).await;
        let seen = SeenStates::default();
        let noted = seen.clone();
        // The tool was never listed.
        let call = client.call_tool("hello", json!({}));
        let call = call.on_status(move |state| noted.note(&state.status));
        let result = call.await.unwrap();
        assert_eq!(result.joined_text(), "hello, octocat", "{revision}");
        let seen = seen.take();
        assert_eq!(seen[0], TaskStatus::Working, "{revision}");
        assert!(
            seen.contains(&TaskStatus::InputRequired),
            "{revision}: {seen:?}"
        );
        assert!(format!("{client:?}").contains("progress_tokens: 0"));
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_a_call_stops_the_handler_on_all_revisions() {
    for revision in REVISIONS {
        let (dropped, started) = (Arc::default(), Arc::new(Notify::new()));
        let tools = vec![endless(&dropped, &started)];
        let client = with(client(), revision, tools).await;
        let caller = client.clone();
        let calling = calling(&caller, "endless");
        started.notified().await;
        tokio::time::sleep(Duration::from_secs(5)).await;
        calling.abort();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(dropped.load(Ordering::Relaxed), 1, "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_handle_supports_all_operations_on_all_revisions() {
    for revision in REVISIONS {
        let (dropped, started) = (Arc::default(), Arc::new(Notify::new()));
        let tools = vec![hello(), endless(&dropped, &started)];
        let client = with(accepting(), revision, tools).await;
        let start = async |tool: &str| match client.call_tool(tool, json!({})).start().await {
            Ok(CallStart::Task(task)) => task,
            other => panic!("{revision}: {other:?}"),
        };
        let task = start("endless").await;
        started.notified().await;
        assert_eq!(task.status().await.unwrap().status, TaskStatus::Working);
        task.cancel().await.unwrap();
        assert_eq!(task.status().await.unwrap().status, TaskStatus::Cancelled);
        let error = task.wait().await.unwrap_err();
        assert!(
            matches!(error, Error::TaskCancelled { .. }),
            "{revision}: {error}"
        );

        let task = start("hello").await;
        let stored = serde_json::to_string(task.task_ref()).unwrap();
        drop(task);
        let ticket: TaskRef = serde_json::from_str(&stored).unwrap();
        let result = client.task(ticket).wait().await.unwrap();
        assert_eq!(result.joined_text(), "hello, octocat", "{revision}");

        let mut unknown = serde_json::to_value(client_ticket(&stored)).unwrap();
        unknown["id"] = json!("unknown");
        let task = client.task(serde_json::from_value(unknown).unwrap());
        assert_fails!(task.wait().await, Error::TaskLost { .. });
    }
}

fn client_ticket(stored: &str) -> TaskRef {
    serde_json::from_str(stored).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_failed_task_has_the_error_of_a_call_without_a_task_on_all_revisions() {
    for revision in REVISIONS {
        let failing = || async { Err::<String, _>("out of paper") };
        let refusing = || async {
            let error = ErrorObject::internal("out of order");
            Err::<String, _>(HandlerError::protocol(error))
        };
        let tools = vec![
            Tool::new("failing", failing).task(TaskMode::Required),
            Tool::new("refusing", refusing).task(TaskMode::Required),
        ];
        let client = with(client(), revision, tools).await;
        let result = client.call_tool("failing", json!({})).await.unwrap();
        assert!(result.is_error(), "{revision}");
        assert_eq!(result.joined_text(), "out of paper", "{revision}");
        let error = client.call_tool("refusing", json!({})).await.unwrap_err();
        assert_eq!(
            error.rejection().unwrap().message,
            "out of order",
            "{revision}"
        );
    }
}

// proves: TASK-012
#[tokio::test(start_paused = true)]
async fn a_tool_with_optional_tasks_runs_as_a_task_if_requested() {
    let tools = || vec![Tool::new("either", || "done").task(TaskMode::Optional)];
    let client = with(client(), Revision::V2025_11_25, tools()).await;
    let started = client.call_tool("either", json!({})).start().await;
    assert!(matches!(started, Ok(CallStart::Done(_))), "{started:?}");
    let call = client.call_tool("either", json!({}));
    let ttl = Duration::from_secs(60);
    let Ok(CallStart::Task(task)) = call.as_task(ttl).start().await else {
        panic!("no task");
    };
    assert_eq!(task.status().await.unwrap().ttl, Some(ttl));
    assert_eq!(task.wait().await.unwrap().joined_text(), "done");
    // Where the server decides, the same call works.
    let client = with(super::client(), Revision::V2026_07_28, tools()).await;
    let result = client.call_tool("either", json!({})).as_task(ttl).await;
    assert_eq!(result.unwrap().joined_text(), "done");
}
