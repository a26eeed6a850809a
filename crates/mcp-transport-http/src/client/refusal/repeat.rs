//! Decides which requests have no effect, so that they can be repeated.

use mcp_types::method;

/// Returns whether a request can be repeated even if the server may have executed it. A request with an unknown method cannot be
/// repeated.
pub(crate) fn is_repeatable(method: &str) -> bool {
    matches!(
        method,
        method::PING
            | method::COMPLETION_COMPLETE
            | method::LOGGING_SET_LEVEL
            | method::PROMPTS_GET
            | method::PROMPTS_LIST
            | method::RESOURCES_LIST
            | method::RESOURCES_READ
            | method::RESOURCES_SUBSCRIBE
            | method::RESOURCES_TEMPLATES_LIST
            | method::RESOURCES_UNSUBSCRIBE
            | method::SERVER_DISCOVER
            | method::TASKS_GET
            | method::TASKS_LIST
            | method::TASKS_RESULT
            | method::TOOLS_LIST
    )
}
