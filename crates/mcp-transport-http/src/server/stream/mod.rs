//! One stream of a session: what a call says before its answer, or what the session says
//! outside of any call.
//!
//! A stream outlives the connection that carries it. Whoever reads it may go and come back; what
//! is said meanwhile is in the event store.

pub(crate) mod event_id;
pub(crate) mod events;
pub(crate) mod frames;
pub(crate) mod link;
pub(crate) mod queue;
pub(crate) mod store;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use mcp_protocol::{Closed, Delivery, Outgoing, Principal};

use crate::server::options::Options;
use crate::server::request::head::Asked;
use crate::server::session::id::SessionId;
use crate::sync::lock;
use event_id::EventId;
use queue::Queue;
use store::{Stored, StreamKey};

/// What the streams of one session share.
pub(crate) struct Streams {
    pub(crate) options: Arc<Options>,
    /// None where nothing is kept between requests.
    pub(crate) identity: Option<Identity>,
    pub(crate) outgoing: Outgoing,
    pub(super) next: AtomicU32,
    pub(super) live: Mutex<HashMap<u32, Weak<Stream>>>,
    closed: OnceLock<Closed>,
}

/// Who a session is, and the secret in its event ids.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Identity {
    pub(crate) id: SessionId,
    pub(crate) tag: u64,
}

impl Streams {
    pub(crate) fn new(options: Arc<Options>, identity: Option<Identity>) -> Arc<Self> {
        Arc::new(Self {
            outgoing: Outgoing::new(options.session_in_flight),
            options,
            identity,
            next: AtomicU32::new(1),
            live: Mutex::default(),
            closed: OnceLock::new(),
        })
    }

    /// The stream of this number, if somebody still speaks on it.
    pub(crate) fn find(&self, number: u32) -> Option<Arc<Stream>> {
        lock(&self.live).get(&number).and_then(Weak::upgrade)
    }

    /// What events of this stream are kept under, if they are.
    pub(crate) fn key(&self, stream: u32) -> Option<StreamKey> {
        self.options.store.as_ref()?;
        let session = self.identity?.id;
        Some(StreamKey { session, stream })
    }

    /// Nothing is sent from now on, and every question fails with the reason.
    pub(crate) fn close(&self, reason: &Closed) -> bool {
        let first = self.closed.set(reason.clone()).is_ok();
        self.outgoing.close(reason);
        first
    }

    pub(crate) fn closed(&self) -> Option<&Closed> {
        self.closed.get()
    }
}

/// One stream.
pub(crate) struct Stream {
    pub(crate) streams: Arc<Streams>,
    parts: Option<Box<Asked>>,
    principal: Option<Principal>,
    /// A first event without data gives the client an id to come back with.
    polling: bool,
    state: Mutex<State>,
    this: Weak<Self>,
}

pub(crate) struct State {
    number: u32,
    pub(crate) started: bool,
    /// Nothing follows.
    finished: bool,
    /// Something that may not be missed found no room where nothing is kept: the connection ends
    /// once it has what is here, so that the client knows.
    lost: bool,
    /// The number of the last event.
    sequence: u64,
    /// The number of the last event that some connection took.
    taken: u64,
    /// Counts the connections that have carried this stream.
    reader: u64,
    queue: Option<Queue>,
    waker: Option<Waker>,
}

/// What a connection gets when it asks for more.
pub(crate) enum Next {
    Data(Bytes),
    End,
}

impl Stream {
    /// The stream of one request, on the connection that brought it.
    pub(crate) fn of_request(
        streams: &Arc<Streams>,
        parts: Box<Asked>,
        principal: Option<Principal>,
        polling: bool,
    ) -> Arc<Self> {
        Self::new(
            streams,
            Some(parts),
            principal,
            polling,
            State {
                queue: Some(Queue::default()),
                ..State::new()
            },
        )
    }

    /// The stream of a session, for everything that belongs to no request.
    pub(crate) fn of_session(streams: &Arc<Streams>, principal: Option<Principal>) -> Arc<Self> {
        Self::new(
            streams,
            None,
            principal,
            false,
            State {
                started: true,
                ..State::new()
            },
        )
    }

