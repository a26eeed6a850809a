//! The log messages of all servers as one stream.

use std::collections::VecDeque;
use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use mcp_client::LoggingLevel;
use mcp_client::types::LoggingMessageNotificationParams;
use mcp_protocol::{Rate, TokenBucket, lock};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::limits::ServerLimits;
use crate::text::{one_line, printable};

/// Memory for a message, without the text of the message, in bytes.
const MESSAGE_BYTES: usize = 128;

/// A log message of a server. [`fmt::Display`] writes it as text for a terminal, on one line and without control characters.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LogMessage {
    /// The name that the configuration gives the server. The server does not choose this name.
    pub server: String,
    /// The severity.
    pub level: LoggingLevel,
    /// The name of the logger in the server.
    pub logger: Option<String>,
    /// The content: any JSON value.
    pub data: Value,
    /// Number of messages of this server that were dropped since its previous message in the stream.
    pub dropped: u64,
}

impl fmt::Display for LogMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match &self.data {
            Value::String(text) => text.clone(),
            data => data.to_string(),
        };
        let logger = self.logger.as_deref().unwrap_or_default();
        let line = format!("{} {} {logger}: {text}", self.server, self.level.as_str());
        f.write_str(&printable(&one_line(&line)))
    }
}

/// The log messages of all servers of a [`Host`](crate::Host), oldest first. Cloning returns another handle. Each message is
/// received by only one handle.
#[derive(Debug, Clone)]
pub struct LogStream(pub(super) Arc<LogQueue>);

impl LogStream {
    /// Waits for a message. Returns `None` when the host has ended. If the host was started without
    /// [`HostBuilder::logs`](crate::HostBuilder::logs), returns `None` at once.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn next(&self) -> Option<LogMessage> {
        loop {
            let mut changed = pin!(self.0.changed.notified());
            // Called before the queue is read, so that no message is missed, and the end of the log is not missed.
            changed.as_mut().enable();
            {
                let mut state = self.0.lock();
                if let Some(message) = state.pop() {
                    return Some(message);
                }
                if state.is_closed {
                    return None;
                }
            }
            changed.await;
        }
    }

    /// Returns the total number of dropped messages of all servers.
    pub fn dropped(&self) -> u64 {
        self.0.lock().dropped
    }
}

/// The queue of unread messages.
#[derive(Debug)]
pub(crate) struct LogQueue {
    state: Mutex<QueueState>,
    changed: Notify,
    max_bytes: usize,
}

#[derive(Debug, Default)]
struct QueueState {
    messages: VecDeque<StoredMessage>,
    bytes: usize,
    dropped: u64,
    is_closed: bool,
}

/// A queued message. Its data is JSON text, so that its size is known.
#[derive(Debug)]
struct StoredMessage {
    message: LogMessage,
    data: Box<str>,
}

impl StoredMessage {
    fn bytes(&self) -> usize {
        let logger = self.message.logger.as_ref().map_or(0, String::len);
        MESSAGE_BYTES + self.message.server.len() + logger + self.data.len()
    }
}

impl QueueState {
    fn pop(&mut self) -> Option<LogMessage> {
        let stored = self.messages.pop_front()?;
        self.bytes -= stored.bytes();
        let data = serde_json::from_str(&stored.data).unwrap_or_default();
        Some(LogMessage {
            data,
            ..stored.message
        })
    }
}

impl LogQueue {
    /// Creates a queue. If the host does not collect log messages, the queue is closed from the start.
    pub(super) fn new(limits: &ServerLimits, is_closed: bool) -> Arc<Self> {
        let state = QueueState {
            is_closed,
            ..QueueState::default()
        };
        Arc::new(Self {
            state: Mutex::new(state),
            changed: Notify::new(),
            max_bytes: limits.max_log_bytes,
        })
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        lock(&self.state)
    }
}

/// The log of one server, which adds messages to the queue. The queue is closed when the last `ServerLog` is dropped.
pub(super) struct ServerLog {
    pub(super) server: String,
    pub(super) queue: Arc<OpenQueue>,
    rate: Rate,
    /// The rate limit, and the number of messages that were dropped since the last accepted message.
    state: Mutex<(TokenBucket, u64)>,
}

/// The open queue. Dropping this value closes the queue.
pub(super) struct OpenQueue(pub(super) Arc<LogQueue>);

