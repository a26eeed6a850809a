//! Accepted requests, and the challenges for all others.

use http::header::{AUTHORIZATION, RETRY_AFTER};
use http::{Method, Request};
use mcp_auth::Secret;
use mcp_auth::server::{
    Identity, Protected, Rejection, RequireBearer, require_bearer, static_tokens,
};
use mcp_protocol::{Grant, Principal};
use serde_json::json;
use tower_service::Service as _;

use crate::support::{Echo, ISSUER, METADATA, RESOURCE, Reply, post, send, token, verifier};

fn layer() -> RequireBearer {
    let builder = require_bearer(RESOURCE, verifier().build().unwrap());
    builder.scope("mcp").build().unwrap()
}

fn guarded(echo: &Echo) -> Protected<Echo> {
    layer().layer(echo.clone())
}

async fn plain(service: &Protected<Echo>, method: Method, uri: &str) -> Reply {
    let request = Request::builder().method(method).uri(uri);
    send(service, request.body(String::new()).unwrap()).await
}

// proves: AUTH-013, AUTH-017, AUTH-064, BASE-016, M-AUTH-002, M-AUTH-014, M-AUTH-047, M-AUTH-057
#[tokio::test]
async fn any_request_without_a_token_receives_a_challenge_with_the_metadata() {
    let echo = Echo::default();
    let service = guarded(&echo);
    for method in ["POST", "GET", "DELETE", "PUT", "HEAD", "OPTIONS", "PATCH"] {
        for uri in ["/mcp", "/", "/mcp?access_token=abc", "/.well-known/other"] {
            let reply = plain(&service, method.parse().unwrap(), uri).await;
            assert_eq!(reply.status, 401, "{method} {uri}");
            let expected = format!("Bearer scope=\"mcp\", resource_metadata=\"{METADATA}\"");
            assert_eq!(reply.challenge(), expected, "{method} {uri}");
            assert_eq!(reply.headers["cache-control"], "no-store");
            assert!(!reply.headers.contains_key("access-control-allow-origin"));
        }
    }
    assert_eq!(echo.count(), 0);
}

// proves: AUTH-007, AUTH-011, AUTH-018, M-AUTH-009, M-AUTH-054
#[tokio::test]
async fn the_metadata_is_public() {
    let builder = RequireBearer::builder(RESOURCE, verifier().build().unwrap());
    let guard = builder
        .authorization_server("https://second.example")
        .authorization_server(ISSUER)
        .scope("mcp")
        .scopes_supported(["notes:read", "notes:write"])
        .name("Notes")
        .documentation("https://mcp.example/docs")
        .build()
        .unwrap();
    let echo = Echo::default();
    let service = guard.layer(echo.clone());
    let expected = json!({
        "resource": RESOURCE,
        "authorization_servers": [ISSUER, "https://second.example"],
        "bearer_methods_supported": ["header"],
        "scopes_supported": ["notes:read", "notes:write"],
        "resource_name": "Notes",
        "resource_documentation": "https://mcp.example/docs",
    });
    assert_eq!(guard.metadata().url(), METADATA);
    for path in guard.metadata().paths() {
        let reply = plain(&service, Method::GET, path).await;
        assert_eq!(reply.status, 200);
        assert_eq!(reply.json(), expected);
        assert_eq!(reply.headers["content-type"], "application/json");
        let reply = plain(&service, Method::HEAD, path).await;
        assert_eq!((reply.status.as_u16(), reply.body.as_str()), (200, ""));
        let reply = plain(&service, Method::OPTIONS, path).await;
        assert_eq!(reply.status, 204);
        assert_eq!(reply.headers["access-control-allow-headers"], "*");
        assert_eq!(reply.headers["access-control-allow-origin"], "*");
        let reply = plain(&service, Method::POST, path).await;
        assert_eq!(reply.status, 405);
        assert_eq!(reply.headers["allow"], "GET, HEAD, OPTIONS");
    }
    assert_eq!(echo.count(), 0);
    // Required scopes and supported scopes are independent.
    let reply = plain(&service, Method::GET, "/mcp").await;
    assert_eq!(reply.said("scope"), Some("mcp"));
    let mut alone = guard.metadata();
    let response = alone.call(Request::get("/any").body(()).unwrap()).await;
    assert_eq!(response.unwrap().status(), 200);

    // A server at the root of its host has one metadata path.
    let guard = require_bearer("https://mcp.example", verifier().build().unwrap());
    let metadata = guard.build().unwrap().metadata();
    let paths: Vec<&str> = metadata.paths().collect();
    assert_eq!(paths, ["/.well-known/oauth-protected-resource"]);
}

