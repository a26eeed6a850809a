//! Reads request bodies within limits on size, time and total memory.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;

use bytes::{Buf, Bytes};
use http::StatusCode;
use http_body::Body;
use mcp_jsonrpc::TreeSize;
use tokio::time::{Duration, Instant, timeout_at};

use crate::permit::{Capacity, Exhausted, Permit};
use crate::server::head::{McpHeaders, RequestHead};
use crate::server::options::ServerOptions;
use crate::server::request::buffer::BodyBuffer;
use crate::server::response::refusal::Refusal;
use crate::server::state::EndpointState;

/// Maximum size, in bytes, of a parsed body whose memory is not added to the permit. The limit on the number of requests already
/// bounds this memory.
const SMALL_TREE: usize = 16 << 10;

/// A complete request body, with the permit for its memory.
pub(crate) struct RequestBody {
    pub(crate) bytes: Bytes,
    pub(crate) memory: Permit,
}

/// Adds the memory of the parsed form of a body to the permit. This matters because small objects need much more memory than
/// their text.
///
/// # Errors
/// The limit `MemoryLimits::max_request_bytes` would be exceeded.
#[inline]
pub(crate) fn charge_tree(
    memory: &mut Permit,
    size: &TreeSize,
    head: &RequestHead,
    in_memory: &Capacity,
) -> Result<(), Refusal> {
    let tree = size.heap_bytes() - size.bytes;
    if tree <= SMALL_TREE {
        return Ok(());
    }
    let grown = memory.try_grow(tree, || head.owner());
    grown.map_err(|exhausted| exhausted.bodies(in_memory))
}

impl RequestBody {
    /// Returns the body, and the permit for its memory and the memory of its parsed form.
    pub(crate) fn into_parts(self) -> (Bytes, Permit) {
        (self.bytes, self.memory)
    }
}

/// Reads a request body.
///
/// # Errors
/// The body is too large, too slow or incomplete, or all bodies in memory together exceed their limit.
pub(crate) async fn read_body<B: Body>(
    body: B,
    head: &RequestHead,
    mcp_headers: &McpHeaders<'_>,
    state: &EndpointState,
) -> Result<RequestBody, Refusal> {
    let mut reader = BodyReader::new(head, mcp_headers, state)?;
    let mut body = pin!(body);
    loop {
        let next = poll_fn(|cx| body.as_mut().poll_frame(cx));
        let mut next = pin!(next);
        // Most bodies have arrived already and need no timer.
        let now = poll_fn(|cx| Poll::Ready(next.as_mut().poll(cx)));
        let frame = match now.await {
            Poll::Ready(frame) => frame,
            Poll::Pending => reader.wait(next).await?,
        };
        let Some(frame) = frame else {
            break;
        };
        let frame = frame.map_err(|_| {
            Refusal::bad_request("the connection ended before the request body was complete")
        })?;
        let Ok(data) = frame.into_data() else {
            continue; // trailers
        };
        reader.push(data)?;
        if body.is_end_stream() {
            break;
        }
    }
    Ok(reader.into_body())
}

/// Reads a body, and contains the part that has arrived.
struct BodyReader<'a> {
    head: &'a RequestHead,
    state: &'a EndpointState,
    buffer: BodyBuffer,
    memory: Permit,
    /// The permit and the rate check of a body that did not arrive together with its head.
    waiting: Option<(Permit, Pace)>,
}

impl<'a> BodyReader<'a> {
    #[inline]
    fn new(
        head: &'a RequestHead,
        mcp_headers: &McpHeaders<'_>,
        state: &'a EndpointState,
    ) -> Result<Self, Refusal> {
        let max = state.options.request_limits.max_body_bytes;
        let announced = mcp_headers
            .content_length
            .first()
            .and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
        if announced.is_some_and(|bytes| bytes > max as u64) {
            return Err(too_long(&state.options));
        }
        let announced = announced.and_then(|bytes| usize::try_from(bytes).ok());
        Ok(Self {
            head,
            state,
            buffer: BodyBuffer::with_max(announced.unwrap_or(max)),
            memory: state.bodies.permit(),
            waiting: None,
        })
    }

