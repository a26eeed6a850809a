//! A server that restarts.

use mcp_server::MemoryTaskStore;
use tokio::runtime::Runtime;

use super::*;

/// A process: everything that runs in it ends with it.
fn process() -> Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

fn booking(booked: &Arc<AtomicUsize>, runs: &Arc<AtomicUsize>) -> Tool {
    let (booked, runs) = (Arc::clone(booked), Arc::clone(runs));
    let book = move |cx: Ctx| {
        let (booked, runs) = (Arc::clone(&booked), Arc::clone(&runs));
        async move {
            runs.fetch_add(1, Ordering::SeqCst);
            let seat = cx
                .memoize("seat", async { booked.fetch_add(1, Ordering::SeqCst) + 7 })
                .await?;
            let first = cx.named("first").elicit::<Name>("For whom?").await?;
            let second = cx.named("second").elicit::<Name>("And with whom?").await?;
            let [first, second] = [first, second].map(|it| it.accepted().unwrap().name);
            Ok::<_, HandlerError>(format!("seat {seat} for {first} and {second}"))
        }
    };
    Tool::new("book", book).task(TaskMode::Required).resumable()
}

fn answer(id: &str, key: &str, name: &str) -> Value {
    let answer = json!({ "action": "accept", "content": { "name": name } });
    json!({ "taskId": id, "inputResponses": { key: answer } })
}

// proves: M-TASK-017
#[test]
fn a_resumed_task_continues_after_its_memoized_steps() {
    let store = Arc::new(MemoryTaskStore::new());
    let [booked, runs] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
    let server = || {
        Server::builder("seats", "1")
            .tool(booking(&booked, &runs))
            .task_store(Arc::clone(&store))
    };
    let before = process();
    let id = before.block_on(async {
        let mut peer = Peer::able(server());
        let id = peer.started("book").await;
        let task = peer.until(&id, "input_required").await;
        assert!(task["inputRequests"]["first"].is_object());
        peer.call("tasks/update", answer(&id, "first", "Ann")).await;
        peer.until(&id, "input_required").await;
        id
    });
    drop(before);
    process().block_on(async {
        let mut peer = Peer::able(server());
        // The client responds to a request that it saw before, although the handler has not reached
        // it again.
        let update = answer(&id, "second", "Bob");
        let taken = peer.ask("tasks/update", update).await;
        assert!(taken["error"].is_null(), "{taken}");
        let task = peer.until(&id, "completed").await;
        assert_eq!(text(&task["result"]), "seat 7 for Ann and Bob");
    });
    assert_eq!(booked.load(Ordering::SeqCst), 1, "once in both processes");
    assert_eq!(runs.load(Ordering::SeqCst), 2);
}

#[test]
fn tasks_that_cannot_resume_fail_and_ended_tasks_remain() {
    let store = Arc::new(MemoryTaskStore::new());
    let before = process();
    let (working, done, gone) = before.block_on(async {
        let booking = booking(&Arc::default(), &Arc::default());
        let server = gate().server.tool(booking).task_store(Arc::clone(&store));
        let mut peer = Peer::able(server);
        let done = peer.started("must").await;
        peer.until(&done, "completed").await;
        (peer.started("work").await, done, peer.started("book").await)
    });
    drop(before);
    process().block_on(async {
        let mut peer = Peer::able(gate().server.task_store(Arc::clone(&store)));
        for id in [working, gone] {
            let task = peer.until(&id, "failed").await;
            let why = "the server was restarted while the task ran";
            assert_eq!(task["statusMessage"], json!(why));
            assert_eq!(task["error"]["message"], json!(why));
        }
        assert_eq!(text(&peer.get(&done).await["result"]), "at once");
    });
}

#[test]
fn a_process_that_shares_a_store_does_not_change_other_tasks() {
    let store = Arc::new(MemoryTaskStore::new());
    process().block_on(async {
        let gate = gate();
        let mut one = Peer::able(gate.server.task_store(Arc::clone(&store)));
        let options = mcp_server::TaskOptions::new().without_recovery();
        let other = super::gate().server.task_store(Arc::clone(&store));
        let mut other = Peer::able(other.task_options(options));
        let id = one.started("work").await;
        other.until(&id, "working").await;
        // Another process can show and cancel the task, but not deliver input.
        other
            .expect_error(
                "tasks/update",
                json!({ "taskId": id, "inputResponses": {} }),
                -32603,
            )
            .await;
        other.call("tasks/cancel", json!({ "taskId": id })).await;
        gate.go.add_permits(1);
        assert_eq!(one.get(&id).await["status"], "cancelled");
    });
}
