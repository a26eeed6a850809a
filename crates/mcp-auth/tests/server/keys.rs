//! Fetching, caching and rotation of keys.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_auth::server::{Audience, Identity, Jwt, Rejection, Resolver, Verify};
use mcp_protocol::BoxFuture;
use serde_json::{Value, json};
use tokio::time::advance;

use crate::net::{ASM, JWKS, Net};
use crate::support::{ISSUER, KEYS, Key, RESOURCE, claims, header, now, token, with};

fn verifier(net: &Net) -> Jwt {
    let builder = Jwt::builder(ISSUER).service(net.clone()).clock(now);
    builder.build().unwrap()
}

async fn verify(jwt: &Jwt, token: &str) -> Result<Identity, Rejection> {
    let audience = Audience::new(RESOURCE).unwrap();
    jwt.verify(&token.into(), &audience).await
}

fn named(kid: &str) -> String {
    KEYS.ec
        .token(&with(header(), &[("kid", json!(kid))]), &claims())
}

fn set(keys: &[Value]) -> Value {
    json!({ "keys": keys })
}

#[tokio::test(start_paused = true)]
async fn fifty_concurrent_tokens_cause_one_fetch_of_keys() {
    let net = Net::new();
    let jwt = verifier(&net);
    assert!(
        net.all().is_empty(),
        "nothing is fetched before a token arrives"
    );
    let all: Vec<_> = (0..50)
        .map(|_| {
            let jwt = jwt.clone();
            tokio::spawn(async move { verify(&jwt, &token(&[])).await })
        })
        .collect();
    for one in all {
        one.await.unwrap().unwrap();
    }
    assert_eq!(net.all(), [ASM, JWKS]);
    advance(Duration::from_secs(599)).await;
    verify(&jwt, &token(&[])).await.unwrap();
    assert_eq!(net.all().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn stale_keys_are_used_during_a_fetch() {
    let net = Net::new();
    let jwt = verifier(&net);
    verify(&jwt, &token(&[])).await.unwrap();
    advance(Duration::from_secs(600)).await;
    net.hold(true);
    for _ in 0..50 {
        // The issuer does not respond, but the cached keys are used.
        verify(&jwt, &token(&[])).await.unwrap();
    }
    let next = Key::p256();
    net.answer(JWKS, 200, &set(&[next.jwk("ec-2")]));
    net.hold(false);
    let new = next.token(&with(header(), &[("kid", json!("ec-2"))]), &claims());
    verify(&jwt, &new).await.unwrap();
    assert_eq!(net.count(JWKS), 2);
    // A key that is no longer published is not accepted.
    let error = verify(&jwt, &token(&[])).await.unwrap_err();
    assert_eq!(error.to_string(), "the signing key of the token is unknown");
}

#[tokio::test(start_paused = true)]
async fn unknown_keys_cause_one_fetch_per_minute() {
    let net = Net::new();
    let jwt = verifier(&net);
    verify(&jwt, &token(&[])).await.unwrap();
    for minute in 1..=3 {
        for at in 0..100 {
            let error = verify(&jwt, &named(&format!("made-up-{at}")))
                .await
                .unwrap_err();
            assert!(!error.is_unavailable());
        }
        assert_eq!(net.count(JWKS), 1 + minute);
        advance(Duration::from_secs(60)).await;
    }
    // Tokens for other servers cause no fetch.
    for (claim, value) in [("iss", "https://evil.example"), ("aud", "x"), ("sub", "")] {
        let claims = with(claims(), &[(claim, json!(value))]);
        let token = KEYS
            .ec
            .token(&with(header(), &[("kid", json!("new"))]), &claims);
        verify(&jwt, &token).await.unwrap_err();
    }
    assert_eq!(net.count(JWKS), 4);
}

#[tokio::test(start_paused = true)]
async fn the_first_token_with_a_new_key_is_accepted() {
    let net = Net::new();
    let jwt = verifier(&net);
    verify(&jwt, &token(&[])).await.unwrap();
    net.answer(JWKS, 200, &set(&[KEYS.ec.jwk("ec-1"), KEYS.ec.jwk("ec-2")]));
    let all: Vec<_> = (0..50)
        .map(|_| {
            let jwt = jwt.clone();
            tokio::spawn(async move { verify(&jwt, &named("ec-2")).await })
        })
        .collect();
    for one in all {
        one.await.unwrap().unwrap();
    }
    assert_eq!(net.count(JWKS), 2);
}

#[tokio::test(start_paused = true)]
async fn a_failed_fetch_of_keys_does_not_make_a_token_invalid() {
    let net = Net::new();
    let jwt = verifier(&net);
    net.answer(JWKS, 500, &json!({}));
    for _ in 0..50 {
        assert!(
            verify(&jwt, &token(&[]))
                .await
                .unwrap_err()
                .is_unavailable()
        );
    }
    assert_eq!(net.count(JWKS), 1);
    advance(Duration::from_secs(5)).await;
    net.answer(JWKS, 200, &KEYS.set());
    verify(&jwt, &token(&[])).await.unwrap();

    net.answer(JWKS, 503, &json!({}));
    advance(Duration::from_secs(3_600)).await;
    for _ in 0..50 {
        verify(&jwt, &token(&[])).await.unwrap();
        tokio::task::yield_now().await;
    }
    assert_eq!(net.count(JWKS), 3);
    // The issuer may have the key by now.
    assert!(
        verify(&jwt, &named("new"))
            .await
            .unwrap_err()
            .is_unavailable()
    );
    assert!(
        verify(&jwt, &named("new"))
            .await
            .unwrap_err()
            .is_unavailable()
    );
    assert_eq!(net.count(JWKS), 4);
    // Keys that were not confirmed for a day are not used.
    advance(Duration::from_secs(24 * 3_600)).await;
    assert!(
        verify(&jwt, &token(&[]))
            .await
            .unwrap_err()
            .is_unavailable()
    );
}

#[tokio::test(start_paused = true)]
async fn a_fetch_of_keys_continues_if_its_caller_is_dropped() {
    let net = Net::new();
    let jwt = verifier(&net);
    net.hold(true);
    let token = token(&[]);
    let gone = verify(&jwt, &token);
    let gone = tokio::time::timeout(Duration::from_secs(1), gone).await;
    assert!(gone.is_err());
    net.hold(false);
    verify(&jwt, &token).await.unwrap();
    assert_eq!(net.all(), [ASM, JWKS]);
}

#[tokio::test(start_paused = true)]
async fn a_fetch_of_keys_has_a_timeout() {
    let net = Net::new();
    let jwt = verifier(&net);
    net.hold(true);
    let begun = tokio::time::Instant::now();
    let all: Vec<_> = (0..50)
        .map(|_| {
            let jwt = jwt.clone();
            tokio::spawn(async move { verify(&jwt, &token(&[])).await })
        })
        .collect();
    for one in all {
        assert!(one.await.unwrap().unwrap_err().is_unavailable());
    }
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(net.count(JWKS), 0);
}

// proves: AUTH-084, M-AUTH-080
#[tokio::test]
async fn t34_keys_are_not_fetched_from_private_addresses() {
    for inside in [
        "http://issuer.example/keys",
        "http://169.254.169.254/latest",
        "https://169.254.169.254/latest",
        "https://[::ffff:a9fe:a9fe]/",
        "https://2852039166/",
        "https://10.0.0.1/keys",
        "https://localhost/keys",
        "file:///etc/passwd",
        "keys",
    ] {
        let net = Net::new();
        net.answer(ASM, 200, &json!({ "issuer": ISSUER, "jwks_uri": inside }));
        let error = verify(&verifier(&net), &token(&[])).await.unwrap_err();
        assert!(error.is_unavailable());
        assert_eq!(net.all(), [ASM], "{inside}");

        let net = Net::new();
        net.answer(JWKS, 302, &json!(inside));
        verify(&verifier(&net), &token(&[])).await.unwrap_err();
        assert!(!net.all().contains(&inside.to_owned()), "{inside}");
    }
}

/// A resolver that returns the address of a metadata service for every name.
struct Rebound(Arc<AtomicUsize>);

impl Resolver for Rebound {
    fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { Ok(vec![IpAddr::from([169, 254, 169, 254])]) })
    }
}

