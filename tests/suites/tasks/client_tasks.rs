//! Server requests that the client answers as tasks (2025-11-25).

use mcp_client::TaskLimits;
use mcp_server::ServerBuilder;
use mcp_transport_stdio::in_memory;

use super::Peer;
use crate::prelude::*;

/// Creates a server that elicits a name and waits for a day.
fn server() -> ServerBuilder {
    let ask = async |cx: Ctx| {
        let cx = cx.as_task(Duration::from_secs(3_600));
        let answer = cx.elicit::<Name>("Enter your name").await?;
        Ok::<_, HandlerError>(match answer.accepted() {
            Some(name) => format!("Hello, {}!", name.name),
            None => "Hello, stranger!".to_owned(),
        })
    };
    Server::builder("asks", "1").tool(Tool::new("ask", ask))
}

fn takes_tasks() -> Value {
    let requests = json!({ "elicitation": { "create": {} } });
    json!({ "elicitation": {}, "tasks": { "cancel": {}, "requests": requests } })
}

fn created() -> Value {
    json!({ "task": {
        "taskId": "t-1", "status": "working", "ttl": null,
        "createdAt": "2025-11-25T10:30:00Z", "lastUpdatedAt": "2025-11-25T10:30:00Z",
    } })
}

/// The request has become a task, and the server waits for its result.
async fn waited_for(capabilities: Value) -> (Peer, Value, Value) {
    let mut peer = Peer::with_session(server(), capabilities).await;
    let call = peer
        .send("tools/call", json!({ "name": "ask", "arguments": {} }))
        .await;
    let question = peer.next("elicitation/create").await;
    assert_eq!(question["params"]["task"], json!({ "ttl": 3_600_000 }));
    peer.client.wire.answer(&question, created()).await;
    let wanted = peer.next("tasks/result").await;
    assert_eq!(wanted["params"], json!({ "taskId": "t-1" }));
    (peer, call, wanted)
}

// proves: TASK-004, TASK-015, TASK-016
#[tokio::test]
async fn a_server_request_is_sent_as_a_task_if_the_client_declares_tasks() {
    let (mut peer, call, wanted) = waited_for(takes_tasks()).await;
    let related = json!({ "io.modelcontextprotocol/related-task": { "taskId": "t-1" } });
    let accepted = json!({ "action": "accept", "content": { "name": "Ada" }, "_meta": related });
    peer.client.wire.answer(&wanted, accepted).await;
    let answer = peer.answer(&call).await;
    assert_eq!(answer["result"]["content"][0]["text"], "Hello, Ada!");
}

// proves: TASK-005, TASK-006
#[tokio::test]
async fn a_server_request_is_sent_without_a_task_if_the_client_declares_none() {
    let sampling_only = json!({ "requests": { "sampling": { "createMessage": {} } } });
    for capabilities in [
        json!({ "elicitation": {} }),
        json!({ "elicitation": {}, "tasks": {} }),
        json!({ "elicitation": {}, "tasks": sampling_only }),
    ] {
        let mut peer = Peer::with_session(server(), capabilities).await;
        let call = peer
            .send("tools/call", json!({ "name": "ask", "arguments": {} }))
            .await;
        let question = peer.next("elicitation/create").await;
        assert!(question["params"]["task"].is_null(), "{question}");
        let declined = json!({ "action": "decline" });
        peer.client.wire.answer(&question, declined).await;
        let answer = peer.answer(&call).await;
        assert_eq!(answer["result"]["content"][0]["text"], "Hello, stranger!");
    }
}

#[tokio::test]
async fn the_task_of_a_server_request_is_cancelled_with_its_call() {
    let (mut peer, call, _) = waited_for(takes_tasks()).await;
    peer.client.wire.cancel(&call).await;
    let cancelled = peer.next("tasks/cancel").await;
    assert_eq!(cancelled["params"], json!({ "taskId": "t-1" }));
}

#[tokio::test]
async fn a_server_request_whose_task_fails_is_rejected() {
    let (mut peer, call, wanted) = waited_for(takes_tasks()).await;
    peer.client
        .wire
        .refuse(&wanted, -32_603, "the window was closed")
        .await;
    let result = peer.answer(&call).await["result"].clone();
    assert_eq!(result["isError"], true, "{result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("the window was closed"), "{text}");
}

#[tokio::test]
async fn client_and_server_of_this_sdk_work_together() {
    let client = Client::builder("host", "1")
        .negotiation(Negotiation::SessionBased)
        .on_elicit(async |form| form.accept(json!({ "name": "Grace" })))
        .tasks(TaskLimits::default());
    let client = client.connect(in_memory(server())).await.unwrap();
    assert_eq!(called(&client, "ask", json!({})).await, "Hello, Grace!");
}
