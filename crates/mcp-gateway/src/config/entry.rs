//! One server of the configuration file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use mcp_client::Error;
use mcp_host::{
    Connector, Launch, LaunchPlan, NetworkConfig, ServerConfig, StderrLog, Variables,
    is_secret_name,
};
use mcp_protocol::{InvalidServer, Transport, TransportError};

use super::auth::AuthSection;
use super::file::ServerSection;
use crate::catalog::Transform;
use crate::gateway::{Gateway, Mount};
use crate::upstream::unavailable;
use crate::upstream::{DEFAULT_CALL_TIMEOUT, Sharing, Upstream};

/// The connector of a server. All HTTP connections to the server share one HTTP client.
struct EntryConnector(Box<dyn Fn(&StderrLog) -> TransportResult + Send + Sync>);

type TransportResult = Result<Box<dyn Transport>, TransportError>;

impl EntryConnector {
    fn new(server: &ServerConfig) -> Self {
        Self(match server.http_transport() {
            Ok(Some(http)) => Box::new(move |_| Ok(Box::new(http.clone()))),
            // This is also the case of an invalid configuration: each attempt to connect reports the error.
            _ => {
                let server = server.clone();
                Box::new(move |stderr| server.transport(stderr))
            }
        })
    }
}

impl Connector for EntryConnector {
    fn transport(&self, stderr: &StderrLog) -> TransportResult {
        (self.0)(stderr)
    }
}

/// Returns whether a header or variable of an account has no value. A scheme without credentials, such as `Bearer` alone, is not
/// a value.
fn has_empty_value(server: &ServerConfig) -> bool {
    let values = match &server.launch {
        Launch::Http { headers, .. } => headers,
        Launch::Stdio { env, .. } => env,
        _ => return false,
    };
    let mut values = values.values().map(|value| value.trim());
    values.any(|value| value.is_empty() || value.eq_ignore_ascii_case("bearer"))
}

/// The configuration key of the command that prints headers.
const HELPER: &str = "headersHelper";

/// Returns the text that describes a source of headers in a message.
fn shown(source: &str) -> String {
    match source == HELPER {
        true => "output of \"headersHelper\"".to_owned(),
        false => format!("header {source:?}"),
    }
}

/// Returns the sources of headers: the names of the configured headers, and the key of the command that prints headers.
fn header_sources(server: &ServerConfig) -> Vec<&str> {
    let Launch::Http {
        headers,
        headers_helper,
        ..
    } = &server.launch
    else {
        return Vec::new();
    };
    let names = headers.keys().map(String::as_str);
    names.chain(headers_helper.iter().map(|_| HELPER)).collect()
}

/// Returns whether a text contains the name of a credential, for example `--token`, `API_KEY=..`, `Authorization: ..` or
/// `${env:API_TOKEN}`.
fn names_credential(text: &str) -> bool {
    let is_name = |name: &&str| {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        name.bytes().all(is_part) && is_secret_name(name)
    };
    let is_separator = |c: char| c.is_whitespace() || "=:?&;{}".contains(c);
    text.split(is_separator).any(|name| is_name(&name))
}

/// Returns the place of a credential that accounts do not replace: an argument or the URL. A credential is found only if its
/// name, or the name of its variable, says that it is one. The place does not quote the text, because the text can be a
/// credential.
fn credential_beside_accounts(server: &ServerConfig) -> Option<String> {
    match &server.launch {
        Launch::Http { url, .. } => {
            let query = url.split_once('?').map_or("", |(_, query)| query);
            let mut parameters = query.split(['&', ';']);
            let is_secret = |pair: &str| pair.split('=').next().is_some_and(is_secret_name);
            let references = url.split("${").skip(1);
            let mut names = references.filter_map(|rest| rest.split('}').next());
            let has_credential = parameters.any(is_secret) || names.any(names_credential);
            has_credential.then(|| "the URL".to_owned())
        }
        Launch::Stdio { args, .. } => {
            // The value of an option can be a word such as `key`.
            let is_named = |word: &str| word.starts_with('-') || word.contains(['=', ':']);
            let mut words = args.iter().enumerate();
            let found = words.find(|(_, word)| is_named(word) && names_credential(word));
            found.map(|(index, _)| format!("argument {}", index + 1))
        }
        _ => None,
    }
}

/// Returns whether the server is `mcp bridge`, which uses the sign-ins in a file, and the file is not set.
fn has_default_sign_ins(server: &ServerConfig) -> bool {
    let Launch::Stdio {
        command, args, env, ..
    } = &server.launch
    else {
        return false;
    };
    // The program can be started by another one, such as `nice`.
    let words = std::iter::once(command).chain(args);
    let is_mcp = |word: &String| {
        Path::new(word)
            .file_stem()
            .is_some_and(|name| name == "mcp")
    };
    words.clone().any(is_mcp)
        && words.skip(1).any(|word| word == "bridge")
        && !env.contains_key("MCP_TOKENS")
}

