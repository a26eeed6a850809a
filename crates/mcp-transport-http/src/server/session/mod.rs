//! One session of an endpoint: a small value, no task of its own.

pub(crate) mod id;
pub(crate) mod table;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use mcp_protocol::{
    Closed, Inbound as _, Incoming, Link, Principal, ServerSession, Service, guarded,
};
use tokio::time::Instant;

use crate::server::options::Options;
use crate::server::stream::{Identity, Stream, Streams};

/// One session: what a client opened with `initialize`, whatever connections it uses.
pub(crate) struct HttpSession {
    pub(crate) inbound: Arc<ServerSession>,
    pub(crate) incoming: Incoming,
    pub(crate) streams: Arc<Streams>,
    pub(crate) general: Arc<Stream>,
    pub(crate) principal: Option<Principal>,
    /// Streams open by GET.
    pub(crate) listeners: AtomicUsize,
    /// Requests that run and connections that are open: while there are any it does not expire.
    pins: AtomicUsize,
    born: Instant,
    /// When it was last used, in milliseconds after its birth.
    used: AtomicU64,
}

impl HttpSession {
    /// A session that waits for `initialize`, or one that is shared and kept nowhere.
    pub(crate) fn new(
        inbound: Arc<ServerSession>,
        options: &Arc<Options>,
        identity: Option<Identity>,
        principal: Option<Principal>,
    ) -> Arc<Self> {
        let streams = Streams::new(Arc::clone(options), identity);
        let general = Stream::of_session(&streams, principal.clone());
        let link: Arc<dyn Link> = Arc::<Stream>::clone(&general);
        inbound.opened(Arc::downgrade(&link));
        Arc::new(Self {
            inbound,
            incoming: Incoming::new(options.session_in_flight),
            streams,
            general,
            principal,
            listeners: AtomicUsize::new(0),
            pins: AtomicUsize::new(0),
            born: Instant::now(),
            used: AtomicU64::new(0),
        })
    }

    /// Whether anything is kept from one request to the next.
    pub(crate) fn is_kept(&self) -> bool {
        self.streams.identity.is_some()
    }

    pub(crate) fn touch(&self) {
        let used = self.born.elapsed().as_millis();
        self.used
            .store(u64::try_from(used).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Keeps it from expiring until the pin is dropped.
    pub(crate) fn pin(self: &Arc<Self>) -> Pin {
        self.pins.fetch_add(1, Ordering::AcqRel);
        self.touch();
        Pin(Arc::clone(self))
    }

    /// Why it should end now, if it should.
    pub(crate) fn expired(&self, options: &Options) -> Option<&'static str> {
        if self.pins.load(Ordering::Acquire) > 0 {
            return None;
        }
        let age = self.born.elapsed();
        let used = std::time::Duration::from_millis(self.used.load(Ordering::Relaxed));
        let idle = age.saturating_sub(used);
        if age >= options.lifetime {
            Some("the session is past Options::with_lifetime")
        } else if idle >= options.idle {
            Some("the session was idle for Options::with_idle")
        } else if idle >= options.handshake && !self.inbound.session().is_open() {
            Some("the handshake took longer than Options::with_handshake")
        } else {
            None
        }
    }

    /// Ends it: questions fail, handlers are cancelled, streams end.
    pub(crate) fn close(&self, reason: &Closed) {
        if !self.streams.close(reason) {
            return;
        }
        self.incoming.cancel_all();
        self.general.finish(None);
        if let (Some(identity), Some(store)) = (self.streams.identity, &self.streams.options.store)
        {
            store.forget_session(identity.id);
        }
        if guarded(|| self.inbound.closed(reason)).is_err() {
            tracing::error!("a handler panicked when its session ended");
        }
    }
}

impl fmt::Debug for HttpSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSession")
            .field("running", &self.incoming.len())
            .field("pins", &self.pins)
            .finish_non_exhaustive()
    }
}

/// Keeps a session from expiring.
pub(crate) struct Pin(Arc<HttpSession>);

impl Drop for Pin {
    fn drop(&mut self) {
        self.0.touch();
        self.0.pins.fetch_sub(1, Ordering::AcqRel);
    }
}

/// One of the streams a session may have open by GET.
pub(crate) struct Listener(Arc<HttpSession>);

impl Listener {
    pub(crate) fn open(session: &Arc<HttpSession>, limit: usize) -> Option<Self> {
        // The place exists first, so that a refused one is given back by its `Drop`.
        let listener = Self(Arc::clone(session));
        (session.listeners.fetch_add(1, Ordering::AcqRel) < limit).then_some(listener)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.listeners.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A session nobody keeps, for requests of a revision.
pub(crate) fn shared(
    service: &Arc<dyn Service>,
    options: &Arc<Options>,
    revision: Option<mcp_protocol::Revision>,
) -> Arc<HttpSession> {
    let inbound = ServerSession::stateless(Arc::clone(service), revision);
    HttpSession::new(inbound, options, None, None)
}
