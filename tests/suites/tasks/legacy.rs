//! 2025-11-25: the client requests a task.

use super::*;

// proves: TASK-001, TASK-002
#[tokio::test]
async fn tasks_are_declared_if_a_tool_can_run_as_a_task() {
    let mut wire = PipeEnd::to(gate().server);
    let opened = wire.handshake("2025-11-25", json!({})).await;
    let expected = json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } });
    assert_eq!(opened["capabilities"]["tasks"], expected);
    let listed = wire.call("tools/list", json!({})).await;
    let support: Vec<&Value> = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| &tool["execution"]["taskSupport"])
        .collect();
    let (optional, required) = (json!("optional"), json!("required"));
    assert_eq!(support[..3], [&optional, &required, &optional]);
    assert_eq!(support.last(), Some(&&Value::Null));

    let mut older = PipeEnd::to(gate().server);
    let opened = older.handshake("2025-06-18", json!({})).await;
    assert_eq!(opened["capabilities"]["tasks"], Value::Null);
    older
        .expect_error("tasks/get", json!({ "taskId": "x" }), -32601)
        .await;

    let mut plain = PipeEnd::to(Server::builder("plain", "1").tool(Tool::new("plain", || "x")));
    let opened = plain.handshake("2025-11-25", json!({})).await;
    assert_eq!(opened["capabilities"]["tasks"], Value::Null);
}

