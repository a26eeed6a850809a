//! Tasks that are ended from outside, and stores that fail.

use std::sync::atomic::AtomicU64;
use std::time::{SystemTime, UNIX_EPOCH};

use mcp_protocol::BoxFuture;
use mcp_protocol::task::{Task, Timestamp};
use mcp_server::{MemoryTaskStore, TaskOptions, TaskStore, TaskStoreError};

use super::*;

/// A store whose methods fail a given number of times.
#[derive(Default)]
struct Flaky {
    inner: MemoryTaskStore,
    creates: AtomicUsize,
    gets: AtomicUsize,
    puts: AtomicUsize,
    unfinished: AtomicUsize,
    /// How often expired tasks were removed.
    sweeps: AtomicUsize,
}

fn unavailable(left: &AtomicUsize) -> Option<TaskStoreError> {
    let take = |left: usize| left.checked_sub(1);
    let failed = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take);
    failed
        .ok()
        .map(|_| TaskStoreError::Unavailable("the disk at /secret is full".into()))
}

fn or<'a, T: Send + 'a>(
    left: &AtomicUsize,
    done: BoxFuture<'a, Result<T, TaskStoreError>>,
) -> BoxFuture<'a, Result<T, TaskStoreError>> {
    match unavailable(left) {
        Some(error) => Box::pin(async move { Err(error) }),
        None => done,
    }
}

impl TaskStore for Flaky {
    fn create(&self, task: Task) -> BoxFuture<'_, Result<(), TaskStoreError>> {
        or(&self.creates, self.inner.create(task))
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Task>, TaskStoreError>> {
        or(&self.gets, self.inner.get(id))
    }

    fn put(&self, task: Task) -> BoxFuture<'_, Result<Task, TaskStoreError>> {
        match unavailable(&self.puts) {
            Some(error) => Box::pin(async move { Err(error) }),
            None => self.inner.put(task),
        }
    }

    fn list<'a>(
        &'a self,
        owner: Option<&'a Principal>,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Task>, TaskStoreError>> {
        or(&self.gets, self.inner.list(owner, after, limit))
    }

    fn unfinished<'a>(
        &'a self,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Task>, TaskStoreError>> {
        or(&self.unfinished, self.inner.unfinished(after, limit))
    }

    fn remove<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, TaskStoreError>> {
        self.inner.remove(id)
    }

    fn sweep(&self, now: Timestamp) -> BoxFuture<'_, Result<usize, TaskStoreError>> {
        self.sweeps.fetch_add(1, Ordering::SeqCst);
        self.inner.sweep(now)
    }
}

#[tokio::test(start_paused = true)]
async fn expired_tasks_are_removed_every_thirty_seconds_while_the_server_exists() {
    let store = Arc::new(Flaky::default());
    let server = gate()
        .server
        .task_store(Arc::clone(&store))
        .build()
        .unwrap();
    let mut peer = Peer::with_session(server, json!({})).await;
    let id = peer.augmented("must").await;
    peer.until(&id, "completed").await;
    let before = store.sweeps.load(Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!(store.sweeps.load(Ordering::SeqCst), before + 2);
}

static LATER: AtomicU64 = AtomicU64::new(0);
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn clock() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_000_000 + LATER.load(Ordering::SeqCst))
}

// proves: TASK-050, TASK-094, M-TASK-029
#[test]
fn expired_tasks_are_unknown() {
    let _alone = ONE_AT_A_TIME.lock().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let server = gate()
            .server
            .task_options(TaskOptions::new().with_clock(clock))
            .build()
            .unwrap();
        let mut peer = Peer::with_session(server.clone(), json!({})).await;
        let id = peer.augmented("must").await;
        peer.until(&id, "completed").await;
        let mut stateless = Peer::able(server);
        assert_eq!(stateless.get(&id).await["status"], "completed");
        LATER.fetch_add(3_599, Ordering::SeqCst);
        assert_eq!(peer.get(&id).await["status"], "completed");
        LATER.fetch_add(1, Ordering::SeqCst);
        let about = json!({ "taskId": id });
        for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
            peer.expect_error(method, about.clone(), -32602).await;
        }
        stateless.expect_error("tasks/get", about, -32602).await;
        assert_eq!(peer.call("tasks/list", json!({})).await["tasks"], json!([]));
    });
}

