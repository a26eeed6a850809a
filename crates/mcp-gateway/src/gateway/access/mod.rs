//! Which tools, prompts and resources clients may use.

use std::collections::BTreeSet;

use mcp_host::matches_pattern;
use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{InvalidServer, RequestContext};
use serde::Deserialize;

use crate::catalog::{Readings, check_spelling, check_template, normal_form};

/// Rules for the tools, prompts and resources of a gateway, for
/// [`GatewayBuilder::access`](super::GatewayBuilder::access). The first rule that matches an item decides; an item that no rule matches
/// may be used.
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
/// In a configuration file it is an object with the members `name`, and optionally `namespace` (the mount), `kind` (`tool`, `prompt` or `resource`),
/// `effect` (`allow`, the default, or `deny`) and `scope`.
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

/// What an [`AccessRule`] applies to.
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

    /// Creates a rule that allows items. `name` is the name at the server, without the prefix of the mount, or the URI of a resource;
    /// `*` in it matches any text. The URI of a request is compared as it is and in its normal form: `FILE:/%65tc` is also
    /// `file:///etc`. If different rules match, both decide. If rules apply to the resources of a server, a URI that servers may interpret
    /// differently is refused, for example with `..`, with a control character, or of a file on another host.
    pub fn allow(name: impl Into<String>) -> Self {
        Self::new(name, Effect::Allow, None)
    }

    /// Creates a rule that denies items: they are not listed, and requests for them fail as if they did not exist. `name` as for
    /// [`allow`](Self::allow). A rule for a URI also denies the URI with a query, a fragment, parameters after `;`, a `/` at the end, other case or
    /// escaped escapes; a pattern that ends with `/*` also denies the URI before the `/`. With schemes whose syntax is not fixed, such as `notes`,
    /// the rule also denies the URI with a port or without the `//`.
    pub fn deny(name: impl Into<String>) -> Self {
        Self::new(name, Effect::Deny, None)
    }

    /// Creates a rule that allows items to clients whose access token has a scope. Without the scope, a request fails with a challenge that
    /// names it, and the client can obtain another token. The items are listed for all clients. `name` as for [`deny`](Self::deny).
    pub fn require_scope(scope: impl Into<String>, name: impl Into<String>) -> Self {
        Self::new(name, Effect::Allow, Some(scope.into()))
    }

    /// Restricts the rule to the mounts with this name, in which `*` matches any text. Default: all mounts.
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

    /// Returns whether the pattern can match a URI, which has a colon.
    fn can_match_uri(&self) -> bool {
        self.kind == Some(ItemKind::Resource) || self.name.contains([':', '*'])
    }

    /// Returns whether the pattern matches a name or URI, of which this is the normal form.
    fn matches(&self, normal: &str) -> bool {
        matches_pattern(&self.name, normal) || matches_pattern(&normal_form(&self.name), normal)
    }

    /// Returns how the rule matches a URI. A rule that restricts the use of a resource also matches other URIs that servers may read as this
    /// resource, for example `s://a:1/b?c` and `s:///a/b` for `s://a/b`.
    fn match_uri(&self, uri: &Readings) -> Option<UriMatch> {
        let is_restrictive = self.effect == Effect::Deny || self.scope.is_some();
        if self.matches(uri.normal()) || is_restrictive && self.matches(uri.shortest()) {
            return Some(UriMatch::Exact);
        }
        let is_restricted = is_restrictive && uri.match_restriction(&self.name);
        is_restricted.then_some(UriMatch::Restricted)
    }
}

/// How a rule matches a URI.
#[derive(PartialEq)]
enum UriMatch {
    /// The pattern matches the URI: further rules do not matter.
    Exact,
    /// Servers may read the URI as a resource that the rule restricts. Such a rule allows nothing, so further rules also decide.
    Restricted,
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
    /// Returns the scopes that the rules require, for the metadata of the gateway: clients request them
    /// when they sign in.
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

