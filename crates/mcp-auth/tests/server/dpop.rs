//! Tokens that are bound to a key of their client, and proofs.

use std::sync::LazyLock;
use std::time::Duration;

use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderName, Method, Request};
use mcp_auth::server::{
    Algorithm, Dpop, Identity, MemoryReplayCache, Protected, ReplayCache, RequireBearerBuilder,
    require_bearer,
};
use mcp_protocol::BoxFuture;
use ring::digest::{SHA256, digest};
use serde_json::{Map, Value, json};

use crate::support::{
    Echo, Key, METADATA, NOW, RESOURCE, Reply, encode, now, post, send, token, verifier, with,
};

static CLIENT: LazyLock<Key> = LazyLock::new(Key::p256);

fn jwk(key: &Key) -> Value {
    let mut jwk = key.jwk("-");
    let members = jwk.as_object_mut().unwrap();
    members.shift_remove("kid");
    members.shift_remove("use");
    jwk
}

fn sha256(text: &str) -> String {
    encode(digest(&SHA256, text.as_bytes()).as_ref())
}

/// The thumbprint of a P-256 key.
fn thumbprint(key: &Key) -> String {
    let jwk = jwk(key);
    sha256(&format!(
        r#"{{"crv":{},"kty":{},"x":{},"y":{}}}"#,
        jwk["crv"], jwk["kty"], jwk["x"], jwk["y"]
    ))
}

/// A token that is bound to the key of the client.
fn bound() -> String {
    token(&[("cnf", json!({ "jkt": thumbprint(&CLIENT) }))])
}

fn header() -> Value {
    json!({ "typ": "dpop+jwt", "alg": "ES256", "jwk": jwk(&CLIENT) })
}

/// The claims of a proof for a POST with this token.
fn proof_claims(token: &str, jti: &str) -> Value {
    json!({ "jti": jti, "htm": "POST", "htu": RESOURCE, "iat": NOW, "ath": sha256(token) })
}

fn proof(token: &str, jti: &str) -> String {
    CLIENT.token(&header(), &proof_claims(token, jti))
}

fn builder(dpop: Dpop) -> RequireBearerBuilder {
    require_bearer(RESOURCE, verifier().build().unwrap())
        .scope("mcp")
        .dpop(dpop.clock(now))
}

fn guarded(dpop: Dpop) -> (Echo, Protected<Echo>) {
    let echo = Echo::default();
    let service = builder(dpop).build().unwrap().layer(echo.clone());
    (echo, service)
}

async fn request(
    service: &Protected<Echo>,
    method: Method,
    scheme: &str,
    token: &str,
    proofs: &[&str],
) -> Reply {
    let mut request = Request::builder().method(method).uri("/mcp");
    request = request.header(AUTHORIZATION, format!("{scheme} {token}"));
    for proof in proofs {
        request = request.header("dpop", *proof);
    }
    send(service, request.body("{}".to_owned()).unwrap()).await
}

async fn dpop(service: &Protected<Echo>, token: &str, proof: &str) -> Reply {
    request(service, Method::POST, "DPoP", token, &[proof]).await
}

fn refused(reply: &Reply, code: &str, reason: &str) {
    let told = reply.challenge();
    assert_eq!(reply.status, 401, "{reason}: {}", reply.body);
    assert!(told.starts_with("DPoP "), "{told}");
    assert_eq!(reply.said("error"), Some(code), "{told}");
    let description = reply.said("error_description").unwrap();
    assert!(description.contains(reason), "{description}: {reason}");
    assert_eq!(reply.said("algs"), Some("ES256 ES384 EdDSA"));
    assert_eq!(reply.said("resource_metadata"), Some(METADATA));
    assert_eq!(reply.headers.get_all(WWW_AUTHENTICATE).iter().count(), 1);
}

