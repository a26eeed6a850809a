//! Error codes: the five codes of JSON-RPC, and the codes that MCP adds.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The integer code of an [`ErrorObject`](crate::ErrorObject).
///
/// Codes without a constant are valid and kept unchanged. Specification: schema, `Error.code`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a code is a number and nothing else"
)]
pub struct ErrorCode(pub i64);

impl ErrorCode {
    /// The bytes are not JSON text.
    pub const PARSE_ERROR: Self = Self(-32700);
    /// The JSON is not a JSON-RPC message.
    pub const INVALID_REQUEST: Self = Self(-32600);
    /// The receiver does not know the method, or has not declared the capability that the method needs.
    pub const METHOD_NOT_FOUND: Self = Self(-32601);
    /// The method is known, but its params are not valid.
    pub const INVALID_PARAMS: Self = Self(-32602);
    /// The receiver failed internally.
    pub const INTERNAL_ERROR: Self = Self(-32603);
    /// The requested resource does not exist (up to 2025-11-25).
    pub const RESOURCE_NOT_FOUND: Self = Self(-32002);
    /// The client must complete a URL-mode elicitation first (2025-11-25).
    pub const URL_ELICITATION_REQUIRED: Self = Self(-32042);
    /// The user refused a sampling request.
    pub const USER_REJECTED: Self = Self(-1);
    /// A header has another value than the member of the body that it echoes (2026-07-28).
    pub const HEADER_MISMATCH: Self = Self(-32020);
    /// The request needs a client capability that was not declared (2026-07-28).
    pub const MISSING_CLIENT_CAPABILITY: Self = Self(-32021);
    /// The request names a revision that the server does not support (2026-07-28).
    pub const UNSUPPORTED_PROTOCOL_VERSION: Self = Self(-32022);
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codes_of_2026_07_28_have_the_numbers_of_the_specification() {
        let codes = [
            ErrorCode::HEADER_MISMATCH,
            ErrorCode::MISSING_CLIENT_CAPABILITY,
            ErrorCode::UNSUPPORTED_PROTOCOL_VERSION,
        ];
        assert_eq!(codes.map(|code| code.0), [-32020, -32021, -32022]);
        assert_eq!(ErrorCode::HEADER_MISMATCH.to_string(), "-32020");
    }
}
