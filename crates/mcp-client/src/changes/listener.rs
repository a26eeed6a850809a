//! Change notifications on the stateless revision: a few streams for all wanted changes.
//!
//! [`SubscriptionListener`] spreads the resources over streams. The first one also has the changes of lists.
//!
//! Specification: [subscriptions][spec].
//!
//! [spec]: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_jsonrpc::RequestId;
use mcp_protocol::{Call, SentId, lock};
use mcp_types::ServerCapabilities;
use mcp_types::v2026_07_28::SubscriptionFilter;

use super::stream::{ChangeStream, StreamResource};
use super::table::Subscriptions;
use super::wanted::{ListenError, MAX_RESOURCES, is_empty};

/// Maximum number of streams of a client.
const MAX_STREAMS: usize = 256;

/// Opens `subscriptions/listen` streams. The client implements it; the listener must not keep the
/// client alive.
pub(crate) trait OpenStream: Send + Sync + 'static {
    /// Creates the request of a stream. Returns it with the timeout for its acknowledgement.
    fn open_stream(&self, filter: &SubscriptionFilter, id: SentId) -> Option<(Call, Duration)>;
}

/// The streams of a client.
pub(crate) struct SubscriptionListener {
    /// Never empty.
    streams: Mutex<Vec<Arc<ChangeStream>>>,
    subscriptions: Arc<Subscriptions>,
    on_end: Option<OnChangesEnded>,
}

/// A callback for the end of change notifications, with the reason.
pub(crate) type OnChangesEnded = Arc<dyn Fn(&str) + Send + Sync>;

impl SubscriptionListener {
    pub(crate) fn new(subscriptions: Arc<Subscriptions>, on_end: Option<OnChangesEnded>) -> Self {
        let first = ChangeStream::new(Arc::clone(&subscriptions), on_end.clone());
        Self {
            streams: Mutex::new(vec![first]),
            subscriptions,
            on_end,
        }
    }

    /// Subscribes to the lists whose changes the server announces.
    pub(crate) fn want_lists<T: OpenStream>(&self, server: &ServerCapabilities, opener: &Arc<T>) {
        let (tools, prompts) = (server.tools.as_ref(), server.prompts.as_ref());
        let resources = server.resources.as_ref();
        let if_true = |flag: Option<bool>| flag.filter(|flag| *flag);
        let mut lists = SubscriptionFilter::new();
        lists.tools_list_changed = if_true(tools.and_then(|tools| tools.list_changed));
        lists.prompts_list_changed = if_true(prompts.and_then(|prompts| prompts.list_changed));
        lists.resources_list_changed = if_true(resources.and_then(|all| all.list_changed));
        if is_empty(&lists) {
            return;
        }
        let first = Arc::clone(&lock(&self.streams)[0]);
        first.wanted.send_modify(|wanted| {
            wanted.lists = lists;
            wanted.number += 1;
        });
        first.start(opener);
    }

    /// Subscribes to a resource, on the stream that has it or on the first one with room.
    ///
    /// # Errors
    /// All streams are full.
    pub(crate) fn want_resource<T: OpenStream>(
        &self,
        uri: &Arc<str>,
        opener: &Arc<T>,
    ) -> Result<StreamResource, ListenError> {
        let mut streams = lock(&self.streams);
        let want = |stream: &Arc<ChangeStream>| Some((Arc::clone(stream), stream.want(uri)?));
        let known = streams.iter().filter(|stream| stream.wants(uri));
        let mut found = known.filter_map(want).next();
        found = found.or_else(|| streams.iter().find_map(want));
        if found.is_none() && streams.len() < MAX_STREAMS {
            let subscriptions = Arc::clone(&self.subscriptions);
            let stream = ChangeStream::new(subscriptions, self.on_end.clone());
            found = want(&stream);
            streams.push(stream);
        }
        drop(streams);
        let (stream, resource) = found.ok_or_else(|| {
            ListenError::Ended(format!(
                "{MAX_STREAMS} streams of up to {MAX_RESOURCES} resources are open, which is the limit of a client; \
                 end subscriptions first"
            ))
        })?;
        stream.start(opener);
        Ok(resource)
    }

    /// Returns the changes that the server has acknowledged on all streams.
    pub(crate) fn acknowledged_filter(&self) -> Option<SubscriptionFilter> {
        let streams = lock(&self.streams);
        let filters = streams
            .iter()
            .filter_map(|stream| stream.wanted.borrow().acknowledged());
        filters.reduce(|mut all, filter| {
            // Only the first stream has lists.
            let resources = filter.resource_subscriptions.into_iter().flatten();
            all.resource_subscriptions
                .get_or_insert_default()
                .extend(resources);
            all
        })
    }

    /// Handles the acknowledgement of a stream.
    pub(crate) fn on_acknowledged(&self, id: &RequestId, honoured: &SubscriptionFilter) {
        let streams = lock(&self.streams);
        let find = |id| streams.iter().find(|stream| stream.has_request(id));
        let found = find(Some(id)).or_else(|| find(None)).map(Arc::clone);
        drop(streams);
        match found {
            Some(stream) => stream.on_acknowledged(id, honoured),
            None => tracing::debug!(%id, "ignored an acknowledgement of an unknown subscription"),
        }
    }

    /// Handles the end of a stream by the server.
    pub(crate) fn on_cancelled(&self, id: &RequestId) {
        for stream in lock(&self.streams).iter() {
            stream.on_cancelled(id);
        }
    }

    /// Returns whether the stream exists and was acknowledged.
    pub(crate) fn is_open(&self, id: Option<&RequestId>) -> bool {
        id.is_some_and(|id| lock(&self.streams).iter().any(|stream| stream.is_open(id)))
    }

    /// Ends all subscriptions, because the connection has ended.
    pub(crate) fn close(&self) {
        for stream in lock(&self.streams).iter() {
            stream.close();
        }
    }

    /// Resets the state for a new connection. The old one ended before any changes were wanted.
    pub(crate) fn reopen(&self) {
        let first = ChangeStream::new(Arc::clone(&self.subscriptions), self.on_end.clone());
        *lock(&self.streams) = vec![first];
    }
}
