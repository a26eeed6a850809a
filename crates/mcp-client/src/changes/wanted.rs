//! The changes that a client wants to be notified of on one stream, and the changes that the server has acknowledged.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp_jsonrpc::ErrorObject;
use mcp_types::v2026_07_28::SubscriptionFilter;

/// Maximum number of resources on one stream. For each new resource, the client sends a request that contains all resources of
/// the stream. A server that refuses the new resource refuses this whole request.
pub(super) const MAX_RESOURCES: usize = 32;
/// Maximum total size of the URIs of the resources on one stream, in bytes.
const MAX_RESOURCE_BYTES: usize = 16 << 10;

/// The wanted changes of one stream. `number` counts the modifications of this value.
#[derive(Debug, Clone, Default)]
pub(super) struct WantedChanges {
    pub(super) number: u64,
    pub(super) lists: SubscriptionFilter,
    /// The list changes that the server has acknowledged; `None` before it has acknowledged a request.
    pub(super) acknowledged: Option<SubscriptionFilter>,
    pub(super) resources: BTreeMap<Arc<str>, WantedResource>,
    pub(super) is_closed: bool,
    /// Whether the server does not acknowledge the stream, or ends it at once. The client then adds no other resources to the
    /// stream.
    pub(super) is_failing: bool,
}

#[derive(Debug, Clone)]
pub(super) struct WantedResource {
    /// A key that identifies this subscription. A later subscription to the same URI has another key. The key stays the same when
    /// the resource moves to another stream.
    pub(super) key: u64,
    /// Number of subscriptions to the resource.
    pub(super) subscriptions: usize,
    /// The value of [`WantedChanges::number`] when the resource was added.
    pub(super) since: u64,
    pub(super) state: ResourceState,
}

#[derive(Debug, Clone)]
pub(super) enum ResourceState {
    New,
    Watched,
    Refused(ListenError),
}

/// The reason why the server sends no notifications for a resource.
#[derive(Debug, Clone)]
pub(crate) enum ListenError {
    /// The server rejected the subscription.
    Rejected(ErrorObject),
    /// The stream failed or has ended.
    Ended(String),
}

/// The changes that one request contains.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RequestedChanges {
    pub(super) lists: SubscriptionFilter,
    pub(super) resources: Vec<Arc<str>>,
}

impl WantedChanges {
    pub(super) fn is_new(&self, uri: &str) -> bool {
        let known = self.resources.get(uri);
        known.is_some_and(|known| matches!(known.state, ResourceState::New))
    }

    pub(super) fn has_room(&self, uri: &str) -> bool {
        let bytes: usize = self.resources.keys().map(|known| known.len()).sum();
        let has_room =
            self.resources.len() < MAX_RESOURCES && bytes + uri.len() <= MAX_RESOURCE_BYTES;
        match self.is_failing {
            true => self.is_unused(),
            false => self.resources.is_empty() || has_room,
        }
    }

    /// Returns whether the client wants no changes on this stream.
    pub(super) fn is_unused(&self) -> bool {
        self.resources.is_empty() && is_empty(&self.lists)
    }

    /// Adds a new resource.
    pub(super) fn add(&mut self, uri: Arc<str>, key: u64, subscriptions: usize) {
        self.number += 1;
        let resource = WantedResource {
            key,
            subscriptions,
            since: self.number,
            state: ResourceState::New,
        };
        self.resources.insert(uri, resource);
    }

    fn of_state(
        &self,
        is_asked: fn(&ResourceState) -> bool,
    ) -> impl Iterator<Item = (&Arc<str>, &WantedResource)> {
        let resources = self.resources.iter();
        resources.filter(move |(_, resource)| is_asked(&resource.state))
    }

