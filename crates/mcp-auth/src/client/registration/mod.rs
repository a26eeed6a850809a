//! The registration of a client: configured credentials, a metadata document, or dynamic
//! registration.

mod register;

use serde::{Deserialize, Serialize};
use url::Url;

pub(crate) use self::register::{ClientProfile, register};
use crate::client::discovery::{ServerMetadata, lists};
use crate::client::signing_key::SigningKey;
use crate::scopes::Scopes;
use crate::{Secret, secret};

/// The credentials of a client that is registered with an authorization server.
#[derive(Debug, Clone)]
pub struct Credentials {
    pub(crate) client_id: String,
    pub(crate) secret: Option<Secret>,
    pub(crate) key: Option<SigningKey>,
    pub(crate) issuer: Option<String>,
    pub(crate) accepts_any_issuer: bool,
}

impl Credentials {
    /// Creates credentials with a client id and no secret.
    pub fn new(client_id: impl Into<String>) -> Self {
        Self {
            client_id: client_id.into(),
            secret: None,
            key: None,
            issuer: None,
            accepts_any_issuer: false,
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

    /// Sets the issuer of the credentials. The client sends the credentials to no other issuer. Credentials with a secret, a key
    /// or an assertion require this setting. Other credentials do not: without this setting, the client binds them to the first
    /// issuer that the server names.
    #[must_use]
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }

    /// Allows the client to send a secret, a signature or an assertion to the first issuer that the server names. Use it only if
    /// you trust the server as much as the issuer: a compromised server can name another issuer, which then receives the secret.
    #[must_use]
    pub fn accept_any_issuer(mut self) -> Self {
        self.accepts_any_issuer = true;
        self
    }
}

/// The settings for a client's metadata document.
#[derive(Debug, Clone)]
pub(crate) struct ClientDocument {
    pub(crate) url: Url,
    pub(crate) key: Option<SigningKey>,
}

/// A client authentication method of the token endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum AuthMethod {
    #[serde(rename = "none")]
    None,
    #[serde(rename = "client_secret_basic")]
    Basic,
    #[serde(rename = "client_secret_post")]
    Post,
    #[serde(rename = "private_key_jwt")]
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

/// A client that is registered with one authorization server, in the form in which it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Registration {
    /// The only issuer that receives the client's credentials. In the store, the issuer is a part of the entry's name.
    #[serde(skip)]
    pub(crate) issuer: String,
    pub(crate) client_id: String,
    #[serde(rename = "client_secret", serialize_with = "secret::serialize_option")]
    pub(crate) secret: Option<Secret>,
    #[serde(skip)]
    pub(crate) key: Option<SigningKey>,
    /// The authentication method of the registration. `None` if the server's metadata determines the method.
    #[serde(rename = "token_endpoint_auth_method")]
    pub(crate) method: Option<AuthMethod>,
    pub(crate) redirect_uri: Option<String>,
    /// The scopes that the client may request, if the registration restricts them.
    #[serde(rename = "scope")]
    pub(crate) scopes: Option<Scopes>,
    /// The time of expiry, in seconds since 1970.
    pub(crate) expires_at: Option<u64>,
    /// Whether the authorization server did not respond to the last authorization request of this client. The authorization
    /// server may have forgotten the client.
    #[serde(default)]
    pub(crate) is_unanswered: bool,
}

impl Registration {
    /// Creates a registration from configured credentials.
    pub(crate) fn of(credentials: &Credentials, issuer: &str) -> Self {
        Self {
            issuer: issuer.to_owned(),
            client_id: credentials.client_id.clone(),
            secret: credentials.secret.clone(),
            key: credentials.key.clone(),
            method: None,
            redirect_uri: None,
            scopes: None,
            expires_at: None,
            is_unanswered: false,
        }
    }

    /// Creates a registration whose client id is the URL of the client's metadata document.
    pub(crate) fn document(document: &ClientDocument, issuer: &str) -> Self {
        let credentials = Credentials {
            key: document.key.clone(),
            ..Credentials::new(document.url.as_str())
        };
        Self::of(&credentials, issuer)
    }

    /// Returns the client authentication method for this server.
    pub(crate) fn method(&self, server: &ServerMetadata) -> AuthMethod {
        if let Some(method) = self.method {
            return method;
        }
        let supported = server.token_endpoint_auth_methods_supported.as_deref();
        let has = |method: AuthMethod| lists(supported, method.name());
        match (&self.key, &self.secret) {
            (Some(_), None) => AuthMethod::Key,
            (Some(_), Some(_)) if has(AuthMethod::Key) => AuthMethod::Key,
            (_, Some(_)) if !has(AuthMethod::Basic) && has(AuthMethod::Post) => AuthMethod::Post,
            // RFC 8414: the default of servers that list no methods.
            (_, Some(_)) => AuthMethod::Basic,
            (_, None) => AuthMethod::None,
        }
    }

    pub(crate) fn is_usable(&self, redirect_uri: &str, scopes: &Scopes, now: u64) -> bool {
        let registered = self.scopes.as_ref();
        !self.is_unanswered
            && self.redirect_uri.as_deref() == Some(redirect_uri)
            && registered.is_none_or(|registered| registered.contains_all(scopes))
            && self.expires_at.is_none_or(|end| now < end)
    }
}
