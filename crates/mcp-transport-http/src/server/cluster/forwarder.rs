//! Sends requests to other endpoints.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    ALLOW, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, TE, TRANSFER_ENCODING, UPGRADE,
};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body::Body as _;
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use mcp_jsonrpc::{Frame, Limits, Message, RequestId, parse};
use memchr::memmem;
use tokio::time::{Instant, Sleep, sleep, timeout};

use crate::headers::EVENT_STREAM;
use crate::http_service::{BoxError, RemovedAuthorization, RequestBody};
use crate::server::error::Error;
use crate::server::forwarded::{FORWARDED, SHUTTING_DOWN, is_http};
use crate::server::head::McpHeaders;
use crate::server::options::ServerOptions;
use crate::server::response::body::{Body, EventSource};
use crate::server::response::refusal::{Refusal, interrupted_error};
use crate::server::stream::frames;
use crate::sync::lock;

/// Headers that apply to a single connection. They are not forwarded.
const CONNECTION_HEADERS: [HeaderName; 6] = [
    CONNECTION,
    TRANSFER_ENCODING,
    TE,
    UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// Time limit for a connection to another endpoint.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum time until the head of another endpoint's response arrives. The delay after which a response becomes an event stream
/// is added to this time.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time for which an unresponsive endpoint receives no forwarded requests. An endpoint is unresponsive if it has not
/// responded in time.
const UNRESPONSIVE_TIME: Duration = Duration::from_secs(30);
/// Interval of the requests that test whether an unresponsive endpoint responds again. This is also the timeout of each of these
/// requests.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of unresponsive endpoints that are remembered.
const MAX_UNRESPONSIVE: usize = 64;
/// Number of consecutive keep-alive comments that must be missing before the stream from another endpoint counts as interrupted.
const MISSING_COMMENTS: u32 = 3;

/// A forwarder, which sends requests to other endpoints.
pub(crate) struct Forwarder {
    client: Client<HttpConnector, RequestBody>,
    /// The timeout for the head of a response: `HEAD_TIMEOUT` and the delay before a response becomes an event stream.
    head_timeout: Duration,
    /// The same timeout for requests of the stateless revision: `HEAD_TIMEOUT` and the keep-alive interval.
    stateless_head_timeout: Duration,
    idle_timeout: Duration,
    limits: Limits,
    /// The endpoints that have not responded in time, each with the time when this happened.
    silent: Arc<SilentEndpoints>,
}

type SilentEndpoints = Mutex<Vec<(Uri, Instant)>>;

/// A response extension that marks the response of another endpoint, to which this endpoint has forwarded the request. A tower
/// layer around an endpoint with [`ServerOptions::with_forwarding`] can check this extension, for example to record each request
/// only once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForwardedResponse;

/// The reason why another endpoint sent no response.
pub(crate) enum ForwardError {
    /// The request was not processed, because no connection could be opened or the endpoint is shutting down.
    Unreachable,
    /// The request was not sent, because the authentication layer could not add its headers.
    Refused(Refusal),
    /// The request was sent, and may have been processed.
    Interrupted,
}

impl Forwarder {
    /// Creates the forwarder of an endpoint. Returns `None` if the endpoint has no address.
    ///
    /// # Errors
    /// The address is not an `http` URL with a host.
    pub(crate) fn of(options: &ServerOptions) -> Result<Option<Self>, Error> {
        let Some(address) = &options.stored.address else {
            return Ok(None);
        };
        if !is_http(address) {
            return Err(Error::invalid_options(format!(
                "the address {address} of ServerOptions::with_forwarding is not an http URL with a host, such as \
                 http://10.0.0.7:8000/mcp"
            )));
        }
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .build(tcp);
        Ok(Some(Self {
            client,
            head_timeout: options.streams.upgrade_delay.saturating_add(HEAD_TIMEOUT),
            stateless_head_timeout: options
                .streams
                .keep_alive_interval
                .saturating_add(HEAD_TIMEOUT),
            idle_timeout: options.streams.keep_alive_interval * MISSING_COMMENTS,
            limits: options.request_limits.message,
            silent: Arc::default(),
        }))
    }

    /// Returns the endpoints that have recently not responded in time. Their sessions are claimed at once.
    pub(crate) fn silent(&self) -> Vec<Uri> {
        let mut silent = lock(&self.silent);
        silent.retain(|(_, since)| since.elapsed() < UNRESPONSIVE_TIME);
        silent.iter().map(|(address, _)| address.clone()).collect()
    }

    fn record_silent(&self, address: Uri) {
        let mut silent = lock(&self.silent);
        let count = silent.len();
        silent.retain(|(known, _)| *known != address);
        let is_new = silent.len() == count;
        if silent.len() >= MAX_UNRESPONSIVE {
            silent.remove(0);
        }
        silent.push((address.clone(), Instant::now()));
        if is_new {
            tokio::spawn(wait_for_response(
                self.client.clone(),
                Arc::clone(&self.silent),
                address,
            ));
        }
    }

    /// Sends a request to `address` and returns the response. `permits` are released at the end of the response.
    pub(crate) async fn send(
        &self,
        address: Uri,
        head: &Parts,
        body: Bytes,
        permits: impl Send + Sync + 'static,
    ) -> Result<Response<Body>, ForwardError> {
        let mut request = Request::new(RequestBody::new(body.clone()));
        *request.method_mut() = head.method.clone();
        *request.uri_mut() = address.clone();
        *request.headers_mut() = forwarded_headers(head).await.map_err(|error| {
            tracing::warn!(%error, "the request cannot be forwarded: the authentication layer could not create its headers");
            ForwardError::Refused(Refusal::busy(
                "the request cannot be forwarded to another process now; retry later",
            ))
        })?;
        let head_timeout = match McpHeaders::of(&head.headers).names_stateless_revision {
            true => self.stateless_head_timeout,
            false => self.head_timeout,
        };
        let response = match timeout(head_timeout, self.client.request(request)).await {
            Ok(Ok(response)) if response.status() == SHUTTING_DOWN => {
                return Err(ForwardError::Unreachable);
            }
            Ok(Ok(response)) => response,
            Ok(Err(error)) if error.is_connect() => return Err(ForwardError::Unreachable),
            Ok(Err(error)) => {
                tracing::warn!(%error, "another endpoint ended the connection before its response to a forwarded request");
                return Err(ForwardError::Interrupted);
            }
            Err(_) => {
                tracing::warn!(
                    ?head_timeout,
                    "another endpoint did not respond to a forwarded request in time"
                );
                self.record_silent(address);
                return Err(ForwardError::Interrupted);
            }
        };
        let (mut parts, incoming) = response.into_parts();
        remove_connection_headers(&mut parts.headers);
        parts.extensions.insert(ForwardedResponse);
        let content = parts.headers.get(CONTENT_TYPE);
        let is_stream =
            content.is_some_and(|value| value.as_bytes().starts_with(EVENT_STREAM.as_bytes()));
        let body = Body::events(ForwardedBody {
            incoming,
            idle: Box::pin(sleep(self.idle_timeout)),
            idle_timeout: self.idle_timeout,
            unanswered: is_stream.then_some((body, self.limits)),
            is_ended: false,
            is_first: true,
            _permits: Box::new(permits),
        });
        Ok(Response::from_parts(parts, body))
    }

    /// Returns error responses to the requests in `body`, because the endpoint that processed them has ended. Returns `None` if
    /// `body` contains no request.
    pub(crate) fn interrupted(&self, body: &[u8]) -> Option<Vec<u8>> {
        let errors = errors(body, &self.limits)?;
        Some(match &*errors {
            [error] => error.clone(),
            errors => [b"[", &*errors.join(&b','), b"]"].concat(),
        })
    }
}

/// Probes an unresponsive endpoint until it responds. Then removes it from the list of unresponsive endpoints, because otherwise
/// its sessions would be claimed while it serves them.
async fn wait_for_response(
    client: Client<HttpConnector, RequestBody>,
    silent: Arc<SilentEndpoints>,
    address: Uri,
) {
    loop {
        sleep(PROBE_INTERVAL).await;
        let is_silent = lock(&silent)
            .iter()
            .any(|(known, since)| *known == address && since.elapsed() < UNRESPONSIVE_TIME);
        if !is_silent {
            return;
        }
        let mut request = Request::new(RequestBody::new(Bytes::new()));
        *request.method_mut() = Method::OPTIONS;
        *request.uri_mut() = address.clone();
        let response = timeout(PROBE_INTERVAL, client.request(request)).await;
        if response.is_ok_and(|response| response.is_ok_and(|response| is_from_endpoint(&response)))
        {
            lock(&silent).retain(|(known, _)| *known != address);
            return;
        }
    }
}

/// Returns whether a response to `OPTIONS` can come from an endpoint or from the authentication layer around it. This check is
/// needed because a proxy may also respond, although the endpoint behind the proxy hangs.
fn is_from_endpoint<B>(response: &Response<B>) -> bool {
    let names_post = |methods: &HeaderValue| methods.to_str().is_ok_and(|it| it.contains("POST"));
    matches!(
        response.status(),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN
    ) || response.headers().get(ALLOW).is_some_and(names_post)
}

async fn forwarded_headers(head: &Parts) -> Result<HeaderMap, BoxError> {
    let mut headers = head.headers.clone();
    remove_connection_headers(&mut headers);
    headers.remove(CONTENT_LENGTH);
    if let Some(removed) = head.extensions.get::<RemovedAuthorization>() {
        removed.restore(&mut headers).await?;
    }
    headers.insert(FORWARDED, HeaderValue::from_static("1"));
    // HTTP/2 requests may have no `Host` header.
    headers
        .entry(HOST)
        .or_insert(HeaderValue::from_static("localhost"));
    Ok(headers)
}

fn remove_connection_headers(headers: &mut HeaderMap) {
    for name in CONNECTION_HEADERS {
        headers.remove(name);
    }
}

/// Returns an error response to each request in `body`. Returns `None` if `body` contains no request.
fn errors(body: &[u8], limits: &Limits) -> Option<Vec<Vec<u8>>> {
    let ids: Vec<RequestId> = match parse(body, limits).ok()? {
        Frame::Single(Message::Request(request)) => vec![request.id],
        Frame::Single(_) => return None,
        Frame::Batch(batch) => {
            let requests = batch.iter().filter_map(|message| match message {
                Ok(Message::Request(request)) => Some(request.id),
                _ => None,
            });
            requests.collect()
        }
    };
    let errors: Vec<_> = ids.iter().map(interrupted_error).collect();
    (!errors.is_empty()).then_some(errors)
}

/// The body of a forwarded response.
struct ForwardedBody {
    incoming: Incoming,
    idle: Pin<Box<Sleep>>,
    idle_timeout: Duration,
    /// The body of the forwarded POST and the limits for parsing it. `None` if the client can resume the stream.
    unanswered: Option<(Bytes, Limits)>,
    is_first: bool,
    is_ended: bool,
    _permits: Box<dyn Send + Sync>,
}

impl ForwardedBody {
    /// Ends an interrupted stream. If its events have ids, returns nothing, because the client can resume the stream. Otherwise,
    /// returns an error response for each request.
    fn end(&mut self) -> Option<Bytes> {
        self.is_ended = true;
        let (body, limits) = self.unanswered.take()?;
        let mut out = Vec::new();
        for error in errors(&body, &limits)? {
            frames::message(&mut out, |out| out.extend_from_slice(&error));
        }
        Some(out.into())
    }
}

impl EventSource for ForwardedBody {
    fn is_end(&self) -> bool {
        self.is_ended || self.incoming.is_end_stream()
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        while !self.is_ended {
            let Poll::Ready(frame) = Pin::new(&mut self.incoming).poll_frame(cx) else {
                if self.idle.as_mut().poll(cx).is_pending() {
                    return Poll::Pending;
                }
                tracing::warn!(
                    idle_timeout = ?self.idle_timeout,
                    "a forwarded response ends, because the other endpoint sent nothing for the idle timeout"
                );
                return Poll::Ready(self.end());
            };
            match frame {
                Some(Ok(frame)) => {
                    self.idle.as_mut().reset(Instant::now() + self.idle_timeout);
                    let Ok(data) = frame.into_data() else {
                        continue;
                    };
                    if std::mem::take(&mut self.is_first) && has_id(&data) {
                        self.unanswered = None;
                    }
                    return Poll::Ready(Some(data));
                }
                Some(Err(error)) => {
                    tracing::warn!(%error, "another endpoint ended the connection during its response to a forwarded request");
                    return Poll::Ready(self.end());
                }
                None => self.is_ended = true,
            }
        }
        Poll::Ready(None)
    }
}

/// Returns whether the first part of an event stream contains an event with an id.
fn has_id(part: &[u8]) -> bool {
    part.starts_with(b"id: ") || memmem::find(part, b"\nid: ").is_some()
}
