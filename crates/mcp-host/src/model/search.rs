//! Lets the model search for tools if the list of all tools is too long.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use mcp_client::types::{JsonObject, Tool};
use mcp_client::{CallToolResult, ContentBlock};
use mcp_jsonrpc::decode_document;
use serde_json::{Value, json};

use super::block::shortened;
use super::rank::rank;
use super::{ModelApi, ModelTools};
use crate::error::HostError;
use crate::host::{Host, HostTool};

/// Name of the tool that searches for tools. No tool of a server has this name or the name of another tool of the host: names of
/// servers' tools contain `__` or end with a hash.
pub(super) const SEARCH_TOOLS: &str = "search_tools";
/// Name of the tool that calls a found tool.
pub(super) const CALL_TOOL: &str = "call_tool";
/// Name of the tool that searches for deferred tools. An API loads a deferred tool only after a search has found it.
pub(super) const TOOL_SEARCH: &str = "tool_search";

/// Default number of tools in the result of a search.
const RESULTS: usize = 5;
/// Maximum number of tools in the result of a search.
const MAX_RESULTS: usize = 20;
/// Maximum size of the result of a search, in bytes of JSON.
const MAX_RESULT_BYTES: usize = 64 << 10;
/// Maximum size of one tool definition in the result of a search, in bytes of JSON.
const MAX_DEFINITION_BYTES: usize = 16 << 10;
/// Maximum number of servers that the description of `search_tools` names.
const MAX_SERVERS: usize = 50;
const NOTHING_FOUND: &str = "No tool has these words. Try other words.";
/// Number of bytes of JSON that count as one token. In ordinary text, a token has three to four bytes; in schemas, it has fewer.
pub(super) const BYTES_PER_TOKEN: usize = 3;

/// The number of tokens that tool definitions may use in a model request, and how the model finds tools if all definitions need
/// more tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolBudget {
    /// Maximum number of tokens. The estimate is one token for each three bytes of JSON.
    pub max_tokens: usize,
    /// The tools that are always listed, by their names for the model.
    pub pinned: Vec<String>,
    /// How the model finds tools that are not listed.
    pub search: ToolSearch,
}

/// How a model finds tools that are not listed in the request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolSearch {
    /// With two tools of the host, `search_tools` and `call_tool`. All APIs and models support this search.
    #[default]
    Tools,
    /// With deferred tools, which the API loads when a search has found them. The host searches, so the provider does not decide
    /// which tools a model sees.
    Client,
    /// With deferred tools, which the API loads when a search has found them. The provider searches.
    Provider,
}

impl ToolBudget {
    /// Creates a budget of `max_tokens` without pinned tools and with [`ToolSearch::Tools`]. The estimate is one token for each
    /// three bytes of JSON.
    pub fn new(max_tokens: usize) -> Self {
        Self {
            max_tokens,
            pinned: Vec::new(),
            search: ToolSearch::default(),
        }
    }

    /// Adds a tool that is always listed. `name` is its name for the model.
    #[must_use]
    pub fn with_pinned(mut self, name: impl Into<String>) -> Self {
        self.pinned.push(name.into());
        self
    }

    /// Sets how the model finds the tools that are not listed.
    #[must_use]
    pub fn with_search(mut self, search: ToolSearch) -> Self {
        self.search = search;
        self
    }

    fn admits(&self, bytes: usize) -> bool {
        bytes.div_ceil(BYTES_PER_TOKEN) <= self.max_tokens
    }
}

