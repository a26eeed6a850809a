//! Search instead of a list of tools that is too long for the model.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use mcp_client::types::{JsonObject, Tool};
use mcp_client::{CallToolResult, ContentBlock};
use mcp_jsonrpc::decode_document;
use serde_json::{Value, json};

use super::rank::rank;
use super::{ModelApi, ModelTools};
use crate::error::HostError;
use crate::host::{Host, HostTool};

/// Names of the two tools. No tool of a server has these names: the names of those tools contain `__` or end with a hash.
pub(super) const SEARCH_TOOLS: &str = "search_tools";
pub(super) const CALL_TOOL: &str = "call_tool";

/// Default and maximum number of tools in a result.
const RESULTS: usize = 5;
const MAX_RESULTS: usize = 20;
/// Maximum size of a result in bytes of JSON.
const MAX_RESULT_BYTES: usize = 64 << 10;
/// Maximum number of servers that the description of `search_tools` names.
const MAX_SERVERS: usize = 50;
/// Number of bytes of JSON that count as one token. Texts of models have three to four bytes for each token; schemas have fewer.
const BYTES_PER_TOKEN: usize = 3;

/// The number of tokens that tool definitions may use in a model request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolBudget {
    /// Maximum number of tokens, estimated as one for three bytes of JSON.
    pub max_tokens: usize,
    /// Names for the model of tools that are always listed.
    pub pinned: Vec<String>,
}

impl ToolBudget {
    /// Creates a budget of `max_tokens`, estimated as one token for three bytes of JSON, without pinned tools.
    pub fn new(max_tokens: usize) -> Self {
        Self {
            max_tokens,
            pinned: Vec::new(),
        }
    }

    /// Adds a tool that is always listed, by its name for the model.
    #[must_use]
    pub fn with_pinned(mut self, name: impl Into<String>) -> Self {
        self.pinned.push(name.into());
        self
    }

    fn admits(&self, bytes: usize) -> bool {
        bytes.div_ceil(BYTES_PER_TOKEN) <= self.max_tokens
    }
}

impl ModelApi {
    /// Returns tools in this format, as [`tools`](Self::tools) does, if they are within the budget.
    ///
    /// If the tools exceed the budget, returns the pinned tools and two other tools. With `search_tools`, the model finds tools
    /// by words of their names and descriptions. With `call_tool`, it calls them. [`Host::call`] answers both.
    pub fn tools_within_budget(self, tools: &[HostTool], budget: &ToolBudget) -> ModelTools {
        // A long list is not converted only to be measured.
        let text = |tool: &HostTool| {
            let description = tool.tool.description.as_ref().map_or(0, String::len);
            tool.name.len() + description
        };
        if budget.admits(tools.iter().map(text).sum()) {
            let all = self.tools(tools);
            if budget.admits(all.tools.to_string().len()) {
                return all;
            }
        }
        let is_pinned =
            |tool: &&HostTool| tool.server.is_empty() || budget.pinned.contains(&tool.name);
        let mut offered: Vec<HostTool> = tools.iter().filter(is_pinned).cloned().collect();
        offered.extend(self.search_tools(tools));
        ModelTools {
            has_search_tools: true,
            ..self.tools(&offered)
        }
    }

    /// Returns the definitions of the two tools.
    fn search_tools(self, tools: &[HostTool]) -> [HostTool; 2] {
        let mut counts = BTreeMap::<&str, usize>::new();
        for tool in tools.iter().filter(|tool| !tool.server.is_empty()) {
            *counts.entry(&tool.server).or_default() += 1;
        }
        let mut description = "Finds tools by words of their names and descriptions, with the schema of their \
             arguments. Call the tools that it returns with call_tool. Servers and their number of tools: "
            .to_owned();
        for (number, (server, count)) in counts.iter().take(MAX_SERVERS).enumerate() {
            let separator = if number > 0 { ", " } else { "" };
            // Writing to a string does not fail.
            let _ = write!(description, "{separator}{server} ({count})");
        }
        if counts.len() > MAX_SERVERS {
            let _ = write!(description, ", and {} more", counts.len() - MAX_SERVERS);
        }
        let search = json!({
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "Words, for example: read file" },
                "limit": {
                    "type": "integer", "minimum": 1, "maximum": MAX_RESULTS,
                    "description": format!("The number of tools. Default: {RESULTS}")
                }
            },
            "required": ["query"]
        });
        let arguments = match self {
            // Gemini rejects an object without properties.
            Self::Gemini => {
                json!({ "type": "string", "description": "The arguments: a JSON object as text" })
            }
            _ => json!({ "type": "object", "description": "The arguments" }),
        };
        let call = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "description": "The name that search_tools has returned" },
                "arguments": arguments
            },
            "required": ["name", "arguments"]
        });
        [
            local_tool(SEARCH_TOOLS, description, search),
            local_tool(
                CALL_TOOL,
                "Calls a tool that search_tools has returned.",
                call,
            ),
        ]
    }
}

