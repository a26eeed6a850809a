//! Credentials of clients.

use url::Url;

use crate::Secret;
use crate::client::signing_key::SigningKey;

/// The credentials of a client that is registered with an authorization server.
#[derive(Debug, Clone)]
pub struct Credentials {
    pub(crate) client_id: String,
    pub(crate) secret: Option<Secret>,
    pub(crate) key: Option<SigningKey>,
    pub(crate) issuer: Option<String>,
}

impl Credentials {
    /// Creates credentials with a client id and no secret.
    pub fn new(client_id: impl Into<String>) -> Self {
        Self {
            client_id: client_id.into(),
            secret: None,
            key: None,
            issuer: None,
        }
    }

    /// Sets the client secret.
    #[must_use]
    pub fn secret(mut self, secret: impl Into<Secret>) -> Self {
        self.secret = Some(secret.into());
        self
    }

    /// Sets the key for client authentication by signature (`private_key_jwt`).
    #[must_use]
    pub fn key(mut self, key: SigningKey) -> Self {
        self.key = Some(key);
        self
    }

    /// Sets the issuer of the credentials, the only one that receives them. By default, they are
    /// bound to the first issuer that the server names.
    #[must_use]
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }
}

/// The metadata document of a client.
#[derive(Debug, Clone)]
pub(crate) struct ClientDocument {
    pub(crate) url: Url,
    pub(crate) key: Option<SigningKey>,
}

/// A client authentication method of the token endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AuthMethod {
    None,
    Basic,
    Post,
    Key,
}

impl AuthMethod {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
            Self::Key => "private_key_jwt",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        [Self::None, Self::Basic, Self::Post, Self::Key]
            .into_iter()
            .find(|method| method.name() == name)
    }
}
