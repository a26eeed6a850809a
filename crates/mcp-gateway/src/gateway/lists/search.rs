//! Replaces a long list of tools by a search.

use std::sync::Arc;

use mcp_host::rank_tools;
use mcp_jsonrpc::{ErrorObject, RawJson, decode, quote};
use mcp_protocol::{Outcome, Payload};
use mcp_types::{CallToolResult, ContentBlock};
use serde::Deserialize;
use serde_json::{json, value::RawValue};

use super::super::state::State;
use super::kind::ListKind;
use super::merged::MergedList;
use crate::gateway::record::ClientRequest;
use crate::text::{ObjectText, elements, member, without};

/// Name of the tool that searches for tools. No other tool of a gateway has this name, because the names of servers' tools have a
/// prefix.
pub(in crate::gateway) const SEARCH_TOOLS: &str = "search_tools";
/// Name of the tool that calls a found tool. No other tool of a gateway has this name.
pub(in crate::gateway) const CALL_TOOL: &str = "call_tool";

/// Default number of tools in the result of a search.
const RESULTS: usize = 5;
/// Maximum number of tools in the result of a search.
const MAX_RESULTS: usize = 20;
/// Maximum size of the result of a search, in bytes of JSON.
const MAX_RESULT_BYTES: usize = 64 << 10;

/// The arguments of `search_tools`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    query: String,
    #[serde(default)]
    limit: Option<usize>,
}

/// Returns the definitions of the two tools, as JSON text.
pub(super) fn definitions(tools: usize) -> [String; 2] {
    let query = "Words, for example: read file";
    let limit = format!("The number of tools. Default: {RESULTS}");
    let search = json!({
        "name": SEARCH_TOOLS,
        "description": format!(
            "Finds tools by words of their names and descriptions, with the schema of their arguments. Call the tools that it \
             returns with {CALL_TOOL}. There are {tools} tools."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": query },
                "limit": { "type": "integer", "minimum": 1, "maximum": MAX_RESULTS, "description": limit },
            },
            "required": ["query"],
        },
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    });
    let call = json!({
        "name": CALL_TOOL,
        "description": format!("Calls a tool that {SEARCH_TOOLS} has returned."),
        "inputSchema": {
            "type": "object",
            "properties": {
                "name": { "type": "string", "description": format!("The name that {SEARCH_TOOLS} has returned") },
                "arguments": { "type": "object", "description": "The arguments" },
            },
            "required": ["name", "arguments"],
        },
    });
    [search.to_string(), call.to_string()]
}

/// Converts the params of a call of `call_tool` to the params of a call of the tool that the arguments name.
///
/// # Errors
/// The arguments have no `name`.
pub(in crate::gateway) fn called(params: &str) -> Result<String, ErrorObject> {
    let arguments = member(params, "arguments").unwrap_or("{}");
    let name = member(arguments, "name").ok_or_else(|| {
        ErrorObject::invalid_params(format!("the arguments of {CALL_TOOL} need a \"name\""))
    })?;
    let mut text = ObjectText::new();
    text.add("name", name);
    if let Some(arguments) = member(arguments, "arguments") {
        text.add("arguments", arguments);
    }
    text.copy_all(params, &["name", "arguments"]);
    Ok(text.finish())
}

impl State {
    /// Serves a call of `search_tools`. `params` has the arguments of the call and the metadata of the client.
    pub(in crate::gateway) async fn search(
        self: Arc<Self>,
        params: RawJson,
        context: ClientRequest,
    ) -> Outcome {
        let arguments = member(&params, "arguments").unwrap_or("{}");
        let search: Search = match decode(arguments) {
            Ok(search) => search,
            // The model can correct its arguments.
            Err(error) => return Ok(failed(format!("invalid arguments: {error}"))),
        };
        let limit = search.limit.unwrap_or(RESULTS).clamp(1, MAX_RESULTS);
        let mut merged = MergedList::new(ListKind::Tools);
        let params = without(&params, &["name", "arguments"]);
        self.add_pages(&mut merged, None, true, Some(&params), &context)
            .await?;
        let list = merged.items_text();
        let tools = elements(&list, "tools").unwrap_or_default();
        let text = |tool: &RawValue, name| -> String {
            let text = member(tool.get(), name).and_then(|text| decode(text).ok());
            text.unwrap_or_default()
        };
        let texts: Vec<_> = tools
            .iter()
            .map(|tool| (text(tool, "name"), text(tool, "description")))
            .collect();
        let texts = texts.iter().map(|(name, text)| (&**name, &**text));
        let mut found = String::new();
        for index in rank_tools(&search.query, texts, limit) {
            let tool = tools[index].get();
            if found.len() + tool.len() > MAX_RESULT_BYTES {
                break;
            }
            found.push_str(if found.is_empty() { "" } else { ",\n" });
            found.push_str(tool);
        }
        Ok(match found.is_empty() {
            true => failed(format!(
                "no tool has a word of the query {} in its name or description; try other words",
                quote(&search.query, 100)
            )),
            false => result(format!("[{found}]"), false),
        })
    }
}

fn failed(text: String) -> Payload {
    result(text, true)
}

fn result(text: String, is_error: bool) -> Payload {
    let result = CallToolResult::new(vec![ContentBlock::text(text)]);
    Payload::of(result.with_is_error(is_error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_of_call_tool_is_converted_to_a_call_of_the_named_tool() {
        let params = r#"{"name":"call_tool","arguments":{"arguments":{"x":1.0},"name":"git__log"},"_meta":{"a":1}}"#;
        let text = called(params).unwrap();
        assert_eq!(
            text,
            r#"{"name":"git__log","arguments":{"x":1.0},"_meta":{"a":1}}"#
        );
        let error = called(r#"{"name":"call_tool"}"#).unwrap_err();
        assert!(error.message.contains("\"name\""), "{error}");
    }
}
