//! The task that keeps one stream open for all that is wanted.

use std::future::{pending, poll_fn};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{BoxFuture, Call, CallError, SentId};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::listener::{
    ListenError, ListenStatus, Listener, OpenEntry, OpenStream, Stage, WantedChanges, is_empty,
};
use crate::sync::lock;

/// Streams in a row that break before anything is status on them; then it is given up.
const MAX_FAILURES: u32 = 16;
/// The bound on the wait after the first of them; it doubles.
const BASE_DELAY: Duration = Duration::from_millis(500);
/// The bound on any wait.
const MAX_DELAY: Duration = Duration::from_secs(30);

/// How a stream ended.
enum End {
    /// Something else is wanted.
    Changed,
    /// The server ended it in good order.
    Graceful,
    Rejected(ErrorObject),
    Broken(String),
    Closed,
}

/// A stream, off the table when it is dropped.
struct Stream {
    call: Call,
    key: u64,
    listener: Arc<Listener>,
}

pub(super) async fn run<T: OpenStream>(opener: Weak<T>, listener: Arc<Listener>) {
    let mut wanted = listener.wanted.subscribe();
    // Stays open until its successor is acknowledged, so that nothing is missed.
    let mut old: Option<Stream> = None;
    let mut failures = 0;
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
        let end = listen(&mut stream, &mut old, &mut wanted, now.number, limit).await;
        if listener.stage(stream.key) != Some(Stage::Sent) {
            old = None;
            failures = 0;
        }
        match end {
            End::Changed => old = Some(stream),
            End::Closed => return,
            End::Rejected(error) => {
                tracing::debug!(%error, "the server refuses to tell of changes");
                listener.settle(now.number, Err(ListenError::Rejected(error)));
                drop(stream);
                read_until_changed(&mut old, &mut wanted).await;
            }
            End::Graceful => {
                tracing::debug!("the server ended the stream of changes");
                drop(stream);
                old = None;
                let reason = "the server ended the subscription".to_owned();
                listener.give_up(now.number, reason, &mut wanted).await;
            }
            End::Broken(reason) => {
                drop(stream);
                failures += 1;
                if failures > MAX_FAILURES {
                    tracing::warn!(reason, "nothing is status of changes any more");
                    failures = 0;
                    listener.give_up(now.number, reason, &mut wanted).await;
                } else {
                    let wait = delay(failures - 1);
                    tracing::debug!(reason, ?wait, "listening again");
                    let closed = async {
                        let _ = wanted.wait_for(|wanted| wanted.closed).await;
                    };
                    race(closed, sleep(wait)).await;
                }
            }
        }
    }
}

fn open<T: OpenStream>(
    opener: &Weak<T>,
    listener: &Arc<Listener>,
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

/// Waits for the end of a stream, with the one before it until it is acknowledged.
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
        // The one before is read on meanwhile.
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
        End::Graceful
    };
    let answered = async {
        match call.await {
            Ok(Ok(_)) => End::Graceful,
            Ok(Err(error)) => End::Rejected(error),
            Err(CallError::Closed(_)) => End::Closed,
            Err(error) => End::Broken(error.to_string()),
        }
    };
    race(answered, race(cancelled, follow)).await
}

/// Reads the old stream on until something else is wanted.
async fn read_until_changed(old: &mut Option<Stream>, wanted: &mut watch::Receiver<WantedChanges>) {
    let changed = async {
        let _ = wanted.changed().await;
    };
    race(changed, ended(old.as_mut())).await;
}

/// Reads a stream, whose end nobody waits for.
async fn ended(stream: Option<&mut Stream>) {
    if let Some(stream) = stream {
        let _ = (&mut stream.call).await;
    }
    pending::<()>().await;
}

impl Listener {
    fn stage(&self, key: u64) -> Option<Stage> {
        let open = lock(&self.open);
        open.iter()
            .find(|entry| entry.key == key)
            .map(|entry| entry.stage)
    }

    /// Ends the subscriptions, and waits until something new is wanted.
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

/// What is done first; the first of both goes first.
async fn race<T>(
    first: impl Future<Output = T> + Send,
    second: impl Future<Output = T> + Send,
) -> T {
    let mut first: BoxFuture<'_, T> = Box::pin(first);
    let mut second: BoxFuture<'_, T> = Box::pin(second);
    poll_fn(|cx| match first.as_mut().poll(cx) {
        Poll::Pending => second.as_mut().poll(cx),
        done => done,
    })
    .await
}

/// A random part of a bound that doubles: clients that lost the same server do not come back at
/// the same moment.
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
    fn waits_are_drawn_below_a_bound_that_doubles() {
        for attempt in 0..20 {
            let bound = BASE_DELAY.saturating_mul(1 << attempt).min(MAX_DELAY);
            assert!(delay(attempt) < bound);
        }
        let drawn: std::collections::HashSet<_> = (0..8).map(|_| delay(19)).collect();
        assert!(drawn.len() > 1);
    }
}
