//! Reads one server of a configuration in its common shape.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use super::error::ConfigError;
use super::format::ConfigFormat;
use super::server::{Launch, ServerConfig};

/// Largest accepted timeout: one week.
const MAX_TIMEOUT_MS: f64 = 604_800_000.0;

/// Removes and checks the members of one server.
struct Entry(Map<String, Value>);

impl Entry {
    fn text(&mut self, key: &str) -> Result<Option<String>, ConfigError> {
        match self.0.remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(wrong_type(key, "a string")),
        }
    }

    fn texts(&mut self, key: &str) -> Result<Vec<String>, ConfigError> {
        let items = match self.0.remove(key) {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::Array(items)) => items,
            Some(_) => return Err(wrong_type(key, "an array of strings")),
        };
        let texts = items.into_iter().map(|item| match item {
            Value::String(text) => Ok(text),
            _ => Err(wrong_type(key, "an array of strings")),
        });
        texts.collect()
    }

    fn texts_by_name(&mut self, key: &str) -> Result<BTreeMap<String, String>, ConfigError> {
        let members = match self.0.remove(key) {
            None | Some(Value::Null) => return Ok(BTreeMap::new()),
            Some(Value::Object(members)) => members,
            Some(_) => return Err(wrong_type(key, "an object of strings")),
        };
        let texts = members.into_iter().map(|(name, value)| match value {
            Value::String(text) => Ok((name, text)),
            // VS Code accepts numbers here.
            Value::Number(number) => Ok((name, number.to_string())),
            _ => Err(wrong_type(&format!("{key}.{name}"), "a string")),
        });
        texts.collect()
    }

    fn bool(&mut self, key: &str) -> Result<Option<bool>, ConfigError> {
        match self.0.remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(value)),
            Some(_) => Err(wrong_type(key, "true or false")),
        }
    }

    fn milliseconds(&mut self, key: &str) -> Result<Option<Duration>, ConfigError> {
        match self.0.remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_f64() {
                Some(number) if number > 0.0 && number <= MAX_TIMEOUT_MS => {
                    Ok(Some(Duration::from_secs_f64(number / 1_000.0)))
                }
                _ => Err(wrong_type(
                    key,
                    "a positive number of milliseconds, at most 604800000 (one week)",
                )),
            },
        }
    }
}

fn wrong_type(key: &str, expected: &str) -> ConfigError {
    ConfigError::server(format!("{key:?} must be {expected}"))
}

/// Returns the server and the names of unknown keys.
pub(super) fn read(
    value: Value,
    format: ConfigFormat,
) -> Result<(ServerConfig, Vec<String>), ConfigError> {
    let Value::Object(mut members) = value else {
        return Err(ConfigError::server("a server must be an object"));
    };
    format.translate(&mut members);
    let mut entry = Entry(members);
    let launch = launch(&mut entry)?;
    let mut server = ServerConfig::new(launch);
    server.expands_variables = format.has_variables();
    server.is_enabled = !entry.bool("disabled")?.unwrap_or(false);
    server.start_timeout = entry.milliseconds("startTimeout")?;
    server.call_timeout = entry.milliseconds("timeout")?;
    server.allowed_tools = entry.texts("allowedTools")?;
    server.denied_tools = entry.texts("deniedTools")?;
    // Texts for people. The name of a server is the one that its file gives it.
    entry.0.remove("description");
    Ok((server, entry.0.into_iter().map(|(key, _)| key).collect()))
}

fn launch(entry: &mut Entry) -> Result<Launch, ConfigError> {
    let kind = entry.text("type")?;
    let (command, url) = (entry.text("command")?, entry.text("url")?);
    match (kind.as_deref(), command, url) {
        (None | Some("stdio"), Some(command), None) => {
            let mut env = entry.texts_by_name("env")?;
            for name in entry.texts("inheritedVariables")? {
                if let Ok(value) = std::env::var(&name) {
                    env.entry(name).or_insert(value);
                }
            }
            Ok(Launch::Stdio {
                command,
                args: entry.texts("args")?,
                env,
                cwd: entry.text("cwd")?,
            })
        }
        (None | Some("http" | "streamable-http" | "streamableHttp" | "sse"), None, Some(url)) => {
            let mut headers = entry.texts_by_name("headers")?;
            for (header, name) in entry.texts_by_name("envHeaders")? {
                headers.insert(header, variable(&name)?);
            }
            if let Some(name) = entry.text("bearerVariable")? {
                headers.insert(
                    "authorization".to_owned(),
                    format!("Bearer {}", variable(&name)?),
                );
            }
            Ok(Launch::Http { url, headers })
        }
        (_, Some(_), Some(_)) => Err(ConfigError::server(
            "\"command\" and \"url\" exclude each other; remove one",
        )),
        (None | Some("stdio"), None, None) => Err(ConfigError::server(
            "neither \"command\" nor \"url\" is given; add one",
        )),
        (Some(kind), ..) => Err(ConfigError::server(format!(
            "\"type\" is {kind:?}; \"stdio\" needs \"command\", and \"http\" and \"sse\" need \"url\""
        ))),
    }
}

/// Returns an environment variable that a Codex file names.
fn variable(name: &str) -> Result<String, ConfigError> {
    super::variables::Variables::new().expand(&format!("${{env:{name}}}"))
}
