//! Progress of running calls, by token.

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

/// The calls that may receive progress, by token. Tokens count up and are never used twice.
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
    /// Opens a token; it is live until the entry is dropped.
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

    /// Delivers a notification to its call. Unknown tokens and values that do not increase are
    /// dropped and extend no timeout.
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

    /// Returns the number of open tokens.
    pub(crate) fn len(&self) -> usize {
        lock(&self.inner).waiting.len()
    }
}

/// A live token.
pub(crate) struct ProgressEntry {
    table: Arc<ProgressTable>,
    token: i64,
    waiting: Arc<Mutex<Waiting>>,
}

impl ProgressEntry {
    pub(crate) fn token(&self) -> ProgressToken {
        ProgressToken::Number(self.token)
    }

    /// Returns the callback, so that the next token of the same call can use it.
    pub(crate) fn take_callback(&mut self) -> Option<Callback> {
        lock(&self.waiting).callback.take()
    }

    /// Returns the time of the last progress.
    pub(crate) fn last(&self) -> Option<Instant> {
        lock(&self.waiting).at
    }
}

impl Drop for ProgressEntry {
    fn drop(&mut self) {
        lock(&self.table.inner).waiting.remove(&self.token);
    }
}