#[tokio::test]
async fn a_bound_token_with_a_proof_is_accepted() {
    let (echo, service) = guarded(Dpop::new());
    let token = bound();
    let reply = request(
        &service,
        Method::POST,
        "dPoP",
        &token,
        &[&proof(&token, "1")],
    )
    .await;
    assert_eq!(reply.status, 200, "{}", reply.challenge());
    let parts = echo.last().unwrap();
    assert!(!parts.headers.contains_key("dpop") && !parts.headers.contains_key(AUTHORIZATION));
    let identity = parts.extensions.get::<Identity>().unwrap();
    assert_eq!(identity.subject(), "alice");
    // Other keys, and other forms of the same URL.
    for key in [Key::p384(), Key::ed25519()] {
        let jwk = jwk(&key);
        let (alg, members) = match jwk["crv"].as_str() {
            Some("P-384") => ("ES384", vec!["crv", "kty", "x", "y"]),
            _ => ("EdDSA", vec!["crv", "kty", "x"]),
        };
        let members: Vec<String> = members
            .iter()
            .map(|name| format!("\"{name}\":{}", jwk[*name]))
            .collect();
        let jkt = sha256(&format!("{{{}}}", members.join(",")));
        let token = crate::support::token(&[("cnf", json!({ "jkt": jkt }))]);
        let claims = with(
            proof_claims(&token, "1"),
            &[("htu", json!("HTTPS://MCP.example:443/mcp/"))],
        );
        let header = json!({ "typ": "dpop+jwt", "alg": alg, "jwk": jwk });
        let reply = dpop(&service, &token, &key.token(&header, &claims)).await;
        assert_eq!(reply.status, 200, "{alg}: {}", reply.challenge());
    }
}

#[tokio::test]
async fn invalid_proofs_are_rejected() {
    let (echo, service) = guarded(Dpop::new());
    let token = bound();
    let headed = |changes: &[(&str, Value)]| {
        CLIENT.token(&with(header(), changes), &proof_claims(&token, "1"))
    };
    let claimed = |changes: &[(&str, Value)]| {
        CLIENT.token(&header(), &with(proof_claims(&token, "1"), changes))
    };
    let without = |name: &str| {
        let mut claims = proof_claims(&token, "1");
        claims.as_object_mut().unwrap().shift_remove(name);
        CLIENT.token(&header(), &claims)
    };
    let other = Key::p256();
    let stolen = with(jwk(&CLIENT), &[("d", json!("AAAA"))]);
    let foreign_signature = {
        let own = proof(&token, "1");
        let (message, _) = own.rsplit_once('.').unwrap();
        let (_, signature) = headed(&[("jwk", jwk(&other))])
            .rsplit_once('.')
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .unwrap();
        format!("{message}.{signature}")
    };
    let symmetric = json!({ "kty": "oct", "k": "AAAA" });
    let cases = [
        (String::new(), "not a signed JWT"),
        ("a.b".to_owned(), "not a signed JWT"),
        ("a.b.c".to_owned(), "cannot be read"),
        ("x".repeat(9_000), "8 KiB"),
        (headed(&[("typ", json!("jwt"))]), "(typ)"),
        (headed(&[("typ", Value::Null)]), "(typ)"),
        (headed(&[("alg", json!("none"))]), "algorithm"),
        (headed(&[("alg", json!("HS256"))]), "algorithm"),
        (headed(&[("alg", json!("RS256"))]), "algorithm"),
        (headed(&[("alg", json!("ES384"))]), "(jwk)"),
        (headed(&[("jwk", Value::Null)]), "no key"),
        (headed(&[("jwk", stolen)]), "not a public key"),
        (headed(&[("jwk", symmetric)]), "not a public key"),
        (headed(&[("jwk", json!({ "kty": "EC" }))]), "(jwk)"),
        (headed(&[("jwk", jwk(&other))]), "signature"),
        (headed(&[("crit", json!(["x"]))]), "crit"),
        (foreign_signature, "signature"),
        (without("jti"), "(jti)"),
        (claimed(&[("jti", json!(""))]), "(jti)"),
        (claimed(&[("jti", json!("x".repeat(2_000)))]), "(jti)"),
        (claimed(&[("nonce", json!(1))]), "nonce"),
        (without("htm"), "(htm)"),
        (claimed(&[("htm", json!("GET"))]), "(htm)"),
        (claimed(&[("htm", json!("post"))]), "(htm)"),
        (without("htu"), "(htu)"),
        (claimed(&[("htu", json!("https://mcp.example"))]), "(htu)"),
        (
            claimed(&[("htu", json!("https://evil.example/mcp"))]),
            "(htu)",
        ),
        (
            claimed(&[("htu", json!("http://mcp.example/mcp"))]),
            "(htu)",
        ),
        (
            claimed(&[("htu", json!("https://mcp.example/mcp?x"))]),
            "(htu)",
        ),
        (claimed(&[("htu", json!("/mcp"))]), "(htu)"),
        (without("ath"), "(ath)"),
        (claimed(&[("ath", json!(sha256("another token")))]), "(ath)"),
        (without("iat"), "(iat)"),
        (claimed(&[("iat", json!("now"))]), "(iat)"),
        (claimed(&[("iat", json!(NOW - 61))]), "(iat)"),
        (claimed(&[("iat", json!(NOW + 61))]), "(iat)"),
        (claimed(&[("iat", json!(1e300))]), "(iat)"),
    ];
    for (proof, reason) in cases {
        let reply = dpop(&service, &token, &proof).await;
        refused(&reply, "invalid_dpop_proof", reason);
    }
    let one = proof(&token, "1");
    let reply = request(&service, Method::POST, "DPoP", &token, &[]).await;
    refused(&reply, "invalid_dpop_proof", "no proof");
    let two = [&*one, &*proof(&token, "2")];
    let reply = request(&service, Method::POST, "DPoP", &token, &two).await;
    refused(&reply, "invalid_dpop_proof", "more than one");
    assert_eq!(echo.count(), 0);
    // None of these attempts used up the proof.
    assert_eq!(dpop(&service, &token, &one).await.status, 200);
}

