//! Joins the record of a request with the status of the HTTP response.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use http::{Request, Response};
use mcp_protocol::lock;
use mcp_transport_http::{ForwardedResponse, PeerAddr};
use serde_json::{Map, Value};
use tower_service::Service;

use super::metrics::RequestLabels;
use super::observer::Observer;

/// A record without its HTTP status: the name of the server in the gateway (its mount), and the members of the audit line.
pub(super) type AuditRecord = (String, Map<String, Value>);

/// The record of a request that the gateway forwards to another process. This process writes the record only if the other process
/// cannot be reached.
pub(super) struct UnreachedRecord {
    pub(super) labels: RequestLabels,
    /// The record for the audit log; `None` if there is no audit log.
    pub(super) line: Option<AuditRecord>,
}

/// One HTTP request. Its MCP request can end before or after the head of the HTTP response is known.
pub(super) struct Exchange {
    observer: Arc<Observer>,
    progress: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    status: Option<u16>,
    lines: Vec<AuditRecord>,
    forwarded: Option<UnreachedRecord>,
}

impl Exchange {
    /// Adds a record, which is written when the status of the response is known.
    pub(super) fn add(&self, line: AuditRecord) {
        let status = {
            let mut progress = lock(&self.progress);
            if progress.status.is_none() {
                progress.lines.push(line);
                return;
            }
            progress.status
        };
        self.observer.write(line, status);
    }

    /// Adds the record of a request that is forwarded.
    pub(super) fn forward(&self, record: UnreachedRecord) {
        lock(&self.progress).forwarded = Some(record);
    }

    /// Sets the status of the response. If the status is an error and there is no record, the request was refused before it
    /// reached the gateway.
    fn respond(&self, status: u16, is_forwarded: bool, remote: Option<IpAddr>) {
        let (lines, unreached) = {
            let mut progress = lock(&self.progress);
            progress.status = Some(status);
            (
                std::mem::take(&mut progress.lines),
                progress.forwarded.take(),
            )
        };
        // The other process records a forwarded request.
        if let Some(record) = unreached.filter(|_| !is_forwarded) {
            self.observer.record_unreached(record, status);
        } else if !is_forwarded && lines.is_empty() && status >= 400 {
            self.observer.refused(status, remote);
        }
        for line in lines {
            self.observer.write(line, Some(status));
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        // The client disconnected before the status was known.
        for line in std::mem::take(&mut lock(&self.progress).lines) {
            self.observer.write(line, None);
        }
    }
}

/// A service that adds an [`Exchange`] to the extensions of each request.
#[derive(Clone)]
pub(in crate::commands) struct Observed<S> {
    pub(in crate::commands) inner: S,
    pub(in crate::commands) observer: Option<Arc<Observer>>,
}

impl<S, A, B> Service<Request<A>> for Observed<S>
where
    S: Service<Request<A>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    B: Send + 'static,
{
    type Response = Response<B>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<B>, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<A>) -> Self::Future {
        let Some(observer) = &self.observer else {
            return Box::pin(self.inner.call(request));
        };
        let exchange = Arc::new(Exchange {
            observer: Arc::clone(observer),
            progress: Mutex::default(),
        });
        let peer = request.extensions().get::<PeerAddr>();
        let remote = peer.map(|peer| peer.0.ip());
        request.extensions_mut().insert(Arc::clone(&exchange));
        let response = self.inner.call(request);
        Box::pin(async move {
            let response = response.await?;
            let is_forwarded = response.extensions().get::<ForwardedResponse>().is_some();
            exchange.respond(response.status().as_u16(), is_forwarded, remote);
            Ok(response)
        })
    }
}
