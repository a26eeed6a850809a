//! Calls of the session store. Their duration and their number are limited.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::Uri;
use mcp_protocol::task::Timestamp;
use mcp_protocol::{BoxFuture, LogLimit, Service};
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::timeout;

use crate::permit::Capacity;
use crate::permit::share::KnownOwner;
use crate::server::options::ServerOptions;
use crate::server::response::refusal::Refusal;
use crate::server::session::HttpSession;
use crate::server::session::lease::StoredSession;
use crate::server::session_id::SessionId;
use crate::server::session_store::{
    EndpointId, SessionLease, SessionRecord, SessionStore, SessionStoreError,
    SessionStoreErrorKind as Kind,
};

/// Number of locks for claims. With the locks, concurrent requests claim a session only once.
const CLAIM_LOCKS: usize = 64;

/// Number of steps into which the idle timeout is divided. The expiry of an idle session is rounded to a step, so most renewals
/// do not change the expiry.
const EXPIRY_STEPS: u32 = 8;

/// Interval at which the leases of sessions with an open stream or a running request are renewed.
const RENEWAL_INTERVAL: Duration = Duration::from_secs(10);

/// The session store of an endpoint, with limits on its use.
pub(crate) struct StoreClient {
    store: Arc<dyn SessionStore>,
    /// The server, which signs the records.
    service: Arc<dyn Service>,
    owner: EndpointId,
    options: Arc<ServerOptions>,
    calls: Capacity,
    log: LogLimit,
    claims: [Mutex<()>; CLAIM_LOCKS],
}

/// How long a confirmed lease is used without another check, if forwarding is enabled.
const LEASE_CHECK_INTERVAL: Duration = Duration::from_secs(1);

type Result<T> = std::result::Result<T, SessionStoreError>;

impl StoreClient {
    /// Creates the store client of an endpoint. Returns `None` if the endpoint has no session store.
    ///
    /// # Errors
    /// The operating system has no random numbers.
    pub(crate) fn of(
        options: &Arc<ServerOptions>,
        service: &Arc<dyn Service>,
    ) -> std::result::Result<Option<Arc<Self>>, getrandom::Error> {
        let Some(store) = options.stored.store.as_ref().filter(|_| options.sessions) else {
            return Ok(None);
        };
        Ok(Some(Arc::new(Self {
            store: Arc::clone(store),
            service: Arc::clone(service),
            owner: EndpointId::random()?,
            options: Arc::clone(options),
            calls: Capacity::with_shares(
                options.session_limits.max_store_calls,
                options.client_share_percent,
            ),
            log: LogLimit::default(),
            claims: std::array::from_fn(|_| Mutex::new(())),
        })))
    }

    /// Creates the lease and other store data of a new session.
    pub(crate) fn new_session(&self, id: SessionId, event_tag: u64) -> StoredSession {
        let lease = SessionLease::first(id, self.owner);
        StoredSession::new(lease, now(), event_tag, Duration::ZERO)
    }

    /// Creates the lease and other store data of a session that this endpoint has claimed.
    pub(crate) fn claimed_session(
        &self,
        lease: SessionLease,
        record: &SessionRecord,
    ) -> StoredSession {
        let age = now().since(record.created());
        StoredSession::new(lease, record.created(), record.event_tag(), age)
    }

