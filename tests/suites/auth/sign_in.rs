//! From an unknown server to the result of a tool.

use mcp_tests::auth_server::AuthServer;
use serde_json::json;

use super::support::{ProtectedServer, jwt};

/// Signs in, needs a further scope, and continues after the token has expired.
async fn all_the_way(world: ProtectedServer) {
    let client = world.client().await;
    let call = async |name: &str| {
        let result = client.call_tool(name, json!({})).await;
        result
            .unwrap_or_else(|error| panic!("{name}: {error}"))
            .joined_text()
    };
    assert_eq!(call("whoami").await, "alice");
    let asked = world.auth.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0]["grant_type"], "authorization_code");
    assert_eq!(asked[0]["resource"], world.url);

    // The token does not cover this scope; the next one covers both.
    assert_eq!(call("write").await, "written");
    assert_eq!(call("admin").await, "done");
    assert_eq!(call("write").await, "written");
    assert_eq!(world.done.runs(), 4);
    let grants: Vec<String> = world
        .auth
        .asked()
        .iter()
        .map(|it| it["grant_type"].clone())
        .collect();
    assert_eq!(grants, ["authorization_code"; 3]);

    world.auth.wait(600);
    assert_eq!(call("whoami").await, "alice");
    assert_eq!(call("admin").await, "done");
    let asked = world.auth.asked();
    assert_eq!(asked.len(), 4);
    assert_eq!(asked[3]["grant_type"], "refresh_token");
    client.close().await.unwrap();
}

// proves: AUTH-007, AUTH-013, AUTH-017, AUTH-069
#[tokio::test]
async fn a_client_signs_in_steps_up_and_renews_its_token() {
    all_the_way(ProtectedServer::start().await).await;
}

#[tokio::test]
async fn opaque_tokens_are_verified_by_introspection() {
    let auth = AuthServer::start_with_rsa().await;
    let verifier = jwt(&auth);
    all_the_way(ProtectedServer::behind(auth, verifier).await).await;
    all_the_way(ProtectedServer::opaque().await).await;
}

#[tokio::test]
async fn two_users_of_one_server_have_different_principals() {
    let world = ProtectedServer::start().await;
    for user in ["alice", "bob"] {
        let session = world.open(&world.token(user, "mcp"), "2025-11-25").await;
        let answer = world
            .ask(&super::support::tool(&session, 1, "whoami"))
            .await;
        assert_eq!(answer.said(), user);
    }
    assert_eq!(world.endpoint.sessions(), 2);
}
