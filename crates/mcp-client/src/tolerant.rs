//! Repairs of results and log messages whose deviation from the schema is harmless. A value is repaired only after strict
//! decoding has failed.

use mcp_jsonrpc::{DecodeError, RawJson};
use mcp_protocol::tolerance::{repair_capabilities, repair_implementation, undecorate};
use mcp_protocol::{Deviation, Tolerance};
use mcp_types::{
    CallToolResult, ContentBlock, LoggingLevel, LoggingMessageNotificationParams, Prompt, Resource,
    ResourceTemplate, SERVER_INFO_KEY, ServerCapabilities, Tool, method,
};
use serde::Deserialize as _;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::Error;

/// Decodes the params of a log message, and repairs its level and its data if necessary.
///
/// # Errors
/// The params are not an object, have neither `data` nor `message`, or have another invalid member; or deviations are not
/// tolerated.
pub(crate) fn log_message(
    text: &str,
    tolerance: &Tolerance,
) -> Result<LoggingMessageNotificationParams, serde_json::Error> {
    serde_json::from_str(text).or_else(|problem| {
        let repaired =
            log_params(text).filter(|_| tolerance.admits(Deviation::MalformedLogMessage, &problem));
        repaired.ok_or(problem)
    })
}

#[cold]
fn log_params(text: &str) -> Option<LoggingMessageNotificationParams> {
    let mut params: Value = serde_json::from_str(text).ok()?;
    let level = params
        .get("level")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let level = match &*level.to_ascii_lowercase() {
        "warn" => json!("warning"),
        level => json!(level),
    };
    let is_level = LoggingLevel::deserialize(&level).is_ok();
    let members = params.as_object_mut()?;
    members.insert(
        "level".to_owned(),
        if is_level { level } else { json!("info") },
    );
    if !members.contains_key("data") {
        let message = members.get("message").cloned()?;
        members.insert("data".to_owned(), message);
    }
    serde_json::from_value(params).ok()
}

/// Decodes the result of `method`, and repairs the result if its deviation is harmless.
///
/// # Errors
/// [`Error::InvalidResult`] if the result cannot be decoded even after the repair. The error describes the problem before the
/// repair.
pub(crate) fn decode<T: DeserializeOwned>(
    method: &str,
    raw: &RawJson,
    tolerance: &Tolerance,
) -> Result<T, Error> {
    raw.decode().or_else(|problem| {
        let repaired = repair(method, raw, &problem, tolerance);
        let result = repaired.and_then(|value| serde_json::from_value(value).ok());
        result.ok_or_else(|| Error::InvalidResult {
            method: method.to_owned().into(),
            problem,
        })
    })
}

#[cold]
fn repair(
    method: &str,
    raw: &RawJson,
    problem: &DecodeError,
    tolerance: &Tolerance,
) -> Option<Value> {
    let mut result: Value = raw.decode().ok()?;
    if !result.is_object() {
        return None;
    }
    if let Some(Value::Number(number)) = result.get("nextCursor") {
        let cursor = number.to_string();
        result["nextCursor"] = cursor.into();
        if !tolerance.admits(Deviation::NumericCursor, problem) {
            return None;
        }
    }
    let tolerated = match method {
        method::TOOLS_LIST => elements::<Tool>(&mut result["tools"], tolerance),
        method::PROMPTS_LIST => elements::<Prompt>(&mut result["prompts"], tolerance),
        method::RESOURCES_LIST => elements::<Resource>(&mut result["resources"], tolerance),
        method::RESOURCES_TEMPLATES_LIST => {
            elements::<ResourceTemplate>(&mut result["resourceTemplates"], tolerance)
        }
        method::TOOLS_CALL => call_result(&mut result, problem, tolerance)?,
        method::INITIALIZE => {
            repair_implementation(&mut result["serverInfo"]);
            description(&mut result);
            tolerance.admits(Deviation::MalformedDecoration, problem)
        }
        method::SERVER_DISCOVER => {
            if let Some(info) = result
                .pointer_mut("/_meta")
                .and_then(|it| it.get_mut(SERVER_INFO_KEY))
            {
                repair_implementation(info);
            }
            description(&mut result);
            cache_hints(&mut result);
            tolerance.admits(Deviation::MalformedDecoration, problem)
        }
        _ => false,
    };
    tolerated.then_some(result)
}