    /// Takes a permit for the memory of `bytes` more bytes.
    #[inline]
    fn charge(&mut self, bytes: usize) -> Result<(), Refusal> {
        let bytes = self.buffer.memory_for(bytes);
        let grown = self.memory.try_grow(bytes, || self.head.owner());
        grown.map_err(|exhausted| exhausted.bodies(&self.state.bodies))
    }

    /// Waits for the next frame of the body. Fails if the body arrives too slowly.
    async fn wait<F: Future>(&mut self, mut next: Pin<&mut F>) -> Result<F::Output, Refusal> {
        self.charge(0)?;
        self.buffer.detach();
        let options = &*self.state.options;
        let (_, pace) = match &mut self.waiting {
            Some(waiting) => waiting,
            none => {
                let permit = self.state.receiving_permit(self.head)?;
                none.insert((permit, Pace::new(options, self.buffer.len())))
            }
        };
        loop {
            match timeout_at(pace.next_check(), next.as_mut()).await {
                Ok(frame) => return Ok(frame),
                Err(_) => pace.check(options, self.buffer.len())?,
            }
        }
    }

    #[inline]
    fn push(&mut self, data: impl Buf) -> Result<(), Refusal> {
        if self.buffer.len() + data.remaining() > self.state.options.request_limits.max_body_bytes {
            return Err(too_long(&self.state.options));
        }
        self.charge(data.remaining())?;
        self.buffer.push(data);
        Ok(())
    }

    #[inline]
    fn into_body(mut self) -> RequestBody {
        let bytes = self.buffer.into_bytes();
        self.memory.shrink_to(bytes.len());
        let memory = self.memory;
        RequestBody { bytes, memory }
    }
}

fn too_long(options: &ServerOptions) -> Refusal {
    Refusal::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        format!(
            "the request body is longer than {} bytes, the limit of RequestLimits::max_body_bytes",
            options.request_limits.max_body_bytes
        ),
    )
}

impl Exhausted {
    /// Returns the error response for a body, or its parsed form, whose memory exceeds a limit.
    pub(crate) fn bodies(self, in_memory: &Capacity) -> Refusal {
        match self {
            Self::Limit => Refusal::busy(format!(
                "more than {} bytes of request bodies and of their parsed form are in memory, the \
                 limit of MemoryLimits::max_request_bytes; send again later",
                in_memory.limit()
            )),
            Self::Share => Refusal::share("bytes of request bodies"),
        }
    }
}

/// The interval at which the rate of a body is checked.
const RATE_INTERVAL: Duration = Duration::from_secs(5);

/// Returns the number of bytes that must arrive in one interval.
fn bytes_due(options: &ServerOptions) -> usize {
    let seconds = usize::try_from(RATE_INTERVAL.as_secs()).unwrap_or(1);
    options.request_limits.min_body_rate.saturating_mul(seconds)
}

/// Checks that a body arrives at the minimum rate.
struct Pace {
    deadline: Instant,
    next: Instant,
    /// The total number of bytes that must have arrived at the next check.
    due: usize,
}

impl Pace {
    fn new(options: &ServerOptions, received: usize) -> Self {
        let now = Instant::now();
        Self {
            deadline: now + options.timeouts.body,
            next: now + RATE_INTERVAL,
            due: received + bytes_due(options),
        }
    }

    fn next_check(&self) -> Instant {
        self.next.min(self.deadline)
    }

    /// Checks the rate of a body that is incomplete at the time [`next_check`](Self::next_check).
    fn check(&mut self, options: &ServerOptions, received: usize) -> Result<(), Refusal> {
        let too_slow = |message| Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, message));
        if self.deadline <= self.next {
            return too_slow("the request body was not received within ServerTimeouts::body");
        }
        if received < self.due {
            return too_slow("the request body arrives slower than RequestLimits::min_body_rate");
        }
        self.next += RATE_INTERVAL;
        self.due = received + bytes_due(options);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_interval_of_a_body_has_the_minimum_rate() {
        let options = ServerOptions::new();
        let due = bytes_due(&options);
        let mut pace = Pace::new(&options, 100);
        assert!(pace.check(&options, 100 + due - 1).is_err());
        for interval in 1..=3 {
            assert!(pace.check(&options, 100 + interval * due).is_ok());
        }
        let arrived = 100 + 3 * due;
        assert!(pace.check(&options, arrived + due - 1).is_err());
        assert!(pace.check(&options, arrived + due).is_ok());
    }
}