/// Returns a tool that the host itself answers.
fn local_tool(name: &str, description: impl Into<String>, schema: Value) -> HostTool {
    let schema: JsonObject = match schema {
        Value::Object(schema) => schema.into_iter().collect(),
        _ => JsonObject::new(),
    };
    HostTool {
        name: name.to_owned(),
        server: String::new(),
        tool: Arc::new(Tool::new(name, schema).with_description(description)),
        is_stale: false,
    }
}

impl Host {
    /// Answers a call of `search_tools`. Ranking many tools takes time, so it runs on a thread for blocking work.
    pub(super) async fn search_tools(&self, input: &Value) -> CallToolResult {
        let Some(query) = input["query"].as_str().map(ToOwned::to_owned) else {
            return failed("search_tools needs the text \"query\"".to_owned());
        };
        let limit = input["limit"].as_u64().map_or(RESULTS, |limit| {
            usize::try_from(limit).unwrap_or(MAX_RESULTS)
        });
        let (mut tools, limit) = (self.tools(), limit.clamp(1, MAX_RESULTS));
        tools.retain(|tool| !tool.server.is_empty());
        let found = tokio::task::spawn_blocking(move || search(&query, &tools, limit));
        found
            .await
            .unwrap_or_else(|_| failed("the search failed".to_owned()))
    }

    /// Returns the tool and the arguments of a call of `call_tool`.
    ///
    /// # Errors
    /// The arguments are not a JSON object, or have no name.
    pub(super) fn called_tool(input: &Value) -> Result<(String, Value), HostError> {
        let invalid = || HostError::Arguments {
            name: CALL_TOOL.to_owned(),
        };
        let name = input["name"].as_str().ok_or_else(invalid)?;
        let arguments = match &input["arguments"] {
            Value::Null => json!({}),
            Value::String(text) if text.trim().is_empty() => json!({}),
            Value::String(text) => decode_document(text).map_err(|_| invalid())?,
            arguments => arguments.clone(),
        };
        if !arguments.is_object() {
            return Err(invalid());
        }
        Ok((name.to_owned(), arguments))
    }
}

fn search(query: &str, tools: &[HostTool], limit: usize) -> CallToolResult {
    let texts = tools.iter().map(|tool| {
        let description = tool.tool.description.as_deref().unwrap_or_default();
        (tool.name.as_str(), description)
    });
    let mut results = String::new();
    for index in rank(query, texts, limit) {
        let tool = &tools[index];
        let entry = json!({
            "name": tool.name, "description": tool.tool.description, "inputSchema": tool.tool.input_schema
        });
        let mut entry = entry.to_string();
        if results.len() + entry.len() > MAX_RESULT_BYTES {
            let note = "its definition is too long to be shown";
            entry = json!({ "name": tool.name, "note": note }).to_string();
        }
        results.push_str(&entry);
        results.push('\n');
    }
    match results.is_empty() {
        true => CallToolResult::new(vec![ContentBlock::text(
            "No tool has these words. Try other words.",
        )]),
        false => CallToolResult::new(vec![ContentBlock::text(results)]),
    }
}

fn failed(text: String) -> CallToolResult {
    let mut result = CallToolResult::new(vec![ContentBlock::text(text)]);
    result.is_error = Some(true);
    result
}
