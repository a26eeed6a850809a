//! HTTP endpoints while Redis restarts, is full, is away or does not respond.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use mcp_server::Server;
use mcp_store_redis::{RedisOptions, RedisStore};
use mcp_transport_http::{Endpoint, ServerOptions};
use rustix::process::Signal;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tower_service::Service as _;

use crate::process::{LIMIT, Redis, until};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},
    "clientInfo":{"name":"client","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
const DISCOVER: &str = r#"{"jsonrpc":"2.0","id":3,"method":"server/discover","params":{"_meta":{
    "io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},
    "io.modelcontextprotocol/clientInfo":{"name":"client","version":"1"}}}}"#;

fn endpoint_with(redis: &RedisStore, options: ServerOptions) -> Endpoint {
    let server = Server::builder("server", "1.0.0").build().unwrap();
    let options = options
        .with_session_store(redis.session_store())
        .with_event_store(redis.event_store());
    Endpoint::with_options(server, options).unwrap()
}

async fn endpoint(redis: &Redis) -> Endpoint {
    endpoint_with(&redis.redis().await, ServerOptions::new())
}

/// Sends a message, in a session if there is one.
async fn send(
    endpoint: &Endpoint,
    session: Option<&str>,
    version: &str,
    message: &str,
) -> (StatusCode, HeaderMap) {
    let (status, headers, _) = send_and_read(endpoint, session, version, message).await;
    (status, headers)
}

/// The same, with the body of the response.
pub(crate) async fn send_and_read(
    endpoint: &Endpoint,
    session: Option<&str>,
    version: &str,
    message: &str,
) -> (StatusCode, HeaderMap, String) {
    let mut request = Request::builder()
        .method(Method::POST)
        .uri("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", version);
    if version == "2026-07-28" {
        request = request.header("mcp-method", "server/discover");
    }
    if let Some(session) = session {
        request = request.header("mcp-session-id", session);
    }
    let request = request
        .body(Full::<Bytes>::from(message.to_owned()))
        .unwrap();
    let responded = async {
        let Ok(response) = endpoint.clone().call(request).await;
        let (head, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let text = String::from_utf8(body.to_vec()).unwrap();
        (head.status, head.headers, text)
    };
    timeout(LIMIT, responded).await.unwrap()
}

async fn ping(endpoint: &Endpoint, session: &str) -> (StatusCode, HeaderMap) {
    send(endpoint, Some(session), "2025-11-25", PING).await
}

async fn initialize(endpoint: &Endpoint) -> (StatusCode, HeaderMap) {
    send(endpoint, None, "2025-11-25", INITIALIZE).await
}

/// Opens a session.
pub(crate) async fn open(endpoint: &Endpoint) -> String {
    let (status, headers) = initialize(endpoint).await;
    assert_eq!(status, 200);
    let session = headers["mcp-session-id"].to_str().unwrap().to_owned();
    let initialized = send(endpoint, Some(&session), "2025-11-25", INITIALIZED).await;
    assert_eq!(initialized.0, 202);
    session
}

/// The status is 503, and the client learns when to try again.
fn assert_unavailable((status, headers): (StatusCode, HeaderMap)) {
    assert_eq!(status, 503);
    let seconds: u64 = headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=30).contains(&seconds), "{seconds}");
}