#[tokio::test]
async fn a_proof_is_accepted_once() {
    let (echo, service) = guarded(Dpop::new());
    let token = bound();
    let first = proof(&token, "1");
    assert_eq!(dpop(&service, &token, &first).await.status, 200);
    let reply = dpop(&service, &token, &first).await;
    refused(&reply, "invalid_dpop_proof", "used before");
    // Another signature with the same identifier is the same proof.
    let reply = dpop(&service, &token, &proof(&token, "1")).await;
    refused(&reply, "invalid_dpop_proof", "used before");
    assert_eq!(
        dpop(&service, &token, &proof(&token, "2")).await.status,
        200
    );
    assert_eq!(echo.count(), 2);
}

#[tokio::test]
async fn the_token_must_be_bound_to_the_key_of_the_proof() {
    let (echo, service) = guarded(Dpop::new());
    let of_other = token(&[("cnf", json!({ "jkt": thumbprint(&Key::p256()) }))]);
    let reply = dpop(&service, &of_other, &proof(&of_other, "1")).await;
    refused(&reply, "invalid_dpop_proof", "not bound to the key");
    for unbound in [
        token(&[]),
        token(&[("cnf", json!({}))]),
        token(&[("cnf", json!({ "jkt": 1 }))]),
        token(&[("cnf", json!({ "x5t#S256": thumbprint(&CLIENT) }))]),
    ] {
        let reply = dpop(&service, &unbound, &proof(&unbound, "1")).await;
        refused(&reply, "invalid_token", "not bound");
    }
    let expired = token(&[
        ("cnf", json!({ "jkt": thumbprint(&CLIENT) })),
        ("exp", json!(NOW - 60)),
    ]);
    let reply = dpop(&service, &expired, &proof(&expired, "1")).await;
    refused(&reply, "invalid_token", "expired");
    assert_eq!(echo.count(), 0);
}

#[tokio::test]
async fn a_bound_token_is_rejected_as_a_bearer_token() {
    let token = bound();
    let (echo, service) = guarded(Dpop::new());
    for proofs in [vec![], vec![proof(&token, "1")]] {
        let proofs: Vec<&str> = proofs.iter().map(String::as_str).collect();
        let reply = request(&service, Method::POST, "Bearer", &token, &proofs).await;
        assert_eq!(reply.status, 401);
        assert!(reply.body.contains("bound to a key"), "{}", reply.body);
    }
    // A verifier that does not check the binding.
    let key = thumbprint(&CLIENT);
    let lax = move |_| {
        let claims = Map::from_iter([("cnf".to_owned(), json!({ "jkt": key }))]);
        std::future::ready(Ok(Identity::new("i", "alice").with_claims(claims)))
    };
    let layer = require_bearer(RESOURCE, lax)
        .authorization_server("https://issuer.example")
        .dpop(Dpop::new().clock(now));
    let service = layer.build().unwrap().layer(echo.clone());
    assert_eq!(post(&service, &token).await.status, 401);
    assert_eq!(echo.count(), 0);
    assert_eq!(
        dpop(&service, &token, &proof(&token, "1")).await.status,
        200
    );
}

