//! The functions of the client that the streams need.

use std::sync::Arc;
use std::time::Duration;

use mcp_protocol::{Call, SentId};
use mcp_types::v2026_07_28::SubscriptionFilter;

/// An opener of `subscriptions/listen` streams. The client implements this trait; the listener must not keep the
/// client alive.
pub(crate) trait OpenStream: Send + Sync + 'static {
    /// Creates the request of a stream. Returns it with the timeout for its acknowledgement.
    fn open_stream(&self, filter: &SubscriptionFilter, id: SentId) -> Option<(Call, Duration)>;
}

/// A callback for the end of change notifications, with the reason.
pub(crate) type OnChangesEnded = Arc<dyn Fn(&str) + Send + Sync>;
