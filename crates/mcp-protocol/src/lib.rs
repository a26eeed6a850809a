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
//! Specification: [base protocol][basic].
//!
//! [basic]: https://modelcontextprotocol.io/specification/2025-11-25/basic

mod ask;
mod budget;
pub mod downgrade;
mod exchange;
pub mod gate;
pub mod http_headers;
pub mod middleware;
pub mod modern;
mod mux;
mod origin;
mod revision;
mod seam;
mod session;
mod sync;
pub mod task;

pub use ask::{AskError, form, sampling};
pub use budget::{Budget, BudgetPermit, OverBudget};
pub use exchange::{
    AdmissionError, Cancelled, Deadline, Exchange, Incoming, Outgoing, RequestContext, Running,
    Timeouts, expired, guarded,
};
pub use mux::{BlockingRun, Expiry, Mux, MuxLimits, PendingHandler, Run};
pub use origin::{Caller, Grant, Network, Principal, RequestOrigin, TransportFacts};
pub use revision::{Revision, Rules, UnknownRevision};
pub use seam::{
    Answer, BoxFuture, Call, CallError, Closed, Connection, Delivery, Extras, Inbound, IntoService,
    InvalidServer, Link, Outcome, Payload, Reply, SentId, ServerFacts, Service, SharedText,
    StatelessRequest, Transport, TransportError, WriteJson,
};
pub use session::{ServerSession, Session};
