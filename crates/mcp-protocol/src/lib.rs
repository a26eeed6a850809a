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
//! bytes ◄─ Mux::poll_output ◄─ Ticket::settle ◄─ Reply
//! ```
//!
//! Items that only the crates of this workspace need are hidden from this documentation, and may change in any version.
//!
//! Specification: [base protocol][basic].
//!
//! [basic]: https://modelcontextprotocol.io/specification/2025-11-25/basic

mod ask;
mod budget;
#[doc(hidden)]
pub mod downgrade;
mod exchange;
#[doc(hidden)]
pub mod gate;
#[doc(hidden)]
pub mod http_headers;
pub mod middleware;
#[doc(hidden)]
pub mod modern;
mod mux;
mod origin;
mod revision;
mod seam;
mod session;
mod sync;
pub mod task;
pub mod tolerance;

pub use ask::AskError;
#[doc(hidden)]
pub use ask::{form, sampling};
#[doc(hidden)]
pub use budget::{Budget, BudgetPermit, OverBudget};
pub use exchange::{
    AdmissionError, Cancelled, Exchange, Incoming, Outgoing, RequestContext, Running, Timeouts,
};
#[doc(hidden)]
pub use exchange::{Deadline, expired, guarded};
pub use modern::{CacheHint, CacheScope, ClientIdentity};
pub use mux::{BlockingRun, Expiry, Mux, MuxLimits, PendingHandler, Run};
pub use origin::{Caller, Grant, Network, Principal, RequestOrigin, TransportFacts};
#[doc(hidden)]
pub use origin::{Owner, client_network};
pub use revision::{Revision, Rules, UnknownRevision};
pub use seam::{
    Answer, BoxFuture, Call, CallError, Closed, Connection, Delivery, Extras, Inbound, IntoService,
    InvalidServer, Link, MethodName, Outcome, Payload, Reply, SentId, ServerFacts, Service,
    SharedText, StatelessRequest, Transport, TransportError, WriteJson,
};
#[doc(hidden)]
pub use session::SessionState;
pub use session::{ServerSession, Session};
pub use tolerance::{DECORATIONS, Deviation, Strictness, Tolerance};
