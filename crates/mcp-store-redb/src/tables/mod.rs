//! The tables of the file.

#[cfg(feature = "http")]
pub(crate) mod event_rows;
#[cfg(feature = "http")]
pub(crate) mod events;
pub(crate) mod meta;
#[cfg(feature = "http")]
pub(crate) mod sessions;
pub(crate) mod tasks;
