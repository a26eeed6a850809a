//! One server of a gateway, and its connection attempts.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{InvalidServer, Outcome, Reply, Revision, lock};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use super::access::{Item, ItemKind};
use super::record::ClientRequest;
use super::state::State;
use crate::catalog::{Catalog, Transform};
use crate::changes::Changes;
use crate::core::Core;
use crate::parked::Cluster;
use crate::proxy::Proxy;
use crate::shared::MAX_RECONNECT_WAIT;
use crate::upstream::Upstream;
use crate::upstream::unavailable;

/// Maximum length of the name of a mount, in bytes. A tool name at the gateway that is too long is truncated after this prefix,
/// and a hash is appended.
const MAX_NAME: usize = 32;
/// Backoff after the first failed attempt to connect. The backoff doubles after each further failure, up to [`MAX_BACKOFF`].
const INITIAL_BACKOFF: Duration = Duration::from_millis(100);
/// Maximum backoff between attempts to connect.
const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// A server for a [`Gateway`](super::Gateway), and its settings.
#[derive(Debug)]
pub struct Mount {
    upstream: Upstream,
    transform: Transform,
    is_required: bool,
}

impl From<Upstream> for Mount {
    fn from(upstream: Upstream) -> Self {
        Self::new(upstream)
    }
}

impl Mount {
    /// Creates a mount that does not change the tools.
    pub fn new(upstream: Upstream) -> Self {
        Self {
            upstream,
            transform: Transform::new(),
            is_required: false,
        }
    }

    /// Sets the changes to the server's tools.
    #[must_use]
    pub fn transform(mut self, transform: Transform) -> Self {
        self.transform = transform;
        self
    }

    /// Makes the server necessary for [`Gateway::is_ready`](super::Gateway::is_ready).
    #[must_use]
    pub fn required(mut self) -> Self {
        self.is_required = true;
        self
    }
}

/// The state of a mount.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MountStatus {
    /// The name of the mount.
    pub name: String,
    /// Whether the last attempt to connect succeeded. A connection that is not in use may be closed.
    pub is_connected: bool,
    /// Whether [`Gateway::is_ready`](super::Gateway::is_ready) requires this server.
    pub is_required: bool,
    /// The error of the last attempt to connect, if it failed. It can contain the last lines of the server's stderr.
    pub error: Option<String>,
    /// The error of the last attempt to connect to the server that will replace this server. Until an attempt succeeds, this
    /// server is used.
    pub replacement_error: Option<String>,
    /// The revision that the gateway uses with the server. `None` if no attempt to connect has succeeded so far.
    pub revision: Option<Revision>,
    /// Number of open connections to the server.
    pub connections: usize,
    /// Number of calls that wait for input of a stateless client.
    pub parked_calls: usize,
    /// Number of tools that the server has listed.
    pub tools: usize,
    /// Number of prompts that the server has listed.
    pub prompts: usize,
    /// Number of resources that the server has listed.
    pub resources: usize,
}

/// A mounted server.
pub(crate) struct MountedServer {
    pub(super) name: Arc<str>,
    pub(super) catalog: Arc<Catalog>,
    upstream: Arc<Upstream>,
    is_required: AtomicBool,
    connected: Mutex<Connected>,
    /// The task that connects to the server.
    connecting: Mutex<Option<AbortHandle>>,
    /// Whether the first attempt to connect has ended.
    attempted: watch::Sender<bool>,
    /// Whether the server responded to the last readiness check.
    pub(super) responds: Flag,
    /// Whether the server lists a URI to which the rules cannot be applied.
    pub(super) has_ambiguous: Flag,
}

/// A shared flag. Setting it returns whether the value has changed.
pub(super) struct Flag(AtomicBool);

impl Flag {
    /// Sets the value. Returns whether it has changed.
    pub(super) fn replace(&self, value: bool) -> bool {
        self.0.swap(value, Ordering::AcqRel) != value
    }
}

/// The proxy after the first successful attempt to connect; before that, the last error.
#[derive(Default)]
struct Connected {
    proxy: Option<Proxy>,
    error: Option<String>,
}

