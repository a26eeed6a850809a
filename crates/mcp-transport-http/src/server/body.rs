//! What a response carries: nothing, one JSON text, or a stream of events.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use super::events::Events;
#[cfg(feature = "legacy")]
use crate::legacy::server::Pipe;

/// The body of an [`Endpoint`](crate::Endpoint)'s response.
pub struct Body(Kind);

enum Kind {
    Full(Bytes),
    /// Pieces, the next one last.
    Pieces(Vec<Bytes>),
    Events(Box<Events>),
    #[cfg(feature = "legacy")]
    Legacy(Box<Pipe>),
}

impl Body {
    pub(crate) fn empty() -> Self {
        Self(Kind::Full(Bytes::new()))
    }

    pub(crate) fn full(bytes: impl Into<Bytes>) -> Self {
        Self(Kind::Full(bytes.into()))
    }

    /// The pieces one after the other; none is empty.
    pub(crate) fn pieces(mut pieces: Vec<Bytes>) -> Self {
        pieces.reverse();
        Self(Kind::Pieces(pieces))
    }

    pub(crate) fn events(events: Events) -> Self {
        Self(Kind::Events(Box::new(events)))
    }

    #[cfg(feature = "legacy")]
    pub(crate) fn legacy(pipe: Pipe) -> Self {
        Self(Kind::Legacy(Box::new(pipe)))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let data = match &mut self.0 {
            Kind::Full(bytes) if bytes.is_empty() => None,
            Kind::Full(bytes) => Some(std::mem::take(bytes)),
            Kind::Pieces(pieces) => pieces.pop(),
            Kind::Events(events) => match events.poll_next(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(data) => data,
            },
            #[cfg(feature = "legacy")]
            Kind::Legacy(pipe) => match pipe.poll_next(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(data) => data,
            },
        };
        Poll::Ready(data.map(|data| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Full(bytes) => bytes.is_empty(),
            Kind::Pieces(pieces) => pieces.is_empty(),
            Kind::Events(events) => events.is_end(),
            #[cfg(feature = "legacy")]
            Kind::Legacy(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
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
        match &self.0 {
            Kind::Full(bytes) => f.debug_tuple("Body").field(&bytes.len()).finish(),
            _ => f.write_str("Body(events)"),
        }
    }
}
