//! Requests without a valid token are rejected, whatever they ask for.

use mcp_server::Grant;
use mcp_tests::auth_server::AuthServer;
use mcp_tests::http::Peer;
use mcp_tests::tcp::{Conn, Request, initialize};
use tokio::net::TcpStream;

use super::support::{Done, ProtectedServer, bearing, guard, jwt, notes, request, said, tool};
use crate::prelude::*;
use crate::traced::Traced;

// proves: BASE-016, HTTP-006, SEC-006, SEC-027, ELIC-053, AUTH-064, AUTH-109, AUTH-110, M-HTTP-006
#[tokio::test]
async fn every_request_is_verified_even_within_a_session() {
    let world = ProtectedServer::start().await;
    let session = world.open(&world.token("alice", "mcp"), "2025-11-25").await;
    let anybody = session.without("authorization");
    let stream = anybody.line("GET /mcp HTTP/1.1").carrying("");
    for request in [
        Request::post(initialize()),
        tool(&anybody, 1, "whoami"),
        tool(&anybody, 1, "ask"),
        request(
            &anybody,
            1,
            "resources/read",
            json!({ "uri": "notes://all" }),
        ),
        request(&anybody, 1, "no/such", json!({})),
        anybody.carrying("no JSON"),
        stream.clone(),
        stream.with("last-event-id", "1"),
        anybody.line("DELETE /mcp HTTP/1.1").carrying(""),
        anybody.line("PUT /mcp HTTP/1.1"),
        anybody.at("/elsewhere"),
    ] {
        for request in [request.clone(), bearing(request, "made-up")] {
            let answer = world.ask(&request).await;
            assert_eq!(answer.status, 401, "{request:?}");
            let metadata = said(&answer, "resource_metadata").unwrap();
            assert!(metadata.ends_with("/.well-known/oauth-protected-resource/mcp"));
            assert_eq!(said(&answer, "scope"), Some("mcp"));
            let told = answer.text();
            for private in ["secret notes", "elicitation", "sign-in", "notes:"] {
                assert!(!told.contains(private), "{told}");
            }
        }
    }
    assert_eq!(world.done.runs(), 0);
    // The session still exists for its owner.
    assert_eq!(world.said(&session, "whoami").await, "alice");
}

// proves: AUTH-060
#[tokio::test]
async fn a_token_that_expires_during_a_session_is_rejected() {
    let world = ProtectedServer::start().await;
    let session = world.open(&world.token("alice", "mcp"), "2025-11-25").await;
    world.auth.wait(3_600);
    let answer = world.ask(&tool(&session, 1, "whoami")).await;
    assert_eq!(answer.status, 401);
    assert_eq!(said(&answer, "error"), Some("invalid_token"));
    assert_eq!(
        said(&answer, "error_description"),
        Some("the token has expired")
    );
    // A new token of the same user continues the session.
    let renewed = bearing(session, &world.token("alice", "mcp"));
    assert_eq!(world.said(&renewed, "whoami").await, "alice");
}

// proves: AUTH-062, AUTH-063, M-AUTH-041
#[tokio::test]
async fn a_token_for_another_server_of_the_same_issuer_is_rejected() {
    let world = ProtectedServer::start().await;
    let elsewhere = world
        .auth
        .token("alice", "client-1", "mcp", "https://other.example/mcp");
    let (traced, _guard) = Traced::start();
    let answer = world
        .ask(&bearing(Request::post(initialize()), &elsewhere))
        .await;
    assert_eq!(answer.status, 401);
    assert_eq!(
        said(&answer, "error_description"),
        Some("the token is for another audience")
    );
    // Usually the public URL of the server is wrong, which only the operator sees.
    let line = traced.line("a token was refused").unwrap();
    for part in ["https://other.example/mcp", "expected=\"http", "omitted=0"] {
        assert!(line.contains(part), "{part}: {line}");
    }
}

// proves: AUTH-112, M-AUTH-087
#[tokio::test]
async fn t31_an_upstream_server_never_receives_the_token_of_the_client() {
    let world = ProtectedServer::start().await;
    let token = world.token("alice", "mcp");
    let session = world.open(&token, "2025-11-25").await;
    assert_eq!(world.said(&session, "upstream").await, "sent");
    let sent = world.done.upstream.lock().unwrap();
    let (_, signature) = token.rsplit_once('.').unwrap();
    assert!(sent.contains("mcp-session-id"), "{sent}");
    assert!(
        !sent.contains(signature) && !sent.to_lowercase().contains("authorization"),
        "{sent}"
    );
}

