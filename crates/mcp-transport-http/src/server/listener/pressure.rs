//! Ends the responses that have been unread for the longest time, if unread responses use nearly all of the memory for responses.
//! If nearly all connections are in use, or the process has no file descriptor left, closes idle connections. Other clients
//! can then still be served.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
#[cfg(feature = "http2")]
use std::sync::Weak;
use std::sync::atomic::Ordering;

use mcp_protocol::client_network;

#[cfg(feature = "http2")]
use crate::server::listener::http2_stream::ChunkState;
use crate::server::listener::timers::{ConnectionTimer, NEVER, WheelState};
use crate::sync::lock;

/// Divisor of the number of blocked connections and streams. The quotient is how many of them are ended at each tick.
const DIVISOR: usize = 4;

/// A connection or stream whose client does not read.
enum Blocked {
    Connection(Arc<ConnectionTimer>),
    #[cfg(feature = "http2")]
    Stream(Arc<ChunkState>),
}

/// Divisor of the number of connections. The quotient is the maximum number of idle connections that are closed at once.
const IDLE_DIVISOR: usize = 8;

impl WheelState {
    /// Closes idle connections: at most an eighth of all connections. Begins with the addresses that have the most idle
    /// connections, and with the connections that have been idle for the longest time. A connection is idle while the server
    /// waits for a request head, even if a part of the head has arrived.
    pub(super) fn close_idle(&self) {
        let now = self.now.load(Ordering::Acquire);
        let timers = lock(&self.timers);
        let mut idle: Vec<(u64, &Arc<ConnectionTimer>)> = Vec::new();
        let mut counts = HashMap::<Option<IpAddr>, usize>::new();
        for timer in timers.entries.values() {
            let until = timer.head.load(Ordering::Acquire);
            let is_idle = until != NEVER
                && timer.write.load(Ordering::Acquire) == NEVER
                && timer.streams.load(Ordering::Acquire) == 0;
            let since = until.saturating_sub(self.head);
            // Only those that have been idle for at least one full tick.
            if is_idle && since.saturating_add(1) < now {
                idle.push((since, timer));
                *counts.entry(timer.peer.map(client_network)).or_default() += 1;
            }
        }
        let count_of = |timer: &ConnectionTimer| counts.get(&timer.peer.map(client_network));
        idle.sort_unstable_by_key(|(since, timer)| (Reverse(count_of(timer)), *since));
        idle.truncate(timers.entries.len().div_ceil(IDLE_DIVISOR));
        if idle.is_empty() {
            return;
        }
        if let Some(omitted) = self.idle_log.admit(std::time::Instant::now()) {
            tracing::warn!(
                closed = idle.len(),
                omitted,
                "closed idle connections, because nearly all connections or file descriptors are in use \
                 (ConnectionLimits::max_connections)"
            );
        }
        for (_, timer) in idle {
            timer.head.store(0, Ordering::Release);
            if let Some(waker) = &*lock(&timer.waker) {
                waker.wake_by_ref();
            }
        }
    }

    /// If unread responses use nearly all of the memory for responses, ends a part of the blocked connections and streams: those
    /// that have been blocked for the longest time. The time of a client that reads slowly is counted from its last read.
    pub(super) fn relieve(&self) {
        if !self.responses.is_nearly_used() {
            return;
        }
        let now = self.now.load(Ordering::Acquire);
        let timers = lock(&self.timers);
        let mut blocked: Vec<(u64, Blocked)> = Vec::new();
        for timer in timers.entries.values() {
            let until = timer.write.load(Ordering::Acquire);
            if until != NEVER {
                let since = until.saturating_sub(self.write);
                blocked.push((since, Blocked::Connection(Arc::clone(timer))));
            }
            #[cfg(feature = "http2")]
            for stream in lock(&timer.chunks).iter().filter_map(Weak::upgrade) {
                if let Some(since) = stream.blocked_since() {
                    blocked.push((since, Blocked::Stream(stream)));
                }
            }
        }
        // Only those that have been blocked for at least one full tick.
        blocked.retain(|(since, _)| since.saturating_add(1) < now);
        let count = blocked.len().div_ceil(DIVISOR);
        if let Some(last) = count.checked_sub(1) {
            blocked.select_nth_unstable_by_key(last, |(since, _)| *since);
            tracing::warn!(
                ended = count,
                "ended the responses that were unread longest (MemoryLimits::max_response_bytes)"
            );
        }
        for (_, blocked) in blocked.into_iter().take(count) {
            match blocked {
                Blocked::Connection(timer) => {
                    timer.write.store(0, Ordering::Release);
                    if let Some(waker) = &*lock(&timer.waker) {
                        waker.wake_by_ref();
                    }
                }
                #[cfg(feature = "http2")]
                Blocked::Stream(stream) => stream.end(),
            }
        }
    }
}
