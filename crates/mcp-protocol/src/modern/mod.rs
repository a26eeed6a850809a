//! The revisions without a handshake: each request tells all there is to know.
//!
//! [`Claim`] finds what a request says of itself, [`Claim::admit`] decides whether it is served,
//! in the order that the specification fixes. [`Stamp`] adds to results what these revisions
//! want of each. [`Ledger`] holds the questions and answers of one call, which take a request
//! each. [`Probe`] decides what a client makes of a server whose era it does not know. [`mirror`] is
//! about headers that repeat what stands in the body.
//!
//! Specification: [versioning](https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning),
//! [`_meta`](https://modelcontextprotocol.io/specification/2026-07-28/basic/index#meta).

mod admit;
mod ledger;
pub mod mirror;
mod probe;
mod sender;
mod serve;
mod stamp;

pub(crate) use admit::unsupported;
pub use admit::{Claim, Envelope, Headers, unclaimed};
pub use ledger::{
    Interim, Ledger, LedgerError, Left, Question, Recorded, Snapshot, Suspending, Working,
};
pub use probe::{Probe, Probed, Step};
pub use sender::Sender;
pub(crate) use serve::Desk;
pub use stamp::{CacheHint, CacheScope, Stamp};
