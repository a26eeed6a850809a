//! Signing out: tokens are revoked, and what is remembered for the next sign-in.

use mcp_auth::client::{CustomUserAgent, Error, MemoryTokenStore, OAuthBuilder};
use serde_json::json;

use crate::support::{ASM, BACK, ISSUER, Net, error, metadata, refuse, sent, signed_in};

/// A network whose authorization server can revoke tokens.
fn revoking() -> Net {
    let net = Net::new();
    let mut document = metadata(ISSUER);
    document["revocation_endpoint"] = json!(format!("{ISSUER}/revoke"));
    net.document(ASM, &document);
    net.answer(&format!("{ISSUER}/revoke"), 200, "");
    net
}

/// Returns the forms that were sent to the endpoint for revocation, as pairs of the hint and the token.
fn revoked(net: &Net) -> Vec<(String, String)> {
    let seen = net.requests("/revoke").into_iter();
    seen.map(|request| {
        assert_eq!(request.field("client_id").as_deref(), Some("client-1"));
        let field = |name: &str| request.field(name).unwrap();
        (field("token_type_hint"), field("token"))
    })
    .collect()
}

#[tokio::test]
async fn tokens_are_revoked_at_the_endpoint_of_their_issuer() {
    let net = revoking();
    let auth = net.client().build().unwrap();
    assert!(!auth.revoke().await.unwrap());
    signed_in(&auth).await;
    assert!(auth.revoke().await.unwrap());
    let pair = |hint: &str, token: &str| (hint.to_owned(), token.to_owned());
    assert_eq!(
        revoked(&net),
        [
            pair("refresh_token", "refresh-of-token-1"),
            pair("access_token", "token-1"),
        ]
    );
}

#[tokio::test]
async fn only_a_bound_token_is_revoked_with_a_proof() {
    for (kind, is_bound) in [("DPoP", true), ("Bearer", false)] {
        let net = revoking();
        net.tokens(move |_| {
            let body = json!({ "access_token": "t", "token_type": kind });
            (200, body.to_string())
        });
        let client = net.client();
        let client = if is_bound {
            client.require_dpop()
        } else {
            client
        };
        let auth = client.build().unwrap();
        signed_in(&auth).await;
        assert!(auth.revoke().await.unwrap());
        let [request] = &net.requests("/revoke")[..] else {
            panic!("one token");
        };
        assert_eq!(request.headers.contains_key("dpop"), is_bound, "{kind}");
    }
}

#[tokio::test]
async fn a_revocation_succeeds_if_only_refresh_tokens_can_be_revoked() {
    let net = revoking();
    let auth = net.client().build().unwrap();
    signed_in(&auth).await;
    let (status, body) = error(400, "unsupported_token_type");
    net.answer(&format!("{ISSUER}/revoke"), status, &body);
    assert!(auth.revoke().await.unwrap());
}

#[tokio::test]
async fn a_failed_revocation_is_an_error_and_keeps_the_tokens_for_signing_out() {
    let net = revoking();
    let auth = net.client().build().unwrap();
    signed_in(&auth).await;
    for (status, body) in [
        (503, String::new()),
        error(400, "invalid_request"),
        (403, String::new()),
    ] {
        net.answer(&format!("{ISSUER}/revoke"), status, &body);
        let error = auth.revoke().await.unwrap_err().to_string();
        assert!(
            error.contains("/revoke did not revoke the token"),
            "{error}"
        );
        assert!(!error.contains("token-1"), "{error}");
    }
    assert!(auth.is_signed_in().await.unwrap());
    auth.sign_out().await.unwrap();
    assert!(!auth.is_signed_in().await.unwrap());
}

#[tokio::test]
async fn tokens_are_not_revoked_without_an_endpoint_or_at_another_issuer() {
    let net = Net::new();
    let auth = net.client().build().unwrap();
    signed_in(&auth).await;
    assert!(!auth.revoke().await.unwrap());

    let other = "https://other.example";
    let mut document = metadata(other);
    document["revocation_endpoint"] = json!(format!("{other}/revoke"));
    net.document(
        "https://other.example/.well-known/oauth-authorization-server",
        &document,
    );
    let resource = json!({ "resource": crate::support::SERVER, "authorization_servers": [other] });
    net.document(crate::support::PRM, &resource);
    let error = auth.revoke().await.unwrap_err();
    assert!(error.is_mismatch(), "{error}");
    assert!(net.requests("/revoke").is_empty());
}

