//! The `_meta` keys that are reserved for the protocol.
//!
//! The keys of a request are also members of [`RequestMeta`](crate::v2026_07_28::RequestMeta), under the same names.

/// The key of the progress token in the `_meta` of a request. A request with a token asks for progress notifications.
pub const PROGRESS_TOKEN_KEY: &str = "progressToken";

/// The key of the task that a message belongs to (2025-11-25).
pub const RELATED_TASK_KEY: &str = "io.modelcontextprotocol/related-task";

/// The key of a text for the model while a task runs. It is in the `_meta` of the result that creates the task (2025-11-25).
pub const MODEL_IMMEDIATE_RESPONSE_KEY: &str = "io.modelcontextprotocol/model-immediate-response";

/// The key of a request's revision. Every request must have it (2026-07-28).
pub const PROTOCOL_VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// The key of the name and version of the client that sends a request (2026-07-28).
pub const CLIENT_INFO_KEY: &str = "io.modelcontextprotocol/clientInfo";

/// The key of the client's capabilities. Every request must have it (2026-07-28).
pub const CLIENT_CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

/// The key of the minimum level of log messages that are sent during a request. Without this key, no log messages are sent
/// (2026-07-28).
pub const LOG_LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";

/// The key of the subscription that a notification belongs to. It is also in the result that ends the subscription (2026-07-28).
pub const SUBSCRIPTION_ID_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// The key of the name and version of the server that created a result (2026-07-28).
pub const SERVER_INFO_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// The key of a message's trace context, in the format of W3C Trace Context.
pub const TRACEPARENT_KEY: &str = "traceparent";

/// The key of vendor-specific additions to [`TRACEPARENT_KEY`].
pub const TRACESTATE_KEY: &str = "tracestate";

/// The key of a trace's properties, in the format of W3C Baggage.
pub const BAGGAGE_KEY: &str = "baggage";
