//! One stream of change notifications on the stateless revision.
//!
//! [`ChangeStream`] holds the wanted changes and the open requests for them. The task in `keep` sends the
//! requests.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use mcp_jsonrpc::RequestId;
use mcp_protocol::SentId;
use mcp_types::v2026_07_28::SubscriptionFilter;
use tokio::sync::watch;

use super::keep;
use super::listener::{OnChangesEnded, OpenStream};
use super::table::Subscriptions;
use super::wanted::{
    ListenError, RequestedChanges, ResourceState, WantedChanges, WantedResource, missing,
};

const NOT_SENT: &str = "the server does not send notifications for it";
const CLOSED: &str = "the connection ended";

/// The changes that the client wants to be notified of on one stream.
pub(crate) struct ChangeStream {
    pub(super) wanted: watch::Sender<WantedChanges>,
    /// The requests in flight: the current one, and the one that will replace it.
    pub(super) open: watch::Sender<Vec<OpenEntry>>,
    pub(super) subscriptions: Arc<Subscriptions>,
    pub(super) on_end: Option<OnChangesEnded>,
    is_running: AtomicBool,
}

/// One request.
pub(super) struct OpenEntry {
    pub(super) key: u64,
    pub(super) id: SentId,
    pub(super) requested: RequestedChanges,
    pub(super) is_acknowledged: bool,
    /// Whether the server has ended the stream.
    pub(super) has_ended: bool,
}

/// A resource that is wanted on a stream, until this is dropped.
pub(crate) struct StreamResource {
    stream: Arc<ChangeStream>,
    uri: Arc<str>,
}

impl StreamResource {
    /// Waits until the server sends notifications for the resource. Cancel safe.
    pub(crate) async fn wait_watched(&self) -> Result<(), ListenError> {
        let ended = || Err(ListenError::Ended(CLOSED.to_owned()));
        let mut wanted = self.stream.wanted.subscribe();
        let settled = wanted.wait_for(|wanted| wanted.is_closed || !wanted.is_new(&self.uri));
        // The sender lives as long as the stream.
        let Ok(wanted) = settled.await else {
            return ended();
        };
        match wanted.resources.get(&self.uri).map(|known| &known.state) {
            Some(ResourceState::Refused(error)) => Err(error.clone()),
            Some(ResourceState::Watched) if !wanted.is_closed => Ok(()),
            _ => ended(),
        }
    }
}

impl Drop for StreamResource {
    fn drop(&mut self) {
        self.stream.wanted.send_if_modified(|wanted| {
            let Some(known) = wanted.resources.get_mut(&self.uri) else {
                return false;
            };
            known.subscriptions -= 1;
            if known.subscriptions > 0 {
                return false;
            }
            // A refused resource is not requested anyway.
            let is_requested = !matches!(known.state, ResourceState::Refused(_));
            wanted.resources.remove(&self.uri);
            wanted.number += u64::from(is_requested);
            is_requested
        });
    }
}

impl ChangeStream {
    pub(super) fn new(
        subscriptions: Arc<Subscriptions>,
        on_end: Option<OnChangesEnded>,
    ) -> Arc<Self> {
        Arc::new(Self {
            wanted: watch::Sender::default(),
            open: watch::Sender::default(),
            subscriptions,
            on_end,
            is_running: AtomicBool::new(false),
        })
    }

    /// Starts the task, unless it is running.
    pub(super) fn start<T: OpenStream>(self: &Arc<Self>, opener: &Arc<T>) {
        if !self.is_running.swap(true, Ordering::AcqRel) {
            let opener: Weak<T> = Arc::downgrade(opener);
            tokio::spawn(keep::run(opener, Arc::clone(self)));
        }
    }

    pub(super) fn wants(&self, uri: &str) -> bool {
        self.wanted.borrow().resources.contains_key(uri)
    }

    /// Adds a subscription to a resource. Returns `None` if the stream has no room for it.
    pub(super) fn want(self: &Arc<Self>, uri: &Arc<str>) -> Option<StreamResource> {
        let mut has_room = true;
        self.wanted.send_if_modified(|wanted| {
            let number = wanted.number + 1;
            if let Some(known) = wanted.resources.get_mut(uri) {
                known.subscriptions += 1;
                // The server may accept it now.
                if let ResourceState::Refused(_) = known.state {
                    (known.state, known.since) = (ResourceState::New, number);
                    wanted.number = number;
                    return true;
                }
                return false;
            }
            has_room = wanted.has_room(uri) || wanted.is_closed;
            if has_room {
                let resource = WantedResource {
                    subscriptions: 1,
                    since: number,
                    state: ResourceState::New,
                };
                wanted.resources.insert(Arc::clone(uri), resource);
                wanted.number = number;
            }
            has_room
        });
        has_room.then(|| StreamResource {
            stream: Arc::clone(self),
            uri: Arc::clone(uri),
        })
    }

    /// Returns whether there is a request with this id; `None` if a request has no id yet.
    pub(super) fn has_request(&self, id: Option<&RequestId>) -> bool {
        let open = self.open.borrow();
        open.iter().any(|entry| entry.id.get().as_ref() == id)
    }

    /// Handles the acknowledgement of a request.
    pub(super) fn on_acknowledged(&self, id: &RequestId, honoured: &SubscriptionFilter) {
        let mut asked = None;
        self.open.send_if_modified(|open| {
            let is_waiting = |entry: &&mut OpenEntry| entry.is(id) && !entry.is_acknowledged;
            let Some(entry) = open.iter_mut().find(is_waiting) else {
                return false;
            };
            let watched = honoured.resource_subscriptions.as_deref().unwrap_or(&[]);
            let is_watched = |uri: &Arc<str>| watched.iter().any(|other| **other == **uri);
            asked = Some(entry.requested.clone());
            // The other resources are not requested again.
            entry.requested.resources.retain(is_watched);
            self.settle(asked.as_ref(), &entry.requested.resources, honoured);
            entry.is_acknowledged = true;
            true
        });
        if asked.is_none() {
            tracing::debug!(%id, "ignored an acknowledgement of an unknown subscription");
        }
    }

    /// Stores which of the requested changes the server sends.
    fn settle(
        &self,
        asked: Option<&RequestedChanges>,
        watched: &[Arc<str>],
        honoured: &SubscriptionFilter,
    ) {
        let Some(asked) = asked else { return };
        let refused = missing(asked, watched, honoured);
        if !refused.is_empty() {
            tracing::warn!(
                ?refused,
                "the server does not send notifications of these changes"
            );
        }
        self.wanted.send_modify(|wanted| {
            let mut lists = honoured.clone();
            lists.resource_subscriptions = None;
            wanted.honoured = Some(lists);
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

    /// Ends the subscriptions to those resources for which the server sends no notifications.
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

    /// Handles the end of a stream by the server.
    pub(super) fn on_cancelled(&self, id: &RequestId) {
        self.open.send_if_modified(|open| {
            let has_id = |entry: &&mut OpenEntry| entry.id.get().as_ref() == Some(id);
            let entry = open.iter_mut().find(has_id);
            entry.map(|entry| entry.has_ended = true).is_some()
        });
    }

    /// Returns whether the request exists and was acknowledged.
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

impl OpenEntry {
    /// Returns whether this is the request with the id. A transport that does not report ids has
    /// only one stream at a time.
    fn is(&self, id: &RequestId) -> bool {
        self.id.get().is_none_or(|own| own == *id)
    }
}
