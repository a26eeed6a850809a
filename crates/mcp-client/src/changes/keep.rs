//! The background task that keeps one notification stream open for the changes that the client wants.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::SentId;
use mcp_types::v2026_07_28::SubscriptionFilter;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::opener::OpenStream;
use super::request::{Event, OpenEntry, OpenRequest, read, read_silently};
use super::stream::ChangeStream;
use super::wanted::{ListenError, RequestedChanges, ResourceState, WantedChanges};
use crate::sync::race;

/// Maximum number of consecutive streams that fail before they are acknowledged.
const MAX_FAILURES: u32 = 16;
/// A stream that was open for less than this time is counted as a stream that ended at once.
const SETTLED: Duration = Duration::from_secs(10);
/// Time within which the server must acknowledge a stream with several changes. After this time, the client moves the new
/// resources to separate streams, because one of these resources may prevent the acknowledgement.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(3);
/// Upper bound of the delay after the first failure. The bound doubles with each failure.
const BASE_DELAY: Duration = Duration::from_millis(500);
/// Upper bound of all delays.
const MAX_DELAY: Duration = Duration::from_secs(30);
/// Counter for the keys that identify requests.
static KEYS: AtomicU64 = AtomicU64::new(0);

/// The state of the background task that keeps a stream open.
struct Keeper {
    stream: Arc<ChangeStream>,
    wanted: watch::Receiver<WantedChanges>,
    /// The acknowledged request. The request stays open until the next request is acknowledged, so that no notification is lost.
    current: Option<OpenRequest>,
    /// Whether new changes are requested one at a time. This finds out which changes the server rejects.
    is_one_by_one: bool,
    /// The resources that were new in the last requests. One of these resources may be the reason why streams end at once.
    suspects: Vec<Arc<str>>,
    /// Number of failures since the last acknowledgement.
    failures: u32,
    /// Number of consecutive streams that ended at once.
    short: u32,
    was_open: bool,
}

pub(super) async fn run<T: OpenStream>(opener: Weak<T>, stream: Arc<ChangeStream>) {
    let mut keeper = Keeper {
        wanted: stream.wanted.subscribe(),
        stream,
        current: None,
        is_one_by_one: false,
        suspects: Vec::new(),
        failures: 0,
        short: 0,
        was_open: false,
    };
    while keeper.step(&opener).await.is_some() {}
}

impl Keeper {
    /// Opens the next stream. If the open stream already covers the wanted changes, first waits until the client wants other
    /// changes. Returns `None` once the connection has ended.
    async fn step<T: OpenStream>(&mut self, opener: &Weak<T>) -> Option<()> {
        let (number, requested) = {
            let wanted = self.wanted.borrow_and_update();
            if wanted.is_closed {
                return None;
            }
            self.is_one_by_one &= wanted.has_new();
            (wanted.number, wanted.to_request(self.is_one_by_one))
        };
        if requested.is_empty() {
            self.current = None;
            return self.wanted.changed().await.ok();
        }
        if self.is_current(&requested) {
            let began = self.current.as_ref().map(|current| current.began);
            let changed = changed(&mut self.wanted);
            let event = race(changed, read(&mut self.current)).await;
            if self.is_repeated_end(&event, began) && self.isolate(&requested, opener) {
                return Some(());
            }
            return self.ended(event, began, number).await;
        }
        self.suspect(&requested);
        let (request, limit) = self.open(opener, requested.clone())?;
        let began = request.began;
        let mut request = Some(request);
        match self
            .acknowledged(&mut request, &requested, number, limit)
            .await
        {
            Event::Acknowledged => {
                self.current = request;
                self.failures = 0;
                self.was_open = true;
                Some(())
            }
            Event::Late => {
                drop(request);
                self.separate(&self.unacknowledged(&requested), opener);
                Some(())
            }
            Event::Rejected(error) => {
                drop(request);
                self.rejected(&requested, error, number).await;
                Some(())
            }
            event => {
                drop(request);
                self.ended(event, Some(began), number).await
            }
        }
    }

    /// Returns whether the open stream was requested with exactly these changes.
    fn is_current(&self, requested: &RequestedChanges) -> bool {
        let Some(current) = &self.current else {
            return false;
        };
        let open = self.stream.open.borrow();
        let mut open = open.iter();
        open.any(|entry| entry.key == current.key && entry.requested == *requested)
    }

