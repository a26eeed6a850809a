//! Timeouts of the connections of a listener: the timeout for a request head, and the timeout for a client that does not read.
//! Also the signal to shut down.
//!
//! hyper has its own timeout for heads, but it needs a timer for each request, and polls an idle connection twice. In this
//! module, all connections share one clock. Each connection records the tick at which its timeout ends. At every tick, the clock
//! checks these records.

mod guard;

use std::collections::HashMap;
use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::pin::pin;
#[cfg(feature = "http2")]
use std::sync::Weak;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::Duration;

use mcp_protocol::LogLimit;
use tokio::time::{Interval, MissedTickBehavior, interval};

pub(crate) use guard::TimerGuard;

use crate::permit::share::KnownOwner;
use crate::permit::{Capacity, Permit};
#[cfg(feature = "http2")]
use crate::server::listener::http2_stream::ChunkState;
use crate::server::options::ServerOptions;
use crate::sync::lock;

/// The smallest buffer that hyper accepts, in bytes. hyper's read buffer has this size at the beginning.
pub(super) const MIN_BUFFER: usize = 8 << 10;

/// The limits that apply to each connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionLimits {
    /// The timeout for a request head. It also applies between two requests.
    pub(crate) head: Duration,
    /// The timeout for a client that does not read its response.
    pub(crate) write: Duration,
    /// Maximum size of a request head in bytes. This is also the maximum size of the buffer for a client that does not read.
    pub(crate) buffer: usize,
    /// Maximum number of concurrent streams of an HTTP/2 connection.
    #[cfg_attr(not(feature = "http2"), expect(dead_code, reason = "only for HTTP/2"))]
    pub(crate) streams: u32,
}

impl ConnectionLimits {
    pub(crate) fn new(options: &ServerOptions) -> Self {
        Self {
            head: options.timeouts.head,
            write: options.timeouts.write,
            buffer: options.connection_limits.max_head_bytes.max(MIN_BUFFER),
            streams: options.connection_limits.max_streams_per_connection,
        }
    }
}

/// Number of ticks in the shorter of the two timeouts.
const TICKS_PER_TIMEOUT: u32 = 8;
/// Maximum interval between two ticks. If a new timer is due before the next tick, the runtime must be woken, which costs a
/// system call. The maximum is below `StreamOptions::upgrade_delay` (250 ms by default), so that the timer of a new call is due
/// after the next tick.
const MAX_TICK: Duration = Duration::from_millis(200);
/// Minimum interval between two ticks.
const MIN_TICK: Duration = Duration::from_millis(10);
/// Number of bytes of a head that are not counted, because hyper's buffer has at least this size.
const FREE_HEAD: usize = MIN_BUFFER;
/// Maximum number of connections with which hyper's read buffers may grow. If there are more connections, the read buffers stay
/// small.
const MAX_LARGE_BUFFERS: usize = 256;
/// The tick of a timer that is stopped.
pub(super) const NEVER: u64 = u64::MAX;

/// The timers of one listener.
pub(crate) struct TimerWheel {
    all: Arc<WheelState>,
    ticking: Interval,
    /// Whether the clock is stopped because there are no connections. An idle server then does not wake up.
    is_stopped: bool,
}

pub(super) struct WheelState {
    /// The number of ticks so far.
    pub(super) now: AtomicU64,
    /// The timeout for a request head, in ticks.
    pub(super) head: u64,
    /// The timeout for a client that does not read, in ticks.
    pub(super) write: u64,
    limits: ConnectionLimits,
    /// Counts the bytes of long request heads.
    heads: Capacity,
    /// Counts the bytes of responses.
    pub(super) responses: Capacity,
    /// Counts the connections.
    pub(super) connections: Capacity,
    /// Limits the number of log messages about idle connections that are closed.
    pub(super) idle_log: LogLimit,
    closing: AtomicBool,
    /// The number of entries in `timers`.
    open: AtomicUsize,
    pub(super) timers: Mutex<Timers>,
}

/// The timer entries, one for each connection. The number of connections is limited.
#[derive(Default)]
pub(super) struct Timers {
    next: u64,
    pub(super) entries: HashMap<u64, Arc<ConnectionTimer>>,
}

