//! A peer that sends without a pause does not starve other tasks.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use mcp_transport_stdio::serve_io;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::fixture::Fixture;

const PING: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";

#[derive(Default)]
struct Counts {
    read: AtomicUsize,
    written: AtomicUsize,
    furthest: AtomicUsize,
    reads: AtomicUsize,
    writes: AtomicUsize,
}

/// A stream that is always ready and does not use the runtime's cooperative scheduling.
struct Endless {
    counts: Arc<Counts>,
    left: usize,
}

impl AsyncRead for Endless {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.counts.reads.fetch_add(1, Ordering::Relaxed);
        while self.left > 0 && buffer.remaining() >= PING.len() {
            buffer.put_slice(PING);
            self.left -= 1;
            let read = self.counts.read.fetch_add(1, Ordering::Relaxed) + 1;
            let lag = read - self.counts.written.load(Ordering::Relaxed);
            self.counts.furthest.fetch_max(lag, Ordering::Relaxed);
        }
        Poll::Ready(Ok(()))
    }
}

struct Sink(Arc<Counts>);

impl AsyncWrite for Sink {
    fn poll_write(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
        assert!(lines <= 64, "{lines} responses were delayed");
        self.0.writes.fetch_add(1, Ordering::Relaxed);
        self.0.written.fetch_add(lines, Ordering::Relaxed);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn an_endless_stream_of_requests_does_not_block_other_tasks() {
    let counts = Arc::<Counts>::default();
    let reader = Endless {
        counts: Arc::clone(&counts),
        left: 100_000,
    };
    let mut turns = 0;
    let others = async {
        while counts.read.load(Ordering::Relaxed) < 100_000 {
            turns += 1;
            tokio::task::yield_now().await;
        }
    };
    let (served, ()) = tokio::join!(serve_io(Fixture, reader, Sink(Arc::clone(&counts))), others);
    served.unwrap();
    assert_eq!(counts.written.load(Ordering::Relaxed), 100_000);
    let (reads, writes) = (&counts.reads, &counts.writes);
    let most = 100_000 / 64 + reads.load(Ordering::Relaxed);
    assert!(
        writes.load(Ordering::Relaxed) <= most,
        "one write per batch"
    );
    let buffer = (64 << 10) / PING.len();
    assert!(counts.furthest.load(Ordering::Relaxed) <= buffer + 1);
    assert!(turns > 50, "other tasks were polled {turns} times");
}
