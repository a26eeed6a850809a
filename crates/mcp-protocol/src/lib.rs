//! The protocol logic of the Model Context Protocol: revisions, sessions, requests in flight,
//! cancellation, progress and deadlines, without I/O, clock or randomness.
//!
//! Bytes and time are arguments. A transport drives this crate (a [`Mux`] turns one pipe into
//! exchanges). A client or server implements its traits ([`Service`] is a whole server,
//! [`Inbound`] is one side of a connection). Transports and roles do not depend on each other.
//!
//! ```text
//! bytes ─► Mux::receive ─► Inbound ─► (ServerSession ─► Service)
//!                                   └► (a client's answers to its server)
//! bytes ◄─ Mux::poll_output ◄─ output queue ◄─ Reply
//! ```
//!
//! Items that only the crates of this workspace need are hidden from this documentation, and may change in any version.
//!
//! Specification: [base protocol][basic].
//!
//! [basic]: https://modelcontextprotocol.io/specification/2025-11-25/basic

#![cfg_attr(docsrs, feature(doc_cfg))]

mod ask;
mod budget;
mod connection;
#[doc(hidden)]
pub mod downgrade;
mod exchange;
#[doc(hidden)]
pub mod gate;
#[doc(hidden)]
pub mod http_headers;
mod link;
mod log_limit;
pub mod middleware;
#[doc(hidden)]
pub mod modern;
mod mux;
mod origin;
mod payload;
mod revision;
mod server;
mod service;
mod session;
mod sync;
pub mod task;
mod token_bucket;
pub mod tolerance;

#[doc(hidden)]
pub use ask::{form, sampling};
#[doc(hidden)]
pub use budget::{Budget, BudgetPermit, OverBudget};
#[doc(hidden)]
pub use connection::ForwardInbound;
pub use connection::{Connection, Inbound, Reply, Transport};
pub use exchange::{AdmissionError, Cancelled, Exchange, Incoming, Outgoing, Running, Timeouts};
#[doc(hidden)]
pub use exchange::{Deadline, expired, guarded, log_panics};
pub use link::{
    Answer, AskError, BoxFuture, Call, CallError, Closed, Delivery, Extras, Kept, Link, MethodName,
    SentId, StatelessRequest, TransportError,
};
#[doc(hidden)]
pub use log_limit::LogLimit;
pub use modern::ClientIdentity;
pub use mux::{BlockingRun, Expiry, Mux, MuxLimits, PendingHandler, Run};
pub use origin::{Caller, Grant, Network, Principal, RequestOrigin, TransportFacts};
#[doc(hidden)]
pub use origin::{Owner, REQUIRED_SCOPES, client_network, missing_scope, no_authentication};
pub use payload::{CacheHint, CacheScope, Outcome, Payload, SharedText, WriteJson};
pub use revision::{Revision, Rules, UnknownRevision};
#[doc(hidden)]
pub use server::READINESS_META;
pub use server::ServerSession;
pub use service::{IntoService, InvalidServer, RequestContext, ServerFacts, Service};
pub use session::Session;
#[doc(hidden)]
pub use session::SessionState;
#[doc(hidden)]
pub use sync::{lock, read_lock, write_lock};
#[doc(hidden)]
pub use token_bucket::{Rate, TokenBucket, TooFewTokens};
pub use tolerance::{DECORATIONS, Deviation, Strictness, Tolerance};
