//! Rules that decide about actions before the user is asked.

use mcp_client::types::{Tool, ToolAnnotations};
use serde::Deserialize;

use super::ActionKind;
use crate::config::{ConfigError, ConfigErrorKind};
use crate::type_names::without_type_names;

/// Rules that allow or deny actions before a person is asked. The first rule that matches decides. If no rule matches, four kinds
/// of actions are allowed: prompts and resources of all servers, and skills and calls of read-only tools of
/// [trusted](crate::HostBuilder::trust) servers. The user is asked about all other actions.
///
/// ```
/// # use mcp_host::Policy;
/// let policy = Policy::parse(r#"[
///     { "server": "git", "tool": "git_push*", "effect": "deny" },
///     { "server": "git", "annotations": { "destructiveHint": false }, "effect": "allow" },
///     { "kind": "connect", "server": "git", "effect": "allow" }
/// ]"#)?;
/// # Ok::<(), mcp_host::ConfigError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Policy {
    rules: Vec<PolicyRule>,
}

/// A rule of a [`Policy`]. A member that is absent matches everything.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct PolicyRule {
    /// The kind of action. Default: `callTool`.
    #[serde(default = "call_tool")]
    pub kind: ActionKind,
    /// The name of the server in the configuration; `*` matches any text. A rule with a name and the effect
    /// [`Allow`](Effect::Allow) does not match servers of the opened folder ([`Config::into_project`](crate::Config::into_project)),
    /// unless the application [trusts the folder](crate::HostBuilder::trust_project).
    pub server: Option<String>,
    /// The name that the server gives the tool; `*` matches any text.
    pub tool: Option<String>,
    /// Values that annotations of the tool must have. Missing annotations have the defaults of the specification.
    ///
    /// Annotations cannot allow a call of a server that is not [trusted](crate::HostBuilder::trust). For such a server, an
    /// `allow` rule with annotations does not match. An `ask` rule matches regardless of the annotations. A `deny` rule denies
    /// the call if the annotations match. If they do not match, the user is asked.
    pub annotations: Option<ToolAnnotations>,
    /// The effect of the rule on a matching action.
    pub effect: Effect,
}

/// The effect of a [`PolicyRule`] on a matching action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Effect {
    /// The action is allowed without asking the user.
    Allow,
    /// The user is asked, unless an earlier decision applies to the action.
    Ask,
    /// The action is denied.
    Deny,
}

/// The properties of an action that are compared with rules.
#[derive(Clone, Copy)]
pub(super) struct Action<'a> {
    pub(super) kind: ActionKind,
    pub(super) server: &'a str,
    pub(super) is_trusted: bool,
    /// Whether the server is from a file of the opened folder, so that the user did not choose its name.
    pub(super) is_project: bool,
    pub(super) tool: Option<&'a Tool>,
}

fn call_tool() -> ActionKind {
    ActionKind::CallTool
}

impl PolicyRule {
    /// Creates a rule for calls of all tools. Its effect is `effect`.
    pub fn new(effect: Effect) -> Self {
        Self {
            kind: call_tool(),
            server: None,
            tool: None,
            annotations: None,
            effect,
        }
    }

    /// Sets [`kind`](Self::kind).
    #[must_use]
    pub fn with_kind(mut self, kind: ActionKind) -> Self {
        self.kind = kind;
        self
    }

    /// Sets [`server`](Self::server).
    #[must_use]
    pub fn with_server(mut self, server: impl Into<String>) -> Self {
        self.server = Some(server.into());
        self
    }

    /// Sets [`tool`](Self::tool).
    #[must_use]
    pub fn with_tool(mut self, tool: impl Into<String>) -> Self {
        self.tool = Some(tool.into());
        self
    }

    /// Sets [`annotations`](Self::annotations).
    #[must_use]
    pub fn with_annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.annotations = Some(annotations);
        self
    }

    fn effect(&self, action: Action<'_>) -> Option<Effect> {
        let name = action.tool.map_or("", |tool| &tool.name);
        let is_match = self.kind == action.kind
            && self
                .server
                .as_ref()
                .is_none_or(|pattern| matches(pattern, action.server))
            && self
                .tool
                .as_ref()
                .is_none_or(|pattern| matches(pattern, name));
        let is_for_name = self.server.is_some() && self.effect == Effect::Allow;
        if !is_match || is_for_name && action.is_project {
            return None;
        }
        let Some(wanted) = &self.annotations else {
            return Some(self.effect);
        };
        let is_claimed = has_annotations(action.tool, wanted);
        match (action.is_trusted, self.effect) {
            (false, Effect::Allow) => None,
            (false, Effect::Ask) => Some(Effect::Ask),
            (false, Effect::Deny) if !is_claimed => Some(Effect::Ask),
            _ => is_claimed.then_some(self.effect),
        }
    }
}

