//! The session of a connection and its replacement.
//!
//! Specification: [session
//! management](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use mcp_protocol::TransportError;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::client::session::replay::ReplayState;
use crate::headers::SESSION_ID;
use crate::sync::lock;

/// One session at the server. For requests without a session, such as those of the stateless revision, a placeholder.
#[derive(Debug)]
pub(crate) struct Session {
    /// The sequence number of this session within the connection.
    pub(crate) generation: u64,
    /// The session id. It is marked as sensitive, because any client that has it can send messages in this session.
    pub(crate) id: Option<HeaderValue>,
    /// Whether the messages belong to the stateless revision. Their streams are not resumed, they are not cancelled with a
    /// notification, and the server sends no requests.
    pub(crate) is_stateless: bool,
    opened: Instant,
    has_answered: AtomicBool,
}

/// Time after which a session that is not lost counts as a working session.
const SETTLED: Duration = Duration::from_secs(30);

impl Session {
    pub(crate) fn new(generation: u64, id: Option<HeaderValue>) -> Self {
        Self {
            generation,
            id,
            is_stateless: false,
            opened: Instant::now(),
            has_answered: AtomicBool::new(false),
        }
    }

    /// Creates the value for requests of the stateless revision, which has no session.
    pub(crate) fn stateless() -> Self {
        Self {
            is_stateless: true,
            ..Self::new(0, None)
        }
    }

    /// Records that a call in this session was answered.
    pub(crate) fn set_answered(&self) {
        self.has_answered.store(true, Ordering::Relaxed);
    }

    /// Returns whether this session has worked: a call was answered, or the server has kept the session for some time.
    pub(crate) fn has_worked(&self) -> bool {
        self.has_answered.load(Ordering::Relaxed) || self.opened.elapsed() >= SETTLED
    }
}

impl Default for Session {
    fn default() -> Self {
        Self::new(0, None)
    }
}

/// The current session, or the state while a new session is being opened.
#[derive(Debug, Clone)]
pub(crate) enum SessionPhase {
    Open(Arc<Session>),
    /// The server has lost a session, and a new session is being opened.
    Reinitializing {
        lost: Arc<Session>,
        /// The new session. It is set as soon as the server has accepted `initialize`.
        next: Option<Arc<Session>>,
    },
}

/// The consecutive sessions of a connection.
pub(crate) struct Sessions {
    phase: watch::Sender<SessionPhase>,
    handshake: Mutex<Handshake>,
    pub(crate) replay: ReplayState,
    /// The reason why a new session could not be opened yet.
    problem: Mutex<Option<String>>,
}

/// The params of `initialize` and the negotiated revision.
#[derive(Default, Clone)]
struct Handshake {
    params: Option<Arc<[u8]>>,
    revision: Option<&'static str>,
}

impl Sessions {
    pub(crate) fn new(subscriptions: usize) -> Self {
        Self {
            phase: watch::Sender::new(SessionPhase::Open(Arc::default())),
            handshake: Mutex::default(),
            replay: ReplayState::new(subscriptions),
            problem: Mutex::default(),
        }
    }

    /// Returns the current session. If the session was lost, waits until a new session is open. Cancel safe.
    pub(crate) async fn current(&self) -> Arc<Session> {
        if let SessionPhase::Open(session) = &*self.phase.borrow() {
            return Arc::clone(session);
        }
        let mut phase = self.phase.subscribe();
        loop {
            // The sender lives as long as `self`.
            let _ = phase
                .wait_for(|it| matches!(it, SessionPhase::Open(_)))
                .await;
            if let SessionPhase::Open(session) = &*phase.borrow() {
                return Arc::clone(session);
            }
        }
    }

    /// Returns the session that the server should know: the open session. While a new session is being opened, returns `None`
    /// until the server has accepted `initialize`, and then the new session.
    pub(crate) fn known_session(&self) -> Option<Arc<Session>> {
        match &*self.phase.borrow() {
            SessionPhase::Open(session) => Some(Arc::clone(session)),
            SessionPhase::Reinitializing { next, .. } => next.clone(),
        }
    }

