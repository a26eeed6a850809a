//! The two documents that lead from a server to its tokens.

use serde::{Deserialize, Serialize};

use crate::scopes::Scopes;

/// What a server says of itself: who gives out tokens for it, and which scopes there are.
///
/// Specification: [RFC 9728, section 2](https://www.rfc-editor.org/rfc/rfc9728#section-2).
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct ResourceMetadata {
    /// The server, as tokens name it. It is sent to the authorization server as it is written.
    pub resource: String,
    /// The issuers of its tokens.
    #[serde(default)]
    pub authorization_servers: Vec<String>,
    /// What to ask for if no challenge says so.
    #[serde(default)]
    pub scopes_supported: Option<Vec<String>>,
    /// Whether every token has to be bound to a key of the client.
    #[serde(default)]
    pub dpop_bound_access_tokens_required: bool,
}

impl ResourceMetadata {
    /// A document with what it must have.
    pub fn new(resource: impl Into<String>, issuer: impl Into<String>) -> Self {
        Self {
            resource: resource.into(),
            authorization_servers: vec![issuer.into()],
            scopes_supported: None,
            dpop_bound_access_tokens_required: false,
        }
    }

    pub(crate) fn scopes(&self) -> Option<Scopes> {
        let scopes = self.scopes_supported.as_ref()?;
        let scopes: Scopes = scopes.iter().map(String::as_str).collect();
        (!scopes.is_empty()).then_some(scopes)
    }
}

/// What an authorization server says of itself.
///
/// Specification: [RFC 8414, section 2](https://www.rfc-editor.org/rfc/rfc8414#section-2),
/// [OpenID Connect Discovery, section 3](https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderMetadata).
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[non_exhaustive]
pub struct ServerMetadata {
    /// Its name, which is compared to the letter.
    pub issuer: String,
    /// Where users say yes.
    pub authorization_endpoint: Option<String>,
    /// Where tokens are given out.
    pub token_endpoint: Option<String>,
    /// Where clients register themselves.
    pub registration_endpoint: Option<String>,
    /// The scopes it knows.
    pub scopes_supported: Option<Vec<String>>,
    /// The grants it knows.
    pub grant_types_supported: Option<Vec<String>>,
    /// How clients may say who they are at the token endpoint.
    pub token_endpoint_auth_methods_supported: Option<Vec<String>>,
    /// The kinds of PKCE it knows.
    pub code_challenge_methods_supported: Option<Vec<String>>,
    /// Whether a URL may stand for a client.
    #[serde(default)]
    pub client_id_metadata_document_supported: bool,
    /// Whether callbacks say which server they are from.
    #[serde(default)]
    pub authorization_response_iss_parameter_supported: bool,
    /// The algorithms of proofs of possession, if it binds tokens to keys.
    pub dpop_signing_alg_values_supported: Option<Vec<String>>,
}

impl ServerMetadata {
    /// A document with what every grant needs; the rest is set field by field.
    pub fn new(issuer: impl Into<String>, token_endpoint: impl Into<String>) -> Self {
        Self {
            issuer: issuer.into(),
            token_endpoint: Some(token_endpoint.into()),
            ..Self::default()
        }
    }

    pub(crate) fn knows_scope(&self, scope: &str) -> bool {
        lists(self.scopes_supported.as_deref(), scope)
    }
}

/// Whether a list that may be missing has this value.
pub(crate) fn lists(list: Option<&[String]>, value: &str) -> bool {
    list.is_some_and(|list| list.iter().any(|known| known == value))
}
