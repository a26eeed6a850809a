//! Reads one server of a configuration file.

mod keys;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use self::keys::{misspelled_launch, unknown_key};
use super::error::ConfigError;
use super::format::{Written, pointer_to};
use super::headers_helper::HeadersHelper;
use super::hosts::KnownHost;
use super::server::{Launch, ServerConfig};
use crate::text::{one_line, printable};

/// Maximum size of the name of a server, in bytes. The size is limited because each warning repeats the name.
const MAX_NAME_BYTES: usize = 256;
/// Maximum number of unused keys of a server that are reported.
const MAX_UNUSED: usize = 20;

/// Maximum accepted timeout, in milliseconds: one week.
const MAX_TIMEOUT_MS: f64 = 604_800_000.0;
/// A number of milliseconds below this limit is read as seconds, because some hosts store seconds under the same key.
const MIN_TIMEOUT_MS: f64 = 1_000.0;

/// The kinds of servers that are built into the host which has written the file.
const BUILT_IN: [&str; 5] = [
    "builtin",
    "extension",
    "frontend",
    "inlinepython",
    "platform",
];

/// The members of one server that were not read yet. The methods remove and check members.
struct Entry {
    name: String,
    /// The JSON pointer to the server.
    pointer: String,
    members: Map<String, Value>,
    warnings: Vec<String>,
    /// Whether the value of `timeout` is in seconds.
    has_seconds: bool,
}

impl Entry {
    /// Removes and returns the value of the first of these keys that has a value.
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

    /// Removes and returns an object of strings under the first of these keys that has a value. Leaves out names with the value
    /// `null`.
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

