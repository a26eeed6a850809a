//! Sessions of the HTTP+SSE transport of revision 2024-11-05.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use mcp_protocol::{Closed, Grant, Mux, Principal};

use crate::permit::share::KnownOwner;
use crate::server::session_id::SessionId;
use crate::sync::lock;

/// The open sessions.
#[derive(Default)]
pub(crate) struct LegacySessions(pub(crate) Mutex<HashMap<SessionId, Arc<Session>>>);

pub(crate) struct Session {
    pub(crate) mux: Arc<Mux>,
    pub(crate) principal: Option<Principal>,
    pub(crate) owner: Option<KnownOwner>,
    /// The scopes that were granted to the request that opened the stream.
    pub(crate) grant: Option<Grant>,
}

impl LegacySessions {
    pub(crate) fn close(&self, reason: &Closed) {
        // Each session is removed from the table when its event stream ends.
        let sessions: Vec<Arc<Session>> = lock(&self.0).values().cloned().collect();
        for session in sessions {
            session.mux.close(reason.clone());
        }
    }
}
