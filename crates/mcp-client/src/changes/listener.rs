//! Change notifications on the stateless revision: one stream for all wanted changes.
//!
//! [`SubscriptionListener`] holds the wanted changes, the open streams and their status. The task
//! in `keep` opens streams for the wanted changes.
//!
//! Specification: [subscriptions][spec].
//!
//! [spec]: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{Call, SentId};
use mcp_types::v2026_07_28::SubscriptionFilter;
use mcp_types::{RequestId, ServerCapabilities};
use tokio::sync::watch;

use super::keep;
use super::table::Subscriptions;
use crate::sync::lock;

/// Opens `subscriptions/listen` streams. The client implements it; the listener must not keep the
/// client alive.
pub(crate) trait OpenStream: Send + Sync + 'static {
    /// Creates the request of a stream. Returns it with the timeout for its acknowledgement.
    fn open_stream(&self, filter: &SubscriptionFilter, id: SentId) -> Option<(Call, Duration)>;
}

/// The changes that the client wants to be notified of, and the streams for them.
pub(crate) struct SubscriptionListener {
    pub(crate) wanted: watch::Sender<WantedChanges>,
    pub(crate) status: watch::Sender<ListenStatus>,
    pub(crate) open: Mutex<Vec<OpenEntry>>,
    pub(crate) subscriptions: Arc<Subscriptions>,
    pub(crate) runs: AtomicBool,
    pub(crate) keys: AtomicU64,
    pub(crate) on_end: Option<OnChangesEnded>,
}

/// A callback for the end of change notifications, with the reason.
pub(crate) type OnChangesEnded = Arc<dyn Fn(&str) + Send + Sync>;

/// The wanted changes. Each modification gets a number.
#[derive(Debug, Clone, Default)]
pub(crate) struct WantedChanges {
    pub(crate) number: u64,
    pub(crate) lists: SubscriptionFilter,
    /// Number of subscriptions by resource.
    pub(crate) resources: BTreeMap<String, usize>,
    pub(crate) closed: bool,
}

/// The status of the wanted changes, up to a number.
#[derive(Debug, Clone, Default)]
pub(crate) struct ListenStatus {
    pub(crate) number: u64,
    /// The changes that the server sends, or its error.
    pub(crate) outcome: Option<Result<SubscriptionFilter, ListenError>>,
}

/// The reason why no notifications are sent.
#[derive(Debug, Clone)]
pub(crate) enum ListenError {
    /// The server rejected the subscription.
    Rejected(ErrorObject),
    /// The stream failed or has ended.
    Ended(String),
}

/// One stream.
pub(crate) struct OpenEntry {
    pub(crate) key: u64,
    pub(crate) id: SentId,
    pub(crate) number: u64,
    pub(crate) asked: SubscriptionFilter,
    pub(crate) stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Sent,
    Acknowledged,
    /// The server ended the stream.
    Ended,
}

impl SubscriptionListener {
    pub(crate) fn new(subscriptions: Arc<Subscriptions>, on_end: Option<OnChangesEnded>) -> Self {
        Self {
            wanted: watch::Sender::default(),
            status: watch::Sender::default(),
            open: Mutex::default(),
            subscriptions,
            runs: AtomicBool::new(false),
            keys: AtomicU64::new(0),
            on_end,
        }
    }

    /// Subscribes to the lists whose changes the server announces.
    pub(crate) fn want_lists(&self, server: &ServerCapabilities) {
        let (tools, prompts) = (server.tools.as_ref(), server.prompts.as_ref());
        let resources = server.resources.as_ref();
        let if_true = |flag: Option<bool>| flag.filter(|flag| *flag);
        let mut lists = SubscriptionFilter::new();
        lists.tools_list_changed = if_true(tools.and_then(|tools| tools.list_changed));
        lists.prompts_list_changed = if_true(prompts.and_then(|prompts| prompts.list_changed));
        lists.resources_list_changed = if_true(resources.and_then(|all| all.list_changed));
        self.wanted.send_modify(|wanted| {
            wanted.lists = lists;
            wanted.number += 1;
        });
    }

    /// Subscribes to a resource. Returns the number of this modification.
    pub(crate) fn want_resource(&self, uri: &str) -> u64 {
        let mut number = 0;
        self.wanted.send_if_modified(|wanted| {
            let count = wanted.resources.entry(uri.to_owned()).or_default();
            *count += 1;
            let is_new = *count == 1;
            wanted.number += u64::from(is_new);
            number = wanted.number;
            is_new
        });
        number
    }

    /// Removes a subscription to a resource.
    pub(crate) fn drop_resource(&self, uri: &str) {
        self.wanted.send_if_modified(|wanted| {
            let Some(count) = wanted.resources.get_mut(uri) else {
                return false;
            };
            *count -= 1;
            if *count > 0 {
                return false;
            }
            wanted.resources.remove(uri);
            wanted.number += 1;
            true
        });
    }

    pub(crate) fn has_wanted(&self) -> bool {
        !is_empty(&self.wanted.borrow().filter())
    }

