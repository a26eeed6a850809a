//! The state of a session as data, so that another process can continue the session.

use std::sync::Arc;

use mcp_types::LoggingLevel;
use serde::{Deserialize, Serialize};

use crate::Revision;
use crate::modern::ClientIdentity;
use crate::task::keep;

/// The state of a session that was initialized: everything that another process needs to answer the
/// requests of its client.
///
/// It contains no running requests, no cached roots and no values of handlers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionState {
    #[serde(with = "keep::revision")]
    pub(super) revision: Revision,
    #[serde(with = "keep::shared", default)]
    pub(super) client: Arc<ClientIdentity>,
    /// The lowest level of log messages to send; `None` sends none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) log_level: Option<LoggingLevel>,
    /// The URIs of the resource subscriptions, in ascending order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) subscriptions: Vec<String>,
    /// Whether `notifications/initialized` was received.
    #[serde(default)]
    pub(super) is_open: bool,
}

impl SessionState {
    /// Returns the negotiated revision.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Returns whether `notifications/initialized` was received.
    pub fn is_open(&self) -> bool {
        self.is_open
    }
}