#[tokio::test]
async fn challenges_offer_both_schemes() {
    let (_, service) = guarded(Dpop::new());
    let challenges = |reply: &Reply| -> Vec<String> {
        let all = reply.headers.get_all(WWW_AUTHENTICATE).iter();
        all.map(|value| value.to_str().unwrap().to_owned())
            .collect()
    };
    let more = format!("scope=\"mcp\", resource_metadata=\"{METADATA}\"");
    let algs = "algs=\"ES256 ES384 EdDSA\"";
    let plain = Request::post("/mcp").body(String::new()).unwrap();
    let reply = send(&service, plain).await;
    assert_eq!(
        challenges(&reply),
        [format!("Bearer {more}"), format!("DPoP {more}, {algs}")]
    );
    let reply = post(&service, "abc").await;
    let all = challenges(&reply);
    assert!(all[0].starts_with("Bearer error=\"invalid_token\""));
    assert_eq!(all[1], format!("DPoP {more}, {algs}"));
    assert_eq!(post(&service, &token(&[])).await.status, 200);
}

#[tokio::test]
async fn unbound_tokens_can_be_rejected() {
    let (echo, service) = guarded(Dpop::new().required());
    refused(
        &post(&service, &token(&[])).await,
        "invalid_token",
        "not bound",
    );
    let reply = send(&service, Request::post("/mcp").body(String::new()).unwrap()).await;
    assert!(reply.challenge().starts_with("DPoP scope"));
    assert_eq!(reply.headers.get_all(WWW_AUTHENTICATE).iter().count(), 1);
    assert_eq!(echo.count(), 0);
    let token = bound();
    assert_eq!(
        dpop(&service, &token, &proof(&token, "1")).await.status,
        200
    );
}

#[tokio::test]
async fn the_metadata_lists_the_algorithms_of_proofs() {
    let document = async |builder: RequireBearerBuilder| {
        let guard = builder.build().unwrap();
        let path = guard.metadata().paths().next().unwrap().to_owned();
        let request = Request::get(path).body(String::new()).unwrap();
        send(&guard.layer(Echo::default()), request).await.json()
    };
    let some = document(builder(Dpop::new())).await;
    assert_eq!(
        some["dpop_signing_alg_values_supported"],
        json!(["ES256", "ES384", "EdDSA"])
    );
    assert_eq!(some["dpop_bound_access_tokens_required"], json!(false));
    let narrow = Dpop::new().required().algorithms([Algorithm::RS256]);
    let narrow = document(builder(narrow)).await;
    assert_eq!(
        narrow["dpop_signing_alg_values_supported"],
        json!(["RS256"])
    );
    assert_eq!(narrow["dpop_bound_access_tokens_required"], json!(true));
    let none = document(require_bearer(RESOURCE, verifier().build().unwrap())).await;
    assert!(none.get("dpop_signing_alg_values_supported").is_none());
}

#[tokio::test]
async fn missing_scopes_are_requested_for_the_same_scheme() {
    let token = token(&[
        ("cnf", json!({ "jkt": thumbprint(&CLIENT) })),
        ("scope", json!("other")),
    ]);
    let (_, service) = guarded(Dpop::new());
    let reply = dpop(&service, &token, &proof(&token, "1")).await;
    assert_eq!(reply.status, 403);
    assert!(
        reply
            .challenge()
            .starts_with("DPoP error=\"insufficient_scope\"")
    );
    // A handler that requires more.
    let echo = Echo {
        demands: Some("notes:write"),
        ..Echo::default()
    };
    let service = builder(Dpop::new()).build().unwrap().layer(echo);
    let token = bound();
    let reply = dpop(&service, &token, &proof(&token, "1")).await;
    assert_eq!(reply.status, 403);
    assert!(
        reply
            .challenge()
            .starts_with("DPoP error=\"insufficient_scope\"")
    );
}