/// Waits until a session gets another status than 503.
async fn settled(endpoint: &Endpoint, session: &str) -> StatusCode {
    let step = async || {
        let (status, _) = ping(endpoint, session).await;
        (status != 503).then_some(status)
    };
    until("the recovery", step).await
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_redis_restart_with_an_append_only_file_sessions_continue_at_each_endpoint() {
    let settings = &["--appendonly", "yes", "--appendfsync", "always"];
    let Some(mut redis) = Redis::start("http-append", settings).await else {
        return;
    };
    let (one, two) = (endpoint(&redis).await, endpoint(&redis).await);
    let session = open(&one).await;
    redis.kill().await;
    assert_unavailable(ping(&one, &session).await);
    assert_unavailable(ping(&two, &session).await);
    assert_unavailable(initialize(&one).await);
    // The stateless revision needs no Redis.
    assert_eq!(send(&one, None, "2026-07-28", DISCOVER).await.0, 200);
    assert!(redis.run().await);
    assert_eq!(settled(&one, &session).await, 200);
    assert_eq!(settled(&two, &session).await, 200);
    open(&one).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_redis_restart_without_persistence_clients_open_new_sessions() {
    let Some(mut redis) = Redis::start("http-memory", &[]).await else {
        return;
    };
    let (one, two) = (endpoint(&redis).await, endpoint(&redis).await);
    let session = open(&one).await;
    redis.kill().await;
    assert!(redis.run().await);
    assert_eq!(settled(&one, &session).await, 404);
    assert_eq!(settled(&two, &session).await, 404);
    let stream = Request::builder()
        .method(Method::GET)
        .uri("/mcp")
        .header("host", "localhost")
        .header("accept", "text/event-stream")
        .header("mcp-protocol-version", "2025-11-25")
        .header("mcp-session-id", &session)
        .body(Full::<&[u8]>::default())
        .unwrap();
    let Ok(response) = one.clone().call(stream).await;
    assert_eq!(response.status(), 404);
    let session = open(&two).await;
    assert_eq!(ping(&one, &session).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn at_maxmemory_new_sessions_get_503_and_open_sessions_continue() {
    let settings = &["--maxmemory-policy", "noeviction"];
    let Some(redis) = Redis::start("http-full", settings).await else {
        return;
    };
    let (one, two) = (endpoint(&redis).await, endpoint(&redis).await);
    let session = open(&one).await;
    let _: () = redis.command(&["CONFIG", "SET", "maxmemory", "1"]).await;
    assert_unavailable(initialize(&one).await);
    assert_eq!(ping(&one, &session).await.0, 200);
    // Another endpoint continues the session.
    assert_eq!(ping(&two, &session).await.0, 200);
    assert_unavailable(initialize(&two).await);
    let _: () = redis.command(&["CONFIG", "SET", "maxmemory", "0"]).await;
    let other = open(&one).await;
    assert_eq!(ping(&two, &other).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hanging_redis_delays_a_bounded_number_of_requests() {
    const REQUESTS: usize = 64;
    const CALLS: usize = 8;
    let Some(redis) = Redis::start("http-hanging", &[]).await else {
        return;
    };
    // Requests would wait for longer than the test lasts.
    let patient = RedisOptions::new().with_response_timeout(LIMIT * 2);
    let patient = RedisStore::connect_with(&redis.url(), patient)
        .await
        .unwrap();
    let options = ServerOptions::new()
        .with_timeouts(|timeouts| timeouts.session_store = LIMIT * 2)
        .with_session_limits(|limits| limits.max_store_calls = CALLS);
    let bounded = endpoint_with(&patient, options);
    let hasty = endpoint(&redis).await;
    let session = open(&bounded).await;
    let other = open(&hasty).await;

    redis.signal(Signal::STOP);
    assert_unavailable(ping(&hasty, &other).await);
    assert_unavailable(initialize(&hasty).await);
    let mut running = JoinSet::new();
    for _ in 0..REQUESTS {
        let (bounded, session) = (bounded.clone(), session.clone());
        running.spawn(async move { ping(&bounded, &session).await });
    }
    for _ in CALLS..REQUESTS {
        let refused = timeout(LIMIT, running.join_next()).await.unwrap();
        assert_unavailable(refused.unwrap().unwrap());
    }
    redis.signal(Signal::CONT);
    // Those that waited are served now, unless they were refused too.
    let mut served = 0;
    while let Some(response) = timeout(LIMIT, running.join_next()).await.unwrap() {
        served += usize::from(response.unwrap().0 == 200);
    }
    assert!((1..=CALLS).contains(&served), "{served}");
    assert_eq!(settled(&hasty, &other).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_serves_again_after_redis_was_unreachable() {
    let settings = &["--appendonly", "yes", "--appendfsync", "always"];
    let Some(mut redis) = Redis::start("http-away", settings).await else {
        return;
    };
    let one = endpoint(&redis).await;
    let session = open(&one).await;
    for _ in 0..3 {
        redis.kill().await;
        let began = tokio::time::Instant::now();
        for _ in 0..100 {
            assert_unavailable(ping(&one, &session).await);
        }
        // A request that cannot be served fails at once and does not wait for Redis.
        let took = began.elapsed();
        assert!(took < Duration::from_secs(20), "{took:?}");
        assert!(redis.run().await);
        assert_eq!(settled(&one, &session).await, 200);
    }
}
