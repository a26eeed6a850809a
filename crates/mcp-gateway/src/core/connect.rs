//! Opens, watches and closes the shared connection.

use std::future::pending;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use mcp_client::{ChangedList, Error, KnownVersion, Negotiation, Revision};
use mcp_jsonrpc::ErrorObject;
use mcp_protocol::Principal;
use tokio::sync::{OwnedMutexGuard, oneshot};
use tokio::time::{Instant, sleep_until, timeout};

use super::Core;
use super::readiness::RESPONSE_TIMEOUT;
use crate::caller::Routes;
use crate::changes::notification;
use crate::connection::{InUse, OnChange, UpstreamConnection, unreachable};
use crate::debounce::Debounce;
use crate::pool::NewestConnection;
use crate::shared::{Failures, KnownServer, MAX_RECONNECT_WAIT, header_params};
use crate::upstream::unavailable;

/// Backoff after the first failed attempt to connect. The backoff doubles after each further failure, up to [`MAX_BACKOFF`].
const INITIAL_BACKOFF: Duration = Duration::from_millis(100);
/// Maximum backoff between attempts to connect.
const MAX_BACKOFF: Duration = Duration::from_secs(30);
/// Maximum time that a check waits for a response on the connection of a client. The check then opens a new connection.
const CLIENT_CONNECTION_TIMEOUT: Duration = Duration::from_millis(500);
/// Maximum time that requests wait for the lists of a server that is connected again. Until the lists are known, the lists of the
/// previous connection are used.
const MAX_LEARN_WAIT: Duration = Duration::from_secs(5);
/// Maximum time for all lists of a server that is connected again.
const MAX_LEARN_TIME: Duration = Duration::from_secs(60);
/// Maximum time since the last response of the server in which a connection that is being opened counts as usable. Otherwise, the
/// attempts of clients to connect would hide that the server does not respond.
const MAX_SILENCE: Duration = Duration::from_secs(30);
/// Maximum time that the gateway waits for a server to end before it starts the program again.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

impl Core {
    /// Opens a connection for requests of several clients.
    pub(crate) async fn open_shared(
        &self,
        version: (Revision, Negotiation),
        on_change: OnChange,
    ) -> Result<InUse, Error> {
        let permit = self.connections.permit(&self.upstream, None, true);
        let permit = permit.await.map_err(Error::Rejected)?;
        let routes = Routes::new(None);
        let upstream = &self.upstream;
        let transport = upstream.transport(None)?;
        UpstreamConnection::open(
            upstream,
            transport,
            None,
            version,
            routes,
            Some(on_change),
            permit,
        )
        .await
    }

