//! Responses with a body: one JSON text, or an event stream.

use std::cell::Cell;
use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Response};
use http_body::{Frame, SizeHint};
use mcp_jsonrpc::{RequestId, ResultTail, write_error, write_result, write_result_start};
use mcp_protocol::Outcome;

use crate::headers::{EVENT_STREAM, JSON};
use crate::permit::Permit;

/// The response body of an [`Endpoint`](crate::Endpoint).
pub struct Body {
    kind: Kind,
    /// The permit of the request, which is in flight until its client has taken the JSON response.
    slot: Option<Permit>,
}

enum Kind {
    Full(Bytes),
    /// The parts of a text, last part first.
    Pieces(Vec<Bytes>),
    Events(Box<dyn EventSource>),
}

/// The events that one connection sends.
pub(crate) trait EventSource: Send + Sync + 'static {
    /// Whether the stream has ended.
    fn is_end(&self) -> bool;

    /// Waits until an event that was sent already is durable, or a comment is due. Ready if nothing was sent.
    fn poll_first(&mut self, _cx: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    /// Returns the next part of the stream, or none at its end.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>>;
}

impl Body {
    pub(crate) fn empty() -> Self {
        Self::new(Kind::Full(Bytes::new()))
    }

    pub(crate) fn full(bytes: impl Into<Bytes>) -> Self {
        Self::new(Kind::Full(bytes.into()))
    }

    /// Creates a body from non-empty parts.
    pub(crate) fn pieces(mut pieces: Vec<Bytes>) -> Self {
        pieces.reverse();
        Self::new(Kind::Pieces(pieces))
    }

    pub(crate) fn events(events: impl EventSource) -> Self {
        Self::new(Kind::Events(Box::new(events)))
    }

    fn new(kind: Kind) -> Self {
        Self { kind, slot: None }
    }

    /// Keeps the permit of a request until the body is dropped. An event stream does not keep it,
    /// because its events are charged while they are queued.
    pub(crate) fn hold(&mut self, slot: Permit) {
        if !self.is_stream() {
            self.slot = Some(slot);
        }
    }

    /// Returns the permit that [`hold`](Self::hold) keeps.
    #[cfg(feature = "forward")]
    pub(crate) fn take_permit(&mut self) -> Option<Permit> {
        self.slot.take()
    }

    pub(crate) fn is_stream(&self) -> bool {
        matches!(self.kind, Kind::Events(_))
    }

