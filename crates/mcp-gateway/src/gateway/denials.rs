//! A log of requests that the gateway refuses because of its rules or limits.

use mcp_jsonrpc::{ErrorObject, quote};

use super::access::Item;
use super::record::{ClientRequest, kind_name};
use mcp_protocol::LogLimit;

/// Maximum number of characters of a name or URI in a log message.
pub(super) const MAX_LOGGED: usize = 200;

/// Logs a limited number of denials.
#[derive(Debug, Default)]
pub(super) struct DenialLog(LogLimit);

impl DenialLog {
    /// Logs that a request for an item was denied.
    pub(super) fn item(&self, item: &Item<'_>, reason: &str, context: &ClientRequest) {
        let Some(omitted) = self.0.admit(std::time::Instant::now()) else {
            return;
        };
        let client = context.owner();
        let kind = kind_name(item.kind);
        let name = quote(item.name, MAX_LOGGED);
        tracing::warn!(%client, mount = item.mount, kind, %name, reason, omitted, "a request was denied");
    }

    /// Logs that a request was refused because its client has reached a limit.
    pub(super) fn limit(&self, error: &ErrorObject, context: &ClientRequest) {
        if let Some(omitted) = self.0.admit(std::time::Instant::now()) {
            let client = context.owner();
            tracing::warn!(%client, reason = %error.message, omitted, "a request was denied");
        }
    }
}
