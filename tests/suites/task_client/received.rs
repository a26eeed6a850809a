//! Server requests as tasks of the client (2025-11-25).

use std::collections::BTreeSet;

use mcp_client::TaskLimits;
use tokio::time::{advance, timeout};

use super::{RELATED, SESSION_BASED, client, form};
use crate::prelude::*;

/// A client whose user responds on demand.
struct Slow {
    wire: PipeEnd,
    _client: Client,
    go: Arc<Notify>,
    dropped: Arc<AtomicUsize>,
}

/// Counts futures that are dropped before they complete.
struct Counted(Arc<AtomicUsize>, bool);

impl Drop for Counted {
    fn drop(&mut self) {
        if !self.1 {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

async fn slow(limits: TaskLimits) -> Slow {
    let (go, dropped) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
    let (wait, count) = (Arc::clone(&go), Arc::clone(&dropped));
    let builder = client()
        .on_elicit(move |form| {
            let wait = Arc::clone(&wait);
            let counted = Counted(Arc::clone(&count), false);
            async move {
                let mut counted = counted;
                wait.notified().await;
                counted.1 = true;
                form.accept(json!({ "name": form.params.message }))
            }
        })
        .on_sample(async |sample| Err(sample.rejected_by_user()))
        .tasks(limits);
    let (wire, client) = connected(builder).await;
    Slow {
        wire,
        _client: client,
        go,
        dropped,
    }
}

async fn connected(builder: ClientBuilder) -> (PipeEnd, Client) {
    PipeEnd::accept(builder, SESSION_BASED, json!({ "tools": {} })).await
}

fn wanted(message: &str, task: Value) -> Value {
    let mut params = form(message);
    params["task"] = task;
    params
}

/// Returns the id of the created task.
fn task_id(answer: &Value) -> String {
    let id = &answer["result"]["task"]["taskId"];
    id.as_str().unwrap().to_owned()
}

impl Slow {
    /// Sends a request and returns its response, skipping notifications.
    async fn answer_to(&mut self, method: &str, params: Value) -> Value {
        let id = self.wire.request(method, params).await;
        self.answer_of(&id).await
    }

    /// Sends a request that must be rejected with this code; returns the response.
    async fn expect_error(&mut self, method: &str, params: Value, code: i64) -> Value {
        let answer = self.answer_to(method, params).await;
        assert_eq!(answer["error"]["code"], code, "{method}: {answer}");
        answer
    }

    async fn answer_of(&mut self, id: &Value) -> Value {
        loop {
            let message = self.wire.recv_patiently().await;
            if message["id"] == *id {
                return message;
            }
            assert_eq!(message["method"], "notifications/tasks/status", "{message}");
        }
    }

    async fn create(&mut self, message: &str) -> String {
        let params = wanted(message, json!({}));
        let answer = self.answer_to("elicitation/create", params).await;
        assert_eq!(answer["result"]["task"]["status"], "working", "{answer}");
        task_id(&answer)
    }

    async fn about(&mut self, method: &str, id: &str) -> Value {
        self.answer_to(method, json!({ "taskId": id })).await
    }

    async fn ids(&mut self) -> Vec<String> {
        let (mut ids, mut cursor) = (Vec::new(), Value::Null);
        loop {
            let params = match &cursor {
                Value::Null => json!({}),
                cursor => json!({ "cursor": cursor }),
            };
            let page = self.answer_to("tasks/list", params).await["result"].clone();
            assert!(page["_meta"].is_null(), "{page}");
            for task in page["tasks"].as_array().unwrap() {
                ids.push(task["taskId"].as_str().unwrap().to_owned());
            }
            cursor = page["nextCursor"].clone();
            if cursor.is_null() {
                return ids;
            }
        }
    }
}

// proves: TASK-001, TASK-003
#[tokio::test]
async fn a_client_declares_which_of_its_requests_may_be_tasks() {
    let table = [
        (client(), Value::Null),
        (
            client().tasks(TaskLimits::default()),
            json!({ "list": {}, "cancel": {}, "requests": {} }),
        ),
        (
            client()
                .tasks(TaskLimits::default())
                .on_elicit(async |form| form.decline())
                .on_sample(async |sample| Err(sample.rejected_by_user())),
            json!({ "list": {}, "cancel": {}, "requests": {
                "elicitation": { "create": {} }, "sampling": { "createMessage": {} } } }),
        ),
    ];
    for (builder, expected) in table {
        let (mut wire, transport) = PipeEnd::server();
        let builder = builder.negotiation(Negotiation::SessionBased);
        let connecting = tokio::spawn(builder.connect(transport));
        let params = wire.welcome(SESSION_BASED, json!({})).await;
        assert_eq!(params["capabilities"]["tasks"], expected);
        connecting.await.unwrap().unwrap();
    }
}

// proves: TASK-017, TASK-033, TASK-036, TASK-046, TASK-047, TASK-049, TASK-051, TASK-053, TASK-055
// proves: TASK-024, TASK-026, TASK-027, TASK-028, TASK-054, TASK-062, TASK-063, TASK-064
#[tokio::test(start_paused = true)]
async fn a_server_request_gets_a_task_and_later_its_result() {
    let mut slow = slow(TaskLimits::default()).await;
    let params = wanted("who?", json!({ "ttl": 600_000 }));
    let answer = slow.answer_to("elicitation/create", params).await;
    let result = answer["result"].as_object().unwrap();
    assert_eq!(result.keys().collect::<Vec<_>>(), ["task"]);
    let task = &result["task"];
    assert_eq!(task["ttl"], 600_000);
    assert_eq!(task["pollInterval"], 1_000);
    for stamp in ["createdAt", "lastUpdatedAt"] {
        let text = task[stamp].as_str().unwrap();
        assert!(text.len() == 24 && text.ends_with('Z'), "{text}");
    }
    let id = task_id(&answer);
    let got = slow.about("tasks/get", &id).await;
    assert_eq!(got["result"]["status"], "working", "{got}");
    assert!(got["result"]["_meta"].is_null(), "{got}");

    let ask = json!({ "taskId": id });
    let first = slow.wire.request("tasks/result", ask.clone()).await;
    let second = slow.wire.request("tasks/result", ask).await;
    let early = timeout(Duration::from_secs(100), slow.wire.recv_patiently()).await;
    assert!(early.is_err(), "{early:?}");
    slow.go.notify_one();
    let told = slow.wire.expect("notifications/tasks/status").await;
    assert_eq!(told["params"]["taskId"], json!(id));
    assert_eq!(told["params"]["status"], "completed");
    assert!(told["params"]["_meta"].is_null(), "{told}");
    let mut answered = BTreeSet::new();
    for _ in 0..2 {
        let answer = slow.wire.recv_patiently().await;
        answered.insert(answer["id"].to_string());
        let result = json!({
            "action": "accept", "content": { "name": "who?" },
            "_meta": { RELATED: { "taskId": id } } });
        assert_eq!(answer["result"], result);
    }
    assert_eq!(
        answered,
        BTreeSet::from([first.to_string(), second.to_string()])
    );
    let again = slow.about("tasks/result", &id).await;
    assert_eq!(again["result"]["action"], "accept");
}

// proves: TASK-056, TASK-080, TASK-082, TASK-083
#[tokio::test(start_paused = true)]
async fn an_error_of_a_handler_becomes_the_outcome_of_its_task() {
    let mut slow = slow(TaskLimits::default()).await;
    let text = json!({ "type": "text", "text": "hi" });
    let params = json!({ "maxTokens": 9, "task": {},
        "messages": [{ "role": "user", "content": text }] });
    let answer = slow.answer_to("sampling/createMessage", params).await;
    let id = task_id(&answer);
    let result = slow.about("tasks/result", &id).await;
    assert_eq!(result["error"]["code"], -1, "{result}");
    let got = slow.about("tasks/get", &id).await;
    assert_eq!(got["result"]["status"], "failed");
    assert_eq!(got["result"]["statusMessage"], result["error"]["message"]);
}

// proves: TASK-039, TASK-069, TASK-070, TASK-071, TASK-072
#[tokio::test(start_paused = true)]
async fn a_cancelled_task_stays_cancelled() {
    let mut slow = slow(TaskLimits::default()).await;
    let id = slow.create("who?").await;
    let cancelled = slow.about("tasks/cancel", &id).await;
    assert_eq!(cancelled["result"]["status"], "cancelled");
    assert_eq!(cancelled["result"]["taskId"], *id);
    assert!(cancelled["result"]["_meta"].is_null(), "{cancelled}");
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(slow.dropped.load(Ordering::Relaxed), 1);
    slow.go.notify_one();
    let got = slow.about("tasks/get", &id).await;
    assert_eq!(got["result"]["status"], "cancelled");
    let again = slow.about("tasks/cancel", &id).await;
    assert_eq!(again["error"]["code"], -32602, "{again}");
}

// proves: TASK-059, TASK-061, TASK-075, TASK-076, TASK-079
#[tokio::test(start_paused = true)]
async fn requests_about_unknown_tasks_are_rejected() {
    let mut slow = slow(TaskLimits::default()).await;
    let id = slow.create("who?").await;
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        for params in [
            json!({ "taskId": "unknown" }),
            json!({ "taskId": 7 }),
            json!({}),
        ] {
            let mut params = params;
            // This member does not name a task.
            params["_meta"] = json!({ RELATED: { "taskId": id } });
            let answer = slow.expect_error(method, params, -32602).await;
            assert!(!answer["error"]["message"].as_str().unwrap().is_empty());
        }
    }
    slow.expect_error("tasks/list", json!({ "cursor": "\u{0}" }), -32602)
        .await;
    let params = wanted("who?", json!(7));
    slow.expect_error("elicitation/create", params, -32602)
        .await;
    assert_eq!(slow.ids().await, [id]);
}

// proves: TASK-048, TASK-050, TASK-092, TASK-093, TASK-094
#[tokio::test(start_paused = true)]
async fn tasks_are_limited_in_number_and_time() {
    let mut limits = TaskLimits::default();
    limits.max_ttl = Duration::from_secs(30);
    limits.max_tasks = 3;
    let mut slow = slow(limits).await;
    let params = wanted("who?", json!({ "ttl": 315_360_000_000_u64 }));
    let answer = slow.answer_to("elicitation/create", params).await;
    assert_eq!(answer["result"]["task"]["ttl"], 30_000);
    let id = task_id(&answer);
    slow.create("two").await;
    slow.create("three").await;
    let more = wanted("four", json!({}));
    let answer = slow.expect_error("elicitation/create", more, -32603).await;
    says(&answer, "3 tasks");

    advance(Duration::from_secs(31)).await;
    assert_eq!(slow.about("tasks/get", &id).await["error"]["code"], -32602);
    assert_eq!(slow.dropped.load(Ordering::Relaxed), 3);
    slow.create("five").await;
    assert_eq!(slow.ids().await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn tasks_do_not_raise_the_limit_of_server_requests() {
    let mut slow = slow(TaskLimits::default()).await;
    for n in 0..16 {
        slow.create(&n.to_string()).await;
    }
    slow.expect_error("elicitation/create", wanted("more", json!({})), -32603)
        .await;
    assert_eq!(slow.ids().await.len(), 16);
}

// proves: TASK-034, TASK-035, TASK-065, TASK-066, TASK-068, TASK-087
#[tokio::test(start_paused = true)]
async fn all_tasks_are_listed_once_page_by_page() {
    let mut slow = slow(TaskLimits::default()).await;
    let mut created = BTreeSet::new();
    for n in 0..230 {
        let params = wanted("who?", json!({ "taskId": "mine", "ttl": 600_000 }));
        let answer = slow.answer_to("elicitation/create", params).await;
        let id = task_id(&answer);
        assert_eq!(id.len(), 32, "{n}");
        slow.go.notify_one();
        slow.about("tasks/result", &id).await;
        created.insert(id);
    }
    let listed = slow.ids().await;
    assert_eq!(listed.len(), 230);
    assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), created);
}

// proves: TASK-006, TASK-031
#[tokio::test]
async fn without_declared_tasks_a_task_request_is_ignored() {
    let builder = client().on_elicit(async |form| form.decline());
    let (mut wire, _client) = connected(builder).await;
    let answer = wire
        .call("elicitation/create", wanted("who?", json!({})))
        .await;
    assert_eq!(answer, json!({ "action": "decline" }));
    for method in ["tasks/get", "tasks/result", "tasks/cancel", "tasks/list"] {
        wire.expect_error(method, json!({ "taskId": "x" }), -32601)
            .await;
    }
    // Requests that cannot be tasks are rejected.
    let builder = client().roots([]).tasks(TaskLimits::default());
    let (mut wire, _client) = connected(builder).await;
    let answer = wire.call("roots/list", json!({ "task": {} })).await;
    assert_eq!(answer, json!({ "roots": [] }));
}

// proves: TASK-005
#[tokio::test]
async fn older_revisions_have_no_tasks() {
    let builder = client()
        .on_elicit(async |form| form.decline())
        .tasks(TaskLimits::default());
    let (mut wire, _client) = PipeEnd::accept(builder, "2025-06-18", json!({})).await;
    let answer = wire
        .call("elicitation/create", wanted("who?", json!({})))
        .await;
    assert_eq!(answer, json!({ "action": "decline" }));
    wire.expect_error("tasks/list", json!({}), -32601).await;
}
