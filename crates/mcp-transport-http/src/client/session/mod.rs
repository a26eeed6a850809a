//! Sessions: opening, losing, replacing and restoring them.

pub(crate) mod current;
pub(crate) mod initialize;
#[cfg(feature = "legacy")]
pub(crate) mod legacy;
pub(crate) mod reinitialize;
pub(crate) mod replay;
