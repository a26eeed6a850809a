//! One connection that carries one stream.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::time::{Instant, Sleep, sleep};

use crate::server::response::body::EventSource;
use crate::server::session::{HttpSession, Pin as Pinned};
use crate::server::stream::{Next, Stream, frames};

/// What one connection sends of a stream: what it has to have replayed, then what comes.
///
/// Dropping it leaves the stream to whoever takes it over.
pub(crate) struct Events {
    stream: Arc<Stream>,
    reader: u64,
    replay: VecDeque<Bytes>,
    /// The number of the last event that was replayed.
    replayed: u64,
    keep_alive: Option<Pin<Box<Sleep>>>,
    /// When anything was last sent.
    last: Instant,
    _pinned: Pinned,
    _held: Option<Box<dyn Send + Sync>>,
}

impl Events {
    /// What the connection numbered `reader` sends.
    pub(crate) fn new(session: &Arc<HttpSession>, stream: Arc<Stream>, reader: u64) -> Self {
        Self {
            stream,
            reader,
            replay: VecDeque::new(),
            replayed: 0,
            keep_alive: None,
            last: Instant::now(),
            _pinned: session.pin(),
            _held: None,
        }
    }

    /// What is left of a stream on which nobody speaks any more.
    pub(crate) fn past(session: &Arc<HttpSession>, kept: Vec<Bytes>) -> Self {
        let ended = Stream::of_session(&session.streams, None);
        ended.finish(None);
        let mut events = Self::new(session, ended, 0);
        events.replay(0, kept);
        events
    }

    /// Keeps something for as long as it is open.
    pub(crate) fn hold(&mut self, held: impl Send + Sync + 'static) {
        self._held = Some(Box::new(held));
    }

    /// Sends these, which follow the event `after`, before anything else.
    pub(crate) fn replay(&mut self, after: u64, events: impl IntoIterator<Item = Bytes>) {
        self.replayed = after;
        self.replay.extend(events);
    }

    /// Says something when nothing was said for long.
    fn poll_quiet(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let interval = self.stream.streams.options.keep_alive;
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
                // Whoever sends the comment asks again, and then the timer is polled.
                return Poll::Ready(Some(Bytes::from_static(frames::COMMENT)));
            }
        }
        Poll::Pending
    }
}

impl EventSource for Events {
    fn is_end(&self) -> bool {
        self.replay.is_empty() && self.stream.is_drained(self.reader)
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(event) = self.replay.pop_front() {
            self.replayed += 1;
            self.stream.took(self.replayed);
            return Poll::Ready(Some(event));
        }
        match self.stream.poll_next(self.reader, cx) {
            Poll::Ready(Next::Data(data)) => {
                self.last = Instant::now();
                Poll::Ready(Some(data))
            }
            Poll::Ready(Next::End) => Poll::Ready(None),
            Poll::Pending => self.poll_quiet(cx),
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.stream.detach(self.reader);
    }
}
