//! Renews the leases of sessions.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;

use crate::server::cluster::store_client::StoreClient;
use crate::server::session::HttpSession;
use crate::server::session::table::{Leases, SessionTable};
use crate::server::session_id::SessionId;
use crate::server::session_store::{SessionStoreError, SessionStoreErrorKind as Kind};

/// Maximum number of leases that are renewed at the same time.
const MAX_RENEWALS: usize = 64;

/// Maximum time of one round of renewals. Leases that are not renewed in this time are renewed in a later round.
const RENEWAL_ROUND: Duration = Duration::from_secs(10);

/// Checks with the session store that this endpoint has the lease of a session. If it does not, removes the session from the
/// table.
///
/// # Errors
/// The store failed. The session then continues.
pub(super) async fn renew(
    store: &StoreClient,
    table: &SessionTable,
    id: &SessionId,
    session: &Arc<HttpSession>,
) -> Result<bool, SessionStoreError> {
    let Some(stored) = &session.stored else {
        return Ok(true);
    };
    if store.is_fresh(session, stored) {
        return Ok(true);
    }
    match store.renew(session, stored).await {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == Kind::LeaseLost => {
            table.yield_session(id, session);
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

impl Leases for StoreClient {
    /// Renews the leases of sessions that are in use although their clients send no requests, so that these sessions do not
    /// expire in the store. Ends the sessions that another endpoint has claimed. Continues with the remaining sessions if one
    /// lease cannot be renewed.
    async fn renew(self: &Arc<Self>, table: &Arc<SessionTable>) {
        self.remove_evicted(table).await;
        let mut due = table.select(|session| self.is_due(session));
        // Each round begins with another session, because a round may end before all sessions are renewed.
        let start = getrandom::u64().unwrap_or(0) % (due.len() as u64).max(1);
        due.rotate_left(usize::try_from(start).unwrap_or(0));
        let (mut renewals, mut failures) = (JoinSet::new(), Vec::new());
        let began = Instant::now();
        for (id, session) in due {
            if renewals.len() >= MAX_RENEWALS {
                failures.extend(renewals.join_next().await.and_then(failure));
            }
            if began.elapsed() >= RENEWAL_ROUND {
                break;
            }
            let (store, table) = (Arc::clone(self), Arc::clone(table));
            renewals.spawn(async move {
                match session.upgrade() {
                    Some(session) => renew(&store, &table, &id, &session).await,
                    None => Ok(false),
                }
            });
        }
        while let Some(ended) = renewals.join_next().await {
            failures.extend(failure(ended));
        }
        if let Some(error) = failures.first() {
            tracing::warn!(%error, sessions = failures.len(), "failed to renew the leases of sessions");
        }
    }
}

impl StoreClient {
    /// Removes from the store the sessions that this endpoint has ended to make room for other sessions. Otherwise, a client
    /// could fill the store. A session that cannot be removed in time expires in the store.
    async fn remove_evicted(self: &Arc<Self>, table: &SessionTable) {
        let mut removals = JoinSet::new();
        let began = Instant::now();
        for (lease, client) in table.take_evicted() {
            if removals.len() >= MAX_RENEWALS {
                removals.join_next().await;
            }
            if began.elapsed() >= RENEWAL_ROUND {
                break;
            }
            let store = Arc::clone(self);
            removals.spawn(async move {
                if let Err(error) = store.remove(lease, client.as_ref()).await {
                    tracing::debug!(%error, "an ended session stays in the store until it expires");
                }
            });
        }
        removals.join_all().await;
    }
}

/// Returns the error of the store if a lease could not be renewed.
fn failure(ended: Result<Result<bool, SessionStoreError>, JoinError>) -> Option<SessionStoreError> {
    ended.ok()?.err()
}
