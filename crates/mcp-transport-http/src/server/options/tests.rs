//! Tests of the settings of an endpoint.

use super::*;
use crate::server::session_store::MemorySessionStore;

#[test]
fn each_setter_changes_only_its_setting() {
    let defaults = ServerOptions::new();
    let options = ServerOptions::new()
        .without_sessions()
        .without_event_store()
        .allow_any_host()
        .allow_any_origin()
        .with_client_share(11)
        .with_session_store(MemorySessionStore::new())
        .with_timeouts(|timeouts| timeouts.body *= 2)
        .with_request_limits(|limits| limits.max_in_flight += 1)
        .with_request_limits(|limits| limits.max_receiving += 1)
        .with_session_limits(|limits| limits.max_sessions += 1)
        .with_streams(|streams| streams.reconnect_delay *= 2)
        .with_connection_limits(|limits| limits.max_connections += 1)
        .with_memory_limits(|memory| memory.max_session_bytes += 1);
    let mut timeouts = *defaults.timeouts();
    timeouts.body *= 2;
    assert_eq!(*options.timeouts(), timeouts);
    let mut limits = *defaults.request_limits();
    limits.max_in_flight += 1;
    limits.max_receiving += 1;
    assert_eq!(*options.request_limits(), limits);
    let mut limits = *defaults.session_limits();
    limits.max_sessions += 1;
    assert_eq!(*options.session_limits(), limits);
    let mut streams = *defaults.streams();
    streams.reconnect_delay *= 2;
    assert_eq!(*options.streams(), streams);
    let mut limits = *defaults.connection_limits();
    limits.max_connections += 1;
    assert_eq!(*options.connection_limits(), limits);
    let mut memory = *defaults.memory_limits();
    memory.max_session_bytes += 1;
    assert_eq!(*options.memory_limits(), memory);
    assert!(!options.sessions && options.event_store.is_none());
    assert!(options.stored.store.is_some());
    assert_eq!(options.client_share_percent, 11);
    let any = format!("{:?}", AllowList::any());
    assert_eq!(format!("{:?}", options.hosts), any);
    assert_eq!(format!("{:?}", options.origins), any);
}
