//! The `_meta` keys that are reserved for the protocol.
//!
//! The keys of a request are also members of [`RequestMeta`](crate::v2026_07_28::RequestMeta), under the same names.

/// Requests progress notifications, in the `_meta` of a request.
pub const PROGRESS_TOKEN_KEY: &str = "progressToken";

/// The key of the task that a message belongs to (2025-11-25).
pub const RELATED_TASK_KEY: &str = "io.modelcontextprotocol/related-task";

/// A text for the model while a task runs, in the `_meta` of the result that creates the task (2025-11-25).
pub const MODEL_IMMEDIATE_RESPONSE_KEY: &str = "io.modelcontextprotocol/model-immediate-response";

/// The revision of a request; required in every request (2026-07-28).
pub const PROTOCOL_VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// The client software of a request (2026-07-28).
pub const CLIENT_INFO_KEY: &str = "io.modelcontextprotocol/clientInfo";

/// The capabilities of the client for a request; required in every request (2026-07-28).
pub const CLIENT_CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

/// The least severe log message to send during a request; if it is absent, no log messages are sent (2026-07-28).
pub const LOG_LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";

/// The subscription of a notification, or of the result that ends the subscription (2026-07-28).
pub const SUBSCRIPTION_ID_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// The server software of a result (2026-07-28).
pub const SERVER_INFO_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// The trace context of a message, in the format of W3C Trace Context.
pub const TRACEPARENT_KEY: &str = "traceparent";

/// Vendor-specific additions to [`TRACEPARENT_KEY`].
pub const TRACESTATE_KEY: &str = "tracestate";

/// Properties of a trace, in the format of W3C Baggage.
pub const BAGGAGE_KEY: &str = "baggage";
