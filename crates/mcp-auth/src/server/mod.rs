//! The server's side: [`RequireBearer`] lets those alone through who have a token.

mod audience;
mod auth;
mod bearer;
mod claims;
mod identity;
mod introspection;
mod issuer;
mod jwt;
mod strict;
mod verify;

pub use self::audience::Audience;
pub use self::auth::Auth;
pub use self::bearer::{Body, Builder, Metadata, Protected, RequireBearer, Text, require_bearer};
pub use self::identity::Identity;
pub use self::introspection::{Introspection, IntrospectionBuilder};
pub use self::jwt::{Algorithm, Jwks, Jwt, JwtBuilder};
pub use self::verify::{Reject, Verify};
pub use crate::error::Error;
pub use crate::scopes::Scopes;
pub use crate::web::{FormBody, Resolver};
