//! Several users of one server: input counts only for the principal that was asked.

use mcp_server::ServerBuilder;
use std::collections::BTreeMap;

use crate::prelude::*;

#[derive(Deserialize, JsonSchema)]
struct Key {
    key: String,
    /// The name that the user enters.
    user: String,
}

/// `keep` requests input twice and stores it for its principal; `tell` returns it.
fn server() -> ServerBuilder {
    let kept: Arc<Mutex<BTreeMap<Principal, String>>> = Arc::default();
    let tells = Arc::clone(&kept);
    let who = |cx: &Ctx| {
        let user = cx.principal().cloned();
        user.ok_or_else(|| HandlerError::new("there is no user"))
    };
    Server::builder("keeps", "1")
        .tool(Tool::new("keep", move |cx: Ctx| {
            let kept = Arc::clone(&kept);
            async move {
                let user = who(&cx)?;
                let first = cx.named("first").elicit::<Key>("Your key?").await?;
                let second = cx.named("second").elicit::<Key>("Again?").await?;
                let (Some(first), Some(second)) = (first.accepted(), second.accepted()) else {
                    return Ok("nothing");
                };
                if first.key != second.key || first.user != second.user {
                    return Ok("not the same");
                }
                kept.lock().unwrap().insert(user, first.key);
                Ok::<_, HandlerError>("kept")
            }
        }))
        .tool(Tool::new("tell", move |cx: Ctx| {
            let kept = tells.lock().unwrap();
            Ok::<_, HandlerError>(kept.get(&who(&cx)?).cloned().unwrap_or_default())
        }))
}

/// Calls a tool with the responses of this round trip.
async fn call(client: &StatelessPeer, tool: &str, more: Value) -> Value {
    let mut params = more;
    params["name"] = json!(tool);
    client.call(1, "tools/call", params).await.answer().await
}

fn answered(question: &str, key: &str) -> Value {
    let content = json!({ "key": key, "user": "alice" });
    json!({ "inputResponses": { question: { "action": "accept", "content": content } } })
}

// proves: M-ELIC-024, M-ELIC-026, M-ELIC-033, M-ELIC-045, M-ELIC-052, M-MRTR-016, M-META-016
#[tokio::test]
async fn the_state_of_a_call_is_bound_to_its_principal() {
    let endpoint = Endpoint::new(server()).unwrap();
    let client = |user: Option<&str>| {
        let mut client = StatelessPeer::new(&endpoint);
        client.peer.principal = user.map(Principal::new);
        client.meta["io.modelcontextprotocol/clientInfo"]["name"] = json!("alice");
        client
    };
    let (alice, bob, anonymous) = (client(Some("alice")), client(Some("bob")), client(None));
    let asked = call(&bob, "keep", answered("first", "his")).await["result"].take();
    assert_eq!(
        asked["inputRequests"]["second"]["method"],
        "elicitation/create"
    );
    let mut second = answered("second", "his");
    second["requestState"] = asked["requestState"].clone();
    for thief in [&alice, &anonymous] {
        let refused = call(thief, "keep", second.clone()).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    let kept = call(&bob, "keep", second).await;
    assert_eq!(kept["result"]["content"][0]["text"], "kept");
    for (client, told) in [
        (&bob, "his"),
        (&alice, ""),
        (&anonymous, "there is no user"),
    ] {
        let answer = call(client, "tell", json!({})).await;
        assert_eq!(answer["result"]["content"][0]["text"], told);
    }
}
