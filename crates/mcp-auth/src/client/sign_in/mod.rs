//! Sign-ins, from the challenge to the tokens, and the renewal of tokens.

mod authorization_request;
mod flow;
mod grant;
mod persist;
mod renewal;

pub(crate) use self::grant::Grant;
pub use self::grant::{
    AssertionSource, CLIENT_CREDENTIALS_EXTENSION, ENTERPRISE_EXTENSION, Enterprise,
};
pub(crate) use self::renewal::RenewalReason;
