//! The connection that carries a stream.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::time::{Instant, Sleep, sleep};

use crate::server::response::body::EventSource;
use crate::server::session::{ActivityGuard, HttpSession};
use crate::server::stream::{Stream, frames};

/// The body of a response that carries a stream: first the events to replay, then new ones.
///
/// When it is dropped, another connection can resume the stream.
pub(crate) struct StreamBody {
    stream: Arc<Stream>,
    reader: u64,
    /// Events of earlier leases, which have other numbers, or a comment; sent before everything else.
    earlier: VecDeque<Bytes>,
    replay: VecDeque<Bytes>,
    /// The sequence number of the last event that was replayed.
    replayed: u64,
    keep_alive: Option<Pin<Box<Sleep>>>,
    /// When anything was last sent.
    last: Instant,
    _activity: ActivityGuard,
    _held: Option<Box<dyn Send + Sync>>,
}

impl StreamBody {
    /// Creates the body for the connection with the number `reader`.
    pub(crate) fn new(session: &Arc<HttpSession>, stream: Arc<Stream>, reader: u64) -> Self {
        Self {
            stream,
            reader,
            earlier: VecDeque::new(),
            replay: VecDeque::new(),
            replayed: 0,
            keep_alive: None,
            last: Instant::now(),
            _activity: session.activity_guard(),
            _held: None,
        }
    }

    /// Creates the body for the stored rest of a stream whose call has ended.
    pub(crate) fn replay_only(session: &Arc<HttpSession>, kept: Vec<Bytes>) -> Self {
        let ended = Stream::for_session(&session.streams, None);
        ended.finish(None);
        let mut events = Self::new(session, ended, 0);
        events.replay(0, kept);
        events
    }

    /// Keeps `held` until the stream is closed.
    pub(crate) fn hold(&mut self, held: impl Send + Sync + 'static) {
        self._held = Some(Box::new(held));
    }

    /// Sends `events`, which follow the event `after`, before new events.
    pub(crate) fn replay(&mut self, after: u64, events: impl IntoIterator<Item = Bytes>) {
        self.replayed = after;
        self.replay.extend(events);
    }

    /// Sends events of earlier leases before everything else.
    pub(crate) fn prepend(&mut self, events: Vec<Bytes>) {
        self.earlier = events.into();
    }

    /// Sends a comment if the stream has been idle.
    fn poll_quiet(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let interval = self.stream.streams.options.streams.keep_alive_interval;
        let timer = self
            .keep_alive
            .get_or_insert_with(|| Box::pin(sleep(interval)));
        while timer.as_mut().poll(cx).is_ready() {
            let now = Instant::now();
            let quiet = now.saturating_duration_since(self.last) >= interval;
            if quiet {
                self.last = now;
            }
            timer.as_mut().reset(self.last + interval);
            if quiet {
                // hyper polls again after the comment, and that poll registers the timer.
                return Poll::Ready(Some(Bytes::from_static(frames::COMMENT)));
            }
        }
        Poll::Pending
    }
}

impl EventSource for StreamBody {
    fn is_end(&self) -> bool {
        self.earlier.is_empty() && self.replay.is_empty() && self.stream.is_drained(self.reader)
    }

    fn poll_first(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.stream.poll_stored(self.reader, cx).is_ready() {
            return Poll::Ready(());
        }
        self.poll_quiet(cx)
            .map(|comment| self.earlier.extend(comment))
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(event) = self.earlier.pop_front() {
            return Poll::Ready(Some(event));
        }
        if let Some(event) = self.replay.pop_front() {
            self.replayed += 1;
            self.stream.mark_taken(self.replayed);
            return Poll::Ready(Some(event));
        }
        match self.stream.poll_next(self.reader, cx) {
            Poll::Ready(data) => {
                self.last = Instant::now();
                Poll::Ready(data)
            }
            Poll::Pending => self.poll_quiet(cx),
        }
    }
}

impl Drop for StreamBody {
    fn drop(&mut self) {
        self.stream.detach(self.reader);
    }
}
