//! Signed tokens (JWT).
//!
//! Specification: [RFC 9068](https://www.rfc-editor.org/rfc/rfc9068).

mod algorithm;
mod builder;
mod cache;
mod keys;
mod verifier;

pub use self::algorithm::Algorithm;
pub use self::builder::JwtBuilder;
pub use self::keys::Jwks;
pub use self::verifier::Jwt;
