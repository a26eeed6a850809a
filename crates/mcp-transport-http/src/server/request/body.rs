//! The body of a request, read within the limits on size, time, and what all bodies take together.

use std::pin::pin;

use bytes::{Buf, BufMut as _, Bytes};
use http::StatusCode;
use http_body::Body;
use tokio::time::{Instant, timeout_at};

use crate::permit::{Capacity, Permit};
use crate::server::options::Options;
use crate::server::request::head::Heads;
use crate::server::response::refusal::Refusal;

/// A whole body, and the room it takes.
pub(crate) struct Whole {
    pub(crate) bytes: Bytes,
    _memory: Permit,
}

/// Reads a body within the limits on size and time.
pub(crate) async fn read<B>(
    body: B,
    heads: &Heads<'_>,
    options: &Options,
    in_memory: &Capacity,
) -> Result<Whole, Refusal>
where
    B: Body,
{
    let too_long = || {
        Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!(
                "the body is longer than {} bytes, the limit of Options::with_body_bytes",
                options.body_bytes
            ),
        )
    };
    let announced = heads
        .content_length
        .first()
        .and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|bytes| bytes > options.body_bytes as u64) {
        return Err(too_long());
    }
    let mut memory = in_memory.permit();
    let mut body = pin!(body);
    let most = announced.and_then(|bytes| usize::try_from(bytes).ok());
    let mut gathered = Gathered::up_to(most.unwrap_or(options.body_bytes));
    let mut deadline = None;
    loop {
        let next = std::future::poll_fn(|cx| body.as_mut().poll_frame(cx));
        let mut next = pin!(next);
        // Most bodies are here already and need no timer.
        let now = std::future::poll_fn(|cx| {
            std::task::Poll::Ready(match next.as_mut().poll(cx) {
                std::task::Poll::Ready(frame) => Some(frame),
                std::task::Poll::Pending => None,
            })
        });
        let frame = match now.await {
            Some(frame) => frame,
            None => {
                let at = *deadline.get_or_insert_with(|| Instant::now() + options.body_timeout);
                timeout_at(at, next).await.map_err(|_| {
                    Refusal::new(
                        StatusCode::REQUEST_TIMEOUT,
                        "the body did not arrive within Options::with_body_timeout",
                    )
                })?
            }
        };
        let Some(frame) = frame else {
            break;
        };
        let frame =
            frame.map_err(|_| Refusal::bad_request("the body ended before it was complete"))?;
        let Ok(data) = frame.into_data() else {
            continue; // trailers
        };
        if gathered.len() + data.remaining() > options.body_bytes {
            return Err(too_long());
        }
        if !memory.try_grow(data.remaining()) {
            return Err(Refusal::busy(format!(
                "more than {} bytes of request bodies are in memory, the limit of \
                 Options::with_bodies_bytes; send again later",
                in_memory.limit()
            )));
        }
        gathered.push(data);
        if body.is_end_stream() {
            break;
        }
    }
    let bytes = gathered.into_bytes();
    Ok(Whole {
        bytes,
        _memory: memory,
    })
}

/// What is reserved for a body that comes in pieces, if it may be that long.
const STEP: usize = 256 << 10;

/// The pieces of a body. One that comes in one piece is not copied.
struct Gathered {
    first: Bytes,
    rest: Vec<u8>,
    most: usize,
}

impl Gathered {
    /// Nothing yet, of a body that is at most so long.
    fn up_to(most: usize) -> Self {
        Self {
            first: Bytes::new(),
            rest: Vec::new(),
            most,
        }
    }

    fn len(&self) -> usize {
        self.first.len().max(self.rest.len())
    }

    fn push(&mut self, mut data: impl Buf) {
        let length = data.remaining();
        if self.len() == 0 {
            self.first = data.copy_to_bytes(length);
            return;
        }
        let needed = self.len() + length;
        if needed > self.rest.capacity() {
            // In few steps, because each leaves a hole as long as itself in memory; what is
            // reserved and not written to costs nothing.
            let room = needed.saturating_mul(4).max(STEP);
            let room = room.min(self.most).max(needed);
            self.rest.reserve_exact(room - self.rest.len());
        }
        if self.rest.is_empty() {
            self.rest
                .extend_from_slice(&std::mem::take(&mut self.first));
        }
        self.rest.put(data);
    }

    fn into_bytes(self) -> Bytes {
        if self.rest.is_empty() {
            self.first
        } else {
            self.rest.into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_in_pieces_takes_little_more_than_it_is_long() {
        for (pieces, length) in [(0, 1), (1, 10), (2, 10), (1_000, 7), (5, 64 << 10)] {
            let most = pieces * length;
            let mut gathered = Gathered::up_to(most);
            for piece in 0..pieces {
                gathered.push(Bytes::from(vec![piece as u8; length]));
                assert_eq!(gathered.len(), (piece + 1) * length);
                assert!(gathered.rest.capacity() <= most);
            }
            let bytes = gathered.into_bytes();
            let expected = (0..pieces).flat_map(|piece| vec![piece as u8; length]);
            assert!(bytes.iter().copied().eq(expected));
        }
    }

    #[test]
    fn one_piece_is_not_copied() {
        let piece = Bytes::from_static(b"whole");
        let mut gathered = Gathered::up_to(100);
        gathered.push(piece.clone());
        assert_eq!(gathered.into_bytes().as_ptr(), piece.as_ptr());
    }
}
