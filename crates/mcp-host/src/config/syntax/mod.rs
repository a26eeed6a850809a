//! Reads the syntaxes of configuration files as JSON values.

mod jsonc;
mod yaml;

use std::fmt::Display;

use mcp_jsonrpc::decode_document;
use serde_json::Value;

pub use self::jsonc::without_comments;
use super::error::{ConfigError, ConfigErrorKind};
use super::hosts::ConfigFormat;

/// Reads a text. It must not begin with a byte order mark.
pub(super) fn parse(text: &str, format: ConfigFormat) -> Result<Value, ConfigError> {
    match format {
        ConfigFormat::Codex => toml(text),
        ConfigFormat::Yaml => yaml::to_json(text).map_err(error),
        ConfigFormat::Standard | ConfigFormat::VsCode | ConfigFormat::Gemini => {
            decode_document(without_comments(text)).map_err(error)
        }
    }
}

pub(super) fn error<E: Display>(error: E) -> ConfigError {
    ConfigError::new(ConfigErrorKind::Syntax, error.to_string())
}

#[cfg(feature = "codex")]
fn toml(text: &str) -> Result<Value, ConfigError> {
    // Converts only the servers: other settings may be dates or numbers that are not finite, which JSON does not have.
    let table: toml::Table = toml::from_str(text).map_err(error)?;
    let servers = table.get("mcp_servers").map(serde_json::to_value);
    let servers = servers.transpose().map_err(error)?;
    let root = servers.map(|servers| ("mcp_servers".to_owned(), servers));
    Ok(Value::Object(root.into_iter().collect()))
}

#[cfg(not(feature = "codex"))]
fn toml(_: &str) -> Result<Value, ConfigError> {
    Err(error(
        "the file is TOML; enable the feature \"codex\" of mcp-host",
    ))
}
