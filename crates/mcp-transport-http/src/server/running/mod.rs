//! Running requests: from the call of the handler to the response.

pub(crate) mod items;
pub(crate) mod outcome;
pub(crate) mod pending;
pub(crate) mod start;
