//! Tokens: what is kept of them, and how they are asked for.

mod proof;
mod request;
mod response;
mod set;

pub(crate) use self::proof::{Nonces, PROOF, ProofKey, origin};
pub(crate) use self::request::{Endpoint, Form, sensitive};
pub(crate) use self::response::Answer;
pub(crate) use self::set::{Kind as TokenKind, TokenSet};
