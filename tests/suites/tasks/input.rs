//! Tasks that request input.

use super::*;

fn accepted(name: &str) -> Value {
    json!({ "action": "accept", "content": { "name": name } })
}

// proves: TASK-038, TASK-042, TASK-043, TASK-045, TASK-057, TASK-058
#[tokio::test]
async fn a_server_request_of_a_task_is_sent_once_although_two_result_requests_wait() {
    let gate = gate();
    let mut peer = Peer::with_session(gate.server, json!({ "elicitation": {} })).await;
    let id = peer.augmented("ask").await;
    peer.until(&id, "input_required").await;
    let about = json!({ "taskId": id });
    let one = peer.send("tasks/result", about.clone()).await;
    let two = peer.send("tasks/result", about).await;
    let question = peer.next("elicitation/create").await;
    assert_eq!(related(&question["params"]), &json!(id));
    assert_eq!(peer.get(&id).await["status"], "input_required");
    assert!(
        peer.heard
            .iter()
            .all(|it| it["method"] != "elicitation/create"),
        "two wait, one asks"
    );
    peer.client.wire.answer(&question, accepted("Ann")).await;
    peer.until(&id, "working").await;
    gate.go.add_permits(1);
    for waiter in [one, two] {
        assert_eq!(text(&peer.answer(&waiter).await["result"]), "Hello, Ann!");
    }
}

// proves: TASK-019, TASK-025
#[tokio::test]
async fn a_client_that_waits_again_gets_the_server_request_again() {
    let gate = gate();
    gate.go.add_permits(1);
    let mut peer = Peer::with_session(gate.server, json!({ "elicitation": {} })).await;
    let id = peer.augmented("ask").await;
    let about = json!({ "taskId": id });
    let first = peer.send("tasks/result", about.clone()).await;
    let question = peer.next("elicitation/create").await;
    peer.client.wire.cancel(&first).await;
    let withdrawn = peer.next("notifications/cancelled").await;
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
    assert_eq!(peer.get(&id).await["status"], "input_required");

    let again = peer.send("tasks/result", about).await;
    let question = peer.next("elicitation/create").await;
    peer.client
        .wire
        .answer(&question, json!({ "action": "decline" }))
        .await;
    assert_eq!(
        text(&peer.answer(&again).await["result"]),
        "Hello, stranger!"
    );
}

#[tokio::test]
async fn an_error_response_fails_the_server_request() {
    let gate = gate();
    let mut peer = Peer::with_session(gate.server, json!({ "elicitation": {} })).await;
    let id = peer.augmented("ask").await;
    let waiting = peer.send("tasks/result", json!({ "taskId": id })).await;
    let question = peer.next("elicitation/create").await;
    peer.client
        .wire
        .refuse(&question, -32603, "no screen")
        .await;
    let result = peer.answer(&waiting).await["result"].take();
    assert_eq!(result["isError"], true);
    assert!(text(&result).contains("no screen"));
    assert_eq!(peer.get(&id).await["status"], "failed");
}

// proves: M-TASK-024, M-TASK-035, M-TASK-037
#[tokio::test]
async fn a_task_lists_its_input_requests_and_gets_responses_by_update() {
    let gate = gate();
    let mut peer = Peer::able(gate.server);
    let id = peer.started("ask").await;
    let task = peer.until(&id, "input_required").await;
    let questions = task["inputRequests"].as_object().unwrap();
    assert_eq!(questions.len(), 1);
    let (key, question) = questions.iter().next().unwrap();
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["message"], "Enter your name");

    let mut update = json!({ "taskId": id, "inputResponses": { "other": accepted("Eve") } });
    let empty = peer.call("tasks/update", update.clone()).await;
    let members: Vec<&String> = empty.as_object().unwrap().keys().collect();
    assert_eq!(members, ["resultType", "_meta"]);
    assert_eq!(peer.get(&id).await["status"], "input_required");

    update["inputResponses"][key] = accepted("Ann");
    peer.call("tasks/update", update.clone()).await;
    let task = peer.get(&id).await;
    assert_eq!(task["status"], "working");
    assert_eq!(task["inputRequests"], Value::Null);
    // The request has a response; a second one changes nothing.
    update["inputResponses"][key] = accepted("Eve");
    peer.call("tasks/update", update.clone()).await;
    gate.go.add_permits(1);
    let task = peer.until(&id, "completed").await;
    assert_eq!(text(&task["result"]), "Hello, Ann!");
    assert_eq!(
        peer.call("tasks/update", update).await["resultType"],
        "complete"
    );
}

