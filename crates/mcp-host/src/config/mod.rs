//! Configuration files: which servers there are and how to reach them.
//!
//! An error in one server leaves the other servers usable.
//!
//! Shape: [SEP-2633](https://github.com/modelcontextprotocol/modelcontextprotocol/pull/2633), and
//! the files of other hosts.

mod entry;
mod error;
mod format;
mod jsonc;
mod server;
mod variables;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

pub use error::{ConfigError, ConfigErrorKind};
pub use format::ConfigFormat;
pub use server::{Launch, ServerConfig};
pub use variables::Variables;

/// Maximum size of a configuration file.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// The servers of one or more configuration files.
#[derive(Debug, Clone, Default)]
pub struct Config {
    servers: BTreeMap<String, Result<ServerConfig, ConfigError>>,
    warnings: Vec<String>,
    /// The files that were read or looked for.
    files: Vec<(PathBuf, ConfigFormat)>,
    /// The servers that do not come from a file.
    without_file: BTreeSet<String>,
}

impl Config {
    /// Creates a configuration without servers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds or replaces a server.
    #[must_use]
    pub fn with_server(mut self, name: impl Into<String>, server: ServerConfig) -> Self {
        let name = name.into();
        self.without_file.insert(name.clone());
        self.servers.insert(name, Ok(server));
        self
    }

    /// Reads a text. A file without servers gives an empty configuration.
    ///
    /// # Errors
    /// The text is not valid JSON or TOML, or its list of servers has the wrong type. Errors of
    /// single servers are kept: [`errors`](Self::errors).
    pub fn parse(text: &str, format: ConfigFormat) -> Result<Self, ConfigError> {
        let mut config = Self::new();
        for (name, value) in format.servers(text)?.unwrap_or_default() {
            let server = entry::read(value, format).map(|(server, unknown)| {
                config.warnings.extend(unknown.iter().map(|key| {
                    format!("server {name:?}: the key {key:?} is unknown and has no effect")
                }));
                server
            });
            let server = server.map_err(|error| error.within(format_args!("server {name:?}")));
            config.without_file.insert(name.clone());
            config.servers.insert(name, server);
        }
        Ok(config)
    }

