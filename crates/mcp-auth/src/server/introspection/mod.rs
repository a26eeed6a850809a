//! Token introspection, for tokens that only their issuer can read.
//!
//! Specification: [RFC 7662](https://www.rfc-editor.org/rfc/rfc7662).

mod builder;
mod cache;
mod verifier;

pub use self::builder::IntrospectionBuilder;
pub use self::verifier::Introspection;