    /// Removes and returns the time under the first of these keys that has a value. The unit is seconds if the key ends with
    /// `_sec`, or if the key is `timeout` and the host of the file uses seconds. Otherwise, the unit is milliseconds.
    fn time(&mut self, keys: &[&'static str]) -> Result<Option<Duration>, ConfigError> {
        let Some((key, value)) = self.take(keys) else {
            return Ok(None);
        };
        let number = value.as_f64().filter(|number| *number > 0.0);
        let Some(number) = number else {
            return Err(wrong_type(key, "a positive number"));
        };
        let milliseconds = match number {
            _ if key.ends_with("_sec") || self.has_seconds && key == "timeout" => number * 1_000.0,
            _ if number < MIN_TIMEOUT_MS => {
                self.warnings.push(format!(
                    "{key:?}: {number} is read as seconds, because it is below {MIN_TIMEOUT_MS}; write {} to set the same time in milliseconds",
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

    /// Returns whether the server is built into the host which has written the file, and has neither a program nor a URL.
    fn is_built_in(&self) -> bool {
        let kinds = ["type", "source"].map(|key| self.members.get(key).and_then(Value::as_str));
        let is_built_in = |kind: &str| BUILT_IN.contains(&&*plain(kind));
        kinds.into_iter().flatten().any(is_built_in) && !self.members.contains_key("command")
    }

    /// Moves the members of `command` (in files of Zed) and of `requestOptions` (in files of Continue) to the object of the
    /// server.
    fn unnest(&mut self) {
        if self
            .members
            .get("source")
            .is_some_and(|source| source == "custom")
        {
            self.members.shift_remove("source");
        }
        if self.members.get("command").is_some_and(Value::is_object)
            && let Some(Value::Object(mut command)) = self.members.shift_remove("command")
        {
            let path = command.shift_remove("path");
            command.extend(path.map(|path| ("command".to_owned(), path)));
            self.members.extend(command);
        }
        let options = self.members.get_mut("requestOptions");
        let headers = options.and_then(|options| options.as_object_mut()?.shift_remove("headers"));
        if let Some(headers) = headers {
            self.members.entry("headers").or_insert(headers);
        }
    }

    /// Removes and returns the names of inherited variables. In the file, each is a string, or an object with a name.
    fn inherited_variables(&mut self) -> Result<Vec<String>, ConfigError> {
        const EXPECTED: &str = "an array of names";
        let (key, items) = match self.take(&["env_vars", "env_keys"]) {
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

/// Returns the kind of a server in one spelling for all hosts: for example, "streamable-http" and "streamableHttp" give the same
/// text.
fn plain(kind: &str) -> String {
    kind.to_ascii_lowercase().replace(['-', '_'], "")
}

/// Returns a string, number or boolean as text; `None` for other values.
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

/// Returns the server and warnings; `None` for a server that is built into the host which has written the file.
pub(super) fn read(
    written: Written,
    host: &KnownHost,
) -> Result<Option<(ServerConfig, Vec<String>)>, ConfigError> {
    if written.name.len() > MAX_NAME_BYTES {
        return Err(ConfigError::server(format!(
            "the name has {} bytes; use at most {MAX_NAME_BYTES}",
            written.name.len()
        )));
    }
    let Value::Object(members) = written.value else {
        return Err(ConfigError::server("a server must be an object"));
    };
    let mut entry = Entry {
        name: written.name,
        pointer: written.pointer,
        members,
        warnings: Vec::new(),
        has_seconds: host.has_seconds,
    };
    if entry.is_built_in() {
        return Ok(None);
    }
    entry.unnest();
    let launch = launch(&mut entry)?;
    let mut server = ServerConfig::new(launch);
    settings(&mut entry, &mut server)?;
    // Texts for people, which are not used. The server has the name `Written::name`.
    for key in ["description", "display_name", "name"] {
        entry.members.shift_remove(key);
    }
    let is_program = matches!(server.launch, Launch::Stdio { .. });
    // A key with the value `null` counts as absent.
    let unused = entry.members.iter().filter(|(_, value)| !value.is_null());
    let more = unused.clone().count().saturating_sub(MAX_UNUSED);
    for (key, _) in unused.take(MAX_UNUSED) {
        let problem = unknown_key(key, Some(is_program));
        let place = one_line(&printable(&format!("{}{}", entry.pointer, pointer_to(key))));
        entry.warnings.push(format!("{problem} (at {place})"));
    }
    if more > 0 {
        let text = format!("{more} more keys are not used");
        entry.warnings.push(text);
    }
    Ok(Some((server, entry.warnings)))
}

fn settings(entry: &mut Entry, server: &mut ServerConfig) -> Result<(), ConfigError> {
    server.is_enabled = match entry.bool(&["disabled"])? {
        Some(is_disabled) => !is_disabled,
        None => entry.bool(&["enabled"])?.unwrap_or(true),
    };
    server.start_timeout = entry.time(&[
        "startTimeout",
        "startup_timeout_sec",
        "startup_timeout_ms",
        "initTimeout",
        "connectionTimeout",
    ])?;
    server.call_timeout = entry.time(&["timeout", "tool_timeout_sec"])?;
    server.allowed_tools = entry.texts(&[
        "allowedTools",
        "enabled_tools",
        "includeTools",
        "available_tools",
    ])?;
    server.denied_tools = entry.texts(&[
        "deniedTools",
        "disabled_tools",
        "excludeTools",
        "disabledTools",
    ])?;
    // Unlike the other lists of tools, `tools` hides all tools if the list is empty, and shows all tools if it contains `*`.
    if let Some((key, value)) = entry.take(&["tools"]) {
        let tools = texts(key, value)?;
        server.is_enabled &= !tools.is_empty();
        if !tools.iter().any(|tool| tool == "*") {
            server.allowed_tools.extend(tools);
        }
    }
    Ok(())
}

fn launch(entry: &mut Entry) -> Result<Launch, ConfigError> {
    let kind = entry.text(&["type", "transport"])?;
    let mut args = Vec::new();
    let command = match entry.take(&["command", "cmd"]) {
        Some((key, Value::Array(items))) => {
            args = texts(key, Value::Array(items))?;
            (!args.is_empty()).then(|| args.remove(0))
        }
        Some((_, Value::String(command))) => Some(command),
        Some((key, _)) => return Err(wrong_type(key, "a string")),
        None => None,
    };
    let url = entry.text(&["url", "httpUrl", "serverUrl", "uri"])?;
    let is_http = kind.as_deref().map(|kind| match &*plain(kind) {
        "stdio" | "local" => Some(false),
        "http" | "streamablehttp" | "sse" | "remote" => Some(true),
        _ => None,
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
            let advice = misspelled_launch(entry.members.keys().map(String::as_str))
                .unwrap_or_else(|| "add one".to_owned());
            let text = format!("neither \"command\" nor \"url\" is given; {advice}");
            Err(ConfigError::server(text))
        }
        (Some(_), ..) => {
            let advice = misspelled_launch(entry.members.keys().map(String::as_str))
                .map_or_else(String::new, |advice| format!("; {advice}"));
            Err(ConfigError::server(format!(
                "\"type\" is {:?}; \"stdio\" needs \"command\", and \"http\" and \"sse\" need \"url\"{advice}",
                kind.unwrap_or_default()
            )))
        }
    }
}

fn stdio(entry: &mut Entry, command: String, args: Vec<String>) -> Result<Launch, ConfigError> {
    let mut env = entry.texts_by_name(&["env", "environment", "envs"])?;
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
    let helper = entry.text(&["headersHelper"])?;
    Ok(Launch::Http {
        url,
        headers,
        headers_helper: helper.map(|command| HeadersHelper::new(&entry.name, command)),
    })
}

/// Returns a reference to the environment variable that a key of Codex names. Does not read the value, so that consent requests
/// show the reference.
fn reference(name: &str) -> String {
    format!("${{env:{name}}}")
}