/// The timers of one connection.
pub(crate) struct ConnectionTimer {
    all: Arc<WheelState>,
    /// The tick at which the timeout for a request head ends.
    pub(super) head: AtomicU64,
    /// The tick at which the connection is closed if its client has not read by then (`ServerTimeouts::write`).
    pub(super) write: AtomicU64,
    /// Number of open streams of an HTTP/2 connection. The timeout for a request head counts only while there are no open
    /// streams.
    pub(super) streams: AtomicUsize,
    /// Whether the connection is HTTP/2. The client of an idle HTTP/2 connection is notified before the connection is closed.
    has_streams: AtomicBool,
    pub(super) peer: Option<IpAddr>,
    /// Number of received bytes of the current request head.
    head_bytes: AtomicUsize,
    /// The permit for the memory of the longest request head so far. It is kept, because hyper's read buffer does not shrink.
    head_memory: Mutex<Option<Permit>>,
    /// Whether an HTTP/2 client has sent too many control frames.
    #[cfg(feature = "http2")]
    is_flooded: AtomicBool,
    /// The chunk states of the open streams of an HTTP/2 connection.
    #[cfg(feature = "http2")]
    pub(super) chunks: Mutex<Vec<Weak<ChunkState>>>,
    pub(super) waker: Mutex<Option<Waker>>,
}

impl TimerWheel {
    /// Creates the timers for connections with these limits. `heads` limits the memory of long request heads. While `responses`
    /// is nearly exhausted, the responses that have been unread for the longest time are ended. While `connections` is nearly
    /// exhausted, idle connections are closed.
    pub(crate) fn new(
        limits: ConnectionLimits,
        heads: Capacity,
        responses: Capacity,
        connections: Capacity,
    ) -> Self {
        let tick = limits.head.min(limits.write) / TICKS_PER_TIMEOUT;
        let tick = tick.clamp(MIN_TICK, MAX_TICK);
        let mut ticking = interval(tick);
        ticking.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let ticks = |limit: Duration| {
            // The current tick is not counted, because a part of it has passed.
            let ticks = limit.as_nanos().div_ceil(tick.as_nanos()) + 1;
            u64::try_from(ticks).unwrap_or(NEVER)
        };
        Self {
            all: Arc::new(WheelState {
                now: AtomicU64::new(0),
                head: ticks(limits.head),
                write: ticks(limits.write),
                limits,
                heads,
                responses,
                connections,
                idle_log: LogLimit::default(),
                closing: AtomicBool::new(false),
                open: AtomicUsize::new(0),
                timers: Mutex::default(),
            }),
            ticking,
            is_stopped: false,
        }
    }

    /// Adds a connection of the client at `peer`.
    pub(crate) fn register(&self, peer: Option<IpAddr>) -> TimerGuard {
        let timer = Arc::new(ConnectionTimer {
            all: Arc::clone(&self.all),
            head: AtomicU64::new(NEVER),
            write: AtomicU64::new(NEVER),
            streams: AtomicUsize::new(0),
            has_streams: AtomicBool::new(false),
            peer,
            head_bytes: AtomicUsize::new(0),
            head_memory: Mutex::default(),
            #[cfg(feature = "http2")]
            is_flooded: AtomicBool::new(false),
            #[cfg(feature = "http2")]
            chunks: Mutex::default(),
            waker: Mutex::default(),
        });
        timer.start_head_timer();
        let mut timers = lock(&self.all.timers);
        let number = timers.next;
        timers.next += 1;
        timers.entries.insert(number, Arc::clone(&timer));
        self.all.open.fetch_add(1, Ordering::Relaxed);
        TimerGuard { timer, number }
    }

    /// Advances the clock, if there are connections. Wakes the connections whose timeout has ended.
    pub(crate) fn poll_ticks(&mut self, cx: &mut Context<'_>) {
        if self.all.open.load(Ordering::Relaxed) == 0 {
            self.is_stopped = true;
            return;
        }
        if std::mem::take(&mut self.is_stopped) {
            self.ticking.reset();
        }
        while self.ticking.poll_tick(cx).is_ready() {
            let now = self.all.now.fetch_add(1, Ordering::AcqRel) + 1;
            let over = |until: &AtomicU64| until.load(Ordering::Acquire) <= now;
            self.all
                .wake(|timer| timer.is_head_overdue() || over(&timer.write));
            self.all.relieve();
            if self.all.connections.is_nearly_used() {
                self.close_idle();
            }
        }
    }

    /// Closes a part of the idle connections, to make room for other clients.
    pub(crate) fn close_idle(&self) {
        self.all.close_idle();
    }

    /// Advances the clock until `ended` completes. Returns the result of `ended`.
    pub(crate) async fn run_until<T>(&mut self, ended: impl Future<Output = T>) -> T {
        let mut ended = pin!(ended);
        poll_fn(|cx| {
            self.poll_ticks(cx);
            ended.as_mut().poll(cx)
        })
        .await
    }

    /// Makes every connection end after its current request.
    pub(crate) fn close(&self) {
        self.all.closing.store(true, Ordering::Release);
        self.all.wake(|_| true);
    }
}

impl WheelState {
    /// Returns the number of the tick that is `ticks` ticks after the current tick.
    fn after(&self, ticks: u64) -> u64 {
        self.now.load(Ordering::Acquire).saturating_add(ticks)
    }