#[tokio::test]
async fn supported_scopes_default_to_the_required_scopes() {
    let service = guarded(&Echo::default());
    let path = METADATA.strip_prefix("https://mcp.example").unwrap();
    let reply = plain(&service, Method::GET, path).await;
    assert_eq!(reply.json()["scopes_supported"], json!(["mcp"]));
}

#[tokio::test]
async fn the_metadata_contains_the_scopes_of_tools() {
    let tool = |name: &str, scope: &str| {
        mcp_server::Tool::new(name.to_owned(), async || "x").scope(scope.to_owned())
    };
    let server = mcp_server::Server::builder("notes", "1")
        .tool(tool("write", "notes:write"))
        .tool(tool("delete", "notes:write notes:delete"))
        .build()
        .unwrap();
    let builder = require_bearer(RESOURCE, verifier().build().unwrap()).scope("mcp");
    let guard = builder.scopes_of(&server).build().unwrap();
    let service = guard.layer(Echo::default());
    let path = METADATA.strip_prefix("https://mcp.example").unwrap();
    let reply = plain(&service, Method::GET, path).await;
    let expected = json!(["mcp", "notes:delete", "notes:write"]);
    assert_eq!(reply.json()["scopes_supported"], expected);
    // The challenge names the required ones only.
    let reply = plain(&service, Method::GET, "/mcp").await;
    assert_eq!(reply.said("scope"), Some("mcp"));
}

// proves: AUTH-063, AUTH-081, AUTH-112, M-AUTH-087
#[tokio::test]
async fn t31_the_layer_removes_the_token() {
    let echo = Echo::default();
    let service = guarded(&echo);
    let token = token(&[]);
    let request = Request::post("/mcp")
        .header(AUTHORIZATION, format!("Bearer {token}"))
        // The sender of a request cannot set its identity.
        .extension(Principal::new("root"))
        .extension(Grant::new(["everything"]))
        .extension(Identity::new("i", "root"));
    let reply = send(&service, request.body("{}".to_owned()).unwrap()).await;
    assert_eq!(reply.body, "inner:{}");
    let parts = echo.last().unwrap();
    assert!(!parts.headers.contains_key(AUTHORIZATION));
    let identity = parts.extensions.get::<Identity>().unwrap();
    assert_eq!(identity.subject(), "alice");
    assert_eq!(identity.issuer(), ISSUER);
    assert_eq!(identity.client(), Some("client-1"));
    assert_eq!(identity.scopes().to_string(), "mcp notes:read");
    assert_eq!(identity.claim("jti").unwrap(), "1");
    assert_eq!(parts.extensions.get(), Some(&identity.principal()));
    let grant = parts.extensions.get::<Grant>().unwrap();
    assert!(grant.covers("notes:read") && !grant.covers("everything"));
    let (_, signature) = token.rsplit_once('.').unwrap();
    let told = format!("{parts:?} {identity:?} {:?} {service:?}", identity.claims());
    assert!(
        !told.contains(signature) && !told.contains("Bearer ey"),
        "{told}"
    );
}

// proves: AUTH-066, M-AUTH-047
#[tokio::test]
async fn a_malformed_authorization_header_is_a_bad_request() {
    let echo = Echo::default();
    let service = guarded(&echo);
    let good = format!("Bearer {}", token(&[]));
    for (uri, values) in [
        ("/mcp", &["Bearer"][..]),
        ("/mcp", &[&good, &good]),
        ("/mcp?access_token=x", &[&good]),
    ] {
        let mut request = Request::post(uri);
        for value in values {
            request = request.header(AUTHORIZATION, *value);
        }
        let reply = send(&service, request.body(String::new()).unwrap()).await;
        assert_eq!(reply.status, 400, "{uri} {values:?}");
        assert_eq!(reply.said("error"), Some("invalid_request"));
        assert_eq!(reply.json()["error"], "invalid_request");
    }
    assert_eq!(echo.count(), 0);
}

// proves: AUTH-021, AUTH-065, AUTH-072, M-AUTH-046, M-AUTH-047, M-AUTH-089
#[tokio::test]
async fn a_token_without_the_scope_of_the_server_is_forbidden() {
    let echo = Echo::default();
    let service = guarded(&echo);
    let token = token(&[("scope", json!("notes:read offline_access"))]);
    for _ in 0..3 {
        let reply = post(&service, &token).await;
        assert_eq!(reply.status, 403);
        assert_eq!(reply.said("error"), Some("insufficient_scope"));
        // The granted scopes are repeated, so that the new token keeps them.
        assert_eq!(reply.said("scope"), Some("mcp notes:read"));
        assert_eq!(reply.said("resource_metadata"), Some(METADATA));
        assert_eq!(reply.json()["scope"], "mcp notes:read");
    }
    assert_eq!(echo.count(), 0);
}

