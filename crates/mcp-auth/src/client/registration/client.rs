//! A registered client.

use super::credentials::{AuthMethod, ClientDocument, Credentials};
use crate::Secret;
use crate::client::discovery::{ServerMetadata, lists};
use crate::client::signing_key::SigningKey;
use crate::scopes::Scopes;

/// A client that is registered with one authorization server.
#[derive(Debug, Clone)]
pub(crate) struct Registration {
    /// The client's credentials are sent to this issuer only.
    pub(crate) issuer: String,
    pub(crate) client_id: String,
    pub(crate) secret: Option<Secret>,
    pub(crate) key: Option<SigningKey>,
    /// The authentication method of the registration. Without one, the server's metadata decides.
    pub(crate) method: Option<AuthMethod>,
    pub(crate) redirect_uri: Option<String>,
    /// The scopes it may request, if they are restricted.
    pub(crate) scopes: Option<Scopes>,
    /// Seconds since 1970.
    pub(crate) expires_at: Option<u64>,
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
        }
    }

    /// Creates a registration whose client id is the URL of a metadata document.
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
        let may_ask = self.scopes.as_ref();
        self.redirect_uri.as_deref() == Some(redirect_uri)
            && may_ask.is_none_or(|known| known.contains_all(scopes))
            && self.expires_at.is_none_or(|end| now < end)
    }
}
