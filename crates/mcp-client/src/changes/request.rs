//! A request of a stream, and how it ends.

use std::future::pending;
use std::sync::Arc;

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{Call, CallError};
use tokio::time::Instant;

use super::stream::{ChangeStream, OpenEntry};
use crate::sync::race;

/// The end of a stream by the server. Another instance of the server may follow, so the client
/// listens again.
const ENDED: &str = "the server ended the subscription";

/// What happened to a request.
pub(super) enum Event {
    /// Other changes are wanted.
    Changed,
    Acknowledged,
    /// The request is not acknowledged, and other changes wait for it.
    Late,
    Rejected(ErrorObject),
    Broken(String),
    Closed,
}

/// A request, removed from the table on drop.
pub(super) struct OpenRequest {
    pub(super) call: Call,
    pub(super) key: u64,
    pub(super) began: Instant,
    pub(super) stream: Arc<ChangeStream>,
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        let key = self.key;
        self.stream.open.send_if_modified(|open| {
            open.retain(|entry| entry.key != key);
            false
        });
    }
}

/// Reads a stream until it ends, and removes it.
pub(super) async fn read(request: &mut Option<OpenRequest>) -> Event {
    let Some(open) = request else {
        return pending().await;
    };
    let key = open.key;
    let mut entries = open.stream.open.subscribe();
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

/// Reads a stream until it is dropped.
pub(super) async fn read_silently(request: &mut Option<OpenRequest>) -> Event {
    read(request).await;
    pending().await
}
