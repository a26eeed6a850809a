//! The stateless revision (2026-07-28): each request carries its metadata.
//!
//! [`RawRequestMeta`] finds the metadata of a request, and [`RawRequestMeta::admit`] checks it in the
//! order that the specification defines. [`ResultMeta`] adds the required members to results.
//! [`PendingInput`] holds the input requests and responses of one call. [`Probe`] selects the
//! revision of a server that a client does not know yet.
//!
//! Specification: [versioning](https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning),
//! [`_meta`](https://modelcontextprotocol.io/specification/2026-07-28/basic/index#meta).

use mcp_types::method;

mod client_identity;
mod pending_input;
mod probe;
mod request_meta;

pub use crate::payload::{CacheHint, CacheScope, ResultMeta};
pub use client_identity::{ClientIdentity, MAX_IDENTITY_MEMORY};
pub(crate) use client_identity::{ClientIdentityCache, check_identity};
pub use pending_input::{
    CallState, ClaimedInputRequest, DetachOutcome, InputRequired, InputSnapshot, PendingInput,
    PendingInputError, RunningStep, SuspendableHandler,
};
pub use probe::{Probe, ProbeOutcome, ProbeStep};
pub(crate) use request_meta::unsupported_version;
pub use request_meta::{RawRequestMeta, RequestMeta, StandardHeaders, missing_request_meta};

/// Returns whether the result of a request with this method can require input from the client.
///
/// Specification: [multi round-trip requests](https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr).
pub fn may_require_input(method: &str) -> bool {
    matches!(
        method,
        method::TOOLS_CALL | method::PROMPTS_GET | method::RESOURCES_READ
    )
}
