//! A server with public lists and tools, and protected tools.

use mcp_auth::server::require_bearer;
use mcp_tests::auth_server::AuthServer;
use mcp_tests::tcp::{Request, initialize};

use super::support::{ProtectedServer, bearing, jwt, request, said, tool};
use crate::prelude::*;

async fn world() -> ProtectedServer {
    let auth = AuthServer::start().await;
    let verifier = jwt(&auth);
    ProtectedServer::guarded(auth, |url| {
        let builder = require_bearer(url, verifier).allow_anonymous();
        builder.build().unwrap()
    })
    .await
}

#[tokio::test]
async fn a_client_signs_in_when_a_call_needs_it() {
    let world = world().await;
    for negotiation in [Negotiation::Auto, Negotiation::SessionBased] {
        let client = world.client_with(negotiation).await;
        assert_eq!(client.list_tools().await.unwrap().len(), 5);
        // No sign-in has been requested yet.
        assert_eq!(called(&client, "whoami", json!({})).await, "you");
        if negotiation == Negotiation::SessionBased {
            // The session was anonymous. The client opens another one, and tells its user that the call has not run.
            let error = client.call_tool("write", json!({})).await.unwrap_err();
            assert!(error.to_string().contains("call again"), "{error}");
        }
        assert_eq!(called(&client, "write", json!({})).await, "written");
        assert_eq!(called(&client, "whoami", json!({})).await, "alice");
        assert_eq!(called(&client, "admin", json!({})).await, "done");
        client.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_handler_that_requires_a_scope_does_not_run_without_a_token() {
    let world = world().await;
    let answer = world.ask(&Request::post(initialize())).await;
    let id = answer.header("mcp-session-id").unwrap();
    let session = Request::post("").with("mcp-session-id", id);
    for (name, scopes) in [
        ("write", "notes:write"),
        ("admin", "notes:admin notes:write"),
    ] {
        let answer = world.ask(&tool(&session, 1, name)).await;
        assert_eq!(answer.status, 401, "{answer:?}");
        assert_eq!(said(&answer, "scope"), Some(scopes));
        assert_eq!(said(&answer, "error"), None);
    }
    assert_eq!(world.done.runs(), 0);
    let prompt = request(&session, 2, "prompts/get", json!({ "name": "plan" }));
    let answer = world.ask(&prompt).await;
    assert_eq!(answer.status, 401, "{answer:?}");
    assert_eq!(said(&answer, "scope"), Some("notes:read"));
    assert_eq!(world.said(&session, "whoami").await, "you");
    // An authenticated client cannot use an anonymous session.
    let taken = bearing(session, &world.token("eve", "mcp"));
    assert_eq!(world.ask(&tool(&taken, 1, "whoami")).await.status, 404);
    // Nor can an anonymous client use the session of an authenticated one.
    let session = world.open(&world.token("alice", "mcp"), "2025-11-25").await;
    let taken = session.without("authorization");
    assert_eq!(world.ask(&tool(&taken, 1, "whoami")).await.status, 404);
}
