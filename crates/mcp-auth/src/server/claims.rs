//! Claims of tokens and their validation.
//!
//! Specification: [RFC 9068, section 4](https://www.rfc-editor.org/rfc/rfc9068#section-4);
//! authorization, token handling.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value};

use super::audience::Audience;
use super::identity::Identity;
use super::verify::{Rejection, RejectionReason};

/// Maximum clock skew between the issuer and this server.
pub(crate) const SKEW: Duration = Duration::from_secs(60);

pub(crate) const BOUND: &str = "the token is bound to a key and cannot be used as a bearer token";
pub(crate) const UNBOUND: &str = "the token is not bound to a key; send it as a bearer token";

/// The authentication scheme of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    Bearer,
    /// The token is bound to a key, and the request has a proof with a signature of this key.
    Dpop,
}

#[derive(Clone, Copy)]
pub(crate) struct Claims<'a>(&'a Map<String, Value>);

impl<'a> Claims<'a> {
    pub(crate) fn new(claims: &'a Map<String, Value>) -> Self {
        Self(claims)
    }

    /// Returns a string claim; `None` if it is missing.
    pub(crate) fn text(self, name: &str) -> Result<Option<&'a str>, Rejection> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Rejection::invalid("the claims of the token cannot be read")),
        }
    }

    /// Rejects a bound token that was sent with the scheme `Bearer`, and an unbound token that was sent with the scheme `DPoP`.
    pub(crate) fn check_binding(self, scheme: Scheme) -> Result<(), Rejection> {
        match scheme {
            Scheme::Bearer if self.has("cnf") => Err(Rejection::invalid(BOUND)),
            Scheme::Dpop if self.key().is_none() => Err(Rejection::invalid(UNBOUND)),
            _ => Ok(()),
        }
    }

    /// Returns the thumbprint of the key to which the token is bound; `None` if the token is not bound.
    pub(crate) fn key(self) -> Option<&'a str> {
        self.0.get("cnf")?.get("jkt")?.as_str()
    }

    /// Returns whether the token is for this server.
    pub(crate) fn names(self, audience: &Audience) -> bool {
        match self.0.get("aud") {
            Some(Value::String(name)) => audience.matches(name),
            Some(Value::Array(names)) => {
                // A list with other values is not a list of audiences.
                let mut names = names.iter().map(Value::as_str);
                let is_text = names.clone().all(|name| name.is_some());
                is_text && names.any(|name| name.is_some_and(|name| audience.matches(name)))
            }
            _ => false,
        }
    }

    /// Rejects a token for another server. The response does not tell the client the valid audiences.
    pub(crate) fn other_audience(self) -> Rejection {
        let names = self.0.get("aud").unwrap_or(&Value::Null);
        Rejection(RejectionReason::Audience(names.to_string()))
    }

    pub(crate) fn is_active(self) -> bool {
        self.0.get("active") == Some(&Value::Bool(true))
    }

    pub(crate) fn has(self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Returns the expiry of the token, if it has one.
    pub(crate) fn expires(self) -> Result<Option<SystemTime>, Rejection> {
        self.time("exp")
    }

    /// Checks that the token is valid at this time.
    pub(crate) fn check_times(self, now: SystemTime, skew: Duration) -> Result<(), Rejection> {
        let expires = self.expires()?;
        if expires.is_some_and(|end| end.checked_add(skew).is_some_and(|end| now >= end)) {
            return Err(Rejection::invalid("the token has expired"));
        }
        let latest = now.checked_add(skew);
        let is_ahead = |time: SystemTime| latest.is_some_and(|latest| time > latest);
        if self.time("nbf")?.is_some_and(is_ahead) {
            return Err(Rejection::invalid("the token is not valid yet"));
        }
        if self.time("iat")?.is_some_and(is_ahead) {
            return Err(Rejection::invalid("the token was issued in the future"));
        }
        Ok(())
    }

    /// Returns a time claim: seconds since 1970. Ignores a fraction.
    fn time(self, name: &str) -> Result<Option<SystemTime>, Rejection> {
        let Some(value) = self.0.get(name) else {
            return Ok(None);
        };
        let unreadable = || Rejection::invalid("a time claim of the token cannot be read");
        let seconds = value.as_u64().or_else(|| {
            let seconds = value.as_f64()?;
            // Larger integers are not exact in a float.
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the range is checked"
            )]
            (0.0..9_007_199_254_740_992.0)
                .contains(&seconds)
                .then_some(seconds as u64)
        });
        let seconds = seconds.ok_or_else(unreadable)?;
        let time = UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
        time.map(Some).ok_or_else(unreadable)
    }

    /// Returns the scopes from the claim `scope`, or from the claim `scp`, which some issuers use.
    fn scopes(self) -> Result<String, Rejection> {
        let value = self.0.get("scope").or_else(|| self.0.get("scp"));
        let list: Option<Vec<&str>> = match value {
            None => Some(Vec::new()),
            Some(Value::String(words)) => Some(vec![words]),
            Some(Value::Array(words)) => words.iter().map(Value::as_str).collect(),
            Some(_) => None,
        };
        let list =
            list.ok_or_else(|| Rejection::invalid("the scopes of the token cannot be read"))?;
        Ok(list.join(" "))
    }

    /// Returns the identity that the claims describe.
    pub(crate) fn identity(self, issuer: &str, subject: &str) -> Result<Identity, Rejection> {
        let mut identity = Identity::new(issuer, subject).with_scopes(&self.scopes()?);
        let client = match self.text("client_id")? {
            None => self.text("azp")?,
            client => client,
        };
        if let Some(client) = client {
            identity = identity.with_client(client);
        }
        if let Some(expires) = self.expires()? {
            identity = identity.with_expiry(expires);
        }
        Ok(identity)
    }
}
