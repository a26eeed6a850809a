//! The client side: [`OAuth`] obtains tokens and adds them to messages.
//!
//! ```no_run
//! use mcp_auth::OAuth;
//! use mcp_auth::client::{FileTokenStore, Loopback};
//! use mcp_transport_http::HttpTransport;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let url = "https://mcp.example.com/mcp";
//! let auth = OAuth::client(url)
//!     .user_agent(Loopback::new(|page| eprintln!("Please open {page}")))
//!     .store(FileTokenStore::new("tokens.json"))
//!     .build()?;
//! let http = HttpTransport::new(url)?.authorize(auth);
//! # drop(http);
//! # Ok(())
//! # }
//! ```
//!
//! A sign-in starts when the server rejects a message:
//!
//! | Step | Module | Setting |
//! | --- | --- | --- |
//! | read the challenge of the server | `challenge` | [`OAuthBuilder::scopes`] |
//! | discover the authorization server | `discovery` | [`OAuthBuilder::resource_metadata`], [`OAuthBuilder::server_metadata`] |
//! | identify the client | `registration` | [`OAuthBuilder::credentials`], [`OAuthBuilder::client_metadata_url`] |
//! | obtain the user's consent | `sign_in`, `user_agent` | a [`UserAgent`], or another grant |
//! | request the token | `token` | [`OAuthBuilder::service`] |
//! | keep and renew tokens | `store`, `sign_in` | a [`TokenStore`] |
//!
//! Specification:
//! [authorization](https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization).

mod builder;
mod challenge;
mod diagnose;
mod discovery;
mod inner;
mod oauth;
mod progress;
mod registration;
mod sign_in;
mod signing_key;
mod store;
mod token;
mod uri_checks;
mod user_agent;

pub use self::builder::OAuthBuilder;
pub use self::challenge::Challenge;
pub use self::diagnose::{Diagnosis, diagnose};
pub use self::discovery::{DiscoveryAttempt, DiscoveryLog, ResourceMetadata, ServerMetadata};
pub use self::oauth::OAuth;
pub use self::progress::SignInProgress;
pub use self::registration::Credentials;
pub use self::sign_in::{
    AssertionSource, CLIENT_CREDENTIALS_EXTENSION, ENTERPRISE_EXTENSION, Enterprise,
};
pub use self::signing_key::SigningKey;
pub use self::store::{FileTokenStore, MemoryTokenStore, StoreLock, TokenStore};
pub use self::user_agent::{AuthorizationSession, Callback, CustomUserAgent, Loopback, UserAgent};
pub use crate::error::{Error, ErrorKind};
pub use crate::scopes::Scopes;
pub use crate::web::{RequestBody, Resolver};
