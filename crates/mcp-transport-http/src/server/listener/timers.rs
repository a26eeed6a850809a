//! What watches the connections of a listener: how long each waits for the head of a request and for a client that
//! does not read, and when all of them are to end.
//!
//! hyper can limit the time for a head itself, but that costs each request a timer and hyper a second look at a
//! connection that has nothing to say. Here a clock ticks for all of them together: who starts to wait notes the tick
//! until which it may, and each tick looks at the notes.

use std::collections::HashMap;
use std::error::Error as StdError;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::server::options::Options;
use crate::sync::lock;

/// The smallest buffer hyper can read a head into.
const LEAST_BUFFER: usize = 8 << 10;

/// How patient a connection is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// With the head of a request, and with a connection that waits for one.
    pub(crate) head: Duration,
    /// With a client that leaves unread what was written.
    pub(crate) write: Duration,
    /// The longest head, and what is buffered for a client that does not read.
    pub(crate) buffer: usize,
}

impl Patience {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            head: options.head_timeout,
            write: options.write_stall,
            buffer: options.head_bytes.max(LEAST_BUFFER),
        }
    }
}

/// How many ticks the shorter of the two waits is divided into.
const PARTS: u32 = 8;
/// However long the limits, they are looked after this often; and however short, not more often than that.
const LONGEST_TICK: Duration = Duration::from_secs(1);
const SHORTEST_TICK: Duration = Duration::from_millis(10);
/// Nothing is waited for.
const NEVER: u64 = u64::MAX;

/// Watches the connections of one listener.
pub(crate) struct Watch {
    all: Arc<All>,
    ticking: Interval,
}

struct All {
    /// How many ticks there were.
    now: AtomicU64,
    /// How many may pass before a head is here.
    head: u64,
    /// How many may pass before a client goes on reading.
    write: u64,
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
pub(crate) struct Seat {
    all: Arc<All>,
    /// The tick until which it may wait for a head.
    head: AtomicU64,
    /// The tick until which what was written may stay unread.
    write: AtomicU64,
    waker: Mutex<Option<Waker>>,
}

impl Watch {
    /// Watches connections that are served as patiently as this.
    pub(crate) fn new(patience: Patience) -> Self {
        let tick = patience.head.min(patience.write) / PARTS;
        let tick = tick.clamp(SHORTEST_TICK, LONGEST_TICK);
        let mut ticking = interval(tick);
        ticking.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let ticks = |limit: Duration| {
            // The tick that is going on when the wait starts does not count.
            let ticks = limit.as_nanos().div_ceil(tick.as_nanos()) + 1;
            u64::try_from(ticks).unwrap_or(NEVER)
        };
        Self {
            all: Arc::new(All {
                now: AtomicU64::new(0),
                head: ticks(patience.head),
                write: ticks(patience.write),
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
            head: AtomicU64::new(NEVER),
            write: AtomicU64::new(NEVER),
            waker: Mutex::default(),
        });
        seat.wait();
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
            let over = |until: &AtomicU64| until.load(Ordering::Acquire) <= now;
            self.all.wake(|seat| over(&seat.head) || over(&seat.write));
        }
    }

    /// Lets the clock go on until `ended` completes.
    pub(crate) async fn during<T>(&mut self, ended: impl Future<Output = T>) -> T {
        let mut ended = pin!(ended);
        poll_fn(|cx| {
            self.poll_ticks(cx);
            ended.as_mut().poll(cx)
        })
        .await
    }

    /// Tells every connection to end after the request that it is at.
    pub(crate) fn close(&self) {
        self.all.closing.store(true, Ordering::Release);
        self.all.wake(|_| true);
    }
}

impl All {
    /// The tick after so many.
    fn after(&self, ticks: u64) -> u64 {
        self.now.load(Ordering::Acquire).saturating_add(ticks)
    }

    fn is_over(&self, until: &AtomicU64) -> bool {
        self.now.load(Ordering::Acquire) >= until.load(Ordering::Acquire)
    }

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

impl Seat {
    /// It waits for the head of a request from now on.
    pub(super) fn wait(&self) {
        self.head
            .store(self.all.after(self.all.head), Ordering::Release);
    }

