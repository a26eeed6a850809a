//! The file formats of other hosts, translated to one shape.

use std::fmt::Display;
use std::path::Path;

use serde_json::{Map, Value};

use super::error::{ConfigError, ConfigErrorKind};
use super::jsonc;

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigFormat {
    /// `mcp.json` of SEP-2633, and the files of Claude Desktop, Claude Code and Cursor: servers below
    /// `mcpServers`.
    Standard,
    /// `.vscode/mcp.json`: JSON with comments, servers below `servers`.
    VsCode,
    /// `~/.codex/config.toml`: servers below `mcp_servers`. Needs the feature `codex`.
    Codex,
    /// `settings.json` of Gemini CLI: servers below `mcpServers`, with `httpUrl`.
    Gemini,
}

impl ConfigFormat {
    /// Returns the format of a file with this path: that of Codex for `.toml`, of VS Code for a file in `.vscode`, of Gemini CLI
    /// for a file in `.gemini`, else [`Standard`](Self::Standard).
    pub fn of_path(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        let folder = path.parent().and_then(Path::file_name);
        match (path.extension(), folder) {
            (Some(extension), _) if extension == "toml" => Self::Codex,
            (_, Some(folder)) if folder == ".vscode" => Self::VsCode,
            (_, Some(folder)) if folder == ".gemini" => Self::Gemini,
            _ => Self::Standard,
        }
    }

    /// Returns the servers of a file in their common shape; `None` if the file has no such list.
    pub(super) fn servers(self, text: &str) -> Result<Option<Map<String, Value>>, ConfigError> {
        let root = match self {
            Self::Codex => parse_toml(text)?,
            _ => serde_json::from_str(&jsonc::to_json(text)).map_err(syntax)?,
        };
        let Value::Object(mut root) = root else {
            return Err(syntax("the file must contain an object"));
        };
        let key = match self {
            Self::VsCode => "servers",
            Self::Codex => "mcp_servers",
            Self::Standard | Self::Gemini => "mcpServers",
        };
        match root.remove(key) {
            None => Ok(None),
            Some(Value::Object(servers)) => Ok(Some(servers)),
            Some(_) => Err(syntax(format!(
                "{key:?} must be an object of servers by name"
            ))),
        }
    }

    /// Renames the keys of one server to those of [`ConfigFormat::Standard`].
    pub(super) fn translate(self, entry: &mut Map<String, Value>) {
        match self {
            Self::Standard | Self::VsCode => {}
            Self::Codex => translate_codex(entry),
            Self::Gemini => translate_gemini(entry),
        }
    }

    /// Returns whether the format has variables in its values.
    pub(super) fn has_variables(self) -> bool {
        self != Self::Codex
    }
}

fn syntax<E: Display>(error: E) -> ConfigError {
    ConfigError::new(ConfigErrorKind::Syntax, error.to_string())
}

#[cfg(feature = "codex")]
fn parse_toml(text: &str) -> Result<Value, ConfigError> {
    // Values of other programs' settings may be dates or not finite; only the servers matter.
    let table: toml::Table = toml::from_str(text).map_err(syntax)?;
    let servers = table.get("mcp_servers").map(serde_json::to_value);
    let servers = servers.transpose().map_err(syntax)?;
    let root = servers.map(|servers| ("mcp_servers".to_owned(), servers));
    Ok(Value::Object(root.into_iter().collect()))
}

#[cfg(not(feature = "codex"))]
fn parse_toml(_: &str) -> Result<Value, ConfigError> {
    Err(syntax(
        "the file is TOML; enable the feature \"codex\" of mcp-host",
    ))
}

fn rename(entry: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = entry.remove(from) {
        entry.insert(to.to_owned(), value);
    }
}

/// Multiplies a number, for example to turn seconds into milliseconds.
fn scale(entry: &mut Map<String, Value>, key: &str, factor: f64) {
    if let Some(number) = entry.get(key).and_then(Value::as_f64) {
        entry.insert(key.to_owned(), Value::from(number * factor));
    }
}

fn translate_codex(entry: &mut Map<String, Value>) {
    for (from, to) in [
        ("startup_timeout_sec", "startTimeout"),
        ("startup_timeout_ms", "startTimeout"),
        ("tool_timeout_sec", "timeout"),
        ("enabled_tools", "allowedTools"),
        ("disabled_tools", "deniedTools"),
        ("http_headers", "headers"),
        ("env_http_headers", "envHeaders"),
        ("bearer_token_env_var", "bearerVariable"),
        ("env_vars", "inheritedVariables"),
    ] {
        let is_seconds = from.ends_with("_sec") && entry.contains_key(from);
        rename(entry, from, to);
        if is_seconds {
            scale(entry, to, 1_000.0);
        }
    }
    if let Some(Value::Bool(enabled)) = entry.remove("enabled") {
        entry.insert("disabled".to_owned(), Value::Bool(!enabled));
    }
}

fn translate_gemini(entry: &mut Map<String, Value>) {
    for (from, to) in [
        ("httpUrl", "url"),
        ("includeTools", "allowedTools"),
        ("excludeTools", "deniedTools"),
    ] {
        rename(entry, from, to);
    }
    entry.values_mut().for_each(brace_variables);
}

/// Rewrites `$NAME` as `${NAME}`.
fn brace_variables(value: &mut Value) {
    match value {
        Value::String(text) => {
            let mut parts = text.split('$');
            let mut braced = parts.next().unwrap_or_default().to_owned();
            for part in parts {
                let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let end = part.find(|c| !is_name(c)).unwrap_or(part.len());
                let (name, rest) = part.split_at(end);
                match name.is_empty() {
                    true => braced.extend(["$", rest]),
                    false => braced.extend(["${", name, "}", rest]),
                }
            }
            *text = braced;
        }
        Value::Array(items) => items.iter_mut().for_each(brace_variables),
        Value::Object(members) => members.values_mut().for_each(brace_variables),
        _ => {}
    }
}
