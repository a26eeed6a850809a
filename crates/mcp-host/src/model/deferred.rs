//! Deferred tools: a model API loads such a tool only after a search has found it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::block::shortened;
use super::search::{TOOL_SEARCH, local_tool, search_parameters, servers_of};
use super::{ModelApi, ModelTools};
use crate::host::{HostTool, model_name};

/// Name and type of the Anthropic search tool that ranks tools by words. Another Anthropic search tool takes regular expressions
/// from the model.
const ANTHROPIC_SEARCH: (&str, &str) = ("tool_search_tool_bm25", "tool_search_tool_bm25_20251119");
/// Maximum size of the description of a namespace, in bytes. A namespace is a group of deferred tools in the format of OpenAI.
const MAX_DESCRIPTION: usize = 500;

impl ModelApi {
    /// Returns the pinned tools, which are always listed, and a search tool that the host executes.
    pub(super) fn with_client_search(self, pinned: &[HostTool], others: &[HostTool]) -> ModelTools {
        let description = format!(
            "Finds tools by words of their names and descriptions. Then call the tools that it has found. {}",
            servers_of(others)
        );
        let search = local_tool(TOOL_SEARCH, &*description, search_parameters());
        if self == Self::Anthropic {
            let listed: Vec<HostTool> = pinned.iter().cloned().chain([search]).collect();
            return self.tools(&listed).and(self.deferred(others));
        }
        // The output of the search has the definitions.
        let mut offered = self.tools(pinned);
        push(
            &mut offered.tools,
            json!({
                "type": TOOL_SEARCH,
                "execution": "client",
                "description": description,
                "parameters": search_parameters()
            }),
        );
        offered
    }

    /// Returns the pinned tools, which are always listed, all other tools as deferred tools, and the search tool of the provider.
    pub(super) fn with_provider_search(
        self,
        pinned: &[HostTool],
        others: &[HostTool],
    ) -> ModelTools {
        let mut offered = self.tools(pinned);
        if self == Self::Anthropic {
            let (name, kind) = ANTHROPIC_SEARCH;
            push(&mut offered.tools, json!({ "type": kind, "name": name }));
            return offered.and(self.deferred(others));
        }
        push(&mut offered.tools, json!({ "type": TOOL_SEARCH }));
        let mut by_server = BTreeMap::<&str, Vec<HostTool>>::new();
        for tool in others {
            by_server
                .entry(&tool.server)
                .or_default()
                .push(tool.clone());
        }
        for (server, tools) in by_server {
            let mut of_server = self.deferred(&tools);
            let namespace = json!({
                "type": "namespace",
                "name": namespace_name(server),
                "description": namespace_description(server, &tools),
                "tools": of_server.tools
            });
            of_server.tools = json!([namespace]);
            offered = offered.and(of_server);
        }
        offered
    }

    /// Returns tools as deferred tools: the model does not see them until a search has found them.
    pub(super) fn deferred(self, tools: &[HostTool]) -> ModelTools {
        let mut deferred = self.tools(tools);
        for tool in deferred.tools.as_array_mut().into_iter().flatten() {
            tool["defer_loading"] = true.into();
        }
        deferred
    }
}

impl ModelTools {
    /// Appends the tools and the removed keywords of `other`.
    fn and(mut self, other: Self) -> Self {
        if let (Value::Array(tools), Value::Array(others)) = (&mut self.tools, other.tools) {
            tools.extend(others);
        }
        self.dropped.extend(other.dropped);
        self
    }
}

fn push(tools: &mut Value, tool: Value) {
    if let Value::Array(tools) = tools {
        tools.push(tool);
    }
}

/// Returns the name of the namespace for the tools of a server. It is different for each server.
fn namespace_name(server: &str) -> String {
    model_name(server, "tools")
}

/// Returns the description of the namespace for the tools of a server. It contains the names that the server gives the tools.
fn namespace_description(server: &str, tools: &[HostTool]) -> String {
    let mut description = format!("Tools of the server {}:", shortened(server));
    for (number, tool) in tools.iter().enumerate() {
        let separator = if number > 0 { ", " } else { " " };
        let name = shortened(&tool.tool.name);
        if description.len() + separator.len() + name.len() > MAX_DESCRIPTION {
            description.push_str(" ..");
            break;
        }
        description.push_str(separator);
        description.push_str(&name);
    }
    description
}
