//! The task that keeps one stream open for all wanted changes.

use std::future::pending;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{Call, CallError, SentId};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::listener::{
    ListenError, ListenStatus, OpenEntry, OpenStream, Stage, SubscriptionListener, WantedChanges,
    is_empty,
};
use crate::sync::{lock, race};

/// Maximum number of consecutive streams that fail before they are acknowledged.
const MAX_FAILURES: u32 = 16;
/// Time after which a stream is not counted as one that ended at once.
const SETTLED: Duration = Duration::from_secs(10);
/// The end of a stream by the server. Another instance of the server may follow, so the client
/// listens again.
const ENDED: &str = "the server ended the subscription";
/// Upper bound of the first delay; it doubles with each failure.
const BASE_DELAY: Duration = Duration::from_millis(500);
/// Upper bound of all delays.
const MAX_DELAY: Duration = Duration::from_secs(30);

/// How a stream ended.
enum End {
    /// Other changes are wanted.
    Changed,
    Rejected(ErrorObject),
    Broken(String),
    Closed,
}

/// A stream, removed from the table on drop.
struct Stream {
    call: Call,
    key: u64,
    listener: Arc<SubscriptionListener>,
}

pub(super) async fn run<T: OpenStream>(opener: Weak<T>, listener: Arc<SubscriptionListener>) {
    let mut wanted = listener.wanted.subscribe();
    // Stays open until the next stream is acknowledged, so that no notification is lost.
    let mut old: Option<Stream> = None;
    // Streams in a row that were not acknowledged, and streams in a row that ended soon.
    let (mut failures, mut short) = (0, 0);
    let mut was_open = false;
    loop {
        let now = wanted.borrow_and_update().clone();
        if now.closed {
            return;
        }
        if is_empty(&now.filter()) {
            old = None;
            listener.settle(now.number, Ok(now.filter()));
            if wanted.changed().await.is_err() {
                return;
            }
            continue;
        }
        let Some((mut stream, limit)) = open(&opener, &listener, &now) else {
            return;
        };
        let began = Instant::now();
        let end = listen(&mut stream, &mut old, &mut wanted, now.number, limit).await;
        if listener.stage(stream.key) != Some(Stage::Sent) {
            old = None;
            failures = 0;
            was_open = true;
        }
        if began.elapsed() >= SETTLED {
            short = 0;
        }
        match end {
            End::Changed => old = Some(stream),
            End::Closed => return,
            End::Rejected(error) => {
                drop(stream);
                // Otherwise `Client::subscribe` returns the error.
                if old.is_none() && (was_open || !is_empty(&now.lists)) {
                    listener.report_end(&error.to_string());
                }
                listener.settle(now.number, Err(ListenError::Rejected(error)));
                read_until_changed(&mut old, &mut wanted).await;
            }
            End::Broken(reason) => {
                drop(stream);
                failures += 1;
                short += 1;
                if failures > MAX_FAILURES {
                    failures = 0;
                    listener.report_end(&reason);
                    listener.give_up(now.number, reason, &mut wanted).await;
                } else {
                    pause(&reason, delay(short - 1), &mut wanted).await;
                }
            }
        }
    }
}

fn open<T: OpenStream>(
    opener: &Weak<T>,
    listener: &Arc<SubscriptionListener>,
    wanted: &WantedChanges,
) -> Option<(Stream, Duration)> {
    let asked = wanted.filter();
    let id = SentId::new();
    let (call, limit) = opener.upgrade()?.open_stream(&asked, id.clone())?;
    let key = listener.keys.fetch_add(1, Ordering::Relaxed);
    lock(&listener.open).push(OpenEntry {
        key,
        id,
        number: wanted.number,
        asked,
        stage: Stage::Sent,
    });
    let stream = Stream {
        call,
        key,
        listener: Arc::clone(listener),
    };
    Some((stream, limit))
}

