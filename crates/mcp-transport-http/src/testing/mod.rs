//! Tests of the rules for a [`SessionStore`](crate::SessionStore) and an [`EventStore`](crate::EventStore), for authors of such
//! stores.

mod events;
mod sessions;

pub use events::event_store_contract;
pub use sessions::session_store_contract;