impl MountedServer {
    /// Creates a mounted server, which is not connected yet.
    ///
    /// # Errors
    /// The name or the transform is not valid.
    pub(super) fn new(
        name: &str,
        mut mount: Mount,
        cluster: Option<&Cluster>,
    ) -> Result<Arc<Self>, InvalidServer> {
        check_mount(name, &mount.transform)?;
        mount.upstream.cluster = mount.upstream.cluster.or_else(|| cluster.cloned());
        let name: Arc<str> = name.into();
        let catalog = Catalog::new(Arc::clone(&name), mount.transform)
            .with_accounts(mount.upstream.has_accounts());
        Ok(Arc::new(Self {
            catalog: Arc::new(catalog),
            name,
            upstream: Arc::new(mount.upstream),
            is_required: AtomicBool::new(mount.is_required),
            connected: Mutex::default(),
            connecting: Mutex::default(),
            attempted: watch::Sender::new(false),
            responds: Flag(AtomicBool::new(true)),
            has_ambiguous: Flag(AtomicBool::new(false)),
        }))
    }

    /// Creates the description of an item of the server to which rules are applied.
    pub(super) fn item<'a>(&'a self, kind: ItemKind, name: &'a str) -> Item<'a> {
        let mount = &*self.name;
        Item { kind, mount, name }
    }

    /// Returns the proxy; `None` if no attempt to connect has succeeded so far.
    pub(super) fn proxy(&self) -> Option<Proxy> {
        lock(&self.connected).proxy.clone()
    }

    /// Returns the proxy.
    ///
    /// # Errors
    /// No attempt to connect has succeeded so far.
    pub(super) fn connected(&self) -> Result<Proxy, ErrorObject> {
        let connected = lock(&self.connected);
        connected.proxy.clone().ok_or_else(|| {
            // The error can have paths of this machine, so only the operator sees it.
            let reason = match connected.error {
                Some(_) => "the log of the gateway has the reason",
                None => "it is being started; try again later",
            };
            let name = &*self.name;
            unavailable(
                name,
                format!("the server {name:?} cannot be reached; {reason}"),
            )
        })
    }

    /// Returns the proxy. If the first attempt to connect is still running, waits for the attempt, up to a time limit.
    ///
    /// # Errors
    /// The same as for [`connected`](Self::connected).
    pub(super) async fn ready(&self) -> Result<Proxy, ErrorObject> {
        if self.proxy().is_none() {
            // The error of `connected` says that the server is being started.
            let _ = timeout(MAX_RECONNECT_WAIT, self.settled()).await;
        }
        self.connected()
    }

    /// Serves a request as soon as the server is connected.
    pub(super) fn serve(
        self: Arc<Self>,
        name: &'static str,
        params: &str,
        context: ClientRequest,
    ) -> Reply {
        let context = context.context;
        if let Some(proxy) = self.proxy() {
            return proxy.serve(name, Some(params), context);
        }
        let params = params.to_owned();
        Reply::Pending(Box::pin(async move {
            let proxy = self.ready().await?;
            outcome_of(proxy.serve(name, Some(&params), context)).await
        }))
    }

    /// Completes when the first attempt to connect has ended.
    pub(super) async fn settled(&self) {
        // The sender is in `self`.
        let _ = self
            .attempted
            .subscribe()
            .wait_for(|is_done| *is_done)
            .await;
    }

    pub(super) fn is_settled(&self) -> bool {
        *self.attempted.borrow()
    }

    pub(super) fn is_required(&self) -> bool {
        self.is_required.load(Ordering::Relaxed)
    }

    /// Replaces the settings that do not need a new connection.
    pub(super) fn adjust(&self, transform: Transform, is_required: bool, call_timeout: Duration) {
        self.catalog.set_transform(transform);
        self.is_required.store(is_required, Ordering::Relaxed);
        self.upstream.set_call_timeout(call_timeout);
    }

