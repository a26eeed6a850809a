//! What the streams of one session have in common.

use std::collections::HashMap;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use mcp_protocol::{Closed, Outgoing};

use super::id::SessionId;
use super::lock;
use super::options::Options;
use super::store::StreamKey;
use super::stream::Stream;

/// What the streams of one session share.
pub(crate) struct Streams {
    pub(crate) options: Arc<Options>,
    /// None where nothing is kept between requests.
    pub(crate) identity: Option<Identity>,
    pub(crate) outgoing: Outgoing,
    pub(super) next: AtomicU32,
    pub(super) live: Mutex<HashMap<u32, Weak<Stream>>>,
    closed: OnceLock<Closed>,
}

/// Who a session is, and the secret in its event ids.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Identity {
    pub(crate) id: SessionId,
    pub(crate) tag: u64,
}

impl Streams {
    pub(crate) fn new(options: Arc<Options>, identity: Option<Identity>) -> Arc<Self> {
        Arc::new(Self {
            outgoing: Outgoing::new(options.session_in_flight),
            options,
            identity,
            next: AtomicU32::new(1),
            live: Mutex::default(),
            closed: OnceLock::new(),
        })
    }

    /// The stream of this number, if somebody still speaks on it.
    pub(crate) fn find(&self, number: u32) -> Option<Arc<Stream>> {
        lock(&self.live).get(&number).and_then(Weak::upgrade)
    }

    /// What events of this stream are kept under, if they are.
    pub(crate) fn key(&self, stream: u32) -> Option<StreamKey> {
        self.options.store.as_ref()?;
        let session = self.identity?.id;
        Some(StreamKey { session, stream })
    }

    /// Nothing is sent from now on, and every question fails with the reason.
    pub(crate) fn close(&self, reason: &Closed) -> bool {
        let first = self.closed.set(reason.clone()).is_ok();
        self.outgoing.close(reason);
        first
    }

    pub(crate) fn closed(&self) -> Option<&Closed> {
        self.closed.get()
    }
}
