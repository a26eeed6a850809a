//! The configuration of one server, and its transport.

mod network;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use data_encoding::HEXLOWER;
use mcp_client::{Transport, TransportError};
use mcp_transport_http::HttpTransport;
use mcp_transport_stdio::{ChildProcess, Stderr};
use sha2::{Digest, Sha256};

use super::env_file;
use super::error::{ConfigError, ConfigErrorKind};
use super::headers_helper::HeadersHelper;
use super::variables::{self, Variables};
use crate::supervise::orphans;
use crate::supervise::{Connector, StderrLog};
use crate::text_file::read_file;

pub use self::network::NetworkConfig;

/// Maximum size of a file with variables, in bytes.
const MAX_ENV_FILE_BYTES: u64 = 1 << 20;

/// The configuration of one server: how to reach the server, and its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerConfig {
    /// The program or URL.
    pub launch: Launch,
    /// Whether the host starts the server. Default: `true`.
    pub is_enabled: bool,
    /// Maximum time for starting the server, including negotiation and the first tool list. `None`: 30 s.
    pub start_timeout: Option<Duration>,
    /// Idle timeout of calls; a progress notification restarts it. `None`: the default timeout of the client.
    pub call_timeout: Option<Duration>,
    /// The names of the tools to show. If the list is empty, all tools are shown.
    pub allowed_tools: Vec<String>,
    /// The names of the tools to hide, even if they are in [`allowed_tools`](Self::allowed_tools).
    pub denied_tools: Vec<String>,
    /// The certificates and the proxy for a server with a URL. Configuration files of hosts cannot set them.
    pub network: NetworkConfig,
}

/// The program or URL of a server. [`fmt::Debug`] omits values that may be secrets.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Launch {
    /// A child process.
    #[non_exhaustive]
    Stdio {
        /// The program.
        command: String,
        /// The arguments of the program.
        args: Vec<String>,
        /// Variables of the child's environment, in addition to the few variables that a child inherits by default; see
        /// [`ChildProcess::env_inherit`](mcp_transport_stdio::ChildProcess::env_inherit).
        env: BTreeMap<String, String>,
        /// A file with further variables, with one `NAME=value` per line. The variables in `env` take precedence.
        env_file: Option<String>,
        /// The working directory of the program.
        cwd: Option<String>,
    },
    /// A server over HTTP.
    #[non_exhaustive]
    Http {
        /// The URL of the MCP endpoint.
        url: String,
        /// The headers of each request.
        headers: BTreeMap<String, String>,
        /// A command that writes further headers. They take precedence over `headers`.
        headers_helper: Option<HeadersHelper>,
    },
}

impl ServerConfig {
    /// Creates the configuration of a child process.
    pub fn stdio<A: Into<String>>(
        command: impl Into<String>,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        Self::new(Launch::Stdio {
            command: command.into(),
            args: args.into_iter().map(Into::into).collect(),
            env: BTreeMap::new(),
            env_file: None,
            cwd: None,
        })
    }

    /// Creates the configuration of a server over HTTP.
    pub fn http(url: impl Into<String>) -> Self {
        Self::new(Launch::Http {
            url: url.into(),
            headers: BTreeMap::new(),
            headers_helper: None,
        })
    }