// proves: TASK-015, TASK-016, TASK-017, TASK-033, TASK-034, TASK-046, TASK-047, TASK-048, TASK-049, TASK-051, TASK-052, TASK-053, TASK-093
#[tokio::test]
async fn a_task_is_returned_at_once_with_its_time_to_live() {
    let gate = gate();
    let mut peer = Peer::with_session(gate.server, json!({})).await;
    for (wanted, ttl) in [
        (json!({}), 3_600_000_u64),
        (json!({ "ttl": 60_000 }), 60_000),
        (json!({ "ttl": 315_360_000_000_u64 }), 86_400_000),
        (json!({ "ttl": 0, "taskId": "mine" }), 1_000),
    ] {
        let params = json!({ "name": "work", "task": wanted });
        let created = peer.call("tools/call", params).await;
        assert_eq!(created["content"], Value::Null, "the result comes later");
        let task = &created["task"];
        let id = task["taskId"].as_str().unwrap();
        assert!(id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_eq!(related(&created), id);
        assert_eq!(task["status"], "working");
        assert_eq!(task["ttl"], ttl);
        assert_eq!(task["pollInterval"], 1_000);
        for at in ["createdAt", "lastUpdatedAt"] {
            let at = task[at].as_str().unwrap();
            assert!(
                at.len() == 24 && at.ends_with('Z') && at.as_bytes()[10] == b'T',
                "{at}"
            );
        }
        let seen = peer.get(id).await;
        assert_eq!(seen["ttl"], ttl);
        assert!(seen["lastUpdatedAt"].as_str() >= seen["createdAt"].as_str());
    }
    let wrong = json!({ "name": "work", "task": { "ttl": "long" } });
    peer.expect_error("tools/call", wrong, -32602).await;
}

// proves: TASK-011, TASK-014, TASK-031, TASK-079
#[tokio::test]
async fn a_tool_declares_whether_it_runs_as_a_task() {
    let mut peer = Peer::with_session(gate().server, json!({})).await;
    let plain = json!({ "name": "plain", "task": {} });
    let refused = peer.expect_error("tools/call", plain.clone(), -32601).await;
    says(&refused, "task");
    peer.expect_error("tools/call", json!({ "name": "must" }), -32601)
        .await;
    assert_eq!(text(&peer.tool("plain").await), "plain");

    // A server without tasks ignores the member.
    let server = Server::builder("plain", "1").tool(Tool::new("plain", || "plain"));
    let mut peer = Peer::with_session(server, json!({})).await;
    assert_eq!(text(&peer.call("tools/call", plain).await), "plain");
}

// proves: TASK-012, TASK-023, TASK-024, TASK-026, TASK-054, TASK-055, TASK-056, TASK-062, TASK-063
#[tokio::test]
async fn tasks_result_waits_for_the_task_and_returns_the_result_of_the_call() {
    let gate = gate();
    let mut peer = Peer::with_session(gate.server, json!({})).await;
    let id = peer.augmented("work").await;
    let about = json!({ "taskId": id });
    let one = peer.send("tasks/result", about.clone()).await;
    let two = peer.send("tasks/result", about.clone()).await;
    let seen = peer.until(&id, "working").await;
    assert_eq!((&seen["taskId"], &seen["task"]), (&json!(id), &Value::Null));
    assert_eq!(seen["_meta"], Value::Null);
    assert!(
        peer.heard
            .iter()
            .all(|it| it["id"] != one && it["id"] != two)
    );

    gate.go.add_permits(2);
    let plain = peer.tool("work").await;
    for waiter in [one, two] {
        let mut result = peer.answer(&waiter).await["result"].take();
        assert_eq!(related(&result), &json!(id));
        result.as_object_mut().unwrap().shift_remove("_meta");
        assert_eq!(result, plain);
    }
    assert_eq!(peer.until(&id, "completed").await["_meta"], Value::Null);
    assert_eq!(text(&peer.call("tasks/result", about).await), "done");
}

// proves: TASK-080, TASK-081, TASK-082, TASK-083, TASK-084
#[tokio::test]
async fn the_failure_of_a_task_is_reported_as_in_a_call_without_a_task() {
    let mut peer = Peer::with_session(gate().server, json!({})).await;
    for (tool, message, code) in [
        ("refuse", "out of order", Some(7)),
        ("panic", "the handler failed", Some(-32603)),
        ("fail", "no disk", None),
    ] {
        let id = peer.augmented(tool).await;
        let task = peer.until(&id, "failed").await;
        assert_eq!(task["statusMessage"], message, "{tool}");
        let answer = peer.ask("tasks/result", json!({ "taskId": id })).await;
        assert_eq!(answer["error"]["code"].as_i64(), code, "{answer}");
        if tool == "refuse" {
            let plain = json!({ "name": tool });
            let plain = peer.ask("tools/call", plain).await;
            assert_eq!(answer["error"], plain["error"]);
        }
        if code.is_none() {
            assert_eq!(answer["result"]["isError"], true);
            assert_eq!(text(&answer["result"]), "no disk");
        }
    }
}

// proves: TASK-037, TASK-039, TASK-069, TASK-070, TASK-071, TASK-072
#[tokio::test]
async fn a_cancelled_task_stops_and_stays_cancelled() {
    let gate = gate();
    let mut peer = Peer::with_session(gate.server, json!({})).await;
    let id = peer.augmented("work").await;
    peer.until(&id, "working").await;
    let about = json!({ "taskId": id });
    let waiting = peer.send("tasks/result", about.clone()).await;
    let cancelled = peer.call("tasks/cancel", about.clone()).await;
    assert_eq!(cancelled["taskId"], json!(id));
    assert_eq!(cancelled["status"], "cancelled");
    assert_eq!(cancelled["_meta"], Value::Null);
    assert!(peer.answer(&waiting).await["error"].is_object());
    gate.go.add_permits(1);
    assert!(
        gate.dropped.load(Ordering::SeqCst),
        "the handler was stopped"
    );
    peer.expect_error("tasks/cancel", about, -32602).await;
    assert_eq!(peer.get(&id).await["status"], "cancelled");
    let done = peer.augmented("must").await;
    peer.until(&done, "completed").await;
    peer.expect_error("tasks/cancel", json!({ "taskId": done }), -32602)
        .await;
}

// proves: TASK-059, TASK-061, TASK-075, TASK-076
#[tokio::test]
async fn the_id_in_the_params_selects_the_task() {
    let mut peer = Peer::with_session(gate().server, json!({})).await;
    let (one, other) = (peer.augmented("must").await, peer.augmented("work").await);
    let related = json!({ "io.modelcontextprotocol/related-task": { "taskId": other } });
    peer.until(&one, "completed").await;
    for (method, member) in [("tasks/get", "taskId"), ("tasks/result", "content")] {
        let about = json!({ "taskId": one, "_meta": related });
        let answer = peer.call(method, about).await;
        assert!(!answer[member].is_null(), "{answer}");
    }
    let about = json!({ "taskId": other, "_meta": { "io.modelcontextprotocol/related-task": { "taskId": one } } });
    assert_eq!(peer.call("tasks/cancel", about).await["taskId"], other);
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        for id in ["", "x", &"x".repeat(9_999), &one[1..]] {
            peer.expect_error(method, json!({ "taskId": id }), -32602)
                .await;
        }
        peer.expect_error(method, json!({ "taskId": 7 }), -32602)
            .await;
    }
    for cursor in ["x", "x.y", &format!("{one}.0"), &"9".repeat(9_999)] {
        peer.expect_error("tasks/list", json!({ "cursor": cursor }), -32602)
            .await;
    }
}

