//! The functions of the client that change notification streams call.

use std::sync::Arc;
use std::time::Duration;

use mcp_protocol::{Call, SentId};
use mcp_types::v2026_07_28::SubscriptionFilter;

/// An opener of `subscriptions/listen` streams. The client implements this trait. The streams hold a weak reference to the
/// client, so that they do not keep it alive.
pub(crate) trait OpenStream: Send + Sync + 'static {
    /// Creates the request that opens a stream. Returns the request and the timeout for its acknowledgement.
    fn open_stream(&self, filter: &SubscriptionFilter, id: SentId) -> Option<(Call, Duration)>;
}

/// A callback that receives the reason why change notifications have ended.
pub(crate) type OnChangesEnded = Arc<dyn Fn(&str) + Send + Sync>;
