//! What watches the connections of a listener: how long each waits for the head of a request, and when all of them
//! are to end.
//!
//! A timer of the runtime for each request costs more than to find its session. Here a clock ticks for all of them
//! together: who starts to wait notes the tick until which it may, and each tick looks at the notes.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::connection::Patience;
use super::lock;

/// How many ticks a wait is divided into: it may last this part longer than the limit says.
const PARTS: u32 = 8;
/// However long the limit, it is looked after this often; and however short, not more often than that.
const LONGEST_TICK: Duration = Duration::from_secs(1);
const SHORTEST_TICK: Duration = Duration::from_millis(10);
/// No head is waited for.
const NEVER: u64 = u64::MAX;

/// Watches the connections of one listener.
pub(crate) struct Watch {
    all: Arc<All>,
    ticking: Interval,
}

struct All {
    /// How many ticks there were.
    now: AtomicU64,
    /// How many a head may take.
    ticks: u64,
    patience: Patience,
    closing: AtomicBool,
    seats: Mutex<Seats>,
}

/// As many as there are connections, whose number is limited.
#[derive(Default)]
struct Seats {
    next: u64,
    taken: HashMap<u64, Arc<Seat>>,
}

/// What is known of one connection.
struct Seat {
    all: Arc<All>,
    /// The tick until which it may wait for a head.
    until: AtomicU64,
    waker: Mutex<Option<Waker>>,
}

impl Watch {
    /// Watches connections that are served as patiently as this.
    pub(crate) fn new(patience: Patience) -> Self {
        let head = patience.head;
        let tick = (head / PARTS).clamp(SHORTEST_TICK, LONGEST_TICK);
        let mut ticking = interval(tick);
        ticking.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The tick that is going on when the wait starts does not count.
        let ticks = head.as_nanos().div_ceil(tick.as_nanos()) + 1;
        Self {
            all: Arc::new(All {
                now: AtomicU64::new(0),
                ticks: u64::try_from(ticks).unwrap_or(NEVER),
                patience,
                closing: AtomicBool::new(false),
                seats: Mutex::default(),
            }),
            ticking,
        }
    }

    /// A place for a connection.
    pub(crate) fn seat(&self) -> Watched {
        let seat = Arc::new(Seat {
            all: Arc::clone(&self.all),
            until: AtomicU64::new(NEVER),
            waker: Mutex::default(),
        });
        let mut seats = lock(&self.all.seats);
        let number = seats.next;
        seats.next += 1;
        seats.taken.insert(number, Arc::clone(&seat));
        Watched { seat, number }
    }

    /// Lets the clock go on, and wakes whose time is over.
    pub(crate) fn poll_ticks(&mut self, cx: &mut Context<'_>) {
        while self.ticking.poll_tick(cx).is_ready() {
            let now = self.all.now.fetch_add(1, Ordering::AcqRel) + 1;
            self.all
                .wake(|seat| seat.until.load(Ordering::Acquire) <= now);
        }
    }

    /// Tells every connection to end after the request that it is at.
    pub(crate) fn close(&self) {
        self.all.closing.store(true, Ordering::Release);
        self.all.wake(|_| true);
    }
}

impl All {
    fn wake(&self, which: impl Fn(&Seat) -> bool) {
        for seat in lock(&self.seats).taken.values().filter(|seat| which(seat)) {
            if let Some(waker) = &*lock(&seat.waker) {
                waker.wake_by_ref();
            }
        }
    }
}

/// The place of a connection, given back on drop.
pub(crate) struct Watched {
    seat: Arc<Seat>,
    number: u64,
}

impl Drop for Watched {
    fn drop(&mut self) {
        lock(&self.seat.all.seats).taken.remove(&self.number);
    }
}

impl Watched {
    /// How patiently it is served.
    pub(crate) fn patience(&self) -> &Patience {
        &self.seat.all.patience
    }

    /// What hyper measures heads with.
    pub(crate) fn timer(&self) -> HeadTimer {
        HeadTimer {
            seat: Arc::clone(&self.seat),
            born: Instant::now(),
        }
    }

