//! Configuration files: the names of servers and how to reach them.
//!
//! If one server has an error, the other servers can still be used.
//!
//! Format: [SEP-2633](https://github.com/modelcontextprotocol/modelcontextprotocol/pull/2633), and the formats of other hosts.

mod discover;
mod entry;
mod env_file;
mod error;
mod format;
mod headers_helper;
mod hosts;
mod inputs;
mod locate;
mod plain_host;
mod server;
mod syntax;
mod variables;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use self::format::ConfigContent;
use crate::text::is_hidden;
use crate::text_file::read_text;
pub use error::{ConfigError, ConfigErrorKind};
pub use headers_helper::HeadersHelper;
pub use hosts::ConfigFormat;
pub use inputs::ConfigInput;
pub(crate) use server::hash;
pub use server::{Launch, NetworkConfig, ServerConfig};
pub use syntax::without_comments;
pub use variables::Variables;
pub(crate) use variables::references;

/// Maximum size of a configuration file.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// The servers of one or more configuration files.
///
/// ```
/// use mcp_host::{Config, ConfigFormat};
///
/// let text = r#"{ "mcpServers": { "git": { "command": "uvx", "args": ["mcp-server-git"] }, "bad": {} } }"#;
/// let config = Config::parse(text, ConfigFormat::Standard)?;
/// let names: Vec<&str> = config.servers().map(|(name, _)| name).collect();
/// assert_eq!(names, ["git"]);
/// for (name, error) in config.errors() {
///     eprintln!("{name}: {error}");
/// }
/// # Ok::<(), mcp_host::ConfigError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Config {
    servers: BTreeMap<String, Configured>,
    warnings: Vec<String>,
    /// The files that were read, and the files that were missing.
    files: Vec<ConfigFile>,
}

/// A server of a configuration.
#[derive(Debug, Clone)]
pub(crate) struct Configured {
    pub(crate) server: Result<ServerConfig, ConfigError>,
    /// The file that contains the server; `None` if the application has added the server.
    file: Option<PathBuf>,
    /// Whether the server is from a file of the opened folder.
    pub(crate) is_project: bool,
    /// The inputs that the file of the server describes.
    inputs: Arc<[ConfigInput]>,
}

#[derive(Debug, Clone)]
struct ConfigFile {
    path: PathBuf,
    format: ConfigFormat,
    /// The folder for which servers are read, if the file has servers for several folders.
    folder: PathBuf,
    is_project: bool,
    /// The state of the file before it was read, so that a change while it is read is noticed.
    state: FileState,
}

/// Modification time of a file, and its length in bytes; `None` if the file is missing.
pub(crate) type FileState = Option<(SystemTime, u64)>;

/// The states of the files of a configuration, by path.
pub(crate) type FileStates = BTreeMap<PathBuf, FileState>;

impl Config {
    /// Creates a configuration without servers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds or replaces a server.
    #[must_use]
    pub fn with_server(mut self, name: impl Into<String>, server: ServerConfig) -> Self {
        self.insert(name.into(), Ok(server));
        self
    }

    fn insert(&mut self, name: String, server: Result<ServerConfig, ConfigError>) {
        let configured = Configured {
            server,
            file: None,
            is_project: false,
            inputs: Arc::default(),
        };
        self.servers.insert(name, configured);
    }

    /// Marks all servers and files as part of the opened folder: the user has opened this folder, but another person may have
    /// written its files. [`discover`](Self::discover) marks the files of its folder.
    ///
    /// [`HostBuilder::trust`](crate::HostBuilder::trust), and rules of the [`Policy`](crate::Policy) that allow something for a
    /// server name, do not apply to such a server, unless the application [trusts the folder](crate::HostBuilder::trust_project).
    /// An approval of such a server is valid only for one working directory.
    #[must_use]
    pub fn into_project(mut self) -> Self {
        for configured in self.servers.values_mut() {
            configured.is_project = true;
        }
        for file in &mut self.files {
            file.is_project = true;
        }
        self
    }

