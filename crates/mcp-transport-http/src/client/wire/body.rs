//! The body of a request.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// The body of a request: one message, or empty.
#[derive(Clone, Default)]
pub struct RequestBody(Bytes);

impl RequestBody {
    pub(crate) fn new(message: Bytes) -> Self {
        Self(message)
    }

    /// Returns the message, or an empty slice if it was already sent.
    pub fn as_bytes(&self) -> &Bytes {
        &self.0
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let message = std::mem::take(&mut self.0);
        Poll::Ready((!message.is_empty()).then(|| Ok(Frame::data(message))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.len() as u64)
    }
}

impl fmt::Debug for RequestBody {
    /// Prints only the length, because the message may be private.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestBody({} bytes)", self.0.len())
    }
}
