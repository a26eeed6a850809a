//! Change notifications on the stateless revision. A few streams together cover all wanted changes.
//!
//! [`SubscriptionListener`] distributes the resources among the streams. The first stream also covers list changes.
//!
//! Specification: [subscriptions][spec].
//!
//! [spec]: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions

use std::sync::Arc;

use mcp_jsonrpc::RequestId;
use mcp_protocol::lock;
use mcp_types::ServerCapabilities;
use mcp_types::v2026_07_28::SubscriptionFilter;

use super::opener::{OnChangesEnded, OpenStream};
use super::streams::{StreamList, StreamResource};
use super::table::Subscriptions;
use super::wanted::{ListenError, is_empty};

/// The streams of a client.
pub(crate) struct SubscriptionListener(Arc<StreamList>);

impl SubscriptionListener {
    pub(crate) fn new(subscriptions: Arc<Subscriptions>, on_end: Option<OnChangesEnded>) -> Self {
        Self(StreamList::new(subscriptions, on_end))
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
        let first = Arc::clone(&lock(&self.0.streams)[0]);
        first.wanted.send_modify(|wanted| {
            wanted.lists = lists;
            wanted.number += 1;
        });
        first.start(opener);
    }

    /// Subscribes to a resource. Uses the stream that already covers the resource, or the first stream that is not full.
    ///
    /// # Errors
    /// All streams are full.
    pub(crate) fn want_resource<T: OpenStream>(
        &self,
        uri: &Arc<str>,
        opener: &Arc<T>,
    ) -> Result<StreamResource, ListenError> {
        let (stream, resource) = self.0.want(uri)?;
        stream.start(opener);
        Ok(resource)
    }

    /// Returns the changes that the server has acknowledged, on all streams together.
    pub(crate) fn acknowledged_filter(&self) -> Option<SubscriptionFilter> {
        let streams = lock(&self.0.streams);
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
    pub(crate) fn on_acknowledged(&self, id: &RequestId, acknowledged: &SubscriptionFilter) {
        let streams = lock(&self.0.streams);
        let find = |id| streams.iter().find(|stream| stream.has_request(id));
        let found = find(Some(id)).or_else(|| find(None)).map(Arc::clone);
        drop(streams);
        match found {
            Some(stream) => stream.on_acknowledged(id, acknowledged),
            None => tracing::debug!(%id, "ignored an acknowledgement of an unknown subscription"),
        }
    }

    /// Records that the server has ended the stream of the request `id`.
    pub(crate) fn on_cancelled(&self, id: &RequestId) {
        for stream in lock(&self.0.streams).iter() {
            stream.on_cancelled(id);
        }
    }

    /// Returns whether a stream has the request `id`, and the server has acknowledged this request.
    pub(crate) fn is_open(&self, id: Option<&RequestId>) -> bool {
        id.is_some_and(|id| {
            lock(&self.0.streams)
                .iter()
                .any(|stream| stream.is_open(id))
        })
    }

    /// Ends all subscriptions, because the connection has ended.
    pub(crate) fn close(&self) {
        for stream in lock(&self.0.streams).iter() {
            stream.close();
        }
    }

    /// Resets the state for a new connection. Call it only if the client wanted no changes on the old connection.
    pub(crate) fn reopen(&self) {
        self.0.reopen();
    }
}
