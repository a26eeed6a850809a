//! Ends the responses that have been unread for the longest time, if unread responses use nearly all of the memory for responses.
//! If nearly all connections are in use, closes idle connections. If the process has no file descriptor left, closes connections
//! of one address. Other clients can then still be served.

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

/// Divisor of the number of all connections. The quotient is the number of connections that an address can keep when the process
/// has no file descriptor left.
const KEPT_DIVISOR: usize = 4;
/// Divisor of the number of connections of the largest address. The quotient is how many of these connections are closed at once.
/// The largest address is the address with the most connections.
const LARGEST_DIVISOR: usize = 4;

impl WheelState {
    /// Closes connections because the process has no file descriptor left. If an address has more than a quarter of all
    /// connections, closes connections of the address with the most connections: first idle connections, then the oldest.
    /// Otherwise, closes idle connections of all addresses.
    pub(super) fn free_files(&self) {
        let timers = lock(&self.timers);
        let mut by_address =
            HashMap::<Option<IpAddr>, Vec<(bool, u64, &Arc<ConnectionTimer>)>>::new();
        for (number, timer) in &timers.entries {
            let is_busy = timer.head.load(Ordering::Acquire) == NEVER
                || timer.write.load(Ordering::Acquire) != NEVER
                || timer.streams.load(Ordering::Acquire) > 0;
            let of_address = by_address
                .entry(timer.peer.map(client_network))
                .or_default();
            of_address.push((is_busy, *number, timer));
        }
        let largest = by_address.into_values().max_by_key(Vec::len);
        let kept = timers.entries.len() / KEPT_DIVISOR;
        let Some(mut largest) = largest.filter(|largest| largest.len() > kept) else {
            drop(timers);
            return self.close_idle();
        };
        largest.sort_unstable_by_key(|(is_busy, number, _)| (*is_busy, *number));
        largest.truncate(largest.len().div_ceil(LARGEST_DIVISOR));
        if let Some(omitted) = self.idle_log.admit(std::time::Instant::now()) {
            tracing::warn!(
                closed = largest.len(),
                omitted,
                "closed connections of the address with most of them: no file descriptor is left; raise the limit of open files"
            );
        }
        for (_, _, timer) in largest {
            timer.end();
        }
    }

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
                "closed idle connections, because nearly all connections or files are in use (ConnectionLimits::max_connections)"
            );
        }
        for (_, timer) in idle {
            timer.head.store(0, Ordering::Release);
            if let Some(waker) = &*lock(&timer.waker) {
                waker.wake_by_ref();
            }
        }
    }

    /// Does nothing unless unread responses use nearly all of the memory for responses. Ends a part of the blocked connections
    /// and streams: those that have been blocked for the longest time. The time of a client that reads slowly is counted from its
    /// last read.
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
