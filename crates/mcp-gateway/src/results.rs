//! Results and errors of one revision for clients of another.

use mcp_jsonrpc::{ErrorCode, ErrorObject, RawJson};
use mcp_protocol::http_headers::HeaderParams;
use mcp_protocol::{Payload, Rules, downgrade};
use mcp_types::{
    CallToolResult, ContentBlock, GetPromptResult, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, ReadResourceResult, method,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::text::{RawResult, without};

/// The members that only results of the stateless revision have.
const STATELESS_MEMBERS: [&str; 3] = ["resultType", "ttlMs", "cacheScope"];

/// Converts a result for a client of a session-based revision with these rules.
pub(crate) fn for_session(
    method: &str,
    result: &RawJson,
    rules: &Rules,
    is_newer: bool,
) -> Payload {
    let result = without(result, &STATELESS_MEMBERS);
    if !is_newer || !downgrade::changes_content(rules) {
        return raw(result);
    }
    match method {
        method::TOOLS_LIST => typed(result, |list: &mut ListToolsResult| {
            list.tools
                .iter_mut()
                .for_each(|tool| downgrade::tool(tool, rules));
        }),
        method::PROMPTS_LIST => typed(result, |list: &mut ListPromptsResult| {
            list.prompts
                .iter_mut()
                .for_each(|prompt| downgrade::prompt(prompt, rules));
        }),
        method::RESOURCES_LIST => typed(result, |list: &mut ListResourcesResult| {
            list.resources
                .iter_mut()
                .for_each(|resource| downgrade::resource(resource, rules));
        }),
        method::RESOURCES_TEMPLATES_LIST => {
            typed(result, |list: &mut ListResourceTemplatesResult| {
                let templates = list.resource_templates.iter_mut();
                templates.for_each(|template| downgrade::resource_template(template, rules));
            })
        }
        method::TOOLS_CALL => typed(result, |result: &mut CallToolResult| {
            downgrade::call_tool_result(result, rules);
        }),
        method::PROMPTS_GET => typed(result, |result: &mut GetPromptResult| {
            downgrade::get_prompt_result(result, rules);
        }),
        method::RESOURCES_READ => typed(result, |result: &mut ReadResourceResult| {
            downgrade::read_resource_result(result, rules);
        }),
        _ => raw(result),
    }
}

/// Converts a result of a session-based server for a stateless client.
pub(crate) fn for_stateless(method: &str, result: RawJson) -> Payload {
    if method == method::TOOLS_LIST
        && result.contains("\"execution\"")
        && let Ok(mut list) = result.decode::<Value>()
        && let Some(tools) = list.get_mut("tools").and_then(Value::as_array_mut)
    {
        // A tool that only runs as a task cannot be called through the gateway.
        tools.retain(|tool| tool.pointer("/execution/taskSupport") != Some(&"required".into()));
        for tool in tools.iter_mut().filter_map(Value::as_object_mut) {
            tool.shift_remove("execution");
        }
        return Payload::of(list);
    }
    raw(result)
}

/// Returns a list of tools without those whose parameters violate the rules for HTTP headers. A client must not use them,
/// and to the server the gateway is the client.
pub(crate) fn without_invalid_tools(result: RawJson) -> RawJson {
    if !result.contains("x-mcp-header") {
        return result;
    }
    let Ok(mut list) = result.decode::<Value>() else {
        return result;
    };
    if let Some(tools) = list.get_mut("tools").and_then(Value::as_array_mut) {
        tools.retain(|tool| {
            let schema = tool.get("inputSchema").and_then(Value::as_object);
            schema.is_none_or(|schema| HeaderParams::of(schema).is_ok())
        });
    }
    RawJson::copy(&list.to_string())
}

/// Converts an error of a stateless server for a session-based client.
pub(crate) fn error_for_session(
    method: &str,
    mut error: ErrorObject,
) -> Result<Payload, ErrorObject> {
    match (method, error.code) {
        (method::RESOURCES_READ, ErrorCode::INVALID_PARAMS)
            if error
                .data
                .as_ref()
                .is_some_and(|data| data.get("uri").is_some()) =>
        {
            error.code = ErrorCode::RESOURCE_NOT_FOUND;
            Err(error)
        }
        // A session-based client cannot declare more capabilities, so its model is told.
        (method::TOOLS_CALL, ErrorCode::MISSING_CLIENT_CAPABILITY) => {
            let text = ContentBlock::text(error.message.into_owned());
            Ok(Payload::of(
                CallToolResult::new(vec![text]).with_is_error(true),
            ))
        }
        _ => Err(error),
    }
}

fn raw(result: RawJson) -> Payload {
    Payload::Boxed(Box::new(RawResult(result)))
}

/// Changes a result as a typed value; a result that cannot be decoded is passed on as it is.
fn typed<T>(result: RawJson, change: impl FnOnce(&mut T)) -> Payload
where
    T: DeserializeOwned + Serialize + Send + Sync + 'static,
{
    match result.decode::<T>() {
        Ok(mut value) => {
            change(&mut value);
            Payload::of(value)
        }
        Err(error) => {
            tracing::debug!(%error, "a result was passed on without a change");
            raw(result)
        }
    }
}
