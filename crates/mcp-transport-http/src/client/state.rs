//! One connection: what its calls and its tasks share.

use std::fmt;
use std::pin::pin;
use std::sync::{Arc, OnceLock, Weak};

use futures_util::future::{Either, select};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response};
use mcp_protocol::{Closed, Inbound, Incoming, Outgoing, guarded};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

use crate::client::inbox::listening::{ListenState, Listening};
use crate::client::options::Options;
use crate::client::outbox::queue::Outbox;
use crate::client::session::current::{Session, Sessions};
use crate::client::tasks::Tasks;
use crate::client::wire::body::ResponseBody;
use crate::client::wire::connection::{HttpConnection, OutgoingRequest, RequestKind, SendError};
use crate::permit::Capacity;

pub(crate) struct ClientState {
    pub(crate) http: HttpConnection,
    pub(crate) options: Options,
    pub(crate) inbound: Arc<dyn Inbound>,
    pub(crate) outgoing: Outgoing,
    pub(crate) incoming: Incoming,
    pub(crate) sessions: Sessions,
    /// Notifications; calls made after one wait for it.
    pub(crate) outbox: Outbox,
    /// Cancellations, for which nobody waits.
    pub(crate) cancels: Outbox,
    pub(crate) listening: Listening,
    pub(crate) tasks: Tasks,
    pub(crate) permits: Permits,
    /// What carries messages to a server that knows only the transport of 2024-11-05.
    #[cfg(feature = "legacy")]
    pub(crate) legacy: OnceLock<Arc<mcp_protocol::Mux>>,
    stage: watch::Sender<ConnectionStage>,
    closed: OnceLock<Closed>,
    this: Weak<Self>,
}

/// What is limited in number.
pub(crate) struct Permits {
    /// Questions of the server that are not answered yet. Past the limit of those there is as
    /// much room again for pings and refusals.
    pub(crate) server_requests: Arc<Semaphore>,
    pub(crate) threads: Capacity,
    /// Streams that are read to their end after the answer.
    pub(crate) stream_tails: Arc<Semaphore>,
}

/// Streams at once that are read to their end after the answer.
const TAILS: usize = 64;

impl Permits {
    fn new(options: &Options) -> Self {
        let server_requests = options.limits.incoming.saturating_mul(2);
        Self {
            server_requests: Arc::new(Semaphore::new(server_requests.min(Semaphore::MAX_PERMITS))),
            threads: Capacity::new(options.blocking),
            stream_tails: Arc::new(Semaphore::new(TAILS)),
        }
    }
}

/// How far the connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionStage {
    Open,
    /// No message is handed over any more.
    Closing,
    /// Nothing of it is left.
    ClosedGuard,
}