// proves: AUTH-001, M-AUTH-001
#[tokio::test]
async fn without_authorization_a_handler_gets_no_identity() {
    let done = Done::default();
    let endpoint = Endpoint::new(notes(&done)).unwrap();
    let peer = Peer::open(&endpoint).await;
    let reply = peer
        .call(1, "resources/read", json!({ "uri": "notes://all" }))
        .await;
    assert_eq!(reply.status, 200);
    // A request without a token is neither another user nor the local user.
    for name in ["whoami", "admin", "write"] {
        let answer = peer.tool(2, name, json!({})).await.json().await;
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains("no authentication layer"), "{answer}");
    }
    assert_eq!(done.runs(), 0);
}

#[tokio::test]
async fn a_principal_of_another_layer_is_neither_an_identity_nor_anonymous() {
    use axum::{Extension, Router};
    let (listener, address) = listen().await;
    let done = Done::default();
    let endpoint = Endpoint::new(notes(&done)).unwrap();
    let router = Router::new()
        .route_service("/mcp", endpoint)
        .layer(Extension(Principal::new("bob")))
        .layer(Extension(Grant::new(["notes:read"])));
    tokio::spawn(async move { axum::serve(listener, router).await });
    let mut conn = Conn::new(TcpStream::connect(address).await.unwrap());
    let answer = conn.ask(&Request::post(initialize())).await;
    let id = answer.header("mcp-session-id").unwrap();
    let session = Request::post("").with("mcp-session-id", id);
    let answer = conn.ask(&tool(&session, 1, "whoami")).await.json();
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("no authentication layer"), "{answer}");
    assert_eq!(done.runs(), 0);
}

#[tokio::test]
async fn over_stdio_the_same_handlers_serve_the_local_user() {
    let done = Done::default();
    let mut wire = PipeEnd::session(notes(&done)).await;
    for (name, said) in [("whoami", "you"), ("write", "written"), ("admin", "done")] {
        let result = wire.tool(name, json!({})).await;
        assert_eq!(result["content"][0]["text"], said, "{result}");
    }
    assert_eq!(done.runs(), 3);
}

#[tokio::test]
async fn the_error_of_a_failed_sign_in_names_the_missing_setting() {
    let world = ProtectedServer::start().await;
    let http = HttpTransport::new(&world.url).unwrap();
    fails_with(Client::builder("host", "1").connect(http).await, "401");
}

#[tokio::test]
async fn the_http_sse_transport_requires_the_same_tokens() {
    use tower_service::Service as _;
    let world = ProtectedServer::start().await;
    let guard = guard(&world.url, jwt(&world.auth));
    let mut legacy = guard.layer(world.endpoint.legacy());
    for (method, token, status) in [
        ("GET", None, 401),
        ("POST", None, 401),
        ("GET", Some(()), 200),
    ] {
        let mut request = http::Request::builder()
            .method(method)
            .uri("/sse")
            .header("host", "localhost")
            .header("accept", "text/event-stream");
        if token.is_some() {
            let token = world.token("alice", "mcp");
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request
            .body(mcp_transport_http::RequestBody::new(""))
            .unwrap();
        let response = legacy.call(request).await.unwrap();
        assert_eq!(response.status(), status, "{method} {token:?}");
    }
}

#[tokio::test]
async fn in_a_router_the_metadata_is_mounted_beside_the_server() {
    use axum::Router;
    let auth = AuthServer::start().await;
    let (listener, address) = listen().await;
    let url = format!("http://{address}/mcp");
    let guard = guard(&url, jwt(&auth));
    let endpoint = Endpoint::new(notes(&Done::default())).unwrap();
    let mut router = Router::new().route_service("/mcp", guard.layer(endpoint));
    let metadata = guard.metadata();
    for path in metadata.paths() {
        router = router.route_service(path, metadata.clone());
    }
    tokio::spawn(async move { axum::serve(listener, router).await });
    let ask = async |request: Request| {
        let stream = TcpStream::connect(address).await.unwrap();
        Conn::new(stream).ask(&request).await
    };
    for path in metadata.paths() {
        let line = format!("GET {path} HTTP/1.1");
        let answer = ask(Request::get().line(&line)).await;
        assert_eq!(answer.json()["resource"], url);
    }
    assert_eq!(ask(Request::post(initialize())).await.status, 401);
    let token = auth.token("alice", "client-1", "mcp", &url);
    let answer = ask(bearing(Request::post(initialize()), &token)).await;
    assert_eq!(answer.status, 200);
}
