//! The Model Context Protocol as a value: revisions, sessions, in-flight tables, cancellation,
//! progress and deadlines, without I/O, without a clock and without randomness.
//!
//! Bytes and time are arguments. Transports *drive* what is here ([`Mux`] turns one pipe into
//! exchanges), roles *implement* what is here ([`Service`] is a whole server, [`Inbound`] is one
//! side of a connection), and neither knows the other.
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
pub mod base64;
mod bucket;
mod closed;
mod context;
mod deadline;
mod delegate;
pub mod downgrade;
mod exchange;
pub mod form;
pub mod gate;
mod grant;
pub mod http_headers;
mod inbound;
mod incoming;
mod link;
pub mod modern;
mod mux;
mod outgoing;
mod payload;
mod principal;
mod revision;
mod running;
pub mod sampling;
pub mod schema;
mod service;
mod session;
mod shared_text;
pub mod task;
mod transport;

pub use ask::AskError;
pub use closed::Closed;
pub use context::RequestContext;
pub use deadline::{Deadline, Timeouts};
pub use exchange::{Cancelled, Exchange};
pub use grant::{Caller, Grant};
pub use inbound::{Inbound, Reply};
pub use incoming::{AdmissionError, Incoming};
pub use link::{Answer, Call, CallError, Delivery, Extras, Link, SentId};
pub use mux::{BlockingRun, Expiry, Mux, MuxLimits, Run, Work};
pub use outgoing::Outgoing;
pub use payload::{Outcome, Payload, WriteJson};
pub use principal::Principal;
pub use revision::{Revision, Rules, UnknownRevision};
pub use running::{Running, expired, guarded};
pub use service::{ServerFacts, Service};
pub use session::{ServerSession, Session};
pub use shared_text::SharedText;
pub use transport::{Connection, Transport, TransportError};

/// A boxed future that can move between threads.
pub type BoxFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Takes a lock whatever a panicking holder left behind: every critical section here leaves
/// the data consistent at each step.
pub(crate) fn lock<T: ?Sized>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
