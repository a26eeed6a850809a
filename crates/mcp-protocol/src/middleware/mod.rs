//! Middleware: code around the requests and notifications of one side, in both directions.
//!
//! [`Middleware`] receives messages after they are parsed and before they are written, on every transport and revision. A server
//! or client passes its middleware as [`Layers`] to this crate. The first middleware added is the outermost: it receives inbound
//! messages first and outbound messages last. Responses pass through the middleware in the opposite order.

mod chain;
mod layer;
mod link;
mod message;
mod response;
#[cfg(feature = "tower")]
mod tower;
mod transport;

pub(crate) use crate::connection::SessionEnds;
pub use crate::connection::{BlockingWork, Discarded, OpenedSession, Role, SessionEnd};
pub(crate) use chain::Receive;
#[doc(hidden)]
pub use chain::{Layers, Responding};
pub use chain::{Next, NextNotification, RunBlocking};
pub use layer::Middleware;
#[doc(hidden)]
pub use layer::SharedMiddleware;
pub(crate) use link::LayeredLink;
pub use message::{Direction, Notification, Request, Response};
#[cfg(feature = "tower")]
pub use tower::{NextService, PassedOn, PassingRequest, TowerMiddleware};
