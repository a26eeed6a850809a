//! A background task that keeps one server connected.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_client::{ChangedList, Client, ClientBuilder, Error, ErrorCode, Root};
use mcp_jsonrpc::quote;
use mcp_protocol::{LogLimit, lock};
use mcp_skills::{Error as SkillsError, RemoteSkills, SkillEntry};
use serde::Serialize;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::catalog::{self, ItemList, Lists, MAX_LIST_BYTES, MAX_SKILLS_BYTES, ServerCache};
use super::connector::{AnyTransport, Connector};
use super::permission::Permission;
use super::restart::{Failures, RestartPolicy, random};
use super::state::ServerState;
use super::stderr::StderrLog;
use crate::text::{one_line, printable};

/// Time after which a server that is still starting no longer counts against the limit of simultaneous starts. A server that does
/// not respond must not delay the other servers.
const START_TURN: Duration = Duration::from_millis(100);

/// Delay between a change notification and the request for the list.
const CHANGE_DELAY: Duration = Duration::from_millis(50);

/// Maximum number of characters that the log shows of an error of a list or skill.
const MAX_SHOWN: usize = 300;

/// The state that the application wants.
#[derive(Debug, Clone, Copy)]
pub(super) struct Goal {
    pub(super) is_running: bool,
}

/// The state that the background task shares with its handles.
#[derive(Debug)]
pub(super) struct Published {
    pub(super) state: watch::Sender<ServerState>,
    pub(super) client: watch::Sender<Option<Client>>,
    /// The connection that must be closed before a restart.
    pub(super) closing: watch::Sender<Option<Client>>,
    pub(super) lists: Lists,
    pub(super) stderr: StderrLog,
}

pub(super) struct Settings {
    pub(super) connector: Arc<dyn Connector>,
    pub(super) client: ClientBuilder,
    pub(super) restart: RestartPolicy,
    pub(super) start_timeout: Duration,
    pub(super) cache: Option<ServerCache>,
    /// Decides whether the host may connect and call tools; `None` allows everything.
    pub(super) permission: Option<Arc<dyn Permission>>,
    /// The permits for simultaneous starts; `None` without a limit.
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

/// Runs the task until all handles are dropped.
pub(super) async fn run(
    published: Arc<Published>,
    settings: Settings,
    mut goal: watch::Receiver<Goal>,
) {
    let mut failures = Failures::default();
    // A permission to connect is valid until the application stops or restarts the server.
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
            published.lists.mark_stale();
            pause(&published, &settings, &mut failures, ended).await;
        };
        let changed = tokio::select! {
            () = attempt => continue,
            changed = goal.changed() => changed,
        };
        let client = published.client.send_replace(None);
        let client = published.closing.send_replace(None).or(client);
        published.lists.mark_stale();
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

/// Asks the permission whether the host may connect.
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

/// Connects, and completes when the connection has ended.
async fn connected(published: &Published, settings: &Settings) -> Ended {
    published.state.send_replace(ServerState::Starting);
    let changed = Arc::new(Changed::default());
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

/// The lists that have changed since they were requested.
#[derive(Default)]
struct Changed {
    tools: Notify,
    prompts: Notify,
    resources: Notify,
    templates: Notify,
    skills: Notify,
}

impl Changed {
    fn notify(&self, list: ChangedList) {
        match list {
            ChangedList::Tools => self.tools.notify_one(),
            ChangedList::Prompts => self.prompts.notify_one(),
            ChangedList::Resources => {
                self.resources.notify_one();
                self.templates.notify_one();
                // The files of skills are resources, and there is no change notification for skills.
                self.skills.notify_one();
            }
            _ => {}
        }
    }
}

/// Requests all lists at once. Requests a list again after a change and after a failure.
async fn keep_listed(
    published: &Published,
    settings: &Settings,
    client: &Client,
    changed: &Changed,
) -> Infallible {
    let lists = &published.lists;
    lists.begin();
    let keeper = Keeper {
        settings,
        pending: &lists.pending,
        rejected: Mutex::default(),
        failures: LogLimit::default(),
    };
    // If the tools cannot be listed, the server stays connected, but a call may be denied.
    let tools_listed = |failure: Option<String>| {
        published.state.send_replace(match failure {
            None => ServerState::Ready,
            Some(reason) => ServerState::Degraded {
                reason: reason.into(),
            },
        });
    };
    let failed = |failure: Option<String>| keeper.report(failure);
    let (never, ..) = tokio::join!(
        keeper.keep(
            catalog::TOOLS,
            &lists.tools,
            &changed.tools,
            || keeper.request(catalog::TOOLS, client.list_tools()),
            tools_listed
        ),
        keeper.keep(
            catalog::PROMPTS,
            &lists.prompts,
            &changed.prompts,
            || keeper.request(catalog::PROMPTS, client.list_prompts()),
            failed
        ),
        keeper.keep(
            catalog::RESOURCES,
            &lists.resources,
            &changed.resources,
            || keeper.request(catalog::RESOURCES, client.list_resources()),
            failed
        ),
        keeper.keep(
            catalog::TEMPLATES,
            &lists.templates,
            &changed.templates,
            || keeper.request(catalog::TEMPLATES, client.list_resource_templates()),
            failed
        ),
        keeper.keep(
            catalog::SKILLS,
            &lists.skills,
            &changed.skills,
            || keeper.request_skills(client),
            failed
        ),
    );
    never
}

/// The state that is needed to keep the lists of one connection up to date.
struct Keeper<'a> {
    settings: &'a Settings,
    pending: &'a watch::Sender<usize>,
    /// The last warning about skills that were left out.
    rejected: Mutex<String>,
    /// Limits the number of log messages about lists that are not up to date.
    failures: LogLimit,
}

impl Keeper<'_> {
    /// Logs why a list is not up to date.
    fn report(&self, failure: Option<String>) {
        if let Some(reason) = failure
            && let Some(omitted) = self.failures.admit(std::time::Instant::now())
        {
            // The reason can contain text from the server.
            let reason = quote(&reason, MAX_SHOWN);
            tracing::warn!(%reason, omitted, "a list of a server is not up to date");
        }
    }

