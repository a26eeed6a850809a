//! Results that do not match their schema in a harmless way. They are repaired only after the
//! strict decoding has failed.

use mcp_jsonrpc::{DecodeError, RawJson};
use mcp_protocol::{DECORATIONS, Deviation, Tolerance};
use mcp_types::{
    Implementation, JsonObject, Prompt, Resource, ResourceTemplate, SERVER_INFO_KEY,
    ServerCapabilities, Tool, method,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::Error;

/// Decodes the result of `method`, and repairs it if that is harmless.
///
/// # Errors
/// [`Error::InvalidResult`] with the problem of the result as it was received.
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
    let tolerated = match method {
        method::TOOLS_LIST => elements::<Tool>(&mut result["tools"], tolerance),
        method::PROMPTS_LIST => elements::<Prompt>(&mut result["prompts"], tolerance),
        method::RESOURCES_LIST => elements::<Resource>(&mut result["resources"], tolerance),
        method::RESOURCES_TEMPLATES_LIST => {
            elements::<ResourceTemplate>(&mut result["resourceTemplates"], tolerance)
        }
        method::TOOLS_CALL => {
            let members = result.as_object_mut()?;
            let is_missing = members.get("content").is_none_or(Value::is_null);
            if is_missing {
                members.insert("content".to_owned(), json!([]));
            }
            is_missing && tolerance.admits(Deviation::MissingContent, problem)
        }
        method::INITIALIZE => {
            implementation(&mut result["serverInfo"]);
            description(&mut result);
            tolerance.admits(Deviation::MalformedDecoration, problem)
        }
        method::SERVER_DISCOVER => {
            if let Some(info) = result
                .pointer_mut("/_meta")
                .and_then(|it| it.get_mut(SERVER_INFO_KEY))
            {
                implementation(info);
            }
            description(&mut result);
            cache_hints(&mut result);
            tolerance.admits(Deviation::MalformedDecoration, problem)
        }
        _ => false,
    };
    tolerated.then_some(result)
}

/// Removes decorations that cannot be decoded, then elements that cannot.
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

fn undecorate(value: &mut Value) {
    if let Value::Object(members) = value {
        members.retain(|name, _| !DECORATIONS.contains(&&**name));
    }
}

/// Repairs the description of a server, which is shown to users and decides nothing.
fn implementation(info: &mut Value) {
    if fits::<Implementation>(info) {
        return;
    }
    undecorate(info);
    let text = |name: &str| info[name].as_str().unwrap_or("unknown").to_owned();
    let (name, version) = (text("name"), text("version"));
    if !info.is_object() {
        *info = json!({});
    }
    info["name"] = name.into();
    info["version"] = version.into();
}

/// Removes cache hints that cannot be read: the result is then not cached. `null` for the type of the
/// result means that it is absent.
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

/// Repairs the capabilities and the instructions. A capability of another type counts as declared
/// without settings, unless it is `false` or `null`.
fn description(result: &mut Value) {
    let Value::Object(result) = result else {
        return;
    };
    if result.get("instructions").is_some_and(|it| !it.is_string()) {
        result.shift_remove("instructions");
    }
    let capabilities = result.entry("capabilities").or_insert_with(|| json!({}));
    match capabilities {
        Value::Object(members) => members.retain(|name, value| {
            let alone = JsonObject::from_iter([(name.clone(), value.clone())]);
            if !fits::<ServerCapabilities>(&Value::Object(alone)) {
                let is_declared = !matches!(value, Value::Null | Value::Bool(false));
                *value = json!({});
                return is_declared;
            }
            true
        }),
        other => *other = json!({}),
    }
}
