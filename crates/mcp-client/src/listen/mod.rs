//! Hearing of changes where there are no sessions: one stream, for all that is wanted.
//!
//! [`Listener`] holds what is wanted, which streams are open, and what became of them; `keep` is
//! the task that makes one follow from the other.
//!
//! Specification: [subscriptions][spec].
//!
//! [spec]: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions

mod keep;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::SentId;
use mcp_types::v2026_07_28::SubscriptionFilter;
use mcp_types::{RequestId, ServerCapabilities};
use tokio::sync::watch;

use crate::client::Shared;
use crate::lock;
use crate::subscription::Subscriptions;

/// What is wanted of a server, and what it sends.
pub(crate) struct Listener {
    wanted: watch::Sender<Wanted>,
    heard: watch::Sender<Heard>,
    open: Mutex<Vec<Open>>,
    subscriptions: Arc<Subscriptions>,
    runs: AtomicBool,
    keys: AtomicU64,
}

/// What somebody wants to hear of. Each change of it has a number.
#[derive(Debug, Clone, Default)]
struct Wanted {
    number: u64,
    lists: SubscriptionFilter,
    /// How many want to hear of a resource.
    resources: BTreeMap<String, usize>,
    closed: bool,
}

/// What became of what was wanted, up to a number.
#[derive(Debug, Clone, Default)]
struct Heard {
    number: u64,
    /// What the server sends; or its refusal.
    outcome: Option<Result<SubscriptionFilter, Failure>>,
}

/// Why nothing is heard.
#[derive(Debug, Clone)]
pub(crate) enum Failure {
    /// The server refused.
    Refused(ErrorObject),
    /// It could not be kept up, or has ended.
    Ended(String),
}

/// One stream.
struct Open {
    key: u64,
    id: SentId,
    number: u64,
    asked: SubscriptionFilter,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Asked,
    Acknowledged,
    /// The server ended it.
    Ended,
}

impl Listener {
    pub(crate) fn new(subscriptions: Arc<Subscriptions>) -> Self {
        Self {
            wanted: watch::Sender::default(),
            heard: watch::Sender::default(),
            open: Mutex::default(),
            subscriptions,
            runs: AtomicBool::new(false),
            keys: AtomicU64::new(0),
        }
    }

    /// Wants to hear of those lists whose changes the server announces.
    pub(crate) fn want_lists(&self, server: &ServerCapabilities) {
        let tools = server.tools.as_ref().and_then(|it| it.list_changed);
        let prompts = server.prompts.as_ref().and_then(|it| it.list_changed);
        let resources = server.resources.as_ref().and_then(|it| it.list_changed);
        let yes = |it: Option<bool>| it.filter(|it| *it);
        let mut lists = SubscriptionFilter::new();
        lists.tools_list_changed = yes(tools);
        lists.prompts_list_changed = yes(prompts);
        lists.resources_list_changed = yes(resources);
        self.wanted.send_modify(|wanted| {
            wanted.lists = lists;
            wanted.number += 1;
        });
    }