    /// Reads a text. If it has no servers, the configuration is empty. If the text is a file of Claude Code, also reads its
    /// servers for the current folder.
    ///
    /// # Errors
    /// The text is not valid JSON, TOML or YAML, or its list of servers has the wrong type. An error in a single server does not
    /// fail; [`errors`](Self::errors) returns it.
    pub fn parse(text: &str, format: ConfigFormat) -> Result<Self, ConfigError> {
        let found = format.read(text, None, &current_folder())?;
        Ok(Self::with_found(found))
    }

    fn with_found(found: ConfigContent) -> Self {
        let mut config = Self::new();
        let inputs: Arc<[ConfigInput]> = found.inputs.into();
        let mut built_in = Vec::new();
        for written in found.servers {
            let name = written.name.clone();
            let server = match entry::read(written, found.host) {
                Ok(None) => {
                    built_in.push(format!("{name:?}"));
                    continue;
                }
                Ok(Some((server, warnings))) => {
                    let warnings = warnings.into_iter();
                    let warnings = warnings.map(|warning| format!("server {name:?}: {warning}"));
                    config.warnings.extend(warnings);
                    Ok(server)
                }
                Err(error) => Err(error.within(format_args!("server {name:?}"))),
            };
            config.insert(name, server);
        }
        for configured in config.servers.values_mut() {
            configured.inputs = Arc::clone(&inputs);
        }
        if !built_in.is_empty() {
            config.warnings.push(format!(
                "these servers are not read, because they are built into {} and have neither a program nor a URL: {}",
                found.host.name,
                built_in.join(", ")
            ));
        }
        if let (false, Some((key, known))) = (found.has_list, found.misspelled) {
            config.warnings.push(format!(
                "the file has no servers: the key is {known:?}, not {key:?}"
            ));
        }
        config
    }

    /// Reads a file in the same way as [`parse`](Self::parse) reads a text. The encoding is UTF-8, or UTF-16 with a byte order
    /// mark. Adds a warning if the file has no list of servers, or if it contains secrets and other users can read it.
    ///
    /// # Errors
    /// The file cannot be read or is larger than 4 MiB, or the errors of [`parse`](Self::parse).
    pub fn read(path: impl AsRef<Path>, format: ConfigFormat) -> Result<Self, ConfigError> {
        let file = ConfigFile::new(path.as_ref().to_owned(), format, current_folder(), false);
        let mut config = file.read()?;
        if config.servers.is_empty() && config.warnings.is_empty() {
            config.warnings.push(format!(
                "{}: the file has no servers below {}",
                file.path.display(),
                format.keys().join(", ")
            ));
        }
        config.files.push(file);
        Ok(config)
    }

    /// Adds the servers of another configuration. Skips a server if this configuration already has a server with the same name.
    /// If a server of the opened folder ([`into_project`](Self::into_project)) has the name of a user's server in `other`, or a
    /// similar-looking name, adds a warning and logs it.
    pub fn merge(&mut self, other: Self) {
        self.warnings.extend(other.warnings);
        let of_project = self.servers.iter().filter(|(_, place)| place.is_project);
        let mut places = HashMap::new();
        for (known, place) in of_project {
            let first = places.entry(visible(known));
            first.or_insert_with(|| (known.clone(), place.clone()));
        }
        for (name, configured) in other.servers {
            let place = (!configured.is_project).then(|| places.get(&visible(&name)));
            if let Some((known, place)) = place.flatten() {
                let warning = taken_name_warning(known, place, &name, &configured);
                tracing::warn!("{warning}");
                self.warnings.push(warning);
            }
            self.servers.entry(name).or_insert(configured);
        }
        self.files.extend(other.files);
    }

    /// Returns the state of each file before it was read. Missing files are included.
    pub(crate) fn read_states(&self) -> FileStates {
        let files = self.files.iter();
        files.map(|file| (file.path.clone(), file.state)).collect()
    }

    /// Returns the current state of these files.
    pub(crate) fn current_states(&self) -> FileStates {
        let paths = self.files.iter().map(|file| &file.path);
        paths.map(|path| (path.clone(), file_state(path))).collect()
    }

