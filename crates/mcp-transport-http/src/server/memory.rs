//! `with_memory`, which derives all memory limits of an endpoint from one number.

use std::sync::Arc;

use crate::server::event_store::MemoryEventStore;
use crate::server::options::ServerOptions;
use crate::server::session::usage::SESSION;
use crate::server::state::SUBSCRIPTION;

/// Memory of the idle program, in bytes. It is deducted from the budget, but never more than half of the budget.
const PROGRAM: usize = 8 << 20;
/// Number of parts into which the remaining memory is divided. The next constants are the numbers of parts for each purpose. The
/// defaults of [`MemoryLimits`](crate::MemoryLimits) are these parts of 256 MiB.
const PARTS: usize = 32;
const REQUESTS: usize = 6;
const RESPONSES: usize = 6;
const EVENTS: usize = 4;
const CONNECTIONS: usize = 9;
const SESSIONS: usize = 3;
const STREAMS: usize = 4;
/// Memory of a connection, in bytes: its buffers, its task, and the largest head that is not counted.
const CONNECTION: usize = 18 << 10;
/// Maximum number of connections. The number of open files of a process is often limited, too.
const MAX_CONNECTIONS: usize = 16_384;
/// Memory in bytes that is enough for one session or subscription with the largest accepted client identity.
const LARGEST_CLIENT: usize = 256 << 10;
/// Default maximum memory of the events of one session, in bytes.
const SESSION_EVENTS: usize = 8 << 20;

impl ServerOptions {
    /// Sets all limits on memory, so that the process uses at most about `bytes` bytes of resident memory for all clients
    /// together. This includes 8 MiB for the idle program. The remaining memory is divided into 32 parts: nine for connections;
    /// six each for requests and for responses; four each for stored events, and for subscriptions and GET streams; three for
    /// sessions. The limits on the number of connections, sessions and other items follow from these parts and from the minimum
    /// memory of an item. Such a limit is at least 1. There are at most 16,384 connections; the other numbers are at most their
    /// defaults. The default limits are the limits that follow from 264 MiB.
    ///
    /// Call this method before the setters of single limits, because it overwrites their values. It replaces the event store with
    /// a [`MemoryEventStore`], unless the event store was removed. The memory of handlers and stored tasks is not included. To
    /// limit tasks, use `MemoryTaskStore::with_max_bytes` of `mcp-server`. `docs/reliability.md` has the measured memory.
    #[must_use]
    pub fn with_memory(mut self, bytes: usize) -> Self {
        let defaults = Self::default();
        let bytes = bytes - PROGRAM.min(bytes / 2);
        let parts = |parts: usize| bytes / PARTS * parts;
        let count = |bytes: usize, each: usize, max: usize| (bytes / each).clamp(1, max);
        self.memory.max_request_bytes = parts(REQUESTS);
        self.memory.max_response_bytes = parts(RESPONSES);
        // Two bodies of the maximum size fit.
        self.request_limits.max_body_bytes = defaults
            .request_limits
            .max_body_bytes
            .min(self.memory.max_request_bytes / 2);
        self.connection_limits.max_connections =
            count(parts(CONNECTIONS), CONNECTION, MAX_CONNECTIONS);
        self.memory.max_session_bytes = parts(SESSIONS).max(LARGEST_CLIENT);
        self.memory.max_stream_bytes = parts(STREAMS).max(LARGEST_CLIENT);
        self.session_limits.max_sessions = count(
            parts(SESSIONS),
            SESSION,
            defaults.session_limits.max_sessions,
        );
        self.request_limits.max_subscriptions = count(
            parts(STREAMS),
            SUBSCRIPTION,
            defaults.request_limits.max_subscriptions,
        );
        if self.event_store.is_some() {
            let events = parts(EVENTS);
            let store = MemoryEventStore::new()
                .with_max_total_bytes(events)
                .with_max_session_bytes((events / 4).min(SESSION_EVENTS));
            self.event_store = Some(Arc::new(store));
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_memory_derives_all_limits_from_one_number() {
        let options = ServerOptions::new().with_memory(72 << 20);
        assert_eq!(options.memory.max_request_bytes, 12 << 20);
        assert_eq!(options.memory.max_response_bytes, 12 << 20);
        assert_eq!(options.request_limits.max_body_bytes, 4 << 20);
        assert_eq!(options.connection_limits.max_connections, 1_024);
        assert_eq!(options.memory.max_session_bytes, 6 << 20);
        assert_eq!(options.memory.max_stream_bytes, 8 << 20);
        assert_eq!(options.session_limits.max_sessions, 1_228);
        assert_eq!(options.request_limits.max_subscriptions, 292);
        let store = format!("{:?}", options.event_store);
        assert!(store.starts_with("Some(MemoryEventStore"), "{store}");
        // With little memory, two bodies fit.
        let options = ServerOptions::new().with_memory(24 << 20);
        let (body, all) = (
            options.request_limits.max_body_bytes,
            options.memory.max_request_bytes,
        );
        assert_eq!(body, all / 2);
        assert!(body < ServerOptions::default().request_limits.max_body_bytes);
    }

    #[test]
    fn the_default_limits_are_those_of_with_memory_for_264_mib() {
        let (options, defaults) = (
            ServerOptions::new().with_memory(264 << 20),
            ServerOptions::new(),
        );
        assert_eq!(options.memory, defaults.memory);
        assert_eq!(options.connection_limits, defaults.connection_limits);
        assert_eq!(options.request_limits.max_body_bytes, 4 << 20);
        let (store, default) = (options.event_store, defaults.event_store);
        assert_eq!(format!("{store:?}"), format!("{default:?}"));
    }

    #[test]
    fn the_smallest_and_largest_memory_give_usable_limits() {
        let least = ServerOptions::new().with_memory(0);
        assert_eq!(
            (
                least.session_limits.max_sessions,
                least.connection_limits.max_connections
            ),
            (1, 1)
        );
        let (most, defaults) = (
            ServerOptions::new().with_memory(usize::MAX),
            ServerOptions::new(),
        );
        assert_eq!(
            most.session_limits.max_sessions,
            defaults.session_limits.max_sessions
        );
        assert_eq!(
            most.request_limits.max_body_bytes,
            defaults.request_limits.max_body_bytes
        );
        let large = ServerOptions::new().with_memory(1 << 30);
        assert_eq!(large.memory.max_request_bytes, ((1_016 << 20) / 32) * 6);
        assert_eq!(large.connection_limits.max_connections, 16_256);
        let none = ServerOptions::new().without_event_store();
        assert!(none.with_memory(1 << 30).event_store.is_none());
    }
}