// proves: AUTH-067, AUTH-068, AUTH-069, AUTH-070, AUTH-071, M-AUTH-048, M-AUTH-049
#[tokio::test]
async fn a_missing_scope_that_a_handler_requires_becomes_a_challenge() {
    let echo = Echo {
        demands: Some("notes:read notes:write"),
        ..Echo::default()
    };
    let service = guarded(&echo);
    let reply = post(&service, &token(&[])).await;
    assert_eq!(reply.status, 403);
    assert_eq!(reply.said("error"), Some("insufficient_scope"));
    assert_eq!(reply.said("scope"), Some("mcp notes:read notes:write"));
    assert_eq!(reply.said("resource_metadata"), Some(METADATA));
    let description = reply.said("error_description").unwrap();
    assert!(description.contains("notes:write"), "{description}");
    assert_eq!(reply.body, "inner:{}");

    let enough = token(&[("scope", json!("notes:write mcp notes:read"))]);
    let reply = post(&service, &enough).await;
    assert_eq!((reply.status.as_u16(), reply.challenge()), (200, ""));

    let stream = Echo {
        kind: Some("text/event-stream; charset=utf-8"),
        ..echo
    };
    let reply = post(&guarded(&stream), &token(&[])).await;
    assert_eq!((reply.status.as_u16(), reply.challenge()), (200, ""));
}

// proves: M-AUTH-053
#[tokio::test]
async fn a_scope_grants_the_scopes_it_implies() {
    let echo = Echo {
        demands: Some("notes:read notes:write"),
        ..Echo::default()
    };
    let builder = require_bearer(RESOURCE, verifier().build().unwrap());
    let guard = builder
        .scope("mcp")
        .implies("notes:write", "notes:read mcp")
        .implies("admin", "notes:write")
        .implies("notes:read", "admin notes:read")
        .build()
        .unwrap();
    let service = guard.layer(echo.clone());
    for scopes in ["admin", "notes:write", "other notes:write"] {
        let reply = post(&service, &token(&[("scope", json!(scopes))])).await;
        assert_eq!(reply.status, 200, "{scopes}");
        let parts = echo.last().unwrap();
        assert!(
            parts
                .extensions
                .get::<Identity>()
                .unwrap()
                .has("mcp notes:read")
        );
    }
    // The challenge repeats the granted scopes, not the implied ones.
    let reply = post(&service, &token(&[("scope", json!("other"))])).await;
    assert_eq!(reply.said("scope"), Some("mcp other"));
}

#[tokio::test]
async fn a_challenge_stays_short_with_many_granted_scopes() {
    let service = guarded(&Echo::default());
    let many: String = (0..250).map(|at| format!("scope-number-{at} ")).collect();
    let reply = post(&service, &token(&[("scope", json!(many))])).await;
    assert_eq!(reply.status, 403);
    let scopes = reply.said("scope").unwrap();
    assert!(scopes.starts_with("mcp scope-number-0 scope-number-1 "));
    assert!(
        reply.challenge().len() < 3_000,
        "{}",
        reply.challenge().len()
    );
}

// proves: AUTH-110, M-AUTH-086
#[tokio::test]
async fn t43_an_outage_is_reported_as_503_without_its_cause() {
    let echo = Echo::default();
    let verify = async |_: Secret| {
        let cause = "connect to /var/run/auth.sock at 10.0.0.7: refused";
        Err(Rejection::unavailable(cause))
    };
    let builder = require_bearer(RESOURCE, move |token: Secret| verify(token));
    let guard = builder.authorization_server(ISSUER).build().unwrap();
    let reply = post(&guard.layer(echo.clone()), "opaque").await;
    assert_eq!(reply.status, 503);
    assert_eq!(reply.headers[RETRY_AFTER], "5");
    assert_eq!(reply.challenge(), "");
    let told = format!("{reply:?}");
    for secret in ["auth.sock", "10.0.0.7", "opaque"] {
        assert!(!told.contains(secret), "{told}");
    }
    assert_eq!(echo.count(), 0);
}

