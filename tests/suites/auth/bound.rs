//! Tokens that are bound to a key of the client (DPoP): our client with our server.

use mcp_auth::server::{Dpop, Introspection, Verify, require_bearer};
use mcp_tests::auth_server::{AuthServer, SERVER_ID, SERVER_SECRET};

use super::support::{ProtectedServer, bearing, jwt};
use crate::prelude::*;

async fn protected(auth: AuthServer, verifier: impl Verify, dpop: Dpop) -> ProtectedServer {
    let dpop = dpop.clock(auth.clock());
    let guard = |url: &str| {
        let builder = require_bearer(url, verifier).scope("mcp").dpop(dpop);
        builder.build().unwrap()
    };
    ProtectedServer::guarded(auth, guard).await
}

/// Signs in, calls, steps up, and continues after token and nonce have expired.
async fn all_the_way(world: &ProtectedServer) {
    let client = world.client().await;
    for tool in ["whoami", "write", "admin"] {
        called(&client, tool, json!({})).await;
    }
    world.auth.wait(600);
    assert_eq!(called(&client, "whoami", json!({})).await, "alice");
    assert_eq!(world.done.runs(), 4);
    let asked = world.auth.asked();
    let grants: Vec<&str> = asked.iter().map(|form| &*form["grant_type"]).collect();
    let code = "authorization_code";
    assert_eq!(grants, [code, code, code, "refresh_token"]);
    client.close().await.unwrap();
}

#[tokio::test]
async fn a_client_binds_its_tokens_if_the_server_requires_it() {
    for dpop in [
        Dpop::new().required(),
        Dpop::new().required().require_nonce(),
    ] {
        let auth = AuthServer::start().await;
        let verifier = jwt(&auth);
        all_the_way(&protected(auth, verifier, dpop).await).await;
    }
}

#[tokio::test]
async fn opaque_tokens_can_be_bound_to_a_key() {
    let auth = AuthServer::start().await;
    auth.give_out_opaque_tokens();
    let verifier = Introspection::builder(auth.issuer(), SERVER_ID, SERVER_SECRET);
    let verifier = verifier.clock(auth.clock()).build().unwrap();
    let dpop = Dpop::new().required().require_nonce();
    all_the_way(&protected(auth, verifier, dpop).await).await;
}

#[tokio::test]
async fn a_client_without_a_key_uses_bearer_tokens_if_the_server_permits_both() {
    let auth = AuthServer::start().await;
    let verifier = jwt(&auth);
    all_the_way(&protected(auth, verifier, Dpop::new()).await).await;
}

#[tokio::test]
async fn a_stolen_bound_token_is_rejected_without_its_key() {
    for dpop in [Dpop::new(), Dpop::new().required()] {
        let auth = AuthServer::start().await;
        let verifier = jwt(&auth);
        let world = protected(auth, verifier, dpop).await;
        let client = mcp_auth::OAuth::client(&world.url)
            .user_agent(world.auth.browser())
            .clock(world.auth.clock())
            .require_dpop()
            .build()
            .unwrap();
        let http = HttpTransport::new(&world.url).unwrap().authorize(client);
        let client = Client::builder("host", "1").connect(http).await.unwrap();
        assert_eq!(called(&client, "whoami", json!({})).await, "alice");
        let tokens = world.auth.tokens();
        assert_eq!(tokens.len(), 1);
        let hello = mcp_tests::tcp::Request::post("{}");
        let bearer = world.ask(&bearing(hello.clone(), &tokens[0])).await;
        let alone = hello.with("authorization", format!("DPoP {}", tokens[0]));
        let alone = world.ask(&alone).await;
        assert_eq!((bearer.status, alone.status), (401, 401));
        assert_eq!(bearer.json()["error"], "invalid_token");
        assert_eq!(alone.json()["error"], "invalid_dpop_proof");
        assert_eq!(world.done.runs(), 1);
        client.close().await.unwrap();
    }
}
