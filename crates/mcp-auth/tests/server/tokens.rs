//! Accepted and rejected tokens.

use std::time::Duration;

use mcp_auth::server::{Algorithm, Jwt, JwtBuilder, Protected, require_bearer};
use ring::signature::{
    RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384,
    RSA_PSS_SHA512, RsaEncoding,
};
use serde_json::{Value, json};

use crate::crafted::{self, ALG, EXPIRED, TYPE, headed, signed, without};
use crate::support::{Echo, KEYS, Key, NOW, RESOURCE, claims, header, post, token, verifier};

fn guarded(verifier: JwtBuilder) -> (Echo, Protected<Echo>) {
    let echo = Echo::default();
    let guard = require_bearer(RESOURCE, verifier.build().unwrap());
    let service = guard.build().unwrap().layer(echo.clone());
    (echo, service)
}

// proves: AUTH-057, AUTH-058, AUTH-059, AUTH-060, AUTH-062, AUTH-109, AUTH-111, M-AUTH-037, M-AUTH-038, M-AUTH-039, M-AUTH-098
#[tokio::test]
async fn t32_crafted_tokens_are_rejected() {
    let (echo, service) = guarded(verifier());
    let all = crafted::all();
    assert!(all.len() >= 60, "{}", all.len());
    for (name, token, reason) in all {
        let reply = post(&service, &token).await;
        assert_eq!(reply.status, 401, "{name}: {}", reply.body);
        assert_eq!(reply.said("error"), Some("invalid_token"), "{name}");
        assert_eq!(reply.said("error_description"), Some(reason), "{name}");
        assert_eq!(reply.json()["error_description"], reason, "{name}");
        assert_eq!(echo.count(), 0, "{name}");
    }
    let reply = post(&service, &token(&[])).await;
    assert_eq!((reply.status.as_u16(), echo.count()), (200, 1));
}

#[tokio::test]
async fn valid_tokens_of_many_forms_are_accepted() {
    let (echo, service) = guarded(verifier());
    let rsa = |alg: &str, how: &'static dyn RsaEncoding| {
        let header = json!({ "alg": alg, "kid": "rsa-any" });
        signed(&header, |message| KEYS.rsa.sign(message, how))
    };
    let is = |claim: &str, value: Value| token(&[(claim, value)]);
    let mut plain = header();
    plain.as_object_mut().unwrap().shift_remove("typ");
    let other =
        |key: &Key, alg: &str, kid: &str| key.token(&json!({ "alg": alg, "kid": kid }), &claims());
    let all = [
        ("as it should be", token(&[])),
        ("P-384", other(&KEYS.ec384, "ES384", "ec-384")),
        ("Ed25519", other(&KEYS.ed, "EdDSA", "ed-1")),
        (
            "Ed25519 by its new name",
            other(&KEYS.ed, "Ed25519", "ed-1"),
        ),
        (
            "the only key of its kind",
            KEYS.ed.token(&json!({ "alg": "EdDSA" }), &claims()),
        ),
        ("RS256", rsa("RS256", &RSA_PKCS1_SHA256)),
        ("RS384", rsa("RS384", &RSA_PKCS1_SHA384)),
        ("RS512", rsa("RS512", &RSA_PKCS1_SHA512)),
        ("PS256", rsa("PS256", &RSA_PSS_SHA256)),
        ("PS384", rsa("PS384", &RSA_PSS_SHA384)),
        ("PS512", rsa("PS512", &RSA_PSS_SHA512)),
        ("no type", KEYS.ec.token(&plain, &claims())),
        ("a plain type", headed(&[("typ", json!("JWT"))])),
        (
            "a type in full",
            headed(&[("typ", json!("application/AT+jwt"))]),
        ),
        ("one audience of several", is("aud", json!(["x", RESOURCE]))),
        (
            "an audience with a slash",
            is("aud", json!("https://mcp.example/mcp/")),
        ),
        (
            "an audience in capitals",
            is("aud", json!("HTTPS://MCP.EXAMPLE/mcp")),
        ),
        ("a clock that is late", is("exp", json!(NOW - 59))),
        (
            "a clock that is early",
            token(&[("nbf", json!(NOW + 60)), ("iat", json!(NOW + 60))]),
        ),
        (
            "a time with a fraction",
            is("exp", json!(300.5 + 1_800_000_000_f64)),
        ),
        ("no scopes", without("scope")),
        ("scopes as a list", is("scope", json!(["mcp", "more"]))),
        ("no client", without("client_id")),
    ];
    for (name, token) in all {
        let reply = post(&service, &token).await;
        assert_eq!(reply.status, 200, "{name}: {}", reply.challenge());
        assert!(echo.last().is_some(), "{name}");
    }
}

#[tokio::test]
async fn settings_can_restrict_the_accepted_tokens() {
    let (_, service) = guarded(verifier().algorithms([Algorithm::EdDSA]));
    let reply = post(&service, &token(&[])).await;
    assert_eq!(reply.said("error_description"), Some(ALG));

    let (_, service) = guarded(verifier().require_at_jwt());
    let reply = post(&service, &headed(&[("typ", json!("JWT"))])).await;
    assert_eq!(reply.said("error_description"), Some(TYPE));
    assert_eq!(post(&service, &token(&[])).await.status, 200);

    let (_, service) = guarded(verifier().skew(Duration::ZERO));
    let reply = post(&service, &token(&[("exp", json!(NOW))])).await;
    assert_eq!(reply.said("error_description"), Some(EXPIRED));

    let token = token(&[]);
    let (_, service) = guarded(verifier().max_token_bytes(token.len()));
    assert_eq!(post(&service, &token).await.said("error_description"), None);
    let (_, service) = guarded(verifier().max_token_bytes(token.len() - 1));
    let reply = post(&service, &token).await;
    assert_eq!(
        reply.said("error_description"),
        Some("the token is too long")
    );
}

#[test]
fn invalid_verifier_settings_are_reported_by_build() {
    for (builder, advice) in [
        (verifier().skew(Duration::from_secs(61)), "60 s"),
        (verifier().algorithms([]), "algorithms()"),
        (Jwt::builder("http://issuer.example"), "https"),
        (Jwt::builder("issuer"), "URL"),
        (Jwt::builder("https://issuer.example/?x=1"), "query"),
        (
            Jwt::builder("https://issuer.example").jwks_uri("keys"),
            "jwks_uri",
        ),
    ] {
        let error = builder.build().unwrap_err().to_string();
        assert!(error.contains(advice), "{error}");
    }
}
