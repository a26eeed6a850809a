//! The traits between a transport and one side of a connection.

mod events;
mod forward;
mod inbound;
mod transport;

pub(crate) use events::SessionEnds;
pub use events::{BlockingWork, Discarded, OpenedSession, Role, SessionEnd};
pub use forward::ForwardInbound;
pub use inbound::{Inbound, Reply};
pub use transport::{Connection, Transport};
