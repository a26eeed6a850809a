//! Properties of all lists: pages, stability, visibility.

use mcp_protocol::Session;
use mcp_server::{CacheHint, ServerBuilder};

use super::{Peer, named, text};
use crate::features::LISTS;
use crate::prelude::*;

async fn all_lists(peer: &mut Peer) -> Vec<Value> {
    let mut lists = Vec::new();
    for (method, ..) in LISTS {
        lists.push(peer.call(method, json!({})).await);
    }
    lists
}

// proves: M-TOOL-006, M-TOOL-008, M-RES-004, M-PROMPT-003
#[tokio::test]
async fn lists_are_the_same_on_every_connection() {
    let server = everything::server().build().unwrap();
    let mut one = Peer::new(server.clone());
    let before = all_lists(&mut one).await;
    text(&one.tool("test_simple_text", json!({})).await);
    one.call("prompts/get", named("test_simple_prompt", json!({})))
        .await;
    one.call("resources/read", json!({ "uri": "test://static-text" }))
        .await;
    one.expect_error("tools/call", named("none", json!({})), -32602)
        .await;
    let mut other = Peer::with(
        server,
        json!({ "sampling": {}, "elicitation": {}, "roots": {} }),
    );
    other.wire.handshake("2025-11-25", json!({})).await;
    for _ in 0..10 {
        assert_eq!(all_lists(&mut one).await, before);
        assert_eq!(all_lists(&mut other).await, before);
    }
}

/// Tools for all clients and tools for Alice only, whatever name a client declares.
fn for_alice() -> ServerBuilder {
    let alice = |session: &Session| session.principal().is_some_and(|it| it.as_str() == "alice");
    Server::builder("s", "1")
        .tool(Tool::new("all", || "x"))
        .tool(Tool::new("hers", || "secret").visible_if(alice))
        .prompt(Prompt::new("all", || "x"))
        .prompt(Prompt::new("hers", || "secret").visible_if(alice))
        .resource(Resource::text("x://all", "all", "x"))
        .resource(Resource::text("x://hers", "hers", "secret").visible_if(alice))
        .cache_lists(CacheHint::public(Duration::from_secs(60)))
        .cache_resources(CacheHint::public(Duration::from_secs(60)))
}

// proves: M-TOOL-007, M-RES-005, M-PROMPT-004, M-META-016, M-CACHE-026, M-CACHE-027, M-CACHE-028, M-RES-019
#[tokio::test]
async fn items_of_one_user_are_hidden_from_others_and_from_shared_caches() {
    let endpoint = Endpoint::new(for_alice()).unwrap();
    for (user, sees) in [(Some("alice"), true), (Some("bob"), false), (None, false)] {
        let mut client = StatelessPeer::new(&endpoint);
        client.peer.principal = user.map(Principal::new);
        // A client can declare any name.
        client.meta["io.modelcontextprotocol/clientInfo"]["name"] = json!("alice");
        for (method, member, _) in &LISTS[..3] {
            let list = client.call(1, method, json!({})).await.answer().await["result"].take();
            let count = list[member].as_array().unwrap().len();
            assert_eq!(count, 1 + usize::from(sees), "{user:?} {method}");
            assert_eq!(list["cacheScope"], "private");
            assert_eq!(list["ttlMs"], 60_000);
        }
        for (method, params) in [
            ("tools/call", named("hers", json!({}))),
            ("prompts/get", named("hers", json!({}))),
            ("resources/read", json!({ "uri": "x://hers" })),
        ] {
            let answer = client.call(2, method, params).await.answer().await;
            assert_eq!(
                answer.to_string().contains("secret"),
                sees,
                "{user:?}: {answer}"
            );
            assert_eq!(
                answer["error"]["code"] == -32602,
                !sees,
                "{user:?}: {answer}"
            );
            assert_ne!(answer["result"]["cacheScope"], "public");
        }
    }
}

// proves: M-TOOL-005, M-RES-005, M-PROMPT-004, M-CACHE-018
#[tokio::test]
async fn lists_may_be_empty_and_change() {
    let server = Server::builder("s", "1")
        .tool(Tool::new("t", || "x"))
        .prompt(Prompt::new("p", || "x"))
        .resource(Resource::text("x://1", "r", "x"))
        .resource(Resource::new("x://{v}/t", "t", || "x"))
        .without_list_changes()
        .cache_lists(CacheHint::public(Duration::from_secs(1)))
        .build()
        .unwrap();
    let mut peer = Peer::new(server.clone());
    let count = |lists: &[Value]| -> Vec<usize> {
        let counted = lists.iter().zip(LISTS);
        counted
            .map(|(list, (_, member, _))| list[member].as_array().unwrap().len())
            .collect()
    };
    assert_eq!(count(&all_lists(&mut peer).await), [1, 1, 1, 1]);
    server.tools().add([Tool::new("u", || "x")]).unwrap();
    server
        .resources()
        .add([Resource::text("x://2", "r", "x")])
        .unwrap();
    server.prompts().add([Prompt::new("q", || "x")]).unwrap();
    let lists = all_lists(&mut peer).await;
    assert_eq!(count(&lists), [2, 2, 2, 1]);
    assert_eq!(lists[0]["ttlMs"], 1_000);
    assert_eq!(lists[0]["cacheScope"], "public");

    let never = |_: &Session| false;
    let server = Server::builder("s", "1")
        .tool(Tool::new("t", || "x").visible_if(never))
        .prompt(Prompt::new("p", || "x").visible_if(never))
        .resource(Resource::text("x://1", "r", "x").visible_if(never));
    assert_eq!(
        count(&all_lists(&mut Peer::new(server)).await),
        [0, 0, 0, 0]
    );
}
