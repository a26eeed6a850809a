//! Changes to the tools of one mount.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use mcp_jsonrpc::{member_name, members};
use serde_json::Value;

use crate::text::{ObjectText, imitates_member, is_same_without_case, string};

/// Changes to the tools of one server. The methods identify a tool by its name at the server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Transform {
    names: BTreeMap<String, String>,
    hidden: BTreeSet<String>,
    /// The tools that are shown; all other tools are hidden. `None` shows all tools.
    shown: Option<BTreeSet<String>>,
    descriptions: BTreeMap<String, String>,
    arguments: BTreeMap<String, BTreeMap<String, Value>>,
    pub(crate) is_read_only: bool,
}

impl Transform {
    /// Creates a transform without changes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Shows a tool under another name. The prefix of the mount is added to the new name. If the server already has a tool with
    /// this name, that tool is hidden.
    #[must_use]
    pub fn rename(mut self, tool: impl Into<String>, name: impl Into<String>) -> Self {
        self.names.insert(tool.into(), name.into());
        self
    }

    /// Hides a tool: it is not listed and cannot be called.
    #[must_use]
    pub fn hide(mut self, tool: impl Into<String>) -> Self {
        self.hidden.insert(tool.into());
        self
    }

    /// Hides all tools except the tools with these names.
    #[must_use]
    pub fn show_only(mut self, tools: impl IntoIterator<Item = String>) -> Self {
        self.shown = Some(tools.into_iter().collect());
        self
    }

    /// Replaces the description of a tool.
    #[must_use]
    pub fn describe(mut self, tool: impl Into<String>, description: impl Into<String>) -> Self {
        self.descriptions.insert(tool.into(), description.into());
        self
    }

    /// Sets an argument of a tool to a constant value: the gateway removes the argument from the input schema and adds it to
    /// every call. If the input schema of the tool does not have the argument, the gateway hides the tool and logs the reason.
    #[must_use]
    pub fn fix_argument(
        mut self,
        tool: impl Into<String>,
        argument: impl Into<String>,
        value: impl Into<Value>,
    ) -> Self {
        let arguments = self.arguments.entry(tool.into()).or_default();
        arguments.insert(argument.into(), value.into());
        self
    }

    /// Hides all tools without the annotation `readOnlyHint: true`. The server itself sets this annotation, so this setting
    /// prevents mistakes, but does not protect against a malicious server.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.is_read_only = true;
        self
    }

    /// Checks that no two tools get the same name.
    pub(crate) fn check(&self) -> Result<(), String> {
        let mut names = BTreeMap::new();
        for (tool, name) in &self.names {
            if name.is_empty() {
                return Err(format!("the new name of tool {tool:?} is empty"));
            }
            if let Some(other) = names.insert(name, tool) {
                return Err(format!(
                    "tools {other:?} and {tool:?} are both renamed to {name:?}; choose another name for one of them"
                ));
            }
        }
        Ok(())
    }

    /// Returns the names of the tools that the transform changes.
    pub(super) fn tool_names(&self) -> BTreeSet<&str> {
        let names = self.names.keys().chain(&self.hidden);
        let names = names.chain(self.shown.iter().flatten());
        let names = names.chain(self.descriptions.keys());
        let names = names.chain(self.arguments.keys());
        names.map(String::as_str).collect()
    }

    /// Returns each tool that has fixed arguments, with the names of these arguments.
    pub(super) fn fixed_arguments(&self) -> impl Iterator<Item = (&str, &str)> {
        let tools = self.arguments.iter();
        tools.flat_map(|(tool, fixed)| fixed.keys().map(|name| (&**tool, &**name)))
    }

    /// Returns the names of the fixed arguments of a tool.
    pub(super) fn fixed_arguments_of(&self, tool: &str) -> impl Iterator<Item = &str> {
        let fixed = self.arguments.get(tool);
        fixed.into_iter().flatten().map(|(name, _)| &**name)
    }

    /// Returns the name of a tool at the gateway, without prefix; `None` if it is hidden.
    pub(super) fn shown_name<'a>(&'a self, tool: &'a str) -> Option<&'a str> {
        let is_shown = |shown: &BTreeSet<String>| shown.contains(tool);
        let mut restricted = self.hidden.iter().chain(self.arguments.keys());
        // A server may ignore the case of a name that it does not list.
        if restricted.any(|name| name != tool && is_same_without_case(name, tool)) {
            return None;
        }
        if self.hidden.contains(tool) || !self.shown.as_ref().is_none_or(is_shown) {
            return None;
        }
        match self.names.get(tool) {
            Some(name) => Some(name),
            None if self.names.values().any(|name| name == tool) => None,
            None => Some(tool),
        }
    }

    /// Returns the name at the server of the tool that is shown as `name`.
    pub(super) fn server_name<'a>(&'a self, shown: &'a str) -> &'a str {
        let mut renamed = self.names.iter();
        let found = renamed.find_map(|(tool, name)| (name == shown).then_some(tool));
        found.map_or(shown, String::as_str)
    }

    /// Applies the changes to one tool of a list, and returns it as JSON text. `item` is the tool from the server as JSON text,
    /// `tool` is its name at the server, and `exposed` is its name at the gateway.
    pub(crate) fn tool_text(&self, item: &str, tool: &str, exposed: &str) -> String {
        let mut text = ObjectText::new();
        text.add("name", &string(exposed));
        let description = self.descriptions.get(tool);
        let fixed = self.arguments.get(tool);
        for (key, value) in members(item).map_while(Result::ok) {
            match (&*member_name(key), fixed) {
                ("name", _) => {}
                (name, _) if imitates_member(name) => {}
                ("description", _) if description.is_some() => {}
                ("inputSchema", Some(fixed)) => {
                    text.copy(key, &without_properties(value, fixed));
                }
                _ => text.copy(key, value),
            }
        }
        if let Some(description) = description {
            text.add("description", &string(description));
        }
        text.finish()
    }

    /// Adds the fixed arguments to the arguments of a call, and returns the result as JSON text; `None` if the tool has no fixed
    /// arguments.
    pub(crate) fn arguments(&self, tool: &str, arguments: Option<&str>) -> Option<String> {
        let fixed = self.arguments.get(tool)?;
        let names: Vec<&str> = fixed.keys().map(String::as_str).collect();
        let mut text = ObjectText::new();
        text.copy_all(arguments.unwrap_or("{}"), &names);
        for (name, value) in fixed {
            text.add(name, &value.to_string());
        }
        Some(text.finish())
    }
}

