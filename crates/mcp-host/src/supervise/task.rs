//! The task that keeps one server connected.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use mcp_client::{Client, ClientBuilder, Error, Root};
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::catalog::{MAX_CATALOG_BYTES, ToolList, ToolListCache};
use super::connector::{AnyTransport, Connector};
use super::permission::Permission;
use super::restart::{Failures, RestartPolicy, random};
use super::state::ServerState;
use super::stderr::StderrLog;

/// How long a starting server counts against the limit of simultaneous starts. A server that does
/// not answer must not delay the others.
const START_TURN: Duration = Duration::from_millis(100);

/// Delay before the tools are listed again after a change notification.
const CHANGE_DELAY: Duration = Duration::from_millis(50);

/// The state that the application has requested.
#[derive(Debug, Clone, Copy)]
pub(super) struct Goal {
    pub(super) is_running: bool,
}

/// The state that the task shares with its handles.
#[derive(Debug)]
pub(super) struct Published {
    pub(super) state: watch::Sender<ServerState>,
    pub(super) client: watch::Sender<Option<Client>>,
    /// The connection before a restart.
    pub(super) closing: watch::Sender<Option<Client>>,
    pub(super) tools: watch::Sender<ToolList>,
    pub(super) stderr: StderrLog,
}

pub(super) struct Settings {
    pub(super) connector: Arc<dyn Connector>,
    pub(super) client: ClientBuilder,
    pub(super) restart: RestartPolicy,
    pub(super) start_timeout: Duration,
    /// The cache, and the key of this server.
    pub(super) cache: Option<(ToolListCache, String)>,
    /// Decides whether the host may connect and call tools; `None` allows everything.
    pub(super) permission: Option<Arc<dyn Permission>>,
    /// Permits of simultaneous starts.
    pub(super) starts: Option<Arc<Semaphore>>,
    /// The roots of the server, if the host has roots.
    pub(super) roots: Option<watch::Receiver<Vec<Root>>>,
}

/// The reason why a connection ended or failed.
struct Ended {
    reason: String,
    lasted: Duration,
    /// Whether another attempt would fail in the same way.
    is_final: bool,
}

impl Ended {
    fn failed(reason: String) -> Self {
        Self {
            reason,
            lasted: Duration::ZERO,
            is_final: false,
        }
    }
}

/// Runs until all handles are dropped.
pub(super) async fn run(
    published: Arc<Published>,
    settings: Settings,
    mut goal: watch::Receiver<Goal>,
) {
    let mut failures = Failures::default();
    // Until the application stops or restarts the server.
    let mut is_permitted = false;
    loop {
        if !goal.borrow_and_update().is_running {
            published.state.send_replace(ServerState::Off);
            if goal.changed().await.is_err() {
                return;
            }
            continue;
        }
        let attempt = async {
            let ended = match permit(&published, &settings, &mut is_permitted).await {
                Ok(()) => connected(&published, &settings).await,
                Err(ended) => ended,
            };
            published.client.send_replace(None);
            published.tools.send_modify(|list| list.is_stale = true);
            pause(&published, &settings, &mut failures, ended).await;
        };
        let changed = tokio::select! {
            () = attempt => continue,
            changed = goal.changed() => changed,
        };
        let client = published.client.send_replace(None);
        let client = published.closing.send_replace(None).or(client);
        published.tools.send_modify(|list| list.is_stale = true);
        failures = Failures::default();
        is_permitted = false;
        if changed.is_err() {
            return;
        }
        if let Some(client) = client {
            // A transport that cannot close gracefully is closed in any case.
            let _ = client.close().await;
        }
    }
}

/// Waits until the server may be started again.
async fn pause(published: &Published, settings: &Settings, failures: &mut Failures, ended: Ended) {
    let now = Instant::now();
    let reason: Arc<str> = ended.reason.into();
    let wait = match ended.is_final {
        true => None,
        false => failures.wait(&settings.restart, now, ended.lasted, random()),
    };
    match wait {
        Some(wait) => {
            let until = now + wait;
            published.state.send_replace(ServerState::Backoff {
                until: until.into_std(),
                reason,
            });
            sleep_until(until).await;
        }
        None => {
            published.state.send_replace(ServerState::Failed { reason });
            std::future::pending().await
        }
    }
}

