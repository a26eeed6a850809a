//! The streams of change notifications on the stateless revision, and the open subscriptions.

mod keep;
pub(crate) mod listener;
pub(crate) mod opener;
mod request;
mod stream;
pub(crate) mod streams;
pub(crate) mod table;
pub(crate) mod wanted;
