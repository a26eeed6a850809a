//! The configuration file of a gateway.

mod auth;
mod entry;
mod file;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use mcp_host::{
    Config, ConfigFormat, NetworkConfig, ServerConfig, Variables, nearest_name, read_text,
    without_comments, without_type_names,
};
use mcp_jsonrpc::decode_owned;
use mcp_protocol::InvalidServer;
use serde::de::IgnoredAny;

use self::auth::AuthSection;
pub use self::auth::{ClientToken, TokenSource};
use self::entry::ServerEntry;
pub use self::file::AuditArguments;
use self::file::{AccountSection, Accounts, File, ProxyUrl, Section, ServerSection};
use crate::gateway::{Gateway, GatewayBuilder, Settings};
use crate::parked::Cluster;

/// Maximum size of a configuration file.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// The configuration of a gateway: the servers under `mcpServers`, in the format of hosts' files, and settings under `gateway`.
///
/// ```json
/// {
///   "mcpServers": {
///     "git": { "command": "uvx", "args": ["mcp-server-git"] },
///     "wiki": { "url": "https://wiki.example.com/mcp", "headers": { "authorization": "Bearer ${env:WIKI_TOKEN}" } }
///   },
///   "gateway": {
///     "listen": "127.0.0.1:8000",
///     "servers": {
///       "git": {
///         "namespace": "repo",
///         "readOnly": true,
///         "tools": { "git_log": { "rename": "log", "arguments": { "repo_path": "/srv/repo" } } }
///       }
///     }
///   }
/// }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct GatewayConfig {
    section: Section,
    /// The enabled servers, by namespace.
    servers: BTreeMap<String, ServerEntry>,
    /// Warnings about users with the same account at a server.
    common_accounts: Vec<String>,
    /// The names of all servers. Disabled servers are included, because the configuration may still have rules for them.
    namespaces: BTreeSet<String>,
}

fn invalid(text: impl Into<String>) -> InvalidServer {
    InvalidServer::new(text)
}

/// Keys, in the singular, that an operator may use in a rule by mistake to name users.
const USER_KEYS: [&str; 6] = ["client", "group", "principal", "role", "subject", "user"];

/// Adds a suggestion to the text of an error about an unknown key.
fn with_hint(error: &str) -> String {
    let mut names = error.split('`').skip(1).step_by(2);
    let hint = match (error.contains("unknown field `"), names.next()) {
        (true, Some(key)) if error.starts_with("/gateway/access") && USER_KEYS.contains(&key.trim_end_matches('s')) => {
            "; rules cannot name users: the authorization server, or \"tokens\" of /gateway/auth, gives scopes to users, see \"scope\"".to_owned()
        }
        (true, Some(key)) => nearest_name(key, names).map_or_else(String::new, |near| format!("; did you mean {near:?}?")),
        _ => String::new(),
    };
    format!("{}{hint}", without_type_names(error))
}

/// Maximum number of accounts in the settings of a server.
const MAX_ACCOUNTS: usize = 256;

/// Reads the accounts, and returns the configuration of the server for each user.
fn read_accounts(
    accounts: &BTreeMap<String, AccountSection>,
    server: &ServerConfig,
    settings: &ServerSection,
    section: &Section,
) -> Result<BTreeMap<String, ServerConfig>, InvalidServer> {
    let problem = if settings.is_shared {
        "\"shared\": true says that all users have one account; remove \"shared\" or \"accounts\""
            .to_owned()
    } else if section.auth.is_none() {
        "users have no names without /gateway/auth; add \"auth\"".to_owned()
    } else if accounts.is_empty() {
        "no user has an account; add one, or write \"accounts\": \"gateway\" if all users may use the account of the gateway".to_owned()
    } else if accounts.len() > MAX_ACCOUNTS {
        format!(
            "the server has more than {MAX_ACCOUNTS} accounts, which is the limit of a file; for more, write a program that uses Upstream::user_connector"
        )
    } else {
        let accounts = accounts.iter().map(|(user, account)| {
            let server = account.server(server);
            let server = server.map_err(|error| invalid(format!("/{user:?}: {error}")))?;
            Ok((user.clone(), server))
        });
        return accounts.collect();
    };
    Err(invalid(format!(": {problem}")))
}

