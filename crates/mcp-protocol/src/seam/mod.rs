//! The traits at which transports, sessions and servers meet, and the values they exchange.

mod closed;
mod error;
mod inbound;
mod link;
mod payload;
mod service;
mod transport;

pub use closed::Closed;
pub use error::TransportError;
pub use inbound::{Inbound, Reply};
pub use link::{
    Answer, Call, CallError, Delivery, Extras, Link, MethodName, SentId, StatelessRequest,
};
pub use payload::{Outcome, Payload, SharedText, WriteJson};
pub use service::{IntoService, InvalidServer, ServerFacts, Service};
pub use transport::{Connection, Transport};

/// A boxed future that can move between threads.
pub type BoxFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;
