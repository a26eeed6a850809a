//! The tools, prompts and resources that clients may use.

mod rules;

use std::collections::BTreeSet;

use mcp_host::matches_pattern;
use mcp_protocol::InvalidServer;
use serde::Deserialize;

pub(super) use self::rules::Decision;
pub(crate) use self::rules::Rules;
use crate::catalog::{UriSource, authority_end, check_template, scheme_without_host, split_scheme};

/// Rules for the tools, prompts and resources of a gateway, for [`GatewayBuilder::access`](super::GatewayBuilder::access). The
/// first rule that matches an item decides. If no rule matches an item, clients may use it.
///
/// ```
/// use mcp_gateway::{AccessPolicy, AccessRule, ItemKind};
///
/// let policy = AccessPolicy::new()
///     .rule(AccessRule::allow("git_log").mount("git"))
///     .rule(AccessRule::require_scope("git:write", "*").mount("git").kind(ItemKind::Tool))
///     .rule(AccessRule::deny("file:///etc/*").kind(ItemKind::Resource));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct AccessPolicy {
    rules: Vec<AccessRule>,
}

/// A rule of an [`AccessPolicy`].
///
/// In a configuration file, a rule is an object with the member `name`. Optional members are `namespace` (the mount), `kind`
/// (`tool`, `prompt` or `resource`), `effect` (`allow`, the default, or `deny`) and `scope`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessRule {
    name: String,
    #[serde(rename = "namespace")]
    mount: Option<String>,
    kind: Option<ItemKind>,
    #[serde(default)]
    effect: Effect,
    scope: Option<String>,
}

/// The kind of the items to which an [`AccessRule`] applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ItemKind {
    /// Tools, by their names.
    Tool,
    /// Prompts, by their names.
    Prompt,
    /// Resources and resource templates, by their URIs.
    Resource,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Effect {
    #[default]
    Allow,
    Deny,
}

impl AccessRule {
    fn new(name: impl Into<String>, effect: Effect, scope: Option<String>) -> Self {
        Self {
            name: name.into(),
            mount: None,
            kind: None,
            effect,
            scope,
        }
    }

    /// Creates a rule that allows items. `name` is the name at the server, without the prefix of the mount, or the URI of a
    /// resource. A `*` in `name` matches any text. If text follows a `*` in the host of a URI, this `*` does not match `/`, `?`
    /// or `#`. A URI with a query is allowed only if `name` has a query or ends with `*`. If rules apply to the resources of a
    /// server, clients can use the URIs that the server lists. They can use other URIs only in the spelling that all servers
    /// interpret in the same way: for example without `..`, needless escapes, a fragment, or a user. A listed URI in another
    /// spelling can be used if a rule allows exactly this URI, or if no rule denies URIs of its scheme.
    pub fn allow(name: impl Into<String>) -> Self {
        Self::new(name, Effect::Allow, None)
    }

    /// Creates a rule that denies items. Denied items are not listed, and requests for them fail as if the items did not exist.
    /// `name` has the same meaning as for [`allow`](Self::allow). A rule for a URI ignores case, spaces around segments, a query
    /// and a `/` at the end: it also denies URIs that differ only in these. A pattern that ends with `/*` also denies the URI
    /// before the `/`.
    /// If the syntax of the scheme is not fixed, as for `notes`, the rule also denies the URI with a port or without the `//`.
    pub fn deny(name: impl Into<String>) -> Self {
        Self::new(name, Effect::Deny, None)
    }

    /// Creates a rule that allows items to clients whose access token has a scope. If the token does not have the scope, a
    /// request fails with a challenge that names the scope. The client can then obtain another token. The items are listed for
    /// all clients. `name` has the same meaning as for [`deny`](Self::deny).
    pub fn require_scope(scope: impl Into<String>, name: impl Into<String>) -> Self {
        Self::new(name, Effect::Allow, Some(scope.into()))
    }

    /// Restricts the rule to mounts whose names match this pattern. A `*` in the pattern matches any text. Default: all mounts.
    #[must_use]
    pub fn mount(mut self, name: impl Into<String>) -> Self {
        self.mount = Some(name.into());
        self
    }

    /// Restricts the rule to items of this kind. Default: all kinds.
    #[must_use]
    pub fn kind(mut self, kind: ItemKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Returns whether the rule is for the mount and the kind of an item.
    fn is_for(&self, item: &Item<'_>) -> bool {
        self.kind.is_none_or(|kind| kind == item.kind)
            && (self.mount.as_deref()).is_none_or(|mount| matches_pattern(mount, item.mount))
    }

    /// Returns whether the pattern of the rule can match a URI. A pattern without a colon and without `*` cannot, because every
    /// URI has a colon.
    fn can_match_uri(&self) -> bool {
        self.kind == Some(ItemKind::Resource) || self.name.contains([':', '*'])
    }

    /// Returns whether the rule restricts the use of the items that it matches.
    fn is_restrictive(&self) -> bool {
        self.effect == Effect::Deny || self.scope.is_some()
    }

    /// Returns a description of the problem if the rule matches none of these mounts.
    fn missing_mount(&self, mounts: &BTreeSet<String>) -> Option<String> {
        let pattern = self.mount.as_deref()?;
        let is_missing = !mounts.iter().any(|mount| matches_pattern(pattern, mount));
        is_missing.then(|| format!("no server has the namespace {pattern:?}"))
    }

    /// Returns the reason why the rule may not have the effect on URIs that its author expects; `None` if there is no such
    /// reason.
    fn uri_problem(&self) -> Option<&'static str> {
        if !self.is_restrictive() || !self.name.contains("://") {
            return None;
        }
        if self.name.contains(['?', '#', ';']) {
            return Some(
                "the rule applies to the URI with every query, fragment and parameter; remove \"?\", \"#\" or \";\" and what follows",
            );
        }
        // A server can list a URI with these escapes.
        let escapes = ["%23", "%3F", "%3f", "%3B", "%3b"];
        let name = self.name.replace(":*", "");
        let mut name = (escapes.iter()).fold(name, |name, escape| name.replace(escape, "x"));
        // No client can use a URI with `@` after the host, so the rule does no harm.
        let rest = name.split_off(authority_end(&name));
        name += &rest.replace('@', "x");
        // `*` is replaced by an example: by a part of a name, or by a part of a path.
        let check = |text| check_template(&name.replace('*', text));
        check("x").or_else(|_| check("/x")).err()
    }
}

