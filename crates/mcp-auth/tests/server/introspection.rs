//! Token introspection.

use std::time::Duration;

use http::header::AUTHORIZATION;
use mcp_auth::server::{
    Audience, Identity, Introspection, IntrospectionBuilder, Rejection, Verify,
};
use serde_json::{Value, json};

use crate::net::{ASM, INTROSPECT, Net};
use crate::support::{ISSUER, NOW, RESOURCE, claims, now, with};

fn builder(net: &Net) -> IntrospectionBuilder {
    let builder = Introspection::builder(ISSUER, "the server", "canary:secret");
    builder.service(net.clone()).clock(now)
}

async fn verify(verifier: &Introspection, token: &str) -> Result<Identity, Rejection> {
    let audience = Audience::new(RESOURCE).unwrap();
    verifier.verify(&token.into(), &audience).await
}

fn active(changes: &[(&str, Value)]) -> Value {
    with(with(claims(), &[("active", json!(true))]), changes)
}

fn without(claim: &str) -> Value {
    let mut answer = active(&[]);
    answer.as_object_mut().unwrap().shift_remove(claim);
    answer
}

#[tokio::test]
async fn an_active_token_has_the_identity_of_the_response() {
    let net = Net::new();
    net.answer(INTROSPECT, 200, &active(&[]));
    let verifier = builder(&net).build().unwrap();
    let identity = verify(&verifier, "opaque+token").await.unwrap();
    assert_eq!(identity.subject(), "alice");
    assert_eq!(identity.client(), Some("client-1"));
    assert!(identity.has("mcp notes:read"));
    assert_eq!(net.all(), [ASM, INTROSPECT]);
    let asked = net.last();
    assert_eq!(asked.method(), "POST");
    // "the+server:canary%3Asecret": the parts are encoded before they are joined.
    assert_eq!(
        asked.headers()[AUTHORIZATION],
        "Basic dGhlK3NlcnZlcjpjYW5hcnklM0FzZWNyZXQ="
    );
    assert!(asked.headers()[AUTHORIZATION].is_sensitive());
    assert_eq!(
        asked.body(),
        "token=opaque%2Btoken&token_type_hint=access_token"
    );
    assert!(!format!("{verifier:?} {:?}", builder(&net)).contains("canary"));

    let verifier = builder(&net).endpoint(INTROSPECT).credentials_in_form();
    verify(&verifier.build().unwrap(), "opaque").await.unwrap();
    let asked = net.last();
    assert!(!asked.headers().contains_key(AUTHORIZATION));
    assert!(
        asked
            .body()
            .ends_with("client_id=the+server&client_secret=canary%3Asecret")
    );
}

#[tokio::test]
async fn the_claims_of_an_active_token_are_validated() {
    for (answer, reason) in [
        (json!({ "active": false }), "not active"),
        (json!({}), "not active"),
        (active(&[("active", json!("true"))]), "not active"),
        (active(&[("active", json!(1))]), "not active"),
        (
            active(&[("iss", json!("https://evil.example"))]),
            "another issuer",
        ),
        (
            active(&[("aud", json!("https://other.example"))]),
            "another audience",
        ),
        (without("aud"), "another audience"),
        (active(&[("exp", json!(NOW - 60))]), "expired"),
        (active(&[("nbf", json!(NOW + 61))]), "not valid yet"),
        (active(&[("cnf", json!({}))]), "bound to a key"),
        (
            active(&[("token_type", json!("DPoP"))]),
            "not a bearer token",
        ),
        (
            active(&[("token_type", json!("refresh_token"))]),
            "not a bearer token",
        ),
        (active(&[("sub", json!(""))]), "no subject"),
        (active(&[("scope", json!({}))]), "scopes"),
    ] {
        let net = Net::new();
        net.answer(INTROSPECT, 200, &answer);
        let verifier = builder(&net).build().unwrap();
        let error = verify(&verifier, "opaque").await.unwrap_err();
        assert!(!error.is_unavailable(), "{answer}");
        assert!(error.to_string().contains(reason), "{answer}: {error}");
    }
    for answer in [
        active(&[("token_type", json!("bearer"))]),
        without("iss"),
        without("exp"),
        without("client_id"),
    ] {
        let net = Net::new();
        net.answer(INTROSPECT, 200, &answer);
        verify(&builder(&net).build().unwrap(), "opaque")
            .await
            .unwrap();
    }
    let net = Net::new();
    net.answer(INTROSPECT, 200, &without("sub"));
    let client = verify(&builder(&net).build().unwrap(), "opaque").await;
    assert_eq!(client.unwrap().subject(), "client-1");
    net.answer(INTROSPECT, 200, &without("aud"));
    let lenient = builder(&net).audience_optional().build().unwrap();
    verify(&lenient, "opaque").await.unwrap();
    net.answer(INTROSPECT, 200, &active(&[("aud", json!("x"))]));
    verify(&lenient, "another").await.unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn a_failed_introspection_does_not_make_a_token_invalid() {
    for status in [500, 401, 404, 200] {
        let net = Net::new();
        net.answer(INTROSPECT, status, &json!("<html>"));
        let verifier = builder(&net).build().unwrap();
        let error = verify(&verifier, "opaque").await.unwrap_err();
        assert!(error.is_unavailable(), "{status}");
        assert!(verify(&verifier, "opaque").await.is_err());
        assert_eq!(net.count(INTROSPECT), 1);
        tokio::time::advance(Duration::from_secs(2)).await;
        net.answer(INTROSPECT, 200, &active(&[]));
        verify(&verifier, "opaque").await.unwrap();
    }
}

#[tokio::test]
async fn an_unsupported_token_type_is_an_inactive_token() {
    let net = Net::new();
    let error = json!({ "error": "unsupported_token_type" });
    net.answer(INTROSPECT, 400, &error);
    let verifier = builder(&net).build().unwrap();
    let error = verify(&verifier, "e30.e30.c2ln").await.unwrap_err();
    assert!(!error.is_unavailable(), "{error}");
    net.answer(INTROSPECT, 400, &json!({ "error": "invalid_request" }));
    let error = verify(&verifier, "opaque").await.unwrap_err();
    assert!(error.is_unavailable(), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_revoked_token_is_accepted_for_at_most_a_minute() {
    let net = Net::new();
    net.answer(INTROSPECT, 200, &active(&[]));
    let verifier = builder(&net)
        .cache_ttl(Duration::from_secs(600))
        .build()
        .unwrap();
    verify(&verifier, "opaque").await.unwrap();
    net.answer(INTROSPECT, 200, &json!({ "active": false }));
    tokio::time::advance(Duration::from_secs(59)).await;
    verify(&verifier, "opaque").await.unwrap();
    tokio::time::advance(Duration::from_secs(1)).await;
    verify(&verifier, "opaque").await.unwrap_err();
    assert_eq!(net.count(INTROSPECT), 2);
}

#[tokio::test]
async fn credentials_are_not_sent_to_the_target_of_a_redirect() {
    let net = Net::new();
    net.answer(INTROSPECT, 302, &json!("https://evil.example/"));
    let error = verify(&builder(&net).build().unwrap(), "opaque")
        .await
        .unwrap_err();
    assert!(error.is_unavailable());
    assert!(!net.all().iter().any(|url| url.contains("evil")));
}
