//! One stream of change notifications on the stateless revision.
//!
//! [`ChangeStream`] holds the wanted changes and the open requests for these changes. The background task in `keep` sends the
//! requests.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use mcp_jsonrpc::RequestId;
use mcp_types::v2026_07_28::SubscriptionFilter;
use tokio::sync::watch;

use super::keep;
use super::opener::{OnChangesEnded, OpenStream};
use super::request::{OpenEntries, OpenEntry};
use super::streams::StreamList;
use super::table::Subscriptions;
use super::wanted::{
    ListenError, RequestedChanges, ResourceState, WantedChanges, WantedResource, missing,
};

const NOT_SENT: &str = "the resource does not exist, this client may not read it, or the server does not send notifications for it";

/// The changes that the client wants to be notified of on one stream.
pub(crate) struct ChangeStream {
    pub(super) wanted: watch::Sender<WantedChanges>,
    /// The requests in flight: the current request and the request that is to replace it.
    pub(super) open: OpenEntries,
    pub(super) subscriptions: Arc<Subscriptions>,
    pub(super) on_end: Option<OnChangesEnded>,
    /// The list of all streams, which contains this stream.
    pub(super) list: Weak<StreamList>,
    is_running: AtomicBool,
}

impl ChangeStream {
    pub(super) fn new(list: &Arc<StreamList>) -> Arc<Self> {
        Arc::new(Self {
            wanted: watch::Sender::default(),
            open: OpenEntries::default(),
            subscriptions: Arc::clone(&list.subscriptions),
            on_end: list.on_end.clone(),
            list: Arc::downgrade(list),
            is_running: AtomicBool::new(false),
        })
    }

    /// Starts the background task that sends the requests, unless this task is already running.
    pub(super) fn start<T: OpenStream>(self: &Arc<Self>, opener: &Arc<T>) {
        if !self.is_running.swap(true, Ordering::AcqRel) {
            let opener: Weak<T> = Arc::downgrade(opener);
            tokio::spawn(keep::run(opener, Arc::clone(self)));
        }
    }

    pub(super) fn wants(&self, uri: &str) -> bool {
        self.wanted.borrow().resources.contains_key(uri)
    }

    /// Returns whether the client wants the resource `uri` with the key `key` on this stream.
    pub(super) fn has(&self, uri: &str, key: u64) -> bool {
        let wanted = self.wanted.borrow();
        wanted.resources.get(uri).is_some_and(|it| it.key == key)
    }

    pub(super) fn has_room(&self, uri: &str) -> bool {
        let wanted = self.wanted.borrow();
        wanted.is_closed || wanted.has_room(uri)
    }

    /// Returns whether the client wants neither resources nor lists on this stream.
    pub(super) fn is_unused(&self) -> bool {
        self.wanted.borrow().is_unused()
    }

    pub(super) fn is_failing(&self) -> bool {
        self.wanted.borrow().is_failing
    }

    /// Adds a subscription to a resource. Returns the key of the resource, which is `key` if the resource is new.
    pub(super) fn want(&self, uri: &Arc<str>, key: u64) -> u64 {
        let mut found = key;
        self.wanted.send_if_modified(|wanted| {
            let number = wanted.number + 1;
            let Some(known) = wanted.resources.get_mut(uri) else {
                wanted.is_failing &= !wanted.is_unused();
                wanted.add(Arc::clone(uri), key, 1);
                return true;
            };
            found = known.key;
            known.subscriptions += 1;
            // The resource is requested again, because the server might accept it now.
            let is_refused = matches!(known.state, ResourceState::Refused(_));
            if is_refused {
                (known.state, known.since) = (ResourceState::New, number);
                wanted.number = number;
            }
            is_refused
        });
        found
    }

    /// Ends a subscription to a resource.
    pub(super) fn leave(&self, uri: &str) {
        self.wanted.send_if_modified(|wanted| {
            let Some(known) = wanted.resources.get_mut(uri) else {
                return false;
            };
            known.subscriptions -= 1;
            if known.subscriptions > 0 {
                return false;
            }
            // A refused resource is not requested anyway.
            let is_requested = !matches!(known.state, ResourceState::Refused(_));
            wanted.resources.remove(uri);
            wanted.number += u64::from(is_requested);
            is_requested
        });
    }

    /// Removes and returns a resource that moves to another stream.
    pub(super) fn take(&self, uri: &str) -> Option<WantedResource> {
        let mut taken = None;
        self.wanted.send_modify(|wanted| {
            taken = wanted.resources.remove(uri);
            wanted.number += 1;
        });
        taken
    }

