//! What the server knows this client by.
//!
//! Specification: [session management](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management).

use std::sync::{Arc, Mutex};

use http::{HeaderMap, HeaderValue};
use mcp_protocol::TransportError;
use tokio::sync::watch;

use crate::client::session::replay::Record;
use crate::headers::SESSION_ID;
use crate::sync::lock;

/// One session, as long as the server remembers it.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// Counts the sessions of this connection.
    pub(crate) generation: u64,
    /// Prints as nothing: whoever has it can speak for this client.
    pub(crate) id: Option<HeaderValue>,
    /// No session at all: what is sent says itself what there is to know, and nothing is resumed,
    /// cancelled by a message, or answered.
    pub(crate) claims: bool,
}

/// Where the session stands.
#[derive(Debug, Clone)]
pub(crate) enum Phase {
    Open(Arc<Facts>),
    /// The server has forgotten a session, and another is being opened.
    Renewing {
        lost: Arc<Facts>,
        /// The other, once the server knows it.
        next: Option<Arc<Facts>>,
    },
}

/// The session of a connection, through all its lives.
pub(crate) struct Session {
    phase: watch::Sender<Phase>,
    opening: Mutex<Opening>,
    pub(crate) record: Record,
}

/// What was agreed when the session was opened.
#[derive(Default, Clone)]
struct Opening {
    params: Option<Arc<[u8]>>,
    revision: Option<&'static str>,
}

impl Session {
    pub(crate) fn new(subscriptions: usize) -> Self {
        Self {
            phase: watch::Sender::new(Phase::Open(Arc::default())),
            opening: Mutex::default(),
            record: Record::new(subscriptions),
        }
    }

    /// The session to use now; waits while a new one is being opened. Cancel safe.
    pub(crate) async fn current(&self) -> Arc<Facts> {
        if let Phase::Open(facts) = &*self.phase.borrow() {
            return Arc::clone(facts);
        }
        let mut phase = self.phase.subscribe();
        loop {
            // The sender lives as long as `self`.
            let _ = phase.wait_for(|it| matches!(it, Phase::Open(_))).await;
            if let Phase::Open(facts) = &*phase.borrow() {
                return Arc::clone(facts);
            }
        }
    }

    /// The session the server knows, as far as this side can tell.
    pub(crate) fn known(&self) -> Option<Arc<Facts>> {
        match &*self.phase.borrow() {
            Phase::Open(facts) => Some(Arc::clone(facts)),
            Phase::Renewing { next, .. } => next.clone(),
        }
    }

    /// Completes when `facts` are not the session any more. Cancel safe.
    pub(crate) async fn replaced(&self, facts: &Facts) {
        let newer = |phase: &Phase| matches!(phase, Phase::Open(open) if open.generation > facts.generation);
        let _ = self.phase.subscribe().wait_for(newer).await;
    }

    /// A session that was opened: the first, or the next.
    pub(crate) fn open(&self, facts: Arc<Facts>) {
        self.phase.send_replace(Phase::Open(facts));
    }

    /// The server knows a new session, which is not ready yet.
    pub(crate) fn begin(&self, facts: &Arc<Facts>) {
        self.phase.send_modify(|phase| {
            if let Phase::Renewing { next, .. } = phase {
                *next = Some(Arc::clone(facts));
            }
        });
    }

    /// Marks a session as forgotten; `true` for the first who says so.
    pub(crate) fn lose(&self, lost: &Facts) -> bool {
        self.phase.send_if_modified(|phase| match phase {
            Phase::Open(open) if open.generation == lost.generation => {
                let lost = Arc::clone(open);
                *phase = Phase::Renewing { lost, next: None };
                true
            }
            _ => false,
        })
    }

    /// Completes when a session was marked as forgotten. Cancel safe.
    pub(crate) async fn lost(&self) {
        let lost = |phase: &Phase| matches!(phase, Phase::Renewing { .. });
        let _ = self.phase.subscribe().wait_for(lost).await;
    }

    /// The number of the session after this one.
    pub(crate) fn next_generation(&self) -> u64 {
        match &*self.phase.borrow() {
            Phase::Open(last) | Phase::Renewing { lost: last, .. } => last.generation + 1,
        }
    }

    /// Remembers what `initialize` said, to say it again.
    pub(crate) fn opened_with(&self, params: Option<&[u8]>) {
        lock(&self.opening).params = Some(params.unwrap_or(b"{}").into());
    }

    /// What `initialize` said.
    pub(crate) fn opening(&self) -> Option<Arc<[u8]>> {
        lock(&self.opening).params.clone()
    }

    pub(crate) fn agree(&self, revision: &'static str) {
        lock(&self.opening).revision = Some(revision);
    }

    pub(crate) fn revision(&self) -> Option<&'static str> {
        lock(&self.opening).revision
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
        format!("is longer than {limit} bytes, the limit of ClientOptions::with_session_id_bytes")
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
