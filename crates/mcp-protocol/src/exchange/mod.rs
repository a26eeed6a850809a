//! Exchanges: requests in both directions, until each request has its response.

mod deadline;
mod incoming;
mod outgoing;
mod state;

pub use deadline::{Deadline, Timeouts};
pub use incoming::{AdmissionError, Incoming};
pub use outgoing::Outgoing;
pub use state::{Cancelled, Exchange, Running, expired, guarded, log_panics};
