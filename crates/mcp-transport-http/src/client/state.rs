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
use crate::client::session::current::{Facts, Session};
use crate::client::tasks::Tasks;
use crate::client::wire::body::ResponseBody;
use crate::client::wire::connection::{Broken, Kind, Letter, Wire};
use crate::threads::Threads;

pub(crate) struct Core {
    pub(crate) wire: Wire,
    pub(crate) options: Options,
    pub(crate) inbound: Arc<dyn Inbound>,
    pub(crate) outgoing: Outgoing,
    pub(crate) incoming: Incoming,
    pub(crate) session: Session,
    /// Notifications; calls made after one wait for it.
    pub(crate) outbox: Outbox,
    /// Cancellations, for which nobody waits.
    pub(crate) cancels: Outbox,
    pub(crate) listening: Listening,
    pub(crate) tasks: Tasks,
    pub(crate) places: Places,
    /// What carries messages to a server that knows only the transport of 2024-11-05.
    #[cfg(feature = "legacy")]
    pub(crate) legacy: OnceLock<Arc<mcp_protocol::Mux>>,
    stage: watch::Sender<Stage>,
    closed: OnceLock<Closed>,
    this: Weak<Self>,
}

/// What is limited in number.
pub(crate) struct Places {
    /// Questions of the server that are not answered yet. Past the limit of those there is as
    /// much room again for pings and refusals.
    pub(crate) questions: Arc<Semaphore>,
    pub(crate) threads: Threads,
    /// Streams that are read to their end after the answer.
    pub(crate) tails: Arc<Semaphore>,
}

/// Streams at once that are read to their end after the answer.
const TAILS: usize = 64;

impl Places {
    fn new(options: &Options) -> Self {
        let questions = options.limits.incoming.saturating_mul(2);
        Self {
            questions: Arc::new(Semaphore::new(questions.min(Semaphore::MAX_PERMITS))),
            threads: Threads::new(options.blocking),
            tails: Arc::new(Semaphore::new(TAILS)),
        }
    }
}

/// How far the connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Open,
    /// No message is handed over any more.
    Closing,
    /// Nothing of it is left.
    Gone,
}

impl Core {
    pub(crate) fn start(wire: Wire, options: Options, inbound: Arc<dyn Inbound>) -> Arc<Self> {
        let limits = options.limits.clone();
        let core = Arc::new_cyclic(|this: &Weak<Self>| Self {
            outgoing: Outgoing::new(limits.outgoing),
            incoming: Incoming::new(limits.incoming),
            session: Session::new(options.restored),
            outbox: Outbox::new(limits.queue_bytes),
            cancels: Outbox::new(limits.queue_bytes),
            listening: Listening::new(),
            tasks: Tasks::new(),
            places: Places::new(&options),
            #[cfg(feature = "legacy")]
            legacy: OnceLock::new(),
            stage: watch::Sender::new(Stage::Open),
            closed: OnceLock::new(),
            this: this.clone(),
            wire,
            options,
            inbound,
        });
        core.inbound.opened(Weak::<Self>::clone(&core.this));
        core
    }

    /// Sends one message within a session.
    pub(crate) async fn post(
        &self,
        facts: &Facts,
        message: Bytes,
    ) -> Result<Response<ResponseBody>, Broken> {
        self.send(facts, Kind::Post(message)).await
    }

    /// Asks for a stream, or for what came after the event `last` of one.
    pub(crate) async fn get(
        &self,
        facts: &Facts,
        last: Option<HeaderValue>,
    ) -> Result<Response<ResponseBody>, Broken> {
        self.send(facts, Kind::Get(last)).await
    }

    async fn send(&self, facts: &Facts, kind: Kind) -> Result<Response<ResponseBody>, Broken> {
        let letter = Letter {
            kind,
            session: facts.id.clone(),
            revision: self.session.revision(),
            ..Letter::default()
        };
        self.wire.send(&letter).await
    }

    /// Sends one message that belongs to no session, with the headers that say what stands in it.
    pub(crate) async fn post_claim(
        &self,
        headers: &HeaderMap,
        message: Bytes,
    ) -> Result<Response<ResponseBody>, Broken> {
        let letter = Letter {
            kind: Kind::Post(message),
            mirrored: headers.clone(),
            ..Letter::default()
        };
        self.wire.send(&letter).await
    }

    /// Sends `initialize`, which belongs to no session and to no revision yet.
    pub(crate) async fn post_opening(
        &self,
        message: Bytes,
    ) -> Result<Response<ResponseBody>, Broken> {
        let letter = Letter {
            kind: Kind::Post(message),
            ..Letter::default()
        };
        self.wire.send(&letter).await
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
        let _ = stage.wait_for(|stage| *stage != Stage::Open).await;
        self.closed.get().cloned().unwrap_or_else(Closed::local)
    }

    /// Completes when nothing of the connection is left. Cancel safe.
    pub(crate) async fn gone(&self) {
        let mut stage = self.stage.subscribe();
        let _ = stage.wait_for(|stage| *stage == Stage::Gone).await;
    }

    /// Marks a session as forgotten by the server. The task of `reinitialize` then opens a new one;
    /// wait for it with [`Session::current`].
    pub(crate) fn session_lost(&self, lost: &Facts) {
        if self.closed().is_none() && self.session.lose(lost) {
            tracing::info!(endpoint = %self.wire.endpoint, "the server forgot the session; opening a new one");
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
        self.stage.send_replace(Stage::Closing);
        let told = guarded(|| self.inbound.closed(reason));
        if told.is_err() {
            tracing::error!("a handler of the end of the connection panicked");
        }
        if let Some(core) = self.this.upgrade() {
            let gone = Gone(self.stage.clone());
            self.tasks.spawn_last(end(core, gone));
        }
    }
}

/// Sends what is still to be said, stops everything, and ends the session.
async fn end(core: Arc<Core>, gone: Gone) {
    let patience = core.options.close_timeout / 2;
    let sent = async {
        core.outbox.sent().await;
        core.cancels.sent().await;
    };
    if timeout(patience, sent).await.is_err() {
        tracing::debug!("the connection closed before all notifications were sent");
    }
    core.tasks.stop().await;
    if let Some(facts) = core.session.known().filter(|facts| facts.id.is_some()) {
        let ended = timeout(patience, core.send(&facts, Kind::Delete)).await;
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
struct Gone(watch::Sender<Stage>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.send_replace(Stage::Gone);
    }
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http")
            .field("endpoint", &self.wire.endpoint)
            .field("in_flight", &(self.incoming.len(), self.outgoing.len()))
            .field("closed", &self.closed)
            .finish_non_exhaustive()
    }
}
