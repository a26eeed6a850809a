//! Tests of the settings of an endpoint.

use super::*;
use crate::server::session_store::MemorySessionStore;

/// Sets each of these settings to another number; checks all of them, and that the first settings are kept.
macro_rules! set_all {
    ($($setter:ident $field:ident $number:expr),* $(,)?) => {
        let options = ServerOptions::new()
            .without_sessions()
            .without_event_store()
            .allow_any_host()
            .allow_any_origin()
            .with_message_limits(Limits::default().with_depth(7))
            .with_client_share(11)
            .with_max_queue(12, 13)
            .with_session_store(MemorySessionStore::new())
            .with_session_store_timeout(Duration::from_secs(14))
            .with_max_session_store_calls(15)
            $(.$setter($number))*;
        $(assert_eq!(options.$field, $number, stringify!($field));)*
        assert!(!options.sessions);
        assert!(options.event_store.is_none());
        let any = format!("{:?}", AllowList::any());
        assert_eq!(format!("{:?}", options.hosts), any);
        assert_eq!(format!("{:?}", options.origins), any);
        assert_eq!(options.message_limits.depth, 7);
        assert_eq!(options.client_share_percent, 11);
        assert_eq!((options.max_queue_events, options.max_queue_bytes), (12, 13));
        assert!(options.stored.store.is_some());
        assert_eq!(options.stored.timeout, Duration::from_secs(14));
        assert_eq!(options.stored.max_calls, 15);
    };
}

#[test]
fn each_setter_changes_only_its_setting() {
    set_all!(
        with_body_timeout body_timeout Duration::from_secs(20),
        with_session_idle_timeout session_idle_timeout Duration::from_secs(21),
        with_max_session_lifetime max_session_lifetime Duration::from_secs(22),
        with_handshake_timeout handshake_timeout Duration::from_secs(23),
        with_keep_alive_interval keep_alive_interval Duration::from_secs(24),
        with_sse_upgrade_delay sse_upgrade_delay Duration::from_secs(25),
        with_sse_retry sse_retry Duration::from_secs(26),
        with_shutdown_timeout shutdown_timeout Duration::from_secs(27),
        with_head_timeout head_timeout Duration::from_secs(28),
        with_write_timeout write_timeout Duration::from_secs(29),
        with_max_body_bytes max_body_bytes 30,
        with_max_total_body_bytes max_total_body_bytes 31,
        with_max_total_response_bytes max_total_response_bytes 32,
        with_min_body_rate min_body_rate 33,
        with_max_receiving max_receiving 34,
        with_max_in_flight max_in_flight 35,
        with_max_subscriptions max_subscriptions 36,
        with_max_in_flight_per_session max_in_flight_per_session 37,
        with_max_streams_per_session max_streams_per_session 38,
        with_max_sessions max_sessions 39,
        with_max_sessions_per_principal max_sessions_per_principal 40,
        with_max_total_session_bytes max_total_session_bytes 41,
        with_max_total_stream_bytes max_total_stream_bytes 42,
        with_max_blocking_handlers max_blocking_handlers 43,
        with_max_connections max_connections 44,
        with_max_streams_per_connection max_streams_per_connection 45,
        with_max_head_bytes max_head_bytes 46,
    );
}
