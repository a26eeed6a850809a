//! An endpoint behind a CORS layer, as in `docs/guide/http.md`.

use axum::Router;
use axum::body::Body;
use http::{HeaderMap, Request};
use mcp_transport_http::{CORS_METHODS, CORS_REQUEST_HEADERS, CORS_RESPONSE_HEADERS};
use tower_http::cors::CorsLayer;
use tower_service::Service as _;

use crate::prelude::*;

const PAGE: &str = "https://app.example.com";

fn app() -> Router {
    let options = ServerOptions::new().allow_origin(PAGE);
    let endpoint = Endpoint::with_options(Server::builder("cors", "1"), options).unwrap();
    let cors = CorsLayer::new()
        .allow_origin([PAGE.parse().unwrap()])
        .allow_methods(CORS_METHODS)
        .allow_headers(CORS_REQUEST_HEADERS)
        .expose_headers(CORS_RESPONSE_HEADERS);
    Router::new().route_service("/mcp", endpoint).layer(cors)
}

async fn send(request: http::request::Builder, body: String) -> (StatusCode, HeaderMap) {
    let request: Request<Body> = request
        .uri("/mcp")
        .header("host", "localhost")
        .header("origin", PAGE)
        .body(body.into())
        .unwrap();
    let response = app().call(request).await.unwrap();
    (response.status(), response.headers().clone())
}

fn lists(headers: &HeaderMap, name: &str, item: &str) -> bool {
    let list = headers[name].to_str().unwrap();
    list.split(',')
        .any(|listed| listed.eq_ignore_ascii_case(item))
}

#[tokio::test]
async fn a_page_may_send_every_header_of_the_protocol() {
    let preflight = Request::builder()
        .method("OPTIONS")
        .header("access-control-request-method", "POST");
    let (status, headers) = send(preflight, String::new()).await;
    assert_eq!(status, 200);
    assert_eq!(headers["access-control-allow-origin"], PAGE);
    for method in ["GET", "POST", "DELETE"] {
        assert!(
            lists(&headers, "access-control-allow-methods", method),
            "{method}"
        );
    }
    for name in [
        "accept",
        "authorization",
        "content-type",
        "last-event-id",
        "mcp-method",
        "mcp-name",
        "mcp-protocol-version",
        "mcp-session-id",
    ] {
        assert!(
            lists(&headers, "access-control-allow-headers", name),
            "{name}"
        );
    }
}

#[tokio::test]
async fn a_page_can_read_the_session_and_the_challenge() {
    let post = Request::builder()
        .method("POST")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    let (status, headers) = send(post, mcp_tests::tcp::initialize()).await;
    assert_eq!(status, 200);
    assert!(headers.contains_key("mcp-session-id"));
    for name in ["mcp-session-id", "www-authenticate"] {
        assert!(
            lists(&headers, "access-control-expose-headers", name),
            "{name}"
        );
    }
}
