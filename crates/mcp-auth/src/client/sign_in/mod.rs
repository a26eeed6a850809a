//! A sign-in from its first request to its tokens, and their renewal.

mod authorization_request;
mod enterprise;
mod flow;
mod grant;
mod persist;
mod renewal;

pub(crate) use self::grant::Grant;
pub use self::grant::{
    AssertionSource, CLIENT_CREDENTIALS_EXTENSION, ENTERPRISE_EXTENSION, Enterprise,
};
pub(crate) use self::renewal::RenewalReason;
