//! The stream of change notifications on the stateless revision, and the open subscriptions.

mod keep;
pub(crate) mod listener;
pub(crate) mod table;
