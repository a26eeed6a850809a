//! One server of the configuration file.

use std::collections::BTreeSet;

use mcp_host::{Launch, LaunchPlan, ServerConfig, StderrLog, Variables};

use super::file::ServerSection;
use crate::catalog::Transform;
use crate::gateway::{Gateway, Mount};
use crate::upstream::{DEFAULT_CALL_TIMEOUT, Sharing, Upstream};

/// Headers that identify a user to a server.
const CREDENTIALS: [&str; 3] = ["authorization", "cookie", "x-api-key"];

/// An enabled server of the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ServerEntry {
    pub(super) name: String,
    pub(super) server: ServerConfig,
    pub(super) settings: ServerSection,
}

impl ServerEntry {
    /// Returns a warning if all users of the gateway are the same user for the server.
    pub(super) fn common_identity(&self) -> Option<String> {
        let Launch::Http { headers, .. } = &self.server.launch else {
            return None;
        };
        let is_credential = |header: &&String| {
            CREDENTIALS
                .iter()
                .any(|name| header.eq_ignore_ascii_case(name))
        };
        let (name, header) = (&self.name, headers.keys().find(is_credential)?);
        Some(format!(
            "/mcpServers/{name}: the server gets the same header {header:?} for all users of the gateway, so each user has the rights of \
             this credential; if the data of the server is the same for all users, set \"shared\": true in /gateway/servers/{name}"
        ))
    }

    /// Returns a warning if others can read the headers on their way to the server.
    pub(super) fn readable_headers(&self) -> Option<String> {
        let Launch::Http { headers, .. } = &self.server.launch else {
            return None;
        };
        let (name, header) = (&self.name, headers.keys().next()?);
        self.server.is_readable_in_transit().then(|| {
            format!("/mcpServers/{name}: the header {header:?} is sent without encryption; use https, unless the network is private")
        })
    }

    /// Returns a text that names the program, if the program does not exist.
    pub(super) fn missing_program(&self) -> Option<String> {
        let Launch::Stdio { .. } = self.server.launch else {
            return None;
        };
        let plan = LaunchPlan::new(self.server.clone(), false, &Variables::new()).ok()?;
        let problem = plan.locate().err()?;
        Some(format!("/mcpServers/{}: {problem}", self.name))
    }

    /// Returns whether the connections of both entries are the same: the entries differ only in settings that [`adjust`](Self::adjust) changes.
    pub(super) fn connects_like(&self, other: &Self) -> bool {
        let connection = |entry: &Self| {
            let mut server = entry.server.clone();
            server.call_timeout = None;
            server.allowed_tools.clear();
            server.denied_tools.clear();
            let settings = &entry.settings;
            let limits = (
                settings.max_connections,
                settings.max_connections_per_client,
            );
            (entry.name.clone(), server, settings.is_shared, limits)
        };
        connection(self) == connection(other)
    }

    /// Changes the settings of the mount that need no new connection. Returns whether there is a mount.
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
        let mut upstream = match self.server.http_transport() {
            // All connections share the HTTP client.
            Ok(Some(http)) => Upstream::new(&*self.name, move |_: &StderrLog| Ok(http.clone())),
            // A child process, or an invalid configuration, which each attempt to connect reports.
            _ => Upstream::new(&*self.name, self.server.clone()),
        };
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
