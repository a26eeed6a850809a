//! The verified identity of a caller.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use mcp_protocol::{Caller, Grant, Principal, TransportFacts};
use serde_json::{Map, Value, json};

use crate::digest::sha256;
use crate::scopes::Scopes;

/// The content of a verified token. The token itself is not included, so handlers cannot see it.
///
/// Clones share the content.
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
    /// Creates the identity of a subject at an issuer.
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

    /// Sets the client that acts for the subject.
    #[must_use]
    pub fn with_client(mut self, client: impl Into<String>) -> Self {
        self.data().client = Some(client.into());
        self
    }

    /// Sets the scopes of the token, separated by spaces.
    #[must_use]
    pub fn with_scopes(mut self, scopes: &str) -> Self {
        self.data().scopes = Scopes::parse(scopes);
        self
    }

    /// Sets the expiry of the token.
    #[must_use]
    pub fn with_expiry(mut self, expires: SystemTime) -> Self {
        self.data().expires = Some(expires);
        self
    }

    /// Sets all claims of the token.
    #[must_use]
    pub fn with_claims(mut self, claims: Map<String, Value>) -> Self {
        self.data().claims = claims;
        self
    }

    fn data(&mut self) -> &mut IdentityData {
        Arc::make_mut(&mut self.0)
    }

    /// Returns the issuer of the token.
    pub fn issuer(&self) -> &str {
        &self.0.issuer
    }

    /// Returns the subject, which is unique at its issuer.
    pub fn subject(&self) -> &str {
        &self.0.subject
    }

    /// Returns the client that acts for the subject, if the token names it.
    pub fn client(&self) -> Option<&str> {
        self.0.client.as_deref()
    }

    /// Returns the scopes of the token, and the scopes that they
    /// [imply](super::RequireBearerBuilder::implies).
    pub fn scopes(&self) -> &Scopes {
        &self.0.scopes
    }

    /// Returns whether all scopes in `scope`, separated by spaces, are granted.
    pub fn has(&self, scope: &str) -> bool {
        let mut words = scope.split_ascii_whitespace();
        words.all(|word| self.0.scopes.contains(word))
    }

    /// Returns the expiry of the token, if it has one. Each request is verified separately. A running call continues after the
    /// expiry, but the next request needs another token.
    pub fn expires(&self) -> Option<SystemTime> {
        self.0.expires
    }

    /// Returns a claim of the token.
    pub fn claim(&self, name: &str) -> Option<&Value> {
        self.0.claims.get(name)
    }

    /// Returns all claims of the token.
    pub fn claims(&self) -> &Map<String, Value> {
        &self.0.claims
    }

    /// Returns the principal that owns the sessions of this identity. Identities with the same issuer, subject and client have
    /// the same principal. The principal is a digest, because principals are logged and stored. Store data of the user under
    /// [`user`](Self::user), not under the principal.
    pub fn principal(&self) -> Principal {
        match self.client() {
            None => Principal::new(self.user()),
            client => Principal::new(self.digest(client)).with_user(self.user()),
        }
    }

    /// Returns the key of the user, a digest of the issuer and the subject. The key is the same for all clients of the user, and
    /// is equal to [`Principal::user`].
    pub fn user(&self) -> String {
        self.digest(None)
    }

    fn digest(&self, client: Option<&str>) -> String {
        // JSON strings have unambiguous ends.
        let key = json!([self.0.issuer, self.0.subject, client]);
        sha256(&key.to_string())
    }

    pub(crate) fn grant(&self) -> Grant {
        Grant::new(self.0.scopes.iter())
    }
}

/// Creates a caller that has this identity in all requests of a connection, for tests of servers with
/// `mcp_server::testing::TestClient::signed_in`.
impl From<Identity> for Caller {
    fn from(identity: Identity) -> Self {
        let mut caller = Self::remote();
        caller.principal = Some(identity.principal());
        caller.grant = Some(identity.grant());
        caller.facts = Some(Box::new(IdentityFacts(identity)));
        caller
    }
}

/// Transport facts that consist of the identity only.
struct IdentityFacts(Identity);

impl TransportFacts for IdentityFacts {
    fn facts(&self) -> &(dyn Any + Send + Sync) {
        &self.0
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
    fn a_principal_identifies_issuer_subject_and_client() {
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
    fn a_user_is_the_same_with_every_client() {
        let bare = Identity::new("https://a", "b");
        let with = |client| bare.clone().with_client(client);
        for identity in [bare.clone(), with("c"), with("")] {
            assert_eq!(identity.principal().user(), bare.user());
        }
        assert_eq!(bare.principal().as_str(), bare.user());
        assert_ne!(Identity::new("https://a", "c").user(), bare.user());
        assert_ne!(Identity::new("https://ab", "").user(), bare.user());
    }

    #[test]
    fn scopes_are_space_separated_tokens() {
        let identity = Identity::new("i", "s").with_scopes("read write");
        assert!(identity.has("write read") && identity.has(""));
        assert!(!identity.has("read admin"));
        assert!(identity.grant().covers("read"));
    }

    #[test]
    fn debug_output_of_an_identity_omits_its_claims() {
        let mut claims = Map::new();
        claims.insert("email".into(), json!("hunter2@example.com"));
        let identity = Identity::new("i", "s").with_claims(claims);
        assert!(!format!("{identity:?}").contains("hunter2"));
        assert_eq!(identity.claim("email").unwrap(), "hunter2@example.com");
    }
}
