//! Reads one server of a configuration. Hosts use different names for the same key; every file may use each of these names.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use super::error::ConfigError;
use super::format::ConfigFormat;
use super::server::{Launch, ServerConfig};
use crate::suggestions::nearest_name;

/// Largest accepted timeout: one week.
const MAX_TIMEOUT_MS: f64 = 604_800_000.0;
/// A number of milliseconds below this limit is read as seconds, because some hosts store seconds under the same key.
const MIN_TIMEOUT_MS: f64 = 1_000.0;

/// The keys of every server.
const COMMON_KEYS: [&str; 16] = [
    "allowedTools",
    "deniedTools",
    "description",
    "disabled",
    "disabled_tools",
    "enabled",
    "enabled_tools",
    "excludeTools",
    "includeTools",
    "startTimeout",
    "startup_timeout_ms",
    "startup_timeout_sec",
    "timeout",
    "tool_timeout_sec",
    "transport",
    "type",
];
/// The keys of a server that is a program.
const PROGRAM_KEYS: [&str; 7] = [
    "args",
    "command",
    "cwd",
    "env",
    "envFile",
    "env_vars",
    "environment",
];
/// The keys of a server with a URL.
const URL_KEYS: [&str; 7] = [
    "bearer_token_env_var",
    "env_http_headers",
    "headers",
    "httpUrl",
    "http_headers",
    "serverUrl",
    "url",
];

/// Removes and checks the members of one server.
struct Entry {
    members: Map<String, Value>,
    warnings: Vec<String>,
}

