//! Creates and starts a supervised client.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mcp_client::{ClientBuilder, Progress, Root};
use tokio::sync::{Semaphore, watch};

use super::catalog::{ListCache, Lists, ServerCache};
use super::connector::Connector;
use super::nesting::RunningCalls;
use super::permission::Permission;
use super::restart::RestartPolicy;
use super::state::ServerState;
use super::stderr::StderrLog;
use super::task::{self, Goal, Published, Settings};
use super::{Handle, ProgressHandler, SupervisedClient};

/// The settings of a [`SupervisedClient`].
#[must_use = "a builder does nothing before `start`"]
pub struct SupervisedBuilder {
    name: String,
    settings: Settings,
    cache: Option<ListCache>,
    fingerprint: String,
    wait_timeout: Duration,
    call_timeout: Option<Duration>,
    is_trusted: bool,
    is_enabled: bool,
    calls: Arc<RunningCalls>,
    on_progress: Option<ProgressHandler>,
}

impl SupervisedBuilder {
    pub(super) fn new(name: String, client: ClientBuilder, connector: Arc<dyn Connector>) -> Self {
        Self {
            name,
            settings: Settings {
                connector,
                client,
                restart: RestartPolicy::default(),
                start_timeout: Duration::from_secs(30),
                cache: None,
                permission: None,
                starts: None,
                roots: None,
            },
            cache: None,
            fingerprint: String::new(),
            wait_timeout: Duration::from_secs(30),
            call_timeout: None,
            is_trusted: false,
            is_enabled: true,
            calls: Arc::default(),
            on_progress: None,
        }
    }

    /// Sets the backoff of restarts. Default: [`RestartPolicy::default`].
    pub fn restart(mut self, policy: RestartPolicy) -> Self {
        self.settings.restart = policy;
        self
    }

    /// Sets the maximum time for starting the server, and for requesting each of its lists. Default 30 s.
    pub fn start_timeout(mut self, timeout: Duration) -> Self {
        self.settings.start_timeout = timeout;
        self
    }

    /// Sets the maximum time that a call waits for a server that is starting. Default 30 s.
    pub fn wait_timeout(mut self, timeout: Duration) -> Self {
        self.wait_timeout = timeout;
        self
    }

    /// Sets the idle timeout of calls. Default: the timeout of the client.
    pub fn call_timeout(mut self, timeout: Duration) -> Self {
        self.call_timeout = Some(timeout);
        self
    }

    /// Sets the cache of the server's lists. Default: no cache. `fingerprint` distinguishes servers with the same name; see
    /// [`ServerConfig::fingerprint`](crate::ServerConfig::fingerprint).
    pub fn list_cache(mut self, cache: ListCache, fingerprint: impl Into<String>) -> Self {
        self.cache = Some(cache);
        self.fingerprint = fingerprint.into();
        self
    }

    /// Trusts the annotations of the server's tools. If a call may have run when its connection ended, and its tool is annotated
    /// as read-only or idempotent, the call is then repeated once on a new connection. Default: the call is not repeated.
    pub fn trusted(mut self) -> Self {
        self.is_trusted = true;
        self
    }

    /// Creates the client without starting the server.
    pub fn disabled(mut self) -> Self {
        self.is_enabled = false;
        self
    }

    /// Calls `handler` with the name of the server, the name of the tool and each progress notification of its calls.
    /// `handler` must not block. Default: progress is not requested.
    pub fn on_progress(
        mut self,
        handler: impl Fn(&str, &str, &Progress) + Send + Sync + 'static,
    ) -> Self {
        self.on_progress = Some(Arc::new(handler));
        self
    }

    /// Sets the permission that is asked before connections and before calls.
    pub(crate) fn permission(mut self, permission: Arc<dyn Permission>) -> Self {
        self.settings.permission = Some(permission);
        self
    }

    /// Sets the counter of running calls.
    pub(crate) fn calls(mut self, calls: Arc<RunningCalls>) -> Self {
        self.calls = calls;
        self
    }

    /// Makes the client declare roots, and notify the server of changes.
    pub(crate) fn roots(mut self, roots: watch::Receiver<Vec<Root>>) -> Self {
        self.settings.roots = Some(roots);
        self
    }

    /// Sets the limit of simultaneous starts, which several servers share.
    pub(crate) fn starts(mut self, permits: Arc<Semaphore>) -> Self {
        self.settings.starts = Some(permits);
        self
    }

    /// Starts the server in the background and returns at once. Must be called within a tokio runtime. Reads the files of the
    /// [cache](Self::list_cache) before it returns.
    pub fn start(mut self) -> SupervisedClient {
        let key = format!("{}\0{}", self.name, self.fingerprint);
        self.settings.cache = self.cache.map(|cache| ServerCache::new(cache, key));
        let published = Arc::new(Published {
            state: watch::Sender::new(match self.is_enabled {
                true => ServerState::Starting,
                false => ServerState::Off,
            }),
            client: watch::Sender::new(None),
            closing: watch::Sender::new(None),
            lists: Lists::new(self.settings.cache.as_ref()),
            stderr: StderrLog::default(),
        });
        let (goal, receiver) = watch::channel(Goal {
            is_running: self.is_enabled,
        });
        let permission = self.settings.permission.clone();
        tokio::spawn(task::run(Arc::clone(&published), self.settings, receiver));
        SupervisedClient(Arc::new(Handle {
            name: self.name.into(),
            published,
            goal,
            wait_timeout: self.wait_timeout,
            call_timeout: self.call_timeout,
            is_trusted: self.is_trusted,
            permission,
            calls: self.calls,
            on_progress: self.on_progress,
        }))
    }
}

impl fmt::Debug for SupervisedBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SupervisedBuilder")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