/// A program that must not ask the user makes a call, and the server requires the scope.
async fn call_without_a_scope(client: OAuthBuilder, scope: &str) {
    let silent = CustomUserAgent::new(BACK, |_| async { Err(Error::user_agent("not now")) });
    let auth = client.user_agent(silent).build().unwrap();
    let message = sent(&auth).await.unwrap();
    let more = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
    refuse(&auth, &message, 403, &more).await.unwrap_err();
}

#[tokio::test]
async fn the_next_sign_in_requests_the_scopes_that_a_call_needed() {
    let (net, store) = (Net::new(), MemoryTokenStore::new());
    let client = || net.client().store(store.clone());
    let scopes = || net.visits().last().unwrap()["scope"].clone();
    net.challenge("Bearer scope=\"read\"");
    client().build().unwrap().sign_in().await.unwrap();
    assert_eq!(scopes(), "read");
    for scope in ["write", "delete"] {
        call_without_a_scope(client(), scope).await;
    }
    client().build().unwrap().sign_in().await.unwrap();
    let mut requested: Vec<String> = scopes().split(' ').map(str::to_owned).collect();
    requested.sort();
    assert_eq!(requested, ["delete", "read", "write"]);
    // Once: the user may have denied them.
    client().build().unwrap().sign_in().await.unwrap();
    assert_eq!(scopes(), "read");

    call_without_a_scope(client(), "write").await;
    let own = client().scopes("list").build().unwrap();
    own.sign_in().await.unwrap();
    assert_eq!(scopes(), "list read");
}

/// The authorization server may not know a scope that the server has named.
#[tokio::test]
async fn a_failed_sign_in_keeps_the_tokens_and_does_not_request_the_scopes_again() {
    let (net, store) = (Net::new(), MemoryTokenStore::new());
    let client = || net.client().store(store.clone());
    let scopes = || net.visits().last().unwrap()["scope"].clone();
    net.challenge("Bearer scope=\"read\"");
    client().build().unwrap().sign_in().await.unwrap();
    call_without_a_scope(client(), "bogus").await;
    let refusing = CustomUserAgent::new(BACK, |_| async { Err(Error::user_agent("denied")) });
    let failing = client().user_agent(refusing).build().unwrap();
    failing.sign_in().await.unwrap_err();
    let auth = client().build().unwrap();
    assert!(auth.is_signed_in().await.unwrap());
    auth.sign_in().await.unwrap();
    assert_eq!(scopes(), "read");
}

/// A person who ends `mcp login` while the browser is open is still signed in.
#[tokio::test]
async fn an_abandoned_sign_in_keeps_the_tokens() {
    let (net, store) = (Net::new(), MemoryTokenStore::new());
    let client = || net.client().store(store.clone());
    client().build().unwrap().sign_in().await.unwrap();
    let waiting = CustomUserAgent::new(BACK, |_| std::future::pending());
    let abandoned = client().user_agent(waiting).build().unwrap();
    let sign_in = tokio::time::timeout(std::time::Duration::from_millis(200), abandoned.sign_in());
    sign_in.await.unwrap_err();
    assert!(client().build().unwrap().is_signed_in().await.unwrap());
    // The program that began it has the earlier tokens, too, and can begin again.
    assert!(abandoned.is_signed_in().await.unwrap());
}

#[tokio::test]
async fn a_sign_in_asks_the_user_although_the_tokens_are_valid() {
    let (net, store) = (Net::new(), MemoryTokenStore::new());
    let client = || net.client().store(store.clone());
    let auth = client().build().unwrap();
    auth.sign_in().await.unwrap();
    let visits = net.visits().len();
    auth.sign_in().await.unwrap();
    client().build().unwrap().sign_in().await.unwrap();
    assert_eq!(net.visits().len(), visits + 2);
}