    /// Adds a resource that moves from another stream. This stream must be unused. No other resource is added until the server
    /// has acknowledged this resource.
    pub(super) fn put(&self, uri: &Arc<str>, resource: WantedResource) {
        self.wanted.send_modify(|wanted| {
            wanted.is_failing = true;
            wanted.add(Arc::clone(uri), resource.key, resource.subscriptions);
            if let Some(added) = wanted.resources.get_mut(uri) {
                added.state = resource.state;
            }
        });
    }

    /// Sets whether the stream has failed. No other resources are added to a failed stream.
    pub(super) fn set_failing(&self, is_failing: bool) {
        self.wanted.send_if_modified(|wanted| {
            wanted.is_failing = is_failing;
            false
        });
    }

    /// Ends all subscriptions of the stream, and the background task of the stream.
    pub(super) fn abandon(&self, reason: &str) {
        self.refuse(&ListenError::Ended(reason.to_owned()), |_, _| true);
        self.close();
    }

    /// Returns whether a request of this stream has the id `id`. If `id` is `None`, returns whether a request of this stream has
    /// no known id yet.
    pub(super) fn has_request(&self, id: Option<&RequestId>) -> bool {
        let open = self.open.borrow();
        open.iter().any(|entry| entry.id.get().as_ref() == id)
    }

    /// Handles the acknowledgement of a request.
    pub(super) fn on_acknowledged(&self, id: &RequestId, acknowledged: &SubscriptionFilter) {
        let mut asked = None;
        self.open.send_if_modified(|open| {
            let is_waiting = |entry: &&mut OpenEntry| entry.is(id) && !entry.is_acknowledged;
            let Some(entry) = open.iter_mut().find(is_waiting) else {
                return false;
            };
            let watched = acknowledged
                .resource_subscriptions
                .as_deref()
                .unwrap_or(&[]);
            let is_watched = |uri: &Arc<str>| watched.iter().any(|other| **other == **uri);
            asked = Some(entry.requested.clone());
            // The other resources are not requested again.
            entry.requested.resources.retain(is_watched);
            self.settle(asked.as_ref(), &entry.requested.resources, acknowledged);
            entry.is_acknowledged = true;
            true
        });
        if asked.is_none() {
            tracing::debug!(%id, "ignored an acknowledgement of an unknown subscription");
        }
    }

    /// Stores which of the requested changes the server acknowledged. Ends the subscriptions to the other changes.
    fn settle(
        &self,
        asked: Option<&RequestedChanges>,
        watched: &[Arc<str>],
        acknowledged: &SubscriptionFilter,
    ) {
        let Some(asked) = asked else { return };
        let refused = missing(asked, watched, acknowledged);
        if !refused.is_empty() {
            tracing::warn!(
                ?refused,
                "the server does not send notifications of these changes"
            );
        }
        self.wanted.send_modify(|wanted| {
            let mut lists = acknowledged.clone();
            lists.resource_subscriptions = None;
            wanted.acknowledged = Some(lists);
            wanted.is_failing = false;
            for uri in &asked.resources {
                let Some(known) = wanted.resources.get_mut(uri) else {
                    continue;
                };
                known.state = match watched.contains(uri) {
                    true => ResourceState::Watched,
                    false => {
                        self.subscriptions.end(uri);
                        ResourceState::Refused(ListenError::Ended(NOT_SENT.to_owned()))
                    }
                };
            }
        });
    }

    /// Ends the subscriptions to all resources for which `is_refused` returns `true`. The subscribers receive `error`.
    pub(super) fn refuse(
        &self,
        error: &ListenError,
        is_refused: impl Fn(&str, &WantedResource) -> bool,
    ) {
        self.wanted.send_modify(|wanted| {
            for (uri, resource) in &mut wanted.resources {
                if is_refused(uri, resource) {
                    tracing::warn!(?uri, ?error, "a resource is not watched");
                    resource.state = ResourceState::Refused(error.clone());
                    self.subscriptions.end(uri);
                }
            }
        });
    }

    /// Records that the server has ended the stream of the request `id`.
    pub(super) fn on_cancelled(&self, id: &RequestId) {
        self.open.send_if_modified(|open| {
            let has_id = |entry: &&mut OpenEntry| entry.id.get().as_ref() == Some(id);
            let entry = open.iter_mut().find(has_id);
            entry.map(|entry| entry.has_ended = true).is_some()
        });
    }

    /// Returns whether the request exists and the server has acknowledged it.
    pub(super) fn is_open(&self, id: &RequestId) -> bool {
        let open = self.open.borrow();
        let mut open = open.iter();
        open.any(|entry| entry.is(id) && entry.is_acknowledged && !entry.has_ended)
    }

    /// Ends all subscriptions, because the connection has ended.
    pub(super) fn close(&self) {
        self.wanted.send_modify(|wanted| wanted.is_closed = true);
    }
}
