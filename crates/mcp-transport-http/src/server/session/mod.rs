//! Sessions of an endpoint.

pub(crate) mod events;
pub(crate) mod lease;
pub(crate) mod replayed;
pub(crate) mod reservation;
pub(crate) mod stateless;
pub(crate) mod table;
pub(crate) mod usage;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use mcp_protocol::{
    Closed, Inbound as _, Incoming, Link, Principal, ServerSession, Service, guarded,
};
use tokio::time::Instant;

use crate::permit::Capacity;
use crate::permit::share::KnownOwner;
use crate::server::options::ServerOptions;
use crate::server::session::lease::StoredSession;
use crate::server::session::usage::Usage;
use crate::server::stream::{SessionIdentity, SessionStreams, Stream};

/// A session that a client opened with `initialize`. It is independent of connections and has no
/// task.
pub(crate) struct HttpSession {
    pub(crate) inbound: Arc<ServerSession>,
    pub(crate) incoming: Incoming,
    pub(crate) streams: Arc<SessionStreams>,
    pub(crate) standalone: Arc<Stream>,
    pub(crate) principal: Option<Principal>,
    /// The capacity for streams that are opened by GET.
    pub(crate) open_streams: Capacity,
    /// Number of running requests and open connections. The session does not expire while this number is greater than 0.
    active: AtomicUsize,
    created: Instant,
    /// Time of the last use, in milliseconds since this object was created.
    last_used: AtomicU64,
    /// The memory that is counted for the session, in bytes.
    memory: AtomicUsize,
    /// The additional state for the session store. `None` if the endpoint has no store ([`ServerOptions::with_session_store`]).
    pub(crate) stored: Option<Box<StoredSession>>,
}

impl HttpSession {
    /// Creates a session that waits for `initialize`. If `identity` is `None`, creates a session object that several clients
    /// share.
    pub(crate) fn new(
        inbound: Arc<ServerSession>,
        options: &Arc<ServerOptions>,
        responses: &Capacity,
        identity: Option<SessionIdentity>,
        principal: Option<Principal>,
        owner: Option<KnownOwner>,
        stored: Option<Box<StoredSession>>,
    ) -> Arc<Self> {
        let streams = SessionStreams::new(Arc::clone(options), responses.clone(), identity, owner);
        let standalone = Stream::for_session(&streams, principal.clone());
        let link: Arc<dyn Link> = Arc::<Stream>::clone(&standalone);
        inbound.opened(Arc::downgrade(&link));
        let now = Instant::now();
        let age = stored
            .as_ref()
            .map_or(Duration::ZERO, |stored| stored.initial_age);
        let created = now.checked_sub(age).unwrap_or(now);
        Arc::new(Self {
            inbound,
            incoming: Incoming::new(options.session_limits.max_in_flight_per_session),
            streams,
            standalone,
            principal,
            open_streams: Capacity::new(options.session_limits.max_streams_per_session),
            active: AtomicUsize::new(0),
            created,
            last_used: AtomicU64::new(as_millis(now.duration_since(created))),
            memory: AtomicUsize::new(Usage::SESSION.bytes),
            stored,
        })
    }

    /// Creates a session object for requests without a session id. If `revision` is `None`, the object serves the stateless
    /// revision.
    pub(crate) fn without_id(
        service: &Arc<dyn Service>,
        options: &Arc<ServerOptions>,
        responses: &Capacity,
        revision: Option<mcp_protocol::Revision>,
    ) -> Arc<Self> {
        let inbound = ServerSession::stateless(Arc::clone(service), revision);
        Self::new(inbound, options, responses, None, None, None, None)
    }

    /// Returns how much the session counts towards the limits on the number and memory of sessions.
    pub(crate) fn usage(&self) -> Usage {
        Usage {
            sessions: 1,
            bytes: self.memory.load(Ordering::Acquire),
        }
    }

    /// Sets the memory that is counted for the session.
    pub(crate) fn set_memory(&self, bytes: usize) {
        self.memory.store(bytes, Ordering::Release);
    }

    /// Returns the client that opened the session.
    pub(crate) fn owner(&self) -> Option<&KnownOwner> {
        self.streams.owner.as_ref()
    }

