//! What identifies a client to an authorization server.

use url::Url;

use crate::Secret;
use crate::client::signing_key::SigningKey;

/// A client that an authorization server knows already.
#[derive(Debug, Clone)]
pub struct Credentials {
    pub(crate) client_id: String,
    pub(crate) secret: Option<Secret>,
    pub(crate) key: Option<SigningKey>,
    pub(crate) issuer: Option<String>,
}

impl Credentials {
    /// A client by this id, without a secret.
    pub fn new(client_id: impl Into<String>) -> Self {
        Self {
            client_id: client_id.into(),
            secret: None,
            key: None,
            issuer: None,
        }
    }

    /// Its secret.
    #[must_use]
    pub fn secret(mut self, secret: impl Into<Secret>) -> Self {
        self.secret = Some(secret.into());
        self
    }

    /// The key it signs with instead of having a secret (`private_key_jwt`).
    #[must_use]
    pub fn key(mut self, key: SigningKey) -> Self {
        self.key = Some(key);
        self
    }

    /// The issuer that knows it. It is shown to no other; without this, to no other than the one
    /// the server names first.
    #[must_use]
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }
}

/// A client that is described by a document.
#[derive(Debug, Clone)]
pub(crate) struct ClientDocument {
    pub(crate) url: Url,
    pub(crate) key: Option<SigningKey>,
}

/// How a client says who it is at the token endpoint.
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
