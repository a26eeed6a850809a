//! Grants: how a client obtains tokens.

use std::fmt;
use std::sync::Arc;

use mcp_protocol::BoxFuture;

use crate::Secret;
use crate::client::discovery::{DiscoveryLog, DiscoveryResult, ServerMetadata};
use crate::client::inner::Inner;
use crate::client::registration::{Credentials, Registration};
use crate::client::token::{TokenEndpoint, TokenRequest};
use crate::client::user_agent::UserAgent;
use crate::error::{Error, quoted};
use crate::scopes::Scopes;

const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

/// The way in which a client obtains tokens.
#[derive(Clone)]
pub(crate) enum Grant {
    /// No grant is configured.
    Unset,
    /// A user gives consent (authorization code).
    User(Arc<dyn UserAgent>),
    /// The client acts for itself (client credentials).
    Client,
    /// A workload presents an assertion of its platform.
    Assertion(Arc<dyn AssertionSource>),
    /// An organisation authorizes its users.
    Enterprise(Arc<Enterprise>),
}

impl Grant {
    /// Returns whether the grant can obtain a new token without a user.
    pub(crate) fn is_silent(&self) -> bool {
        !matches!(self, Self::Unset | Self::User(_))
    }
}

/// A source of assertions: signed statements about a program or a user that the authorization
/// server trusts.
///
/// [`Secret`] and `String` are sources of a constant assertion. Implement the trait for a platform
/// that renews its assertions.
pub trait AssertionSource: Send + Sync + 'static {
    /// Returns an assertion for the audience `audience`, which is the issuer of the tokens.
    ///
    /// # Errors
    /// Returns an error if no assertion is available at the moment.
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

/// The extension that a client with [client credentials](crate::client::OAuthBuilder::client_credentials)
/// declares.
///
/// Specification: [client credentials](https://github.com/modelcontextprotocol/ext-auth).
pub const CLIENT_CREDENTIALS_EXTENSION: &str = "io.modelcontextprotocol/oauth-client-credentials";

/// The extension that a client with an [`Enterprise`] grant declares.
///
/// Specification: [enterprise-managed
/// authorization](https://github.com/modelcontextprotocol/ext-auth).
pub const ENTERPRISE_EXTENSION: &str = "io.modelcontextprotocol/enterprise-managed-authorization";

/// The grant for a user of an organisation whose identity provider authorizes access.
///
/// The identity provider exchanges the user's identity token for an assertion. The server's authorization server exchanges this
/// assertion for an access token. The user is not asked for consent.
///
/// Specification: [enterprise-managed
/// authorization](https://github.com/modelcontextprotocol/ext-auth).
pub struct Enterprise {
    pub(crate) issuer: String,
    pub(crate) token_endpoint: Option<String>,
    pub(crate) client: Credentials,
    pub(crate) identity: Box<dyn AssertionSource>,
}

impl Enterprise {
    /// Creates the grant. Parameters: the issuer of the identity provider, the client's credentials at this issuer, and the
    /// user's identity token.
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

    /// Sets the token endpoint of the identity provider. Without this setting, the endpoint is discovered.
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

impl Inner {
    /// Sends the user's identity token to the identity provider. Returns an assertion for the server's authorization server.
    ///
    /// Specification: enterprise-managed authorization, token exchange.
    pub(crate) async fn assertion(
        &self,
        enterprise: &Enterprise,
        found: &DiscoveryResult,
        scopes: &Scopes,
    ) -> Result<Secret, Error> {
        let provider = match &enterprise.token_endpoint {
            Some(url) => ServerMetadata::new(&enterprise.issuer, url),
            None => {
                let discovery = self.discovery();
                let mut log = DiscoveryLog::default();
                discovery.issuer(&enterprise.issuer, &mut log).await?
            }
        };
        let identity = enterprise.identity.assertion(&provider.issuer).await?;
        let form = TokenRequest::new("urn:ietf:params:oauth:grant-type:token-exchange")
            .with("requested_token_type", ID_JAG)
            .with("audience", found.server.issuer.as_str())
            .with("resource", found.resource.as_str())
            .and("scope", scopes.to_parameter())
            .with("subject_token", identity)
            .with(
                "subject_token_type",
                "urn:ietf:params:oauth:token-type:id_token",
            );
        let client = Registration::of(&enterprise.client, &provider.issuer);
        let endpoint = TokenEndpoint {
            http_client: &self.http_client,
            server: &provider,
            client: &client,
            dpop_key: None,
            nonces: &self.nonces,
            now: self.now(),
        };
        let answer = endpoint.ask(form).await?;
        match answer.issued.as_deref() {
            Some(ID_JAG) => Ok(answer.access),
            other => Err(Error::invalid_response(format!(
                "the identity provider {} issued a token of type {}; an ID-JAG assertion was \
                     requested",
                quoted(&enterprise.issuer),
                quoted(other.unwrap_or("(no type)"))
            ))),
        }
    }
}
