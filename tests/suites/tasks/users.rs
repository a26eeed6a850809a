//! Several users of one server: the owner of a task.

use mcp_tests::http::{Peer as HttpPeer, StatelessPeer};

use super::*;

async fn open(endpoint: &Endpoint, user: Option<&str>) -> (HttpPeer, Value) {
    let mut peer = HttpPeer::new(endpoint);
    peer.principal = user.map(Principal::new);
    let mut opened = peer.handshake("2025-11-25", json!({})).await;
    (peer, opened["capabilities"].take())
}

async fn start(peer: &HttpPeer) -> String {
    let params = json!({ "name": "work", "task": {} });
    let created = peer.ask("tools/call", params).await;
    created["result"]["task"]["taskId"]
        .as_str()
        .unwrap()
        .to_owned()
}

async fn listed(peer: &HttpPeer) -> Vec<String> {
    let list = peer.ask("tasks/list", json!({})).await;
    let tasks = list["result"]["tasks"].as_array().unwrap();
    tasks
        .iter()
        .map(|it| it["taskId"].as_str().unwrap().to_owned())
        .collect()
}

// proves: TASK-085, TASK-089, TASK-090
#[tokio::test]
async fn a_task_belongs_to_the_user_that_started_it() {
    let endpoint = Endpoint::new(gate().server).unwrap();
    let (alice, _) = open(&endpoint, Some("alice")).await;
    let (bob, _) = open(&endpoint, Some("bob")).await;
    let (hers, his) = (start(&alice).await, start(&bob).await);
    assert_eq!(listed(&alice).await, std::slice::from_ref(&hers));
    assert_eq!(listed(&bob).await, [his]);
    let mut unknown = None;
    for id in [&hers, "f00d"] {
        for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
            let answer = bob.ask(method, json!({ "taskId": id })).await;
            assert_eq!(answer["error"]["code"], -32602);
            let told = unknown.get_or_insert_with(|| answer.clone());
            assert_eq!(
                *told, answer,
                "what there is and what there is not look the same"
            );
        }
    }
    // Another session of the same user is as good as the first.
    let (again, _) = open(&endpoint, Some("alice")).await;
    let cancelled = again
        .call("end", "tasks/cancel", json!({ "taskId": hers }))
        .await;
    assert_eq!(cancelled.answer().await["result"]["status"], "cancelled");
}

// proves: TASK-007, TASK-087, TASK-088
#[tokio::test]
async fn tasks_are_not_listed_without_identities() {
    let endpoint = Endpoint::new(gate().server).unwrap();
    let (peer, capabilities) = open(&endpoint, None).await;
    let expected = json!({ "cancel": {}, "requests": { "tools": { "call": {} } } });
    assert_eq!(capabilities["tasks"], expected);
    let refused = peer.ask("tasks/list", json!({})).await;
    assert_eq!(refused["error"]["code"], -32601);
    let (one, two) = (start(&peer).await, start(&peer).await);
    // 64 digits of four bits each, without common parts.
    let same = one.bytes().zip(two.bytes()).filter(|(a, b)| a == b).count();
    assert!(one.len() == 64 && same < 20, "{one} {two}");
    let (_, capabilities) = open(&endpoint, Some("alice")).await;
    assert_eq!(capabilities["tasks"]["list"], json!({}));
}

// proves: M-TASK-048, M-TASK-060, M-TASK-061, M-TASK-051, M-TASK-057
#[tokio::test]
async fn each_stateless_request_about_a_task_is_checked_separately() {
    let endpoint = Endpoint::new(gate().server).unwrap();
    let extensions = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let mut alice = StatelessPeer::new(&endpoint)
        .with_meta("io.modelcontextprotocol/clientCapabilities", extensions);
    alice.peer.principal = Some(Principal::new("alice"));
    let mut bob = alice.clone();
    bob.peer.principal = Some(Principal::new("bob"));
    let created = alice.tool(1, "work", json!({})).await.answer().await;
    let id = created["result"]["taskId"].as_str().unwrap().to_owned();
    assert_eq!(id.len(), 64);
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let about = json!({ "taskId": id, "inputResponses": {} });
        let refused = bob.call(2, method, about.clone()).await.answer().await;
        assert_eq!(refused["error"]["code"], -32602, "{method}");
        // The header names another task than the body.
        let request = alice.request(3, method, about.clone());
        let wrong = alice.mirroring(&request).with("mcp-name", Some("another"));
        let reply = wrong.post(request).await;
        reply.refused(400, -32020).await;
        let plain = alice.with_meta("io.modelcontextprotocol/clientCapabilities", json!({}));
        let reply = plain.call(4, method, about).await;
        reply.refused(400, -32021).await;
    }
    for method in ["tasks/result", "tasks/list"] {
        let reply = alice.call(5, method, json!({ "taskId": id })).await;
        reply.refused(404, -32601).await;
    }
    let seen = alice.call(6, "tasks/get", json!({ "taskId": id })).await;
    assert_eq!(seen.answer().await["result"]["status"], "working");
}

// proves: TASK-020, TASK-041
#[tokio::test]
async fn a_poll_of_a_task_is_answered_without_a_stream() {
    let endpoint = Endpoint::new(gate().server).unwrap();
    let (peer, _) = open(&endpoint, Some("alice")).await;
    let id = start(&peer).await;
    let reply = peer
        .call("look", "tasks/get", json!({ "taskId": id }))
        .await;
    assert_eq!(reply.kind(), "application/json");
    assert_eq!(reply.answer().await["result"]["status"], "working");
}
