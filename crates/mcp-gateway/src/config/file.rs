//! The structure of the configuration file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use data_encoding::BASE64;
use http::{HeaderName, Uri};
use mcp_host::{Launch, NetworkConfig, ServerConfig, Variables};
use mcp_protocol::InvalidServer;
use mcp_server::StateKeys;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, IgnoredAny, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::auth::AuthSection;
use crate::gateway::{AccessPolicy, ClientLimits};
use crate::parked::Cluster;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct File {
    /// The servers; read by `mcp_host::Config`.
    #[expect(dead_code, reason = "only the key is checked")]
    mcp_servers: IgnoredAny,
    #[serde(default)]
    pub(super) gateway: Section,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(super) struct Section {
    pub(super) listen: Option<String>,
    pub(super) public_url: Option<String>,
    pub(super) allowed_origins: Vec<String>,
    pub(super) instructions: Option<String>,
    /// Maximum time in which the servers must return the pages that the gateway needs for a list, in milliseconds.
    pub(super) list_timeout: Option<NonZeroU32>,
    pub(super) auth: Option<AuthSection>,
    /// The proxy for requests to servers with a URL and to the authorization server.
    pub(super) proxy: Option<ProxyUrl>,
    pub(super) tls: TlsSection,
    pub(super) cluster: Option<ClusterSection>,
    pub(super) search_above: Option<usize>,
    pub(super) access: AccessPolicy,
    pub(super) limits: ClientLimits,
    /// The address for metrics and the status.
    pub(super) metrics: Option<String>,
    /// The file of the audit log, or `-` for stdout.
    pub(super) audit: Option<PathBuf>,
    pub(super) audit_arguments: Option<AuditArguments>,
    /// Settings of individual servers, by the names of the servers in `mcpServers`.
    pub(super) servers: BTreeMap<String, ServerSection>,
}

/// The form in which the audit log of a gateway contains the arguments of calls. By default, the log contains no arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum AuditArguments {
    /// The SHA-256 of the JSON text.
    Hash,
    /// The arguments, with `[redacted]` instead of secrets.
    Redacted,
}

/// The TLS settings for requests to all servers with a URL, or to one server.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct TlsSection {
    /// A PEM file with certificates of additional CAs.
    pub(super) ca: Option<PathBuf>,
    /// A PEM file with the client certificate of the gateway.
    pub(super) certificate: Option<PathBuf>,
    /// A PEM file with the private key. Default: the file of the certificate.
    pub(super) key: Option<PathBuf>,
}

/// The URL of a proxy. [`fmt::Debug`] omits it, because it can contain credentials.
#[derive(Clone, PartialEq, Deserialize)]
pub(super) struct ProxyUrl(pub(super) String);

impl fmt::Debug for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProxyUrl")
    }
}

impl TlsSection {
    /// Combines these settings with a proxy.
    fn network(&self, proxy: Option<&ProxyUrl>) -> NetworkConfig {
        let mut network = NetworkConfig::new();
        network.ca.clone_from(&self.ca);
        network.certificate.clone_from(&self.certificate);
        network.key.clone_from(&self.key);
        network.proxy = proxy.map(|proxy| proxy.0.clone());
        network
    }
}

impl Section {
    /// Returns the certificates and the proxy for all servers.
    pub(super) fn network(&self) -> NetworkConfig {
        self.tls.network(self.proxy.as_ref())
    }
}

/// The settings of this process for its cluster.
#[derive(Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClusterSection {
    /// The address at which other processes of the cluster reach this process.
    address: String,
    /// The key that all processes of the cluster share: 32 bytes in base64.
    key: String,
}

impl ClusterSection {
    /// Replaces the variables in the settings.
    pub(super) fn resolve(&mut self, variables: &Variables) -> Result<(), InvalidServer> {
        for (name, value) in [("address", &mut self.address), ("key", &mut self.key)] {
            let expanded = variables.expand(value);
            *value = expanded.map_err(|error| InvalidServer::new(format!("/{name}: {error}")))?;
        }
        Ok(())
    }

    /// Returns the settings of the cluster. The variables must have been replaced.
    ///
    /// # Errors
    /// The address or the key is not valid. The message does not contain the key.
    pub(super) fn cluster(&self) -> Result<Cluster, InvalidServer> {
        let address: Uri = self.address.parse().map_err(|error| {
            InvalidServer::new(format!(
                "/address: {:?} is not a URL: {error}",
                self.address
            ))
        })?;
        let hint = "expected 32 random bytes in base64, as `openssl rand -base64 32` prints them";
        let key = BASE64
            .decode(self.key.trim().as_bytes())
            .map_err(|_| InvalidServer::new(format!("/key: the key is not base64; {hint}")))?;
        let key = <[u8; 32]>::try_from(&*key).map_err(|_| {
            InvalidServer::new(format!("/key: the key has {} bytes; {hint}", key.len()))
        })?;
        Cluster::new(address, StateKeys::new(key))
            .map_err(|error| InvalidServer::new(format!("/address: {error}")))
    }
}

impl fmt::Debug for ClusterSection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterSection")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// The accounts with which users use a server.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Accounts {
    /// All users have the account of the gateway.
    Gateway,
    /// The headers or variables that the server receives for each user, by the name of the user. They replace the headers or
    /// variables in `mcpServers`.
    Users(BTreeMap<String, AccountSection>),
}

struct AccountsVisitor;

