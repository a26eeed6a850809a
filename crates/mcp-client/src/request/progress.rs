//! Progress of running calls, by progress token.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use mcp_protocol::lock;
use mcp_types::{ProgressNotificationParams, ProgressToken};
use tokio::time::Instant;

/// The progress of a call.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The last reported progress. It increases with every notification.
    pub progress: f64,
    /// The total, if known.
    pub total: Option<f64>,
    /// A message for the user.
    pub message: Option<String>,
}

pub(crate) type Callback = Box<dyn FnMut(Progress) + Send>;

/// The calls that may receive progress, by progress token. Tokens are increasing numbers. A token is never used twice.
#[derive(Default)]
pub(crate) struct ProgressTable {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    last: i64,
    waiting: HashMap<i64, Arc<Mutex<Waiting>>>,
}

struct Waiting {
    progress: f64,
    at: Option<Instant>,
    callback: Option<Callback>,
}

impl ProgressTable {
    /// Creates a new token. The token is live until the returned entry is dropped.
    pub(crate) fn open(self: &Arc<Self>, callback: Option<Callback>) -> ProgressEntry {
        let waiting = Arc::new(Mutex::new(Waiting {
            progress: f64::NEG_INFINITY,
            at: None,
            callback,
        }));
        let mut inner = lock(&self.inner);
        inner.last += 1;
        let token = inner.last;
        inner.waiting.insert(token, Arc::clone(&waiting));
        ProgressEntry {
            table: Arc::clone(self),
            token,
            waiting,
        }
    }

    /// Delivers a notification to its call. A notification with an unknown token, or with a value that does not increase, is
    /// dropped and does not extend a timeout.
    pub(crate) fn deliver(&self, params: ProgressNotificationParams) {
        let ProgressToken::Number(token) = params.progress_token else {
            return;
        };
        let Some(waiting) = lock(&self.inner).waiting.get(&token).cloned() else {
            tracing::debug!(token, "dropped progress for no running call");
            return;
        };
        let mut waiting = lock(&waiting);
        if !params.progress.is_finite() || params.progress <= waiting.progress {
            tracing::debug!(token, "dropped progress that does not grow");
            return;
        }
        waiting.progress = params.progress;
        waiting.at = Some(Instant::now());
        if let Some(callback) = &mut waiting.callback {
            callback(Progress {
                progress: params.progress,
                total: params.total,
                message: params.message,
            });
        }
    }

    /// Returns the number of live tokens.
    pub(crate) fn len(&self) -> usize {
        lock(&self.inner).waiting.len()
    }
}

/// A live token. Dropping this entry removes the token from the table.
pub(crate) struct ProgressEntry {
    table: Arc<ProgressTable>,
    token: i64,
    waiting: Arc<Mutex<Waiting>>,
}

impl ProgressEntry {
    pub(crate) fn token(&self) -> ProgressToken {
        ProgressToken::Number(self.token)
    }

    /// Removes and returns the callback, so that the next token of the same call can use it.
    pub(crate) fn take_callback(&mut self) -> Option<Callback> {
        lock(&self.waiting).callback.take()
    }

    /// Returns the time of the last progress notification.
    pub(crate) fn last(&self) -> Option<Instant> {
        lock(&self.waiting).at
    }
}

impl Drop for ProgressEntry {
    fn drop(&mut self) {
        lock(&self.table.inner).waiting.remove(&self.token);
    }
}