/// Returns the warnings about users with the same account at a server.
fn common_accounts(section: &Section, servers: &BTreeMap<String, ServerEntry>) -> Vec<String> {
    let auth = section.auth.as_ref();
    match auth.is_some_and(AuthSection::has_several_users) {
        true => servers
            .values()
            .filter_map(ServerEntry::common_account)
            .collect(),
        false => Vec::new(),
    }
}

/// Reads the settings of an enabled server.
fn read_entry(
    name: &str,
    server: &ServerConfig,
    settings: ServerSection,
    section: &Section,
) -> Result<ServerEntry, InvalidServer> {
    let accounts = match &settings.accounts {
        Some(Accounts::Users(users)) => {
            let accounts = read_accounts(users, server, &settings, section);
            Some(
                accounts
                    .map_err(|error| invalid(format!("/gateway/servers/{name}/accounts{error}")))?,
            )
        }
        Some(Accounts::Gateway) | None => None,
    };
    Ok(ServerEntry {
        name: name.to_owned(),
        server: server.clone(),
        settings,
        certificates: String::new(),
        accounts,
    })
}

impl GatewayConfig {
    /// Reads JSON text, which can have comments and trailing commas. Starts nothing.
    ///
    /// # Errors
    /// The text is not JSON, a key is unknown, a value has the wrong type, or two servers have the same namespace. The
    /// message contains the location as a JSON pointer, or the name of the server.
    pub fn parse(text: &str) -> Result<Self, InvalidServer> {
        let text = &*without_comments(text);
        // Syntax errors are reported first, because their text contains the line.
        mcp_jsonrpc::decode_document::<IgnoredAny>(text)
            .map_err(|error| invalid(error.to_string()))?;
        // A repeated user would have the account that is written last.
        mcp_jsonrpc::check_unique_members(text).map_err(|error| invalid(error.to_string()))?;
        let file: File =
            decode_owned(text).map_err(|error| invalid(with_hint(&error.to_string())))?;
        let mut section = file.gateway;
        let read = Config::parse(text, ConfigFormat::Standard);
        let read = read.map_err(|error| invalid(error.to_string()))?;
        if let Some((_, error)) = read.errors().next() {
            return Err(invalid(format!("/mcpServers: {error}")));
        }
        // A key that a host ignores may be a mistake that makes a gateway less strict.
        if let Some(unknown) = read.warnings().first() {
            return Err(invalid(format!("/mcpServers: {unknown}")));
        }
        let mut settings = std::mem::take(&mut section.servers);
        let (mut servers, mut namespaces) = (BTreeMap::new(), BTreeSet::new());
        for (name, server) in read.servers() {
            let settings = settings.remove(name).unwrap_or_default();
            let namespace = settings.namespace.clone();
            let namespace = namespace.unwrap_or_else(|| name.to_owned());
            namespaces.insert(namespace.clone());
            if !server.is_enabled {
                if settings.is_required {
                    return Err(invalid(format!(
                        "/gateway/servers/{name}/required: the server is disabled in /mcpServers/{name}, so it would never be checked; remove \
                         \"required\" or enable the server"
                    )));
                }
                continue;
            }
            let entry = read_entry(name, server, settings, &section)?;
            if let Some(earlier) = servers.insert(namespace.clone(), entry) {
                return Err(invalid(format!(
                    "/gateway/servers: the servers {:?} and {name:?} have the same namespace {namespace:?}; set \"namespace\" of one of them",
                    earlier.name
                )));
            }
        }
        if let Some(name) = settings.keys().next() {
            return Err(invalid(format!(
                "/gateway/servers/{name}: \"mcpServers\" has no server with this name"
            )));
        }
        Ok(Self {
            common_accounts: common_accounts(&section, &servers),
            section,
            servers,
            namespaces,
        })
    }

    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read or is larger than 4 MiB, and the errors of [`parse`](Self::parse).
    pub fn read(path: impl AsRef<Path>) -> Result<Self, InvalidServer> {
        let path = path.as_ref();
        let failed =
            |error: &dyn std::fmt::Display| invalid(format!("{}: {error}", path.display()));
        let file = fs::File::open(path).map_err(|error| failed(&error))?;
        let text = read_text(file, MAX_FILE_BYTES).map_err(|error| failed(&error))?;
        Self::parse(&text).map_err(|error| failed(&error))
    }

