//! Requests without a token, at a server that accepts them.

use http::Request;
use http::header::AUTHORIZATION;
use mcp_auth::server::{Auth, Identity, Protected, RequireBearerBuilder, require_bearer};
use mcp_protocol::{Grant, Principal};

use crate::support::{Echo, METADATA, RESOURCE, Reply, post, send, token, verifier};

fn builder() -> RequireBearerBuilder {
    require_bearer(RESOURCE, verifier().build().unwrap()).allow_anonymous()
}

fn service(echo: &Echo) -> Protected<Echo> {
    builder().build().unwrap().layer(echo.clone())
}

async fn post_anonymous(service: &Protected<Echo>) -> Reply {
    let request = Request::post("/mcp")
        // The sender of a request cannot set its identity.
        .extension(Principal::new("root"))
        .extension(Grant::new(["everything"]))
        .extension(Identity::new("i", "root"));
    send(service, request.body("{}".to_owned()).unwrap()).await
}

#[tokio::test]
async fn a_request_without_a_token_has_no_identity_and_no_scopes() {
    let echo = Echo::default();
    let service = service(&echo);
    let reply = post_anonymous(&service).await;
    assert_eq!((reply.status.as_u16(), reply.challenge()), (200, ""));
    let seen = echo.last().unwrap().extensions;
    assert!(seen.get::<Principal>().is_none() && seen.get::<Identity>().is_none());
    let grant = seen.get::<Grant>().unwrap();
    assert_eq!(grant.scopes().count(), 0);
    assert!(!grant.covers("everything"));

    // A token is verified, and other credentials are not ignored.
    let reply = post(&service, "made-up").await;
    assert_eq!(reply.said("error"), Some("invalid_token"));
    for value in ["Basic dTpw", "", "Bearers a"] {
        let request = Request::post("/mcp").header(AUTHORIZATION, value);
        let reply = send(&service, request.body(String::new()).unwrap()).await;
        assert_eq!(reply.status, 401, "{value}");
    }
    assert_eq!(echo.count(), 0);
    post(&service, &token(&[])).await;
    let seen = echo.last().unwrap().extensions;
    assert_eq!(seen.get::<Identity>().unwrap().subject(), "alice");
}

#[tokio::test]
async fn an_anonymous_request_without_a_required_scope_gets_a_challenge() {
    let echo = Echo {
        demands: Some("notes:write"),
        ..Echo::default()
    };
    let reply = post_anonymous(&service(&echo)).await;
    assert_eq!(reply.status, 401);
    let expected = format!("Bearer scope=\"notes:write\", resource_metadata=\"{METADATA}\"");
    assert_eq!(reply.challenge(), expected);
    assert_eq!(reply.body, "inner:{}");
    // With a token, the challenge is `insufficient_scope`.
    let reply = post(&service(&echo), &token(&[])).await;
    assert_eq!(reply.status, 403);
    assert_eq!(reply.said("error"), Some("insufficient_scope"));
}

#[test]
fn only_a_caller_without_a_token_is_anonymous_and_has_no_scopes() {
    let identity = Identity::new("https://issuer", "ada").with_scopes("notes:read");
    let callers = [Auth::anonymous(), Auth::of(identity), Auth::local()];
    let has = |scope| callers.each_ref().map(|caller| caller.has(scope));
    assert_eq!(
        callers.each_ref().map(Auth::is_anonymous),
        [true, false, false]
    );
    assert_eq!(has("notes:read"), [false, true, true]);
    assert_eq!(has("notes:read notes:write"), [false, false, true]);
}

#[test]
fn allow_anonymous_cannot_be_combined_with_scope() {
    let error = builder().scope("mcp").build().unwrap_err().to_string();
    assert!(
        error.contains("allow_anonymous() cannot be combined with scope()"),
        "{error}"
    );
}
