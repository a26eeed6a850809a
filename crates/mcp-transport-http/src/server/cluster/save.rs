//! Stores the changes of a session before the response is sent.

use std::sync::Arc;

use mcp_jsonrpc::{Message, RequestId};
use mcp_protocol::Closed;
use mcp_types::method;

use crate::server::cluster::store_client::{StoreClient, is_changed, unavailable};
use crate::server::response::refusal::Refusal;
use crate::server::session::HttpSession;
use crate::server::session::table::SessionTable;
use crate::server::session_store::SessionStoreErrorKind as Kind;

/// A change of a session that must be stored before the response is sent.
pub(crate) struct PendingSave {
    session: Arc<HttpSession>,
    kind: SaveKind,
    id: Option<RequestId>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SaveKind {
    /// A new session, which is created in the store.
    Create,
    /// A message that a client sends to change the session. If the change cannot be stored, the message fails.
    Change,
    /// Any other message. Its handler may have had effects, so the message succeeds even if the change cannot be stored. The next
    /// request then stores the change.
    Other,
}

impl PendingSave {
    /// Returns the change to store after a session was opened. Returns `None` if there is no session store.
    pub(crate) fn created(session: &Arc<HttpSession>, id: &RequestId) -> Option<Box<Self>> {
        session.stored.as_ref()?;
        Some(Box::new(Self {
            session: Arc::clone(session),
            kind: SaveKind::Create,
            id: Some(id.clone()),
        }))
    }

    /// Returns the change to store after a message. Returns `None` if there is no session store.
    pub(crate) fn after(session: &Arc<HttpSession>, message: &Message<'_>) -> Option<Box<Self>> {
        session.stored.as_ref()?;
        let (name, id) = match message {
            Message::Request(request) => (&*request.method, Some(request.id.clone())),
            Message::Notification(notification) => (&*notification.method, None),
            Message::Response(_) => return None,
        };
        let kind = match name {
            method::LOGGING_SET_LEVEL
            | method::RESOURCES_SUBSCRIBE
            | method::RESOURCES_UNSUBSCRIBE
            | method::NOTIFICATIONS_INITIALIZED => SaveKind::Change,
            _ => SaveKind::Other,
        };
        Some(Box::new(Self {
            session: Arc::clone(session),
            kind,
            id,
        }))
    }

    /// Returns the change to store after a batch. Returns `None` if there is no session store.
    pub(crate) fn after_batch(session: &Arc<HttpSession>) -> Option<Box<Self>> {
        session.stored.as_ref()?;
        Some(Box::new(Self {
            session: Arc::clone(session),
            kind: SaveKind::Other,
            id: None,
        }))
    }

    /// Stores the changes of the session.
    ///
    /// # Errors
    /// The state could not be stored. The client must send the message again.
    pub(super) async fn run(
        self,
        store: &StoreClient,
        table: &SessionTable,
    ) -> Result<(), Refusal> {
        let Self { session, kind, id } = self;
        let Some(stored) = session.stored.as_deref() else {
            return Ok(());
        };
        let saved = match kind {
            SaveKind::Create => store.create(&session, stored).await,
            _ if !is_changed(&session, stored) => return Ok(()),
            _ => store.renew(&session, stored).await,
        };
        let Err(error) = saved else {
            return Ok(());
        };
        let id_in_table = &stored.lease.session;
        if kind == SaveKind::Create {
            if table.remove_same(id_in_table, &session) {
                session.close(&Closed::protocol("the session could not be stored"));
            }
        } else if error.kind() == Kind::LeaseLost {
            table.yield_session(id_in_table, &session);
        }
        if kind == SaveKind::Other {
            tracing::warn!(%error, "the state of a session was not stored; the next request stores it");
            return Ok(());
        }
        Err(unavailable(&error).with_id(id))
    }
}
