//! Bodies of responses: one JSON text, or an event stream.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use http_body::{Frame, SizeHint};

use crate::headers::{EVENT_STREAM, JSON};
use crate::permit::Permit;
use crate::server::response::text::JsonText;

/// The response body of an [`Endpoint`](crate::Endpoint).
pub struct Body {
    kind: Kind,
    /// The permit of the request. The request counts as in flight until its client has received the JSON response.
    slot: Option<Permit>,
}

enum Kind {
    Full(Bytes),
    /// The parts of a text. The last part comes first.
    Pieces(Vec<Bytes>),
    Events(Box<dyn EventSource>),
}

/// A source of the events that a connection sends.
pub(crate) trait EventSource: Send + Sync + 'static {
    /// Returns whether the stream has ended.
    fn is_end(&self) -> bool;

    /// Waits until the first queued event is durable or a comment is due. Ready at once if no event is queued.
    fn poll_first(&mut self, _cx: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    /// Returns the next part of the stream. Returns `None` at the end of the stream.
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

    /// Keeps the permit of a request until the body is dropped. Drops the permit at once if the body is an event stream, because
    /// the memory of its events is counted while they are queued.
    pub(crate) fn hold(&mut self, slot: Permit) {
        if !self.is_stream() {
            self.slot = Some(slot);
        }
    }

    /// Removes and returns the permit that [`hold`](Self::hold) has stored.
    #[cfg(feature = "forward")]
    pub(crate) fn take_permit(&mut self) -> Option<Permit> {
        self.slot.take()
    }

    pub(crate) fn is_stream(&self) -> bool {
        matches!(self.kind, Kind::Events(_))
    }

    /// Waits until the first event of a stream can be sent together with the head of the response; see
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

/// Returns a response with an event stream. Headers of the response tell proxies not to buffer the stream.
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

/// Returns a response with one JSON text.
pub(crate) fn json(text: impl Into<JsonText>) -> Response<Body> {
    let mut response = Response::new(text.into().into_body());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    response
}

/// Returns a response without a body, for messages that need no response.
pub(crate) fn accepted() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}