    /// Sets the certificates and the proxy for all servers and the authorization server. They replace `tls` and `proxy` in the
    /// configuration, except for values that are absent in `network`. Call this function before [`resolve`](Self::resolve).
    #[must_use]
    pub fn with_network(mut self, network: &NetworkConfig) -> Self {
        let network = network.or(&self.network());
        let tls = &mut self.section.tls;
        (tls.ca, tls.certificate, tls.key) = (network.ca, network.certificate, network.key);
        self.section.proxy = network.proxy.map(ProxyUrl);
        self
    }

    /// Returns the certificates and the proxy for all servers and the authorization server.
    pub fn network(&self) -> NetworkConfig {
        self.section.network()
    }

    /// Returns the configurations of the enabled servers, for the gateway itself and for each user. The variables are not
    /// replaced.
    #[doc(hidden)]
    pub fn servers(&self) -> impl Iterator<Item = &ServerConfig> {
        self.servers.values().flat_map(ServerEntry::servers)
    }

    /// Replaces the names of users in `accounts` by the keys of the users. A key is compared with
    /// [`Principal::user`](mcp_protocol::Principal::user). By default, the key of a user is the name of the user. With
    /// `mcp-auth`, the key is `Identity::user`. Call this method after [`resolve`](Self::resolve).
    #[must_use]
    pub fn with_user_keys(mut self, key: impl Fn(&str) -> String) -> Self {
        for entry in self.servers.values_mut() {
            if let Some(accounts) = &mut entry.accounts {
                let named = std::mem::take(accounts).into_iter();
                accounts.extend(named.map(|(user, server)| (key(&user), server)));
            }
        }
        self
    }

    /// Replaces the variables of servers, tokens and the cluster, and checks all programs, URLs, headers, names and transforms.
    /// Starts nothing.
    ///
    /// # Errors
    /// The error names the server or the setting.
    pub fn resolve(mut self, variables: &Variables) -> Result<Self, InvalidServer> {
        if let Some(proxy) = &mut self.section.proxy {
            let expanded = variables.expand(&proxy.0);
            proxy.0 = expanded.map_err(|error| invalid(format!("/gateway/proxy: {error}")))?;
        }
        let network = self.network();
        let checked = network.client_proxy();
        checked.map_err(|error| invalid(format!("/gateway/proxy: {error}")))?;
        let tls = network.check_certificates();
        tls.map_err(|error| invalid(format!("/gateway/tls: {error}")))?;
        for (namespace, entry) in &mut self.servers {
            entry.resolve(variables, &network)?;
            let name = &entry.name;
            crate::gateway::check_mount(namespace, &entry.transform())
                .map_err(|error| invalid(format!("/gateway/servers/{name}: {error}")))?;
        }
        crate::gateway::check_count(self.servers.len())?;
        if self.section.audit.is_none() && self.section.audit_arguments.is_some() {
            return Err(invalid(
                "/gateway/auditArguments: there is no audit log; add \"audit\" or remove \"auditArguments\"",
            ));
        }
        if let Some(auth) = &mut self.section.auth {
            let resolved = auth.resolve(variables, self.section.public_url.as_deref());
            resolved.map_err(|error| invalid(format!("/gateway/auth{error}")))?;
        }
        if let Some(auth) = &self.section.auth {
            for entry in self.servers.values() {
                entry.check_users(auth)?;
            }
        }
        if let Some(cluster) = &mut self.section.cluster {
            let resolved = cluster.resolve(variables);
            let checked = resolved.and_then(|()| cluster.cluster());
            checked.map_err(|error| invalid(format!("/gateway/cluster{error}")))?;
        }
        match self.section.access.problem(Some(&self.namespaces)) {
            Some((index, problem)) => Err(invalid(format!("/gateway/access/{index}: {problem}"))),
            None => Ok(self),
        }
    }

