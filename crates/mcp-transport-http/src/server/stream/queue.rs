//! The queue between a stream and the connection that carries it.

use std::collections::VecDeque;
use std::sync::LazyLock;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bytes::Bytes;
use mcp_protocol::LogLimit;

use crate::permit::Permit;
use crate::server::event_store::Durability;
use crate::server::options::ServerOptions;
use crate::server::response::text::{MIN_CHARGED, charged};

/// Limits how many messages are logged about events that are not stored in time.
static LOG: LazyLock<LogLimit> = LazyLock::new(LogLimit::default);

/// Events that wait for the connection.
#[derive(Default)]
pub(crate) struct Queue {
    pub(crate) events: VecDeque<(u64, Bytes, Durability)>,
    pub(crate) bytes: usize,
    /// The permit for the memory of the queued events.
    pub(crate) memory: Option<Permit>,
    /// Whether the connection ends after the queued events.
    pub(crate) is_ending: bool,
}

/// Maximum size of one body frame in bytes. A frame with a single event may be larger. The size is limited because hyper accepts
/// another frame whenever its buffer is not full.
const MAX_FRAME: usize = 16 << 10;

/// Number of bytes of events that stay queued for a client that does not read. At least one event stays queued.
const MIN_KEPT: usize = 4 << 10;

impl Queue {
    pub(crate) fn is_full(&self, options: &ServerOptions) -> bool {
        self.events.len() > options.streams.max_queued_events
            || self.bytes > options.streams.max_queued_bytes
    }

    /// Adds an event. The caller must take the permit for its memory.
    pub(crate) fn push(&mut self, sequence: u64, event: Bytes, stored: Durability) {
        self.bytes += event.len();
        self.events.push_back((sequence, event, stored));
    }

    /// Removes all events except for the first few events. The client receives these events with their ids, and can later resume
    /// after them. The connection ends after these events.
    pub(crate) fn truncate(&mut self) {
        let mut room = MIN_KEPT;
        let kept = self.events.iter().take_while(|(_, event, _)| {
            let fits = room == MIN_KEPT || event.len() <= room;
            room = room.saturating_sub(event.len());
            fits
        });
        let kept = kept.count();
        self.events.truncate(kept);
        self.events.shrink_to_fit();
        self.bytes = self.events.iter().map(|(_, event, _)| event.len()).sum();
        self.release();
        self.is_ending = true;
    }

    /// Releases the memory of events that are no longer in the queue.
    fn release(&mut self) {
        if let Some(memory) = &mut self.memory {
            memory.shrink_to(self.bytes);
        }
    }

    /// Waits until the first event is durable or cannot be stored. Ready at once if there is no event.
    pub(crate) fn poll_stored(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some((_, _, stored)) = self.events.front_mut()
            && let Durability::Pending(write) = stored
        {
            // A client that resumes does not receive this event, but the connected client does.
            if let Err(error) = ready!(write.as_mut().poll(cx))
                && let Some(omitted) = LOG.admit(Instant::now())
            {
                tracing::error!(%error, omitted, "an event was sent before it was stored");
            }
            *stored = Durability::Immediate;
        }
        Poll::Ready(())
    }

    /// Removes and returns the durable events at the start of the queue, up to the size of a frame.
    pub(crate) fn take(&mut self, taken: &mut u64, cx: &mut Context<'_>) -> Option<Bytes> {
        let mut first: Option<Bytes> = None;
        let mut more: Vec<u8> = Vec::new();
        loop {
            let sent = more.len().max(first.as_ref().map_or(0, Bytes::len));
            if self.poll_stored(cx).is_pending() {
                break;
            }
            let (sequence, event, _) = self.events.front()?;
            if sent > 0 && sent + event.len() > MAX_FRAME {
                break;
            }
            *taken = (*taken).max(*sequence);
            self.bytes -= event.len();
            match (&first, self.events.pop_front()) {
                (None, Some((_, event, _))) => first = Some(event),
                (Some(head), Some((_, event, _))) => {
                    if more.is_empty() {
                        more.extend_from_slice(head);
                    }
                    more.extend_from_slice(&event);
                }
                (_, None) => break,
            }
            if self.events.is_empty() {
                break;
            }
        }
        if !more.is_empty() {
            self.release();
            return Some(more.into());
        }
        // A long event is charged until the client has taken it.
        let first = match (first, &mut self.memory) {
            (Some(event), Some(memory)) if event.len() >= MIN_CHARGED => {
                Some(charged(event, memory.split_to(self.bytes)))
            }
            (first, _) => first,
        };
        self.release();
        first
    }
}
