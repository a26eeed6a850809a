//! Tokens: requests, responses, DPoP proofs, and what is stored.

mod proof;
mod request;
mod response;
mod set;

pub(crate) use self::proof::{DPOP, DpopKey, Nonces, origin};
pub(crate) use self::request::{TokenEndpoint, TokenRequest};
pub(crate) use self::response::TokenResponse;
pub(crate) use self::set::{TokenSet, TokenType};