// proves: M-TASK-032, M-TASK-033
#[tokio::test]
async fn a_response_of_the_wrong_shape_is_requested_again_under_another_key() {
    let gate = gate();
    gate.go.add_permits(1);
    let mut peer = Peer::able(gate.server);
    let id = peer.started("ask").await;
    let mut keys = Vec::new();
    for answer in [
        json!(7),
        accepted(""),
        json!({ "action": "perhaps" }),
        accepted("Ann"),
    ] {
        let task = peer.until(&id, "input_required").await;
        let key = task["inputRequests"]
            .as_object()
            .unwrap()
            .keys()
            .next()
            .unwrap()
            .clone();
        assert!(!keys.contains(&key), "{key} {keys:?}");
        let answer = if answer == accepted("") {
            json!({ "action": "accept", "content": {} })
        } else {
            answer
        };
        let update = json!({ "taskId": id, "inputResponses": { key.clone(): answer } });
        peer.call("tasks/update", update).await;
        keys.push(key);
    }
    let task = peer.until(&id, "completed").await;
    assert_eq!(text(&task["result"]), "Hello, Ann!");
}

// proves: M-TASK-018
#[tokio::test]
async fn a_detaching_handler_requests_input_in_round_trips_and_then_in_the_task() {
    let server = Server::builder("leaves", "1").tool(
        Tool::new("leaves", async |cx: Ctx| {
            let first = cx.named("first").elicit::<Name>("First?").await?;
            let noted = cx.memoize("noted", async { 7 }).await?;
            cx.detach().await?;
            cx.detach().await?;
            cx.status("out");
            let second = cx.named("second").elicit::<Name>("Second?").await?;
            let [first, second] = [first, second].map(|it| it.accepted().unwrap().name);
            Ok::<_, HandlerError>(format!("{first} {second} {noted}"))
        })
        .task(TaskMode::Optional)
        .detachable(),
    );
    let server = server.build().unwrap();
    let mut peer = Peer::able(server.clone());
    let call = json!({ "name": "leaves" });
    let asked = peer.call("tools/call", call.clone()).await;
    assert_eq!(asked["resultType"], "input_required");
    assert_eq!(asked["taskId"], Value::Null);
    let mut again = call.clone();
    again["inputResponses"] = json!({ "first": accepted("Ann") });
    let created = peer.call("tools/call", again).await;
    assert_eq!(created["resultType"], "task");
    for member in ["inputRequests", "requestState", "result", "error"] {
        assert_eq!(created[member], Value::Null);
    }
    let id = created["taskId"].as_str().unwrap().to_owned();
    let task = peer.until(&id, "input_required").await;
    assert_eq!(task["statusMessage"], "out");
    let update = json!({ "taskId": id, "inputResponses": { "second": accepted("Bob") } });
    peer.call("tasks/update", update).await;
    let task = peer.until(&id, "completed").await;
    assert_eq!(text(&task["result"]), "Ann Bob 7");

    // Clients without tasks wait, and the handler is the same.
    let mut plain = Peer::stateless(server, json!({ "elicitation": {} }));
    let mut params = call;
    params["inputResponses"] = json!({ "first": accepted("Ann") });
    let asked = plain.call("tools/call", params.clone()).await;
    assert!(asked["inputRequests"]["second"].is_object(), "{asked}");
    params["inputResponses"] = json!({ "second": accepted("Bob") });
    params["requestState"] = asked["requestState"].clone();
    assert_eq!(text(&plain.call("tools/call", params).await), "Ann Bob 7");
}
