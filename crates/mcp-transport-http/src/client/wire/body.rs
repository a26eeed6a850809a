//! Request and response bodies.

use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use crate::client::wire::service::BoxError;
use bytes::{Buf, Bytes};
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

/// A response body of any type.
pub(crate) struct ResponseBody(Pin<Box<dyn DataSource>>);

impl ResponseBody {
    pub(crate) fn new<B>(body: B) -> Self
    where
        B: Body + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self(Box::pin(body))
    }

    /// Returns the next chunk, or `None` at the end. Cancel safe.
    pub(crate) async fn data(&mut self) -> Option<Result<Bytes, BoxError>> {
        poll_fn(|cx| self.0.as_mut().poll_data(cx)).await
    }

    /// Returns the announced length.
    pub(crate) fn announced(&self) -> Option<u64> {
        self.0.announced()
    }
}

impl fmt::Debug for ResponseBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResponseBody")
    }
}

/// Type-erased access to a response body.
trait DataSource: Send {
    fn poll_data(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, BoxError>>>;

    fn announced(&self) -> Option<u64>;
}

impl<B> DataSource for B
where
    B: Body + Send,
    B::Error: Into<BoxError>,
{
    fn poll_data(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, BoxError>>> {
        loop {
            let Some(frame) = ready!(self.as_mut().poll_frame(cx)) else {
                return Poll::Ready(None);
            };
            match frame.map(Frame::into_data) {
                Ok(Ok(mut data)) if data.has_remaining() => {
                    return Poll::Ready(Some(Ok(data.copy_to_bytes(data.remaining()))));
                }
                // Skips empty chunks and trailers.
                Ok(_) => {}
                Err(error) => return Poll::Ready(Some(Err(error.into()))),
            }
        }
    }

    fn announced(&self) -> Option<u64> {
        self.size_hint().exact()
    }
}
