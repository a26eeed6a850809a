//! The status of a task, as its server reports it.

pub(crate) mod state;
pub(crate) mod watch;