/// Waits for the end of a stream. `old` is the previous stream, which is read until this one is
/// acknowledged.
async fn listen(
    stream: &mut Stream,
    old: &mut Option<Stream>,
    wanted: &mut watch::Receiver<WantedChanges>,
    number: u64,
    limit: Duration,
) -> End {
    let listener = Arc::clone(&stream.listener);
    let key = stream.key;
    let call = &mut stream.call;
    let status = || listener.status.subscribe();
    let acknowledged = async {
        let mut status = status();
        let is = |_: &ListenStatus| listener.stage(key) != Some(Stage::Sent);
        let _ = status.wait_for(is).await;
    };
    let follow = async {
        // Meanwhile the previous stream is read.
        let waited = timeout(limit, race(acknowledged, ended(old.as_mut()))).await;
        if waited.is_err() {
            let seconds = limit.as_secs_f64();
            return End::Broken(format!("not acknowledged within {seconds} s"));
        }
        *old = None;
        let changed = |wanted: &WantedChanges| wanted.closed || wanted.number != number;
        match wanted.wait_for(changed).await {
            Ok(wanted) if !wanted.closed => End::Changed,
            _ => End::Closed,
        }
    };
    let cancelled = async {
        let mut status = status();
        let is = |_: &ListenStatus| listener.stage(key) == Some(Stage::Ended);
        let _ = status.wait_for(is).await;
        End::Broken(ENDED.to_owned())
    };
    let answered = async {
        match call.await {
            Ok(Ok(_)) => End::Broken(ENDED.to_owned()),
            Ok(Err(error)) => End::Rejected(error),
            Err(CallError::Closed(_)) => End::Closed,
            Err(error) => End::Broken(error.to_string()),
        }
    };
    race(answered, race(cancelled, follow)).await
}

/// Waits before the next stream, at most until the connection is closed. `reason` is how the last one
/// ended.
async fn pause(reason: &str, wait: Duration, wanted: &mut watch::Receiver<WantedChanges>) {
    tracing::debug!(reason, ?wait, "listening again");
    let closed = async {
        let _ = wanted.wait_for(|wanted| wanted.closed).await;
    };
    race(closed, sleep(wait)).await;
}

/// Reads the previous stream until other changes are wanted.
async fn read_until_changed(old: &mut Option<Stream>, wanted: &mut watch::Receiver<WantedChanges>) {
    let changed = async {
        let _ = wanted.changed().await;
    };
    race(changed, ended(old.as_mut())).await;
}

/// Reads a stream until it is dropped.
async fn ended(stream: Option<&mut Stream>) {
    if let Some(stream) = stream {
        let _ = (&mut stream.call).await;
    }
    pending::<()>().await;
}

impl SubscriptionListener {
    /// Reports that no change notifications are received any more.
    fn report_end(&self, reason: &str) {
        tracing::warn!(reason, "no more change notifications are received");
        if let Some(callback) = &self.on_end {
            callback(reason);
        }
    }

    fn stage(&self, key: u64) -> Option<Stage> {
        let open = lock(&self.open);
        open.iter()
            .find(|entry| entry.key == key)
            .map(|entry| entry.stage)
    }

    /// Ends the subscriptions, and waits until other changes are wanted.
    async fn give_up(&self, number: u64, why: String, wanted: &mut watch::Receiver<WantedChanges>) {
        let is_last = self.wanted.send_if_modified(|wanted| {
            let is_last = wanted.number == number;
            if is_last {
                wanted.resources.clear();
            }
            is_last
        });
        if is_last {
            self.subscriptions.close();
        }
        self.settle(number, Err(ListenError::Ended(why)));
        let changed = |wanted: &WantedChanges| wanted.closed || wanted.number != number;
        let _ = wanted.wait_for(changed).await;
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        lock(&self.listener.open).retain(|entry| entry.key != self.key);
    }
}

/// Returns a random delay below a bound that doubles (full jitter), so that clients of the same
/// server do not reconnect at the same time.
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
