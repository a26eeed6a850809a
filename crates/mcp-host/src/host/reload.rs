//! Changes the configuration while the host runs.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::sleep;

use super::starter::{Origin, Server};
use super::{Host, Servers};
use crate::config::{Config, ConfigError, Configured};

/// Interval between checks of the files. A changed file is reloaded after two checks with the same result.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The names of the servers that [`Host::apply`] has changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigChanges {
    /// The servers that are new.
    pub added: Vec<String>,
    /// The servers that were closed.
    pub removed: Vec<String>,
    /// The servers that were closed and started with another configuration.
    pub replaced: Vec<String>,
}

impl ConfigChanges {
    /// Returns whether nothing has changed.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.replaced.is_empty()
    }
}

pub(super) type OnReload = Arc<dyn Fn(Result<&ConfigChanges, &ConfigError>) + Send + Sync>;

impl Host {
    /// Replaces the servers of the configuration. Closes servers that are missing or different in `config`, and starts servers
    /// that are new or different. All other servers, and the servers with a [connector](crate::HostBuilder::connector), are not
    /// interrupted. Completes when the closed servers are off. New servers start in the background.
    ///
    /// # Cancel safety
    /// Not cancel safe: if the future is dropped, servers can be missing until the next call.
    pub async fn apply(&self, config: Config) -> ConfigChanges {
        let _applying = self.0.applying.lock().await;
        let mut wanted = config.into_servers();
        let (mut changes, mut closed) = (ConfigChanges::default(), Vec::new());
        self.0.write().retain(|name, server| {
            let is_kept = match (wanted.get(name), &server.origin) {
                (_, Origin::Connector) => {
                    wanted.remove(name);
                    return true;
                }
                (Some(new), Origin::Config { config, is_project }) => {
                    new.is_project == *is_project && new.server.as_ref() == Ok(&**config)
                }
                (Some(new), Origin::Invalid(old)) => new
                    .server
                    .as_ref()
                    .is_err_and(|new| new.to_string() == *old),
                _ => false,
            };
            if is_kept {
                wanted.remove(name);
                return true;
            }
            match wanted.contains_key(name) {
                true => changes.replaced.push(name.clone()),
                false => changes.removed.push(name.clone()),
            }
            closed.push(server.client.clone());
            false
        });
        // A server may need a port or file of the server that it replaces.
        super::stop_all(closed).await;
        for (name, server) in wanted {
            if !changes.replaced.contains(&name) {
                changes.added.push(name.clone());
            }
            self.start_server(name, server);
        }
        changes
    }

    fn start_server(&self, name: String, configured: Configured) {
        let server: Server = self.0.starter.start_configured(&name, configured);
        self.0.write().insert(name, server);
    }
}

/// Reads the files of a configuration again when they change, until the host is dropped.
pub(super) async fn watch(host: Weak<Servers>, config: Config, on_reload: OnReload) {
    let config = Arc::new(config);
    let check = || {
        let config = Arc::clone(&config);
        tokio::task::spawn_blocking(move || config.current_states())
    };
    let mut read = config.read_states();
    let mut last = read.clone();
    loop {
        sleep(POLL_INTERVAL).await;
        if host.strong_count() == 0 {
            return;
        }
        let Ok(now) = check().await else { return };
        let is_stable = now == last;
        last = now;
        if !is_stable || last == read {
            continue;
        }
        read.clone_from(&last);
        let again = Arc::clone(&config);
        let Ok(reloaded) = tokio::task::spawn_blocking(move || again.reload()).await else {
            return;
        };
        let Some(servers) = host.upgrade() else {
            return;
        };
        match reloaded {
            Ok(config) => {
                let changes = Host(servers).apply(config).await;
                if !changes.is_empty() {
                    on_reload(Ok(&changes));
                }
            }
            Err(error) => {
                tracing::warn!(%error, "cannot reload the configuration; the running servers are unchanged: correct the file");
                on_reload(Err(&error));
            }
        }
    }
}
