//! Valid tokens without the required scope.

use mcp_server::{Server, Tool};
use serde_json::{Value, json};

use super::support::{ProtectedServer, bearing, body, said, tool};

// proves: AUTH-065, AUTH-067, AUTH-068, AUTH-069, AUTH-070, AUTH-071, AUTH-072
#[tokio::test]
async fn a_call_without_the_scope_of_its_tool_gets_a_challenge_with_the_scope() {
    let world = ProtectedServer::start().await;
    let session = world
        .open(&world.token("alice", "mcp notes:read"), "2025-11-25")
        .await;
    let metadata = world
        .url
        .replace("/mcp", "/.well-known/oauth-protected-resource/mcp");
    for (name, scopes) in [
        ("write", "mcp notes:write notes:read"),
        ("admin", "mcp notes:admin notes:write notes:read"),
    ] {
        // The same call gets the same response.
        for _ in 0..2 {
            let answer = world.ask(&tool(&session, 7, name)).await;
            assert_eq!(answer.status, 403, "{answer:?}");
            assert_eq!(said(&answer, "error"), Some("insufficient_scope"));
            assert_eq!(said(&answer, "scope"), Some(scopes));
            assert_eq!(said(&answer, "resource_metadata"), Some(&*metadata));
            assert!(said(&answer, "error_description").is_some());
            // The JSON-RPC message contains the error too.
            let message = answer.json();
            assert_eq!(message["id"], 7);
            assert_eq!(message["error"]["code"], -32600);
        }
    }
    assert_eq!(world.done.runs(), 0);
    let more = world.token("alice", "notes:write notes:admin mcp");
    let session = bearing(session, &more);
    for (name, text) in [("write", "written"), ("admin", "done")] {
        assert_eq!(world.said(&session, name).await, text);
    }
}

// proves: M-AUTH-048, M-AUTH-049, M-AUTH-089
#[tokio::test]
async fn without_sessions_a_call_without_its_scope_is_challenged() {
    let world = ProtectedServer::start().await;
    let ask = async |token: &str, id: i64, name: &str| world.stateless(token, id, name).await;
    let token = world.token("alice", "mcp");
    assert_eq!(ask(&token, 1, "whoami").await.said(), "alice");
    for (name, scopes) in [
        ("write", "mcp notes:write"),
        ("admin", "mcp notes:admin notes:write"),
    ] {
        let answer = ask(&token, 2, name).await;
        assert_eq!(answer.status, 403, "{answer:?}");
        assert_eq!(said(&answer, "scope"), Some(scopes));
        assert_eq!(answer.json()["id"], 2);
    }
    assert_eq!(world.done.runs(), 1);
    assert_eq!(ask("made-up", 3, "whoami").await.status, 401);
}

#[tokio::test]
async fn in_a_batch_a_call_without_its_scope_does_not_affect_other_calls() {
    let world = ProtectedServer::start().await;
    let session = world.open(&world.token("alice", "mcp"), "2025-03-26").await;
    let call = |id: i64, name: &str| {
        let params = json!({ "name": name });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
    };
    let batch = json!([
        call(1, "whoami"),
        call(2, "write"),
        call(3, "admin"),
        call(4, "whoami")
    ]);
    let answer = world.ask(&body(&session, &batch)).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("www-authenticate"), None);
    let answers = answer.json();
    let of = |id: i64| -> Value {
        let mut all = answers.as_array().unwrap().iter();
        all.find(|it| it["id"] == id).unwrap().clone()
    };
    assert_eq!(of(1)["result"]["content"][0]["text"], "alice");
    assert_eq!(of(4)["result"]["content"][0]["text"], "alice");
    assert_eq!(of(2)["error"]["code"], -32600);
    assert_eq!(of(3)["error"]["code"], -32600);
    assert_eq!(world.done.runs(), 2);
}

#[test]
fn a_scope_that_no_token_can_have_is_a_registration_error() {
    let build = |scope: &str| {
        let tool = Tool::new("t", || "done").scope(scope);
        Server::builder("s", "1").tool(tool).build()
    };
    for scope in ["read", "read write", "!#[]~"] {
        assert!(build(scope).is_ok(), "{scope:?}");
    }
    for scope in [
        "",
        " ",
        "read  write",
        " read",
        "read ",
        "a\"b",
        "a\\b",
        "a\tb",
        "\u{e4}",
    ] {
        let error = build(scope).unwrap_err().to_string();
        let expected = format!("the scope {scope:?} must consist of words");
        assert!(error.contains(&expected), "{error}");
    }
}
