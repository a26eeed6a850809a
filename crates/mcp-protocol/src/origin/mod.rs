//! Where a request comes from: the verified principal, its grant, and the facts of the transport.

mod grant;
mod principal;

pub use grant::{Caller, Grant};
pub use principal::Principal;