    /// Returns whether the session keeps state between requests.
    pub(crate) fn has_id(&self) -> bool {
        self.streams.identity.is_some()
    }

    /// Records that the session is used. Returns its age.
    pub(crate) fn touch(&self) -> Duration {
        let age = self.created.elapsed();
        self.last_used.store(as_millis(age), Ordering::Relaxed);
        age
    }

    /// Returns the time at which the session was last used, if the session may be ended to make room for other sessions. Returns
    /// `None` for a session that has a principal or is in use.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        let is_idle = self.active.load(Ordering::Acquire) == 0 && self.principal.is_none();
        let last_used = Duration::from_millis(self.last_used.load(Ordering::Relaxed));
        is_idle.then(|| self.created + last_used)
    }

    /// Returns a guard that keeps the session from expiring.
    pub(crate) fn activity_guard(self: &Arc<Self>) -> ActivityGuard {
        self.active.fetch_add(1, Ordering::SeqCst);
        self.touch();
        ActivityGuard(Arc::clone(self))
    }

    /// Returns the reason why the session has expired. Returns `None` if it has not expired.
    pub(crate) fn expiry_reason(&self, options: &ServerOptions) -> Option<&'static str> {
        let age = self.created.elapsed();
        // An open stream does not prolong the session.
        if age >= options.timeouts.session_lifetime && self.incoming.is_empty() {
            return Some("the session reached ServerTimeouts::session_lifetime");
        }
        if self.active.load(Ordering::Acquire) > 0 {
            return None;
        }
        let last_used = Duration::from_millis(self.last_used.load(Ordering::Relaxed));
        let idle = age.saturating_sub(last_used);
        if idle >= options.timeouts.session_idle {
            Some("the session was idle for ServerTimeouts::session_idle")
        } else if idle >= options.timeouts.handshake && !self.inbound.session().is_open() {
            Some("notifications/initialized was not received within ServerTimeouts::handshake")
        } else {
            None
        }
    }

    /// Stops serving a session that another endpoint has claimed. Ends the standalone stream, but lets running requests finish.
    /// [`SessionTable`](table::SessionTable) calls this method.
    pub(crate) fn stop_serving(&self) {
        tracing::debug!("another endpoint has claimed the session");
        if let Some(stored) = &self.stored {
            stored.release();
        }
        self.standalone.finish(None);
        if self.active.load(Ordering::SeqCst) == 0 {
            self.close_released();
        }
    }

    fn close_released(&self) {
        self.close(&Closed::protocol(
            "another endpoint has claimed the session",
        ));
    }

    /// Returns whether a running request or an open connection uses the session.
    pub(crate) fn is_active(&self) -> bool {
        self.active.load(Ordering::Acquire) > 0
    }

    /// Ends the session. Server requests fail, handlers are cancelled, and streams end.
    pub(crate) fn close(&self, reason: &Closed) {
        if !self.streams.close(reason) {
            return;
        }
        self.incoming.cancel_all();
        self.standalone.finish(None);
        if let (Some(identity), Some(store)) =
            (self.streams.identity, &self.streams.options.event_store)
            // The session may continue at another endpoint, with its earlier events.
            && (self.stored.is_none() || !store.is_shared())
        {
            store.forget_session(identity.event_key);
        }
        if guarded(|| self.inbound.closed(reason)).is_err() {
            tracing::error!("a handler panicked at the end of its session");
        }
    }
}

impl fmt::Debug for HttpSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSession")
            .field("running", &self.incoming.len())
            .field("active", &self.active)
            .finish_non_exhaustive()
    }
}

fn as_millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// A guard that keeps a session from expiring.
pub(crate) struct ActivityGuard(Arc<HttpSession>);

impl ActivityGuard {
    pub(crate) fn session(&self) -> &Arc<HttpSession> {
        &self.0
    }
}

impl Drop for ActivityGuard {
    fn drop(&mut self) {
        self.0.touch();
        let others = self.0.active.fetch_sub(1, Ordering::SeqCst) - 1;
        let stored = self.0.stored.as_ref();
        if others == 0 && stored.is_some_and(|stored| stored.is_released()) {
            self.0.close_released();
        }
    }
}
