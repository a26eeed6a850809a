//! The names of attributes, and the limits of their values.

use mcp_jsonrpc::prefix;
use opentelemetry::KeyValue;

pub(crate) const METHOD: &str = "mcp.method.name";
pub(crate) const PROTOCOL_VERSION: &str = "mcp.protocol.version";
pub(crate) const SESSION_ID: &str = "mcp.session.id";
pub(crate) const RESOURCE_URI: &str = "mcp.resource.uri";
pub(crate) const REQUEST_ID: &str = "jsonrpc.request.id";
pub(crate) const STATUS_CODE: &str = "rpc.response.status_code";
pub(crate) const ERROR_TYPE: &str = "error.type";
pub(crate) const OPERATION: &str = "gen_ai.operation.name";
pub(crate) const TOOL: &str = "gen_ai.tool.name";
pub(crate) const PROMPT: &str = "gen_ai.prompt.name";
pub(crate) const ARGUMENTS: &str = "gen_ai.tool.call.arguments";
pub(crate) const RESULT: &str = "gen_ai.tool.call.result";
pub(crate) const TRANSPORT: &str = "network.transport";
pub(crate) const NETWORK_PROTOCOL: &str = "network.protocol.name";
pub(crate) const NETWORK_VERSION: &str = "network.protocol.version";
pub(crate) const SERVER_ADDRESS: &str = "server.address";
pub(crate) const SERVER_PORT: &str = "server.port";
pub(crate) const CLIENT_ADDRESS: &str = "client.address";
pub(crate) const CLIENT_PORT: &str = "client.port";

/// Maximum size of a text in a span, in bytes.
const MAX_TEXT: usize = 1_024;
/// Maximum size of recorded arguments, and of a recorded result, in bytes.
const MAX_CONTENT: usize = 16 << 10;

/// Creates an attribute with a text from the peer, truncated to [`MAX_TEXT`].
pub(crate) fn text(key: &'static str, value: &str) -> KeyValue {
    KeyValue::new(key, clip(value))
}

/// Creates an attribute with arguments or a result, truncated to [`MAX_CONTENT`].
pub(crate) fn content(key: &'static str, value: &str) -> KeyValue {
    KeyValue::new(key, prefix(value, MAX_CONTENT).to_owned())
}

/// Copies a text from the peer, truncated to [`MAX_TEXT`].
pub(crate) fn clip(text: &str) -> String {
    prefix(text, MAX_TEXT).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_ends_between_two_characters() {
        assert_eq!(prefix("abc", 3), "abc");
        assert_eq!(prefix("abcd", 3), "abc");
        assert_eq!(prefix("abä", 3), "ab");
        assert_eq!(prefix("", 0), "");
        assert_eq!(clip(&"ä".repeat(MAX_TEXT)).len(), MAX_TEXT);
    }
}