    fn open<T: OpenStream>(
        &self,
        opener: &Weak<T>,
        requested: RequestedChanges,
    ) -> Option<(OpenRequest, Duration)> {
        let id = SentId::new();
        let (call, limit) = opener
            .upgrade()?
            .open_stream(&requested.filter(), id.clone())?;
        let key = KEYS.fetch_add(1, Ordering::Relaxed);
        self.stream.open.send_if_modified(|open| {
            open.push(OpenEntry {
                key,
                id,
                requested,
                is_acknowledged: false,
                has_ended: false,
            });
            false
        });
        let request = OpenRequest {
            call,
            key,
            began: Instant::now(),
            entries: Arc::clone(&self.stream.open),
        };
        Some((request, limit))
    }

    /// Waits until the request is acknowledged or has failed. Also returns if the client wants other changes and the request
    /// takes too long. Meanwhile, reads the previous stream.
    async fn acknowledged(
        &mut self,
        request: &mut Option<OpenRequest>,
        requested: &RequestedChanges,
        number: u64,
        limit: Duration,
    ) -> Event {
        let key = request.as_ref().map(|request| request.key);
        let mut open = self.stream.open.subscribe();
        let is_acknowledged =
            move |entry: &OpenEntry| Some(entry.key) == key && entry.is_acknowledged;
        let acknowledged = async move {
            match open.wait_for(|open| open.iter().any(is_acknowledged)).await {
                Ok(_) => Event::Acknowledged,
                Err(_) => Event::Closed,
            }
        };
        let is_divisible = requested.is_divisible() && !self.unacknowledged(requested).is_empty();
        let stream = Arc::clone(&self.stream);
        let late = async move {
            let first = limit.min(ACKNOWLEDGED_WITHIN);
            sleep(first).await;
            if is_divisible {
                return Event::Late;
            }
            stream.set_failing(true);
            let mut wanted = stream.wanted.subscribe();
            let others = wanted.wait_for(|wanted| wanted.number != number);
            if timeout(limit - first, others).await.is_ok() {
                return Event::Late;
            }
            let seconds = limit.as_secs_f64();
            Event::Broken(format!("not acknowledged within {seconds} s"))
        };
        let previous = read_silently(&mut self.current);
        race(race(acknowledged, read(request)), race(late, previous)).await
    }

    /// Returns the resources that may be the reason why the server does not acknowledge a request. These are the new resources.
    /// If no resource is new and no stream is open, returns all resources.
    fn unacknowledged(&self, requested: &RequestedChanges) -> Vec<Arc<str>> {
        let wanted = self.wanted.borrow();
        let new = wanted.new_of(&requested.resources);
        match new.is_empty() && self.current.is_none() {
            true => requested.resources.clone(),
            false => new.into_iter().map(Arc::clone).collect(),
        }
    }

    /// Moves each resource in `uris` to a separate stream, and starts these streams.
    fn separate<T: OpenStream>(&self, uris: &[Arc<str>], opener: &Weak<T>) {
        if let (Some(list), Some(opener)) = (self.stream.list.upgrade(), opener.upgrade()) {
            for stream in list.separate(&self.stream, uris) {
                stream.start(&opener);
            }
        }
    }

    /// Adds the new resources of a request to the suspected resources, which may be the reason why streams end.
    fn suspect(&mut self, requested: &RequestedChanges) {
        let current = self.current.as_ref();
        if current.is_some_and(|current| current.began.elapsed() >= SETTLED) {
            self.suspects.clear();
        }
        let wanted = self.wanted.borrow();
        let is_suspect = |uri: &&Arc<str>| wanted.is_new(uri) || self.suspects.contains(uri);
        let suspects = requested.resources.iter().filter(is_suspect);
        self.suspects = suspects.map(Arc::clone).collect();
    }

    /// Returns whether the server has ended a stream soon after the acknowledgement, and this was at least the second time in a
    /// row.
    fn is_repeated_end(&self, event: &Event, began: Option<Instant>) -> bool {
        let has_ended = matches!(event, Event::Broken(_) | Event::Rejected(_));
        has_ended && self.short > 0 && began.is_some_and(|began| began.elapsed() < SETTLED)
    }

    /// Moves the suspected resources to separate streams. Returns `false` if there are no suspected resources, or if the request
    /// has only one resource and no lists.
    fn isolate<T: OpenStream>(&mut self, requested: &RequestedChanges, opener: &Weak<T>) -> bool {
        if !requested.is_divisible() {
            self.stream.set_failing(!requested.resources.is_empty());
            return false;
        }
        let suspects = std::mem::take(&mut self.suspects);
        if suspects.is_empty() {
            return false;
        }
        self.short = 0;
        self.separate(&suspects, opener);
        true
    }

