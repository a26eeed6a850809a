//! Tokens: requests, responses, DPoP proofs, and the stored form of tokens.

mod proof;
mod request;
mod response;

use serde::{Deserialize, Serialize};

pub(crate) use self::proof::{DPOP, DpopKey, Nonces, origin};
pub(crate) use self::request::{TokenEndpoint, TokenRequest};
pub(crate) use self::response::{TokenResponse, seconds};
use crate::error::{Error, ErrorKind};
use crate::scopes::Scopes;
use crate::{Secret, secret};

/// The client renews a token this number of seconds before its expiry, but not before half of its lifetime.
const EXPIRY_MARGIN: u64 = 30;

/// The authentication scheme of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum TokenType {
    Bearer,
    #[serde(rename = "DPoP")]
    Dpop,
}

/// The tokens of one sign-in, in the form in which they are stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TokenSet {
    #[serde(rename = "access_token", serialize_with = "secret::serialize")]
    pub(crate) access: Secret,
    #[serde(rename = "token_type")]
    pub(crate) kind: TokenType,
    #[serde(rename = "refresh_token", serialize_with = "secret::serialize_option")]
    pub(crate) refresh: Option<Secret>,
    /// The time of expiry, in seconds since 1970.
    pub(crate) expires_at: Option<u64>,
    /// All requested scopes and all granted scopes.
    #[serde(rename = "scope")]
    pub(crate) scopes: Scopes,
    /// The issuer of the tokens.
    pub(crate) issuer: String,
    /// The resource identifier of the server that accepts the tokens.
    pub(crate) resource: String,
    /// The id of the client that received the tokens.
    pub(crate) client_id: String,
    /// The requested scopes, without further scopes that the authorization server granted.
    #[serde(default)]
    pub(crate) requested: Option<Scopes>,
    /// Whether the sign-in used the configured id of a public client. Another program can then renew the tokens without a stored
    /// registration.
    #[serde(default)]
    pub(crate) has_public_client: bool,
}

impl TokenSet {
    /// Returns whether the access token has expired.
    pub(crate) fn is_expired(&self, now: u64) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }

    /// Returns the time at which the client stops using a token that is valid for `seconds`. This time is slightly before the
    /// expiry, so that the token does not expire in transit.
    pub(crate) fn end(now: u64, seconds: u64) -> u64 {
        now.saturating_add(seconds - EXPIRY_MARGIN.min(seconds / 2))
    }

    pub(crate) fn to_text(&self) -> Result<Secret, Error> {
        secret::to_json(self)
    }

    pub(crate) fn from_text(text: &Secret) -> Result<Self, Error> {
        // The error of the parser might quote a token.
        mcp_jsonrpc::decode_document(text.expose())
            .map_err(|_| Error::new(ErrorKind::Store, "the stored tokens cannot be read"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set() -> TokenSet {
        TokenSet {
            access: "access-canary".into(),
            kind: TokenType::Dpop,
            refresh: Some("refresh-canary".into()),
            expires_at: Some(100),
            scopes: Scopes::parse("a b"),
            issuer: "https://as".to_owned(),
            resource: "https://mcp".to_owned(),
            client_id: "c".to_owned(),
            requested: None,
            has_public_client: false,
        }
    }

    #[test]
    fn stored_tokens_are_restored_unchanged() {
        let again = TokenSet::from_text(&set().to_text().unwrap()).unwrap();
        assert_eq!(again.access.expose(), "access-canary");
        assert_eq!(again.kind, TokenType::Dpop);
        assert_eq!(again.refresh.unwrap().expose(), "refresh-canary");
        assert_eq!(again.scopes, set().scopes);
    }

    #[test]
    fn t42_neither_debug_output_nor_errors_contain_tokens() {
        assert!(!format!("{:?}", set()).contains("canary"));
        let broken = Secret::new("{\"access_token\": \"canary\", \"scope\": canary}");
        let error = TokenSet::from_text(&broken).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("canary"));
    }

    #[test]
    fn a_token_is_renewed_before_it_expires() {
        assert_eq!(TokenSet::end(1_000, 3_600), 4_570);
        assert_eq!(TokenSet::end(1_000, 10), 1_005);
        assert_eq!(TokenSet::end(u64::MAX, u64::MAX), u64::MAX);
        assert!(!set().is_expired(99));
        assert!(set().is_expired(100));
    }
}
