//! Calls whose server waits for the client.

use super::Scripted;
use crate::peer::Peer;
use crate::prelude::*;

/// A client without a progress token could not say to which of its calls the progress belongs.
#[tokio::test]
async fn a_call_that_is_resumed_without_a_progress_token_receives_no_progress() {
    let (upstream, mut servers) = Scripted::upstream();
    let (proxy, _shared) = servers.proxy(upstream).await;
    let mut peer = Peer::with(proxy, json!({ "elicitation": {} }));
    let first = json!({ "name": "t", "_meta": { "progressToken": "mine" } });
    peer.request("tools/call", first).await;
    let (mut server, _) = servers.accept().await;
    let request = server.expect("tools/call").await;
    let token = &request["params"]["_meta"]["progressToken"];
    let form =
        json!({ "message": "Name?", "requestedSchema": { "type": "object", "properties": {} } });
    server.request("elicitation/create", form).await;
    let required = peer.wire.recv().await["result"].take();
    let progress = |progress| json!({ "progressToken": token, "progress": progress });
    // One notification is kept until the call continues, and one arrives afterwards.
    server.notify("notifications/progress", progress(1)).await;
    server.silent().await;
    let again = json!({
        "name": "t",
        "requestState": required["requestState"],
        "inputResponses": { "q1": { "action": "decline" } },
    });
    let id = peer.request("tools/call", again).await;
    assert!(server.recv().await["result"].is_object());
    server.notify("notifications/progress", progress(2)).await;
    server.silent().await;
    server.answer(&request, json!({ "content": [] })).await;
    let done = peer.wire.recv().await;
    assert_eq!(done["id"], id, "{done}");
}
