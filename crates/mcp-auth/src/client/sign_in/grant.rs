//! In whose name tokens are asked for, and on what grounds.

use std::fmt;
use std::sync::Arc;

use mcp_protocol::BoxFuture;

use crate::Secret;
use crate::client::registration::Credentials;
use crate::client::user_agent::UserAgent;
use crate::error::Error;

/// Why an authorization server should give out tokens.
#[derive(Clone)]
pub(crate) enum Grant {
    /// Nobody was named who could be asked.
    Unset,
    /// A user says yes.
    User(Arc<dyn UserAgent>),
    /// The client acts for itself.
    Client,
    /// A workload shows what its platform says of it.
    Assertion(Arc<dyn AssertionSource>),
    /// An organisation decides for its members.
    Enterprise(Arc<Enterprise>),
}

impl Grant {
    /// Whether a new token costs nobody's time.
    pub(crate) fn is_silent(&self) -> bool {
        !matches!(self, Self::Unset | Self::User(_))
    }
}

/// Says who a program or a person is, signed by somebody the authorization server trusts.
///
/// A [`Secret`] or a string is one that never changes; platforms that renew theirs implement it.
pub trait AssertionSource: Send + Sync + 'static {
    /// An assertion for this audience, the issuer of the tokens.
    ///
    /// # Errors
    /// There is none now.
    fn assertion<'a>(&'a self, audience: &'a str) -> BoxFuture<'a, Result<Secret, Error>>;
}

impl AssertionSource for Secret {
    fn assertion<'a>(&'a self, _audience: &'a str) -> BoxFuture<'a, Result<Secret, Error>> {
        Box::pin(async { Ok(self.clone()) })
    }
}

impl AssertionSource for String {
    fn assertion<'a>(&'a self, _audience: &'a str) -> BoxFuture<'a, Result<Secret, Error>> {
        Box::pin(async { Ok(Secret::new(self.clone())) })
    }
}

/// The extension that a client declares which signs in as
/// [itself](super::OAuthBuilder::client_credentials).
///
/// Specification: [client credentials](https://github.com/modelcontextprotocol/ext-auth).
pub const CLIENT_CREDENTIALS_EXTENSION: &str = "io.modelcontextprotocol/oauth-client-credentials";

/// The extension that a client declares which signs in by an [`Enterprise`].
///
/// Specification: [enterprise-managed authorization](https://github.com/modelcontextprotocol/ext-auth).
pub const ENTERPRISE_EXTENSION: &str = "io.modelcontextprotocol/enterprise-managed-authorization";

/// A user who signed in to their organisation, which decides what they may use.
///
/// The organisation's identity provider exchanges the user's identity token for an assertion to
/// the server's authorization server, which exchanges that for an access token. The user is asked
/// nothing.
///
/// Specification: [enterprise-managed authorization](https://github.com/modelcontextprotocol/ext-auth).
pub struct Enterprise {
    pub(crate) issuer: String,
    pub(crate) token_endpoint: Option<String>,
    pub(crate) client: Credentials,
    pub(crate) identity: Box<dyn AssertionSource>,
}

impl Enterprise {
    /// The identity provider by its issuer, the client as it is known there, and the user's
    /// identity token.
    pub fn new(
        issuer: impl Into<String>,
        client: Credentials,
        identity_token: impl AssertionSource,
    ) -> Self {
        Self {
            issuer: issuer.into(),
            token_endpoint: None,
            client,
            identity: Box::new(identity_token),
        }
    }

    /// Where the identity provider exchanges tokens. Without it, its metadata is asked for.
    #[must_use]
    pub fn token_endpoint(mut self, url: impl Into<String>) -> Self {
        self.token_endpoint = Some(url.into());
        self
    }
}

impl fmt::Debug for Enterprise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Enterprise")
            .field("issuer", &self.issuer)
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}