impl<'de> Visitor<'de> for AccountsVisitor {
    type Value = Accounts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with the account of each user, or \"gateway\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Accounts, E> {
        match text {
            "gateway" => Ok(Accounts::Gateway),
            // The text can be a credential, so it is not quoted.
            _ => Err(E::invalid_type(Unexpected::Other("another text"), &self)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Accounts, A::Error> {
        BTreeMap::deserialize(MapAccessDeserializer::new(map)).map(Accounts::Users)
    }
}

/// Reads accounts. `null` is an error: it could be read as "no accounts", and all users would then have the account of the
/// gateway.
fn accounts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Accounts>, D::Error> {
    deserializer.deserialize_any(AccountsVisitor).map(Some)
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(super) struct ServerSection {
    /// The prefix of the names at the gateway. Default: the name of the server.
    pub(super) namespace: Option<String>,
    #[serde(rename = "required")]
    pub(super) is_required: bool,
    #[serde(rename = "shared")]
    pub(super) is_shared: bool,
    /// The accounts of the users. Without this setting, all users have the account of the gateway, and a warning says so.
    #[serde(deserialize_with = "accounts")]
    pub(super) accounts: Option<Accounts>,
    pub(super) max_connections: Option<NonZeroUsize>,
    pub(super) max_connections_per_client: Option<NonZeroUsize>,
    #[serde(rename = "readOnly")]
    pub(super) is_read_only: bool,
    /// The proxy for this server, instead of the proxy for all servers.
    pub(super) proxy: Option<ProxyUrl>,
    /// The TLS settings for this server. For an absent member, the setting for all servers applies.
    pub(super) tls: TlsSection,
    /// The settings of tools, by their names at the server.
    pub(super) tools: BTreeMap<String, ToolSection>,
}

impl ServerSection {
    /// Returns the name of the first setting for HTTP connections that is set.
    pub(super) fn network_setting(&self) -> Option<&'static str> {
        match (&self.proxy, self.tls == TlsSection::default()) {
            (Some(_), _) => Some("proxy"),
            (None, false) => Some("tls"),
            (None, true) => None,
        }
    }

    /// Returns the certificates and the proxy for this server. For absent values, the values of all servers in `common` apply.
    pub(super) fn network(&self, common: &NetworkConfig) -> NetworkConfig {
        self.tls.network(self.proxy.as_ref()).or(common)
    }
}

/// The account of a user at a server. [`fmt::Debug`] omits the values.
#[derive(Clone, PartialEq, Deserialize)]
#[serde(try_from = "AccountMembers")]
pub(super) struct AccountSection {
    headers: BTreeMap<String, String>,
    env: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AccountMembers {
    headers: BTreeMap<String, String>,
    env: BTreeMap<String, String>,
    #[serde(flatten)]
    others: BTreeMap<String, IgnoredAny>,
}

impl TryFrom<AccountMembers> for AccountSection {
    type Error = &'static str;

    // A credential can be in the place of a name, so nothing is quoted.
    fn try_from(members: AccountMembers) -> Result<Self, Self::Error> {
        if !members.others.is_empty() {
            return Err(
                "an account has an unknown member; use \"headers\" for a server with a URL, or \"env\" for a server with a command",
            );
        }
        let lower = members.headers.keys().map(|name| name.to_ascii_lowercase());
        let lower: BTreeSet<_> = lower.collect();
        if lower.len() < members.headers.len() {
            return Err(
                "an account has the same header twice; remove one (the case of header names does not matter)",
            );
        }
        if members
            .headers
            .keys()
            .any(|name| HeaderName::try_from(name).is_err())
        {
            return Err("the name of a header in an account is not valid");
        }
        Ok(Self {
            headers: members.headers,
            env: members.env,
        })
    }
}

impl AccountSection {
    /// Returns the configuration of the server with the headers or variables of this user. They replace all headers or variables
    /// that the gateway itself uses for the server.
    ///
    /// # Errors
    /// The server is a program, but the account has headers or has no variables. Or the server has a URL, but the account has
    /// variables or has no headers.
    pub(super) fn server(&self, server: &ServerConfig) -> Result<ServerConfig, InvalidServer> {
        let mut server = server.clone();
        match &mut server.launch {
            Launch::Http {
                headers,
                headers_helper,
                ..
            } if self.env.is_empty() && !self.headers.is_empty() => {
                headers.clone_from(&self.headers);
                *headers_helper = None;
            }
            Launch::Stdio { env, env_file, .. }
                if self.headers.is_empty() && !self.env.is_empty() =>
            {
                env.clone_from(&self.env);
                *env_file = None;
            }
            launch => {
                let (member, kind) = match launch {
                    Launch::Http { .. } => ("headers", "a URL"),
                    _ => ("env", "a program"),
                };
                return Err(InvalidServer::new(format!(
                    "an account must have {member:?} with at least one member, and no other member, because the server has {kind}"
                )));
            }
        }
        Ok(server)
    }
}

impl fmt::Debug for AccountSection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccountSection")
            .field("headers", &self.headers.keys())
            .field("env", &self.env.keys())
            .finish()
    }
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(super) struct ToolSection {
    pub(super) rename: Option<String>,
    #[serde(rename = "hide")]
    pub(super) is_hidden: bool,
    pub(super) description: Option<String>,
    /// The arguments with fixed values.
    pub(super) arguments: BTreeMap<String, Value>,
}
