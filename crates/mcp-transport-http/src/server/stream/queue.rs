//! What waits for the connection that carries a stream.

use std::collections::VecDeque;
use std::task::{Context, Poll};

use bytes::Bytes;

use crate::server::options::Options;
use crate::server::stream::store::Stored;

/// What waits for the connection that carries the stream now.
#[derive(Default)]
pub(crate) struct Queue {
    pub(crate) events: VecDeque<(u64, Bytes, Stored)>,
    pub(crate) bytes: usize,
    /// The connection is to end once it has taken what is here.
    pub(crate) ending: bool,
}

/// How much one frame carries at most, one event excepted. A connection takes one more when its
/// buffer is almost full.
const FRAME: usize = 16 << 10;

/// How much is left for a client that has let too much gather, one event at least.
const HEAD: usize = 4 << 10;

impl Queue {
    pub(crate) fn is_full(&self, options: &Options) -> bool {
        self.events.len() > options.queue_events || self.bytes > options.queue_bytes
    }

    /// Keeps the first few events, so that the client has one to come back with, and ends the
    /// connection after them.
    pub(crate) fn cut(&mut self) {
        let mut room = HEAD;
        let kept = self.events.iter().take_while(|(_, event, _)| {
            let fits = room == HEAD || event.len() <= room;
            room = room.saturating_sub(event.len());
            fits
        });
        let kept = kept.count();
        self.events.truncate(kept);
        self.events.shrink_to_fit();
        self.bytes = self.events.iter().map(|(_, event, _)| event.len()).sum();
        self.ending = true;
    }

    /// Everything that is kept safely, up to a frame.
    pub(crate) fn take(&mut self, taken: &mut u64, cx: &mut Context<'_>) -> Option<Bytes> {
        let mut first: Option<Bytes> = None;
        let mut more: Vec<u8> = Vec::new();
        loop {
            let sent = more.len().max(first.as_ref().map_or(0, Bytes::len));
            let (sequence, event, stored) = self.events.front_mut()?;
            if let Stored::Later(write) = stored {
                match write.as_mut().poll(cx) {
                    Poll::Pending => break,
                    // Lost to whoever comes back, but not to who is here.
                    Poll::Ready(Err(error)) => tracing::error!(%error, "an event is not kept"),
                    Poll::Ready(Ok(())) => {}
                }
                *stored = Stored::Now;
            }
            if sent > 0 && sent + event.len() > FRAME {
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
        if more.is_empty() {
            first
        } else {
            Some(more.into())
        }
    }
}