    /// Sets an environment variable of a child process. Has no effect for a server over HTTP.
    #[must_use]
    pub fn with_env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let Launch::Stdio { env, .. } = &mut self.launch {
            env.insert(name.into(), value.into());
        }
        self
    }

    /// Sets a header of each request to a server over HTTP. Has no effect for a child process.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let Launch::Http { headers, .. } = &mut self.launch {
            headers.insert(name.into(), value.into());
        }
        self
    }

    pub(super) fn new(launch: Launch) -> Self {
        Self {
            launch,
            is_enabled: true,
            start_timeout: None,
            call_timeout: None,
            allowed_tools: Vec::new(),
            denied_tools: Vec::new(),
            network: NetworkConfig::new(),
        }
    }

    /// Creates the transport of a [resolved](Self::resolve) configuration with a URL. Returns `None` for a child process. Also
    /// returns `None` for a server with a [helper](HeadersHelper), because its headers can differ between connections. Clones of
    /// the transport share their HTTP connections.
    ///
    /// # Errors
    /// The URL or a header is invalid, the URL of the proxy is invalid, or a file with certificates cannot be used.
    pub fn http_transport(&self) -> Result<Option<HttpTransport>, TransportError> {
        match &self.launch {
            Launch::Http {
                url,
                headers,
                headers_helper: None,
            } => self.create_http_transport(url, headers).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns whether other people can read the messages in transit. This is the case if the URL of the server is not `https`
    /// and its host is not this machine.
    pub fn is_readable_in_transit(&self) -> bool {
        match &self.launch {
            Launch::Stdio { .. } => false,
            Launch::Http { url, .. } => {
                HttpTransport::new(url).is_ok_and(|http| http.is_readable_in_transit())
            }
        }
    }

    fn create_http_transport(
        &self,
        url: &str,
        headers: &BTreeMap<String, String>,
    ) -> Result<HttpTransport, TransportError> {
        let mut http = self.network.apply(HttpTransport::new(url)?)?;
        for (name, value) in headers {
            http = http.header(name, value)?;
        }
        Ok(http)
    }

    /// Returns whether a tool of this name is shown.
    pub fn shows_tool(&self, name: &str) -> bool {
        let contains = |names: &[String]| names.iter().any(|other| other == name);
        (self.allowed_tools.is_empty() || contains(&self.allowed_tools))
            && !contains(&self.denied_tools)
    }

    /// Adds the variables of the [file](Launch::Stdio::env_file) to the variables of the configuration.
    /// [`resolve`](Self::resolve) also replaces references in their values.
    ///
    /// # Errors
    /// The path of the file has a variable without a value, or the file cannot be read or is larger than 1 MiB.
    pub(crate) fn with_env_file(mut self, values: &Variables) -> Result<Self, ConfigError> {
        if let Launch::Stdio { env, env_file, .. } = &mut self.launch
            && let Some(path) = env_file.take()
        {
            let path = values.expand(&path)?;
            let text = read_file(Path::new(&path), MAX_ENV_FILE_BYTES);
            let text = text.map_err(|error| {
                ConfigError::new(
                    ConfigErrorKind::File,
                    format!("\"envFile\": {path}: {error}"),
                )
            })?;
            for (name, value) in env_file::variables(&text) {
                env.entry(name).or_insert(value);
            }
        }
        Ok(self)
    }

    /// Reads the file with environment variables, if the configuration names a file, and replaces all references to variables.
    ///
    /// # Errors
    /// The error names the first variable without a value, the environment variable whose name is not valid, or the file that
    /// cannot be read.
    pub fn resolve(&self, variables: &Variables) -> Result<Self, ConfigError> {
        let mut resolved = self.clone().with_env_file(variables)?;
        resolved.check_names()?;
        let expand = |text: &mut String| -> Result<(), ConfigError> {
            *text = variables.expand(text)?;
            Ok(())
        };
        match &mut resolved.launch {
            Launch::Stdio {
                command,
                args,
                env,
                cwd,
                ..
            } => {
                let texts = args.iter_mut().chain(env.values_mut()).chain(cwd);
                std::iter::once(command).chain(texts).try_for_each(expand)?;
            }
            Launch::Http { url, headers, .. } => {
                std::iter::once(url)
                    .chain(headers.values_mut())
                    .try_for_each(expand)?;
            }
        }
        Ok(resolved)
    }

    /// Returns the ids of the inputs (`${input:id}`) without a default, in order and without repetitions. Ask the user for the
    /// value of each input, and pass the value to [`Variables::with_input`].
    pub fn inputs(&self) -> Vec<&str> {
        let mut ids = Vec::new();
        for id in self.texts().into_iter().flat_map(variables::inputs) {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        ids
    }

    /// Returns a SHA-256 hash that identifies the server. For a child process, it is the hash of the command, its arguments, its
    /// working directory and the names of its environment variables. Otherwise, it is the hash of the URL, the names of the
    /// headers and the command that writes headers. The hash does not include values of variables and headers, because they are
    /// often secrets. An [`Approval`](crate::Approval) includes these values.
    pub fn fingerprint(&self) -> String {
        match &self.launch {
            Launch::Stdio {
                command,
                args,
                env,
                cwd,
                ..
            } => {
                let count = args.len().to_string();
                let parts = ["stdio", command, cwd.as_deref().unwrap_or_default(), &count];
                let args = args.iter().map(String::as_str);
                hash(
                    parts
                        .into_iter()
                        .chain(args)
                        .chain(env.keys().map(String::as_str)),
                )
            }
            Launch::Http {
                url,
                headers,
                headers_helper,
            } => hash(
                ["http", url]
                    .into_iter()
                    .chain(headers.keys().map(String::as_str))
                    .chain(headers_helper.iter().flat_map(HeadersHelper::hashed)),
            ),
        }
    }

    /// Checks the names of environment variables. If a variable had the name `A=B` and the value `C`, a child would read the name
    /// `A` and the value `B=C`, and the consent request would have shown another variable.
    fn check_names(&self) -> Result<(), ConfigError> {
        let Launch::Stdio { env, .. } = &self.launch else {
            return Ok(());
        };
        let is_wrong = |name: &&String| {
            name.is_empty() || name.contains('=') || name.chars().any(char::is_control)
        };
        match env.keys().find(is_wrong) {
            Some(name) => Err(ConfigError::server(format!(
                "the name {name:?} of an environment variable is empty, or has \"=\" or a control character; write a name such as \"API_KEY\""
            ))),
            None => Ok(()),
        }
    }

    /// Returns the references to variables, with their values. References occur in the command, its arguments, its folder, the
    /// URL and the headers. The values can be secrets, so a program that shows an error of the server must show the references
    /// instead.
    #[doc(hidden)]
    pub fn values(&self, variables: &Variables) -> Vec<(String, String)> {
        let mut shown = self.clone();
        // Leaves out the environment of the child: many of its values are usual words, and errors do not contain these values.
        if let Launch::Stdio { env, .. } = &mut shown.launch {
            env.clear();
        }
        let texts = shown.texts().into_iter();
        texts.flat_map(|text| variables.values(text)).collect()
    }

    /// Returns the texts in which references to variables are replaced.
    pub(crate) fn texts(&self) -> Vec<&str> {
        let mut file = None;
        let (first, args, values, last) = match &self.launch {
            Launch::Stdio {
                command,
                args,
                env,
                env_file,
                cwd,
            } => {
                file = env_file.as_ref();
                (command, &args[..], env, cwd.as_ref())
            }
            Launch::Http { url, headers, .. } => (url, &[][..], headers, None),
        };
        let texts = std::iter::once(first)
            .chain(args)
            .chain(values.values())
            .chain(file)
            .chain(last);
        texts.map(String::as_str).collect()
    }
}

/// Returns the SHA-256 hash of texts and of their lengths.
pub(crate) fn hash<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    HEXLOWER.encode(&hash.finalize())
}

impl Connector for ServerConfig {
    /// Creates the transport of a [resolved](ServerConfig::resolve) configuration. A child process
    /// ends with this process, even if this process is killed.
    fn transport(&self, stderr: &StderrLog) -> Result<Box<dyn Transport>, TransportError> {
        match &self.launch {
            Launch::Stdio {
                command,
                args,
                env,
                cwd,
                ..
            } => {
                let log = stderr.clone();
                let stderr = Stderr::Callback(Arc::new(move |line| log.push(line)));
                let child = child(command, args, env, cwd.as_deref());
                Ok(Box::new(child.process_guard(orphans::guard).stderr(stderr)))
            }
            Launch::Http {
                url,
                headers,
                headers_helper,
            } => {
                let http = self.create_http_transport(url, headers)?;
                let Some(helper) = headers_helper else {
                    return Ok(Box::new(http));
                };
                let transport = helper.clone().transport(url, move |headers| {
                    let mut headers = headers.into_iter();
                    headers.try_fold(http.clone(), |http, (name, value)| {
                        http.header(&name, &value)
                    })
                });
                Ok(Box::new(transport))
            }
        }
    }
}

pub(super) fn child(
    command: &str,
    args: &[String],
    env: &BTreeMap<String, String>,
    cwd: Option<&str>,
) -> ChildProcess {
    let mut child = ChildProcess::new(command).args(args);
    for (name, value) in env {
        child = child.env(name, value);
    }
    match cwd {
        Some(cwd) => child.current_dir(cwd),
        None => child,
    }
}

impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { command, env, .. } => f
                .debug_struct("Stdio")
                .field("command", command)
                .field("env", &env.keys())
                .finish_non_exhaustive(),
            Self::Http { headers, .. } => f
                .debug_struct("Http")
                .field("headers", &headers.keys())
                .finish_non_exhaustive(),
        }
    }
}
