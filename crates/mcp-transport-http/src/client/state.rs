//! The state of one connection, shared by its calls and tasks.

use std::fmt;
use std::pin::pin;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use futures_util::future::{Either, FutureExt as _, select};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response};
use mcp_protocol::{CallError, Closed, Inbound, Incoming, Outgoing, guarded};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::client::listening::{ListenState, Listening};
use crate::client::options::ClientOptions;
use crate::client::outbox::Outbox;
use crate::client::session::current::{Session, Sessions};
use crate::client::wire::connection::{HttpConnection, OutgoingRequest, RequestKind, SendError};
use crate::http_service::ResponseBody;
use crate::permit::Capacity;

pub(crate) struct ClientState {
    pub(crate) http: HttpConnection,
    pub(crate) options: ClientOptions,
    pub(crate) inbound: Arc<dyn Inbound>,
    pub(crate) outgoing: Outgoing,
    pub(crate) incoming: Incoming,
    pub(crate) sessions: Sessions,
    /// Queued notifications. A later call waits until the notifications queued before it are sent.
    pub(crate) outbox: Outbox,
    /// Queued cancellations. Calls do not wait for cancellations.
    pub(crate) cancels: Outbox,
    pub(crate) listening: Listening,
    pub(crate) tasks: Tasks,
    pub(crate) permits: Permits,
    /// The multiplexer for messages, if the server supports only the HTTP+SSE transport of 2024-11-05.
    #[cfg(feature = "legacy")]
    pub(crate) legacy: OnceLock<Arc<mcp_protocol::Mux>>,
    stage: watch::Sender<ConnectionStage>,
    closed: OnceLock<Closed>,
    pub(crate) this: Weak<Self>,
}

/// Permits for everything whose number is limited.
pub(crate) struct Permits {
    /// Permits for server requests that have no response yet. There are twice as many permits as `MuxLimits::incoming`. At the
    /// limit of `MuxLimits::incoming`, pings and refusals are therefore still possible.
    pub(crate) server_requests: Arc<Semaphore>,
    pub(crate) threads: Capacity,
    /// Permits for event streams that are read to their end after the response.
    pub(crate) stream_tails: Arc<Semaphore>,
}

/// Maximum number of event streams that are read to their end after the response at the same time.
const MAX_STREAM_TAILS: usize = 64;

impl Permits {
    fn new(options: &ClientOptions) -> Self {
        let server_requests = options.limits.incoming.saturating_mul(2);
        Self {
            server_requests: Arc::new(Semaphore::new(server_requests.min(Semaphore::MAX_PERMITS))),
            threads: Capacity::new(options.blocking),
            stream_tails: Arc::new(Semaphore::new(MAX_STREAM_TAILS)),
        }
    }
}

/// The stage of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionStage {
    Open,
    /// Messages are no longer delivered.
    Closing,
    /// All tasks have ended.
    Closed,
}

impl ClientState {
    pub(crate) fn start(
        http: HttpConnection,
        options: ClientOptions,
        inbound: Arc<dyn Inbound>,
    ) -> Arc<Self> {
        let limits = options.limits.clone();
        let state = Arc::new_cyclic(|this: &Weak<Self>| Self {
            outgoing: Outgoing::new(limits.outgoing),
            incoming: Incoming::new(limits.incoming),
            sessions: Sessions::new(options.restored),
            outbox: Outbox::new(limits.queue_bytes),
            cancels: Outbox::new(limits.queue_bytes),
            listening: Listening::new(),
            tasks: Tasks::new(),
            permits: Permits::new(&options),
            #[cfg(feature = "legacy")]
            legacy: OnceLock::new(),
            stage: watch::Sender::new(ConnectionStage::Open),
            closed: OnceLock::new(),
            this: this.clone(),
            http,
            options,
            inbound,
        });
        state.inbound.opened(Weak::<Self>::clone(&state.this));
        state
    }

    /// Sends an HTTP request in a session.
    pub(crate) async fn send(
        &self,
        session: &Session,
        kind: RequestKind,
    ) -> Result<Response<ResponseBody>, SendError> {
        let request = OutgoingRequest {
            kind,
            session: session.id.clone(),
            revision: self.sessions.revision(),
            ..OutgoingRequest::default()
        };
        self.http.send(&request).await
    }

    /// Sends a message of the stateless revision. `headers` echo values of its body. `limit` is the maximum time until the head
    /// of the response arrives.
    pub(crate) async fn post_stateless(
        &self,
        headers: &[(HeaderName, HeaderValue)],
        message: Bytes,
        limit: Option<Duration>,
    ) -> Result<Response<ResponseBody>, SendError> {
        let request = OutgoingRequest {
            kind: RequestKind::Post(message),
            stateless_headers: headers,
            limit,
            ..OutgoingRequest::default()
        };
        self.http.send(&request).await
    }

    /// Sends one message without a session: `initialize`.
    pub(crate) async fn post_without_session(
        &self,
        message: Bytes,
    ) -> Result<Response<ResponseBody>, SendError> {
        let request = OutgoingRequest {
            kind: RequestKind::Post(message),
            ..OutgoingRequest::default()
        };
        self.http.send(&request).await
    }

    /// Returns the reason why the connection ended, if it has ended.
    pub(crate) fn closed(&self) -> Option<&Closed> {
        self.closed.get()
    }

