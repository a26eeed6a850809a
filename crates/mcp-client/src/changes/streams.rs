//! The streams of a client, and the moves of resources between streams.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use mcp_protocol::lock;

use super::opener::OnChangesEnded;
use super::stream::ChangeStream;
use super::table::Subscriptions;
use super::wanted::{ListenError, MAX_RESOURCES, ResourceState};

/// Maximum number of streams of a client.
const MAX_STREAMS: usize = 256;
const CLOSED: &str = "the connection ended";
const NO_ROOM: &str = "the server did not acknowledge the subscription in time, and other subscriptions need its stream";
/// Counter for the keys that identify wanted resources.
static KEYS: AtomicU64 = AtomicU64::new(0);

/// The list of streams of a client.
pub(super) struct StreamList {
    /// The streams, at least one. The first stream also covers list changes.
    pub(super) streams: Mutex<Vec<Arc<ChangeStream>>>,
    pub(super) subscriptions: Arc<Subscriptions>,
    pub(super) on_end: Option<OnChangesEnded>,
}

/// A guard for a resource that the client wants on a stream. Dropping the guard ends the subscription.
pub(crate) struct StreamResource {
    streams: Arc<StreamList>,
    uri: Arc<str>,
    key: u64,
}

impl StreamResource {
    /// Waits until the server has acknowledged the resource. Returns an error if the server refuses the resource. Cancel safe.
    pub(crate) async fn wait_watched(&self) -> Result<(), ListenError> {
        let ended = |reason: &str| Err(ListenError::Ended(reason.to_owned()));
        while let Some(stream) = self.streams.stream_of(&self.uri, self.key) {
            let mut wanted = stream.wanted.subscribe();
            let settled = wanted.wait_for(|wanted| wanted.is_closed || !wanted.is_new(&self.uri));
            // The sender lives as long as the stream.
            let Ok(wanted) = settled.await else {
                return ended(CLOSED);
            };
            match wanted.resources.get(&self.uri).map(|known| &known.state) {
                Some(ResourceState::Refused(error)) => return Err(error.clone()),
                _ if wanted.is_closed => return ended(CLOSED),
                Some(ResourceState::Watched) => return Ok(()),
                // The resource was moved to another stream, or was added again.
                Some(ResourceState::New) | None => {}
            }
        }
        ended(NO_ROOM)
    }
}

impl Drop for StreamResource {
    fn drop(&mut self) {
        let streams = lock(&self.streams.streams);
        let mut all = streams.iter();
        if let Some(stream) = all.find(|stream| stream.has(&self.uri, self.key)) {
            stream.leave(&self.uri);
        }
    }
}

impl StreamList {
    pub(super) fn new(
        subscriptions: Arc<Subscriptions>,
        on_end: Option<OnChangesEnded>,
    ) -> Arc<Self> {
        let list = Arc::new(Self {
            streams: Mutex::default(),
            subscriptions,
            on_end,
        });
        list.reopen();
        list
    }

    /// Replaces all streams with one new, unused stream.
    pub(super) fn reopen(self: &Arc<Self>) {
        *lock(&self.streams) = vec![ChangeStream::new(self)];
    }

    fn stream_of(&self, uri: &str, key: u64) -> Option<Arc<ChangeStream>> {
        let streams = lock(&self.streams);
        let mut all = streams.iter();
        all.find(|stream| stream.has(uri, key)).map(Arc::clone)
    }

    /// Adds a resource to the stream that already covers it, or to the first stream that is not full. Returns the stream. The
    /// caller must start the stream.
    ///
    /// # Errors
    /// All streams are full.
    pub(super) fn want(
        self: &Arc<Self>,
        uri: &Arc<str>,
    ) -> Result<(Arc<ChangeStream>, StreamResource), ListenError> {
        let mut streams = lock(&self.streams);
        let known = streams.iter().find(|stream| stream.wants(uri));
        let found = known.or_else(|| streams.iter().find(|stream| stream.has_room(uri)));
        let found = found.map(Arc::clone);
        let stream = found.or_else(|| self.unused(&mut streams)).ok_or_else(|| {
            ListenError::Ended(format!(
                "{MAX_STREAMS} streams of up to {MAX_RESOURCES} resources are open, which is the limit of a client; \
                 end subscriptions first"
            ))
        })?;
        let resource = StreamResource {
            key: stream.want(uri, KEYS.fetch_add(1, Ordering::Relaxed)),
            streams: Arc::clone(self),
            uri: Arc::clone(uri),
        };
        Ok((stream, resource))
    }

    /// Moves each resource to a separate stream, because one of the resources may be the reason why the server does not keep
    /// their common stream open. Returns the new streams. The caller must start these streams.
    pub(super) fn separate(
        self: &Arc<Self>,
        from: &ChangeStream,
        uris: &[Arc<str>],
    ) -> Vec<Arc<ChangeStream>> {
        let mut streams = lock(&self.streams);
        let mut separated = Vec::new();
        for uri in uris.iter().filter(|uri| from.wants(uri)) {
            let Some(stream) = self.unused(&mut streams) else {
                from.refuse(&ListenError::Ended(NO_ROOM.to_owned()), |other, _| {
                    *other == **uri
                });
                continue;
            };
            if let Some(resource) = from.take(uri) {
                stream.put(uri, resource);
                separated.push(stream);
            }
        }
        separated
    }

    /// Returns a stream without resources. If the maximum number of streams is reached, ends the subscriptions of another stream:
    /// the stream that has waited longest for the server's acknowledgement.
    fn unused(self: &Arc<Self>, streams: &mut Vec<Arc<ChangeStream>>) -> Option<Arc<ChangeStream>> {
        let unused = streams.iter().skip(1).position(|stream| stream.is_unused());
        let stream = match unused {
            Some(at) => streams.remove(at + 1),
            None => {
                if streams.len() >= MAX_STREAMS {
                    let at = streams
                        .iter()
                        .skip(1)
                        .position(|stream| stream.is_failing())?;
                    streams.remove(at + 1).abandon(NO_ROOM);
                }
                ChangeStream::new(self)
            }
        };
        // The stream that was used last is at the end of the list.
        streams.push(Arc::clone(&stream));
        Some(stream)
    }
}