/// Returns two users with equal accounts.
fn equal_accounts(accounts: &BTreeMap<String, ServerConfig>) -> Option<(&str, &str)> {
    let mut rest = accounts.iter();
    while let Some((user, account)) = rest.next() {
        if let Some((other, _)) = rest.clone().find(|(_, other)| *other == account) {
            return Some((user, other));
        }
    }
    None
}

/// An enabled server of the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ServerEntry {
    pub(super) name: String,
    pub(super) server: ServerConfig,
    pub(super) settings: ServerSection,
    /// The hash of the contents of the certificate files, so that renewed files are noticed.
    pub(super) certificates: String,
    /// The configuration of the server with the account of each user, by the key of the user. `None` if all users have the
    /// account of the gateway.
    pub(super) accounts: Option<BTreeMap<String, ServerConfig>>,
}

impl ServerEntry {
    /// Returns a warning if users of the gateway have the same account at the server, and the file does not say that this is
    /// intended. Call it before [`resolve`](Self::resolve), because the names of variables are a part of the check.
    pub(super) fn common_account(&self) -> Option<String> {
        let name = &self.name;
        let place = format!("/gateway/servers/{name}");
        let Some(accounts) = &self.accounts else {
            let is_intended = self.settings.is_shared || self.settings.accounts.is_some();
            return (!is_intended).then(|| {
                format!(
                    "/mcpServers/{name}: all users of the gateway have the same account at this server, so each user has the rights and sees \
                     the data of this account; set \"accounts\" of {place} to an account for each user or, if one account is intended, to \
                     \"gateway\""
                )
            });
        };
        if let Some(part) = credential_beside_accounts(&self.server) {
            return Some(format!(
                "/mcpServers/{name}: {part} seems to contain a credential, which is the same for all users of the gateway, because an account \
                 replaces only headers or variables; use a header or variable in \"accounts\" of {place}"
            ));
        }
        if let Some((user, other)) = equal_accounts(accounts) {
            return Some(format!(
                "{place}/accounts: {user:?} and {other:?} have the same account, so each of them has the rights of the other"
            ));
        }
        let (user, _) = accounts
            .iter()
            .find(|(_, server)| has_default_sign_ins(server))?;
        Some(format!(
            "{place}/accounts/{user:?}: without the variable \"MCP_TOKENS\", mcp bridge uses the sign-ins in the file of the user who runs the \
             gateway; set the variable to a separate file for each user"
        ))
    }

    /// Returns a warning if headers are sent to the server without encryption.
    pub(super) fn readable_headers(&self) -> Option<String> {
        let source = self.servers().flat_map(header_sources).min()?;
        let (name, header) = (&self.name, shown(source));
        self.server.is_readable_in_transit().then(|| {
            format!("/mcpServers/{name}: the {header} is sent without encryption; use https, unless the network is private")
        })
    }

    /// Returns the configurations of the server for the gateway itself, and for each user.
    pub(super) fn servers(&self) -> impl Iterator<Item = &ServerConfig> {
        let accounts = self.accounts.iter().flat_map(BTreeMap::values);
        std::iter::once(&self.server).chain(accounts)
    }

    /// Replaces the variables of the server, for the gateway and for each user, and checks the transport.
    pub(super) fn resolve(
        &mut self,
        variables: &Variables,
        common: &NetworkConfig,
    ) -> Result<(), InvalidServer> {
        let name = &self.name;
        if let Some(proxy) = &mut self.settings.proxy {
            let expanded = variables.expand(&proxy.0);
            proxy.0 = expanded.map_err(|error| {
                InvalidServer::new(format!("/gateway/servers/{name}/proxy: {error}"))
            })?;
        }
        let is_program = matches!(self.server.launch, Launch::Stdio { .. });
        if let Some(setting) = self.settings.network_setting().filter(|_| is_program) {
            return Err(InvalidServer::new(format!(
                "/gateway/servers/{name}/{setting}: a program on stdio connects by itself, so this setting has no effect; remove it, and \
                 set the variables that the program reads, such as HTTPS_PROXY, in \"env\""
            )));
        }
        let network = self.settings.network(common);
        let proxy = network.client_proxy();
        proxy.map_err(|error| {
            InvalidServer::new(format!("/gateway/servers/{name}/proxy: {error}"))
        })?;
        let tls = network.check_certificates();
        tls.map_err(|error| InvalidServer::new(format!("/gateway/servers/{name}/tls: {error}")))?;
        self.certificates = network.content_hash();
        let own = (
            format!("/mcpServers/{name}: server {name:?}"),
            &mut self.server,
        );
        let accounts =
            self.accounts.iter_mut().flatten().map(|(user, server)| {
                (format!("/gateway/servers/{name}/accounts/{user:?}"), server)
            });
        for (place, server) in std::iter::once(own).chain(accounts) {
            let failed = |error: &dyn fmt::Display| InvalidServer::new(format!("{place}: {error}"));
            *server = server.resolve(variables).map_err(|error| failed(&error))?;
            server.network = network.clone();
            let transport = server.transport(&StderrLog::default());
            drop(transport.map_err(|error| failed(&error))?);
        }
        Ok(())
    }

