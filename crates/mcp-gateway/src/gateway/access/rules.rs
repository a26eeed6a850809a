//! The rules of an [`AccessPolicy`], prepared for many decisions.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex};

use mcp_host::matches_pattern;
use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{RequestContext, lock};

use super::{AccessPolicy, AccessRule, Effect, Item, ItemKind};
use crate::catalog::{RuledUri, UriPattern, UriSource, split_scheme};
use crate::text::without_case;

/// Maximum number of cached decisions. At this number, the cache is cleared.
const MAX_KNOWN: usize = 64 << 10;
/// Maximum number of scopes of a cached decision.
const MAX_KNOWN_SCOPES: usize = 8;

/// The rules of a policy. Clones share the cached decisions.
#[derive(Clone)]
pub(crate) struct Rules(Arc<Prepared>);

struct Prepared {
    policy: AccessPolicy,
    /// The patterns and scopes of the rules, in the order of the rules.
    patterns: Vec<(UriPattern, Option<Arc<str>>)>,
    known: Decisions,
}

/// The decision of the rules about an item.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::gateway) enum Decision {
    /// Clients may use the item if they have these scopes.
    Allowed(Vec<Arc<str>>),
    /// The position of the rule that denies the item.
    Denied(usize),
    /// The rules cannot be applied, because servers may interpret the URI in different ways. Clients cannot use the item. The
    /// text contains the reason.
    Ambiguous(&'static str),
}

impl Decision {
    /// Returns whether lists show the item to clients.
    pub(in crate::gateway) fn is_shown(&self) -> bool {
        matches!(self, Self::Allowed(_))
    }

    /// Returns whether all clients may use the item, regardless of their scopes.
    pub(in crate::gateway) fn is_for_all(&self) -> bool {
        matches!(self, Self::Allowed(scopes) if scopes.is_empty())
    }

    /// Returns whether the client may use the item. Does not record a missing scope: the caller omits the item, and the
    /// request still succeeds, so no challenge is needed.
    pub(in crate::gateway) fn is_usable(&self, context: &RequestContext) -> bool {
        match self {
            Self::Allowed(scopes) => scopes.iter().all(|scope| context.has_scope(scope)),
            _ => false,
        }
    }

    /// Checks that the rules can be applied to the URI of the item.
    ///
    /// # Errors
    /// The error says what to change.
    pub(in crate::gateway) fn check_uri(&self, item: &Item<'_>) -> Result<(), ErrorObject> {
        match self {
            Self::Ambiguous(problem) => Err(ErrorObject::invalid_params(format!(
                "the gateway cannot apply its rules to the URI {:?}: {problem}",
                item.name
            ))),
            _ => Ok(()),
        }
    }

    /// Checks that the request has the scopes that the item requires.
    pub(in crate::gateway) fn check_scope(
        &self,
        item: &Item<'_>,
        context: &RequestContext,
    ) -> Result<(), ErrorObject> {
        let Self::Allowed(scopes) = self else {
            return Ok(());
        };
        let item = format_args!("{:?}", item.name);
        let mut scopes = scopes.iter();
        scopes.try_for_each(|scope| context.require_scope(item, scope))
    }
}

impl Rules {
    pub(crate) fn policy(&self) -> &AccessPolicy {
        &self.0.policy
    }

    /// Returns the decision of the rules about an item. Decisions about listed URIs are cached.
    pub(in crate::gateway) fn decide(&self, item: &Item<'_>, source: UriSource) -> Decision {
        if item.kind != ItemKind::Resource || !self.policy().has_rules(item) {
            return self.decide_name(item);
        }
        if matches!(source, UriSource::Client | UriSource::Expansion) {
            return self.decide_uri(item, source);
        }
        let known = &self.0.known;
        let key = known.key(item, source);
        known.decision(key).unwrap_or_else(|| {
            let decision = self.decide_uri(item, source);
            known.add(key, &decision);
            decision
        })
    }