    /// Returns the changes for the next request: all changes that the server has accepted, and the new changes. If
    /// `is_one_by_one`, includes only the oldest new change.
    pub(super) fn to_request(&self, is_one_by_one: bool) -> RequestedChanges {
        let is_watched = |state: &ResourceState| matches!(state, ResourceState::Watched);
        let is_accepted = |state: &ResourceState| !matches!(state, ResourceState::Refused(_));
        let lists = self.lists.clone();
        if !is_one_by_one {
            let resources = self.of_state(is_accepted);
            let resources = resources.map(|(uri, _)| Arc::clone(uri)).collect();
            return RequestedChanges { lists, resources };
        }
        let watched = self.of_state(is_watched);
        let mut resources: Vec<_> = watched.map(|(uri, _)| Arc::clone(uri)).collect();
        if !self.has_new_lists() {
            let new = self.of_state(|state| matches!(state, ResourceState::New));
            let oldest = new.min_by_key(|(_, resource)| resource.since);
            resources.extend(oldest.map(|(uri, _)| Arc::clone(uri)));
            resources.sort();
        }
        RequestedChanges { lists, resources }
    }

    pub(super) fn has_new_lists(&self) -> bool {
        self.acknowledged.is_none() && !is_empty(&self.lists)
    }

    /// Returns those of the requested resources that the server has not accepted yet.
    pub(super) fn new_of<'a>(&self, uris: &'a [Arc<str>]) -> Vec<&'a Arc<str>> {
        uris.iter().filter(|uri| self.is_new(uri)).collect()
    }

    /// Returns whether there are changes that the server has not accepted yet.
    pub(super) fn has_new(&self) -> bool {
        let mut new = self.of_state(|state| matches!(state, ResourceState::New));
        self.has_new_lists() || new.next().is_some()
    }

    /// Marks all changes as new. The server must accept them again.
    pub(super) fn renew(&mut self) {
        self.acknowledged = None;
        for resource in self.resources.values_mut() {
            if matches!(resource.state, ResourceState::Watched) {
                resource.state = ResourceState::New;
            }
        }
    }

    /// Returns the changes that the server has acknowledged.
    pub(super) fn acknowledged(&self) -> Option<SubscriptionFilter> {
        let mut filter = self.acknowledged.clone()?;
        let watched = self.of_state(|state| matches!(state, ResourceState::Watched));
        let watched: Vec<String> = watched.map(|(uri, _)| uri.to_string()).collect();
        filter.resource_subscriptions = (!watched.is_empty()).then_some(watched);
        Some(filter)
    }
}

impl RequestedChanges {
    pub(super) fn is_empty(&self) -> bool {
        self.resources.is_empty() && is_empty(&self.lists)
    }

    /// Returns whether the request can be divided: it has several resources, or a resource and a list.
    pub(super) fn is_divisible(&self) -> bool {
        self.resources.len() > 1 || !self.resources.is_empty() && !is_empty(&self.lists)
    }

    pub(super) fn filter(&self) -> SubscriptionFilter {
        let mut filter = self.lists.clone();
        let resources = self.resources.iter().map(|uri| uri.to_string()).collect();
        filter.resource_subscriptions = (!self.resources.is_empty()).then_some(resources);
        filter
    }
}

fn list_flags(filter: &SubscriptionFilter) -> [(&'static str, bool); 3] {
    [
        ("tools", filter.tools_list_changed),
        ("prompts", filter.prompts_list_changed),
        ("resources", filter.resources_list_changed),
    ]
    .map(|(name, flag)| (name, flag == Some(true)))
}

/// Returns whether no list is set in the filter. Ignores resources.
pub(super) fn is_empty(lists: &SubscriptionFilter) -> bool {
    list_flags(lists).iter().all(|(_, is_wanted)| !is_wanted)
}

/// Returns those requested changes that the server did not acknowledge.
pub(super) fn missing<'a>(
    asked: &'a RequestedChanges,
    watched: &[Arc<str>],
    acknowledged: &SubscriptionFilter,
) -> Vec<&'a str> {
    let lists = list_flags(&asked.lists)
        .into_iter()
        .zip(list_flags(acknowledged));
    let lists = lists.filter(|((_, is_asked), (_, is_sent))| *is_asked && !is_sent);
    let lists = lists.map(|((name, _), _)| name);
    let resources = asked.resources.iter().filter(|uri| !watched.contains(uri));
    lists.chain(resources.map(|uri| &**uri)).collect()
}