impl ClientState {
    pub(crate) fn start(
        http: HttpConnection,
        options: Options,
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

    /// Sends one message within a session.
    pub(crate) async fn post(
        &self,
        session: &Session,
        message: Bytes,
    ) -> Result<Response<ResponseBody>, SendError> {
        self.send(session, RequestKind::Post(message)).await
    }

    /// Asks for a stream, or for what came after the event `last` of one.
    pub(crate) async fn get(
        &self,
        session: &Session,
        last: Option<HeaderValue>,
    ) -> Result<Response<ResponseBody>, SendError> {
        self.send(session, RequestKind::Get(last)).await
    }

    async fn send(
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

    /// Sends one message that belongs to no session, with the headers that say what stands in it.
    pub(crate) async fn post_stateless(
        &self,
        headers: &HeaderMap,
        message: Bytes,
    ) -> Result<Response<ResponseBody>, SendError> {
        let request = OutgoingRequest {
            kind: RequestKind::Post(message),
            stateless_headers: headers.clone(),
            ..OutgoingRequest::default()
        };
        self.http.send(&request).await
    }

    /// Sends `initialize`, which belongs to no session and to no revision yet.
    pub(crate) async fn post_initialize(
        &self,
        message: Bytes,
    ) -> Result<Response<ResponseBody>, SendError> {
        let request = OutgoingRequest {
            kind: RequestKind::Post(message),
            ..OutgoingRequest::default()
        };
        self.http.send(&request).await
    }

    /// The owner of this state, unless it is being dropped.
    pub(crate) fn upgrade(&self) -> Option<Arc<Self>> {
        self.this.upgrade()
    }

    /// Why the connection ended, if it has.
    pub(crate) fn closed(&self) -> Option<&Closed> {
        self.closed.get()
    }

    /// Waits for `work`, but not beyond the end of the connection. Cancel safe if `work` is.
    pub(crate) async fn until_closed<T>(&self, work: impl Future<Output = T>) -> Result<T, Closed> {
        match select(pin!(self.ended()), pin!(work)).await {
            Either::Left((reason, _)) => Err(reason),
            Either::Right((output, _)) => Ok(output),
        }
    }

    /// Completes when the connection has ended, with the reason. Cancel safe.
    pub(crate) async fn ended(&self) -> Closed {
        let mut stage = self.stage.subscribe();
        let _ = stage
            .wait_for(|stage| *stage != ConnectionStage::Open)
            .await;
        self.closed.get().cloned().unwrap_or_else(Closed::local)
    }

    /// Completes when nothing of the connection is left. Cancel safe.
    pub(crate) async fn gone(&self) {
        let mut stage = self.stage.subscribe();
        let _ = stage
            .wait_for(|stage| *stage == ConnectionStage::ClosedGuard)
            .await;
    }

    /// Marks a session as forgotten by the server. The task of `reinitialize` then opens a new one;
    /// wait for it with [`Sessions::current`].
    pub(crate) fn session_lost(&self, lost: &Session) {
        if self.closed().is_none() && self.sessions.mark_lost(lost) {
            tracing::info!(endpoint = %self.http.endpoint, "the server forgot the session; opening a new one");
        }
    }

    /// Starts to listen to what the server says outside calls, unless the options turn that off.
    pub(crate) fn start_listening(&self) {
        if self.options.listen {
            self.listening.set(ListenState::On);
        }
    }

    /// Listens again if the client gave up because the server could not be reached.
    pub(crate) fn resume_listening(&self) {
        if self.listening.state() == ListenState::Suspended {
            self.start_listening();
        }
    }

    /// Ends the connection: calls fail with `reason` at once, questions are dropped, and a task
    /// tells the server. Idempotent.
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
        let told = guarded(|| self.inbound.closed(reason));
        if told.is_err() {
            tracing::error!("a handler of the end of the connection panicked");
        }
        if let Some(state) = self.this.upgrade() {
            let gone = ClosedGuard(self.stage.clone());
            self.tasks.spawn_last(end(state, gone));
        }
    }
}

/// Sends what is still to be said, stops everything, and ends the session.
async fn end(state: Arc<ClientState>, gone: ClosedGuard) {
    let patience = state.options.close_timeout / 2;
    let sent = async {
        state.outbox.sent().await;
        state.cancels.sent().await;
    };
    if timeout(patience, sent).await.is_err() {
        tracing::debug!("the connection closed before all notifications were sent");
    }
    state.tasks.stop().await;
    if let Some(session) = state
        .sessions
        .known_session()
        .filter(|session| session.id.is_some())
    {
        let ended = timeout(patience, state.send(&session, RequestKind::Delete)).await;
        match ended {
            Ok(Ok(response)) => {
                tracing::debug!(status = %response.status(), "ended the session");
            }
            Ok(Err(broken)) => {
                let error = broken.into_error();
                tracing::debug!(%error, "could not tell the server that the session has ended");
            }
            Err(_) => tracing::debug!("the server did not confirm the end of the session in time"),
        }
    }
    drop(gone);
}

/// Tells that nothing is left, even if the runtime dropped the task that ends the connection.
struct ClosedGuard(watch::Sender<ConnectionStage>);

impl Drop for ClosedGuard {
    fn drop(&mut self) {
        self.0.send_replace(ConnectionStage::ClosedGuard);
    }
}

impl fmt::Debug for ClientState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http")
            .field("endpoint", &self.http.endpoint)
            .field("in_flight", &(self.incoming.len(), self.outgoing.len()))
            .field("closed", &self.closed)
            .finish_non_exhaustive()
    }
}