    /// Waits until no other request is claiming the session, and locks out other claims.
    pub(crate) async fn claim_lock(&self, id: &SessionId) -> Result<MutexGuard<'_, ()>> {
        self.lock(&self.claims[usize::from(id.shard_byte()) % CLAIM_LOCKS])
            .await
    }

    async fn lock<'a>(&self, lock: &'a Mutex<()>) -> Result<MutexGuard<'a, ()>> {
        let limit = self.options.timeouts.session_store;
        timeout(limit, lock.lock())
            .await
            .map_err(|_| timed_out(limit))
    }

    /// Returns the record of a session without claiming the session. Returns `None` if the session has reached its maximum
    /// lifetime, or if its record is not [authentic](Self::is_authentic).
    pub(crate) async fn load(
        &self,
        id: SessionId,
        client: Option<&KnownOwner>,
    ) -> Result<Option<SessionRecord>> {
        let record = self.call(client, |store| store.load(id, now())).await?;
        let max_age = self.options.timeouts.session_lifetime;
        Ok(record
            .filter(|record| now().since(record.created()) < max_age)
            .filter(|record| self.is_authentic(&id, record)))
    }

    /// Claims a session. Returns `None` if its record is not [authentic](Self::is_authentic).
    pub(crate) async fn claim(
        &self,
        id: SessionId,
        client: Option<&KnownOwner>,
    ) -> Result<Option<(SessionLease, SessionRecord)>> {
        let claimed = self.call(client, |store| store.claim(id, self.owner, now()));
        let claimed = claimed.await?;
        Ok(claimed.filter(|(_, record)| self.is_authentic(&id, record)))
    }

    /// Returns whether a process of this server has written the record. Without a shared key, this endpoint cannot check the
    /// record, and returns `true`.
    fn is_authentic(&self, id: &SessionId, record: &SessionRecord) -> bool {
        let is_authentic = !self.service.has_shared_key() || self.has_signed(id, record);
        if !is_authentic && let Some(omitted) = self.log.admit(std::time::Instant::now()) {
            tracing::warn!(
                omitted,
                "a stored session is not continued, because its record was not signed with the state keys of this server; use the \
                 same keys in all processes, and keep old keys as previous ones"
            );
        }
        is_authentic
    }

    fn has_signed(&self, id: &SessionId, record: &SessionRecord) -> bool {
        let code = record.code().unwrap_or_default();
        self.service
            .has_signed(&signed_parts(id, record.text()), code)
    }

    /// Stores a new session.
    pub(crate) async fn create(&self, session: &HttpSession, stored: &StoredSession) -> Result<()> {
        let _saving = self.lock(&stored.saving).await?;
        let changes = session.inbound.session().changes();
        let Some(record) = self.record(session, stored) else {
            return Err(SessionStoreError::lease_lost());
        };
        let expires = self.expiry(session, stored);
        self.call(session.owner(), |store| {
            store.create(stored.lease, record, expires, now())
        })
        .await?;
        stored.saved.store(changes, Ordering::Release);
        stored.confirm();
        Ok(())
    }

    /// Checks that this endpoint has the lease of a session, and stores its state if it has changed.
    pub(crate) async fn renew(&self, session: &HttpSession, stored: &StoredSession) -> Result<()> {
        if !is_changed(session, stored) {
            let expires = self.expiry(session, stored);
            self.call(session.owner(), |store| {
                store.renew(stored.lease, expires, now())
            })
            .await?;
            stored.confirm();
            return Ok(());
        }
        self.update(session, stored).await
    }

    /// Stores the state of a session.
    pub(crate) async fn update(&self, session: &HttpSession, stored: &StoredSession) -> Result<()> {
        let _saving = self.lock(&stored.saving).await?;
        let changes = session.inbound.session().changes();
        let Some(record) = self.record(session, stored) else {
            return Err(SessionStoreError::lease_lost());
        };
        let expires = self.expiry(session, stored);
        self.call(session.owner(), |store| {
            store.update(stored.lease, record, expires, now())
        })
        .await?;
        stored.saved.store(changes, Ordering::Release);
        stored.confirm();
        Ok(())
    }

    /// Returns whether the lease of a session was confirmed so recently that it is not checked again. Returns `false` if
    /// forwarding is disabled, because other endpoints can then claim the session at any time.
    pub(crate) fn is_fresh(&self, session: &HttpSession, stored: &StoredSession) -> bool {
        self.options.stored.address.is_some()
            && stored.unconfirmed() < LEASE_CHECK_INTERVAL
            && !is_changed(session, stored)
    }

    /// Returns the address of the endpoint that serves a session, if it is another endpoint. Ignores an address without a valid
    /// signature of this server, because requests would be sent to this address with their tokens.
    pub(crate) fn other_address(&self, id: &SessionId, record: &SessionRecord) -> Option<Uri> {
        let own = self.options.stored.address.as_ref()?;
        let address = record.address()?;
        let other: Uri = address.parse().ok()?;
        if other == *own {
            return None;
        }
        // With a shared key, the record was verified when it was loaded.
        if !self.service.has_shared_key() && !self.has_signed(id, record) {
            tracing::warn!(
                "a request is not forwarded, because the record of its session was not signed with the state keys of this \
                 server; use the same keys in all processes"
            );
            return None;
        }
        Some(other)
    }

    /// Returns whether a record contains the address of another endpoint. The record has no address if the session was opened
    /// without forwarding.
    pub(crate) fn has_other_address(&self, record: &SessionRecord) -> bool {
        self.own_address().as_deref() != record.address()
    }

    /// Returns whether the lease of a session must be renewed: it was not confirmed recently, and the session is in use or has
    /// unsaved changes.
    pub(crate) fn is_due(&self, session: &HttpSession) -> bool {
        let Some(stored) = &session.stored else {
            return false;
        };
        let interval = RENEWAL_INTERVAL.min(self.options.timeouts.session_idle / 4);
        (session.is_active() || is_changed(session, stored)) && stored.unconfirmed() >= interval
    }

    /// Removes a session.
    pub(crate) async fn remove(
        &self,
        lease: SessionLease,
        client: Option<&KnownOwner>,
    ) -> Result<()> {
        self.call(client, |store| store.remove(lease, now())).await
    }

    /// Returns the time at which a session expires if it is not used again.
    fn expiry(&self, session: &HttpSession, stored: &StoredSession) -> Timestamp {
        let options = &self.options;
        let idle = if session.inbound.session().is_open() {
            options.timeouts.session_idle
        } else {
            options
                .timeouts
                .handshake
                .min(options.timeouts.session_idle)
        };
        let step = (idle / EXPIRY_STEPS).as_millis().max(1);
        let step = u64::try_from(step).unwrap_or(u64::MAX);
        let expires = now().after(idle).as_millis();
        let expires = expires.checked_next_multiple_of(step).unwrap_or(u64::MAX);
        Timestamp::from_millis(expires).min(stored.created.after(options.timeouts.session_lifetime))
    }

    /// Returns the address at which other endpoints reach this endpoint, if forwarding is enabled.
    fn own_address(&self) -> Option<String> {
        let own = self.options.stored.address.as_ref();
        own.map(ToString::to_string)
    }

    /// Returns the record of a session. Returns `None` if the session has ended.
    fn record(&self, session: &HttpSession, stored: &StoredSession) -> Option<SessionRecord> {
        let state = session.inbound.session().state()?;
        session.streams.closed().is_none().then(|| {
            SessionRecord::new(
                stored.created,
                session.principal.as_ref(),
                stored.event_tag,
                self.own_address(),
                state,
            )
            .with_code(|text| {
                self.service
                    .sign(&signed_parts(&stored.lease.session, text))
            })
        })
    }

    /// Makes a call to the store for a client, within the limits on time and number.
    async fn call<'a, T>(
        &'a self,
        client: Option<&KnownOwner>,
        start: impl FnOnce(&'a dyn SessionStore) -> BoxFuture<'a, Result<T>>,
    ) -> Result<T> {
        let limit = self.options.timeouts.session_store;
        let Ok(_permit) = self.calls.try_acquire_for(|| client.cloned()) else {
            return Err(SessionStoreError::new(
                Kind::Unavailable,
                format!(
                    "too many concurrent calls of the session store: all {} are in use \
                     (SessionLimits::max_store_calls), or this client already uses its share of them",
                    self.options.session_limits.max_store_calls
                ),
            ));
        };
        timeout(limit, start(&*self.store))
            .await
            .unwrap_or_else(|_| Err(timed_out(limit)))
    }
}

fn timed_out(limit: Duration) -> SessionStoreError {
    let message = format!(
        "the session store did not answer within {limit:?} \
         (ServerTimeouts::session_store)"
    );
    SessionStoreError::new(Kind::Unavailable, message)
}

/// Returns whether the state of a session has changed since it was last stored.
pub(crate) fn is_changed(session: &HttpSession, stored: &StoredSession) -> bool {
    session.inbound.session().changes() != stored.saved.load(Ordering::Acquire)
}

/// Returns the data that the authentication code of a record covers.
fn signed_parts<'a>(id: &'a SessionId, text: &'a [u8]) -> [&'a [u8]; 3] {
    [b"record of a session", id.as_bytes(), text]
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Timestamp::default().after(since.unwrap_or_default())
}

/// Returns the error response for a request whose session cannot be loaded or stored.
pub(super) fn unavailable(error: &SessionStoreError) -> Refusal {
    tracing::error!(%error, "the session store failed");
    Refusal::busy("the session cannot be loaded or stored; retry later")
}
