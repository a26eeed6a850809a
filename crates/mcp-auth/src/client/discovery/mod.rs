//! Discovery: from a server to the authorization server that issues its tokens, through metadata
//! documents.

mod discover;
mod lenient;

use serde::{Deserialize, Serialize};

pub(crate) use self::discover::{Discovery, DiscoveryResult, Presets};
pub use self::discover::{DiscoveryAttempt, DiscoveryLog};
use crate::scopes::Scopes;

/// Protected resource metadata: the issuers of a server's tokens, and its scopes.
///
/// Specification: [RFC 9728, section 2](https://www.rfc-editor.org/rfc/rfc9728#section-2).
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct ResourceMetadata {
    /// The resource identifier of the server. It is sent to the authorization server unchanged.
    pub resource: String,
    /// The issuers of the server's tokens.
    #[serde(default, deserialize_with = "lenient::list")]
    pub authorization_servers: Vec<String>,
    /// The scopes to request if no challenge names scopes.
    #[serde(default, deserialize_with = "lenient::optional_list")]
    pub scopes_supported: Option<Vec<String>>,
    /// Whether every token must be bound to a key of the client (DPoP).
    #[serde(default, deserialize_with = "lenient::flag")]
    pub dpop_bound_access_tokens_required: bool,
}

impl ResourceMetadata {
    /// Creates a document with the required members.
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

/// Authorization server metadata.
///
/// Specification: [RFC 8414, section 2](https://www.rfc-editor.org/rfc/rfc8414#section-2), [OpenID
/// Connect Discovery, section
/// 3](https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderMetadata).
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[non_exhaustive]
pub struct ServerMetadata {
    /// The issuer, compared byte for byte.
    pub issuer: String,
    /// The endpoint for users' consent.
    pub authorization_endpoint: Option<String>,
    /// The endpoint for tokens.
    pub token_endpoint: Option<String>,
    /// The endpoint for dynamic client registration.
    pub registration_endpoint: Option<String>,
    /// The endpoint that revokes tokens.
    #[serde(default)]
    pub revocation_endpoint: Option<String>,
    /// The supported scopes.
    #[serde(default, deserialize_with = "lenient::optional_list")]
    pub scopes_supported: Option<Vec<String>>,
    /// The supported grant types.
    #[serde(default, deserialize_with = "lenient::optional_list")]
    pub grant_types_supported: Option<Vec<String>>,
    /// The supported client authentication methods of the token endpoint.
    #[serde(default, deserialize_with = "lenient::optional_list")]
    pub token_endpoint_auth_methods_supported: Option<Vec<String>>,
    /// The supported PKCE methods.
    #[serde(default, deserialize_with = "lenient::optional_list")]
    pub code_challenge_methods_supported: Option<Vec<String>>,
    /// Whether the URL of a metadata document can be a client id.
    #[serde(default, deserialize_with = "lenient::flag")]
    pub client_id_metadata_document_supported: bool,
    /// Whether callbacks contain the parameter `iss`.
    #[serde(default, deserialize_with = "lenient::flag")]
    pub authorization_response_iss_parameter_supported: bool,
    /// The signature algorithms of DPoP proofs, if DPoP is supported.
    #[serde(default, deserialize_with = "lenient::optional_list")]
    pub dpop_signing_alg_values_supported: Option<Vec<String>>,
}

impl ServerMetadata {
    /// Creates a document with an issuer and a token endpoint. Set other fields directly.
    pub fn new(issuer: impl Into<String>, token_endpoint: impl Into<String>) -> Self {
        Self {
            issuer: issuer.into(),
            token_endpoint: Some(token_endpoint.into()),
            ..Self::default()
        }
    }

    /// Returns whether the document has all members that the sign-in of a user needs.
    fn is_complete(&self) -> bool {
        self.authorization_endpoint.is_some()
            && self.token_endpoint.is_some()
            && lists(self.code_challenge_methods_supported.as_deref(), "S256")
    }

    pub(crate) fn knows_scope(&self, scope: &str) -> bool {
        lists(self.scopes_supported.as_deref(), scope)
    }
}

/// Returns whether an optional list contains `value`.
pub(crate) fn lists(list: Option<&[String]>, value: &str) -> bool {
    list.is_some_and(|list| list.iter().any(|known| known == value))
}
