//! Streams of HTTP/2 connections. Responses are sent in chunks. If a client does not take a chunk in time, the stream is reset.
//!
//! The write timeout of the connection does not detect such a client. With flow control, the client can block single streams
//! while the connection works.
//!
//! Specification: [RFC 9113, section 5.2](https://www.rfc-editor.org/rfc/rfc9113#section-5.2).

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use http::Response;
use http_body::{Body as _, Frame, SizeHint};
use hyper::rt::Executor;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::server::listener::timers::ConnectionTimer;
use crate::server::response::body::Body;
use crate::sync::lock;

/// Maximum number of bytes of a response that are passed to hyper at once.
const CHUNK: usize = 64 << 10;

tokio::task_local! {
    /// The chunk state of the stream that this task serves.
    static STREAM: Arc<ChunkState>;
}

/// An executor that runs the streams of a connection. It resets a stream whose client does not read.
#[derive(Clone)]
pub(super) struct StreamExecutor {
    pub(super) write_timeout: Duration,
    pub(super) timer: Arc<ConnectionTimer>,
}

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for StreamExecutor {
    fn execute(&self, stream: F) {
        let chunk = Arc::<ChunkState>::default();
        self.timer.add_chunks(&chunk);
        let served = serve(stream, Arc::clone(&chunk), self.write_timeout);
        tokio::spawn(STREAM.scope(chunk, served));
    }
}

/// Serves a stream until it ends. If the client does not take a chunk within `limit`, drops hyper's future. This resets the
/// stream and discards the data that hyper has buffered for it.
async fn serve(stream: impl Future<Output = ()>, chunk: Arc<ChunkState>, limit: Duration) {
    let mut stream = pin!(stream);
    let mut timer: Option<Pin<Box<Sleep>>> = None;
    std::future::poll_fn(|cx| {
        if stream.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        let since = {
            let mut chunks = lock(&chunk.0);
            let task = chunks.task.as_ref();
            if !task.is_some_and(|task| task.will_wake(cx.waker())) {
                chunks.task = Some(cx.waker().clone());
            }
            if chunks.is_ended {
                return Poll::Ready(());
            }
            chunks.since
        };
        let Some(since) = since else {
            timer = None;
            return Poll::Pending;
        };
        let end = since + limit;
        let timer = timer.get_or_insert_with(|| Box::pin(sleep_until(end)));
        if timer.deadline() != end {
            timer.as_mut().reset(end);
        }
        ready!(timer.as_mut().poll(cx));
        tracing::debug!(
            "reset a stream whose client did not read the response within \
             ServerTimeouts::write"
        );
        Poll::Ready(())
    })
    .await;
}

/// The state of the chunk that was passed to hyper and that the client has not taken yet, if there is one.
#[derive(Default)]
pub(super) struct ChunkState(Mutex<Chunks>);

#[derive(Default)]
struct Chunks {
    /// The time at which the chunk was passed to hyper. `None` if there is no such chunk.
    since: Option<Instant>,
    /// The tick at which the chunk was passed to hyper.
    since_tick: u64,
    /// The waker of the body, which passes the next chunk to hyper.
    waker: Option<Waker>,
    /// The waker of the task that serves the stream.
    task: Option<Waker>,
    /// Whether the stream must end although its client has not read all of it.
    is_ended: bool,
}

impl ChunkState {
    /// Returns the tick at which the client stopped taking data. Returns `None` if no chunk is waiting.
    pub(super) fn blocked_since(&self) -> Option<u64> {
        let chunks = lock(&self.0);
        chunks.since.map(|_| chunks.since_tick)
    }

    /// Ends the stream, and discards the data that hyper has buffered for it.
    pub(super) fn end(&self) {
        let task = {
            let mut chunks = lock(&self.0);
            chunks.is_ended = true;
            chunks.task.take()
        };
        if let Some(task) = task {
            task.wake();
        }
    }
}

/// A part of a response. hyper drops a chunk after it has written the chunk to the socket, or when the stream has ended. Dropping
/// a chunk records that the client has taken the chunk.
pub(crate) struct Chunk {
    data: Bytes,
    state: Arc<ChunkState>,
}

impl Drop for Chunk {
    fn drop(&mut self) {
        let mut chunks = lock(&self.state.0);
        chunks.since = None;
        if let Some(waker) = chunks.waker.take() {
            waker.wake();
        }
    }
}

impl Buf for Chunk {
    fn remaining(&self) -> usize {
        self.data.len()
    }

    fn chunk(&self) -> &[u8] {
        &self.data
    }

    fn advance(&mut self, count: usize) {
        self.data.advance(count);
    }
}

