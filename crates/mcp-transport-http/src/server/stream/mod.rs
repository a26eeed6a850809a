//! Streams of a session. A stream carries the messages of one call before its response, or the messages that do not belong to a
//! call.
//!
//! A stream is independent of the connection that carries it. If the connection is interrupted, messages are stored in the event
//! store, and the client can resume the stream.

pub(crate) mod event_id;
pub(crate) mod frames;
mod identity;
pub(crate) mod link;
mod queue;
mod session_streams;
mod state;

use std::fmt;
#[cfg(feature = "forward")]
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{Closed, Delivery, Principal};

use crate::permit::Permit;
use crate::permit::share::KnownOwner;
use crate::server::event_store::Durability;
use crate::server::head::RequestHead;
use crate::sync::lock;
use event_id::EventId;
use queue::Queue;
use state::StreamState;

pub(crate) use identity::SessionIdentity;
pub(crate) use session_streams::SessionStreams;

/// One stream.
pub(crate) struct Stream {
    pub(crate) streams: Arc<SessionStreams>,
    head: Option<Box<RequestHead>>,
    principal: Option<Principal>,
    /// The first line of the stream: a comment for endpoints that continue the session; see [`frames::requests`].
    requests: Option<Box<[u8]>>,
    /// Whether the stream begins with an event without data. With the id of this event, the client can reconnect (SSE polling).
    supports_polling: bool,
    state: Mutex<StreamState>,
    /// The address of the endpoint that the handler has chosen to respond to the request.
    #[cfg(feature = "forward")]
    forward_address: OnceLock<Box<http::Uri>>,
    this: Weak<Self>,
}

impl Stream {
    /// Creates the stream of one request. The HTTP connection of the request carries the stream.
    pub(crate) fn for_request(
        streams: &Arc<SessionStreams>,
        head: Box<RequestHead>,
        principal: Option<Principal>,
        requests: Option<Box<[u8]>>,
        supports_polling: bool,
    ) -> Arc<Self> {
        Self::new(
            streams,
            Some(head),
            principal,
            requests,
            supports_polling,
            StreamState {
                queue: Some(Queue::default()),
                ..StreamState::default()
            },
        )
    }

    /// Creates the standalone stream of a session, for messages that do not belong to a request.
    pub(crate) fn for_session(
        streams: &Arc<SessionStreams>,
        principal: Option<Principal>,
    ) -> Arc<Self> {
        Self::new(
            streams,
            None,
            principal,
            None,
            false,
            StreamState {
                started: true,
                ..StreamState::default()
            },
        )
    }

