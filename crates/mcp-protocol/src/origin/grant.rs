//! The scopes granted to a request.

use std::fmt;
use std::sync::{Arc, Mutex};

use super::{RequestOrigin, TransportFacts};
use crate::sync::lock;

/// The scopes that the verified token of a request grants.
///
/// The authentication layer attaches the grant to the request. A server that needs a scope calls [`demand`](Self::demand), which
/// records a missing scope. Afterwards, the authentication layer reads the [missing](Self::missing) scope and sends a challenge
/// to the client. All clones share the scopes and the record.
///
/// Specification: [scope challenges][spec].
///
/// [spec]: https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization#scope-challenge-handling
#[derive(Clone)]
pub struct Grant {
    scopes: Arc<[Box<str>]>,
    missing: Option<Arc<Mutex<Option<String>>>>,
}

impl Grant {
    /// Creates a grant with these scopes. Each scope is one word.
    pub fn new<T: Into<Box<str>>>(scopes: impl IntoIterator<Item = T>) -> Self {
        Self {
            scopes: scopes.into_iter().map(Into::into).collect(),
            missing: Some(Arc::default()),
        }
    }

    /// Returns a grant with the same scopes that does not record a missing scope. Use it for a request in a batch, because a
    /// challenge cannot replace the response to such a request.
    #[must_use]
    pub fn unanswered(&self) -> Self {
        Self {
            scopes: Arc::clone(&self.scopes),
            missing: None,
        }
    }

    /// Returns a grant with the scopes that both grants contain. It does not record a missing scope.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let both = self
            .scopes
            .iter()
            .filter(|scope| other.scopes.contains(scope));
        Self {
            scopes: both.cloned().collect(),
            missing: None,
        }
    }

    /// Iterates over the scopes.
    pub fn scopes(&self) -> impl Iterator<Item = &str> {
        self.scopes.iter().map(|scope| &**scope)
    }

    /// Returns whether every word of `scope` is granted.
    pub fn covers(&self, scope: &str) -> bool {
        scope
            .split_ascii_whitespace()
            .all(|word| self.scopes().any(|granted| granted == word))
    }

    /// Returns whether every word of `scope` is granted. If not, records the scope as missing.
    pub fn demand(&self, scope: &str) -> bool {
        let covered = self.covers(scope);
        if !covered && let Some(missing) = &self.missing {
            lock(missing).get_or_insert_with(|| scope.to_owned());
        }
        covered
    }

    /// Returns the first scope that was demanded and is not granted, with all its words.
    pub fn missing(&self) -> Option<String> {
        lock(self.missing.as_ref()?).clone()
    }
}

impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Grant").field(&self.scopes).finish()
    }
}

/// The origin of a connection, as far as its transport knows the origin. [`origin`](Self::origin) returns it as the
/// [`RequestOrigin`] of each request on the connection.
#[derive(Default)]
#[non_exhaustive]
pub struct Caller {
    /// The verified principal.
    pub principal: Option<crate::Principal>,
    /// The granted scopes.
    pub grant: Option<Grant>,
    /// Facts from the transport about the connection.
    pub facts: Option<Box<dyn TransportFacts>>,
    local: bool,
}

impl Caller {
    /// Creates the caller for the parent of this process, which has every permission.
    pub fn local() -> Self {
        Self {
            local: true,
            ..Self::default()
        }
    }

    /// Creates a remote caller without a principal or a grant. This caller may use everything that needs no scope.
    pub fn remote() -> Self {
        Self::default()
    }

    /// Returns the origin of the caller's requests.
    pub fn origin(&self) -> RequestOrigin<'_> {
        let origin = if self.local {
            RequestOrigin::local()
        } else {
            RequestOrigin::remote()
        };
        origin
            .with_principal(self.principal.as_ref())
            .with_grant(self.grant.as_ref())
            .with_facts(self.facts.as_deref())
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.origin(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_a_scope_must_be_granted() {
        let grant = Grant::new(["read", "write"]);
        assert!(grant.covers("read") && grant.covers("write  read") && grant.covers(""));
        assert!(!grant.covers("rea") && !grant.covers("read admin"));
    }

    #[test]
    fn an_intersection_has_the_scopes_that_both_grants_have() {
        let grant = Grant::new(["read", "write"]).intersection(&Grant::new(["write", "admin"]));
        assert_eq!(grant.scopes().collect::<Vec<_>>(), ["write"]);
    }

    #[test]
    fn the_first_missing_scope_is_recorded_for_all_clones_of_a_grant() {
        let grant = Grant::new(["read"]);
        assert!(grant.clone().demand("read"));
        assert_eq!(grant.missing(), None);
        assert!(!grant.clone().demand("write admin"));
        assert!(!grant.demand("more"));
        assert_eq!(grant.missing().as_deref(), Some("write admin"));

        let batch = Grant::new(["read"]).unanswered();
        assert!(!batch.demand("write"));
        assert_eq!(batch.missing(), None);
    }
}