    /// Reads the files again. Servers that the application has added are kept.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn reload(&self) -> Result<Self, ConfigError> {
        let mut config = Self {
            servers: self.servers.clone(),
            ..Self::default()
        };
        config
            .servers
            .retain(|_, configured| configured.file.is_none());
        for file in &self.files {
            if file.path.is_file() {
                config.merge(file.read()?);
            }
        }
        Ok(config)
    }

    /// Returns the valid servers.
    pub fn servers(&self) -> impl Iterator<Item = (&str, &ServerConfig)> {
        let servers = self.servers.iter();
        servers.filter_map(|(name, one)| Some((name.as_str(), one.server.as_ref().ok()?)))
    }

    /// Returns the names of the servers that cannot be used, each with the reason.
    pub fn errors(&self) -> impl Iterator<Item = (&str, &ConfigError)> {
        let servers = self.servers.iter();
        servers.filter_map(|(name, one)| Some((name.as_str(), one.server.as_ref().err()?)))
    }

    /// Returns the description of an input (`${input:id}`) from the file of a server. If the file does not describe the input,
    /// the description has only the id.
    pub fn input(&self, server: &str, id: &str) -> ConfigInput {
        let described = { self.servers.get(server).into_iter() }
            .flat_map(|configured| configured.inputs.iter())
            .find(|input| input.id() == id);
        described.cloned().unwrap_or_else(|| ConfigInput::new(id))
    }

    /// Returns warnings about unused keys, a misspelled key of the server list, files that cannot be read, secrets in files that
    /// other users can read, and servers of the opened folder with the same name as a server of the user.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    pub(crate) fn into_servers(self) -> BTreeMap<String, Configured> {
        self.servers
    }
}

impl ConfigFile {
    fn new(path: PathBuf, format: ConfigFormat, folder: PathBuf, is_project: bool) -> Self {
        Self {
            state: file_state(&path),
            path,
            format,
            folder,
            is_project,
        }
    }

    fn read(&self) -> Result<Config, ConfigError> {
        let path = &self.path;
        let failed =
            |text: String| ConfigError::new(ConfigErrorKind::File, text).within(path.display());
        let file = fs::File::open(path).map_err(|error| failed(error.to_string()))?;
        let is_public = is_readable_by_others(&file);
        let text = read_text(file, MAX_FILE_BYTES).map_err(|error| failed(error.to_string()))?;
        let found = self.format.read(&text, Some(path), &self.folder);
        let mut config = Config::with_found(found.map_err(|error| error.within(path.display()))?);
        for configured in config.servers.values_mut() {
            configured.file = Some(path.clone());
            if let Err(error) = &mut configured.server {
                *error = error.clone().within(path.display());
            }
        }
        for warning in &mut config.warnings {
            *warning = format!("{}: {warning}", path.display());
        }
        let mut servers = config.servers.iter();
        let secret = servers.find(|(_, configured)| has_literal_secret(&configured.server));
        if let Some((name, _)) = secret.filter(|_| is_public) {
            config.warnings.push(format!(
                "{}: other users can read the file, and server {name:?} has values that may be \
                 secrets; run chmod 600, or use variables",
                path.display()
            ));
        }
        Ok(match self.is_project {
            true => config.into_project(),
            false => config,
        })
    }
}

fn file_state(path: &Path) -> FileState {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

/// Returns the current folder; an empty path if the folder was deleted.
fn current_folder() -> PathBuf {
    std::env::current_dir().unwrap_or_default()
}

/// Returns a name without the differences that a person cannot see: without invisible characters, and in lower case.
fn visible(name: &str) -> String {
    let visible = name.chars().filter(|c| !is_hidden(*c));
    visible.collect::<String>().trim().to_lowercase()
}

/// Returns the warning that a server of the opened folder has the name of a user's server, or a similar-looking name.
fn taken_name_warning(name: &str, place: &Configured, other: &str, user: &Configured) -> String {
    let file = |configured: &Configured| match &configured.file {
        Some(path) => path.display().to_string(),
        None => "the application".to_owned(),
    };
    let (project, user) = (file(place), file(user));
    match name == other {
        true => format!(
            "{project}: server {name:?} of this folder replaces the server of the same name in {user}; \
             HostBuilder::trust, and policy rules that allow actions by server name, do not apply to it (see HostBuilder::trust_project)"
        ),
        false => format!(
            "{project}: the name of server {name:?} of this folder looks like {other:?} in {user}; rename one of the two servers"
        ),
    }
}

/// Returns whether a variable or header has a literal value in the file, not a reference. Each literal value may be a secret.
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
