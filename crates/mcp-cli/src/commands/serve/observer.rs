//! The observer of a gateway, which writes metrics and the audit log.

use std::hash::{BuildHasher as _, Hash, RandomState};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use http::request::Parts;
use mcp_gateway::{RequestOutcome, ServedRequest};
use mcp_protocol::{LogLimit, client_network};
use serde_json::{Map, Value};

use super::audit::Audit;
use super::exchange::{AuditRecord, Exchange, UnreachedRecord};
use super::metrics::{Metrics, RequestLabels};

/// The receiver of the records of a gateway. The metrics or the audit log can be missing.
pub(in crate::commands) struct Observer {
    pub(super) metrics: Option<Metrics>,
    pub(super) audit: Option<Audit>,
    /// The limits on lines for requests that were refused before they reached the gateway. Unauthenticated clients can cause such
    /// requests.
    refused: ClientLogLimits,
    /// The limits on lines for requests that exceed a limit of their client.
    limited: ClientLogLimits,
    /// The limits on lines for requests that reach no server. The limits of clients do not count these requests.
    unserved: ClientLogLimits,
}

/// Number of log limits. A random hash assigns each client to a limit. If one client causes too many lines, only the few clients
/// with the same limit lose lines.
const CLIENT_LIMITS: usize = 64;

/// Log limits for clients.
struct ClientLogLimits {
    limits: [LogLimit; CLIENT_LIMITS],
    hashes: RandomState,
}

impl Default for ClientLogLimits {
    fn default() -> Self {
        Self {
            limits: std::array::from_fn(|_| LogLimit::default()),
            hashes: RandomState::new(),
        }
    }
}

impl ClientLogLimits {
    /// Returns the result of [`LogLimit::admit`] for a client.
    fn admit(&self, client: impl Hash) -> Option<u64> {
        let hash = self.hashes.hash_one(client);
        let limit = &self.limits[hash as usize % CLIENT_LIMITS];
        limit.admit(Instant::now())
    }
}

impl Observer {
    pub(super) fn new(metrics: Option<Metrics>, audit: Option<Audit>) -> Self {
        Self {
            metrics,
            audit,
            refused: ClientLogLimits::default(),
            limited: ClientLogLimits::default(),
            unserved: ClientLogLimits::default(),
        }
    }

    /// Records a request that has ended.
    pub(super) fn record(&self, request: &ServedRequest<'_>) {
        let parts = request.context.transport::<Parts>();
        let exchange = parts.and_then(|parts| parts.extensions.get::<Arc<Exchange>>());
        if request.outcome == RequestOutcome::Forwarded {
            // The other process records the request, if it can be reached.
            if let Some(exchange) = exchange {
                exchange.forward(self.unreached(request));
            }
            return;
        }
        if let Some(metrics) = &self.metrics {
            metrics.record(request);
        }
        let Some(audit) = &self.audit else { return };
        let omitted = match request.outcome {
            RequestOutcome::Limited => self.limited.admit(request.context.owner()),
            _ if request.mount.is_none() && request.list.is_none() => {
                self.unserved.admit(request.context.owner())
            }
            _ => Some(0),
        };
        let Some(omitted) = omitted else { return };
        let mount = request.mount.as_deref().unwrap_or_default();
        let mut members = audit.members(request);
        add_omitted(&mut members, omitted);
        let line = (mount.to_owned(), members);
        match exchange {
            Some(exchange) => exchange.add(line),
            None => self.write(line, None),
        }
    }

    /// Returns the record that is written if a forwarded request does not reach the other process.
    fn unreached(&self, request: &ServedRequest<'_>) -> UnreachedRecord {
        let outcome = RequestOutcome::TransportError;
        let line = self.audit.as_ref().map(|audit| {
            let mut members = audit.members(request);
            members.insert("outcome".to_owned(), outcome.to_string().into());
            let mount = request.mount.as_deref().unwrap_or_default();
            (mount.to_owned(), members)
        });
        UnreachedRecord {
            labels: RequestLabels::new(request, outcome),
            line,
        }
    }

    /// Records a forwarded request that did not reach the other process.
    pub(super) fn record_unreached(&self, record: UnreachedRecord, status: u16) {
        if let Some(metrics) = &self.metrics {
            metrics.add(record.labels);
        }
        if let Some(line) = record.line {
            self.write(line, Some(status));
        }
    }

    /// Writes a line to the audit log.
    pub(super) fn write(&self, (mount, members): AuditRecord, status: Option<u16>) {
        if let Some(audit) = &self.audit {
            audit.add(&mount, members, status);
        }
    }

    /// Records an HTTP request that was refused before it reached the gateway.
    pub(super) fn refused(&self, status: u16, remote: Option<IpAddr>) {
        if let Some(metrics) = &self.metrics {
            metrics.rejected(match status {
                401 => "auth",
                403 => "origin",
                429 | 503 => "rate",
                _ => "body",
            });
        }
        let Some(omitted) = self.refused.admit(remote.map(client_network)) else {
            return;
        };
        let mut members = Map::new();
        members.insert("outcome".to_owned(), "refused".into());
        if let Some(remote) = remote {
            members.insert("remote".to_owned(), remote.to_string().into());
        }
        add_omitted(&mut members, omitted);
        self.write((String::new(), members), Some(status));
    }
}

/// Adds the number of lines that were left out before this line.
fn add_omitted(members: &mut Map<String, Value>, omitted: u64) {
    if omitted > 0 {
        members.insert("omitted".to_owned(), omitted.into());
    }
}
