//! The listener for operators, which serves `/metrics` and `/status`.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HOST};
use http::uri::Authority;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use mcp_gateway::{Gateway, MountStatus};
use mcp_transport_http::{Endpoint, ServerOptions, serve_layered};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::spawn_blocking;
use tower_service::Service;

use super::observer::Observer;
use crate::failure::Failure;
use crate::hidden::hide;

const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The service for the metrics and the status of a gateway.
#[derive(Clone)]
struct Diagnostics {
    gateway: Gateway,
    observer: Arc<Observer>,
    started: Instant,
    /// Whether the address is a loopback address. Requests for other hosts are then refused, because a web page could send them
    /// (DNS rebinding).
    is_local: bool,
    /// The last text of the metrics. The lock is held while the text is written, so that many scrapes at the same time cost no
    /// more than one scrape.
    last: Arc<tokio::sync::Mutex<Option<(Instant, Bytes)>>>,
}

/// Maximum age at which a text of the metrics is served again.
const MAX_AGE: Duration = Duration::from_secs(1);

/// Serves `/metrics` and `/status` until the future is dropped.
pub(super) async fn serve(
    listener: TcpListener,
    gateway: Gateway,
    observer: Arc<Observer>,
) -> Result<(), Failure> {
    let failed =
        |error: &dyn std::fmt::Display| Failure::usage(format!("/gateway/metrics: {error}"));
    let address: SocketAddr = listener.local_addr().map_err(|error| failed(&error))?;
    let diagnostics = Diagnostics {
        gateway: gateway.clone(),
        observer,
        started: Instant::now(),
        is_local: address.ip().is_loopback(),
        last: Arc::default(),
    };
    // The layer responds to every request, so the endpoint receives none.
    let endpoint = Endpoint::with_options(gateway, ServerOptions::new());
    let endpoint = endpoint.map_err(|error| failed(&error))?;
    let served = serve_layered(listener, endpoint, |_| diagnostics, std::future::pending());
    served.await.map_err(|error| failed(&error))
}

impl Diagnostics {
    /// Returns the response to a request that is refused, or `None` if the request is served.
    fn refusal<B>(&self, request: &Request<B>) -> Option<Response<Full<Bytes>>> {
        if self.is_local && !has_local_host(request) {
            let text = "the Host header must be an address of this machine or localhost\n";
            return Some(plain(StatusCode::FORBIDDEN, text));
        }
        if !["/metrics", "/status"].contains(&request.uri().path()) {
            let text = "this address has /metrics and /status\n";
            return Some(plain(StatusCode::NOT_FOUND, text));
        }
        if [Method::GET, Method::HEAD].contains(request.method()) {
            return None;
        }
        let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "");
        let allowed = HeaderValue::from_static("GET, HEAD");
        response.headers_mut().insert(ALLOW, allowed);
        Some(response)
    }

    async fn respond(&self, path: &str) -> Response<Full<Bytes>> {
        let (content_type, text) = match path {
            "/metrics" => (METRICS_TYPE, self.metrics().await),
            _ => {
                let text = self.status().to_string() + "\n";
                ("application/json", Some(text.into()))
            }
        };
        let Some(text) = text else {
            return plain(StatusCode::INTERNAL_SERVER_ERROR, "");
        };
        let mut response = plain(StatusCode::OK, text);
        let content_type = HeaderValue::from_static(content_type);
        response.headers_mut().insert(CONTENT_TYPE, content_type);
        response
    }

    /// Returns the text of the metrics. The text is written on another thread, because it can be long.
    async fn metrics(&self) -> Option<Bytes> {
        let mut last = self.last.lock().await;
        if let Some((at, text)) = &*last
            && at.elapsed() < MAX_AGE
        {
            return Some(text.clone());
        }
        let (gateway, observer) = (self.gateway.clone(), Arc::clone(&self.observer));
        let written = spawn_blocking(move || {
            let lost = observer.audit.as_ref().map_or(0, |audit| audit.lost());
            let metrics = observer.metrics.as_ref()?;
            let text = metrics.text(&gateway, lost);
            text.inspect_err(|error| tracing::error!(%error, "the metrics cannot be written"))
                .ok()
        });
        let text: Bytes = written.await.ok()??.into();
        *last = Some((Instant::now(), text.clone()));
        Some(text)
    }

    fn status(&self) -> Value {
        let servers: Vec<Value> = self.gateway.mounts().iter().map(server).collect();
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "uptimeSeconds": self.started.elapsed().as_secs(),
            "isReady": self.gateway.is_ready(),
            "sessions": self.gateway.sessions(),
            "servers": servers,
        })
    }
}

/// Returns the status of a server as JSON.
fn server(mount: &MountStatus) -> Value {
    let state = match (mount.is_connected, &mount.error) {
        (true, _) => "connected",
        (false, _) if mount.revision.is_some() => "disconnected",
        (false, Some(_)) => "failed",
        (false, None) => "connecting",
    };
    let error = mount.replacement_error.as_ref().or(mount.error.as_ref());
    json!({
        "name": mount.name,
        "state": state,
        "error": error.map(|error| hide(without_stderr(error))),
        "isRequired": mount.is_required,
        "revision": mount.revision.map(|revision| revision.as_str()),
        "tools": mount.tools,
        "prompts": mount.prompts,
        "resources": mount.resources,
        "connections": mount.connections,
        "parkedCalls": mount.parked_calls,
    })
}

/// Returns an error without the lines of the server's stderr, which can contain secrets. The log has these lines.
fn without_stderr(error: &str) -> String {
    match error.split_once("last stderr lines: ") {
        Some((start, _)) => format!(
            "{}; the log has its stderr",
            start.trim_end_matches([' ', '(', ':', ';'])
        ),
        None => error.to_owned(),
    }
}

/// Returns whether the `Host` header is a loopback address or `localhost`.
fn has_local_host<B>(request: &Request<B>) -> bool {
    let mut hosts = request.headers().get_all(HOST).iter();
    let authority = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().ok().and_then(|host| host.parse().ok()),
        // In HTTP/2, the URI has the host.
        (None, None) => request.uri().authority().cloned(),
        _ => None,
    };
    authority.is_some_and(|authority: Authority| {
        let host = authority.host().trim_matches(['[', ']']);
        let is_loopback = |address: IpAddr| address.is_loopback();
        host.eq_ignore_ascii_case("localhost") || host.parse().is_ok_and(is_loopback)
    })
}

fn plain(status: StatusCode, text: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    let content_type = HeaderValue::from_static("text/plain; charset=utf-8");
    headers.insert(CONTENT_TYPE, content_type);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

impl<B> Service<Request<B>> for Diagnostics {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Full<Bytes>>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let refusal = self.refusal(&request);
        let (diagnostics, path) = (self.clone(), request.uri().path().to_owned());
        Box::pin(async move {
            Ok(match refusal {
                Some(response) => response,
                None => diagnostics.respond(&path).await,
            })
        })
    }
}