    /// Waits for `work` or for the end of the connection, whichever is first. Cancel safe if `work` is cancel safe.
    pub(crate) async fn until_closed<T>(
        &self,
        work: impl Future<Output = T>,
    ) -> Result<T, CallError> {
        if let Some(reason) = self.closed() {
            return Err(CallError::Closed(reason.clone()));
        }
        let mut work = pin!(work);
        // Most work is done at once, and needs no subscription to the end of the connection.
        if let Some(output) = work.as_mut().now_or_never() {
            return Ok(output);
        }
        match select(pin!(self.ended()), work).await {
            Either::Left((reason, _)) => Err(CallError::Closed(reason)),
            Either::Right((output, _)) => Ok(output),
        }
    }

    /// Waits until the connection has ended, and returns the reason. Cancel safe.
    pub(crate) async fn ended(&self) -> Closed {
        let mut stage = self.stage.subscribe();
        let _ = stage
            .wait_for(|stage| *stage != ConnectionStage::Open)
            .await;
        self.closed.get().cloned().unwrap_or_else(Closed::local)
    }

    /// Waits until all tasks of the connection have ended. Cancel safe.
    pub(crate) async fn wait_closed(&self) {
        let mut stage = self.stage.subscribe();
        let _ = stage
            .wait_for(|stage| *stage == ConnectionStage::Closed)
            .await;
    }

    /// Marks a session as lost, because the server no longer knows it. The task in `reinitialize` then opens a new session. To
    /// wait for the new session, call [`Sessions::current`].
    pub(crate) fn session_lost(&self, lost: &Session) {
        if self.closed().is_none() && self.sessions.mark_lost(lost) {
            tracing::info!(endpoint = %self.http.endpoint, "the server lost the session; opening a new session");
        }
    }

    /// Starts listening on the GET stream, unless the options disable it.
    pub(crate) fn start_listening(&self) {
        if self.options.listen {
            self.listening.set(ListenState::On);
        }
    }

    /// Starts listening again after it was suspended because the server was unreachable.
    pub(crate) fn resume_listening(&self) {
        if self.listening.state() == ListenState::Suspended {
            self.start_listening();
        }
    }

    /// Ends the connection. Calls fail with `reason` at once, server requests are cancelled, and a task ends the session.
    /// Does nothing if the connection has already ended.
    pub(crate) fn close(&self, reason: Closed) {
        if self.closed.set(reason).is_err() {
            return;
        }
        let reason = self.closed.get_or_init(Closed::local);
        self.outgoing.close(reason);
        self.incoming.cancel_all();
        #[cfg(feature = "legacy")]
        if let Some(mux) = self.legacy.get() {
            mux.close(reason.clone());
        }
        self.stage.send_replace(ConnectionStage::Closing);
        let notified = guarded(|| self.inbound.closed(reason));
        if notified.is_err() {
            tracing::error!("the closed handler of the client panicked");
        }
        if let Some(state) = self.this.upgrade() {
            let gone = ClosedGuard(self.stage.clone());
            // Not one of `tasks`, because this task stops all of them.
            self.tasks.runtime.spawn(end(state, gone));
        }
    }
}

/// Sends the queued messages, stops all tasks and ends the session.
async fn end(state: Arc<ClientState>, gone: ClosedGuard) {
    let half = state.options.close_timeout / 2;
    let sent = async {
        state.outbox.sent().await;
        state.cancels.sent().await;
    };
    if timeout(half, sent).await.is_err() {
        tracing::debug!("the connection closed before all notifications were sent");
    }
    state.tasks.stop().await;
    if let Some(session) = state
        .sessions
        .known_session()
        .filter(|session| session.id.is_some())
    {
        let ended = timeout(half, state.send(&session, RequestKind::Delete)).await;
        match ended {
            Ok(Ok(response)) => {
                tracing::debug!(status = %response.status(), "ended the session");
            }
            Ok(Err(broken)) => {
                let error = broken.into_error();
                tracing::debug!(%error, "could not end the session at the server");
            }
            Err(_) => tracing::debug!(
                "the server did not confirm the end of the session before \
             ClientOptions::with_close_timeout"
            ),
        }
    }
    drop(gone);
}

/// A guard that sets the stage to `Closed` when it is dropped. This works even if the runtime drops the closing task.
struct ClosedGuard(watch::Sender<ConnectionStage>);

impl Drop for ClosedGuard {
    fn drop(&mut self) {
        self.0.send_replace(ConnectionStage::Closed);
    }
}

/// The tasks of one connection. They end with the connection.
pub(crate) struct Tasks {
    /// The runtime. It is stored here so that a call can be dropped outside of the runtime.
    runtime: Handle,
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl Tasks {
    /// Creates an empty set of tasks on the current runtime.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime.
    pub(crate) fn new() -> Self {
        Self {
            runtime: Handle::current(),
            tracker: TaskTracker::new(),
            stop: CancellationToken::new(),
        }
    }

    /// Runs `task` until it completes or all tasks are stopped.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let task = self.stop.clone().run_until_cancelled_owned(task);
        self.tracker.spawn_on(task, &self.runtime);
    }

    pub(crate) fn spawn_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        self.runtime.spawn_blocking(work)
    }

    /// Stops all tasks, and waits until all of them have ended. Cancel safe.
    pub(crate) async fn stop(&self) {
        self.stop.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }
}

impl fmt::Debug for ClientState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTransport")
            .field("endpoint", &self.http.endpoint)
            .field("in_flight", &(self.incoming.len(), self.outgoing.len()))
            .field("closed", &self.closed)
            .finish_non_exhaustive()
    }
}