    pub(super) fn status(&self) -> MountStatus {
        let (tools, prompts, resources) = self.catalog.counts();
        let connected = lock(&self.connected);
        let core = connected.proxy.as_ref().map(|proxy| &proxy.core);
        let (connections, parked_calls) = core.map_or((0, 0), |core| core.load());
        let is_connected = core.is_some_and(|core| !core.shared.is_failing.load(Ordering::Acquire));
        MountStatus {
            name: self.name.as_ref().to_owned(),
            is_connected,
            is_required: self.is_required(),
            error: (connected.error.clone()).or_else(|| core?.shared.last_error()),
            replacement_error: None,
            revision: core.map(|core| core.shared.known().revision),
            connections,
            parked_calls,
            tools,
            prompts,
            resources,
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        !self.is_required() || self.status().is_connected
    }

    /// Connects in the background, until an attempt succeeds.
    pub(super) fn connect(self: &Arc<Self>, state: &Arc<State>) {
        let attempts = Attempts {
            server: Arc::downgrade(self),
            state: Arc::downgrade(state),
            changes: Arc::clone(&state.changes),
            upstream: Arc::clone(&self.upstream),
            catalog: Arc::clone(&self.catalog),
        };
        let task = tokio::spawn(attempts.run()).abort_handle();
        if let Some(earlier) = lock(&self.connecting).replace(task) {
            earlier.abort();
        }
    }

    pub(super) fn stop_connecting(&self) {
        if let Some(task) = lock(&self.connecting).take() {
            task.abort();
        }
        self.attempted.send_replace(true);
    }
}

/// Waits for the result of a request to a proxy.
pub(super) async fn outcome_of(reply: Reply) -> Outcome {
    match reply {
        Reply::Ready(outcome) => outcome,
        Reply::Pending(handler) => handler.await,
        _ => Err(ErrorObject::internal("a proxy has no blocking handlers")),
    }
}

impl Drop for MountedServer {
    fn drop(&mut self) {
        self.stop_connecting();
    }
}

/// The attempts to connect until the first success. After that, the proxy connects again when a request needs it.
struct Attempts {
    server: Weak<MountedServer>,
    state: Weak<State>,
    changes: Arc<Changes>,
    upstream: Arc<Upstream>,
    catalog: Arc<Catalog>,
}

impl Attempts {
    async fn run(self) {
        let mut wait = INITIAL_BACKOFF;
        loop {
            let (upstream, changes) = (Arc::clone(&self.upstream), Arc::clone(&self.changes));
            let catalog = Arc::clone(&self.catalog);
            let opened = Core::connect(upstream, changes, Some(catalog)).await;
            let (Some(server), Some(state)) = (self.server.upgrade(), self.state.upgrade()) else {
                return;
            };
            match opened {
                Ok(core) => {
                    *lock(&server.connected) = Connected {
                        proxy: Some(Proxy::of(core)),
                        error: None,
                    };
                    tracing::info!(mount = %server.name, "the server is connected");
                    if let Some(replaced) = state.replace(&server) {
                        state.retire(&replaced);
                    }
                    server.attempted.send_replace(true);
                    state.mounts_changed();
                    return;
                }
                Err(error) => {
                    tracing::warn!(mount = %server.name, %error, "the server cannot be reached");
                    lock(&server.connected).error = Some(error.to_string());
                    server.attempted.send_replace(true);
                }
            }
            drop((server, state));
            sleep(with_jitter(wait)).await;
            wait = MAX_BACKOFF.min(wait * 2);
        }
    }
}

/// Returns a random duration from 75 % to 125 % of a delay, so that several gateways do not connect at the same moment.
fn with_jitter(wait: Duration) -> Duration {
    let mut random = [128];
    // Without random bytes there is no jitter.
    let _ = getrandom::fill(&mut random);
    wait * (384 + u32::from(random[0])) / 512
}

/// Checks the name and the transform of a mount.
pub(crate) fn check_mount(name: &str, transform: &Transform) -> Result<(), InvalidServer> {
    check_name(name)?;
    transform
        .check()
        .map_err(|problem| InvalidServer::new(format!("mount {name:?}: {problem}")))
}

fn check_name(name: &str) -> Result<(), InvalidServer> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_allowed) {
        return Err(InvalidServer::new(format!(
            "the mount name {name:?} (\"namespace\" in a file) must have 1 to {MAX_NAME} letters, digits, '_' or '-'"
        )));
    }
    if name.contains("__") || name.ends_with('_') {
        return Err(InvalidServer::new(format!(
            "the mount name {name:?} must not contain \"__\" or end with '_': \"__\" separates it from the names of tools"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_mounts_are_short_and_without_double_underscores() {
        for valid in ["git", "a_b", "x-1", "_a"] {
            assert!(check_name(valid).is_ok(), "{valid}");
        }
        let long = "x".repeat(33);
        for invalid in ["", "a__b", "a_", "a.b", "é", "a b", &long] {
            assert!(check_name(invalid).is_err(), "{invalid}");
        }
    }

    #[test]
    fn the_jitter_of_connection_attempts_is_limited() {
        let wait = Duration::from_secs(4);
        for _ in 0..100 {
            let random = with_jitter(wait);
            assert!(
                random >= wait * 3 / 4 && random <= wait * 5 / 4,
                "{random:?}"
            );
        }
    }
}