    /// Returns the address for HTTP. Default: `127.0.0.1:8000`.
    pub fn listen(&self) -> &str {
        self.section.listen.as_deref().unwrap_or("127.0.0.1:8000")
    }

    /// Returns the URL for clients on other machines.
    pub fn public_url(&self) -> Option<&str> {
        self.section.public_url.as_deref()
    }

    /// Returns the tokens that clients must send, and the scopes that every token must have; `None` if the configuration has no
    /// `auth`.
    pub fn authorization(&self) -> Option<(TokenSource<'_>, &[String])> {
        let auth = self.section.auth.as_ref()?;
        Some((auth.source(), &auth.scopes))
    }

    /// Returns the scopes for the metadata of the gateway: the scopes that every token must have, and the scopes of the access
    /// rules.
    pub fn scopes_supported(&self) -> Vec<String> {
        let required = self.section.auth.iter().flat_map(|auth| &auth.scopes);
        let required = required.map(String::as_str);
        let all: BTreeSet<&str> = required.chain(self.section.access.scopes()).collect();
        all.into_iter().map(str::to_owned).collect()
    }

    /// Returns the address for metrics and the status; `None` if they are not served.
    pub fn metrics(&self) -> Option<&str> {
        self.section.metrics.as_deref()
    }

    /// Returns the file of the audit log, and the form of arguments in it; `None` if there is no audit log. `-` is stdout.
    pub fn audit(&self) -> Option<(&Path, Option<AuditArguments>)> {
        let file = self.section.audit.as_deref()?;
        Some((file, self.section.audit_arguments))
    }

    /// Returns the cluster of this process, if the configuration has one and is [resolved](Self::resolve).
    pub fn cluster(&self) -> Option<Cluster> {
        self.section.cluster.as_ref()?.cluster().ok()
    }

    /// Returns the origins whose web pages may use the gateway.
    pub fn allowed_origins(&self) -> &[String] {
        &self.section.allowed_origins
    }

    /// Returns a text for each possible mistake in a valid configuration. [`builder`](Self::builder) logs the texts.
    pub fn warnings(&self) -> Vec<String> {
        let servers = || self.servers.values();
        let readable = servers().filter_map(ServerEntry::readable_headers);
        let auth = self.section.auth.as_ref();
        let common = self.common_accounts.iter().cloned();
        let auth = auth.into_iter();
        let scopes = auth.flat_map(|auth| auth.scope_warnings(self.section.access.scopes()));
        readable.chain(common).chain(scopes).collect()
    }

    /// Returns a text for each enabled server whose program does not exist. Reads the file system, and starts nothing. Call it
    /// after [`resolve`](Self::resolve).
    pub fn missing_programs(&self) -> Vec<String> {
        let entries = self.servers.values();
        entries.filter_map(ServerEntry::missing_program).collect()
    }

    /// Returns the numbers of enabled servers and of access rules.
    pub fn counts(&self) -> (usize, usize) {
        (self.servers.len(), self.section.access.len())
    }

