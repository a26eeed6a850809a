//! Who is behind a request.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use mcp_protocol::{Grant, Principal};
use serde_json::{Map, Value, json};

use crate::digest::sha256;
use crate::scopes::Scopes;

/// Who a verified token speaks for, and what it says of them. The token itself is not in here, and
/// no handler ever sees it.
///
/// Cloning shares it.
#[derive(Clone)]
pub struct Identity(Arc<IdentityData>);

#[derive(Clone)]
struct IdentityData {
    issuer: String,
    subject: String,
    client: Option<String>,
    scopes: Scopes,
    expires: Option<SystemTime>,
    claims: Map<String, Value>,
}

impl Identity {
    /// Somebody whom this issuer calls `subject`.
    pub fn new(issuer: impl Into<String>, subject: impl Into<String>) -> Self {
        Self(Arc::new(IdentityData {
            issuer: issuer.into(),
            subject: subject.into(),
            client: None,
            scopes: Scopes::default(),
            expires: None,
            claims: Map::new(),
        }))
    }

    /// The client that acts for them.
    #[must_use]
    pub fn with_client(mut self, client: impl Into<String>) -> Self {
        self.data().client = Some(client.into());
        self
    }

    /// What the token is good for: scopes, separated by spaces.
    #[must_use]
    pub fn with_scopes(mut self, scopes: &str) -> Self {
        self.data().scopes = Scopes::parse(scopes);
        self
    }

    /// When the token ends.
    #[must_use]
    pub fn with_expiry(mut self, expires: SystemTime) -> Self {
        self.data().expires = Some(expires);
        self
    }

    /// Everything that was said of them.
    #[must_use]
    pub fn with_claims(mut self, claims: Map<String, Value>) -> Self {
        self.data().claims = claims;
        self
    }

    fn data(&mut self) -> &mut IdentityData {
        Arc::make_mut(&mut self.0)
    }

    /// Who vouches for them.
    pub fn issuer(&self) -> &str {
        &self.0.issuer
    }

    /// Who they are, unique to the issuer.
    pub fn subject(&self) -> &str {
        &self.0.subject
    }

    /// The client that acts for them, if the token tells.
    pub fn client(&self) -> Option<&str> {
        self.0.client.as_deref()
    }

    /// The scopes of the token, and those that they [imply](super::RequireBearerBuilder::implies).
    pub fn scopes(&self) -> &Scopes {
        &self.0.scopes
    }

    /// Whether every word of `scope` is among the scopes.
    pub fn has(&self, scope: &str) -> bool {
        let mut words = scope.split_ascii_whitespace();
        words.all(|word| self.0.scopes.contains(word))
    }

    /// When the token ends, if it tells. Each request is verified by itself: a call that runs then
    /// runs on, and the next request needs another token.
    pub fn expires(&self) -> Option<SystemTime> {
        self.0.expires
    }

    /// A claim of the token.
    pub fn claim(&self, name: &str) -> Option<&Value> {
        self.0.claims.get(name)
    }

    /// All claims of the token, as they were written.
    pub fn claims(&self) -> &Map<String, Value> {
        &self.0.claims
    }

    /// Whose sessions are theirs: the same for the same issuer, subject and client, and for nobody
    /// else. A digest, because principals are printed and kept.
    pub fn principal(&self) -> Principal {
        let data = &*self.0;
        // An array of strings says where each of them ends.
        let key = json!([data.issuer, data.subject, data.client]);
        Principal::new(sha256(&key.to_string()))
    }

    pub(crate) fn grant(&self) -> Grant {
        Grant::new(self.0.scopes.iter())
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("issuer", &self.0.issuer)
            .field("subject", &self.0.subject)
            .field("client", &self.0.client)
            .field("scopes", &self.0.scopes)
            .field("expires", &self.0.expires)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_principal_is_of_one_issuer_one_subject_and_one_client() {
        let of = |issuer, subject, client: Option<&str>| {
            let identity = Identity::new(issuer, subject);
            let client = client.map(|client| identity.clone().with_client(client));
            client.unwrap_or(identity).principal()
        };
        let one = of("https://a", "b", Some("c"));
        assert_eq!(one, of("https://a", "b", Some("c")));
        for other in [
            of("https://a", "b", None),
            of("https://a", "b", Some("")),
            of("https://a", "b", Some("C")),
            of("https://ab", "", Some("c")),
            of("https://a", "b\",\"c", None),
            of("https://a/", "b", Some("c")),
        ] {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn scopes_are_words() {
        let identity = Identity::new("i", "s").with_scopes("read write");
        assert!(identity.has("write read") && identity.has(""));
        assert!(!identity.has("read admin"));
        assert!(identity.grant().covers("read"));
    }

    #[test]
    fn claims_are_not_printed() {
        let mut claims = Map::new();
        claims.insert("email".into(), json!("hunter2@example.com"));
        let identity = Identity::new("i", "s").with_claims(claims);
        assert!(!format!("{identity:?}").contains("hunter2"));
        assert_eq!(identity.claim("email").unwrap(), "hunter2@example.com");
    }
}