/// A response body that passes one chunk at a time to hyper. The body ends only after the client has taken the last chunk. Until
/// then, the request counts as in flight.
pub(crate) struct ChunkedBody<B> {
    body: Option<B>,
    /// Data of the body that was not passed on as a chunk yet.
    rest: Bytes,
    state: Arc<ChunkState>,
    open: Option<OpenStream>,
}

impl<B: http_body::Body + Unpin> ChunkedBody<B> {
    /// Creates the body. Must be called in the task of the stream.
    pub(super) fn new(body: B, open: Option<OpenStream>) -> Self {
        Self {
            body: Some(body),
            rest: Bytes::new(),
            state: STREAM.try_with(Arc::clone).unwrap_or_default(),
            open,
        }
    }

    /// Creates a [`ChunkedBody`] from the complete body of a response that the listener itself has created.
    pub(super) fn refusal(
        mut response: Response<Body>,
        open: Option<OpenStream>,
    ) -> Response<Self> {
        let mut cx = Context::from_waker(Waker::noop());
        let rest = match Pin::new(response.body_mut()).poll_frame(&mut cx) {
            Poll::Ready(Some(Ok::<_, Infallible>(frame))) => frame.into_data().unwrap_or_default(),
            _ => Bytes::new(),
        };
        response.map(|_| Self {
            body: None,
            rest,
            state: STREAM.try_with(Arc::clone).unwrap_or_default(),
            open,
        })
    }

    fn is_chunk_pending(&self) -> bool {
        lock(&self.state.0).since.is_some()
    }
}

impl<B: http_body::Body + Unpin> http_body::Body for ChunkedBody<B> {
    type Data = Chunk;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Chunk>, B::Error>>> {
        let this = &mut *self;
        {
            let mut chunks = lock(&this.state.0);
            if chunks.since.is_some() {
                chunks.waker = Some(cx.waker().clone());
                return Poll::Pending;
            }
        }
        while this.rest.is_empty() {
            let Some(body) = &mut this.body else {
                return Poll::Ready(None);
            };
            let Some(frame) = ready!(Pin::new(body).poll_frame(cx)).transpose()? else {
                return Poll::Ready(None);
            };
            match frame.into_data() {
                Ok(mut data) => this.rest = data.copy_to_bytes(data.remaining()),
                Err(frame) => {
                    let trailers = frame.into_trailers().unwrap_or_default();
                    return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
                }
            }
        }
        let data = this.rest.split_to(this.rest.len().min(CHUNK));
        {
            let mut chunks = lock(&this.state.0);
            chunks.since = Some(Instant::now());
            chunks.since_tick = this.open.as_ref().map_or(0, |open| open.0.now());
        }
        let state = Arc::clone(&this.state);
        Poll::Ready(Some(Ok(Frame::data(Chunk { data, state }))))
    }

    fn is_end_stream(&self) -> bool {
        let is_end = self
            .body
            .as_ref()
            .is_none_or(http_body::Body::is_end_stream);
        is_end && self.rest.is_empty() && !self.is_chunk_pending()
    }

    fn size_hint(&self) -> SizeHint {
        let hint = self.body.as_ref().map(http_body::Body::size_hint);
        let hint = hint.unwrap_or_else(|| SizeHint::with_exact(0));
        match hint.exact() {
            Some(length) => SizeHint::with_exact(length + self.rest.len() as u64),
            None => SizeHint::new(),
        }
    }
}

/// A guard for an open stream. While no stream is open, the timer for the next request head runs.
pub(crate) struct OpenStream(Arc<ConnectionTimer>);

impl OpenStream {
    pub(super) fn new(timer: &Arc<ConnectionTimer>) -> Self {
        timer.stream_opened();
        Self(Arc::clone(timer))
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.stream_closed();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_ends_when_the_client_has_taken_its_last_chunk() {
        let mut body = ChunkedBody::<Body> {
            body: None,
            rest: Bytes::from_static(b"a"),
            state: Arc::default(),
            open: None,
        };
        let mut cx = Context::from_waker(Waker::noop());
        assert!(!http_body::Body::is_end_stream(&body));
        let chunk = Pin::new(&mut body).poll_frame(&mut cx);
        assert!(matches!(chunk, Poll::Ready(Some(Ok(_)))));
        assert!(!http_body::Body::is_end_stream(&body));
        assert!(Pin::new(&mut body).poll_frame(&mut cx).is_pending());
        drop(chunk);
        assert!(http_body::Body::is_end_stream(&body));
        let end = Pin::new(&mut body).poll_frame(&mut cx);
        assert!(matches!(end, Poll::Ready(None)));
    }
}