    /// Adds a rule after the others.
    #[must_use]
    pub fn rule(mut self, rule: AccessRule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Returns whether clients may use an item, provided that they have the scope that a rule requires. `mount` is the name of the mount; `name` is the name
    /// at the server, or a URI.
    pub fn allows(&self, kind: ItemKind, mount: &str, name: &str) -> bool {
        let item = Item { kind, mount, name };
        self.shows(&item) && self.check_uri(&item, false).is_ok()
    }

    /// Checks that each rule is for a mount with one of these names.
    pub(crate) fn check_mounts(&self, mounts: &BTreeSet<String>) -> Result<(), InvalidServer> {
        for (number, rule) in (1..).zip(&self.rules) {
            if let Some(pattern) = &rule.mount
                && !mounts.iter().any(|mount| matches_pattern(pattern, mount))
            {
                return Err(InvalidServer::new(format!(
                    "rule {number} of the access policy, for {:?}: no server has the namespace {pattern:?}",
                    rule.name
                )));
            }
        }
        Ok(())
    }

    /// Checks that no rule contradicts itself.
    pub(crate) fn check(&self) -> Result<(), InvalidServer> {
        let problem = (1..).zip(&self.rules).find_map(|(number, rule)| {
            let problem = match (rule.effect, &rule.scope) {
                (Effect::Deny, Some(_)) => "\"deny\" and \"scope\" exclude each other; remove one",
                (_, Some(scope)) if scope.trim().is_empty() => "the scope is empty",
                _ if rule.name.is_empty() => "the name is empty; \"*\" matches all names",
                _ => return None,
            };
            let (number, name): (usize, _) = (number, &rule.name);
            Some(format!(
                "rule {number} of the access policy, for {name:?}: {problem}"
            ))
        });
        problem.map_or(Ok(()), |problem| Err(InvalidServer::new(problem)))
    }

    /// Returns the rules that decide: the first one that matches the item and, for a resource, the first one that matches the normal form of
    /// its URI, because the server may read both URIs as the same resource, and the earlier ones that restrict what servers may read from it.
    fn deciding(&self, item: &Item<'_>) -> Vec<&AccessRule> {
        let rules = self.rules.iter().filter(|rule| rule.is_for(item));
        let of_name = rules
            .clone()
            .find(|rule| matches_pattern(&rule.name, item.name));
        let mut deciding: Vec<_> = of_name.into_iter().collect();
        if item.kind == ItemKind::Resource && self.has_rules(item) {
            let uri = Readings::of(item.name);
            for rule in rules {
                let found = rule.match_uri(&uri);
                deciding.extend(found.is_some().then_some(rule));
                if found == Some(UriMatch::Exact) {
                    break;
                }
            }
        }
        deciding
    }

    /// Returns whether there are rules for items of this kind and mount.
    pub(super) fn has_rules(&self, item: &Item<'_>) -> bool {
        let is_decisive = |rule: &AccessRule| {
            rule.is_for(item) && (item.kind != ItemKind::Resource || rule.can_match_uri())
        };
        self.rules.iter().any(is_decisive)
    }

    /// Checks that all servers understand the URI of a resource, or the URIs of a template, in the same way, if rules apply to it.
    ///
    /// # Errors
    /// The error says what to change.
    pub(super) fn check_uri(&self, item: &Item<'_>, is_template: bool) -> Result<(), ErrorObject> {
        if item.kind != ItemKind::Resource || !self.has_rules(item) {
            return Ok(());
        }
        let checked = match is_template {
            true => check_template(item.name),
            false => check_spelling(item.name),
        };
        checked.map_err(|problem| {
            ErrorObject::invalid_params(format!(
                "the gateway cannot apply its rules to the URI {:?}: {problem}",
                item.name
            ))
        })
    }

    /// Returns whether clients see the item.
    pub(super) fn shows(&self, item: &Item<'_>) -> bool {
        let rules = self.deciding(item);
        rules.iter().all(|rule| rule.effect == Effect::Allow)
    }

    /// Returns whether some clients lack a scope that the item requires.
    pub(super) fn needs_scope(&self, item: &Item<'_>) -> bool {
        self.deciding(item).iter().any(|rule| rule.scope.is_some())
    }

    /// Checks that the request has the scope that the item requires.
    pub(super) fn check_scope(
        &self,
        item: &Item<'_>,
        context: &RequestContext,
    ) -> Result<(), ErrorObject> {
        let rules = self.deciding(item);
        let mut scopes = rules.iter().filter_map(|rule| rule.scope.as_deref());
        match scopes.find(|scope| !context.permits(scope)) {
            Some(scope) => Err(ErrorObject::invalid_request(format!(
                "{:?} needs the scope {scope:?}",
                item.name
            ))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
