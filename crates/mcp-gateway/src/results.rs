//! Converts results and errors of one revision for clients of another revision.

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

use crate::text::{ObjectText, RawResult, may_have, member, without};

/// The members that exist only in results of the stateless revision.
const STATELESS_MEMBERS: [&str; 3] = ["resultType", "ttlMs", "cacheScope"];

/// Converts a result for a session-based client. `rules` are the rules of the client's revision. `is_newer` says whether the
/// server uses a newer revision than the client.
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

/// Sets the `cacheScope` of a result to `private`, so that shared caches do not keep the result. A result without `cacheScope` is
/// not changed.
pub(crate) fn private(result: RawJson) -> RawJson {
    const CACHE_SCOPE: &str = "cacheScope";
    if !may_have(&result, CACHE_SCOPE) || member(&result, CACHE_SCOPE).is_none() {
        return result;
    }
    let mut text = ObjectText::with_capacity(result.len());
    text.copy_all(&result, &[CACHE_SCOPE]);
    text.add(CACHE_SCOPE, "\"private\"");
    RawJson::copy(&text.finish())
}

/// Converts a result of a session-based server for a stateless client.
pub(crate) fn for_stateless(method: &str, result: RawJson) -> Payload {
    if method == method::TOOLS_LIST
        && may_have(&result, "execution")
        && let Ok(mut list) = result.decode::<Value>()
        && let Some(tools) = list.get_mut("tools").and_then(Value::as_array_mut)
    {
        // A tool that only runs as a task cannot be called through the gateway.
        let count = tools.len();
        tools.retain(|tool| tool.pointer("/execution/taskSupport") != Some(&"required".into()));
        let mut is_changed = tools.len() < count;
        for tool in tools.iter_mut().filter_map(Value::as_object_mut) {
            is_changed |= tool.shift_remove("execution").is_some();
        }
        if is_changed {
            return Payload::of(list);
        }
    }
    raw(result)
}

/// Returns a list of tools without the tools whose parameters violate the rules for HTTP headers. A client must not use these
/// tools, and the gateway is the client of the server.
pub(crate) fn without_invalid_tools(result: RawJson) -> RawJson {
    if may_have(&result, "x-mcp-header")
        && let Ok(mut list) = result.decode::<Value>()
        && let Some(tools) = list.get_mut("tools").and_then(Value::as_array_mut)
    {
        let mut has_headers = false;
        tools.retain(|tool| {
            let schema = tool.get("inputSchema").and_then(Value::as_object);
            let headers = schema.map_or_else(|| Ok(HeaderParams::default()), HeaderParams::of);
            has_headers |= headers.as_ref().map_or(true, |headers| !headers.is_empty());
            headers.is_ok()
        });
        // The list is written again even if no tool is left out: a repeated member then has only the value that was checked.
        if has_headers {
            return RawJson::copy(&list.to_string());
        }
    }
    result
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
        // A session-based client cannot declare more capabilities, so the error is returned to its model.
        (method::TOOLS_CALL, ErrorCode::MISSING_CLIENT_CAPABILITY) => {
            let text = ContentBlock::text(error.message.into_owned());
            Ok(Payload::of(
                CallToolResult::new(vec![text]).with_is_error(true),
            ))
        }
        _ => Err(error),
    }
}

/// Returns a result that is sent unchanged.
pub(crate) fn raw(result: RawJson) -> Payload {
    Payload::Boxed(Box::new(RawResult(result)))
}

/// Decodes a result, changes it and encodes it again. If a result cannot be decoded, returns it unchanged.
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

#[cfg(test)]
mod tests {
    use mcp_protocol::Revision;
    use serde_json::json;

    use super::*;

    fn converted(method: &str, result: &Value, revision: Revision, is_newer: bool) -> Value {
        let (result, mut text) = (RawJson::copy(&result.to_string()), Vec::new());
        for_session(method, &result, revision.rules(), is_newer).write(&mut text);
        serde_json::from_slice(&text).unwrap()
    }