    /// Waits until a newer session than `session` is open. Cancel safe.
    pub(crate) async fn replaced(&self, session: &Session) {
        let newer = |phase: &SessionPhase| matches!(phase, SessionPhase::Open(open) if open.generation > session.generation);
        let _ = self.phase.subscribe().wait_for(newer).await;
    }

    pub(crate) fn open(&self, session: Arc<Session>) {
        self.phase.send_replace(SessionPhase::Open(session));
    }

    /// Stores a new session in which requests are still being replayed.
    pub(crate) fn set_next(&self, session: &Arc<Session>) {
        self.phase.send_modify(|phase| {
            if let SessionPhase::Reinitializing { next, .. } = phase {
                *next = Some(Arc::clone(session));
            }
        });
    }

    /// Marks a session as lost. Returns `true` if it was not marked before.
    pub(crate) fn mark_lost(&self, lost: &Session) -> bool {
        self.phase.send_if_modified(|phase| match phase {
            SessionPhase::Open(open) if open.generation == lost.generation => {
                let lost = Arc::clone(open);
                *phase = SessionPhase::Reinitializing { lost, next: None };
                true
            }
            _ => false,
        })
    }

    /// Waits until a session is marked as lost, and returns the session. Cancel safe.
    pub(crate) async fn wait_lost(&self) -> Arc<Session> {
        let mut phase = self.phase.subscribe();
        loop {
            if let SessionPhase::Reinitializing { lost, .. } = &*phase.borrow_and_update() {
                return Arc::clone(lost);
            }
            // The sender lives as long as `self`.
            let _ = phase.changed().await;
        }
    }

    /// Sets the reason why a new session could not be opened yet.
    pub(crate) fn set_problem(&self, problem: impl Into<String>) {
        *lock(&self.problem) = Some(problem.into());
    }

    /// Returns the reason why a new session could not be opened yet. Returns `None` if a session is open.
    pub(crate) fn problem(&self) -> Option<String> {
        let is_open = matches!(&*self.phase.borrow(), SessionPhase::Open(_));
        lock(&self.problem).clone().filter(|_| !is_open)
    }

    /// Returns the number of the next session.
    pub(crate) fn next_generation(&self) -> u64 {
        match &*self.phase.borrow() {
            SessionPhase::Open(last) | SessionPhase::Reinitializing { lost: last, .. } => {
                last.generation + 1
            }
        }
    }

    /// Stores the params of `initialize`, with which new sessions are opened.
    pub(crate) fn set_initialize_params(&self, params: Option<&[u8]>) {
        lock(&self.handshake).params = Some(params.unwrap_or(b"{}").into());
    }

    pub(crate) fn initialize_params(&self) -> Option<Arc<[u8]>> {
        lock(&self.handshake).params.clone()
    }

    pub(crate) fn set_revision(&self, revision: &'static str) {
        lock(&self.handshake).revision = Some(revision);
    }

    pub(crate) fn revision(&self) -> Option<&'static str> {
        lock(&self.handshake).revision
    }
}

/// Returns the session id in the response to `initialize`, if there is one.
///
/// # Errors
/// Returns an error if the id is invalid. The error does not quote the id.
pub(crate) fn session_id(
    headers: &HeaderMap,
    limit: usize,
) -> Result<Option<HeaderValue>, TransportError> {
    let mut values = headers.get_all(SESSION_ID).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let bytes = value.as_bytes();
    let problem = if values.next().is_some() {
        "appears more than once in the response".to_owned()
    } else if bytes.is_empty() {
        "is empty".to_owned()
    } else if bytes.len() > limit {
        format!(
            "is longer than {limit} bytes, the limit of ClientOptions::with_max_session_id_bytes"
        )
    } else if let Some(at) = bytes.iter().position(|byte| !byte.is_ascii_graphic()) {
        format!("has a character at byte {at} that is not visible ASCII")
    } else {
        let mut id = value.clone();
        id.set_sensitive(true);
        return Ok(Some(id));
    };
    Err(TransportError::new(format!(
        "the server opened a session whose {SESSION_ID} {problem}; the session cannot be used"
    )))
}
