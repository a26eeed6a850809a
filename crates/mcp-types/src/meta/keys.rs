//! The `_meta` keys that the protocol keeps for itself.
//!
//! Those of a request are members of [`RequestMeta`](crate::v2026_07_28::RequestMeta), too, under the same names.

/// Asks for progress notifications, in the `_meta` of a request.
pub const PROGRESS_TOKEN_KEY: &str = "progressToken";

/// Ties a message to the task it belongs to (2025-11-25).
pub const RELATED_TASK_KEY: &str = "io.modelcontextprotocol/related-task";

/// What a model may be told while a task runs, in the `_meta` of the result that creates the task (2025-11-25).
pub const MODEL_IMMEDIATE_RESPONSE_KEY: &str = "io.modelcontextprotocol/model-immediate-response";

/// The revision a request is written in; every request says so (2026-07-28).
pub const PROTOCOL_VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// The client software behind a request (2026-07-28).
pub const CLIENT_INFO_KEY: &str = "io.modelcontextprotocol/clientInfo";

/// What the client offers while a request runs; every request says so (2026-07-28).
pub const CLIENT_CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

/// The least serious log message to send along with a request's answer; without it there are none (2026-07-28).
pub const LOG_LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";

/// The subscription that a notification, or its end, belongs to (2026-07-28).
pub const SUBSCRIPTION_ID_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// The server software behind a result (2026-07-28).
pub const SERVER_INFO_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// Where a message stands in a trace, as W3C Trace Context writes it.
pub const TRACEPARENT_KEY: &str = "traceparent";

/// What the makers of a trace add to [`TRACEPARENT_KEY`].
pub const TRACESTATE_KEY: &str = "tracestate";

/// Properties that travel along a trace, as W3C Baggage writes them.
pub const BAGGAGE_KEY: &str = "baggage";
