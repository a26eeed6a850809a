//! A log of requests that the gateway refuses because of its rules and limits.

use std::sync::Mutex;
use std::time::Duration;

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::RequestContext;
use tokio::time::Instant;

use super::access::{Item, ItemKind};
use crate::sync::lock;

/// Maximum number of logged denials in an [`INTERVAL`]; the others are counted.
const MAX_PER_INTERVAL: u32 = 20;
const INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of characters of a name or URI in a log message.
pub(super) const MAX_LOGGED: usize = 200;

/// Logs denials, a limited number of them, so that a client cannot fill the log.
#[derive(Debug, Default)]
pub(super) struct DenialLog(Mutex<Interval>);

#[derive(Debug, Default)]
struct Interval {
    start: Option<Instant>,
    logged: u32,
    omitted: u64,
}

impl Interval {
    /// Returns how many denials were omitted before this one, if this one is logged.
    fn admit(&mut self, now: Instant) -> Option<u64> {
        if self.start.is_none_or(|start| now >= start + INTERVAL) {
            (self.start, self.logged) = (Some(now), 0);
        }
        if self.logged == MAX_PER_INTERVAL {
            self.omitted += 1;
            return None;
        }
        self.logged += 1;
        Some(std::mem::take(&mut self.omitted))
    }
}

impl DenialLog {
    /// Logs that a request for an item was denied.
    pub(super) fn item(&self, item: &Item<'_>, reason: &str, context: &RequestContext) {
        let Some(omitted) = lock(&self.0).admit(Instant::now()) else {
            return;
        };
        let client = context.owner();
        let kind = match item.kind {
            ItemKind::Tool => "tool",
            ItemKind::Prompt => "prompt",
            ItemKind::Resource => "resource",
        };
        let name: String = item.name.chars().take(MAX_LOGGED).collect();
        tracing::warn!(%client, mount = item.mount, kind, name, reason, omitted, "a request was denied");
    }

    /// Logs that a request was refused because its client has reached a limit.
    pub(super) fn limit(&self, error: &ErrorObject, context: &RequestContext) {
        if let Some(omitted) = lock(&self.0).admit(Instant::now()) {
            let client = context.owner();
            tracing::warn!(%client, reason = %error.message, omitted, "a request was denied");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_denials_is_counted_and_not_logged() {
        let (mut interval, start) = (Interval::default(), Instant::now());
        for _ in 0..MAX_PER_INTERVAL {
            assert_eq!(interval.admit(start), Some(0));
        }
        for _ in 0..1_000 {
            assert_eq!(interval.admit(start), None);
        }
        assert_eq!(interval.admit(start + INTERVAL), Some(1_000));
        assert_eq!(interval.admit(start + INTERVAL), Some(0));
    }
}