    /// Keeps one list up to date. Calls `listed` with the reason of each failure, and with `None` after each success.
    async fn keep<T, F>(
        &self,
        kind: &'static str,
        list: &watch::Sender<ItemList<T>>,
        changed: &Notify,
        request: impl Fn() -> F,
        listed: impl Fn(Option<String>),
    ) -> Infallible
    where
        T: Serialize + PartialEq + Send + Sync + 'static,
        F: Future<Output = Result<Vec<T>, String>>,
    {
        let (mut failures, mut is_first, mut number) = (0_u32, true, 0_u64);
        loop {
            let requested = request().await;
            let is_listed = requested.is_ok();
            match requested {
                Ok(items) => {
                    let items = ItemList::fresh(items);
                    let is_known = list.borrow().items == items.items;
                    list.send_replace(items.clone());
                    if !is_known {
                        number += 1;
                        self.store(kind, number, items);
                    }
                    listed(None);
                }
                Err(reason) => {
                    list.send_modify(|list| list.is_stale = true);
                    listed(Some(reason));
                }
            }
            if std::mem::take(&mut is_first) {
                self.pending.send_modify(|pending| *pending -= 1);
            }
            let retry = async {
                match is_listed {
                    true => std::future::pending().await,
                    false => sleep(self.settings.restart.wait(failures, random())).await,
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

    /// Requests a list. If the server does not offer the list, the result is empty.
    async fn request<T>(
        &self,
        kind: &str,
        request: impl IntoFuture<Output = Result<Vec<T>, Error>>,
    ) -> Result<Vec<T>, String> {
        match self.in_time(kind, request.into_future()).await? {
            Ok(items) => Ok(items),
            Err(Error::Unsupported { .. }) => Ok(Vec::new()),
            // Some servers declare a feature and do not have all of its methods.
            Err(Error::Rejected(error))
                if error.code == ErrorCode::METHOD_NOT_FOUND && kind != catalog::TOOLS =>
            {
                Ok(Vec::new())
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// Requests the skills. Leaves out skills that do not follow the specification.
    async fn request_skills(&self, client: &Client) -> Result<Vec<SkillEntry>, String> {
        let Ok(skills) = RemoteSkills::new(client) else {
            return Ok(Vec::new());
        };
        let skills = skills.max_list_bytes(MAX_SKILLS_BYTES);
        let list = match self.in_time(catalog::SKILLS, skills.list()).await? {
            Ok(list) => list,
            Err(SkillsError::Client(Error::Rejected(error)))
                if error.code == ErrorCode::METHOD_NOT_FOUND =>
            {
                return Ok(Vec::new());
            }
            Err(error) => return Err(error.to_string()),
        };
        if let Some(first) = list.rejected.first() {
            let error: String = first.error.to_string().chars().take(MAX_SHOWN).collect();
            let (count, error) = (list.rejected.len(), printable(&error));
            let warning =
                format!("{count} skill(s) of a server are left out; the first error: {error}");
            // Logs the same warning only once, not after each change of the resources.
            let mut last = lock(&self.rejected);
            if *last != warning {
                tracing::warn!("{}", one_line(&warning));
                *last = warning;
            }
        }
        Ok(list.skills)
    }

    async fn in_time<T>(&self, kind: &str, list: impl Future<Output = T>) -> Result<T, String> {
        let start_timeout = self.settings.start_timeout;
        let listed = timeout(start_timeout, list).await;
        listed.map_err(|_| {
            let kind = match kind {
                catalog::TOOLS => "tools",
                kind => kind,
            };
            format!("the server did not return its list of {kind} within {start_timeout:?} (start_timeout)")
        })
    }

    fn store<T: Serialize + Send + Sync + 'static>(
        &self,
        kind: &'static str,
        number: u64,
        list: ItemList<T>,
    ) {
        let Some(cache) = self.settings.cache.clone() else {
            return;
        };
        tokio::task::spawn_blocking(move || {
            if let Err(error) = cache.store(kind, number, &list.items) {
                tracing::warn!(%error, "a list of a server cannot be cached");
            }
        });
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
    changed: &Arc<Changed>,
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
        .max_list_bytes(MAX_LIST_BYTES)
        .on_change(move |list| changed.notify(list));
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