// proves: TASK-050, TASK-082, M-TASK-029
#[tokio::test(start_paused = true)]
async fn an_expired_task_fails_with_the_reason() {
    let gate = gate();
    let mut peer = Peer::with_session(gate.server, json!({})).await;
    let params = json!({ "name": "work", "task": { "ttl": 5_000 } });
    let created = peer.call("tools/call", params).await;
    let about = json!({ "taskId": created["task"]["taskId"] });
    let ended = peer.ask("tasks/result", about.clone()).await;
    let why = ended["error"]["message"].as_str().unwrap();
    assert!(why.contains("time to live of 5 s"), "{why}");
    assert!(gate.dropped.load(Ordering::SeqCst));
    let task = peer.call("tasks/get", about).await;
    assert_eq!(task["status"], "failed");
    assert_eq!(task["ttl"], 65_000);
    assert_eq!(task["statusMessage"], why);
}

// proves: TASK-077
#[tokio::test]
async fn a_store_that_fails_is_an_internal_error_without_its_text() {
    let store = Arc::new(Flaky::default());
    let server = gate().server.task_store(Arc::clone(&store));
    let mut peer = Peer::with_session(server, json!({})).await;
    store.creates.store(1, Ordering::SeqCst);
    let call = json!({ "name": "must", "task": {} });
    let refused = peer.ask("tools/call", call).await;
    assert_eq!(refused["error"]["code"], -32603);
    assert!(!refused.to_string().contains("secret"));
    let id = peer.augmented("must").await;
    peer.until(&id, "completed").await;
    for method in ["tasks/get", "tasks/result", "tasks/cancel", "tasks/list"] {
        store.gets.store(1, Ordering::SeqCst);
        let refused = peer.ask(method, json!({ "taskId": id })).await;
        assert_eq!(refused["error"]["code"], -32603, "{method}");
        assert!(!refused.to_string().contains("secret"));
    }
}

#[tokio::test]
async fn each_step_of_a_task_is_logged() {
    let (traced, _guard) = crate::traced::Traced::start();
    let mut peer = Peer::with_session(gate().server, json!({})).await;
    let done = peer.augmented("must").await;
    peer.call("tasks/result", json!({ "taskId": done })).await;
    let cancelled = peer.augmented("work").await;
    peer.call("tasks/cancel", json!({ "taskId": cancelled }))
        .await;
    for step in ["created", "ended", "retrieved", "cancelled"] {
        assert!(traced.line(&format!("task {step}")).is_some(), "{step}");
    }
}

#[test]
fn unfinished_tasks_are_read_again_after_a_failure() {
    let process = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().start_paused(true).build().unwrap()
    };
    let store = Arc::new(Flaky::default());
    let before = process();
    let id = before.block_on(async {
        let server = gate().server.task_store(Arc::clone(&store));
        Peer::able(server).started("work").await
    });
    drop(before);
    store.unfinished.store(2, Ordering::SeqCst);
    process().block_on(async {
        let mut peer = Peer::able(gate().server.task_store(Arc::clone(&store)));
        // sleep: the clock is paused. The store is read again after 5 s.
        tokio::time::sleep(Duration::from_secs(11)).await;
        let task = peer.until(&id, "failed").await;
        let why = "the server was restarted while the task ran";
        assert_eq!(task["statusMessage"], why);
    });
    assert_eq!(store.unfinished.load(Ordering::SeqCst), 0);
}

