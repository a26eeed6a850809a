//! The observer of a gateway, which writes metrics and the audit log.

use std::sync::Arc;
use std::time::Instant;

use http::request::Parts;
use mcp_gateway::{RequestOutcome, ServedRequest};
use mcp_protocol::LogLimit;
use serde_json::{Map, Value};

use super::audit::Audit;
use super::exchange::{AuditRecord, Exchange};
use super::metrics::Metrics;

/// The receiver of the records of a gateway. The metrics or the audit log can be missing.
pub(in crate::commands) struct Observer {
    pub(super) metrics: Option<Metrics>,
    pub(super) audit: Option<Audit>,
    /// Limits the lines for requests that were refused before they reached the gateway, because unauthenticated clients can cause them.
    refused: LogLimit,
    /// Limits the lines for requests that exceed a limit of their client.
    limited: LogLimit,
}

impl Observer {
    pub(super) fn new(metrics: Option<Metrics>, audit: Option<Audit>) -> Self {
        Self {
            metrics,
            audit,
            refused: LogLimit::default(),
            limited: LogLimit::default(),
        }
    }

    /// Records a request that has ended.
    pub(super) fn record(&self, request: &ServedRequest<'_>) {
        if request.outcome == RequestOutcome::Forwarded {
            return; // The other process records it.
        }
        if let Some(metrics) = &self.metrics {
            metrics.record(request);
        }
        let Some(audit) = &self.audit else { return };
        let omitted = match request.outcome {
            RequestOutcome::Limited => self.limited.admit(Instant::now()),
            _ => Some(0),
        };
        let Some(omitted) = omitted else { return };
        let mount = request.mount.as_deref().unwrap_or_default();
        let mut members = audit.members(request);
        add_omitted(&mut members, omitted);
        let line = (mount.to_owned(), members);
        let parts = request.context.transport::<Parts>();
        match parts.and_then(|parts| parts.extensions.get::<Arc<Exchange>>()) {
            Some(exchange) => exchange.add(line),
            None => self.write(line, None),
        }
    }

    /// Writes a line to the audit log.
    pub(super) fn write(&self, (mount, members): AuditRecord, status: Option<u16>) {
        if let Some(audit) = &self.audit {
            audit.add(&mount, members, status);
        }
    }

    /// Records an HTTP request that was refused before it reached the gateway.
    pub(super) fn refused(&self, status: u16, remote: Option<String>) {
        if let Some(metrics) = &self.metrics {
            metrics.rejected(match status {
                401 => "auth",
                403 => "origin",
                429 | 503 => "rate",
                _ => "body",
            });
        }
        let Some(omitted) = self.refused.admit(Instant::now()) else {
            return;
        };
        let mut members = Map::new();
        members.insert("outcome".to_owned(), "refused".into());
        if let Some(remote) = remote {
            members.insert("remote".to_owned(), remote.into());
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
