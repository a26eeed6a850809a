//! The argument names of one server's tools. They show whether a tool has an argument to which the settings give a fixed value.

use std::collections::HashMap;

use mcp_host::argument_names;
use serde_json::Value;

use super::{MAX_BYTES, MAX_ITEMS};

/// The argument names of tools, by tool.
#[derive(Default)]
pub(super) struct ToolArguments {
    by_tool: HashMap<String, Arguments>,
    bytes: usize,
}

/// The names of the arguments of one tool.
enum Arguments {
    /// The schema allows arguments that it does not name.
    Any,
    Named(Vec<String>),
}

impl ToolArguments {
    /// Adds a tool if the limits allow it. If the tool is known, keeps only the arguments that are also in `schema`, because a
    /// server can list different arguments for different clients.
    pub(super) fn learn(&mut self, tool: &str, schema: &Value) {
        let mut arguments = match argument_names(schema) {
            None => Arguments::Any,
            Some(names) => Arguments::Named(names.into_iter().map(str::to_owned).collect()),
        };
        if let Some((tool, known)) = self.by_tool.remove_entry(tool) {
            self.bytes -= known.size(&tool);
            arguments = known.common_with(arguments);
        }
        let bytes = arguments.size(tool);
        if self.by_tool.len() < MAX_ITEMS && self.bytes + bytes <= MAX_BYTES {
            self.bytes += bytes;
            self.by_tool.insert(tool.to_owned(), arguments);
        }
    }

    /// Returns whether a tool is known.
    pub(super) fn contains(&self, tool: &str) -> bool {
        self.by_tool.contains_key(tool)
    }

    /// Returns whether a tool is known and has this argument.
    pub(super) fn has(&self, tool: &str, argument: &str) -> bool {
        self.by_tool
            .get(tool)
            .is_some_and(|arguments| match arguments {
                Arguments::Any => true,
                Arguments::Named(names) => names.iter().any(|name| name == argument),
            })
    }

    /// Returns the names of the arguments of a tool, as far as they are known.
    pub(super) fn names(&self, tool: &str) -> impl Iterator<Item = &str> {
        self.by_tool
            .get(tool)
            .into_iter()
            .flat_map(Arguments::names)
    }
}

impl Arguments {
    fn size(&self, tool: &str) -> usize {
        tool.len() + self.names().map(str::len).sum::<usize>()
    }

    /// Returns the arguments that are in both sets.
    fn common_with(self, other: Self) -> Self {
        match (self, other) {
            (Self::Any, one) | (one, Self::Any) => one,
            (Self::Named(mut names), Self::Named(other)) => {
                names.retain(|name| other.contains(name));
                Self::Named(names)
            }
        }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let names = match self {
            Self::Any => &[][..],
            Self::Named(names) => names,
        };
        names.iter().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_number_of_stored_argument_names_is_limited() {
        let mut arguments = ToolArguments::default();
        let schema = json!({ "properties": { "x".repeat(MAX_BYTES / 2): {} } });
        for tool in ["a", "a", "b", "c"] {
            arguments.learn(tool, &schema);
        }
        assert!(arguments.contains("a") && !arguments.contains("c"));
        assert!(arguments.bytes <= MAX_BYTES);
        arguments.learn("a", &json!({ "properties": {} }));
        assert!(!arguments.has("a", "any") && arguments.bytes == 1);
    }
}