/// Repairs the elements of a list: removes the optional members that cannot be decoded, then the elements that still cannot be
/// decoded. Returns `false` if the client does not tolerate this deviation.
fn elements<T: DeserializeOwned>(list: &mut Value, tolerance: &Tolerance) -> bool {
    let Some(list) = list.as_array_mut() else {
        return false;
    };
    let mut is_tolerated = true;
    list.retain_mut(|element| {
        let Err(error) = T::deserialize(&*element) else {
            return true;
        };
        let mut plain = element.clone();
        undecorate(&mut plain);
        let keeps = fits::<T>(&plain);
        if keeps {
            *element = plain;
        }
        let deviation = match keeps {
            true => Deviation::MalformedDecoration,
            false => Deviation::MalformedElement,
        };
        is_tolerated &= tolerance.admits(deviation, error);
        keeps
    });
    is_tolerated
}

fn fits<T: DeserializeOwned>(value: &Value) -> bool {
    T::deserialize(value).is_ok()
}

/// Removes cache hints that cannot be read, so the result is not cached. Treats the result type `null` as absent.
fn cache_hints(result: &mut Value) {
    let Value::Object(result) = result else {
        return;
    };
    let is_malformed = |name: &str, value: &Value| match name {
        "ttlMs" => !value.is_i64() && !value.is_u64(),
        "cacheScope" => !value.is_string(),
        "resultType" => value.is_null(),
        _ => false,
    };
    result.retain(|name, value| !is_malformed(name, value));
}

/// Repairs the capabilities and the instructions in the reply to `initialize` or `server/discover`.
fn description(result: &mut Value) {
    let Value::Object(result) = result else {
        return;
    };
    if result.get("instructions").is_some_and(|it| !it.is_string()) {
        result.shift_remove("instructions");
    }
    let capabilities = result.entry("capabilities").or_insert_with(|| json!({}));
    repair_capabilities::<ServerCapabilities>(capabilities);
}

/// Repairs the result of a tool call. The tool has already run, so an invalid descriptive member must not cause the loss of the
/// result.
fn call_result(result: &mut Value, problem: &DecodeError, tolerance: &Tolerance) -> Option<bool> {
    let members = result.as_object_mut()?;
    let mut tolerated = true;
    let content = members.entry("content").or_insert(Value::Null);
    match content {
        Value::Null => {
            *content = json!([]);
            tolerated &= tolerance.admits(Deviation::MissingContent, problem);
        }
        Value::Array(_) => {}
        Value::Object(_) => {
            *content = json!([content.take()]);
            tolerated &= tolerance.admits(Deviation::MalformedContent, problem);
        }
        _ => return None,
    }
    let content = members.get_mut("content").and_then(Value::as_array_mut);
    for block in content.into_iter().flatten() {
        tolerated &= self::block(block, tolerance);
    }
    if let Some(Value::String(text)) = members.get("isError") {
        let is_error = text.eq_ignore_ascii_case("true");
        members.insert("isError".to_owned(), is_error.into());
        tolerated &= tolerance.admits(Deviation::MalformedContent, problem);
    }
    for name in ["isError", "_meta", "structuredContent"] {
        let alone = json!({ "content": [], name: members.get(name) });
        if members.contains_key(name) && !fits::<CallToolResult>(&alone) {
            members.shift_remove(name);
            tolerated &= tolerance.admits(Deviation::MalformedContent, problem);
        }
    }
    Some(tolerated)
}

/// Removes invalid optional members from a content block. Returns whether the block can be read now and the client tolerates this
/// deviation.
fn block(block: &mut Value, tolerance: &Tolerance) -> bool {
    let Err(error) = ContentBlock::deserialize(&*block) else {
        return true;
    };
    let mut repaired = block.clone();
    undecorate(&mut repaired);
    if let Value::Object(members) = &mut repaired {
        members.retain(|_, value| !value.is_null());
        // The number of bytes is a hint.
        members.shift_remove("size");
        let media = members
            .get("mimeType")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let kind = match media.split('/').next() {
            _ if members.contains_key("text") => "text",
            _ if members.contains_key("uri") => "resource_link",
            Some("audio") => "audio",
            _ => "image",
        };
        let kind = members.entry("type").or_insert_with(|| kind.into());
        let (name, value) = match kind.as_str().unwrap_or_default() {
            "resource_link" => ("name", members.get("uri").cloned().unwrap_or_default()),
            "image" => ("mimeType", "image/*".into()),
            "audio" => ("mimeType", "audio/*".into()),
            _ => ("text", block.clone()),
        };
        members.entry(name).or_insert(value);
    }
    if let Value::String(text) = &repaired {
        repaired = json!({ "type": "text", "text": text });
    }
    let fits = fits::<ContentBlock>(&repaired);
    *block = repaired;
    fits && tolerance.admits(Deviation::MalformedContent, error)
}
