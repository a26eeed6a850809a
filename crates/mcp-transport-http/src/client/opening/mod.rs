//! The opening of sessions: at the start, and after the server has lost a session.

pub(crate) mod initialize;
#[cfg(feature = "legacy")]
pub(crate) mod legacy;
pub(crate) mod reinitialize;