    fn is_over(&self, until: &AtomicU64) -> bool {
        self.now.load(Ordering::Acquire) >= until.load(Ordering::Acquire)
    }

    fn wake(&self, which: impl Fn(&ConnectionTimer) -> bool) {
        for timer in lock(&self.timers)
            .entries
            .values()
            .filter(|timer| which(timer))
        {
            if let Some(waker) = &*lock(&timer.waker) {
                waker.wake_by_ref();
            }
        }
    }
}

impl ConnectionTimer {
    /// Starts the timeout for a request head.
    pub(super) fn start_head_timer(&self) {
        self.head
            .store(self.all.after(self.all.head), Ordering::Release);
    }

    /// Returns whether there are so many connections that hyper's read buffer must not grow while a body is received.
    pub(super) fn is_crowded(&self) -> bool {
        self.all.open.load(Ordering::Relaxed) > MAX_LARGE_BUFFERS
    }

    /// Counts received bytes. For a long request head, takes a permit for the memory of hyper's buffer.
    ///
    /// # Errors
    /// The limit on the memory of requests is reached.
    pub(super) fn received(&self, bytes: usize) -> io::Result<()> {
        if self.head.load(Ordering::Relaxed) == NEVER || self.has_streams.load(Ordering::Relaxed) {
            return Ok(());
        }
        let head = self.head_bytes.load(Ordering::Relaxed) + bytes;
        self.head_bytes.store(head, Ordering::Relaxed);
        if head <= FREE_HEAD {
            return Ok(());
        }
        let mut memory = lock(&self.head_memory);
        let memory = memory.get_or_insert_with(|| self.all.heads.permit());
        // The buffer doubles.
        let missing = head.next_power_of_two().saturating_sub(memory.units());
        let grown = memory.try_grow(missing, || self.peer.map(KnownOwner::address));
        grown.map_err(|_| {
            io::Error::other(
                "the request heads and bodies in memory reach MemoryLimits::max_request_bytes, or the \
                 share of this client (ServerOptions::with_client_share)",
            )
        })
    }

    /// Records that a request has ended. Starts the timeout for the next request head.
    pub(super) fn request_ended(&self) {
        self.head_bytes.store(0, Ordering::Relaxed);
        self.start_head_timer();
    }

    /// Stops the timeout for a request head.
    pub(super) fn stop_head_timer(&self) {
        self.head.store(NEVER, Ordering::Release);
    }

    /// Returns whether the timeout for a request head has ended. Returns `false` while the client is still reading a response.
    fn is_head_overdue(&self) -> bool {
        self.all.is_over(&self.head)
            && self.write.load(Ordering::Acquire) == NEVER
            && self.streams.load(Ordering::Acquire) == 0
    }

    /// Returns the number of ticks so far.
    #[cfg(feature = "http2")]
    pub(super) fn now(&self) -> u64 {
        self.all.now.load(Ordering::Acquire)
    }

    /// Records that the client has sent too many control frames.
    #[cfg(feature = "http2")]
    pub(super) fn mark_flooded(&self) {
        self.is_flooded.store(true, Ordering::Release);
    }

    #[cfg(feature = "http2")]
    pub(super) fn is_flooded(&self) -> bool {
        self.is_flooded.load(Ordering::Acquire)
    }

    /// Adds the chunk state of a new HTTP/2 stream.
    #[cfg(feature = "http2")]
    pub(super) fn add_chunks(&self, stream: &Arc<ChunkState>) {
        let mut chunks = lock(&self.chunks);
        chunks.retain(|stream| stream.strong_count() > 0);
        chunks.push(Arc::downgrade(stream));
    }

    /// Records that an HTTP/2 stream was opened.
    #[cfg(feature = "http2")]
    pub(super) fn stream_opened(&self) {
        self.streams.fetch_add(1, Ordering::AcqRel);
    }

    /// Records that an HTTP/2 stream was closed. If no stream is open, starts the timeout for the next request head.
    #[cfg(feature = "http2")]
    pub(super) fn stream_closed(&self) {
        // In this order, so that the timeout has its full time when the last stream is gone.
        self.start_head_timer();
        self.streams.fetch_sub(1, Ordering::AcqRel);
    }

    /// Starts the timeout for a client that does not read.
    pub(super) fn write_blocked(&self) {
        self.write
            .store(self.all.after(self.all.write), Ordering::Release);
    }

    /// Stops the timeout for a client that does not read. The timeout for the next request head starts again.
    pub(super) fn write_unblocked(&self) {
        if self.head.load(Ordering::Acquire) != NEVER {
            self.start_head_timer();
        }
        self.write.store(NEVER, Ordering::Release);
    }

    /// Returns whether the timeout for a client that does not read has ended.
    pub(super) fn is_write_overdue(&self) -> bool {
        self.all.is_over(&self.write)
    }
}

#[cfg(test)]
mod tests;