    /// Returns examples of results: the method, the result, and the same result without the members that 2024-11-05 does not
    /// have.
    fn results() -> [(&'static str, Value, Value); 7] {
        let link = json!({ "type": "resource_link", "name": "a", "uri": "test://a" });
        let text = json!({ "type": "text", "text": "a: test://a" });
        let user =
            |content: &Value| json!({ "messages": [{ "role": "user", "content": content }] });
        [
            (
                method::TOOLS_LIST,
                json!({ "tools": [{ "name": "a", "title": "A", "inputSchema": { "type": "object" } }] }),
                json!({ "tools": [{ "name": "a", "inputSchema": { "type": "object" } }] }),
            ),
            (
                method::PROMPTS_LIST,
                json!({ "prompts": [{ "name": "a", "title": "A" }] }),
                json!({ "prompts": [{ "name": "a" }] }),
            ),
            (
                method::RESOURCES_LIST,
                json!({ "resources": [{ "name": "a", "title": "A", "uri": "test://a" }] }),
                json!({ "resources": [{ "name": "a", "uri": "test://a" }] }),
            ),
            (
                method::RESOURCES_TEMPLATES_LIST,
                json!({ "resourceTemplates": [{ "name": "a", "title": "A", "uriTemplate": "test://{a}" }] }),
                json!({ "resourceTemplates": [{ "name": "a", "uriTemplate": "test://{a}" }] }),
            ),
            (
                method::TOOLS_CALL,
                json!({ "content": [link] }),
                json!({ "content": [text] }),
            ),
            (method::PROMPTS_GET, user(&link), user(&text)),
            (
                method::RESOURCES_READ,
                json!({ "contents": [{ "uri": "test://a", "text": "a", "_meta": { "x/y": 1 } }] }),
                json!({ "contents": [{ "uri": "test://a", "text": "a" }] }),
            ),
        ]
    }

    #[test]
    fn results_of_newer_servers_are_converted_for_older_clients() {
        for (method, result, expected) in results() {
            let old = converted(method, &result, Revision::V2024_11_05, true);
            assert_eq!(old, expected, "{method}");
            let same = converted(method, &result, Revision::V2024_11_05, false);
            assert_eq!(same, result, "{method}, of a server that is not newer");
            let newest = Revision::LATEST_WITH_SESSIONS;
            assert_eq!(converted(method, &result, newest, true), result, "{method}");
        }
    }

    #[test]
    fn stateless_clients_do_not_see_tools_that_only_run_as_tasks() {
        let tools = json!({ "tools": [
            { "name": "a", "execution": { "taskSupport": "required" } },
            { "name": "b", "execution": { "taskSupport": "optional" } },
            { "name": "c" },
        ] });
        let converted = |method| {
            let mut text = Vec::new();
            for_stateless(method, RawJson::copy(&tools.to_string())).write(&mut text);
            serde_json::from_slice::<Value>(&text).unwrap()
        };
        let expected = json!({ "tools": [{ "name": "b" }, { "name": "c" }] });
        assert_eq!(converted(method::TOOLS_LIST), expected);
        assert_eq!(converted("x/tools"), tools, "the result of another method");
        let mut text = Vec::new();
        let exact = r#"{"tools":[ {"name":"a\nb","x":1e2} ]}"#;
        for_stateless(method::TOOLS_LIST, RawJson::copy(exact)).write(&mut text);
        assert_eq!(text, exact.as_bytes());
    }

    #[test]
    fn an_invalid_header_annotation_is_found_even_if_its_key_has_escapes() {
        let list = |key: &str, header: &str| {
            let property = format!(r#"{{"type":"string","{key}":"{header}"}}"#);
            let schema = format!(r#"{{"type":"object","properties":{{"a":{property}}}}}"#);
            let list = format!(r#"{{"tools":[{{"name":"t","inputSchema":{schema}}}]}}"#);
            let list = without_invalid_tools(RawJson::copy(&list));
            list.decode::<Value>().unwrap()["tools"][0]["name"].clone()
        };
        for key in ["x-mcp-header", r"x-mcp-he\u0061der"] {
            assert_eq!(list(key, "Region"), "t", "{key}");
            assert_eq!(list(key, "a b"), Value::Null, "{key}");
        }
    }

    #[test]
    fn members_of_the_stateless_revision_are_removed_for_sessions() {
        let result =
            json!({ "resultType": "complete", "ttlMs": 0, "cacheScope": "private", "x": 1 });
        let converted = converted("x/y", &result, Revision::LATEST_WITH_SESSIONS, true);
        assert_eq!(converted, json!({ "x": 1 }));
    }

    #[test]
    fn the_cache_scope_of_a_result_for_one_user_is_private() {
        for (result, expected) in [
            (
                r#"{"contents":[],"cacheScope":"public","ttlMs":5}"#,
                r#"{"contents":[],"ttlMs":5,"cacheScope":"private"}"#,
            ),
            (
                r#"{"contents":["cacheScope"]}"#,
                r#"{"contents":["cacheScope"]}"#,
            ),
        ] {
            assert_eq!(&*private(RawJson::copy(result)), expected);
        }
    }
}
