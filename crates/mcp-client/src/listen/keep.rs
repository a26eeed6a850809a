//! The task that keeps one stream open for all that is wanted.

use std::future::{pending, poll_fn};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{BoxFuture, Call, CallError, Extras, SentId};
use mcp_types::{JsonObject, method};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::{Failure, Heard, Listener, Open, Stage, Wanted, is_empty};
use crate::client::Shared;
use crate::lock;

/// Streams in a row that break before anything is heard on them; then it is given up.
const ATTEMPTS: u32 = 16;
/// The bound on the wait after the first of them; it doubles.
const BASE: Duration = Duration::from_millis(500);
/// The bound on any wait.
const CAP: Duration = Duration::from_secs(30);

/// How a stream ended.
enum End {
    /// Something else is wanted.
    Changed,
    /// The server ended it in good order.
    Graceful,
    Refused(ErrorObject),
    Broken(String),
    Closed,
}

/// A stream, off the table when it is dropped.
struct Stream {
    call: Call,
    key: u64,
    listener: Arc<Listener>,
}

pub(super) async fn keep(shared: Weak<Shared>, listener: Arc<Listener>) {
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
        let Some((mut stream, patience)) = open(&shared, &listener, &now) else {
            return;
        };
        let end = listen(&mut stream, &mut old, &mut wanted, now.number, patience).await;
        if listener.stage(stream.key) != Some(Stage::Asked) {
            old = None;
            failures = 0;
        }
        match end {
            End::Changed => old = Some(stream),
            End::Closed => return,
            End::Refused(error) => {
                tracing::debug!(%error, "the server refuses to tell of changes");
                listener.settle(now.number, Err(Failure::Refused(error)));
                drop(stream);
                hold(&mut old, &mut wanted).await;
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
                if failures > ATTEMPTS {
                    tracing::warn!(reason, "nothing is heard of changes any more");
                    failures = 0;
                    listener.give_up(now.number, reason, &mut wanted).await;
                } else {
                    let wait = delay(failures - 1);
                    tracing::debug!(reason, ?wait, "listening again");
                    let closed = async {
                        let _ = wanted.wait_for(|it| it.closed).await;
                    };
                    race(closed, sleep(wait)).await;
                }
            }
        }
    }
}

fn open(
    shared: &Weak<Shared>,
    listener: &Arc<Listener>,
    wanted: &Wanted,
) -> Option<(Stream, Duration)> {
    let shared = shared.upgrade()?;
    let envelope = shared.agreed.envelope.as_ref()?;
    let asked = wanted.filter();
    let mut params = JsonObject::new();
    params.insert("notifications".into(), serde_json::to_value(&asked).ok()?);
    let key = listener.keys.fetch_add(1, Ordering::Relaxed);
    let id = SentId::new();
    lock(&listener.open).push(Open {
        key,
        id: id.clone(),
        number: wanted.number,
        asked,
        stage: Stage::Asked,
    });
    let call = shared.link.request_with(
        method::SUBSCRIPTIONS_LISTEN,
        Some(envelope.params(&params)),
        Extras::of_id(id),
    );
    let stream = Stream {
        call,
        key,
        listener: Arc::clone(listener),
    };
    Some((stream, shared.timeouts.idle))
}

/// Waits for the end of a stream, with the one before it until it is acknowledged.
async fn listen(
    stream: &mut Stream,
    old: &mut Option<Stream>,
    wanted: &mut watch::Receiver<Wanted>,
    number: u64,
    patience: Duration,
) -> End {
    let listener = Arc::clone(&stream.listener);
    let key = stream.key;
    let call = &mut stream.call;
    let heard = || listener.heard.subscribe();
    let acknowledged = async {
        let mut heard = heard();
        let is = |_: &Heard| listener.stage(key) != Some(Stage::Asked);
        let _ = heard.wait_for(is).await;
    };
    let follow = async {
        // The one before is read on meanwhile.
        let waited = timeout(patience, race(acknowledged, ended(old.as_mut()))).await;
        if waited.is_err() {
            let seconds = patience.as_secs_f64();
            return End::Broken(format!("not acknowledged within {seconds} s"));
        }
        *old = None;
        let changed = |it: &Wanted| it.closed || it.number != number;
        match wanted.wait_for(changed).await {
            Ok(wanted) if !wanted.closed => End::Changed,
            _ => End::Closed,
        }
    };
    let cancelled = async {
        let mut heard = heard();
        let is = |_: &Heard| listener.stage(key) == Some(Stage::Ended);
        let _ = heard.wait_for(is).await;
        End::Graceful
    };
    let answered = async {
        match call.await {
            Ok(Ok(_)) => End::Graceful,
            Ok(Err(error)) => End::Refused(error),
            Err(CallError::Closed(_)) => End::Closed,
            Err(error) => End::Broken(error.to_string()),
        }
    };
    race(answered, race(cancelled, follow)).await
}

/// Reads the old stream on until something else is wanted.
async fn hold(old: &mut Option<Stream>, wanted: &mut watch::Receiver<Wanted>) {
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
        open.iter().find(|it| it.key == key).map(|it| it.stage)
    }

    /// Ends the subscriptions, and waits until something new is wanted.
    async fn give_up(&self, number: u64, why: String, wanted: &mut watch::Receiver<Wanted>) {
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
        self.settle(number, Err(Failure::Ended(why)));
        let changed = |it: &Wanted| it.closed || it.number != number;
        let _ = wanted.wait_for(changed).await;
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        lock(&self.listener.open).retain(|it| it.key != self.key);
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
    let bound = BASE.saturating_mul(1 << attempt.min(16)).min(CAP);
    // The keys of hashers come from the operating system.
    let random = RandomState::new().build_hasher().finish();
    let nanos = (bound.as_nanos() * u128::from(random >> 32)) >> 32;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_drawn_below_a_bound_that_doubles() {
        for attempt in 0..20 {
            let bound = BASE.saturating_mul(1 << attempt).min(CAP);
            assert!(delay(attempt) < bound);
        }
        let drawn: std::collections::HashSet<_> = (0..8).map(|_| delay(19)).collect();
        assert!(drawn.len() > 1);
    }
}