    /// Waits until the first event of a stream can be sent in one write with the head, see
    /// [`EventSource::poll_first`].
    pub(crate) fn poll_first(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.kind {
            Kind::Events(events) => events.poll_first(cx),
            _ => Poll::Ready(()),
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let data = match &mut self.kind {
            Kind::Full(bytes) if bytes.is_empty() => None,
            Kind::Full(bytes) => Some(std::mem::take(bytes)),
            Kind::Pieces(pieces) => pieces.pop(),
            Kind::Events(events) => match events.poll_next(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(data) => data,
            },
        };
        Poll::Ready(data.map(|data| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Full(bytes) => bytes.is_empty(),
            Kind::Pieces(pieces) => pieces.is_empty(),
            Kind::Events(events) => events.is_end(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Pieces(pieces) => {
                SizeHint::with_exact(pieces.iter().map(|piece| piece.len() as u64).sum())
            }
            _ => SizeHint::default(),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Full(bytes) => f.debug_tuple("Body").field(&bytes.len()).finish(),
            _ => f.write_str("Body(events)"),
        }
    }
}

/// A response with an event stream. The headers tell proxies not to buffer it.
pub(crate) fn event_stream(body: Body) -> Response<Body> {
    const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    // hyper keeps the map while the stream is open, so it is as small as possible.
    *headers = HeaderMap::with_capacity(3);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(BUFFERING, HeaderValue::from_static("no"));
    response
}

thread_local! {
    /// A buffer in which responses are written, so that each response takes one allocation of its
    /// exact length.
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The longest response, in bytes, that is copied from the scratch buffer. A longer one takes the
/// buffer itself.
const MAX_COPIED: usize = 8 << 10;

/// A JSON text. It may end in a text that is shared between responses and is not copied.
pub(crate) struct JsonText {
    start: Bytes,
    tail: Option<ResultTail>,
    /// The memory of a long text.
    memory: Option<Permit>,
}

impl From<Vec<u8>> for JsonText {
    fn from(whole: Vec<u8>) -> Self {
        Self {
            start: whole.into(),
            tail: None,
            memory: None,
        }
    }
}

impl JsonText {
    /// Writes a text with `write`.
    pub(crate) fn write(write: impl FnOnce(&mut Vec<u8>)) -> Self {
        // Taken, not borrowed, because `write` may run code that writes another response.
        let mut scratch = SCRATCH.take();
        write(&mut scratch);
        if scratch.len() > MAX_COPIED {
            return scratch.into();
        }
        let start = Bytes::copy_from_slice(&scratch);
        scratch.clear();
        SCRATCH.set(scratch);
        Self {
            start,
            tail: None,
            memory: None,
        }
    }

    /// Appends `tail`, without a copy.
    pub(crate) fn with_tail(self, tail: &ResultTail) -> Self {
        Self {
            tail: Some(tail.clone()),
            ..self
        }
    }

    /// The bytes that belong to this text only.
    pub(crate) fn unshared_len(&self) -> usize {
        self.start.len()
    }

    /// Keeps a permit for the memory of the text.
    pub(crate) fn with_memory(mut self, memory: Permit) -> Self {
        self.memory = Some(memory);
        self
    }

    /// Copies the text into one piece.
    pub(crate) fn into_whole(self) -> Vec<u8> {
        let mut whole = Vec::from(self.start);
        if let Some(tail) = &self.tail {
            whole.reserve_exact(tail.as_ref().len());
            whole.extend_from_slice(tail.as_ref());
        }
        whole
    }

    pub(crate) fn into_body(self) -> Body {
        let start = match self.memory {
            None => self.start,
            Some(memory) => charged(self.start, memory),
        };
        match self.tail {
            None => Body::full(start),
            // The long part comes last, because hyper stops gathering buffers after a long one.
            Some(tail) => Body::pieces(vec![start, Bytes::from_owner(tail)]),
        }
    }
}

/// A response with one JSON text.
pub(crate) fn json(text: impl Into<JsonText>) -> Response<Body> {
    let mut response = Response::new(text.into().into_body());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    response
}

/// The minimum length, in bytes, of a text whose memory is counted.
pub(crate) const MIN_CHARGED: usize = 16 << 10;

/// A text that keeps its permit until all copies of it are dropped.
pub(crate) fn charged(text: Bytes, memory: Permit) -> Bytes {
    struct Charged(
        Bytes,
        #[expect(dead_code, reason = "released on drop")] Permit,
    );

    impl AsRef<[u8]> for Charged {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }

    Bytes::from_owner(Charged(text, memory))
}

/// Writes the JSON-RPC response with the outcome of a handler.
pub(crate) fn render(id: &RequestId, outcome: &Outcome) -> JsonText {
    match outcome {
        Ok(payload) => match payload.shared() {
            Some((text, meta)) if text.tail().as_ref().len() >= MIN_SHARED => {
                let start = JsonText::write(|out| {
                    write_result_start(out, id);
                    text.write_start(out, meta);
                });
                start.with_tail(text.tail())
            }
            _ => JsonText::write(|out| write_result(out, id, |out| payload.write(out))),
        },
        Err(error) => JsonText::write(|out| write_error(out, Some(id), error)),
    }
}

/// The minimum length, in bytes, of a shared text that is sent without a copy.
const MIN_SHARED: usize = 16 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_a_shared_tail_has_the_same_bytes_in_parts() {
        let tail = ResultTail::new("{\"a\":1}".to_owned());
        let before = || JsonText::from(b"{\"r\":{".to_vec()).with_tail(&tail);
        assert_eq!(before().into_whole(), b"{\"r\":{\"a\":1}}");
        let body = before().into_body();
        assert_eq!(http_body::Body::size_hint(&body).exact(), Some(13));
        assert_eq!(JsonText::from(b"x".to_vec()).into_whole(), b"x");
    }

    #[test]
    fn nested_writes_do_not_mix() {
        let long = vec![b'l'; MAX_COPIED + 1];
        for _ in 0..2 {
            let outer = JsonText::write(|out| {
                out.push(b'a');
                // A writer that writes another response.
                let inner = JsonText::write(|out| out.push(b'b'));
                out.extend_from_slice(&inner.into_whole());
            });
            assert_eq!(outer.into_whole(), b"ab");
            let text = JsonText::write(|out| out.extend_from_slice(&long));
            assert_eq!(text.into_whole(), long);
        }
        assert!(SCRATCH.take().capacity() <= 2 * MAX_COPIED);
    }
}