    /// Starts the task, unless it is running.
    pub(crate) fn start<T: OpenStream>(self: &Arc<Self>, opener: &Arc<T>) {
        if !self.runs.swap(true, Ordering::AcqRel) {
            let opener: Weak<T> = Arc::downgrade(opener);
            tokio::spawn(keep::run(opener, Arc::clone(self)));
        }
    }

    /// Waits for the status of the modification with this number. Cancel safe.
    pub(crate) async fn wait_settled(
        &self,
        number: u64,
    ) -> Result<SubscriptionFilter, ListenError> {
        let mut status = self.status.subscribe();
        let settled = status.wait_for(|status| status.number >= number && status.outcome.is_some());
        // The sender lives as long as `self`.
        let outcome = settled.await.ok().and_then(|status| status.outcome.clone());
        outcome.unwrap_or_else(|| Err(ListenError::Ended("the connection ended".to_owned())))
    }

    pub(crate) fn acknowledged_filter(&self) -> Option<SubscriptionFilter> {
        let status = self.status.borrow();
        status.outcome.clone().and_then(Result::ok)
    }

    /// Handles the acknowledgement of a stream.
    pub(crate) fn on_acknowledged(&self, id: &RequestId, honoured: SubscriptionFilter) {
        let mut open = lock(&self.open);
        let is_waiting = |entry: &&mut OpenEntry| entry.is(id) && entry.stage == Stage::Sent;
        let Some(stream) = open.iter_mut().find(is_waiting) else {
            tracing::debug!(%id, "ignored an acknowledgement of an unknown subscription");
            return;
        };
        stream.stage = Stage::Acknowledged;
        let refused = missing(&stream.asked, &honoured);
        if !refused.is_empty() {
            tracing::warn!(
                ?refused,
                "the server does not send notifications of these changes"
            );
        }
        let number = stream.number;
        drop(open);
        self.settle(number, Ok(honoured));
    }

    /// Handles the end of a stream by the server.
    pub(crate) fn on_cancelled(&self, id: &RequestId) {
        let mut open = lock(&self.open);
        let has_id = |entry: &&mut OpenEntry| entry.id.get().as_ref() == Some(id);
        if let Some(stream) = open.iter_mut().find(has_id) {
            stream.stage = Stage::Ended;
            drop(open);
            // Wakes the task.
            self.status.send_modify(|_| {});
        }
    }

    /// Returns whether the stream exists and was acknowledged.
    pub(crate) fn is_open(&self, id: Option<&RequestId>) -> bool {
        let is_open = |entry: &OpenEntry, id| entry.is(id) && entry.stage == Stage::Acknowledged;
        id.is_some_and(|id| lock(&self.open).iter().any(|entry| is_open(entry, id)))
    }

    /// Ends all subscriptions, because the connection has ended.
    pub(crate) fn close(&self) {
        self.wanted.send_modify(|wanted| wanted.closed = true);
        let reason = ListenError::Ended("the connection ended".to_owned());
        self.settle(u64::MAX, Err(reason));
    }

    /// Resets the state for a new connection. The old one ended before any changes were wanted.
    pub(crate) fn reopen(&self) {
        self.wanted.send_replace(WantedChanges::default());
        self.status.send_replace(ListenStatus::default());
    }

    pub(crate) fn settle(&self, number: u64, outcome: Result<SubscriptionFilter, ListenError>) {
        self.status.send_modify(|status| {
            if status.number <= number {
                status.number = number;
                status.outcome = Some(outcome);
            }
        });
    }
}

impl WantedChanges {
    pub(crate) fn filter(&self) -> SubscriptionFilter {
        let mut filter = self.lists.clone();
        let resources: Vec<String> = self.resources.keys().cloned().collect();
        filter.resource_subscriptions = (!resources.is_empty()).then_some(resources);
        filter
    }
}

impl OpenEntry {
    /// Returns whether this is the stream with the id. A transport that does not report ids has
    /// only one stream at a time.
    fn is(&self, id: &RequestId) -> bool {
        self.id.get().is_none_or(|own| own == *id)
    }
}

pub(crate) fn is_empty(filter: &SubscriptionFilter) -> bool {
    missing(filter, &SubscriptionFilter::new()).is_empty()
}

/// Returns the requested changes that the server did not acknowledge.
fn missing<'a>(asked: &'a SubscriptionFilter, honoured: &SubscriptionFilter) -> Vec<&'a str> {
    let lists = |filter: &SubscriptionFilter| {
        [
            ("tools", filter.tools_list_changed),
            ("prompts", filter.prompts_list_changed),
            ("resources", filter.resources_list_changed),
        ]
    };
    let lists = lists(asked).into_iter().zip(lists(honoured));
    let lists = lists.filter(|(asked, honoured)| asked.1 == Some(true) && honoured.1 != Some(true));
    let lists = lists.map(|((name, _), _)| name);
    let known = honoured.resource_subscriptions.as_deref().unwrap_or(&[]);
    let resources = asked.resource_subscriptions.as_deref().unwrap_or(&[]);
    let resources = resources.iter().filter(|uri| !known.contains(*uri));
    lists.chain(resources.map(String::as_str)).collect()
}
