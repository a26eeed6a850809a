//! The HTTP connection that carries a stream.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::time::{Instant, Sleep, sleep};

use crate::server::response::body::EventSource;
use crate::server::session::replayed::Resumed;
use crate::server::session::{ActivityGuard, HttpSession};
use crate::server::stream::{Stream, frames};

/// The body of a response that carries a stream. It sends the stored events first, and then new events.
///
/// After the body is dropped, another connection can resume the stream.
pub(crate) struct StreamBody {
    stream: Arc<Stream>,
    reader: u64,
    /// A comment that is sent before all events.
    comment: Option<Bytes>,
    resumed: Option<Box<Resumed>>,
    keep_alive: Option<Pin<Box<Sleep>>>,
    /// The time at which data was last sent.
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
            comment: None,
            resumed: None,
            keep_alive: None,
            last: Instant::now(),
            _activity: session.activity_guard(),
            _held: None,
        }
    }

    /// Creates the body for a stream whose call has ended. It sends only the stored events that remain.
    pub(crate) fn ended(session: &Arc<HttpSession>) -> Self {
        let ended = Stream::for_session(&session.streams, None);
        ended.finish(None);
        Self::new(session, ended, 0)
    }

    /// Keeps `held` until the body is dropped.
    pub(crate) fn hold(&mut self, held: impl Send + Sync + 'static) {
        self._held = Some(Box::new(held));
    }

    /// Makes the body send stored events before new events.
    pub(crate) fn resume(&mut self, resumed: Resumed) {
        self.resumed = Some(Box::new(resumed));
    }

    /// Returns a comment if nothing was sent for the keep-alive interval.
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
        let is_drained = || self.stream.is_drained(self.reader);
        match &self.resumed {
            Some(resumed) if resumed.is_broken => true,
            resumed => {
                let is_sent = resumed.as_ref().is_none_or(|resumed| resumed.is_end());
                self.comment.is_none() && is_sent && is_drained()
            }
        }
    }

    fn poll_first(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.stream.poll_stored(self.reader, cx).is_ready() {
            return Poll::Ready(());
        }
        self.poll_quiet(cx).map(|comment| self.comment = comment)
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(comment) = self.comment.take() {
            return Poll::Ready(Some(comment));
        }
        if let Some(resumed) = &mut self.resumed {
            if resumed.is_broken {
                return Poll::Ready(None);
            }
            match resumed.poll_next(&self.stream, cx) {
                Poll::Ready(Ok(None)) => {}
                Poll::Ready(Ok(Some(event))) => {
                    self.last = Instant::now();
                    return Poll::Ready(Some(event));
                }
                Poll::Ready(Err(error)) => {
                    tracing::warn!(%error, "stored events cannot be sent; the client can resume again");
                    resumed.is_broken = true;
                    return Poll::Ready(None);
                }
                Poll::Pending => return self.poll_quiet(cx),
            }
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