/// An item of a server.
#[derive(Clone, Copy)]
pub(super) struct Item<'a> {
    pub(super) kind: ItemKind,
    pub(super) mount: &'a str,
    /// The name at the server, or the URI or template of a resource.
    pub(super) name: &'a str,
}

impl AccessPolicy {
    /// Returns the scopes that the rules require. The gateway adds them to its metadata, so that clients request them at the
    /// sign-in.
    pub fn scopes(&self) -> BTreeSet<&str> {
        let scopes = self.rules.iter().filter_map(|rule| rule.scope.as_deref());
        scopes.flat_map(str::split_whitespace).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.rules.len()
    }

    /// Creates a policy without rules, which allows everything.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a rule after the existing rules.
    #[must_use]
    pub fn rule(mut self, rule: AccessRule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Returns whether the rules allow an item to clients that have the required scopes. `mount` is the name of the mount. `name`
    /// is the name at the server, or a URI.
    pub fn allows(&self, kind: ItemKind, mount: &str, name: &str) -> bool {
        let item = Item { kind, mount, name };
        Rules::from(self.clone())
            .decide(&item, UriSource::Client)
            .is_shown()
    }

    /// Returns the position of a rule that contradicts itself or matches no mount, and a description of the problem.
    pub(crate) fn problem(&self, mounts: Option<&BTreeSet<String>>) -> Option<(usize, String)> {
        self.rules.iter().enumerate().find_map(|(index, rule)| {
            let problem = match (rule.effect, &rule.scope) {
                (Effect::Deny, Some(_)) => "\"deny\" and \"scope\" exclude each other; remove one",
                (_, Some(scope)) if scope.trim().is_empty() => "the scope is empty",
                _ if rule.name.is_empty() => "the name is empty; \"*\" matches all names",
                _ => match rule.uri_problem() {
                    Some(problem) => problem,
                    None => &rule.missing_mount(mounts?)?,
                },
            };
            Some((index, format!("the rule for {:?}: {problem}", rule.name)))
        })
    }

    /// Returns a text for each rule that is for tools or prompts and matches no listed name. The text begins with the JSON
    /// pointer of the rule in the policy. `lists(mount, is_prompt, name)` says whether a mount that matches the pattern `mount`
    /// lists a tool or prompt that matches the pattern `name`.
    pub(super) fn unmatched(&self, lists: impl Fn(&str, bool, &str) -> bool) -> Vec<String> {
        let is_unmatched = |rule: &AccessRule| {
            let mount = rule.mount.as_deref().unwrap_or("*");
            // Servers have resources that they do not list.
            let (tools, prompts) = match rule.kind {
                None => (!rule.name.contains(':'), !rule.name.contains(':')),
                Some(kind) => (kind == ItemKind::Tool, kind == ItemKind::Prompt),
            };
            (tools || prompts)
                && !(tools && lists(mount, false, &rule.name))
                && !(prompts && lists(mount, true, &rule.name))
        };
        let rules = self.rules.iter().enumerate();
        let rules = rules.filter(|(_, rule)| is_unmatched(rule));
        let describe = |(index, rule): (usize, &AccessRule)| {
            format!(
                "/{index}: the rule for {:?}: no server lists such a tool or prompt, so the rule has no effect",
                rule.name
            )
        };
        rules.map(describe).collect()
    }

    /// Checks that no rule contradicts itself.
    pub(crate) fn check(&self) -> Result<(), InvalidServer> {
        self.problem(None).map_or(Ok(()), |(index, problem)| {
            let text = format!("access policy /{index}: {problem}");
            Err(InvalidServer::new(text))
        })
    }

    /// Returns whether a rule that applies to the mount and kind of the item names the scheme of the item's URI.
    pub(in crate::gateway) fn names_scheme(&self, item: &Item<'_>) -> bool {
        let Some(wanted) = scheme_without_host(item.name) else {
            return false;
        };
        let wanted = wanted.to_ascii_lowercase();
        let rules = self.rules.iter().filter(|rule| rule.is_for(item));
        let mut schemes = rules.filter_map(|rule| Some(split_scheme(&rule.name)?.0));
        schemes.any(|scheme| matches_pattern(&scheme.to_ascii_lowercase(), &wanted))
    }

    /// Returns whether a rule applies to the mount and kind of the item.
    pub(in crate::gateway) fn has_rules(&self, item: &Item<'_>) -> bool {
        let is_decisive = |rule: &AccessRule| {
            rule.is_for(item) && (item.kind != ItemKind::Resource || rule.can_match_uri())
        };
        self.rules.iter().any(is_decisive)
    }
}

#[cfg(test)]
mod tests;
