//! Tests of the timers, on a paused clock.

use std::future::pending;
use std::sync::atomic::AtomicUsize;
use std::task::Poll;

use super::*;
use crate::ServerOptions;
use crate::server::listener::connection::{GuardedBody, RequestGuard};

/// A connection on which no data arrives.
async fn silence() -> io::Result<()> {
    pending().await
}

fn wheel(head: Duration) -> TimerWheel {
    let options = ServerOptions::new().with_timeouts(|timeouts| timeouts.head = head);
    TimerWheel::new(
        ConnectionLimits::new(&options),
        Capacity::new(0),
        Capacity::new(0),
        Capacity::new(0),
    )
}

#[tokio::test(start_paused = true)]
async fn the_head_timeout_ends_a_connection_within_a_few_ticks() {
    for head in [1, 80, 300, 30_000, 3_600_000].map(Duration::from_millis) {
        let mut wheel = wheel(head);
        let timer = wheel.register(None);
        let started = tokio::time::Instant::now();
        let silent = async move { timer.serve(pin!(silence()), |_| {}).await };
        let ended = wheel.run_until(tokio::spawn(silent)).await.unwrap();
        assert!(ended.unwrap_err().to_string().contains("head"));
        let slack = (head / TICKS_PER_TIMEOUT).clamp(MIN_TICK, MAX_TICK) * 3;
        let waited = started.elapsed();
        assert!(
            waited >= head && waited <= head + slack,
            "{head:?}: {waited:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_head_timer_stops_while_a_request_is_served() {
    let mut wheel = wheel(Duration::from_millis(80));
    let timer = wheel.register(None);
    let response = GuardedBody::new(crate::Body::empty(), Some(RequestGuard::new(timer.timer())));
    let busy = tokio::spawn(async move { timer.serve(pin!(silence()), |_| {}).await });
    wheel
        .run_until(tokio::time::sleep(Duration::from_secs(10)))
        .await;
    assert!(!busy.is_finished());
    // The next head is awaited.
    drop(response);
    assert!(wheel.run_until(busy).await.unwrap().is_err());
}

#[tokio::test]
async fn each_connection_is_closed_exactly_once() {
    static CLOSED: AtomicUsize = AtomicUsize::new(0);
    let wheel = wheel(Duration::from_secs(30));
    let mut connections = tokio::task::JoinSet::new();
    for _ in 0..3 {
        let timer = wheel.register(None);
        connections.spawn(async move {
            let until_told = poll_fn(|_| match CLOSED.load(Ordering::Acquire) {
                3 => Poll::Ready(Ok::<_, io::Error>(())),
                _ => Poll::Pending,
            });
            timer
                .serve(pin!(until_told), |_| {
                    CLOSED.fetch_add(1, Ordering::AcqRel);
                })
                .await
                .unwrap();
        });
    }
    tokio::task::yield_now().await;
    wheel.close();
    tokio::task::yield_now().await;
    assert_eq!(CLOSED.load(Ordering::Acquire), 3);
    wheel.close();
    while connections.join_next().await.transpose().unwrap().is_some() {}
    assert_eq!(CLOSED.load(Ordering::Acquire), 3);
    assert!(lock(&wheel.all.timers).entries.is_empty());
}

#[tokio::test]
async fn the_buffer_for_the_longest_head_is_charged_until_the_connection_ends() {
    let heads = Capacity::with_shares(64 << 10, 50);
    let limits = ConnectionLimits::new(&ServerOptions::new());
    let wheel = TimerWheel::new(limits, heads.clone(), Capacity::new(0), Capacity::new(0));
    let guard = wheel.register(Some([127, 0, 0, 1].into()));
    let timer = guard.timer();
    // The lengths of heads, and the KiB that are charged afterwards.
    for (length, charged) in [
        (8 << 10, 0),
        (9_000, 16),
        (100, 16),
        (20_000, 32),
        (9_000, 32),
    ] {
        timer.received(length).unwrap();
        assert_eq!(heads.used(), charged << 10, "{length}");
        drop(RequestGuard::new(timer));
    }
    timer.received(40_000).unwrap();
    timer.received(40_000).unwrap_err();
    drop(guard);
    assert_eq!(heads.used(), 0);
}

/// Counts how often a future is woken.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl std::task::Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

#[tokio::test(start_paused = true)]
async fn a_listener_without_connections_does_not_wake_up() {
    let mut wheel = wheel(Duration::from_secs(30));
    let wakes = Arc::<Wakes>::default();
    let waker = Waker::from(Arc::clone(&wakes));
    let woken_in = async |wheel: &mut TimerWheel| {
        let before = wakes.0.load(Ordering::Acquire);
        for _ in 0..10 {
            wheel.poll_ticks(&mut Context::from_waker(&waker));
            tokio::time::advance(MAX_TICK).await;
        }
        wakes.0.load(Ordering::Acquire) - before
    };
    assert_eq!(woken_in(&mut wheel).await, 0);
    let timer = wheel.register(None);
    assert_eq!(woken_in(&mut wheel).await, 10);
    drop(timer);
    // The last tick was awaited before the connection ended.
    assert!(woken_in(&mut wheel).await <= 1);
    assert_eq!(woken_in(&mut wheel).await, 0);
}