    /// Returns a builder with all enabled servers of a [resolved](Self::resolve) configuration, in the order of their namespaces.
    pub fn builder(&self) -> GatewayBuilder {
        for warning in self.warnings() {
            tracing::warn!("{warning}");
        }
        let mut builder = Gateway::builder().settings(self.gateway_settings());
        if let Some(cluster) = self.cluster() {
            builder = builder.cluster(cluster);
        }
        for (namespace, entry) in &self.servers {
            builder = builder.mount(namespace, entry.mount());
        }
        builder
    }

    /// Returns the settings of the gateway that can change while it runs.
    fn gateway_settings(&self) -> Settings {
        let default = Settings::default();
        let list_timeout = self.section.list_timeout;
        Settings {
            instructions: self.section.instructions.clone(),
            list_timeout: list_timeout.map_or(default.list_timeout, |millis| {
                Duration::from_millis(millis.get().into())
            }),
            search_above: self.section.search_above,
            access: self.section.access.clone().into(),
            limits: self.section.limits,
        }
    }

    /// Updates a gateway that runs with the configuration `previous` to this one, which must be [resolved](Self::resolve):
    /// removes, adds and replaces servers that differ. A server is replaced as soon as the new server is connected. If only rules
    /// or limits differ, the server keeps its connections. Rules take effect at once. New servers connect in the background;
    /// [`Gateway::settled`] waits for their first attempts. Call it within a tokio runtime.
    /// [`needs_restart`](Self::needs_restart) names the settings that this method cannot change.
    ///
    /// # Errors
    /// The gateway would have more than 64 servers, or an access rule is invalid.
    pub fn reload(&self, previous: &Self, gateway: &Gateway) -> Result<(), InvalidServer> {
        self.section.access.check()?;
        let known = previous.warnings();
        let warnings = self.warnings().into_iter();
        for warning in warnings.filter(|warning| !known.contains(warning)) {
            tracing::warn!("{warning}");
        }
        for namespace in previous.servers.keys() {
            if !self.servers.contains_key(namespace) {
                gateway.unmount(namespace);
            }
        }
        // The new rules hold before a new server can be used, and while it starts.
        let settings = self.gateway_settings();
        if settings != previous.gateway_settings() {
            gateway.configure(settings);
        }
        for (namespace, entry) in &self.servers {
            let earlier = previous.servers.get(namespace);
            if earlier == Some(entry) {
                gateway.report_settings(namespace);
                continue;
            }
            // Changed filters also hold for the former server, until the new one is connected.
            let is_adjusted = entry.adjust(namespace, gateway)
                && earlier.is_some_and(|earlier| entry.connects_like(earlier));
            // The gateway must stop serving a user whose account was removed, even while the new server cannot be reached.
            if earlier.is_some_and(|earlier| earlier.accounts != entry.accounts) {
                gateway.unmount(namespace);
            }
            if !is_adjusted {
                gateway.start_mount(namespace, entry.mount())?;
            }
        }
        Ok(())
    }

    /// Returns the names of the settings that differ from the settings with which the program was started, and that need a
    /// restart.
    pub fn needs_restart(&self, started: &Self) -> Vec<&'static str> {
        let (new, old) = (&self.section, &started.section);
        let has_issuer = matches!(started.authorization(), Some((TokenSource::Issuer(_), _)));
        let settings = [
            ("listen", self.listen() != started.listen()),
            ("publicUrl", new.public_url != old.public_url),
            ("auth", new.auth != old.auth),
            ("cluster", new.cluster != old.cluster),
            ("metrics", new.metrics != old.metrics),
            ("audit", new.audit != old.audit),
            ("auditArguments", new.audit_arguments != old.audit_arguments),
            ("allowedOrigins", new.allowed_origins != old.allowed_origins),
            // The verifier of the issuer's tokens keeps these two settings.
            ("proxy", has_issuer && new.proxy != old.proxy),
            ("tls", has_issuer && new.tls != old.tls),
        ];
        let changed = settings.into_iter().filter(|(_, is_changed)| *is_changed);
        changed.map(|(name, _)| name).collect()
    }
}