    fn new(
        streams: &Arc<Streams>,
        parts: Option<Box<Asked>>,
        principal: Option<Principal>,
        polling: bool,
        state: State,
    ) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            streams: Arc::clone(streams),
            parts,
            principal,
            polling,
            state: Mutex::new(state),
            this: this.clone(),
        })
    }

    /// Whether anything was sent on it; if not, registers interest.
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

    /// Makes it a stream of events, if it is none.
    pub(crate) fn start(&self) {
        self.begin(&mut lock(&self.state));
    }

    fn begin(&self, state: &mut State) {
        if state.started {
            return;
        }
        state.started = true;
        if self.streams.key(0).is_some() {
            state.number = self.streams.next.fetch_add(1, Ordering::Relaxed);
            lock(&self.streams.live).insert(state.number, self.this.clone());
            if self.polling {
                let retry = self.streams.options.retry;
                self.event(state, |out| frames::priming(out, retry));
            }
        }
    }

    /// Sends one message.
    pub(crate) fn push(
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
        self.begin(&mut state);
        if self.is_lost(&state) {
            tracing::trace!("dropped a message, the client does not read");
            return match delivery {
                Delivery::Lossy => Ok(()),
                _ if state.queue.is_some() => {
                    state.lost |= self.streams.identity.is_none();
                    Err(Closed::stalled("Options::with_queue"))
                }
                _ => Err(Closed::eof()),
            };
        }
        self.event(&mut state, |out| frames::message(out, write));
        Ok(())
    }

    /// Sends the answer, if there is one, and ends the stream.
    pub(crate) fn finish(&self, answer: Option<&[u8]>) {
        let mut state = lock(&self.state);
        if state.finished {
            return;
        }
        if let Some(answer) = answer {
            self.begin(&mut state);
            self.event(&mut state, |out| {
                frames::message(out, |out| out.extend_from_slice(answer));
            });
        }
        state.finished = true;
        state.wake();
    }

    /// Whether what is said now gets nowhere: it is kept in no store, and waits for nobody or
    /// for somebody who has let too much gather.
    fn is_lost(&self, state: &State) -> bool {
        let options = &self.streams.options;
        let queue = state.queue.as_ref();
        let is_full = || queue.is_none_or(|queue| queue.is_full(options));
        state.lost || self.streams.key(0).is_none() && is_full()
    }

    /// Numbers an event, keeps it, and queues it for the connection there is.
    fn event(&self, state: &mut State, write: impl FnOnce(&mut Vec<u8>)) {
        state.sequence += 1;
        let mut out = Vec::with_capacity(256);
        let key = self.streams.key(state.number);
        if let (Some(_), Some(identity)) = (key, self.streams.identity) {
            let id = EventId {
                stream: state.number,
                sequence: state.sequence,
            };
            out.extend_from_slice(b"id: ");
            id.write(identity.tag, &mut out);
            out.push(b'\n');
        }
        write(&mut out);
        // It may be kept for long: for what it is, not for what it was given room for.
        let event = Bytes::from(out.into_boxed_slice());
        let stored = match (key, &self.streams.options.store) {
            (Some(key), Some(store)) => store.append(key, state.sequence, event.clone()),
            _ => Stored::Now,
        };
        let Some(queue) = &mut state.queue else {
            return;
        };
        if queue.ending {
            return;
        }
        queue.bytes += event.len();
        queue.events.push_back((state.sequence, event, stored));
        if key.is_some() && queue.is_full(&self.streams.options) {
            tracing::debug!("closed a stream that is not read; the client can come back for it");
            queue.cut();
        }
        state.wake();
    }

    /// A connection takes the stream over; the one that had it ends. Gives the number of the
    /// connection, what it has to have replayed, and how many events that is.
    pub(crate) fn attach(&self, after: Option<u64>) -> (u64, u64, u64) {
        let mut state = lock(&self.state);
        state.reader += 1;
        state.queue = Some(Queue::default());
        state.wake();
        let after = after.unwrap_or(state.taken).min(state.sequence);
        (state.reader, after, state.sequence - after)
    }

    /// A connection took an event that was kept for it.
    pub(crate) fn took(&self, sequence: u64) {
        let mut state = lock(&self.state);
        state.taken = state.taken.max(sequence);
    }

    /// A connection went away.
    pub(crate) fn detach(&self, reader: u64) {
        let mut state = lock(&self.state);
        if state.reader == reader {
            state.queue = None;
        }
    }

    /// Whether a connection has everything there will be for it.
    pub(crate) fn is_drained(&self, reader: u64) -> bool {
        let state = lock(&self.state);
        state.reader != reader
            || match &state.queue {
                Some(queue) => {
                    queue.events.is_empty() && (state.finished || state.lost || queue.ending)
                }
                None => true,
            }
    }

    /// Ends the connection that carries it; the client comes back after `retry`.
    fn end_connection(&self, retry: Duration) {
        let mut state = lock(&self.state);
        self.begin(&mut state);
        if let Some(queue) = &mut state.queue {
            let mut out = Vec::new();
            frames::retry(&mut out, retry);
            queue.bytes += out.len();
            queue.events.push_back((0, out.into(), Stored::Now));
            queue.ending = true;
        }
        state.wake();
    }

    /// What a connection sends next.
    pub(crate) fn poll_next(&self, reader: u64, cx: &mut Context<'_>) -> Poll<Next> {
        let mut state = lock(&self.state);
        let state = &mut *state;
        if state.reader != reader {
            return Poll::Ready(Next::End);
        }
        let Some(queue) = &mut state.queue else {
            return Poll::Ready(Next::End);
        };
        if let Some(data) = queue.take(&mut state.taken, cx) {
            return Poll::Ready(Next::Data(data));
        }
        let is_ending = state.finished || state.lost || queue.ending;
        if queue.events.is_empty() && is_ending {
            return Poll::Ready(Next::End);
        }
        match &mut state.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            None => state.waker = Some(cx.waker().clone()),
        }
        Poll::Pending
    }
}

impl State {
    fn new() -> Self {
        Self {
            number: 0,
            started: false,
            finished: false,
            lost: false,
            sequence: 0,
            taken: 0,
            reader: 0,
            queue: None,
            waker: None,
        }
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let number = lock(&self.state).number;
        if number > 0 {
            lock(&self.streams.live).remove(&number);
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