// proves: TASK-035, TASK-062, TASK-065, TASK-066, TASK-068
#[tokio::test]
async fn tasks_list_returns_all_tasks_in_pages() {
    let mut peer = Peer::with_session(gate().server.page_size(2), json!({})).await;
    let mut made = Vec::new();
    for tool in ["must", "work", "fail", "refuse", "work"] {
        made.push(peer.augmented(tool).await);
    }
    let (mut found, mut pages, mut params) = (Vec::new(), 0, json!({}));
    loop {
        let page = peer.call("tasks/list", params).await;
        assert_eq!(page["_meta"], Value::Null);
        let tasks = page["tasks"].as_array().unwrap();
        assert!(tasks.len() <= 2);
        found.extend(
            tasks
                .iter()
                .map(|it| it["taskId"].as_str().unwrap().to_owned()),
        );
        pages += 1;
        if page["nextCursor"].is_null() {
            break;
        }
        params = json!({ "cursor": page["nextCursor"] });
    }
    assert_eq!(pages, 3);
    made.sort();
    assert_eq!(found, made, "each once");
}

// proves: PROG-013, PROG-014, TASK-027, TASK-028, TASK-057, TASK-064
#[tokio::test]
async fn messages_of_a_task_name_the_task() {
    let gate = gate();
    let mut peer = Peer::with_session(gate.server, json!({})).await;
    let params = json!({ "name": "work", "task": {}, "_meta": { "progressToken": "p" } });
    let created = peer.call("tools/call", params).await;
    let id = created["task"]["taskId"].clone();
    gate.go.add_permits(1);
    let progress = peer.next("notifications/progress").await;
    assert_eq!(progress["params"]["progressToken"], "p");
    assert_eq!(related(&progress["params"]), &id);
    let logged = peer.next("notifications/message").await;
    assert_eq!(related(&logged["params"]), &id);
    loop {
        let told = peer.next("notifications/tasks/status").await;
        let task = &told["params"];
        assert_eq!((&task["taskId"], &task["_meta"]), (&id, &Value::Null));
        for member in ["status", "createdAt", "lastUpdatedAt", "ttl"] {
            assert!(!task[member].is_null(), "{task}");
        }
        if task["status"] == "completed" {
            break;
        }
    }
    peer.client.wire.silent().await;
}

// proves: CANC-006, CANC-019
#[tokio::test]
async fn a_cancelled_notification_does_not_cancel_a_task() {
    let gate = gate();
    let mut peer = Peer::with_session(gate.server, json!({})).await;
    let request = peer
        .send("tools/call", json!({ "name": "work", "task": {} }))
        .await;
    let created = peer.answer(&request).await;
    let id = created["result"]["task"]["taskId"]
        .as_str()
        .unwrap()
        .to_owned();
    peer.client.wire.cancel(&request).await;
    gate.go.add_permits(1);
    peer.until(&id, "completed").await;
}