// proves: M-TASK-017
#[tokio::test(start_paused = true)]
async fn a_task_ends_only_after_its_end_is_stored() {
    let store = Arc::new(Flaky::default());
    let server = gate().server.task_store(Arc::clone(&store));
    let mut peer = Peer::with_session(server, json!({})).await;
    store.puts.store(20, Ordering::SeqCst);
    let id = peer.augmented("must").await;
    let result = peer.call("tasks/result", json!({ "taskId": id })).await;
    assert_eq!(text(&result), "at once");
    assert_eq!(store.puts.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn a_change_that_cannot_be_stored_ends_the_task() {
    let store = Arc::new(Flaky::default());
    let gate = gate();
    let server = gate.server.task_store(Arc::clone(&store));
    let mut peer = Peer::with_session(server, json!({ "elicitation": {} })).await;
    store.puts.store(10, Ordering::SeqCst);
    let id = peer.augmented("ask").await;
    let ended = peer.ask("tasks/result", json!({ "taskId": id })).await;
    says(&ended, "store failed while the task ran");
}

// proves: TASK-092
#[tokio::test]
async fn tasks_beyond_the_limits_are_refused() {
    let gate = gate();
    let options = TaskOptions::new().with_max_running(2);
    let server = gate.server.task_options(options);
    let mut peer = Peer::with_session(server, json!({})).await;
    let first = peer.augmented("work").await;
    peer.augmented("work").await;
    let call = json!({ "name": "work", "task": {} });
    let refused = peer.expect_error("tools/call", call.clone(), -32603).await;
    says(&refused, "2 tasks are running");
    peer.call("tasks/cancel", json!({ "taskId": first })).await;
    gate.go.add_permits(1);
    let mut again = peer.ask("tools/call", call.clone()).await;
    while !again["error"].is_null() {
        // The background task of the cancelled task stops its handler.
        tokio::task::yield_now().await;
        again = peer.ask("tools/call", call.clone()).await;
    }

    let server = super::gate()
        .server
        .task_store(MemoryTaskStore::new().with_max_tasks_per_owner(1));
    let mut peer = Peer::with_session(server, json!({})).await;
    peer.augmented("must").await;
    let refused = peer.ask("tools/call", call).await;
    says(&refused, "1 tasks of one owner");
}

#[tokio::test]
async fn a_result_that_cannot_be_stored_is_a_failure() {
    let large = Tool::new("large", || "x".repeat(100_000)).task(TaskMode::Required);
    let server = Server::builder("large", "1")
        .tool(large)
        .task_store(MemoryTaskStore::new().with_max_bytes(16_384));
    let mut peer = Peer::able(server);
    let id = peer.started("large").await;
    let task = peer.until(&id, "failed").await;
    says(&task, "16384 bytes");
}

#[tokio::test]
async fn an_error_with_required_urls_fails_a_task() {
    let visit = Tool::new("visit", async |cx: Ctx| {
        Err::<String, _>(cx.urls_required([("Sign in", "https://example.com/in")]))
    });
    let server = Server::builder("urls", "1").tool(visit.task(TaskMode::Required));
    let mut peer = Peer::able(server);
    let capabilities = json!({ "elicitation": { "url": {} }, "extensions": { "io.modelcontextprotocol/tasks": {} } });
    peer.client.capabilities = capabilities;
    let id = peer.started("visit").await;
    let task = peer.until(&id, "completed").await;
    assert_eq!(task["result"]["isError"], true);
    assert!(text(&task["result"]).contains("https://example.com/in"));
    assert_eq!(task["inputRequests"], Value::Null);
}

/// The handler is dropped with the request, but what it has started in the background is not.
#[tokio::test]
async fn work_in_the_background_is_cancelled_with_a_request_that_has_not_detached() {
    let (started, cancelled) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (starts, cancels) = (Arc::clone(&started), Arc::clone(&cancelled));
    let work = move |cx: Ctx| {
        let (starts, cancels) = (Arc::clone(&starts), Arc::clone(&cancels));
        async move {
            tokio::spawn(async move {
                cx.cancelled().await;
                cancels.notify_one();
            });
            starts.notify_one();
            std::future::pending::<&str>().await
        }
    };
    let tool = Tool::new("work", work).task(TaskMode::Optional);
    let mut peer = Peer::able(Server::builder("works", "1").tool(tool.detachable()));
    let id = peer.send("tools/call", json!({ "name": "work" })).await;
    let deadline = Duration::from_secs(10);
    let started = tokio::time::timeout(deadline, started.notified());
    started.await.expect("the handler runs");
    peer.client.wire.cancel(&id).await;
    let cancelled = tokio::time::timeout(deadline, cancelled.notified());
    cancelled.await.expect("the request is cancelled");
}
