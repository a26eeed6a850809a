//! Calls in the responses of model APIs.

use mcp_client::CallToolResult;
use mcp_jsonrpc::decode_document;
use serde_json::Value;

use super::ModelApi;
use super::search::{CALL_TOOL, SEARCH_TOOLS, TOOL_SEARCH};
use crate::error::HostError;
use crate::host::{Host, READ_RESULT};

/// A tool call that a model requests.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolUse {
    /// The id that connects the result with the call; empty if the API gives none.
    pub id: String,
    /// The name of the tool for the model.
    pub name: String,
    /// The arguments: an object, or a string if the model did not write a JSON object.
    pub input: Value,
}

impl ToolUse {
    /// Creates a call.
    pub fn new(id: impl Into<String>, name: impl Into<String>, input: impl Into<Value>) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            input: input.into(),
        }
    }

    fn parse(id: &Value, name: &Value, input: &Value) -> Self {
        let input = match input {
            Value::Null => Value::Object(serde_json::Map::new()),
            Value::String(text) if text.trim().is_empty() => Value::Object(serde_json::Map::new()),
            Value::String(text) => match decode_document(text) {
                Ok(Value::Object(input)) => input.into(),
                _ => text.as_str().into(),
            },
            input => input.clone(),
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Self::new(text(id), text(name), input)
    }
}

impl ModelApi {
    /// Returns the calls in a response, in their order. Returns an empty list if the response contains no calls or has another
    /// structure. With [`ToolSearch::Client`](super::ToolSearch::Client), the API leaves the search for tools to the host. Such a
    /// search is a call of `tool_search`.
    pub fn tool_uses(self, response: &Value) -> Vec<ToolUse> {
        let items = match self {
            Self::OpenAiChat => &response["choices"][0]["message"]["tool_calls"],
            Self::OpenAiResponses => &response["output"],
            Self::Anthropic => &response["content"],
            Self::Gemini => &response["candidates"][0]["content"]["parts"],
        };
        let search = Value::from(TOOL_SEARCH);
        let parse = |item: &Value| match self {
            Self::OpenAiChat => {
                let function = item.get("function")?;
                Some(ToolUse::parse(
                    &item["id"],
                    &function["name"],
                    &function["arguments"],
                ))
            }
            Self::OpenAiResponses => match item["type"].as_str() {
                Some("function_call") => Some(&item["name"]),
                Some("tool_search_call") if item["execution"] != "server" => Some(&search),
                _ => None,
            }
            .map(|name| ToolUse::parse(&item["call_id"], name, &item["arguments"])),
            Self::Anthropic => (item["type"] == "tool_use")
                .then(|| ToolUse::parse(&item["id"], &item["name"], &item["input"])),
            Self::Gemini => {
                let call = item.get("functionCall")?;
                Some(ToolUse::parse(&call["id"], &call["name"], &call["args"]))
            }
        };
        items
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(parse)
            .collect()
    }
}

impl Host {
    /// Calls a tool for a model, in the same way as [`call_tool`](Self::call_tool).
    ///
    /// Also runs the tools of the host itself: `search_tools`, `call_tool` and `tool_search` (see
    /// [`ModelApi::tools_within_budget`]), and `read_result` (see
    /// [`HostBuilder::max_result_bytes`](crate::HostBuilder::max_result_bytes)).
    ///
    /// # Errors
    /// The errors of [`call_tool`](Self::call_tool), and [`HostError::Arguments`] if the arguments are not a JSON object.
    /// [`ModelApi::results`] converts the error to a result for the model.
    pub async fn call(&self, tool_use: &ToolUse) -> Result<CallToolResult, HostError> {
        let name = &tool_use.name;
        if !tool_use.input.is_object() {
            let name = name.clone();
            return Err(HostError::Arguments { name });
        }
        if let (READ_RESULT, Some(results)) = (name.as_str(), self.long_results()) {
            return Ok(results.read(&tool_use.input));
        }
        let (name, arguments) = match name.as_str() {
            SEARCH_TOOLS | TOOL_SEARCH => {
                return Ok(self.search_tools(name, &tool_use.input).await);
            }
            CALL_TOOL => Self::called_tool(&tool_use.input)?,
            name => (name.to_owned(), tool_use.input.clone()),
        };
        let name = self.of_gemini(&name).unwrap_or(name);
        let result = self.call_tool(&name, arguments).await?;
        Ok(match self.long_results() {
            Some(results) => results.cut(result),
            None => result,
        })
    }

    /// Converts `name`, the name of a tool in the format of Gemini, to the name of the tool in the host. Returns `None` if both
    /// names are the same, or if no tool has this name.
    fn of_gemini(&self, name: &str) -> Option<String> {
        if !name.starts_with('_') || self.find_tool(name).is_some() {
            return None;
        }
        let names = self.tools().into_iter().map(|tool| tool.name);
        names
            .into_iter()
            .find(|tool| ModelApi::Gemini.name(tool) == name)
    }
}