    /// Serves the connection; `close` makes it end after the request it is at.
    pub(crate) async fn serve<C: Future>(
        &self,
        mut connection: Pin<&mut C>,
        close: fn(Pin<&mut C>),
    ) -> C::Output {
        let mut told = false;
        let mut known: Option<Waker> = None;
        poll_fn(|cx| {
            // The waker first: who wakes has set before what it wakes for, so that nothing is missed.
            if !known.as_ref().is_some_and(|it| it.will_wake(cx.waker())) {
                known = Some(cx.waker().clone());
                lock(&self.seat.waker).clone_from(&known);
            }
            if !told && self.seat.all.closing.load(Ordering::Acquire) {
                told = true;
                close(connection.as_mut());
            }
            connection.as_mut().poll(cx)
        })
        .await
    }
}

/// Ends the wait for a head when the clock of the listener says so, whatever the deadline: that is made of the same limit.
pub(crate) struct HeadTimer {
    seat: Arc<Seat>,
    /// What hyper adds its limit to. Nobody looks at the sum.
    born: Instant,
}

impl Timer for HeadTimer {
    fn sleep(&self, _: Duration) -> Pin<Box<dyn Sleep>> {
        let seat = Arc::clone(&self.seat);
        let now = seat.all.now.load(Ordering::Acquire);
        let until = now.saturating_add(seat.all.ticks);
        seat.until.store(until, Ordering::Release);
        Box::pin(Waiting(seat))
    }

    fn sleep_until(&self, _: Instant) -> Pin<Box<dyn Sleep>> {
        self.sleep(Duration::ZERO)
    }

    fn now(&self) -> Instant {
        self.born
    }
}

/// A wait for a head; hyper polls it in the task of the connection, whose waker the seat has.
struct Waiting(Arc<Seat>);

impl Future for Waiting {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let now = self.0.all.now.load(Ordering::Acquire);
        if now >= self.0.until.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        Poll::Pending
    }
}

impl Sleep for Waiting {}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.until.store(NEVER, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::pin::pin;
    use std::sync::atomic::AtomicUsize;

    use super::*;
    use crate::Options;

    fn watch(head: Duration) -> Watch {
        let options = Options::new().with_head_timeout(head);
        Watch::new(Patience::new(&options))
    }

    /// Lets the clock go until `ended` completes.
    async fn ticking<T>(mut watch: Watch, ended: impl Future<Output = T>) -> T {
        let mut ended = pin!(ended);
        poll_fn(|cx| {
            watch.poll_ticks(cx);
            ended.as_mut().poll(cx)
        })
        .await
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_has_all_the_time_it_is_given_and_little_more() {
        for head in [1, 80, 300, 30_000, 3_600_000].map(Duration::from_millis) {
            let watch = watch(head);
            let watched = watch.seat();
            let timer = watched.timer();
            let started = tokio::time::Instant::now();
            let waiting = async move { watched.serve(pin!(timer.sleep(head)), |_| {}).await };
            ticking(watch, tokio::spawn(waiting)).await.unwrap();
            let slack = (head / PARTS).clamp(SHORTEST_TICK, LONGEST_TICK) * 3;
            let waited = started.elapsed();
            assert!(
                waited >= head && waited <= head + slack,
                "{head:?}: {waited:?}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_a_head_is_not_waited_for() {
        let watch = watch(Duration::from_millis(80));
        let watched = watch.seat();
        drop(watched.timer().sleep(Duration::ZERO));
        let idle = async move { watched.serve(pin!(pending::<()>()), |_| {}).await };
        let idle = tokio::spawn(idle);
        ticking(watch, tokio::time::sleep(Duration::from_secs(10))).await;
        assert!(!idle.is_finished());
        idle.abort();
    }

    #[tokio::test]
    async fn each_connection_is_told_once_that_it_is_over() {
        static TOLD: AtomicUsize = AtomicUsize::new(0);
        let watch = watch(Duration::from_secs(30));
        let mut connections = tokio::task::JoinSet::new();
        for _ in 0..3 {
            let watched = watch.seat();
            connections.spawn(async move {
                let until_told = poll_fn(|_| match TOLD.load(Ordering::Acquire) {
                    3 => Poll::Ready(()),
                    _ => Poll::Pending,
                });
                watched
                    .serve(pin!(until_told), |_| {
                        TOLD.fetch_add(1, Ordering::AcqRel);
                    })
                    .await;
            });
        }
        tokio::task::yield_now().await;
        watch.close();
        tokio::task::yield_now().await;
        assert_eq!(TOLD.load(Ordering::Acquire), 3);
        watch.close();
        while connections.join_next().await.is_some() {}
        assert_eq!(TOLD.load(Ordering::Acquire), 3);
        assert!(lock(&watch.all.seats).taken.is_empty());
    }
}
