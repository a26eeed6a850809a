//! The file formats of other hosts, translated to one shape.

use std::fmt::Display;
use std::path::Path;

use mcp_jsonrpc::decode_document;
use serde_json::{Map, Value};
use strsim::levenshtein;

use super::error::{ConfigError, ConfigErrorKind};
use super::jsonc;
use crate::text_file::without_mark;

/// The keys of the list of servers, in this order: those of most hosts; VS Code and Visual Studio; Zed; the settings of Amp; the
/// settings of VS Code.
const STANDARD_KEYS: [&str; 5] = [
    "mcpServers",
    "servers",
    "context_servers",
    "amp.mcpServers",
    "mcp.servers",
];

/// Maximum edit distance between a misspelled key and the correct one.
const MAX_DIFFERENCES: usize = 2;

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigFormat {
    /// `mcp.json` of SEP-2633, and the JSON files of most hosts: servers below `mcpServers`, else below `servers`,
    /// `context_servers`, `amp.mcpServers`, `mcp.servers` or `mcp`.
    Standard,
    /// `.vscode/mcp.json`: JSON with comments, servers below `servers`.
    VsCode,
    /// `~/.codex/config.toml`: servers below `mcp_servers`. Needs the feature `codex`.
    Codex,
    /// `settings.json` of Gemini CLI: servers below `mcpServers`, with `httpUrl`.
    Gemini,
}

impl ConfigFormat {
    /// Returns the format of a file with this path: the format of Codex for `.toml`, of VS Code for a file in `.vscode`, of
    /// Gemini CLI for a file in `.gemini`, and [`Standard`](Self::Standard) for any other path.
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

    /// Returns the servers of a file; `None` if the file has no such list. A file of Claude Code also has lists for folders; the
    /// servers of `folder` come first.
    pub(super) fn servers(
        self,
        text: &str,
        folder: &Path,
    ) -> Result<Option<Map<String, Value>>, ConfigError> {
        let root = match self {
            Self::Codex => parse_toml(text)?,
            _ => decode_document(jsonc::to_json(without_mark(text))).map_err(syntax)?,
        };
        let Value::Object(mut root) = root else {
            return Err(syntax("the file must contain an object"));
        };
        let own = folder_servers(&mut root, folder);
        let Some(mut servers) = self.list(&mut root)? else {
            return Ok(own);
        };
        servers.extend(own.into_iter().flatten());
        Ok(Some(servers))
    }

    /// Removes the list of servers. The content of a file decides which list this is, because files of different hosts can have
    /// the same name and different shapes.
    fn list(
        self,
        root: &mut Map<String, Value>,
    ) -> Result<Option<Map<String, Value>>, ConfigError> {
        for key in self.keys() {
            match root.shift_remove(*key) {
                None => {}
                Some(Value::Object(servers)) => return Ok(Some(servers)),
                Some(_) => {
                    return Err(syntax(format!(
                        "{key:?} must be an object of servers by name"
                    )));
                }
            }
        }
        let Some(Value::Object(mut mcp)) =
            root.shift_remove("mcp").filter(|_| self == Self::Standard)
        else {
            return Ok(None);
        };
        Ok(Some(match mcp.shift_remove("servers") {
            Some(Value::Object(servers)) => servers,
            _ => mcp,
        }))
    }

    /// Returns a key of a file that is probably a misspelling of one of [`keys`](Self::keys), and the correct key.
    pub(super) fn misspelled(self, text: &str) -> Option<(String, &'static str)> {
        let root: Map<String, Value> = match self {
            Self::Codex => return None,
            _ => decode_document(jsonc::to_json(without_mark(text))).ok()?,
        };
        let near = |key: &String| {
            let key = key.to_lowercase();
            let mut known = self.keys().iter();
            known.find(|known| levenshtein(&key, &known.to_lowercase()) <= MAX_DIFFERENCES)
        };
        root.keys().find_map(|key| Some((key.clone(), *near(key)?)))
    }

    /// Returns the keys that a list of servers can have.
    pub(super) fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Standard => &STANDARD_KEYS,
            Self::VsCode => &["servers", "mcpServers"],
            Self::Codex => &["mcp_servers"],
            Self::Gemini => &["mcpServers"],
        }
    }

    /// Converts the values of one server to the form of [`ConfigFormat::Standard`].
    pub(super) fn translate(self, entry: &mut Map<String, Value>) {
        match self {
            Self::Gemini => entry
                .values_mut()
                .for_each(|it| change_texts(it, &brace_variables)),
            Self::Codex => entry
                .values_mut()
                .for_each(|it| change_texts(it, &escape_variables)),
            _ => {}
        }
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

/// Removes the list of the servers that a file of Claude Code has for one folder.
fn folder_servers(root: &mut Map<String, Value>, folder: &Path) -> Option<Map<String, Value>> {
    let project = root.get_mut("projects")?.get_mut(folder.to_str()?)?;
    match project.get_mut("mcpServers")?.take() {
        Value::Object(servers) => Some(servers),
        _ => None,
    }
}

/// Changes all texts of a value.
fn change_texts(value: &mut Value, change: &impl Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = change(text),
        Value::Array(items) => items.iter_mut().for_each(|it| change_texts(it, change)),
        Value::Object(members) => members.values_mut().for_each(|it| change_texts(it, change)),
        _ => {}
    }
}

/// Rewrites `$NAME` as `${NAME}`.
fn brace_variables(text: &str) -> String {
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
    braced
}

/// Escapes `${`, which has no meaning in this format, so that it is not replaced later.
fn escape_variables(text: &str) -> String {
    text.replace("${", "${$}{")
}
