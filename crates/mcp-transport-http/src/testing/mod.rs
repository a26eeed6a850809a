//! Tests of the rules of [`SessionStore`](crate::SessionStore) and [`EventStore`](crate::EventStore), for implementations of them.

mod events;
mod sessions;

pub use events::event_store_contract;
pub use sessions::session_store_contract;