impl ModelApi {
    /// Returns tools in this format. If they are within the budget, returns all tools, in the same way as [`tools`](Self::tools).
    ///
    /// If the tools exceed the budget, returns the pinned tools and a search ([`ToolBudget::search`]):
    ///
    /// - [`ToolSearch::Tools`]: the model finds tools with `search_tools`, by words in their names and descriptions. It calls
    ///   them with `call_tool`.
    /// - [`ToolSearch::Client`] and [`ToolSearch::Provider`]: the other tools are deferred. The API shows a deferred tool to the
    ///   model only after a search has found the tool. The model then calls the tool by its name. Only Anthropic and OpenAI
    ///   Responses support deferred tools, and not for all their models. For the other APIs, `ToolSearch::Tools` applies.
    ///
    /// [`tool_uses`](Self::tool_uses), [`Host::call`] and [`results`](Self::results) execute the searches of the host. A search
    /// of the host finds all tools of the host, so pass all of them in `tools`. To keep a tool from the model, deny the tool with
    /// a rule. If a search has found a tool, later requests must define this tool. Otherwise, Anthropic rejects the conversation.
    pub fn tools_within_budget(self, tools: &[HostTool], budget: &ToolBudget) -> ModelTools {
        // If the names and descriptions alone exceed the budget, the list is not converted, because this would take long.
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
            |tool: &HostTool| tool.server.is_empty() || budget.pinned.contains(&tool.name);
        let (mut pinned, others): (Vec<_>, Vec<_>) = tools.iter().cloned().partition(is_pinned);
        let (search, mut offered) = match (self, budget.search) {
            (Self::Anthropic | Self::OpenAiResponses, search @ ToolSearch::Client) => {
                (search, self.with_client_search(&pinned, &others))
            }
            (Self::Anthropic | Self::OpenAiResponses, search @ ToolSearch::Provider) => {
                (search, self.with_provider_search(&pinned, &others))
            }
            _ => {
                pinned.extend(self.search_tools(tools));
                (ToolSearch::Tools, self.tools(&pinned))
            }
        };
        offered.search = Some(search);
        offered
    }

    /// Returns the definitions of `search_tools` and `call_tool`.
    fn search_tools(self, tools: &[HostTool]) -> [HostTool; 2] {
        let description = format!(
            "Finds tools by words of their names and descriptions, with the schema of their arguments. \
             Use {CALL_TOOL} to call the found tools. {}",
            servers_of(tools)
        );
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
            local_tool(SEARCH_TOOLS, description, search_parameters()),
            local_tool(
                CALL_TOOL,
                "Calls a tool that search_tools has returned.",
                call,
            ),
        ]
    }
}

/// Returns the input schema of a search.
pub(super) fn search_parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "query": { "type": "string", "description": "Words, for example: read file" },
            "limit": {
                "type": "integer", "minimum": 1, "maximum": MAX_RESULTS,
                "description": format!("The number of tools. Default: {RESULTS}")
            }
        },
        "required": ["query"]
    })
}

/// Returns a sentence that names the servers of the tools.
pub(super) fn servers_of(tools: &[HostTool]) -> String {
    let mut counts = BTreeMap::<&str, usize>::new();
    for tool in tools.iter().filter(|tool| !tool.server.is_empty()) {
        *counts.entry(&tool.server).or_default() += 1;
    }
    let mut text = "Servers and their number of tools: ".to_owned();
    for (number, (server, count)) in counts.iter().take(MAX_SERVERS).enumerate() {
        let separator = if number > 0 { ", " } else { "" };
        // Writing to a string does not fail.
        let _ = write!(text, "{separator}{} ({count})", shortened(server));
    }
    if counts.len() > MAX_SERVERS {
        let _ = write!(text, ", and {} more", counts.len() - MAX_SERVERS);
    }
    text
}

