//! 2026-07-28: the server decides.

use super::*;

// proves: M-TASK-001, M-TASK-059
#[tokio::test]
async fn only_the_extension_is_declared_and_no_tasks_capability() {
    let mut peer = Peer::stateless(gate().server, json!({}));
    let discovered = peer.call("server/discover", json!({})).await;
    let capabilities = &discovered["capabilities"];
    let expected = json!({ "io.modelcontextprotocol/tasks": {} });
    assert_eq!(capabilities["extensions"], expected);
    assert_eq!(capabilities["tasks"], Value::Null);
    let listed = peer.call("tools/list", json!({})).await;
    for tool in listed["tools"].as_array().unwrap() {
        assert_eq!(tool["execution"], Value::Null, "{tool}");
    }
    let server = Server::builder("plain", "1").tool(Tool::new("plain", || "x"));
    let mut plain = Peer::able(server);
    let discovered = plain.call("server/discover", json!({})).await;
    assert_eq!(discovered["capabilities"]["extensions"], Value::Null);
    plain
        .expect_error("tasks/get", json!({ "taskId": "x" }), -32601)
        .await;
}

// proves: M-BASE-012, M-TASK-002, M-TASK-003, M-TASK-006, M-TASK-056
#[tokio::test]
async fn only_a_request_that_declares_the_extension_becomes_a_task() {
    let server = everything::server().build().unwrap();
    let mut able = Peer::able(server.clone());
    let slow = json!({ "name": "slow_compute", "arguments": { "seconds": 0.01, "label": "x" } });
    let created = able.call("tools/call", slow.clone()).await;
    assert_eq!(created["resultType"], "task");
    // The same connection without the declaration.
    let declared = able.client.capabilities.clone();
    for capabilities in [
        json!({}),
        json!({ "tasks": { "requests": {} } }),
        json!({ "extensions": { "x.y/z": {} } }),
    ] {
        able.client.capabilities = capabilities;
        let waited = able.call("tools/call", slow.clone()).await;
        assert_eq!(waited["resultType"], "complete");
        assert!(text(&waited).starts_with("computed x"));
        let refused = able
            .ask("tools/call", json!({ "name": "failing_job" }))
            .await;
        assert_eq!(refused["error"]["code"], -32021);
        let expected = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
        assert_eq!(refused["error"]["data"]["requiredCapabilities"], expected);
    }
    able.client.capabilities = declared;
    let greeted = able
        .call(
            "tools/call",
            json!({ "name": "greet", "arguments": { "name": "Ann" } }),
        )
        .await;
    assert_eq!(text(&greeted), "Hello, Ann!");
    assert_eq!(greeted["resultType"], "complete");
}

// proves: M-TASK-007
#[tokio::test]
async fn only_calls_of_tools_become_tasks() {
    let mut peer = Peer::able(everything::server());
    for (method, params) in [
        ("prompts/get", json!({ "name": "test_simple_prompt" })),
        ("resources/read", json!({ "uri": "test://static-text" })),
        ("tools/list", json!({})),
    ] {
        let result = peer.call(method, params).await;
        assert_eq!(result["resultType"], "complete");
        assert_eq!(result["taskId"], Value::Null);
    }
}

// proves: M-TASK-009, M-TASK-010, M-TASK-012, M-TASK-016, M-TASK-023, M-TASK-025, M-TASK-028
#[tokio::test]
async fn the_result_of_a_call_is_the_task_which_can_be_polled_at_once() {
    let gate = gate();
    let mut peer = Peer::able(gate.server);
    let created = peer.tool("work").await;
    assert_eq!(created["resultType"], "task");
    assert_eq!(created["status"], "working");
    assert_eq!(created["ttlMs"], 3_600_000);
    assert_eq!(created["pollIntervalMs"], 1_000);
    for member in ["createdAt", "lastUpdatedAt"] {
        assert!(created[member].is_string());
    }
    for member in [
        "task",
        "ttl",
        "pollInterval",
        "result",
        "error",
        "inputRequests",
        "requestState",
    ] {
        assert_eq!(created[member], Value::Null, "{member}");
    }
    let id = created["taskId"].as_str().unwrap().to_owned();
    let seen = peer.get(&id).await;
    assert_eq!(seen["resultType"], "complete");
    assert_eq!(seen["status"], "working");
    peer.until(&id, "working").await;
    gate.go.add_permits(2);
    let done = peer.until(&id, "completed").await;
    assert_eq!(done["resultType"], "complete");
    assert_eq!(done["statusMessage"], "at work");
    let result = &done["result"];
    assert_eq!(text(result), "done");
    assert_eq!(result["resultType"], "complete");
    assert_eq!(related(result), &Value::Null);
}