impl Entry {
    /// Removes the first of these keys that has a value.
    fn take(&mut self, keys: &[&'static str]) -> Option<(&'static str, Value)> {
        keys.iter()
            .find_map(|key| match self.members.shift_remove(*key) {
                None | Some(Value::Null) => None,
                Some(value) => Some((*key, value)),
            })
    }

    fn text(&mut self, keys: &[&'static str]) -> Result<Option<String>, ConfigError> {
        match self.take(keys) {
            None => Ok(None),
            Some((_, Value::String(text))) => Ok(Some(text)),
            Some((key, _)) => Err(wrong_type(key, "a string")),
        }
    }

    fn texts(&mut self, keys: &[&'static str]) -> Result<Vec<String>, ConfigError> {
        match self.take(keys) {
            None => Ok(Vec::new()),
            Some((key, value)) => texts(key, value),
        }
    }

    /// Values by name. A name with the value `null` is left out.
    fn texts_by_name(
        &mut self,
        keys: &[&'static str],
    ) -> Result<BTreeMap<String, String>, ConfigError> {
        let (key, members) = match self.take(keys) {
            None => return Ok(BTreeMap::new()),
            Some((key, Value::Object(members))) => (key, members),
            Some((key, _)) => return Err(wrong_type(key, "an object of strings")),
        };
        let members = members.into_iter().filter(|(_, value)| !value.is_null());
        let texts = members.map(|(name, value)| match scalar(value) {
            Some(text) => Ok((name, text)),
            None => Err(wrong_type(&format!("{key}.{name}"), "a string")),
        });
        texts.collect()
    }

    fn bool(&mut self, keys: &[&'static str]) -> Result<Option<bool>, ConfigError> {
        match self.take(keys) {
            None => Ok(None),
            Some((_, Value::Bool(value))) => Ok(Some(value)),
            Some((key, _)) => Err(wrong_type(key, "true or false")),
        }
    }

    /// Reads a time under one of these keys. The unit is seconds if the key ends with `_sec`, otherwise milliseconds.
    fn time(&mut self, keys: &[&'static str]) -> Result<Option<Duration>, ConfigError> {
        let Some((key, value)) = self.take(keys) else {
            return Ok(None);
        };
        let number = value.as_f64().filter(|number| *number > 0.0);
        let Some(number) = number else {
            return Err(wrong_type(key, "a positive number"));
        };
        let milliseconds = match number {
            _ if key.ends_with("_sec") => number * 1_000.0,
            _ if number < MIN_TIMEOUT_MS => {
                self.warnings.push(format!(
                    "{key:?}: {number} is less than a second, so it is read as seconds; write {} for milliseconds",
                    number * 1_000.0
                ));
                number * 1_000.0
            }
            _ => number,
        };
        if milliseconds > MAX_TIMEOUT_MS {
            return Err(wrong_type(key, "at most one week, which has 604800000 ms"));
        }
        Ok(Some(Duration::from_secs_f64(milliseconds / 1_000.0)))
    }

    /// Reads the names of variables: texts, or objects with a name.
    fn inherited_variables(&mut self) -> Result<Vec<String>, ConfigError> {
        const EXPECTED: &str = "an array of names";
        let (key, items) = match self.take(&["env_vars"]) {
            None => return Ok(Vec::new()),
            Some((key, Value::Array(items))) => (key, items),
            Some((key, _)) => return Err(wrong_type(key, EXPECTED)),
        };
        let names = items.into_iter().map(|item| match item {
            Value::String(name) => Ok(name),
            Value::Object(mut members) => match members.shift_remove("name") {
                Some(Value::String(name)) => Ok(name),
                _ => Err(wrong_type(key, EXPECTED)),
            },
            _ => Err(wrong_type(key, EXPECTED)),
        });
        names.collect()
    }
}

fn texts(key: &str, value: Value) -> Result<Vec<String>, ConfigError> {
    let items = match value {
        Value::Array(items) => items.into_iter().map(scalar).collect(),
        _ => None,
    };
    items.ok_or_else(|| wrong_type(key, "an array of strings"))
}

/// Returns a string, number or boolean as text.
fn scalar(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}

fn wrong_type(key: &str, expected: &str) -> ConfigError {
    ConfigError::server(format!("{key:?} must be {expected}"))
}

/// Returns the server and warnings.
pub(super) fn read(
    value: Value,
    format: ConfigFormat,
) -> Result<(ServerConfig, Vec<String>), ConfigError> {
    let Value::Object(mut members) = value else {
        return Err(ConfigError::server("a server must be an object"));
    };
    format.translate(&mut members);
    let warnings = Vec::new();
    let mut entry = Entry { members, warnings };
    let launch = launch(&mut entry)?;
    let mut server = ServerConfig::new(launch);
    server.is_enabled = match entry.bool(&["disabled"])? {
        Some(is_disabled) => !is_disabled,
        None => entry.bool(&["enabled"])?.unwrap_or(true),
    };
    server.start_timeout =
        entry.time(&["startTimeout", "startup_timeout_sec", "startup_timeout_ms"])?;
    server.call_timeout = entry.time(&["timeout", "tool_timeout_sec"])?;
    server.allowed_tools = entry.texts(&["allowedTools", "enabled_tools", "includeTools"])?;
    server.denied_tools = entry.texts(&["deniedTools", "disabled_tools", "excludeTools"])?;
    // Texts for people. The name of a server is the one that its file gives it.
    entry.members.shift_remove("description");
    let is_program = matches!(server.launch, Launch::Stdio { .. });
    let unknown = { entry.members.keys() }.map(|key| unknown_key(key, Some(is_program)));
    entry.warnings.extend(unknown);
    Ok((server, entry.warnings))
}

/// Describes a key that was not read. `is_program` is `None` if the kind of the server is not known.
fn unknown_key(key: &str, is_program: Option<bool>) -> String {
    match is_program {
        Some(true) if URL_KEYS.contains(&key) => {
            return format!(
                "the key {key:?} is for servers with \"url\", and this one has \"command\"; remove it"
            );
        }
        Some(false) if PROGRAM_KEYS.contains(&key) => {
            return format!(
                "the key {key:?} is for servers with \"command\", and this one has \"url\"; remove it"
            );
        }
        _ => {}
    }
    let program = PROGRAM_KEYS.iter().filter(|_| is_program != Some(false));
    let url = URL_KEYS.iter().filter(|_| is_program != Some(true));
    let known = COMMON_KEYS.iter().chain(program).chain(url);
    match nearest_name(key, known.copied()) {
        Some(near) => format!("the key {key:?} is unknown; did you mean {near:?}?"),
        None => format!("the key {key:?} is unknown; remove it"),
    }
}

/// Describes a key that may be a misspelling of the program or the URL.
fn misspelled_launch(entry: &Entry) -> Option<String> {
    let mut keys = entry.members.keys();
    let key = keys.find(|key| {
        let known = COMMON_KEYS.into_iter().chain(PROGRAM_KEYS).chain(URL_KEYS);
        let near = nearest_name(key, known);
        near.is_some_and(|near| ["command", "url", "httpUrl", "serverUrl"].contains(&near))
    });
    key.map(|key| unknown_key(key, None))
}

fn launch(entry: &mut Entry) -> Result<Launch, ConfigError> {
    let kind = entry.text(&["type", "transport"])?;
    let mut args = Vec::new();
    let command = match entry.take(&["command"]) {
        Some((key, Value::Array(items))) => {
            args = texts(key, Value::Array(items))?;
            (!args.is_empty()).then(|| args.remove(0))
        }
        Some((_, Value::String(command))) => Some(command),
        Some((key, _)) => return Err(wrong_type(key, "a string")),
        None => None,
    };
    let url = entry.text(&["url", "httpUrl", "serverUrl"])?;
    // Hosts write the same kind in different ways, for example "streamable-http" and "streamableHttp".
    let is_http = kind.as_deref().map(|kind| {
        let plain = kind.to_ascii_lowercase().replace(['-', '_'], "");
        match &*plain {
            "stdio" | "local" => Some(false),
            "http" | "streamablehttp" | "sse" | "remote" => Some(true),
            _ => None,
        }
    });
    match (is_http, command, url) {
        (None | Some(Some(false)), Some(command), None) => {
            args.extend(entry.texts(&["args"])?);
            stdio(entry, command, args)
        }
        (None | Some(Some(true)), None, Some(url)) => http(entry, url),
        (_, Some(_), Some(_)) => Err(ConfigError::server(
            "\"command\" and \"url\" exclude each other; remove one",
        )),
        (None, None, None) => {
            let advice = misspelled_launch(entry).unwrap_or_else(|| "add one".to_owned());
            let text = format!("neither \"command\" nor \"url\" is given; {advice}");
            Err(ConfigError::server(text))
        }
        (Some(_), ..) => {
            let advice =
                misspelled_launch(entry).map_or_else(String::new, |advice| format!("; {advice}"));
            Err(ConfigError::server(format!(
                "\"type\" is {:?}; \"stdio\" needs \"command\", and \"http\" and \"sse\" need \"url\"{advice}",
                kind.unwrap_or_default()
            )))
        }
    }
}

fn stdio(entry: &mut Entry, command: String, args: Vec<String>) -> Result<Launch, ConfigError> {
    let mut env = entry.texts_by_name(&["env", "environment"])?;
    // A variable without a value is left out.
    let inherited = entry.inherited_variables()?.into_iter();
    for name in inherited.filter(|name| std::env::var_os(name).is_some()) {
        let value = reference(&name);
        env.entry(name).or_insert(value);
    }
    Ok(Launch::Stdio {
        command,
        args,
        env,
        env_file: entry.text(&["envFile"])?,
        cwd: entry.text(&["cwd"])?,
    })
}

fn http(entry: &mut Entry, url: String) -> Result<Launch, ConfigError> {
    let mut headers = entry.texts_by_name(&["headers", "http_headers"])?;
    for (header, name) in entry.texts_by_name(&["env_http_headers"])? {
        headers.insert(header, reference(&name));
    }
    if let Some(name) = entry.text(&["bearer_token_env_var"])? {
        let value = format!("Bearer {}", reference(&name));
        headers.insert("authorization".to_owned(), value);
    }
    Ok(Launch::Http { url, headers })
}

/// Returns the reference to an environment variable that a key of Codex names. This function does not read the value, so that
/// consent requests show the reference.
fn reference(name: &str) -> String {
    format!("${{env:{name}}}")
}
