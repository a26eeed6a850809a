//! Streams whose token expires.

use std::convert::Infallible;
use std::future::{Ready, poll_fn, ready};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{Method, Request, Response};
use http_body::{Body as _, Frame};
use mcp_auth::server::{Identity, Protected, require_bearer, static_tokens};
use tokio::time::{Instant, timeout};
use tower_service::Service;

use crate::support::RESOURCE;

/// How long a token stays valid after its expiry, because clocks differ.
const SKEW: Duration = Duration::from_secs(60);

/// A service whose responses send one event and then wait.
#[derive(Clone)]
struct Streams;

struct OpenBody(Option<Bytes>);

impl http_body::Body for OpenBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let event = self.0.take();
        event.map_or(Poll::Pending, |event| {
            Poll::Ready(Some(Ok(Frame::data(event))))
        })
    }
}

impl Service<Request<()>> for Streams {
    type Response = Response<OpenBody>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        let response = Response::builder().header(CONTENT_TYPE, "text/event-stream");
        ready(Ok(response
            .body(OpenBody(Some(Bytes::from_static(b"data: 1\n\n"))))
            .unwrap()))
    }
}

/// A service with one token, which expires after `lifetime`.
fn service(lifetime: Option<Duration>) -> Protected<Streams> {
    let mut identity = Identity::new(RESOURCE, "alice");
    if let Some(lifetime) = lifetime {
        identity = identity.with_expiry(SystemTime::now() + lifetime);
    }
    let tokens = static_tokens([("t-alice", identity)]).unwrap();
    let layer = require_bearer(RESOURCE, tokens).build().unwrap();
    layer.layer(Streams)
}

/// Returns how long the stream of a request was open, at most a day.
async fn open_for(lifetime: Option<Duration>, method: Method, header: (&str, &str)) -> Duration {
    let request = Request::builder()
        .method(method)
        .uri("/mcp")
        .header(AUTHORIZATION, "Bearer t-alice")
        .header(header.0, header.1);
    let response = service(lifetime).call(request.body(()).unwrap());
    let mut body = response.await.unwrap().into_body();
    let start = Instant::now();
    let read = async {
        let mut frames = 0;
        while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
            frame.unwrap();
            frames += 1;
        }
        assert_eq!(frames, 1, "an event was lost");
    };
    let _ = timeout(Duration::from_secs(24 * 3_600), read).await;
    start.elapsed()
}

#[tokio::test(start_paused = true)]
async fn streams_outside_of_calls_end_when_their_token_expires() {
    let hour = Duration::from_secs(3_600);
    for (method, header) in [
        (Method::GET, ("mcp-session-id", "1")),
        (Method::POST, ("mcp-method", "subscriptions/listen")),
    ] {
        let open = open_for(Some(hour), method.clone(), header).await;
        let expected = hour + SKEW;
        // The identity was created a moment before the request.
        assert!(
            open <= expected + Duration::from_secs(1) && open + Duration::from_secs(60) > expected,
            "{method} {header:?}: {open:?}"
        );
        let open = open_for(None, method, header).await;
        assert_eq!(open.as_secs(), 24 * 3_600);
    }
}

#[tokio::test(start_paused = true)]
async fn calls_and_http_sse_connections_outlive_their_token() {
    for (method, header) in [
        (Method::POST, ("mcp-session-id", "1")),
        (Method::POST, ("mcp-method", "tools/call")),
        (Method::GET, ("accept", "text/event-stream")),
    ] {
        let open = open_for(Some(Duration::from_secs(60)), method, header).await;
        assert_eq!(open.as_secs(), 24 * 3_600);
    }
}
