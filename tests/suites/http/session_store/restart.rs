//! An endpoint that is started again with its state in a file.

use std::path::{Path, PathBuf};

use mcp_store_redb::{OpenError, Persist as _, RedbStore};
use mcp_tests::http::Peer;
use tokio::task::yield_now;
use tokio::time::timeout;

use crate::prelude::*;

const DEADLINE: Duration = Duration::from_secs(30);

/// Proceed?
#[derive(Deserialize, JsonSchema)]
struct Go {
    /// Whether to proceed.
    yes: bool,
}

async fn proceed(cx: Ctx) -> Result<String, HandlerError> {
    // The encrypted state of the call has the result of the step.
    let step = cx.memoize("step", async { 1 }).await?;
    let answer = cx.elicit::<Go>("Proceed?").await?;
    let yes = answer.accepted().is_some_and(|go| go.yes);
    Ok(format!("{step}: {yes}"))
}

async fn progress(cx: Ctx) -> &'static str {
    cx.progress(1.0, None);
    "done"
}

/// A file that is removed after the test.
struct State(PathBuf);

impl State {
    fn new(name: &str) -> Self {
        let name = format!("restart-{}-{name}", std::process::id());
        Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
    }

    async fn start(&self) -> Endpoint {
        let opened = timeout(DEADLINE, async {
            loop {
                match RedbStore::open(&self.0) {
                    // Aborted tasks of the previous endpoint have the last handles.
                    Err(OpenError::InUse { .. }) => yield_now().await,
                    opened => return opened.unwrap(),
                }
            }
        });
        let store = opened.await.unwrap();
        let server = Server::builder("restarted", "1.0.0")
            .page_size(1)
            .tool(Tool::new("proceed", proceed))
            .tool(Tool::new("progress", progress))
            .persist(&store);
        Endpoint::with_options(server, ServerOptions::new().persist(&store)).unwrap()
    }

    async fn restart(&self, endpoint: Endpoint) -> Endpoint {
        endpoint.close().await;
        drop(endpoint);
        self.start().await
    }
}

impl Drop for State {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[tokio::test]
async fn cursors_and_the_state_of_calls_are_valid_after_a_restart() {
    let state = State::new("keys");
    let endpoint = state.start().await;
    let client = StatelessPeer::new(&endpoint);
    let list = client.call(1, "tools/list", json!({})).await.json().await;
    let first = client.tool(2, "proceed", json!({})).await.json().await;
    drop(client);

    let endpoint = state.restart(endpoint).await;
    let client = StatelessPeer::new(&endpoint);
    let next = json!({ "cursor": list["result"]["nextCursor"] });
    let list = client.call(3, "tools/list", next).await.json().await;
    assert_eq!(list["result"]["tools"][0]["name"], "progress", "{list}");
    let required = first["result"]["inputRequests"].as_object().unwrap();
    let accepted = json!({ "action": "accept", "content": { "yes": true } });
    let responses: JsonObject = required
        .keys()
        .map(|key| (key.clone(), accepted.clone()))
        .collect();
    let params = json!({
        "name": "proceed", "arguments": {}, "inputResponses": responses,
        "requestState": first["result"]["requestState"],
    });
    let reply = client.call(4, "tools/call", params).await;
    assert_eq!(reply.said().await, "1: true");
}

#[tokio::test]
async fn a_call_that_ended_before_a_restart_can_be_resumed() {
    let state = State::new("events");
    let endpoint = state.start().await;
    let peer = Peer::open(&endpoint).await;
    let params = json!({
        "name": "progress", "arguments": {}, "_meta": { "progressToken": 1 },
    });
    let mut call = peer.call(1, "tools/call", params).await;
    let last = call.event().await.unwrap().id.unwrap();
    // All events are stored before the call has ended.
    while call.event().await.is_some() {}
    let headers = peer.headers.clone();
    drop((call, peer));

    let endpoint = state.restart(endpoint).await;
    let mut peer = Peer::new(&endpoint);
    peer.headers = headers;
    let mut resumed = peer.get(Some(&last)).await;
    assert_eq!(resumed.status, 200);
    let progress = resumed.message().await.unwrap();
    assert_eq!(progress["params"]["progress"], 1.0);
    let response = resumed.message().await.unwrap();
    assert_eq!(response["result"]["content"][0]["text"], "done");
    assert_eq!(resumed.message().await, None);
}
