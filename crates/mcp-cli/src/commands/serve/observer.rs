//! Receives the records of the gateway, for metrics and the audit log.

use std::sync::Arc;
use std::time::Instant;

use http::request::Parts;
use mcp_gateway::{RequestOutcome, ServedRequest};
use mcp_protocol::LogLimit;
use serde_json::{Map, json};

use super::audit::Audit;
use super::exchange::{AuditRecord, Exchange};
use super::metrics::Metrics;

/// The receiver of records. Either part can be missing.
pub(in crate::commands) struct Observer {
    pub(super) metrics: Option<Metrics>,
    pub(super) audit: Option<Audit>,
    /// Limits the lines of requests that were refused, because anyone can send them.
    refused: LogLimit,
}

impl Observer {
    pub(super) fn new(metrics: Option<Metrics>, audit: Option<Audit>) -> Self {
        Self {
            metrics,
            audit,
            refused: LogLimit::default(),
        }
    }

    /// Records a request that has ended.
    pub(super) fn record(&self, request: &ServedRequest<'_>) {
        if let Some(metrics) = &self.metrics {
            metrics.record(request);
        }
        let Some(audit) = &self.audit else { return };
        let mount = request.mount.as_deref().unwrap_or_default();
        let line = (mount.to_owned(), audit.members(request));
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
        members.insert(
            "outcome".to_owned(),
            RequestOutcome::Denied.to_string().into(),
        );
        if let Some(remote) = remote {
            members.insert("remote".to_owned(), remote.into());
        }
        if omitted > 0 {
            members.insert("omitted".to_owned(), json!(omitted));
        }
        self.write((String::new(), members), Some(status));
    }
}
