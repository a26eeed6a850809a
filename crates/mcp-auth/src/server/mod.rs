//! The server side: [`RequireBearer`] accepts only requests with a valid token.
//!
//! ```no_run
//! use mcp_auth::server::{Auth, Jwt, require_bearer};
//! use mcp_server::{Server, tool};
//! use mcp_transport_http::{Endpoint, ServerOptions};
//!
//! /// Returns the name of the caller.
//! #[tool(scope = "profile")]
//! fn whoami(auth: Auth) -> String {
//!     auth.subject().unwrap_or("you").to_owned()
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let verifier = Jwt::new("https://issuer.example")?;
//! let guard = require_bearer("https://mcp.example.com/mcp", verifier).scope("mcp").build()?;
//! let server = Server::builder("who", "1.0.0").tool(whoami::tool());
//! let options = ServerOptions::new().allow_host("mcp.example.com");
//! let app = guard.layer(Endpoint::with_options(server, options)?);
//! // `app` is a tower service: mount it in hyper, axum or any other HTTP server.
//! # drop(app);
//! # Ok(())
//! # }
//! ```
//!
//! A challenge tells an unauthenticated client where to obtain a token. If a token lacks scopes, the challenge names the scopes
//! to request. The server does not issue tokens; authorization servers do.
//!
//! | Check | Default | Alternative |
//! | --- | --- | --- |
//! | signature, issuer and expiry of the token | [`Jwt`], for signed tokens | [`Introspection`], which asks the issuer; [`static_tokens`]; any [`Verify`] |
//! | audience of the token | [`Audience`]: the URL of the server | [`RequireBearerBuilder::audience`], for another name of the server |
//! | key of the client | bound tokens are rejected | [`Dpop`]: bound tokens with a proof |
//! | permission for any call | [`RequireBearerBuilder::scope`] | |
//! | permission for a tool | [`Tool::scope`](mcp_server::Tool::scope) | [`Auth::require`], if it depends on the arguments |
//! | identity of the caller | [`Auth`], in a handler | [`Identity`], in the extensions of the request |
//! | owner of a session | the endpoint, with the [`Principal`](mcp_protocol::Principal) | |
//!
//! The layer removes the token from the request, so that no handler can forward it by mistake. Only an endpoint with
//! `ServerOptions::with_forwarding` forwards the token to another process of the same server. A server that calls other servers
//! signs in to them [as a client](crate::client).
//!
//! Specification:
//! [authorization](https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization).

mod audience;
mod auth;
mod bearer;
mod claims;
mod dpop;
mod identity;
mod introspection;
mod issuer;
mod jwt;
mod static_tokens;
mod strict;
mod verify;

pub use self::audience::Audience;
pub use self::auth::Auth;
pub use self::bearer::{
    Body, Metadata, Protected, RequireBearer, RequireBearerBuilder, TextBody, require_bearer,
};
pub use self::dpop::{Dpop, MemoryReplayCache, ReplayCache};
pub use self::identity::Identity;
pub use self::introspection::{Introspection, IntrospectionBuilder};
pub use self::jwt::{Algorithm, Jwks, Jwt, JwtBuilder};
pub use self::static_tokens::{StaticTokens, static_tokens};
pub use self::verify::{Rejection, Verify};
pub use crate::error::{Error, ErrorKind};
pub use crate::scopes::Scopes;
pub use crate::web::{RequestBody, Resolver};