    /// Returns the rules for the mount and the kind of an item, with their positions.
    fn rules_for<'a>(
        &'a self,
        item: &'a Item<'_>,
    ) -> impl Iterator<Item = (usize, &'a AccessRule, &'a UriPattern, Option<&'a Arc<str>>)> {
        let rules = self.0.policy.rules.iter().zip(&self.0.patterns).enumerate();
        let rules = rules.filter(|(_, (rule, _))| rule.is_for(item));
        rules.map(|(at, (rule, (pattern, scope)))| (at, rule, pattern, scope.as_ref()))
    }

    /// Returns whether a client could evade a restriction with another name for the scheme of the URI. This is possible if a
    /// restrictive rule has a scheme in its pattern, and no rule allows the URI. Of the rules after this restrictive rule, only
    /// a rule with a scheme in its pattern can allow the URI.
    pub(in crate::gateway) fn depends_on_scheme(&self, item: &Item<'_>) -> bool {
        let has_scheme = |rule: &AccessRule| split_scheme(&rule.name).is_some();
        let restricts_scheme = |rule: &AccessRule| rule.is_restrictive() && has_scheme(rule);
        let mut rules = self.rules_for(item);
        if !rules.any(|(_, rule, ..)| restricts_scheme(rule)) {
            return false;
        }
        let uri = RuledUri::new(item.name, UriSource::Client);
        let mut is_restricted = false;
        for (_, rule, pattern, _) in self.rules_for(item) {
            let is_specific = !is_restricted || has_scheme(rule);
            if rule.effect == Effect::Allow && is_specific && pattern.allows(&uri) {
                return false;
            }
            is_restricted |= restricts_scheme(rule);
        }
        true
    }

    /// Returns the decision of the first rule that matches the name of an item.
    fn decide_name(&self, item: &Item<'_>) -> Decision {
        let folded = without_case(item.name);
        let matches = |rule: &AccessRule| {
            matches_pattern(&rule.name, item.name)
                // A server may ignore the case of a name that it does not list.
                || rule.is_restrictive()
                    && matches_pattern(&without_case(&rule.name), &folded)
        };
        let mut rules = self.rules_for(item);
        match rules.find(|(_, rule, ..)| matches(rule)) {
            Some((at, rule, ..)) if rule.effect == Effect::Deny => Decision::Denied(at),
            Some((_, _, _, scope)) => Decision::Allowed(scope.into_iter().cloned().collect()),
            None => Decision::Allowed(Vec::new()),
        }
    }

    /// Returns the decision about the URI of an item. Rules apply in their order until a rule allows the URI. A restrictive rule
    /// before that rule applies to all interpretations of the URI: it denies the URI, or adds its scopes.
    fn decide_uri(&self, item: &Item<'_>, source: UriSource) -> Decision {
        let uri = RuledUri::new(item.name, source);
        let mut scopes = Vec::new();
        match uri.problem {
            Some(problem) if matches!(source, UriSource::Client | UriSource::Expansion) => {
                return Decision::Ambiguous(problem);
            }
            _ => {}
        }
        for (at, rule, pattern, scope) in self.rules_for(item) {
            if rule.effect == Effect::Allow && pattern.allows(&uri) {
                scopes.extend(scope.cloned());
                break;
            }
            if !rule.is_restrictive() || !rule.can_match_uri() || !pattern.restricts(&uri) {
                continue;
            }
            match (rule.effect, uri.problem) {
                (Effect::Allow, _) => scopes.extend(scope.cloned()),
                (Effect::Deny, Some(problem)) => return Decision::Ambiguous(problem),
                (Effect::Deny, None) => return Decision::Denied(at),
            }
        }
        Decision::Allowed(scopes)
    }
}

impl From<AccessPolicy> for Rules {
    fn from(policy: AccessPolicy) -> Self {
        let prepare = |rule: &AccessRule| {
            let scope = rule.scope.as_deref().map(Arc::from);
            (UriPattern::new(&rule.name), scope)
        };
        Self(Arc::new(Prepared {
            patterns: policy.rules.iter().map(prepare).collect(),
            policy,
            known: Decisions::default(),
        }))
    }
}

impl PartialEq for Rules {
    fn eq(&self, other: &Self) -> bool {
        self.policy() == other.policy()
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.policy().fmt(f)
    }
}

/// Cached decisions about listed URIs. URIs are long, so the keys are hashes. The hash function has a secret key, so that a
/// server cannot cause collisions.
#[derive(Default)]
struct Decisions {
    hashers: [RandomState; 2],
    by_hash: Mutex<HashMap<[u64; 2], Decision>>,
}

impl Decisions {
    fn key(&self, item: &Item<'_>, source: UriSource) -> [u64; 2] {
        let hashed = (item.mount, item.name, source);
        self.hashers
            .each_ref()
            .map(|hasher| hasher.hash_one(hashed))
    }

    fn decision(&self, key: [u64; 2]) -> Option<Decision> {
        lock(&self.by_hash).get(&key).cloned()
    }

    fn add(&self, key: [u64; 2], decision: &Decision) {
        if matches!(decision, Decision::Allowed(scopes) if scopes.len() > MAX_KNOWN_SCOPES) {
            return;
        }
        let mut by_hash = lock(&self.by_hash);
        if by_hash.len() >= MAX_KNOWN {
            by_hash.clear();
        }
        by_hash.insert(key, decision.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_decision_about_a_listed_uri_is_cached() {
        let policy = AccessPolicy::new()
            .rule(AccessRule::require_scope("s", "notes://a/*"))
            .rule(AccessRule::deny("notes://secret/*"));
        let rules = Rules::from(policy);
        let count = || lock(&rules.0.known.by_hash).len();
        let decide = |name: &str, source| {
            let (kind, mount) = (ItemKind::Resource, "m");
            rules.decide(&Item { kind, mount, name }, source)
        };
        let scoped = Decision::Allowed(vec!["s".into()]);
        for _ in 0..2 {
            assert_eq!(decide("notes://a/b", UriSource::List), scoped);
            assert_eq!(
                decide("notes://secret/b", UriSource::List),
                Decision::Denied(1)
            );
        }
        assert_eq!(count(), 2);
        // The cached decisions are used: changed entries change the results.
        for decision in lock(&rules.0.known.by_hash).values_mut() {
            *decision = Decision::Denied(0);
        }
        assert_eq!(decide("notes://a/b", UriSource::List), Decision::Denied(0));
        assert_eq!(count(), 2);
        assert!(decide("notes://b", UriSource::Client).is_for_all());
        assert_eq!(count(), 2, "clients choose any number of URIs");
        for number in 0..MAX_KNOWN {
            decide(&number.to_string(), UriSource::List);
        }
        assert!(count() <= MAX_KNOWN);
    }
}