    /// Checks that each account has credentials. If the file defines the users, also checks that each account belongs to a user.
    /// Call it after [`resolve`](Self::resolve).
    pub(super) fn check_users(&self, auth: &AuthSection) -> Result<(), InvalidServer> {
        let name = &self.name;
        for (user, server) in self.accounts.iter().flatten() {
            let problem = if !auth.may_have(user) {
                "no token of /gateway/auth has this user as its \"subject\""
            } else if has_empty_value(server) {
                "a value is empty; set its variable"
            } else {
                continue;
            };
            return Err(InvalidServer::new(format!(
                "/gateway/servers/{name}/accounts/{user:?}: {problem}"
            )));
        }
        Ok(())
    }

    /// Returns a message with the name of the program, if the program does not exist.
    pub(super) fn missing_program(&self) -> Option<String> {
        let Launch::Stdio { .. } = self.server.launch else {
            return None;
        };
        let plan = LaunchPlan::new(self.server.clone(), false, &Variables::new()).ok()?;
        let problem = plan.locate().err()?;
        Some(format!("/mcpServers/{}: {problem}", self.name))
    }

    /// Returns whether both entries need the same connections: they differ only in settings that [`adjust`](Self::adjust)
    /// changes.
    pub(super) fn connects_like(&self, other: &Self) -> bool {
        let connection = |entry: &Self| {
            let servers = entry.servers().map(|server| {
                let mut server = server.clone();
                server.call_timeout = None;
                server.allowed_tools.clear();
                server.denied_tools.clear();
                server
            });
            let servers: Vec<_> = servers.collect();
            let users = entry.accounts.iter().flat_map(BTreeMap::keys);
            let users: Vec<_> = users.cloned().collect();
            let settings = &entry.settings;
            let limits = (
                settings.max_connections,
                settings.max_connections_per_client,
            );
            (
                (entry.name.clone(), entry.certificates.clone()),
                (servers, users),
                settings.is_shared,
                limits,
            )
        };
        connection(self) == connection(other)
    }

    /// Changes the settings of the mount that do not need a new connection. Returns `false` if the gateway has no such mount.
    pub(super) fn adjust(&self, namespace: &str, gateway: &Gateway) -> bool {
        let timeout = self.server.call_timeout.unwrap_or(DEFAULT_CALL_TIMEOUT);
        gateway.adjust(
            namespace,
            &self.transform(),
            self.settings.is_required,
            timeout,
        )
    }

    pub(super) fn mount(&self) -> Mount {
        let mut upstream = Upstream::new(&*self.name, EntryConnector::new(&self.server));
        if let Some(accounts) = &self.accounts {
            let accounts = accounts.iter();
            let accounts =
                accounts.map(|(user, server)| (user.clone(), EntryConnector::new(server)));
            let accounts: BTreeMap<_, _> = accounts.collect();
            let name = self.name.clone();
            upstream = upstream.user_connector(move |user, stderr| match accounts.get(user.user()) {
                Some(account) => Ok(account.transport(stderr)?),
                None => Err(Error::Rejected(unavailable(
                    &name,
                    format!("the gateway has no account for you at the server {name:?}; ask its operator"),
                ))),
            });
        }
        if let Some(timeout) = self.server.start_timeout {
            upstream = upstream.connect_timeout(timeout);
        }
        if let Some(timeout) = self.server.call_timeout {
            upstream = upstream.call_timeout(timeout);
        }
        if self.settings.is_shared {
            upstream = upstream.sharing(Sharing::All);
        }
        if let Some(connections) = self.settings.max_connections {
            upstream = upstream.max_connections(connections.get());
        }
        if let Some(connections) = self.settings.max_connections_per_client {
            upstream = upstream.max_connections_per_client(connections.get());
        }
        let mount = Mount::new(upstream).transform(self.transform());
        match self.settings.is_required {
            true => mount.required(),
            false => mount,
        }
    }

    pub(super) fn transform(&self) -> Transform {
        let mut transform = Transform::new();
        let allowed: BTreeSet<_> = self.server.allowed_tools.iter().cloned().collect();
        if !allowed.is_empty() {
            transform = transform.show_only(allowed);
        }
        for tool in &self.server.denied_tools {
            transform = transform.hide(tool);
        }
        for (tool, change) in &self.settings.tools {
            if let Some(name) = &change.rename {
                transform = transform.rename(tool, name);
            }
            if change.is_hidden {
                transform = transform.hide(tool);
            }
            if let Some(description) = &change.description {
                transform = transform.describe(tool, description);
            }
            for (argument, value) in &change.arguments {
                transform = transform.fix_argument(tool, argument, value.clone());
            }
        }
        match self.settings.is_read_only {
            true => transform.read_only(),
            false => transform,
        }
    }
}