impl Policy {
    /// Creates a policy without rules.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a JSON array of rules.
    ///
    /// # Errors
    /// The text is not JSON, a rule has an unknown member or value, or a rule has a tool or annotations although its kind is not
    /// `callTool`.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let invalid = |detail: String| {
            ConfigError::new(ConfigErrorKind::Policy, format!("invalid policy: {detail}"))
        };
        let rules: Vec<PolicyRule> = mcp_jsonrpc::decode_document(text)
            .map_err(|error| invalid(without_type_names(&error.to_string())))?;
        for (number, rule) in rules.iter().enumerate() {
            if rule.kind != call_tool() && (rule.tool.is_some() || rule.annotations.is_some()) {
                return Err(invalid(format!(
                    "rule {number} (from 0) of kind \"{}\" has a tool or annotations; only rules of kind \
                     \"callTool\" can have them",
                    rule.kind
                )));
            }
        }
        Ok(Self { rules })
    }

    /// Adds a rule after the existing rules.
    #[must_use]
    pub fn with_rule(mut self, rule: PolicyRule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Returns the effect of the policy on an action, and whether a rule decided.
    pub(super) fn effect(&self, action: Action<'_>) -> (Effect, bool) {
        if let Some(effect) = self.rules.iter().find_map(|rule| rule.effect(action)) {
            return (effect, true);
        }
        let read_only = ToolAnnotations::default().with_read_only_hint(true);
        let is_harmless = action.is_trusted && has_annotations(action.tool, &read_only);
        let effect = match action.kind {
            ActionKind::Prompt | ActionKind::Resource => Effect::Allow,
            ActionKind::Skill if action.is_trusted => Effect::Allow,
            _ if is_harmless => Effect::Allow,
            _ => Effect::Ask,
        };
        (effect, false)
    }
}

/// Returns whether a tool has all these annotations. Missing annotations of the tool have the defaults of the specification.
fn has_annotations(tool: Option<&Tool>, wanted: &ToolAnnotations) -> bool {
    let Some(tool) = tool else { return false };
    let claims = tool.annotations.clone().unwrap_or_default();
    let agrees = |wanted: Option<bool>, claim: Option<bool>, default| {
        wanted.is_none_or(|wanted| claim.unwrap_or(default) == wanted)
    };
    agrees(wanted.read_only_hint, claims.read_only_hint, false)
        && agrees(wanted.destructive_hint, claims.destructive_hint, true)
        && agrees(wanted.idempotent_hint, claims.idempotent_hint, false)
        && agrees(wanted.open_world_hint, claims.open_world_hint, true)
}

/// Returns whether a text matches a pattern, in which `*` matches any text.
pub fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use mcp_client::types::JsonObject;

    use super::*;

    #[test]
    fn a_star_matches_any_text() {
        for (pattern, text) in [
            ("*", ""),
            ("a*", "a"),
            ("a*c", "abc"),
            ("*b*b", "bb"),
            ("a", "a"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("", "a"),
            ("a*", "b"),
            ("a*a", "a"),
            ("*b*b", "b"),
            ("a", "ab"),
        ] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    fn effect(policy: &str, is_trusted: bool, annotations: ToolAnnotations) -> (Effect, bool) {
        let tool = Tool::new("write", JsonObject::new()).with_annotations(annotations);
        Policy::parse(policy).unwrap().effect(Action {
            kind: ActionKind::CallTool,
            server: "git",
            is_trusted,
            is_project: false,
            tool: Some(&tool),
        })
    }

    #[test]
    fn annotations_of_untrusted_servers_cannot_allow_calls() {
        let read_only = ToolAnnotations::default().with_read_only_hint(true);
        let nothing = ToolAnnotations::default();
        assert_eq!(
            effect("[]", true, read_only.clone()),
            (Effect::Allow, false)
        );
        assert_eq!(effect("[]", false, read_only.clone()), (Effect::Ask, false));
        assert_eq!(effect("[]", true, nothing.clone()), (Effect::Ask, false));

        let allow = r#"[{"annotations":{"readOnlyHint":true},"effect":"allow"}]"#;
        assert_eq!(
            effect(allow, true, read_only.clone()),
            (Effect::Allow, true)
        );
        assert_eq!(
            effect(allow, false, read_only.clone()),
            (Effect::Ask, false)
        );

        let deny =
            r#"[{"annotations":{"destructiveHint":true},"effect":"deny"},{"effect":"allow"}]"#;
        let harmless = ToolAnnotations::default().with_destructive_hint(false);
        assert_eq!(
            effect(deny, true, nothing.clone()),
            (Effect::Deny, true),
            "the default"
        );
        assert_eq!(effect(deny, true, harmless.clone()), (Effect::Allow, true));
        assert_eq!(
            effect(deny, false, harmless.clone()),
            (Effect::Ask, true),
            "may be a lie"
        );
        assert_eq!(effect(deny, false, nothing.clone()), (Effect::Deny, true));

        let ask = r#"[{"annotations":{"destructiveHint":true},"effect":"ask"},{"effect":"allow"}]"#;
        assert_eq!(effect(ask, true, harmless.clone()), (Effect::Allow, true));
        assert_eq!(effect(ask, true, nothing.clone()), (Effect::Ask, true));
        assert_eq!(
            effect(ask, false, harmless),
            (Effect::Ask, true),
            "may be a lie"
        );
        assert_eq!(effect(ask, false, nothing), (Effect::Ask, true));
    }

    #[test]
    fn the_first_rule_decides_and_errors_name_the_rule() {
        let rules = r#"[{"server":"g*","tool":"w*e","effect":"deny"},{"effect":"allow"}]"#;
        assert_eq!(
            effect(rules, false, ToolAnnotations::default()),
            (Effect::Deny, true)
        );
        for (text, part) in [
            (r#"[{"effect":"maybe"}]"#, "maybe"),
            (r#"[{"servers":"git","effect":"deny"}]"#, "servers"),
            (
                r#"[{"kind":"connect","tool":"a","effect":"deny"}]"#,
                "rule 0",
            ),
        ] {
            let error = Policy::parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
