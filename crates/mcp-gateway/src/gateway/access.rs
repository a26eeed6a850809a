//! Which tools, prompts and resources clients may use.

use std::collections::BTreeSet;

use mcp_host::matches_pattern;
use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{InvalidServer, RequestContext};
use serde::Deserialize;

use crate::catalog::{check_spelling, check_template, joined_form, normal_form};

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
    /// [`allow`](Self::allow); a rule for a URI also denies the URI with a query, a fragment, parameters after `;` or a `/` at the end. With
    /// schemes whose syntax is not fixed, such as `notes`, it also denies the URI with a port or without the `//`.
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

    /// Returns whether the rule matches a URI with this normal form. Servers may ignore the end of a URI, its port and the border between its
    /// host and its path, so a rule that restricts the use of `s://a/b` does the same for `s://a/b?c`, `s://a:1/b` and `s:///a/b`.
    fn matches_uri(&self, normal: &str) -> bool {
        let is_restrictive = self.effect == Effect::Deny || self.scope.is_some();
        let end = normal.find(['?', '#', ';']).unwrap_or(normal.len());
        let shortest = normal[..end].trim_end_matches('/');
        let matches_joined = || {
            let pattern = joined_form(&normal_form(&self.name));
            pattern.is_some_and(|pattern| {
                joined_form(shortest).is_some_and(|uri| matches_pattern(&pattern, &uri))
            })
        };
        self.matches(normal) || is_restrictive && (self.matches(shortest) || matches_joined())
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
    /// Returns the scopes that the rules require, for the metadata of the gateway: clients request them
    /// when they sign in.
    pub fn scopes(&self) -> BTreeSet<&str> {
        let scopes = self.rules.iter().filter_map(|rule| rule.scope.as_deref());
        scopes.flat_map(str::split_whitespace).collect()
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
        for (index, rule) in self.rules.iter().enumerate() {
            if let Some(pattern) = &rule.mount
                && !mounts.iter().any(|mount| matches_pattern(pattern, mount))
            {
                return Err(InvalidServer::new(format!(
                    "rule {index} of the access policy: no server has the namespace {pattern:?}"
                )));
            }
        }
        Ok(())
    }

    /// Checks that no rule contradicts itself.
    pub(crate) fn check(&self) -> Result<(), InvalidServer> {
        let problem = self.rules.iter().enumerate().find_map(|(index, rule)| {
            let problem = match (rule.effect, &rule.scope) {
                (Effect::Deny, Some(_)) => "\"deny\" and \"scope\" exclude each other; remove one",
                (_, Some(scope)) if scope.trim().is_empty() => "the scope is empty",
                _ if rule.name.is_empty() => "the name is empty; \"*\" matches all names",
                _ => return None,
            };
            Some(format!("rule {index} of the access policy: {problem}"))
        });
        problem.map_or(Ok(()), |problem| Err(InvalidServer::new(problem)))
    }

    /// Returns the rules that decide: the first one that matches the item and, for a resource, the first one that matches the normal form of
    /// its URI, because the server may read both URIs as the same resource.
    fn deciding(&self, item: &Item<'_>) -> impl Iterator<Item = &AccessRule> {
        let first = |is_match: &dyn Fn(&AccessRule) -> bool| {
            let mut rules = self.rules.iter();
            rules.find(|rule| rule.is_for(item) && is_match(rule))
        };
        let is_uri = item.kind == ItemKind::Resource && !self.rules.is_empty();
        let normal = is_uri.then(|| normal_form(item.name));
        let of_normal = normal.and_then(|uri| first(&|rule| rule.matches_uri(&uri)));
        let of_name = first(&|rule| matches_pattern(&rule.name, item.name));
        of_name.into_iter().chain(of_normal)
    }

    /// Returns whether rules apply to the resources of the item's mount.
    pub(super) fn restricts(&self, item: &Item<'_>) -> bool {
        let is_decisive = |rule: &AccessRule| rule.is_for(item) && rule.can_match_uri();
        item.kind == ItemKind::Resource && self.rules.iter().any(is_decisive)
    }

    /// Checks that all servers understand the URI of a resource, or the URIs of a template, in the same way, if rules apply to it.
    ///
    /// # Errors
    /// The error says what to change.
    pub(super) fn check_uri(&self, item: &Item<'_>, is_template: bool) -> Result<(), ErrorObject> {
        if !self.restricts(item) {
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
        let mut rules = self.deciding(item);
        rules.all(|rule| rule.effect == Effect::Allow)
    }

    /// Checks that the request has the scope that the item requires.
    pub(super) fn check_scope(
        &self,
        item: &Item<'_>,
        context: &RequestContext,
    ) -> Result<(), ErrorObject> {
        let rules = self.deciding(item);
        let mut scopes = rules.filter_map(|rule| rule.scope.as_deref());
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
mod tests {
    use super::*;

    #[test]
    fn the_first_matching_rule_decides() {
        let policy = AccessPolicy::new()
            .rule(AccessRule::allow("log").mount("git"))
            .rule(AccessRule::deny("*").mount("g*").kind(ItemKind::Tool))
            .rule(AccessRule::deny("file:///etc/*").kind(ItemKind::Resource));
        for (kind, mount, name, expected) in [
            (ItemKind::Tool, "git", "log", true),
            (ItemKind::Tool, "git", "push", false),
            (ItemKind::Tool, "gitlab", "log", false),
            (ItemKind::Tool, "fs", "push", true),
            (ItemKind::Prompt, "git", "push", true),
            (ItemKind::Resource, "fs", "file:///etc/passwd", false),
            (ItemKind::Resource, "fs", "file:///etcetera", true),
        ] {
            let item = Item { kind, mount, name };
            assert_eq!(policy.shows(&item), expected, "{mount} {name}");
        }
    }

    #[test]
    fn rules_apply_to_every_spelling_of_a_uri() {
        let policy = AccessPolicy::new()
            .rule(AccessRule::deny("FILE:///etc/*"))
            .rule(AccessRule::allow("file:///my%20docs/*"))
            .rule(AccessRule::deny("file:///my*"));
        for (name, expected) in [
            ("file:///etc/passwd", false),
            ("file:///e%74c/passwd", false),
            ("file:///my%20docs/a", true),
            ("file:///mydocs", false),
            ("file:///etc/{name}", false),
            ("file:///a/{name}", true),
            ("file:///a", true),
        ] {
            let (kind, mount) = (ItemKind::Resource, "fs");
            assert_eq!(
                policy.shows(&Item { kind, mount, name }),
                expected,
                "{name}"
            );
        }
    }

    #[test]
    fn only_rules_that_can_match_a_uri_restrict_its_spelling() {
        let unusual = "note:///my note";
        for (rule, expected) in [
            (AccessRule::deny("git_log"), true),
            (AccessRule::deny("*").kind(ItemKind::Tool), true),
            (AccessRule::deny("file:///etc/*"), false),
            (AccessRule::deny("x").kind(ItemKind::Resource), false),
        ] {
            let policy = AccessPolicy::new().rule(rule);
            let is_allowed = policy.allows(ItemKind::Resource, "m", unusual);
            assert_eq!(is_allowed, expected, "{policy:?}");
        }
    }

    #[test]
    fn a_rule_that_restricts_also_applies_to_longer_uris() {
        let policy = AccessPolicy::new()
            .rule(AccessRule::deny("notes://secret"))
            .rule(AccessRule::allow("notes://public"))
            .rule(AccessRule::deny("*"));
        for (name, expected) in [
            ("notes://secret", false),
            ("notes://SECRET/?x", false),
            ("notes://secret;a=b", false),
            ("notes://public", true),
            ("notes://public?drop=all", false),
        ] {
            let (kind, mount) = (ItemKind::Resource, "notes");
            let item = Item { kind, mount, name };
            assert_eq!(policy.shows(&item), expected, "{name}");
        }
    }

    #[test]
    fn a_rule_that_restricts_also_applies_with_a_port_and_without_an_authority() {
        let item = |name| Item {
            kind: ItemKind::Resource,
            mount: "notes",
            name,
        };
        for rule in [
            AccessRule::deny("notes://secret/*"),
            AccessRule::deny("notes:///secret/*"),
        ] {
            let policy = AccessPolicy::new().rule(rule);
            for name in [
                "notes://secret/a",
                "notes://secret:1/a",
                "notes:///secret/a",
                "notes:/secret/a",
                "notes:secret/a",
            ] {
                assert!(!policy.allows(ItemKind::Resource, "notes", name), "{name}");
            }
            assert!(policy.allows(ItemKind::Resource, "notes", "notes://secrets:1/a"));
        }
        let policy = AccessPolicy::new()
            .rule(AccessRule::allow("db://host:5432/*"))
            .rule(AccessRule::deny("db://*"))
            .rule(AccessRule::deny("https://host/*"))
            .rule(AccessRule::deny("urn:isbn:1"));
        for (name, expected) in [
            ("db://host:5432/a", true),
            ("db://host:5433/a", false),
            ("https://host/a", false),
            ("https://host:8443/a", true),
            ("urn:isbn:1", false),
            ("urn:isbn:2", true),
        ] {
            assert_eq!(policy.shows(&item(name)), expected, "{name}");
        }
    }

    #[test]
    fn rules_that_contradict_themselves_are_errors() {
        for (text, part) in [
            (
                r#"[{"name":"a"},{"name":"a","effect":"deny","scope":"x"}]"#,
                "rule 1",
            ),
            (r#"[{"name":"a","scope":" "}]"#, "scope is empty"),
            (r#"[{"name":""}]"#, "\"*\" matches all"),
        ] {
            let policy: AccessPolicy = serde_json::from_str(text).unwrap();
            let error = policy.check().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