#[tokio::test]
async fn a_closure_can_verify_tokens() {
    let verify = async |token: Secret| match token.expose() {
        "good" => Ok(Identity::new(ISSUER, "alice").with_scopes("mcp")),
        _ => Err(Rejection::invalid("no \"such\" token\r\nhere")),
    };
    let builder = require_bearer(RESOURCE, verify).authorization_server(ISSUER);
    let service = builder.build().unwrap().layer(Echo::default());
    assert_eq!(post(&service, "good").await.status, 200);
    let reply = post(&service, "bad").await;
    assert_eq!(reply.status, 401);
    let said = reply.said("error_description");
    assert_eq!(said, Some("no 'such' token''here"));
}

#[tokio::test]
async fn each_static_token_has_an_identity() {
    let identity = |name| Identity::new(RESOURCE, name);
    let past = std::time::SystemTime::UNIX_EPOCH;
    let tokens = static_tokens([
        ("t-alice", identity("alice").with_scopes("mcp")),
        ("t-bob", identity("bob").with_scopes("mcp")),
        ("t-carol", identity("carol")),
        ("t-dave", identity("dave").with_expiry(past)),
    ])
    .unwrap();
    assert!(!format!("{tokens:?}").contains("t-alice"));
    let echo = Echo::default();
    let builder = require_bearer(RESOURCE, tokens).scope("mcp");
    let guard = builder.build().unwrap();
    let service = guard.layer(echo.clone());
    let mut principals = Vec::new();
    for name in ["alice", "bob"] {
        assert_eq!(post(&service, &format!("t-{name}")).await.status, 200);
        let parts = echo.last().unwrap();
        assert_eq!(parts.extensions.get::<Identity>().unwrap().subject(), name);
        principals.push(parts.extensions.get::<Principal>().unwrap().clone());
    }
    assert_ne!(principals[0], principals[1]);
    for (token, status, why) in [
        ("t-carol", 403, "send an access token with the scopes mcp"),
        ("t-dave", 401, "the token has expired"),
        ("t-alic", 401, "the token is unknown"),
        ("t-alice2", 401, "the token is unknown"),
    ] {
        let reply = post(&service, token).await;
        assert_eq!(reply.status, status, "{token}");
        assert_eq!(reply.said("error_description"), Some(why), "{token}");
    }
    let metadata = guard.metadata();
    let path = metadata.paths().next().unwrap();
    let metadata = plain(&service, Method::GET, path).await.json();
    assert!(
        metadata.get("authorization_servers").is_none(),
        "{metadata}"
    );
}

#[test]
fn invalid_static_tokens_are_reported() {
    let pairs = |pairs: &[(&str, &str)]| {
        let pairs = pairs
            .iter()
            .map(|(token, name)| (*token, Identity::new(RESOURCE, *name)));
        static_tokens(pairs).unwrap_err().to_string()
    };
    for (error, advice) in [
        (pairs(&[]), "received no tokens"),
        (pairs(&[("", "alice")]), "\"alice\" is empty"),
        (pairs(&[("t b", "alice")]), "cannot be sent"),
        (
            pairs(&[("hunter2", "alice"), ("hunter2", "bob")]),
            "\"alice\" and \"bob\"",
        ),
    ] {
        assert!(error.contains(advice), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
}

#[tokio::test]
async fn a_preflight_is_forwarded_without_its_authorization() {
    let echo = Echo::default();
    let service = guarded(&echo);
    let request = Request::options("/mcp")
        .header("origin", "https://app.example")
        .header("access-control-request-method", "POST")
        .header(AUTHORIZATION, format!("Bearer {}", token(&[])))
        .extension(Identity::new("i", "root"));
    let reply = send(&service, request.body(String::new()).unwrap()).await;
    assert_eq!(reply.status, 200);
    let parts = echo.last().unwrap();
    assert!(!parts.headers.contains_key(AUTHORIZATION));
    assert!(parts.extensions.get::<Identity>().is_none());
}

#[test]
fn invalid_settings_are_reported_by_build() {
    let jwt = || verifier().build().unwrap();
    let anybody = |_: Secret| std::future::ready(Err(Rejection::invalid("no")));
    for (builder, advice) in [
        (require_bearer("http://mcp.example/mcp", jwt()), "https"),
        (require_bearer("/mcp", jwt()), "URL"),
        (require_bearer(RESOURCE, anybody), "authorization_server()"),
        (
            require_bearer(RESOURCE, jwt()).authorization_server("http://as.example"),
            "https",
        ),
        (require_bearer(RESOURCE, jwt()).scope("a\"b"), "not a scope"),
        (
            require_bearer(RESOURCE, jwt()).scopes_supported(["offline_access"]),
            "offline_access",
        ),
    ] {
        assert!(format!("{builder:?}").starts_with("RequireBearerBuilder {"));
        let error = builder.build().unwrap_err().to_string();
        assert!(error.contains(advice), "{error}");
    }
}
