//! The server's side: [`RequireBearer`] lets those alone through who have a token.
//!
//! ```no_run
//! use mcp_auth::server::{Auth, Jwt, require_bearer};
//! use mcp_server::{Server, tool, tools};
//! use mcp_transport_http::{Endpoint, Options};
//!
//! /// Tells who you are.
//! #[tool(scope = "profile")]
//! fn whoami(auth: Auth) -> String {
//!     auth.subject().unwrap_or("you").to_owned()
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let verifier = Jwt::new("https://issuer.example")?;
//! let guard = require_bearer("https://mcp.example.com/mcp", verifier).scope("mcp").build()?;
//! let server = Server::new("who", "1.0.0").tools(tools![whoami]);
//! let options = Options::new().allow_host("mcp.example.com");
//! let app = guard.layer(Endpoint::with_options(server, options)?);
//! // `app` is a tower service: mount it in hyper, axum or anything else.
//! # drop(app);
//! # Ok(())
//! # }
//! ```
//!
//! A client that has no token is told where to get one, and one whose token does not cover a tool
//! is told what to ask for. The server itself gives out no tokens: that is what authorization
//! servers are for.
//!
//! | Question | is answered by | or by |
//! | --- | --- | --- |
//! | Is the token good, and whose is it? | [`Jwt`], if it is signed | [`Introspection`], if the issuer has to be asked; any [`Verify`] |
//! | Is it for this server? | [`Audience`]: the URL of the server | [`RequireBearerBuilder::audience`], if the issuer has another name for it |
//! | May it call at all? | [`RequireBearerBuilder::scope`] | |
//! | May it call this tool? | [`Tool::scope`](mcp_server::Tool::scope) | [`Auth::require`], if that depends on the arguments |
//! | Who is it? | [`Auth`], in a handler | [`Identity`], in the extensions of the request |
//! | Whose session is it? | the endpoint, by the [`Principal`](mcp_protocol::Principal) | |
//!
//! Behind [`RequireBearer`] there is no token any more: no handler can pass it on by accident, and
//! a server that calls other servers signs in to them [as a client](crate::client) of its own.
//!
//! Specification: [authorization](https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization).

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
pub use self::bearer::{
    Body, Metadata, Protected, RequireBearer, RequireBearerBuilder, TextBody, require_bearer,
};
pub use self::identity::Identity;
pub use self::introspection::{Introspection, IntrospectionBuilder};
pub use self::jwt::{Algorithm, Jwks, Jwt, JwtBuilder};
pub use self::verify::{Rejection, Verify};
pub use crate::error::Error;
pub use crate::scopes::Scopes;
pub use crate::web::{FormBody, Resolver};
