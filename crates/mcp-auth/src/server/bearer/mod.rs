//! The authentication layer: [`RequireBearer`] accepts only requests with a valid token.

mod body;
mod builder;
mod metadata;
mod policy;
mod refusal;
mod service;
mod token;

pub use self::body::{Body, TextBody};
pub use self::builder::{RequireBearerBuilder, require_bearer};
pub use self::metadata::Metadata;
pub use self::service::{Protected, RequireBearer};
pub(in crate::server) use self::token::is_token;
