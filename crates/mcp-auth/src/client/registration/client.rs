//! A client as one authorization server knows it.

use super::credentials::{AuthMethod, ClientDocument, Credentials};
use crate::Secret;
use crate::client::discovery::{ServerMetadata, lists};
use crate::client::signing_key::SigningKey;
use crate::scopes::Scopes;

/// A client as one authorization server knows it.
#[derive(Debug, Clone)]
pub(crate) struct Registration {
    /// Nobody else is shown this client.
    pub(crate) issuer: String,
    pub(crate) client_id: String,
    pub(crate) secret: Option<Secret>,
    pub(crate) key: Option<SigningKey>,
    /// What the server said to use; otherwise what it says it supports decides.
    pub(crate) method: Option<AuthMethod>,
    pub(crate) redirect_uri: Option<String>,
    /// What it may ask for, if that is not everything.
    pub(crate) scopes: Option<Scopes>,
    /// Seconds since 1970.
    pub(crate) expires_at: Option<u64>,
}

impl Registration {
    /// A client that was registered by hand.
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
        }
    }

    /// A client whose id is the URL of a document about it.
    pub(crate) fn document(document: &ClientDocument, issuer: &str) -> Self {
        let credentials = Credentials {
            key: document.key.clone(),
            ..Credentials::new(document.url.as_str())
        };
        Self::of(&credentials, issuer)
    }

    /// How to say who it is to this server.
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
            // RFC 8414: what a server supports that says nothing.
            (_, Some(_)) => AuthMethod::Basic,
            (_, None) => AuthMethod::None,
        }
    }

    pub(crate) fn is_usable(&self, redirect_uri: &str, scopes: &Scopes, now: u64) -> bool {
        let may_ask = self.scopes.as_ref();
        self.redirect_uri.as_deref() == Some(redirect_uri)
            && may_ask.is_none_or(|known| known.contains_all(scopes))
            && self.expires_at.is_none_or(|end| now < end)
    }
}
