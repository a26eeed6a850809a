//! The server's side: an [`Endpoint`] is a tower service, [`serve`] is for those who have no HTTP
//! server of their own.
//!
//! Specification: [transports](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http).

pub(crate) mod admission;
mod allowed;
mod asked;
mod body;
mod connection;
mod endpoint;
mod events;
pub(crate) mod frames;
pub(crate) mod heads;
#[cfg(feature = "http2")]
mod http2;
mod id;
pub(crate) mod intake;
mod io;
mod listen;
mod modern;
mod options;
mod post;
mod question;
mod queue;
mod refusal;
mod serve;
mod session;
mod site;
mod store;
mod stream;
mod streams;
mod table;
mod text;
mod watch;
mod work;

#[cfg(feature = "legacy")]
pub(crate) use endpoint::{Shared, event_stream};
#[cfg(feature = "legacy")]
pub(crate) use refusal::Refusal;

pub use body::Body;
pub use endpoint::Endpoint;
pub use id::SessionId;
pub use options::Options;
pub use serve::{Error, PeerAddr, serve, serve_layered, serve_with};
pub use site::Site;
pub use store::{EventStore, MemoryStore, Replay, StoreError, Stored, StreamKey};

/// Takes a lock whatever a panicking holder left behind: every critical section here leaves the
/// data consistent at each step.
pub(crate) fn lock<T: ?Sized>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
