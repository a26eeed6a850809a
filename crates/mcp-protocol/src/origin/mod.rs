//! The origin of a request: the verified principal, its grant, and the facts of the transport.

mod grant;
mod owner;
mod request_origin;

pub use grant::{Caller, Grant};
pub use owner::{Owner, client_network};
pub use request_origin::{
    Network, Principal, REQUIRED_SCOPES, RequestOrigin, TransportFacts, missing_scope,
    no_authentication,
};