/// Returns the definition of a tool of the host itself.
pub(super) fn local_tool(name: &str, description: impl Into<String>, schema: Value) -> HostTool {
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
    /// Executes a call of `search_tools` or `tool_search`. Ranks the tools on a thread for blocking work, because ranking many
    /// tools takes time.
    pub(super) async fn search_tools(&self, name: &str, input: &Value) -> CallToolResult {
        let Some(query) = input["query"].as_str().map(ToOwned::to_owned) else {
            return failed(format!("{name} needs the text \"query\""));
        };
        let limit = input["limit"].as_u64().map_or(RESULTS, |limit| {
            usize::try_from(limit).unwrap_or(MAX_RESULTS)
        });
        let (mut tools, limit) = (self.tools(), limit.clamp(1, MAX_RESULTS));
        tools.retain(|tool| !tool.server.is_empty());
        let answer = match name {
            TOOL_SEARCH => found_tools,
            _ => found_definitions,
        };
        let found = tokio::task::spawn_blocking(move || answer(&search(&query, &tools, limit)));
        found
            .await
            .unwrap_or_else(|_| failed("the search failed".to_owned()))
    }

    /// Returns the name of the tool that a call of `call_tool` names, and the arguments for this tool.
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

/// Returns the tools that match the words of the query, best first.
fn search<'a>(query: &str, tools: &'a [HostTool], limit: usize) -> Vec<&'a HostTool> {
    let texts = tools.iter().map(|tool| {
        let description = tool.tool.description.as_deref().unwrap_or_default();
        (tool.name.as_str(), description)
    });
    let best = rank(query, texts, limit).into_iter();
    best.filter_map(|index| tools.get(index)).collect()
}

/// Returns the definitions of the found tools as text. The model then calls the tools with [`CALL_TOOL`].
fn found_definitions(found: &[&HostTool]) -> CallToolResult {
    let mut results = String::new();
    for tool in found {
        let entry = json!({
            "name": tool.name, "description": tool.tool.description, "inputSchema": tool.tool.input_schema
        });
        let mut entry = entry.to_string();
        if entry.len() > MAX_DEFINITION_BYTES || results.len() + entry.len() > MAX_RESULT_BYTES {
            let note = "its definition is too long to be shown";
            entry = json!({ "name": tool.name, "note": note }).to_string();
        }
        results.push_str(&entry);
        results.push('\n');
    }
    match results.is_empty() {
        true => CallToolResult::new(vec![ContentBlock::text(NOTHING_FOUND)]),
        false => CallToolResult::new(vec![ContentBlock::text(results)]),
    }
}

/// Returns the definitions of the found tools as structured content, so that the API loads the tools. [`loaded_tools`] reads this
/// content.
fn found_tools(found: &[&HostTool]) -> CallToolResult {
    let (mut bytes, mut tools) = (0, Vec::new());
    for tool in found {
        let mut definition = Tool::new(&*tool.name, tool.tool.input_schema.clone());
        definition.description.clone_from(&tool.tool.description);
        let size = json!(definition).to_string().len();
        if size > MAX_DEFINITION_BYTES || bytes + size > MAX_RESULT_BYTES {
            // Without the schema, the model can still call the tool, and the server reports wrong arguments.
            definition.input_schema = JsonObject::new();
            let description = definition.description.take();
            definition.description = description.map(|text| shortened(&text));
        } else {
            bytes += size;
        }
        tools.push(json!(definition));
    }
    let mut result = CallToolResult::new(Vec::new());
    if tools.is_empty() {
        result.content.push(ContentBlock::text(NOTHING_FOUND));
    }
    result.structured_content = Some(json!({ "tools": tools }));
    result
}

/// Returns the tools that a `tool_search` has found, from its result.
pub(super) fn loaded_tools(result: &CallToolResult) -> Vec<HostTool> {
    let tools = result.structured_content.as_ref();
    let tools = tools.and_then(|content| content["tools"].as_array());
    let tool = |value: &Value| {
        let tool: Tool = serde_json::from_value(value.clone()).ok()?;
        Some(HostTool {
            name: tool.name.clone(),
            server: String::new(),
            tool: Arc::new(tool),
            is_stale: false,
        })
    };
    tools.into_iter().flatten().filter_map(tool).collect()
}

fn failed(text: String) -> CallToolResult {
    let mut result = CallToolResult::new(vec![ContentBlock::text(text)]);
    result.is_error = Some(true);
    result
}
