//! Response bodies of a protected service.

use std::convert::Infallible;
use std::fmt;
use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

/// The body of a response: the body of the inner service, or a text from [`RequireBearer`].
///
/// [`RequireBearer`]: super::RequireBearer
pub struct Body<B>(BodyKind<B>);

enum BodyKind<B> {
    Inner(B),
    /// The body of the inner service. It ends when the timer expires.
    Limited(B, Pin<Box<Sleep>>),
    Text(TextBody),
}

impl<B> Body<B> {
    pub(super) fn inner(body: B) -> Self {
        Self(BodyKind::Inner(body))
    }

    /// Returns a body that ends at `end`, or earlier if the inner body ends.
    pub(super) fn limited(body: B, end: Instant) -> Self {
        Self(BodyKind::Limited(body, Box::pin(sleep_until(end))))
    }

    pub(super) fn text(text: TextBody) -> Self {
        Self(BodyKind::Text(text))
    }
}

impl<B> http_body::Body for Body<B>
where
    B: http_body::Body + Unpin,
    B::Data: From<Bytes>,
{
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        match &mut self.0 {
            BodyKind::Inner(body) => Pin::new(body).poll_frame(cx),
            BodyKind::Limited(body, end) => match end.as_mut().poll(cx) {
                Poll::Ready(()) => Poll::Ready(None),
                Poll::Pending => Pin::new(body).poll_frame(cx),
            },
            BodyKind::Text(text) => {
                Poll::Ready(text.take().map(|text| Ok(Frame::data(text.into()))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            BodyKind::Inner(body) | BodyKind::Limited(body, _) => body.is_end_stream(),
            BodyKind::Text(text) => text.0.is_empty(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            BodyKind::Inner(body) => body.size_hint(),
            BodyKind::Limited(..) => SizeHint::default(),
            BodyKind::Text(text) => SizeHint::with_exact(text.0.len() as u64),
        }
    }
}

impl<B> fmt::Debug for Body<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            BodyKind::Inner(_) | BodyKind::Limited(..) => "Body(inner)",
            BodyKind::Text(_) => "Body(text)",
        })
    }
}

/// A body with a single chunk.
#[derive(Debug, Clone, Default)]
pub struct TextBody(Bytes);

impl TextBody {
    pub(super) fn new(bytes: impl Into<Bytes>) -> Self {
        Self(bytes.into())
    }

    fn take(&mut self) -> Option<Bytes> {
        let text = std::mem::take(&mut self.0);
        (!text.is_empty()).then_some(text)
    }
}

impl http_body::Body for TextBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.take().map(|text| Ok(Frame::data(text))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.len() as u64)
    }
}
