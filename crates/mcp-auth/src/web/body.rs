//! The body of a request to an authorization server.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// The body of a request to an authorization server: a form, a registration, or empty. `Debug`
/// prints only its length.
#[derive(Clone, Default)]
pub struct FormBody(Bytes);

impl FormBody {
    pub(crate) fn new(text: String) -> Self {
        Self(text.into())
    }

    /// Returns the content, or an empty slice if it was already sent. It may contain secrets.
    pub fn as_bytes(&self) -> &Bytes {
        &self.0
    }
}

impl Body for FormBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let text = std::mem::take(&mut self.0);
        Poll::Ready((!text.is_empty()).then(|| Ok(Frame::data(text))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.len() as u64)
    }
}

impl fmt::Debug for FormBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FormBody({} bytes)", self.0.len())
    }
}
