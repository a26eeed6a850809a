//! An open `subscriptions/listen` request, and how it ends.

use std::future::pending;
use std::sync::Arc;

use mcp_jsonrpc::{ErrorObject, RequestId};
use mcp_protocol::{Call, CallError, SentId};
use tokio::sync::watch;
use tokio::time::Instant;

use super::wanted::RequestedChanges;
use crate::sync::race;

/// The reason that is reported if the server ends a stream. The client then opens the stream again, because another instance of
/// the server may answer.
const ENDED: &str = "the server ended the subscription";

/// An event of a request.
pub(super) enum Event {
    /// The client wants other changes.
    Changed,
    Acknowledged,
    /// The request was not acknowledged in time, and the client wants other changes.
    Late,
    Rejected(ErrorObject),
    Broken(String),
    Closed,
}

/// The open requests of one stream.
pub(super) type OpenEntries = Arc<watch::Sender<Vec<OpenEntry>>>;

/// One request.
pub(super) struct OpenEntry {
    pub(super) key: u64,
    pub(super) id: SentId,
    pub(super) requested: RequestedChanges,
    pub(super) is_acknowledged: bool,
    /// Whether the server has ended the stream.
    pub(super) has_ended: bool,
}

impl OpenEntry {
    /// Returns whether this request has the id `id`. Returns `true` if the id of this request is unknown: the transport then has
    /// only one stream at a time.
    pub(super) fn is(&self, id: &RequestId) -> bool {
        self.id.get().is_none_or(|own| own == *id)
    }
}

/// An open request. On drop, it is removed from the list of open requests.
pub(super) struct OpenRequest {
    pub(super) call: Call,
    pub(super) key: u64,
    pub(super) began: Instant,
    pub(super) entries: OpenEntries,
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        let key = self.key;
        self.entries.send_if_modified(|open| {
            open.retain(|entry| entry.key != key);
            false
        });
    }
}

/// Reads the stream of a request until the stream ends. Then removes the request and returns the reason.
pub(super) async fn read(request: &mut Option<OpenRequest>) -> Event {
    let Some(open) = request else {
        return pending().await;
    };
    let key = open.key;
    let mut entries = open.entries.subscribe();
    let cancelled = async {
        let has_ended = |entry: &OpenEntry| entry.key == key && entry.has_ended;
        let _ = entries.wait_for(|open| open.iter().any(has_ended)).await;
        Event::Broken(ENDED.to_owned())
    };
    let answered = async {
        match (&mut open.call).await {
            Ok(Ok(_)) => Event::Broken(ENDED.to_owned()),
            Ok(Err(error)) => Event::Rejected(error),
            Err(CallError::Closed(_)) => Event::Closed,
            Err(error) => Event::Broken(error.to_string()),
        }
    };
    let event = race(answered, cancelled).await;
    *request = None;
    event
}

/// Reads the stream of a request and never returns. Dropping the future stops the reading.
pub(super) async fn read_silently(request: &mut Option<OpenRequest>) -> Event {
    read(request).await;
    pending().await
}
