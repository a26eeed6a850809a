//! What a request may do.

use std::fmt;
use std::sync::{Arc, Mutex};

use crate::sync::lock;

/// What a request may do, as whoever verified its credentials tells: the scopes of its token.
///
/// What stands before a server puts it beside the request; a server that needs more than is
/// granted [demands](Self::demand) it, and who put the grant there reads afterwards what was
/// [missing](Self::missing) and asks the client for it. Cloning shares both.
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
    /// A grant of these scopes, each one word.
    pub fn new<T: Into<Box<str>>>(scopes: impl IntoIterator<Item = T>) -> Self {
        Self {
            scopes: scopes.into_iter().map(Into::into).collect(),
            missing: Some(Arc::default()),
        }
    }

    /// The same scopes, but what is demanded in vain is not noted: for a request whose answer is
    /// one of several, where it cannot be replaced by a challenge.
    #[must_use]
    pub fn unanswered(&self) -> Self {
        Self {
            scopes: Arc::clone(&self.scopes),
            missing: None,
        }
    }

    /// The scopes.
    pub fn scopes(&self) -> impl Iterator<Item = &str> {
        self.scopes.iter().map(|scope| &**scope)
    }

    /// Whether every word of `scope` is granted.
    pub fn covers(&self, scope: &str) -> bool {
        scope
            .split_ascii_whitespace()
            .all(|word| self.scopes().any(|granted| granted == word))
    }

    /// Whether every word of `scope` is granted; if not, that is noted.
    pub fn demand(&self, scope: &str) -> bool {
        let covered = self.covers(scope);
        if !covered && let Some(missing) = &self.missing {
            lock(missing).get_or_insert_with(|| scope.to_owned());
        }
        covered
    }

    /// The first scope that was demanded in vain, all its words.
    pub fn missing(&self) -> Option<String> {
        lock(self.missing.as_ref()?).clone()
    }
}

impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Grant").field(&self.scopes).finish()
    }
}

/// Who opened a connection, as far as its transport knows.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Caller {
    /// On whose behalf; see [`Link::principal`](crate::Link::principal).
    pub principal: Option<crate::Principal>,
    /// What may be done; see [`Link::permits`](crate::Link::permits).
    pub grant: Option<Grant>,
    /// What the transport knows; see [`Link::facts`](crate::Link::facts).
    pub facts: Option<Box<dyn std::any::Any + Send + Sync>>,
    local: bool,
}

impl Caller {
    /// Whoever started this process, who may do everything.
    pub fn local() -> Self {
        Self {
            local: true,
            ..Self::default()
        }
    }

    /// Somebody elsewhere, who may do what needs no scope.
    pub fn remote() -> Self {
        Self::default()
    }

    pub(crate) fn is_local(&self) -> bool {
        self.local
    }

    pub(crate) fn permits(&self, scope: &str) -> bool {
        self.local || self.grant.as_ref().is_some_and(|it| it.demand(scope))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_a_scope_has_to_be_granted() {
        let grant = Grant::new(["read", "write"]);
        assert!(grant.covers("read") && grant.covers("write  read") && grant.covers(""));
        assert!(!grant.covers("rea") && !grant.covers("read admin"));
    }

    #[test]
    fn what_was_demanded_in_vain_is_noted_once_and_shared() {
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

    #[test]
    fn only_who_started_the_process_may_do_everything() {
        assert!(Caller::local().permits("anything"));
        assert!(!Caller::remote().permits("anything"));
        let mut caller = Caller::remote();
        caller.grant = Some(Grant::new(["some"]));
        assert!(caller.permits("some") && !caller.permits("anything"));
    }
}
