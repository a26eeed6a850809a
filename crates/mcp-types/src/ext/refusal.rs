//! The codes of errors with typed data.

use mcp_jsonrpc::ErrorCode;

use crate::v2026_07_28::{MissingRequiredClientCapability, UnsupportedProtocolVersion};

impl MissingRequiredClientCapability {
    /// The code of the error with this data.
    pub const CODE: ErrorCode = ErrorCode::MISSING_CLIENT_CAPABILITY;
}

impl UnsupportedProtocolVersion {
    /// The code of the error with this data.
    pub const CODE: ErrorCode = ErrorCode::UNSUPPORTED_PROTOCOL_VERSION;
}