// proves: M-TASK-015, M-TASK-027, M-TASK-052, M-TASK-053
#[tokio::test]
async fn only_errors_of_the_protocol_are_failures() {
    let mut peer = Peer::able(gate().server);
    for (tool, code, message) in [
        ("refuse", 7, "out of order"),
        ("panic", -32603, "the handler failed"),
    ] {
        let id = peer.started(tool).await;
        let task = peer.until(&id, "failed").await;
        assert_eq!(task["error"]["code"], json!(code));
        assert_eq!(task["error"]["message"], json!(message));
        assert_eq!(task["statusMessage"], json!(message));
        assert_eq!(task["result"], Value::Null);
    }
    let id = peer.started("fail").await;
    let task = peer.until(&id, "completed").await;
    assert_eq!(task["result"]["isError"], true);
    assert_eq!(task["error"], Value::Null);
}

// proves: M-TASK-026, M-TASK-040
#[tokio::test]
async fn cancellation_is_always_acknowledged() {
    let gate = gate();
    let mut peer = Peer::able(gate.server);
    let id = peer.started("work").await;
    let about = json!({ "taskId": id });
    for _ in 0..2 {
        let empty = peer.call("tasks/cancel", about.clone()).await;
        let members: Vec<&String> = empty.as_object().unwrap().keys().collect();
        assert_eq!(members, ["resultType", "_meta"]);
        assert_eq!(empty["resultType"], "complete");
    }
    assert_eq!(peer.get(&id).await["status"], "cancelled");
    assert!(gate.dropped.load(Ordering::SeqCst));
}

// proves: M-TASK-049, M-TASK-050, M-TASK-051, M-TASK-057, M-TASK-058
#[tokio::test]
async fn requests_about_tasks_report_the_first_failed_check() {
    let server = gate().server.build().unwrap();
    let mut able = Peer::able(server.clone());
    let mut plain = Peer::stateless(server, json!({}));
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let about = json!({ "taskId": "x", "inputResponses": {} });
        able.expect_error(method, about.clone(), -32602).await;
        plain.expect_error(method, about, -32021).await;
        plain.expect_error(method, json!({}), -32021).await;
        able.expect_error(method, json!({}), -32602).await;
    }
    for method in ["tasks/result", "tasks/list"] {
        able.expect_error(method, json!({ "taskId": "x" }), -32601)
            .await;
    }
    // The member of 2025-11-25 has no meaning here.
    let called = able
        .call(
            "tools/call",
            json!({ "name": "plain", "task": { "ttl": "x" } }),
        )
        .await;
    assert_eq!(text(&called), "plain");
}

// proves: M-TASK-055
#[tokio::test]
async fn the_tasks_extension_has_no_effect_in_a_session() {
    let gate = gate();
    gate.go.add_permits(1);
    let extension = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let mut peer = Peer::with_session(gate.server, extension).await;
    assert_eq!(text(&peer.tool("work").await), "done");
}

fn subscription(message: &Value) -> &Value {
    &message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"]
}

// proves: M-TASK-043, M-TASK-045, M-TASK-046
#[tokio::test]
async fn a_subscription_receives_all_notifications_of_a_task() {
    let gate = gate();
    let server = gate.server.build().unwrap();
    let mut peer = Peer::able(server.clone());
    let params = json!({ "name": "work", "_meta": { "progressToken": "p", "io.modelcontextprotocol/logLevel": "debug" } });
    let created = peer.call("tools/call", params).await;
    let id = created["taskId"].as_str().unwrap().to_owned();
    peer.until(&id, "working").await;
    let wanted = json!({ "notifications": { "taskIds": [id, "unknown"] } });
    let listen = peer.send("subscriptions/listen", wanted.clone()).await;
    let honoured = peer.next("notifications/subscriptions/acknowledged").await;
    let expected = json!({ "taskIds": [id] });
    assert_eq!(honoured["params"]["notifications"], expected);
    let told = peer.next("notifications/tasks").await;
    assert_eq!(
        (subscription(&told), &told["params"]["status"]),
        (&listen, &json!("working"))
    );
    gate.go.add_permits(1);
    let told = loop {
        let told = peer.next("notifications/tasks").await;
        if told["params"]["status"] != "working" {
            break told;
        }
    };
    let mut task = peer.get(&id).await;
    let mut told = told["params"].clone();
    for message in [&mut task, &mut told] {
        let members = message.as_object_mut().unwrap();
        members.retain(|name, _| name != "_meta" && name != "resultType");
    }
    assert_eq!(told, task, "as who asks for it is told");
    for message in &peer.heard {
        assert_eq!(message["method"], "notifications/tasks", "{message}");
    }
    let mut plain = Peer::stateless(server, json!({}));
    let refused = plain.expect_error("subscriptions/listen", wanted, -32021);
    let refused = tokio::time::timeout(Duration::from_secs(10), refused).await;
    refused.expect("a client without the extension is refused with -32021");
}
