//! The revisions without a handshake: each request tells all there is to know.
//!
//! [`RawRequestMeta`] finds what a request says of itself, [`RawRequestMeta::admit`] decides whether it is served,
//! in the order that the specification fixes. [`ResultMeta`] adds to results what these revisions
//! want of each. [`PendingInput`] holds the questions and answers of one call, which take a request
//! each. [`Probe`] decides what a client makes of a server whose era it does not know. [`mirror`] is
//! about headers that repeat what stands in the body.
//!
//! Specification: [versioning](https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning),
//! [`_meta`](https://modelcontextprotocol.io/specification/2026-07-28/basic/index#meta).

mod client_identity;
mod pending_input;
mod probe;
mod request_meta;
mod result_meta;
mod stateless_server;

pub use client_identity::ClientIdentity;
pub use pending_input::{
    CallState, ClaimedInputRequest, DetachOutcome, InputRequired, InputSnapshot, PendingInput,
    PendingInputError, RunningStep, SuspendableHandler,
};
pub use probe::{Probe, ProbeOutcome, ProbeStep};
pub(crate) use request_meta::unsupported_version;
pub use request_meta::{RawRequestMeta, RequestMeta, StandardHeaders, missing_request_meta};
pub use result_meta::{CacheHint, CacheScope, ResultMeta};
pub(crate) use stateless_server::StatelessServer;
