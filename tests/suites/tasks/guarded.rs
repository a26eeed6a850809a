//! Rate limits, and the permissions of handlers.

use mcp_server::testing::TestClient;
use mcp_server::tool;

use super::*;

// proves: TASK-091, M-TASK-020
#[tokio::test]
async fn too_many_requests_about_tasks_are_rejected() {
    let server = gate().server.build().unwrap();
    let mut peer = Peer::with_session(server.clone(), json!({})).await;
    let id = peer.augmented("work").await;
    let mut refused = 0;
    for _ in 0..400 {
        let answer = peer.ask("tasks/get", json!({ "taskId": id })).await;
        refused += usize::from(answer["error"]["code"] == -32603);
    }
    assert!((1..300).contains(&refused), "{refused} refused");
    assert_eq!(text(&peer.tool("plain").await), "plain", "all else goes on");

    let alice = TestClient::new(server.clone())
        .answer(
            json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } }),
            |_, _| Ok(json!({})),
        )
        .on_behalf(Principal::new("alice"));
    let mut refused = 0;
    for _ in 0..500 {
        let looked = alice.request("tasks/get", json!({ "taskId": "x" })).await;
        refused += usize::from(looked.unwrap_err().code.0 == -32603);
    }
    assert!((1..=100).contains(&refused), "{refused} refused");
    let bob = alice.on_behalf(Principal::new("bob"));
    let looked = bob.request("tasks/get", json!({ "taskId": "x" })).await;
    assert_eq!(looked.unwrap_err().code.0, -32602);
}

/// Returns the principal of its request.
#[tool(task = "required", resumable)]
async fn whose(cx: Ctx) -> String {
    tokio::task::yield_now().await;
    let owner = cx
        .principal()
        .map_or("no user", Principal::as_str)
        .to_owned();
    format!(
        "{owner}, {:?}, {}",
        cx.client().map(|it| &*it.name),
        cx.is_cancelled()
    )
}

/// Detaches at once.
#[tool(task, detachable)]
async fn leaves(cx: Ctx) -> Result<&'static str, HandlerError> {
    cx.detach().await?;
    Ok("left")
}

#[tokio::test]
async fn the_handler_of_a_task_can_read_its_principal() {
    let server = Server::builder("s", "1").tools([whose::tool(), leaves::tool()]);
    let alice = TestClient::new(server)
        .answer(
            json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } }),
            |_, _| Ok(json!({})),
        )
        .on_behalf(Principal::new("alice"));
    for (tool, said) in [
        ("whose", r#"alice, Some("test"), false"#),
        ("leaves", "left"),
    ] {
        let created = alice
            .request("tools/call", json!({ "name": tool }))
            .await
            .unwrap();
        let about = json!({ "taskId": created["taskId"] });
        let result = loop {
            let task = alice.request("tasks/get", about.clone()).await.unwrap();
            if task["status"] != "working" {
                break task["result"].clone();
            }
            tokio::task::yield_now().await;
        };
        assert_eq!(text(&result), said);
    }
}
