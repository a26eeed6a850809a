//! What the server knows this client by.
//!
//! Specification: [session management](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management).

use std::sync::{Arc, Mutex};

use http::{HeaderMap, HeaderValue};
use mcp_protocol::TransportError;
use tokio::sync::watch;

use crate::client::session::replay::ReplayState;
use crate::headers::SESSION_ID;
use crate::sync::lock;

/// One session, as long as the server remembers it.
#[derive(Debug, Default)]
pub(crate) struct Session {
    /// Counts the sessions of this connection.
    pub(crate) generation: u64,
    /// Prints as nothing: whoever has it can speak for this client.
    pub(crate) id: Option<HeaderValue>,
    /// No session at all: what is sent says itself what there is to know, and nothing is resumed,
    /// cancelled by a message, or answered.
    pub(crate) is_stateless: bool,
}

/// Where the session stands.
#[derive(Debug, Clone)]
pub(crate) enum SessionPhase {
    Open(Arc<Session>),
    /// The server has forgotten a session, and another is being opened.
    Reinitializing {
        lost: Arc<Session>,
        /// The other, once the server knows it.
        next: Option<Arc<Session>>,
    },
}

/// The session of a connection, through all its lives.
pub(crate) struct Sessions {
    phase: watch::Sender<SessionPhase>,
    handshake: Mutex<Handshake>,
    pub(crate) replay: ReplayState,
}

/// What was agreed when the session was opened.
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
        }
    }

    /// The session to use now; waits while a new one is being opened. Cancel safe.
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

    /// The session the server knows, as far as this side can tell.
    pub(crate) fn known_session(&self) -> Option<Arc<Session>> {
        match &*self.phase.borrow() {
            SessionPhase::Open(session) => Some(Arc::clone(session)),
            SessionPhase::Reinitializing { next, .. } => next.clone(),
        }
    }

    /// Completes when `session` are not the session any more. Cancel safe.
    pub(crate) async fn replaced(&self, session: &Session) {
        let newer = |phase: &SessionPhase| matches!(phase, SessionPhase::Open(open) if open.generation > session.generation);
        let _ = self.phase.subscribe().wait_for(newer).await;
    }

    /// A session that was opened: the first, or the next.
    pub(crate) fn open(&self, session: Arc<Session>) {
        self.phase.send_replace(SessionPhase::Open(session));
    }

    /// The server knows a new session, which is not ready yet.
    pub(crate) fn set_next(&self, session: &Arc<Session>) {
        self.phase.send_modify(|phase| {
            if let SessionPhase::Reinitializing { next, .. } = phase {
                *next = Some(Arc::clone(session));
            }
        });
    }

    /// Marks a session as forgotten; `true` for the first who says so.
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

    /// Completes when a session was marked as forgotten. Cancel safe.
    pub(crate) async fn wait_lost(&self) {
        let lost = |phase: &SessionPhase| matches!(phase, SessionPhase::Reinitializing { .. });
        let _ = self.phase.subscribe().wait_for(lost).await;
    }

    /// The number of the session after this one.
    pub(crate) fn next_generation(&self) -> u64 {
        match &*self.phase.borrow() {
            SessionPhase::Open(last) | SessionPhase::Reinitializing { lost: last, .. } => {
                last.generation + 1
            }
        }
    }

    /// Remembers what `initialize` said, to say it again.
    pub(crate) fn set_initialize_params(&self, params: Option<&[u8]>) {
        lock(&self.handshake).params = Some(params.unwrap_or(b"{}").into());
    }

    /// What `initialize` said.
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

/// The session id that the response to `initialize` brings, if it does.
///
/// # Errors
/// It is not one that may be used. The error does not quote it.
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
        "stands twice in the response".to_owned()
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
        "the server opened a session whose {SESSION_ID} {problem}; it cannot be used"
    )))
}