    /// Returns the shared connection. If it has ended, opens a new connection. While the returned [`InUse`] exists, the
    /// connection is not closed as unused.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub(crate) async fn shared(self: &Arc<Self>) -> Result<InUse, ErrorObject> {
        match self.shared.in_use() {
            Some(connection) => Ok(connection),
            // Boxed because it is rare: the future of a request is as large as its largest branch.
            None => Box::pin(self.open_shared_again()).await,
        }
    }

    async fn open_shared_again(self: &Arc<Self>) -> Result<InUse, ErrorObject> {
        let failures = Arc::clone(&self.shared.connecting).lock_owned().await;
        if let Some(connection) = self.shared.in_use() {
            return Ok(connection);
        }
        let server = &*self.upstream.name;
        if let Some(at) = failures.not_before {
            let wait = at.saturating_duration_since(Instant::now());
            if wait > MAX_RECONNECT_WAIT {
                let text = format!(
                    "the server {server:?} cannot be reached; the next attempt is in {wait:.1?}"
                );
                return Err(unavailable(server, text));
            }
            sleep_until(at).await;
        }
        let core = Arc::clone(self);
        // The clients are notified when the lists are known.
        let opening = async move { core.open_locked(failures).await };
        self.detached(opening, pending(), || {}).await
    }

    /// Opens a connection in a task. If the request that needs the connection ends first, for example at its deadline, the program
    /// continues to start, and the next request uses it. When the connection is then open, calls `on_late`. The attempt is aborted
    /// if no request can use the connection any more: `ended` has completed, or the server was removed from the gateway. If
    /// connections have accounts of users, removing the server aborts the attempt even if a request waits for it.
    pub(super) async fn detached<T: Send + 'static>(
        &self,
        opening: impl Future<Output = Result<T, ErrorObject>> + Send + 'static,
        ended: impl Future<Output = ()> + Send + 'static,
        on_late: impl FnOnce() + Send + 'static,
    ) -> Result<T, ErrorObject> {
        let (mut sender, receiver) = oneshot::channel();
        let mut closing = self.closing.subscribe();
        let has_accounts = self.upstream.has_accounts();
        tokio::spawn(async move {
            let is_useless = async {
                tokio::select! {
                    _ = closing.wait_for(|is_closing| *is_closing) => {
                        if has_accounts {
                            return;
                        }
                    }
                    () = ended => {}
                }
                sender.closed().await;
            };
            let opened = tokio::select! {
                opened = opening => opened,
                () = is_useless => return,
            };
            let is_open = opened.is_ok();
            if sender.send(opened).is_err() && is_open {
                on_late();
            }
        });
        receiver.await.unwrap_or_else(|_| {
            let server = &*self.upstream.name;
            let text = format!("the attempt to connect to the server {server:?} was aborted");
            Err(unavailable(server, text))
        })
    }

    /// Opens the shared connection while its lock is held.
    async fn open_locked(
        self: &Arc<Self>,
        mut failures: OwnedMutexGuard<Failures>,
    ) -> Result<InUse, ErrorObject> {
        let server = &*self.upstream.name;
        let version = self.known_version();
        let opened = self.open_shared(version, Self::on_change(Arc::downgrade(self)));
        match opened.await {
            Ok(connection) => {
                *failures = Failures {
                    in_row: 0,
                    // A server that ends at once is not started again without a wait.
                    not_before: Some(Instant::now() + INITIAL_BACKOFF),
                };
                self.shared.attempted(None);
                if !self.shared.is_released() {
                    tracing::info!(server, "the server is connected again");
                }
                let learning = tokio::spawn(Arc::clone(self).learn_again(Arc::clone(&connection)));
                // A server that does not respond with its lists must not keep all requests waiting.
                let _ = timeout(MAX_LEARN_WAIT, learning).await;
                self.shared.set(&connection);
                self.watch_shared(&connection);
                Ok(connection)
            }
            Err(error) => {
                let wait = INITIAL_BACKOFF.saturating_mul(1 << failures.in_row.min(16));
                failures.in_row += 1;
                self.shared.attempted(Some(error.to_string()));
                failures.not_before = Some(Instant::now() + wait.min(MAX_BACKOFF));
                if failures.in_row == 1 && self.is_wanted() {
                    self.reconnect_after(std::future::ready(()));
                }
                Err(unreachable(server, &error, &self.failures))
            }
        }
    }

    /// Learns the properties of a server that is connected again. Stops if the server was removed from the gateway.
    async fn learn_again(self: Arc<Self>, connection: Arc<UpstreamConnection>) {
        let mut closing = self.closing.subscribe();
        let known = KnownServer::of(&connection.client, self.catalog.as_deref());
        let known = tokio::select! {
            known = timeout(MAX_LEARN_TIME, known) => known.ok(),
            _ = closing.wait_for(|is_closing| *is_closing) => None,
        };
        let current = self.shared.current();
        let is_latest = current.is_none_or(|current| Arc::ptr_eq(&current, &connection));
        if let Some(known) = known.filter(|_| is_latest) {
            self.shared.learn(known);
        }
    }

    /// Checks whether the server responds. Uses the result of the last check if it is at most one second old. Returns the reason
    /// if the server does not respond. The reason contains no text from the server, because unauthenticated clients see it.
    pub(crate) async fn unready(self: &Arc<Self>) -> Option<String> {
        let core = Arc::clone(self);
        self.readiness
            .reason(|| async move { core.check().await })
            .await
    }

    async fn check(self: &Arc<Self>) -> Option<String> {
        let is_failing = self.shared.is_failing.load(Ordering::Acquire);
        // The gateway has closed the shared connection because a client has a separate connection.
        if self.shared.is_released() && !is_failing && self.is_client_connection_usable().await {
            return None;
        }
        let responds = timeout(RESPONSE_TIMEOUT, async {
            let connection = self.shared().await.map_err(|_| "it is not connected")?;
            let response = connection.check().await;
            response.map_err(|error| match error {
                // For example, the server is a proxy whose server has ended.
                Error::Rejected(_) => "it reports that it cannot serve requests",
                // For example, the server has refused the token.
                Error::Transport(error) if !error.is_temporary() => "it does not accept requests",
                _ => "it does not respond",
            })
        });
        let reason = match responds.await {
            Ok(Ok(_)) => {
                self.shared.responded();
                self.readiness.responded();
                return None;
            }
            Ok(Err(reason)) => reason.to_owned(),
            Err(_) => format!("it does not respond within {RESPONSE_TIMEOUT:?}"),
        };
        if !self.shared.is_failing.load(Ordering::Acquire) {
            self.shared.attempted(Some(reason.clone()));
        }
        Some(reason)
    }

    /// Checks the newest connection of a client. Returns `true` if it responds. Also returns `true` if it began to be opened a few
    /// seconds ago and the server has responded recently. Also returns `true` if it
    /// does not respond, but a new connection would close the connection of a client: the process may only be busy with a call.
    /// Returns `false` if no client has a connection.
    async fn is_client_connection_usable(&self) -> bool {
        match self.connections.newest_connection() {
            None => false,
            Some(NewestConnection::Opening) => self.readiness.silence() < MAX_SILENCE,
            Some(NewestConnection::Open(connection)) => {
                let response = timeout(CLIENT_CONNECTION_TIMEOUT, connection.check());
                let responds = matches!(response.await, Ok(Ok(_)));
                if responds {
                    self.readiness.responded();
                }
                responds || !self.connections.has_room(&self.upstream)
            }
        }
    }

    /// Returns the revision and the negotiation for all connections after the first connection.
    pub(crate) fn known_version(&self) -> (Revision, Negotiation) {
        let known = KnownVersion::of(self.shared.known().revision);
        (self.upstream.newest, Negotiation::Prior(known))
    }

    /// Opens the shared connection. If this fails, tries again in the background as long as clients wait for changes.
    pub(crate) async fn keep_shared(self: &Arc<Self>) {
        if self.shared().await.is_err() {
            self.reconnect_after(std::future::ready(()));
        }
    }

    /// Returns whether the connection must be opened again even if there is no request. There are two cases. First, clients wait
    /// for changes. Second, a gateway with several servers reports this server as not connected. While the server is reported as
    /// not connected, it may receive no requests, so no request would open the connection.
    pub(super) fn is_wanted(&self) -> bool {
        let is_reported = self.catalog.is_some() && self.shared.is_failing.load(Ordering::Acquire);
        !*self.closing.borrow() && (is_reported || self.changes.has_subscriptions())
    }

    /// Opens the connection again when it has ended, as long as clients need it.
    pub(crate) fn watch_shared(self: &Arc<Self>, connection: &Arc<UpstreamConnection>) {
        self.reconnect_after(connection.ended());
    }

    pub(super) fn reconnect_after(
        self: &Arc<Self>,
        ended: impl Future<Output = ()> + Send + 'static,
    ) {
        let core = Arc::downgrade(self);
        tokio::spawn(async move {
            ended.await;
            while let Some(core) = core.upgrade() {
                if !core.is_wanted() || core.shared().await.is_ok() {
                    return;
                }
                drop(core);
                tokio::time::sleep(MAX_RECONNECT_WAIT).await;
            }
        });
    }

    /// Closes the shared connection if it is unused. Call it before a child process is started for a session, because some
    /// programs cannot run twice at the same time.
    pub(crate) async fn release_shared(&self) {
        let unused = self.shared.take_if(|connection| {
            !connection.client.connection().has_headers()
                && !self.changes.has_subscriptions()
                && connection.retire_unused()
        });
        if let Some(connection) = unused {
            let closed = timeout(CLOSE_TIMEOUT, connection.client.close()).await;
            if !matches!(closed, Ok(Ok(()))) {
                tracing::debug!(?closed, "the shared connection did not close");
            }
        }
    }

    /// Returns the callback for changed lists. If several changes follow each other quickly, the callback reports them once.
    pub(crate) fn on_change(core: Weak<Self>) -> OnChange {
        Box::new(move |list| {
            let (Some(name), Some(known)) = (notification(list), core.upgrade()) else {
                return;
            };
            let core = Weak::clone(&core);
            known.debounce.run(name, move || {
                let core = core.upgrade();
                async move {
                    if let Some(core) = core {
                        core.refresh(list).await;
                    }
                }
            });
        })
    }

    /// Returns the callback for changed lists on a connection that has the account of one user.
    pub(super) fn on_change_for(core: Weak<Self>, user: Principal) -> OnChange {
        let debounce = Arc::<Debounce>::default();
        Box::new(move |list| {
            let Some(name) = notification(list) else {
                return;
            };
            let (core, user) = (Weak::clone(&core), user.clone());
            debounce.run(name, move || {
                if let Some(core) = core.upgrade() {
                    core.changes.deliver_list(list, Some(&user));
                }
                std::future::ready(())
            });
        })
    }

    /// Updates the parts of a changed list that the gateway needs, and then notifies the clients of the change.
    async fn refresh(&self, list: ChangedList) {
        if let Some(connection) = self.shared.in_use() {
            match (list, self.catalog.as_deref()) {
                (ChangedList::Tools, _) => self.learn_tools(&connection).await,
                (ChangedList::Prompts, Some(catalog)) => {
                    catalog.learn_prompts(&connection.client).await;
                }
                (ChangedList::Resources, Some(catalog)) => {
                    catalog.learn_resources(&connection.client).await;
                }
                _ => {}
            }
        }
        self.changes.deliver_list(list, None);
    }

    /// Lists the tools again, without the cache of the client.
    pub(crate) async fn learn_tools(&self, connection: &UpstreamConnection) {
        connection.client.clear_cache();
        let header_params = header_params(&connection.client, self.catalog.as_deref()).await;
        let known = self.shared.known();
        self.shared.learn(KnownServer {
            facts: known.facts.clone(),
            revision: known.revision,
            is_program: known.is_program,
            header_params,
        });
    }
}