#[tokio::test]
async fn a_server_can_require_proofs_with_its_nonce() {
    let nonce = HeaderName::from_static("dpop-nonce");
    let key = "0123456789abcdef0123456789abcdef";
    let (echo, service) = guarded(Dpop::new().nonce_key(key));
    let token = bound();
    let with_nonce = |jti: &str, nonce: &str| {
        let claims = with(proof_claims(&token, jti), &[("nonce", json!(nonce))]);
        CLIENT.token(&header(), &claims)
    };
    let reply = dpop(&service, &token, &proof(&token, "1")).await;
    refused(&reply, "use_dpop_nonce", "DPoP-Nonce");
    let fresh = reply.headers[&nonce].to_str().unwrap().to_owned();
    let reply = dpop(&service, &token, &with_nonce("2", "forged")).await;
    refused(&reply, "use_dpop_nonce", "DPoP-Nonce");
    assert_eq!(echo.count(), 0);
    let reply = dpop(&service, &token, &with_nonce("2", &fresh)).await;
    assert_eq!(reply.status, 200);
    assert!(!reply.headers.contains_key(&nonce));
    // A server with the same key, two minutes later: the nonce is accepted, and a new one is sent.
    let later = Dpop::new()
        .nonce_key(key)
        .window(Duration::from_secs(300))
        .clock(|| now() + Duration::from_secs(120));
    let layer = require_bearer(RESOURCE, verifier().build().unwrap()).dpop(later);
    let service = layer.build().unwrap().layer(Echo::default());
    let reply = dpop(&service, &token, &with_nonce("3", &fresh)).await;
    assert_eq!(reply.status, 200, "{}", reply.challenge());
    assert_ne!(reply.headers[&nonce], *fresh);
    // A random key of another process.
    let (_, service) = guarded(Dpop::new().require_nonce());
    let reply = dpop(&service, &token, &with_nonce("4", &fresh)).await;
    refused(&reply, "use_dpop_nonce", "DPoP-Nonce");
}

/// A cache that cannot be reached.
struct UnreachableCache;

impl ReplayCache for UnreachableCache {
    fn insert<'a>(
        &'a self,
        _key: &'a str,
        _id: &'a str,
        _lifetime: Duration,
    ) -> BoxFuture<'a, Result<bool, Box<dyn std::error::Error + Send + Sync>>> {
        Box::pin(std::future::ready(Err("canary".into())))
    }
}

#[tokio::test]
async fn a_request_gets_503_if_its_proof_cannot_be_stored() {
    let token = bound();
    let full = MemoryReplayCache::with_capacity(4);
    let (_, service) = guarded(Dpop::new().replay_cache(full));
    assert_eq!(
        dpop(&service, &token, &proof(&token, "1")).await.status,
        200
    );
    let reply = dpop(&service, &token, &proof(&token, "2")).await;
    assert_eq!(reply.status, 503);
    assert!(reply.headers.contains_key("retry-after"));
    // The default `remove` never finds a ticket.
    assert!(!UnreachableCache.remove("key", "id").await.unwrap());
    let (echo, service) = guarded(Dpop::new().replay_cache(UnreachableCache));
    let reply = dpop(&service, &token, &proof(&token, "1")).await;
    assert_eq!((reply.status.as_u16(), echo.count()), (503, 0));
    assert!(!reply.body.contains("canary"));
}

#[test]
fn invalid_settings_are_reported_by_build() {
    for (dpop, advice) in [
        (Dpop::new().algorithms([]), "Dpop::algorithms"),
        (Dpop::new().window(Duration::ZERO), "Dpop::window"),
        (Dpop::new().window(Duration::from_secs(301)), "Dpop::window"),
        (Dpop::new().nonce_key("hunter2"), "Dpop::nonce_key"),
        (Dpop::new().nonce_key("k".repeat(31)), "has 31 bytes"),
    ] {
        let error = builder(dpop).build().unwrap_err().to_string();
        assert!(
            error.contains(advice) && !error.contains("hunter2"),
            "{error}"
        );
    }
}