    /// Wants to hear of a resource; the number of that wish.
    pub(crate) fn want(&self, uri: &str) -> u64 {
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

    /// Does not want to hear of it any more.
    pub(crate) fn unwant(&self, uri: &str) {
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

    /// Whether anything is wanted.
    pub(crate) fn is_wanted(&self) -> bool {
        !is_empty(&self.wanted.borrow().filter())
    }

    /// Starts the task, unless it runs.
    pub(crate) fn start(self: &Arc<Self>, shared: &Arc<Shared>) {
        if !self.runs.swap(true, Ordering::AcqRel) {
            tokio::spawn(keep::keep(Arc::downgrade(shared), Arc::clone(self)));
        }
    }

    /// What became of the wish with this number. Cancel safe.
    pub(crate) async fn settled(&self, number: u64) -> Result<SubscriptionFilter, Failure> {
        let mut heard = self.heard.subscribe();
        let settled = heard.wait_for(|it| it.number >= number && it.outcome.is_some());
        // The sender lives as long as `self`.
        let outcome = settled.await.ok().and_then(|heard| heard.outcome.clone());
        outcome.unwrap_or_else(|| Err(Failure::Ended("the connection ended".to_owned())))
    }

    /// What the server said that it sends.
    pub(crate) fn honoured(&self) -> Option<SubscriptionFilter> {
        let heard = self.heard.borrow();
        heard.outcome.clone().and_then(Result::ok)
    }

    /// The server says what it sends on a stream.
    pub(crate) fn acknowledged(&self, id: &RequestId, honoured: SubscriptionFilter) {
        let mut open = lock(&self.open);
        let asked = |it: &&mut Open| it.is(id) && it.stage == Stage::Asked;
        let Some(stream) = open.iter_mut().find(asked) else {
            tracing::debug!(%id, "ignored an acknowledgement nobody waits for");
            return;
        };
        stream.stage = Stage::Acknowledged;
        let refused = missing(&stream.asked, &honoured);
        if !refused.is_empty() {
            tracing::warn!(?refused, "the server does not tell of these changes");
        }
        let number = stream.number;
        drop(open);
        self.settle(number, Ok(honoured));
    }

    /// The server ended a stream.
    pub(crate) fn cancelled(&self, id: &RequestId) {
        let mut open = lock(&self.open);
        let named = |it: &&mut Open| it.id.get().as_ref() == Some(id);
        if let Some(stream) = open.iter_mut().find(named) {
            stream.stage = Stage::Ended;
            drop(open);
            // Wakes the task that looks after it.
            self.heard.send_modify(|_| {});
        }
    }

    /// Whether there is such a stream, and the server has acknowledged it.
    pub(crate) fn is_open(&self, id: Option<&RequestId>) -> bool {
        let is_open = |it: &Open, id| it.is(id) && it.stage == Stage::Acknowledged;
        id.is_some_and(|id| lock(&self.open).iter().any(|it| is_open(it, id)))
    }

    /// The connection ended.
    pub(crate) fn close(&self) {
        self.wanted.send_modify(|wanted| wanted.closed = true);
        let reason = Failure::Ended("the connection ended".to_owned());
        self.settle(u64::MAX, Err(reason));
    }

    /// There is another connection in the place of one that ended before anything was wanted.
    pub(crate) fn reopen(&self) {
        self.wanted.send_replace(Wanted::default());
        self.heard.send_replace(Heard::default());
    }

    fn settle(&self, number: u64, outcome: Result<SubscriptionFilter, Failure>) {
        self.heard.send_modify(|heard| {
            if heard.number <= number {
                heard.number = number;
                heard.outcome = Some(outcome);
            }
        });
    }
}

impl Wanted {
    fn filter(&self) -> SubscriptionFilter {
        let mut filter = self.lists.clone();
        let resources: Vec<String> = self.resources.keys().cloned().collect();
        filter.resource_subscriptions = (!resources.is_empty()).then_some(resources);
        filter
    }
}

impl Open {
    /// A transport that does not tell the id has but one stream at a time.
    fn is(&self, id: &RequestId) -> bool {
        self.id.get().is_none_or(|own| own == *id)
    }
}

fn is_empty(filter: &SubscriptionFilter) -> bool {
    missing(filter, &SubscriptionFilter::new()).is_empty()
}

/// What was asked for and is not honoured.
fn missing<'a>(asked: &'a SubscriptionFilter, honoured: &SubscriptionFilter) -> Vec<&'a str> {
    let lacks =
        |asked: Option<bool>, honoured: Option<bool>| asked == Some(true) && honoured != Some(true);
    let lists = [
        (
            "tools",
            asked.tools_list_changed,
            honoured.tools_list_changed,
        ),
        (
            "prompts",
            asked.prompts_list_changed,
            honoured.prompts_list_changed,
        ),
        (
            "resources",
            asked.resources_list_changed,
            honoured.resources_list_changed,
        ),
    ];
    let lists = lists
        .into_iter()
        .filter_map(|(name, asked, honoured)| lacks(asked, honoured).then_some(name));
    let known = honoured.resource_subscriptions.as_deref().unwrap_or(&[]);
    let resources = asked.resource_subscriptions.as_deref().unwrap_or(&[]);
    let resources = resources.iter().filter(|uri| !known.contains(*uri));
    lists.chain(resources.map(String::as_str)).collect()
}