/// Removes properties from an input schema.
fn without_properties(schema: &str, names: &BTreeMap<String, Value>) -> String {
    let mut text = ObjectText::new();
    for (key, value) in members(schema).map_while(Result::ok) {
        match &*member_name(key) {
            "properties" => {
                let names: Vec<&str> = names.keys().map(String::as_str).collect();
                let mut properties = ObjectText::new();
                properties.copy_all(value, &names);
                text.copy(key, &properties.finish());
            }
            "required" => match serde_json::from_str::<Vec<Cow<'_, str>>>(value) {
                Ok(mut required) => {
                    required.retain(|name| !names.contains_key(&**name));
                    let required: Vec<_> = required.iter().map(|name| string(name)).collect();
                    text.copy(key, &format!("[{}]", required.join(",")));
                }
                Err(_) => text.copy(key, value),
            },
            _ => text.copy(key, value),
        }
    }
    text.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_that_a_parser_could_confuse_with_known_members_are_left_out() {
        let item =
            r#"{"name":"x","Name":"bank__pay","Description":"evil","inputSchema":{},"other":1}"#;
        let text = Transform::default().tool_text(item, "x", "evil__x");
        assert_eq!(text, r#"{"name":"evil__x","inputSchema":{},"other":1}"#);
    }

    #[test]
    fn a_tool_is_described_without_its_fixed_arguments() {
        let transform = Transform::new()
            .describe("push", "Pushes to the fork.")
            .fix_argument("push", "remote", "fork");
        let item = r#"{"name":"push","description":"old","x":1.0,"inputSchema":{"type":"object",
            "properties":{"remote":{},"branch":{"maximum":1.0}},"required":["remote","branch"]}}"#;
        let text = transform.tool_text(item, "push", "git__push");
        let tool: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            tool,
            json!({ "name": "git__push", "description": "Pushes to the fork.", "x": 1.0, "inputSchema": {
                "type": "object", "properties": { "branch": { "maximum": 1.0 } }, "required": ["branch"]
            } })
        );
    }

    #[test]
    fn a_client_cannot_change_a_fixed_argument() {
        let transform = Transform::new().fix_argument("push", "remote", "fork");
        let arguments = r#"{"remote":"other","r\u0065mote":"other","Remote":"other","branch":"a"}"#;
        let text = transform.arguments("push", Some(arguments)).unwrap();
        assert_eq!(text, r#"{"branch":"a","remote":"fork"}"#);
        assert_eq!(transform.arguments("pull", Some(arguments)), None);
        assert_eq!(
            transform.arguments("push", None).unwrap(),
            r#"{"remote":"fork"}"#
        );
    }
}
