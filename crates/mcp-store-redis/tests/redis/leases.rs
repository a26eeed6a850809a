//! The tasks of a process that is killed.

use std::future::pending;
use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use mcp_protocol::task::{Task, TaskLease, TaskOutcome, TaskState, TaskStore as _};
use mcp_server::{Server, TaskMode, TaskOptions, Tool};
use mcp_store_redis::{RedisStore, RedisTaskStore};
use mcp_transport_http::Endpoint;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::http::{open, send_and_read};
use crate::process::{LIMIT, Redis, until};
use crate::stores::{later, now};

/// The variable with the URL of Redis, in the processes that this test starts.
const WORKER: &str = "MCP_REDIS_TEST_WORKER";
/// A busy machine must not keep a process from renewing its leases in time.
const LEASE: Duration = Duration::from_secs(6);
const TOOLS: [&str; 2] = ["wait", "resumable"];

/// A server whose handlers end only in the process of the test.
fn server(store: RedisTaskStore, is_worker: bool) -> Endpoint {
    let run = move || async move {
        if is_worker {
            pending::<()>().await;
        }
        "done"
    };
    let [wait, resumable] = TOOLS.map(|name| Tool::new(name, run).task(TaskMode::Required));
    let options = TaskOptions::new().with_lease(LEASE);
    let server = Server::builder("server", "1.0.0")
        .tool(wait)
        .tool(resumable.resumable())
        .task_store(store)
        .task_options(match is_worker {
            // The handlers of another worker would not end either.
            true => options.without_recovery(),
            false => options,
        })
        .build();
    Endpoint::new(server.unwrap()).unwrap()
}

/// Starts a task; returns its id.
async fn start(endpoint: &Endpoint, session: &str, tool: &str) -> String {
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{{"name":"{tool}","arguments":{{}},"task":{{}}}}}}"#
    );
    let (_, _, text) = send_and_read(endpoint, Some(session), "2025-11-25", &call).await;
    let answer: serde_json::Value = serde_json::from_str(&text).unwrap();
    let id = answer["result"]["task"]["taskId"].as_str().unwrap();
    id.to_owned()
}

/// Starts a task with each tool, and prints their ids.
async fn work(url: &str) {
    let store = RedisStore::connect(url).await.unwrap().task_store();
    let endpoint = server(store, true);
    let session = open(&endpoint).await;
    let mut stdout = std::io::stdout();
    for tool in TOOLS {
        let id = start(&endpoint, &session, tool).await;
        writeln!(stdout, "\ntask {id}").unwrap();
    }
    pending::<()>().await;
}

/// A process that runs [`work`].
struct Worker {
    process: Child,
    tasks: [String; 2],
}

impl Worker {
    async fn start(url: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "leases::the_tasks_of_a_killed_process_end_or_run_again",
                "--nocapture",
            ])
            .env(WORKER, url)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut tasks = Vec::new();
        let found = async {
            while tasks.len() < 2 {
                let line = lines
                    .next_line()
                    .await
                    .unwrap()
                    .expect("the ids of two tasks");
                tasks.extend(line.strip_prefix("task ").map(str::to_owned));
            }
        };
        timeout(LIMIT, found).await.unwrap();
        Self {
            process,
            tasks: tasks.try_into().unwrap(),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tasks_of_a_killed_process_end_or_run_again() {
    if let Ok(url) = std::env::var(WORKER) {
        return work(&url).await;
    }
    let Some(redis) = Redis::start("leases", &[]).await else {
        return;
    };
    let store = redis.redis().await.task_store();
    let mut killed = Worker::start(&redis.url()).await;
    let alive = Worker::start(&redis.url()).await;
    let endpoint = server(store.clone(), false);
    // The first request starts the recovery.
    open(&endpoint).await;
    killed.process.kill().await.unwrap();
    let mut outcomes = Vec::new();
    for id in &killed.tasks {
        let ended = until("the end of the task", async || {
            let task = store.get(id).await.unwrap().unwrap();
            task.has_ended().then(|| task.state().clone())
        });
        outcomes.push(ended.await);
    }
    match &*outcomes {
        [
            TaskState::Ended(TaskOutcome::Error(error)),
            TaskState::Ended(TaskOutcome::Result { json, .. }),
        ] => {
            assert_eq!(error.message, "the process that ran the task has ended");
            assert!(json.contains("done"), "{json:?}");
        }
        other => panic!("{other:?}"),
    }
    // The first leases of the other process have ended as well, and it has renewed them.
    for id in &alive.tasks {
        let task = store.get(id).await.unwrap().unwrap();
        assert_eq!(*task.state(), TaskState::Working);
        let lease = task.lease().unwrap();
        assert!(lease.until > task.created().after(LEASE), "{lease:?}");
    }
}

/// Sends a message when its handler is dropped.
struct Dropped(mpsc::Sender<()>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.try_send(());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_stops_if_another_process_has_its_lease_or_has_cancelled_it() {
    let Some(redis) = Redis::start("taken", &[]).await else {
        return;
    };
    let store = redis.redis().await.task_store();
    let (sender, mut dropped) = mpsc::channel(10);
    let wait = Tool::new("wait", move || {
        let guard = Dropped(sender.clone());
        async move {
            pending::<()>().await;
            drop(guard);
            "done"
        }
    });
    let server = Server::builder("server", "1.0.0")
        .tool(wait.task(TaskMode::Required))
        .task_store(redis.redis().await.task_store())
        .task_options(TaskOptions::new().with_lease(Duration::from_secs(1)))
        .build();
    let endpoint = Endpoint::new(server.unwrap()).unwrap();
    let session = open(&endpoint).await;
    let tasks = [
        start(&endpoint, &session, "wait").await,
        start(&endpoint, &session, "wait").await,
    ];
    let changes: [fn(&mut Task); 2] = [
        |task| task.set_lease(TaskLease::new("other", later())).unwrap(),
        |task| task.cancel(now()).unwrap(),
    ];
    for (id, change) in tasks.iter().zip(changes) {
        let changed = until("the change", async || {
            let mut task = store.get(id).await.unwrap().unwrap();
            change(&mut task);
            // The process may have renewed its lease at the same time.
            store.put(task).await.ok()
        });
        let changed = changed.await;
        timeout(LIMIT, dropped.recv()).await.unwrap().unwrap();
        // The process has not changed the task any more.
        assert_eq!(store.get(id).await.unwrap(), Some(changed));
    }
}
