//! What is said of a token, by itself or by who issued it, and whether that is enough.
//!
//! Specification: [RFC 9068, section 4](https://www.rfc-editor.org/rfc/rfc9068#section-4);
//! authorization, token handling.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value};

use super::audience::Audience;
use super::identity::Identity;
use super::verify::Rejection;

/// No clock is further off than this.
pub(crate) const SKEW: Duration = Duration::from_secs(60);

/// The claims of a token, to be read.
#[derive(Clone, Copy)]
pub(crate) struct Claims<'a>(&'a Map<String, Value>);

impl<'a> Claims<'a> {
    pub(crate) fn new(claims: &'a Map<String, Value>) -> Self {
        Self(claims)
    }

    /// A claim that is text; `None` if it is missing.
    pub(crate) fn text(self, name: &str) -> Result<Option<&'a str>, Rejection> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Rejection::invalid("the claims of the token cannot be read")),
        }
    }

    /// What is said of a token that may be bound to a key of its client.
    pub(crate) fn check_unbound(self) -> Result<(), Rejection> {
        if self.has("cnf") {
            return Err(Rejection::invalid(
                "the token is bound to a key and is no bearer token",
            ));
        }
        Ok(())
    }

    /// Whether the token is for this server.
    pub(crate) fn names(self, audience: &Audience) -> bool {
        match self.0.get("aud") {
            Some(Value::String(name)) => audience.matches(name),
            Some(Value::Array(names)) => {
                // One that is no text makes it a list of something else.
                let mut names = names.iter().map(Value::as_str);
                let is_text = names.clone().all(|name| name.is_some());
                is_text && names.any(|name| name.is_some_and(|name| audience.matches(name)))
            }
            _ => false,
        }
    }

    pub(crate) fn is_true(self, name: &str) -> bool {
        self.0.get(name) == Some(&Value::Bool(true))
    }

    pub(crate) fn has(self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// When the token ends, if it tells.
    pub(crate) fn expires(self) -> Result<Option<SystemTime>, Rejection> {
        self.time("exp")
    }

    /// Checks that the token is good now.
    pub(crate) fn check_times(self, now: SystemTime, skew: Duration) -> Result<(), Rejection> {
        let expires = self.expires()?;
        if expires.is_some_and(|end| later(end, skew).is_some_and(|end| now >= end)) {
            return Err(Rejection::invalid("the token has expired"));
        }
        let latest = later(now, skew);
        let is_ahead = |time: SystemTime| latest.is_some_and(|latest| time > latest);
        if self.time("nbf")?.is_some_and(is_ahead) {
            return Err(Rejection::invalid("the token is not good yet"));
        }
        if self.time("iat")?.is_some_and(is_ahead) {
            return Err(Rejection::invalid("the token was issued in the future"));
        }
        Ok(())
    }

    /// Seconds since 1970, perhaps with a fraction, which is nobody's business.
    fn time(self, name: &str) -> Result<Option<SystemTime>, Rejection> {
        let Some(value) = self.0.get(name) else {
            return Ok(None);
        };
        let unreadable = || Rejection::invalid("the token has a time that cannot be read");
        let seconds = value.as_u64().or_else(|| {
            let seconds = value.as_f64()?;
            // What is exact in a float; clocks do not go further.
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it is in the range"
            )]
            (0.0..9_007_199_254_740_992.0)
                .contains(&seconds)
                .then_some(seconds as u64)
        });
        let seconds = seconds.ok_or_else(unreadable)?;
        let time = UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
        time.map(Some).ok_or_else(unreadable)
    }

    /// The scopes, from `scope` or from what some issuers have in its place.
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

    /// Who is meant, if all of it is true.
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

fn later(time: SystemTime, by: Duration) -> Option<SystemTime> {
    time.checked_add(by)
}