    /// Handles the end of a stream.
    async fn ended(&mut self, event: Event, began: Option<Instant>, number: u64) -> Option<()> {
        let reason = match event {
            Event::Changed | Event::Acknowledged | Event::Late => return Some(()),
            Event::Closed => return None,
            Event::Rejected(error) => error.to_string(),
            Event::Broken(reason) => reason,
        };
        if began.is_some_and(|began| began.elapsed() >= SETTLED) {
            self.short = 0;
            self.suspects.clear();
        }
        self.short += 1;
        self.failures += 1;
        if self.failures > MAX_FAILURES {
            self.failures = 0;
            self.give_up(reason, number).await;
        } else {
            self.pause(&reason, delay(self.short - 1)).await;
        }
        Some(())
    }

    /// Handles a rejected request. Finds the changes that the server does not accept, so that the client can subscribe to the
    /// remaining changes.
    async fn rejected(&mut self, requested: &RequestedChanges, error: ErrorObject, number: u64) {
        let wanted = self.wanted.borrow().clone();
        let new = wanted.new_of(&requested.resources);
        match (wanted.has_new_lists(), &*new) {
            (true, []) => {
                // Only a callback can report this error, because list changes have no subscriber that would receive it.
                self.report_end(&error.to_string());
                let remove = |wanted: &mut WantedChanges| wanted.lists = SubscriptionFilter::new();
                self.stream.wanted.send_modify(remove);
            }
            (false, [uri]) => {
                let error = ListenError::Rejected(error);
                self.stream.refuse(&error, |other, _| *other == ***uri);
            }
            (false, []) if self.current.is_some() => self.read_until_changed(number).await,
            (false, []) => {
                self.is_one_by_one = true;
                self.stream.wanted.send_modify(WantedChanges::renew);
            }
            _ => self.is_one_by_one = true,
        }
    }

    /// Ends the subscriptions to new resources. If no resource is new and no stream is open, ends all subscriptions, and waits
    /// until the client wants other changes.
    async fn give_up(&mut self, reason: String, number: u64) {
        let wanted = self.wanted.borrow().clone();
        let error = ListenError::Ended(reason.clone());
        let uris: Vec<_> = wanted.resources.keys().cloned().collect();
        let new = wanted.new_of(&uris);
        if self.was_open && !new.is_empty() && new.len() < uris.len() {
            let is_new = |state: &ResourceState| matches!(state, ResourceState::New);
            self.stream
                .refuse(&error, |_, resource| is_new(&resource.state));
            return;
        }
        if new.is_empty() && self.current.is_some() {
            return self.read_until_changed(number).await;
        }
        self.current = None;
        self.report_end(&reason);
        self.stream.refuse(&error, |_, _| true);
        self.read_until_changed(number).await;
    }

    /// Waits before the next stream is opened. Returns early if the connection is closed. `reason` says how the last stream
    /// ended.
    async fn pause(&mut self, reason: &str, wait: Duration) {
        tracing::debug!(reason, ?wait, "listening again");
        let closed = async {
            let _ = self.wanted.wait_for(|wanted| wanted.is_closed).await;
        };
        let previous = async {
            read_silently(&mut self.current).await;
        };
        race(race(closed, sleep(wait)), previous).await;
    }

    /// Reads the open stream until the client wants other changes, or the stream ends.
    async fn read_until_changed(&mut self, number: u64) {
        let changed = |wanted: &WantedChanges| wanted.is_closed || wanted.number != number;
        let changed = async {
            let _ = self.wanted.wait_for(changed).await;
        };
        let ended = async {
            read(&mut self.current).await;
        };
        race(changed, ended).await;
    }

    /// Calls the callback that reports the end of change notifications.
    fn report_end(&self, reason: &str) {
        tracing::warn!(reason, "no more change notifications are received");
        if let Some(callback) = &self.stream.on_end {
            callback(reason);
        }
    }
}

async fn changed(wanted: &mut watch::Receiver<WantedChanges>) -> Event {
    match wanted.changed().await {
        Ok(()) => Event::Changed,
        Err(_) => Event::Closed,
    }
}

/// Returns a random delay below an upper bound (full jitter). The bound doubles with each failure. The delay is random so that
/// clients of the same server do not reconnect at the same time.
fn delay(attempt: u32) -> Duration {
    let bound = BASE_DELAY
        .saturating_mul(1 << attempt.min(16))
        .min(MAX_DELAY);
    // Without random bytes of the operating system, the delay is the bound.
    let random = getrandom::u32().unwrap_or(u32::MAX);
    let nanos = (bound.as_nanos() * u128::from(random)) >> 32;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_random_below_a_bound_that_doubles() {
        for attempt in 0..20 {
            let bound = BASE_DELAY.saturating_mul(1 << attempt).min(MAX_DELAY);
            assert!(delay(attempt) < bound);
        }
        let drawn: std::collections::HashSet<_> = (0..8).map(|_| delay(19)).collect();
        assert!(drawn.len() > 1);
    }
}