impl Drop for OpenQueue {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.changed.notify_waiters();
    }
}

impl ServerLog {
    pub(super) fn new(server: String, queue: Arc<OpenQueue>, limits: &ServerLimits) -> Self {
        Self {
            server,
            queue,
            rate: Rate::per(Duration::from_secs(1), limits.logs_per_second),
            state: Mutex::default(),
        }
    }

    /// Adds a message to the queue, or drops it at a limit. Does not block.
    pub(super) fn push(&self, params: LoggingMessageNotificationParams) {
        let now = Instant::now().into_std();
        let mut state = lock(&self.state);
        let (bucket, dropped) = &mut *state;
        let is_within_rate = bucket.take(1.0, self.rate, now).is_ok();
        let queue = &self.queue.0;
        if !is_within_rate {
            *dropped += 1;
            queue.lock().dropped += 1;
            return;
        }
        let stored = StoredMessage {
            message: LogMessage {
                server: self.server.clone(),
                level: params.level,
                logger: params.logger,
                data: Value::Null,
                dropped: *dropped,
            },
            data: params.data.to_string().into(),
        };
        let mut queued = queue.lock();
        if queued.bytes + stored.bytes() > queue.max_bytes {
            *dropped += 1;
            queued.dropped += 1;
            return;
        }
        *dropped = 0;
        queued.bytes += stored.bytes();
        queued.messages.push_back(stored);
        queue.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> LoggingMessageNotificationParams {
        LoggingMessageNotificationParams::new(LoggingLevel::Info, text)
    }

    fn open(limits: &ServerLimits) -> (LogStream, ServerLog) {
        let queue = LogQueue::new(limits, false);
        let open = Arc::new(OpenQueue(Arc::clone(&queue)));
        (
            LogStream(queue),
            ServerLog::new("a".to_owned(), open, limits),
        )
    }

    #[tokio::test]
    async fn a_read_log_message_makes_room_for_a_new_message() {
        let (stream, log) = open(&ServerLimits::default());
        for text in ["a", "bc"] {
            log.push(message(text));
        }
        assert_eq!(stream.next().await.unwrap().data, "a");
        let mut state = lock(&stream.0.state);
        let left: usize = state.messages.iter().map(StoredMessage::bytes).sum();
        assert_eq!(state.bytes, left);
        state.pop();
        assert_eq!(state.bytes, 0);
    }

    #[tokio::test]
    async fn new_messages_and_the_end_of_the_log_wake_all_waiting_handles() {
        let (stream, log) = open(&ServerLimits::default());
        let waiting: Vec<_> = (0..5)
            .map(|_| {
                let stream = stream.clone();
                tokio::spawn(async move { stream.next().await })
            })
            .collect();
        // Lets the tasks run until they wait.
        tokio::task::yield_now().await;
        log.push(message("first"));
        log.push(message("second"));
        tokio::task::yield_now().await;
        drop(log);
        let mut received = 0;
        for task in waiting {
            received += usize::from(task.await.unwrap().is_some());
        }
        assert_eq!(received, 2);
    }

    #[tokio::test]
    async fn a_cancelled_wait_loses_no_message() {
        let (stream, log) = open(&ServerLimits::default());
        let mut cancelled = Box::pin(stream.next());
        let other = stream.clone();
        tokio::select! {
            biased;
            _ = &mut cancelled => panic!("there is no message"),
            () = std::future::ready(()) => {}
        }
        let waiting = tokio::spawn(async move { other.next().await });
        tokio::task::yield_now().await;
        log.push(message("text"));
        drop(cancelled);
        assert_eq!(waiting.await.unwrap().unwrap().data, "text");
    }

    #[test]
    fn the_size_of_unread_messages_is_limited() {
        // The size of a message includes the name of its server, "a", and the text in quotes.
        let size = MESSAGE_BYTES + 1 + "\"text\"".len();
        for (max, accepted) in [(2 * size, 2), (2 * size - 1, 1)] {
            let limits = ServerLimits::default().with_max_log_bytes(max);
            let (stream, log) = open(&limits);
            for _ in 0..3 {
                log.push(message("text"));
            }
            assert_eq!(stream.dropped(), 3 - accepted);
        }
    }
}