    fn new(
        streams: &Arc<SessionStreams>,
        head: Option<Box<RequestHead>>,
        principal: Option<Principal>,
        requests: Option<Box<[u8]>>,
        supports_polling: bool,
        state: StreamState,
    ) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            streams: Arc::clone(streams),
            head,
            principal,
            requests,
            supports_polling,
            state: Mutex::new(state),
            #[cfg(feature = "forward")]
            forward_address: OnceLock::new(),
            this: this.clone(),
        })
    }

    /// Returns the head of the stream's request.
    pub(crate) fn head(&self) -> Option<&RequestHead> {
        self.head.as_deref()
    }

    /// Returns the head of the request and the address of the endpoint, if the handler has chosen another endpoint.
    #[cfg(feature = "forward")]
    pub(crate) fn forward_target(&self) -> Option<(&RequestHead, &http::Uri)> {
        Some((self.head.as_deref()?, self.forward_address.get()?))
    }

    /// Returns the client for which the memory of the stream's messages is counted.
    pub(crate) fn owner(&self) -> Option<KnownOwner> {
        match &self.head {
            Some(head) => head.owner(),
            None => self.streams.owner.clone(),
        }
    }

    /// Takes a permit for the memory of a response of this many bytes.
    ///
    /// # Errors
    /// The memory for responses that wait for their clients is exhausted.
    pub(crate) fn charge(&self, bytes: usize) -> Result<Permit, ErrorObject> {
        let mut memory = self.streams.responses.permit();
        match memory.try_grow(bytes, || self.owner()) {
            Ok(()) => Ok(memory),
            Err(_) => Err(ErrorObject::internal(format!(
                "the request was processed, but its response of {bytes} bytes was dropped, because too \
                 many responses wait for clients that do not read (MemoryLimits::max_response_bytes, \
                 ServerOptions::with_client_share)"
            ))),
        }
    }

    /// Returns whether anything was sent on the stream. If nothing was sent, the task of `cx` is woken when something is sent.
    pub(crate) fn poll_started(&self, cx: &Context<'_>) -> bool {
        let mut state = lock(&self.state);
        if !state.started {
            state.waker = Some(cx.waker().clone());
        }
        state.started
    }

    pub(crate) fn is_started(&self) -> bool {
        lock(&self.state).started
    }

    /// Makes the response become an event stream.
    pub(crate) fn start(&self) {
        self.start_locked(&mut lock(&self.state));
    }

    fn start_locked(&self, state: &mut StreamState) {
        if state.started {
            return;
        }
        state.started = true;
        if self.streams.store_key(0).is_some() {
            state.number = self.streams.next_number.fetch_add(1, Ordering::Relaxed);
            lock(&self.streams.open).insert(state.number, self.this.clone());
            if self.supports_polling {
                let retry = self.streams.options.streams.reconnect_delay;
                self.event(state, |out| frames::priming(out, retry));
            }
        }
    }

    /// Sends one message.
    pub(crate) fn send(
        &self,
        delivery: Delivery,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Closed> {
        if let Some(reason) = self.streams.closed() {
            return Err(reason.clone());
        }
        let mut state = lock(&self.state);
        if state.finished {
            return Err(Closed::local());
        }
        self.start_locked(&mut state);
        if self.must_drop(&state) {
            tracing::trace!("dropped a message, because the client does not read its stream");
            return match delivery {
                Delivery::Lossy => Ok(()),
                _ if state.queue.is_some() => {
                    state.has_gap |= self.streams.identity.is_none();
                    Err(Closed::stalled("StreamOptions::max_queued_events"))
                }
                _ => Err(Closed::eof()),
            };
        }
        self.event(&mut state, |out| frames::message(out, write));
        Ok(())
    }

    /// Sends the response, if there is one, and ends the stream.
    pub(crate) fn finish(&self, answer: Option<&[u8]>) {
        let mut state = lock(&self.state);
        if state.finished {
            return;
        }
        if let Some(answer) = answer {
            self.start_locked(&mut state);
            self.event(&mut state, |out| {
                frames::message(out, |out| out.extend_from_slice(answer));
            });
        }
        state.finished = true;
        state.wake();
    }

    /// Returns whether a message must be dropped. This is the case if events are not stored, and if the connection has ended or
    /// its queue is full.
    fn must_drop(&self, state: &StreamState) -> bool {
        let options = &self.streams.options;
        let queue = state.queue.as_ref();
        let is_full = || queue.is_none_or(|queue| queue.is_full(options));
        state.has_gap || self.streams.store_key(0).is_none() && is_full()
    }

    /// Gives an event its sequence number, stores the event, and queues it for the connection.
    fn event(&self, state: &mut StreamState, write: impl FnOnce(&mut Vec<u8>)) {
        state.sequence += 1;
        let mut out = Vec::with_capacity(256);
        let key = self.streams.store_key(state.number);
        if let (Some(_), Some(identity)) = (key, self.streams.identity) {
            if let (1, Some(requests)) = (state.sequence, &self.requests) {
                out.extend_from_slice(requests);
            }
            let id = EventId {
                stream: state.number,
                sequence: state.sequence,
            };
            out.extend_from_slice(b"id: ");
            id.write(identity.tag, &mut out);
            out.push(b'\n');
        }
        write(&mut out);
        // Without spare capacity, because the event may be stored for long.
        let event = Bytes::from(out.into_boxed_slice());
        let stored = match (key, &self.streams.options.event_store) {
            (Some(key), Some(store)) => store.append(key, state.sequence, event.clone()),
            _ => Durability::Immediate,
        };
        let Some(queue) = &mut state.queue else {
            return;
        };
        if queue.is_ending {
            return;
        }
        let length = event.len();
        queue.push(state.sequence, event, stored);
        let memory = queue
            .memory
            .get_or_insert_with(|| self.streams.responses.permit());
        let has_room = memory.try_grow(length, || self.owner()).is_ok();
        if key.is_some() {
            if !has_room || queue.is_full(&self.streams.options) {
                tracing::debug!("closed a stream that is not read; the client can resume it");
                queue.truncate();
            }
        } else if !has_room {
            tracing::debug!("closed a stream, because too many events are not read");
            queue.events.pop_back();
            queue.bytes -= length;
            state.has_gap = true;
        }
        state.wake();
    }

    /// Makes a new connection carry the stream, and ends the previous connection. Returns the number of the new connection, the
    /// sequence number after which to replay events, and the number of events to replay.
    pub(crate) fn attach(&self, after: Option<u64>) -> (u64, u64, u64) {
        let mut state = lock(&self.state);
        state.reader += 1;
        state.queue = Some(Queue::default());
        state.wake();
        let after = after.unwrap_or(state.taken).min(state.sequence);
        (state.reader, after, state.sequence - after)
    }

    /// Returns the number of events after the event `after`.
    pub(crate) fn count_after(&self, after: u64) -> u64 {
        lock(&self.state).sequence.saturating_sub(after)
    }

    /// Records that a connection has taken the event `sequence` to send it.
    pub(crate) fn mark_taken(&self, sequence: u64) {
        let mut state = lock(&self.state);
        state.taken = state.taken.max(sequence);
    }

    /// Records that the connection with the number `reader` has ended.
    pub(crate) fn detach(&self, reader: u64) {
        let mut state = lock(&self.state);
        if state.reader == reader {
            state.queue = None;
        }
    }

    /// Returns whether the connection with the number `reader` has no more events to send.
    pub(crate) fn is_drained(&self, reader: u64) -> bool {
        let state = lock(&self.state);
        state.reader != reader
            || match &state.queue {
                Some(queue) => {
                    queue.events.is_empty() && (state.finished || state.has_gap || queue.is_ending)
                }
                None => true,
            }
    }

    /// Ends the connection. The client reconnects after `retry`.
    fn end_connection(&self, retry: Duration) {
        let mut state = lock(&self.state);
        self.start_locked(&mut state);
        if let Some(queue) = &mut state.queue {
            let mut out = Vec::new();
            frames::retry(&mut out, retry);
            queue.push(0, out.into(), Durability::Immediate);
            queue.is_ending = true;
        }
        state.wake();
    }

    /// Returns the next events for the connection.
    pub(crate) fn poll_next(&self, reader: u64, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut state = lock(&self.state);
        let state = &mut *state;
        if state.reader != reader {
            return Poll::Ready(None);
        }
        let Some(queue) = &mut state.queue else {
            return Poll::Ready(None);
        };
        if let Some(data) = queue.take(&mut state.taken, cx) {
            return Poll::Ready(Some(data));
        }
        let is_ending = state.finished || state.has_gap || queue.is_ending;
        if queue.events.is_empty() && is_ending {
            return Poll::Ready(None);
        }
        state.wait(cx);
        Poll::Pending
    }

    /// Waits until the next event for the connection is durable. Ready at once if there is no event.
    pub(crate) fn poll_stored(&self, reader: u64, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = lock(&self.state);
        let state = &mut *state;
        let stored = match &mut state.queue {
            Some(queue) if state.reader == reader => queue.poll_stored(cx),
            _ => Poll::Ready(()),
        };
        if stored.is_pending() {
            state.wait(cx);
        }
        stored
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let number = lock(&self.state).number;
        if number > 0 {
            lock(&self.streams.open).remove(&number);
        }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = lock(&self.state);
        f.debug_struct("Stream")
            .field("number", &state.number)
            .field("started", &state.started)
            .field("finished", &state.finished)
            .finish_non_exhaustive()
    }
}