#[tokio::test]
async fn t34_no_connection_is_opened_to_a_host_name_with_a_private_address() {
    let asked = Arc::new(AtomicUsize::new(0));
    let issuer = "http://localhost:1";
    let builder = Jwt::builder(issuer).resolver(Rebound(Arc::clone(&asked)));
    let jwt = builder.clock(now).build().unwrap();
    let token = token(&[("iss", json!(issuer))]);
    let error = verify(&jwt, &token).await.unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("always forbidden"), "{cause}");
    assert!(asked.load(Ordering::SeqCst) > 0);
}

#[tokio::test]
async fn metadata_of_another_issuer_is_rejected() {
    let net = Net::new();
    net.answer(
        ASM,
        200,
        &json!({ "issuer": "https://evil.example", "jwks_uri": JWKS }),
    );
    let error = verify(&verifier(&net), &token(&[])).await.unwrap_err();
    assert!(error.is_unavailable());
    assert_eq!(net.count(JWKS), 0);
}

#[tokio::test]
async fn the_cause_distinguishes_missing_metadata_from_a_busy_issuer() {
    let missing = format!("the issuer {ISSUER:?} has no metadata");
    let busy = |status| format!("{ASM} answers {status}");
    for (status, expected) in [
        (404, missing.clone()),
        (410, missing),
        (429, busy("429 Too Many Requests")),
        (503, busy("503 Service Unavailable")),
    ] {
        let net = Net::new();
        net.answer(ASM, status, &json!({}));
        let error = verify(&verifier(&net), &token(&[])).await.unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert_eq!(cause, expected);
    }
}

#[tokio::test]
async fn an_invalid_key_set_is_reported_as_a_temporary_failure() {
    let huge = json!({ "keys": [KEYS.ec.jwk("ec-1")], "x": "x".repeat(65_536) });
    for document in [json!({}), set(&[]), json!("<html>"), huge] {
        let net = Net::new();
        net.answer(JWKS, 200, &document);
        let error = verify(&verifier(&net), &token(&[])).await.unwrap_err();
        assert!(error.is_unavailable());
    }
}

#[tokio::test]
async fn keys_can_be_fetched_without_metadata() {
    let net = Net::new();
    let builder = Jwt::builder(ISSUER).jwks_uri(JWKS).service(net.clone());
    let jwt = builder.clock(now).build().unwrap();
    verify(&jwt, &token(&[])).await.unwrap();
    assert_eq!(net.all(), [JWKS]);
    // OpenID providers have their metadata at another path.
    let net = Net::new();
    net.answer(ASM, 404, &json!({}));
    net.answer(
        "https://issuer.example/.well-known/openid-configuration",
        200,
        &json!({ "issuer": ISSUER, "jwks_uri": JWKS }),
    );
    verify(&verifier(&net), &token(&[])).await.unwrap();
}
