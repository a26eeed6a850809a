//! Base64 for contents.

/// Standard base64 with padding (RFC 4648 §4), as every binary member of the protocol has it.
pub fn base64(bytes: &[u8]) -> String {
    mcp_protocol::base64::encode(bytes)
}