    /// Reads a file. A file with secrets that other users can read is reported as a warning.
    ///
    /// # Errors
    /// The file cannot be read or is larger than 4 MiB; and as [`parse`](Self::parse).
    pub fn read(path: impl AsRef<Path>, format: ConfigFormat) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        let failed =
            |text: String| ConfigError::new(ConfigErrorKind::File, text).within(path.display());
        let file = fs::File::open(path).map_err(|error| failed(error.to_string()))?;
        let is_public = is_readable_by_others(&file);
        let mut text = String::new();
        file.take(MAX_FILE_BYTES + 1)
            .read_to_string(&mut text)
            .map_err(|error| failed(error.to_string()))?;
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(failed(format!(
                "the file is larger than {MAX_FILE_BYTES} bytes"
            )));
        }
        let mut config =
            Self::parse(&text, format).map_err(|error| error.within(path.display()))?;
        config.files.push((path.to_owned(), format));
        config.without_file.clear();
        for warning in &mut config.warnings {
            *warning = format!("{}: {warning}", path.display());
        }
        let servers = config.servers.iter();
        let secret = servers.filter(|(_, server)| has_literal_secret(server));
        if let Some(name) = secret.map(|(name, _)| name).next().filter(|_| is_public) {
            config.warnings.push(format!(
                "{}: other users can read the file, and server {name:?} has values that may be \
                 secrets; run chmod 600, or use variables",
                path.display()
            ));
        }
        Ok(config)
    }

    /// Reads the known files that exist: `mcp.json`, `.mcp.json`, `.vscode/mcp.json`,
    /// `.cursor/mcp.json` and `.gemini/settings.json` in `folder`, then `~/.codex/config.toml`,
    /// `~/.claude.json`, `~/.cursor/mcp.json`, `~/.gemini/settings.json` and the file of Claude Desktop. The first file
    /// with a name wins. A file that cannot be read is a warning.
    ///
    /// Caution: files in `folder` can start any program. If the folder comes from another person, for example as a cloned
    /// repository, ask the user before starting its servers ([`HostBuilder::consent`](crate::HostBuilder::consent)).
    pub fn discover(folder: impl AsRef<Path>) -> Self {
        let home = std::env::var_os("HOME").or_else(|| std::env::var_os("USERPROFILE"));
        let folder = folder.as_ref();
        let local = LOCAL
            .iter()
            .map(|(name, format)| (folder.join(name), *format));
        let global = home.iter().flat_map(|home| {
            let file = |(name, format): &(&str, _)| (Path::new(home).join(name), *format);
            GLOBAL.iter().map(file)
        });
        let mut config = Self::new();
        for (path, format) in local.chain(global) {
            config.files.push((path.clone(), format));
            if !path.is_file() {
                continue;
            }
            match Self::read(&path, format) {
                Ok(mut found) => {
                    found.files.clear();
                    config.merge(found);
                }
                Err(error) => config.warnings.push(error.to_string()),
            }
        }
        config
    }

    /// Adds the servers of another configuration. A server is skipped if this configuration already has one with the same name.
    pub fn merge(&mut self, other: Self) {
        for (name, server) in other.servers {
            if let Entry::Vacant(entry) = self.servers.entry(name) {
                if other.without_file.contains(entry.key()) {
                    self.without_file.insert(entry.key().clone());
                }
                entry.insert(server);
            }
        }
        self.warnings.extend(other.warnings);
        self.files.extend(other.files);
    }

    pub(crate) fn files(&self) -> &[(PathBuf, ConfigFormat)] {
        &self.files
    }

    /// Reads the files again. Servers that do not come from a file stay.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn reload(&self) -> Result<Self, ConfigError> {
        let mut config = Self {
            servers: self.servers.clone(),
            without_file: self.without_file.clone(),
            ..Self::default()
        };
        config
            .servers
            .retain(|name, _| self.without_file.contains(name));
        for (path, format) in &self.files {
            if path.is_file() {
                config.merge(Self::read(path, *format)?);
            }
        }
        Ok(config)
    }

    /// Returns the valid servers.
    pub fn servers(&self) -> impl Iterator<Item = (&str, &ServerConfig)> {
        let servers = self.servers.iter();
        servers.filter_map(|(name, server)| Some((name.as_str(), server.as_ref().ok()?)))
    }

    /// Returns the servers that cannot be used, with the reason.
    pub fn errors(&self) -> impl Iterator<Item = (&str, &ConfigError)> {
        let servers = self.servers.iter();
        servers.filter_map(|(name, server)| Some((name.as_str(), server.as_ref().err()?)))
    }

    /// Returns unknown keys, files that others can read and files that cannot be read.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    pub(crate) fn into_servers(self) -> BTreeMap<String, Result<ServerConfig, ConfigError>> {
        self.servers
    }
}

const LOCAL: [(&str, ConfigFormat); 5] = [
    ("mcp.json", ConfigFormat::Standard),
    (".mcp.json", ConfigFormat::Standard),
    (".vscode/mcp.json", ConfigFormat::VsCode),
    (".cursor/mcp.json", ConfigFormat::Standard),
    (".gemini/settings.json", ConfigFormat::Gemini),
];

const GLOBAL: [(&str, ConfigFormat); 7] = [
    (".codex/config.toml", ConfigFormat::Codex),
    (".claude.json", ConfigFormat::Standard),
    (".cursor/mcp.json", ConfigFormat::Standard),
    (".gemini/settings.json", ConfigFormat::Gemini),
    (
        ".config/Claude/claude_desktop_config.json",
        ConfigFormat::Standard,
    ),
    (
        "Library/Application Support/Claude/claude_desktop_config.json",
        ConfigFormat::Standard,
    ),
    (
        "AppData/Roaming/Claude/claude_desktop_config.json",
        ConfigFormat::Standard,
    ),
];

/// Returns whether a value of a variable or header is in the file itself.
fn has_literal_secret(server: &Result<ServerConfig, ConfigError>) -> bool {
    let values = match server.as_ref().map(|server| &server.launch) {
        Ok(Launch::Stdio { env, .. }) => env.values(),
        Ok(Launch::Http { headers, .. }) => headers.values(),
        Err(_) => return false,
    };
    let mut values = values;
    values.any(|value| !value.is_empty() && !value.contains("${") && !value.starts_with("op://"))
}

#[cfg(unix)]
fn is_readable_by_others(file: &fs::File) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata()
        .is_ok_and(|metadata| metadata.permissions().mode() & 0o044 != 0)
}

#[cfg(not(unix))]
fn is_readable_by_others(_: &fs::File) -> bool {
    false
}