/// Asks whether the host may connect.
async fn permit(
    published: &Published,
    settings: &Settings,
    is_permitted: &mut bool,
) -> Result<(), Ended> {
    let Some(permission) = settings.permission.as_ref().filter(|_| !*is_permitted) else {
        return Ok(());
    };
    let before_ask = || {
        published.state.send_replace(ServerState::NeedsConsent);
    };
    let permitted = permission.connect(&before_ask).await;
    permitted.map_err(|reason| Ended {
        is_final: true,
        ..Ended::failed(reason)
    })?;
    *is_permitted = true;
    Ok(())
}

/// Connects and stays until the connection ends.
async fn connected(published: &Published, settings: &Settings) -> Ended {
    published.state.send_replace(ServerState::Starting);
    let changed = Arc::new(Notify::new());
    let mut roots = settings.roots.clone();
    let client = match connect(published, settings, &changed, &mut roots).await {
        Ok(client) => client,
        Err(ended) => return ended,
    };
    let since = Instant::now();
    published.client.send_replace(Some(client.clone()));
    let closed = async {
        let reason = client.closed().await.to_string();
        Ended {
            reason,
            lasted: since.elapsed(),
            is_final: false,
        }
    };
    tokio::select! {
        ended = closed => ended,
        never = keep_listed(published, settings, &client, &changed) => match never {},
        never = announce(&client, roots) => match never {},
    }
}

/// Lists the tools now, after each change, and again after a failure.
async fn keep_listed(
    published: &Published,
    settings: &Settings,
    client: &Client,
    changed: &Notify,
) -> Infallible {
    let mut failures = 0_u32;
    loop {
        let state = list(published, settings, client).await;
        let is_listed = state == ServerState::Ready;
        published.state.send_replace(state);
        let retry = async {
            match is_listed {
                true => std::future::pending().await,
                false => sleep(settings.restart.wait(failures, random())).await,
            }
        };
        tokio::select! {
            () = changed.notified() => sleep(CHANGE_DELAY).await,
            () = retry => {}
        }
        failures = match is_listed {
            true => 0,
            false => failures.saturating_add(1),
        };
    }
}

/// Notifies the server of changes of its roots.
async fn announce(client: &Client, roots: Option<watch::Receiver<Vec<Root>>>) -> Infallible {
    if let Some(mut roots) = roots {
        while roots.changed().await.is_ok() {
            let list = roots.borrow_and_update().clone();
            if let Err(error) = client.set_roots(list) {
                tracing::warn!(%error, "the roots of a server cannot be changed");
            }
        }
    }
    std::future::pending().await
}

async fn connect(
    published: &Published,
    settings: &Settings,
    changed: &Arc<Notify>,
    roots: &mut Option<watch::Receiver<Vec<Root>>>,
) -> Result<Client, Ended> {
    let permit = match &settings.starts {
        Some(starts) => Arc::clone(starts).acquire_owned().await.ok(),
        None => None,
    };
    let transport = settings.connector.transport(&published.stderr);
    let transport = transport.map_err(|error| Ended {
        is_final: true,
        ..Ended::failed(error.to_string())
    })?;
    let changed = Arc::clone(changed);
    let mut client = settings.client.clone();
    if let Some(roots) = roots {
        client = client.roots(roots.borrow_and_update().clone());
    }
    let client = client
        .connect_timeout(settings.start_timeout)
        .max_list_bytes(MAX_CATALOG_BYTES)
        .on_change(move |_| changed.notify_one());
    let mut connecting = pin!(client.connect(AnyTransport(transport)));
    let connected = match timeout(START_TURN, &mut connecting).await {
        Ok(connected) => connected,
        Err(_) => {
            drop(permit);
            connecting.await
        }
    };
    connected.map_err(|error| Ended::failed(error.to_string()))
}

/// Lists the tools, publishes and stores them. Returns the new state.
async fn list(published: &Published, settings: &Settings, client: &Client) -> ServerState {
    let listed = match timeout(settings.start_timeout, client.list_tools()).await {
        Ok(Ok(tools)) => Ok(tools),
        Ok(Err(Error::Unsupported { .. })) => Ok(Vec::new()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!(
            "no tool list within {:?} (start_timeout)",
            settings.start_timeout
        )),
    };
    let tools = match listed {
        Ok(tools) => ToolList::fresh(tools),
        Err(reason) => {
            published.tools.send_modify(|list| list.is_stale = true);
            let reason = reason.into();
            return ServerState::Degraded { reason };
        }
    };
    published.tools.send_replace(tools.clone());
    if let Some((cache, key)) = settings.cache.clone() {
        let store = move || cache.store(&key, &tools.tools);
        tokio::task::spawn_blocking(move || {
            if let Err(error) = store() {
                tracing::warn!(%error, "the tools of a server cannot be cached");
            }
        });
    }
    ServerState::Ready
}
