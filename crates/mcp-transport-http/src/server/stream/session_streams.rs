//! The state that the streams of one session share.

use std::collections::HashMap;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use mcp_protocol::{Closed, Outgoing};

use crate::permit::Capacity;
use crate::permit::share::KnownOwner;
use crate::server::event_store::StreamKey;
use crate::server::options::ServerOptions;
use crate::server::stream::Stream;
use crate::server::stream::identity::SessionIdentity;
use crate::sync::lock;

/// State that the streams of one session share.
pub(crate) struct SessionStreams {
    pub(crate) options: Arc<ServerOptions>,
    /// Limits the memory of responses and events that wait for their clients.
    pub(crate) responses: Capacity,
    /// The identity of the session. `None` if the endpoint keeps no state between requests.
    pub(crate) identity: Option<SessionIdentity>,
    /// The client that opened the session.
    pub(crate) owner: Option<KnownOwner>,
    pub(crate) outgoing: Outgoing,
    pub(super) next_number: AtomicU32,
    pub(super) open: Mutex<HashMap<u32, Weak<Stream>>>,
    closed: OnceLock<Closed>,
}

impl SessionStreams {
    pub(crate) fn new(
        options: Arc<ServerOptions>,
        responses: Capacity,
        identity: Option<SessionIdentity>,
        owner: Option<KnownOwner>,
    ) -> Arc<Self> {
        Arc::new(Self {
            outgoing: Outgoing::starting_after(
                options.session_limits.max_in_flight_per_session,
                identity.map_or(0, |identity| identity.last_request_id()),
            ),
            options,
            responses,
            identity,
            owner,
            next_number: AtomicU32::new(1),
            open: Mutex::default(),
            closed: OnceLock::new(),
        })
    }

    /// Returns the stream with this number if its call has not ended.
    pub(crate) fn find(&self, number: u32) -> Option<Arc<Stream>> {
        lock(&self.open).get(&number).and_then(Weak::upgrade)
    }

    /// Returns the key of a stream in the event store. Returns `None` if events are not stored.
    pub(crate) fn store_key(&self, stream: u32) -> Option<StreamKey> {
        self.options.event_store.as_ref()?;
        let session = self.identity?.event_key;
        Some(StreamKey { session, stream })
    }

    /// Ends all streams, so that nothing more is sent, and fails pending server requests with `reason`. Returns `false` if the
    /// streams had already ended.
    pub(crate) fn close(&self, reason: &Closed) -> bool {
        let first = self.closed.set(reason.clone()).is_ok();
        self.outgoing.close(reason);
        first
    }

    pub(crate) fn closed(&self) -> Option<&Closed> {
        self.closed.get()
    }
}