    /// It does not wait any more.
    pub(super) fn rest(&self) {
        self.head.store(NEVER, Ordering::Release);
    }

    /// Whether it waited too long for a head. Who is still reading cannot be late with one.
    fn is_late(&self) -> bool {
        self.all.is_over(&self.head) && self.write.load(Ordering::Acquire) == NEVER
    }

    /// What was written is not read; it was, until now.
    pub(super) fn stall(&self) {
        self.write
            .store(self.all.after(self.all.write), Ordering::Release);
    }

    /// It is read again: from now on there is time for a head.
    pub(super) fn flow(&self) {
        if self.head.load(Ordering::Acquire) != NEVER {
            self.wait();
        }
        self.write.store(NEVER, Ordering::Release);
    }

    /// Whether it was not read for too long.
    pub(super) fn is_unread(&self) -> bool {
        self.all.is_over(&self.write)
    }
}

impl Watched {
    /// How patiently it is served.
    pub(crate) fn patience(&self) -> &Patience {
        &self.seat.all.patience
    }

    /// For requests that come one after the other, to tell that they are here.
    pub(crate) fn seat(&self) -> &Arc<Seat> {
        &self.seat
    }

    /// Heads are somebody else's concern.
    #[cfg(feature = "http2")]
    pub(crate) fn rest(&self) {
        self.seat.rest();
    }

    /// Serves the connection; `close` makes it end after the request it is at.
    ///
    /// # Errors
    /// What the connection failed with, or that it waited too long for a head.
    pub(crate) async fn serve<C, E>(
        &self,
        mut connection: Pin<&mut C>,
        close: fn(Pin<&mut C>),
    ) -> Result<(), Failure>
    where
        C: Future<Output = Result<(), E>>,
        E: Into<Failure>,
    {
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
            match connection.as_mut().poll(cx) {
                Poll::Ready(ended) => Poll::Ready(ended.map_err(Into::into)),
                Poll::Pending if self.seat.is_late() => {
                    Poll::Ready(Err("no head within Options::with_head_timeout".into()))
                }
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }
}

type Failure = Box<dyn StdError + Send + Sync>;

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::io;
    use std::sync::atomic::AtomicUsize;

    use super::*;
    use crate::Options;
    use crate::server::listener::route::{Served, Serving};

    /// A connection on which nothing comes.
    async fn silence() -> io::Result<()> {
        pending().await
    }

    fn watch(head: Duration) -> Watch {
        let options = Options::new().with_head_timeout(head);
        Watch::new(Patience::new(&options))
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_has_all_the_time_it_is_given_and_little_more() {
        for head in [1, 80, 300, 30_000, 3_600_000].map(Duration::from_millis) {
            let mut watch = watch(head);
            let watched = watch.seat();
            let started = tokio::time::Instant::now();
            let silent = async move { watched.serve(pin!(silence()), |_| {}).await };
            let ended = watch.during(tokio::spawn(silent)).await.unwrap();
            assert!(ended.unwrap_err().to_string().contains("with_head_timeout"));
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
        let mut watch = watch(Duration::from_millis(80));
        let watched = watch.seat();
        let response = Served::new(crate::Body::empty(), Some(Serving::new(watched.seat())));
        let busy = tokio::spawn(async move { watched.serve(pin!(silence()), |_| {}).await });
        watch
            .during(tokio::time::sleep(Duration::from_secs(10)))
            .await;
        assert!(!busy.is_finished());
        // The next one is.
        drop(response);
        assert!(watch.during(busy).await.unwrap().is_err());
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
                    3 => Poll::Ready(Ok::<_, io::Error>(())),
                    _ => Poll::Pending,
                });
                watched
                    .serve(pin!(until_told), |_| {
                        TOLD.fetch_add(1, Ordering::AcqRel);
                    })
                    .await
                    .unwrap();
            });
        }
        tokio::task::yield_now().await;
        watch.close();
        tokio::task::yield_now().await;
        assert_eq!(TOLD.load(Ordering::Acquire), 3);
        watch.close();
        while connections.join_next().await.transpose().unwrap().is_some() {}
        assert_eq!(TOLD.load(Ordering::Acquire), 3);
        assert!(lock(&watch.all.seats).taken.is_empty());
    }
}
