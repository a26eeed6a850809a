//! `with_memory`, which derives all memory limits of an endpoint from one number.

use std::sync::Arc;

use crate::server::event_store::MemoryEventStore;
use crate::server::options::ServerOptions;
use crate::server::session::usage::SESSION;
use crate::server::state::SUBSCRIPTION;

/// Memory of the idle program, in bytes. It is deducted from the budget, but never more than half of the budget.
const PROGRAM: usize = 8 << 20;
/// Memory of a connection, in bytes: its buffers and its task.
const CONNECTION: usize = 16 << 10;
/// Memory in bytes that is enough for one session or subscription with the largest accepted client identity.
const LARGEST_CLIENT: usize = 256 << 10;
/// Default maximum memory of the events of one session, in bytes.
const SESSION_EVENTS: usize = 10 << 20;

impl ServerOptions {
    /// Sets all limits on memory, so that the process uses at most about `bytes` bytes of resident memory for all clients
    /// together. This includes 8 MiB for the idle program. The remaining memory is divided: a quarter each for requests, for
    /// responses and for stored events; an eighth for connections; a sixteenth each for sessions, and for subscriptions and GET
    /// streams. The limits on the number of connections, sessions and other items follow from these parts and from the minimum
    /// memory of an item. Such a limit is at least 1 and at most its default.
    ///
    /// Call this method before the setters of single limits, because it overwrites their values. It replaces the event store with
    /// a [`MemoryEventStore`], unless the event store was removed. The memory of handlers and stored tasks is not included. To
    /// limit tasks, use `MemoryTaskStore::with_max_bytes` of `mcp-server`. `docs/reliability.md` has the measured memory.
    #[must_use]
    pub fn with_memory(mut self, bytes: usize) -> Self {
        let defaults = Self::default();
        let bytes = bytes - PROGRAM.min(bytes / 2);
        let quarter = bytes / 4;
        let count = |bytes: usize, each: usize, max: usize| (bytes / each).clamp(1, max);
        self.memory.max_request_bytes = quarter;
        self.memory.max_response_bytes = quarter;
        // Two bodies of the maximum size fit.
        self.request_limits.max_body_bytes = defaults
            .request_limits
            .max_body_bytes
            .min(self.memory.max_request_bytes / 2);
        self.connection_limits.max_connections = count(
            bytes / 8,
            CONNECTION,
            defaults.connection_limits.max_connections,
        );
        self.memory.max_session_bytes = (bytes / 16).max(LARGEST_CLIENT);
        self.memory.max_stream_bytes = (bytes / 16).max(LARGEST_CLIENT);
        self.session_limits.max_sessions =
            count(bytes / 16, SESSION, defaults.session_limits.max_sessions);
        self.request_limits.max_subscriptions = count(
            bytes / 16,
            SUBSCRIPTION,
            defaults.request_limits.max_subscriptions,
        );
        if self.event_store.is_some() {
            let store = MemoryEventStore::new()
                .with_max_total_bytes(quarter)
                .with_max_session_bytes((quarter / 10).min(SESSION_EVENTS));
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
        assert_eq!(options.memory.max_request_bytes, 16 << 20);
        assert_eq!(options.memory.max_response_bytes, 16 << 20);
        assert_eq!(options.request_limits.max_body_bytes, 4 << 20);
        assert_eq!(options.connection_limits.max_connections, 512);
        assert_eq!(options.memory.max_session_bytes, 4 << 20);
        assert_eq!(options.memory.max_stream_bytes, 4 << 20);
        assert_eq!(options.session_limits.max_sessions, 819);
        assert_eq!(options.request_limits.max_subscriptions, 146);
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
        assert_eq!(large.memory.max_request_bytes, 254 << 20);
        let none = ServerOptions::new().without_event_store();
        assert!(none.with_memory(1 << 30).event_store.is_none());
    }
}
