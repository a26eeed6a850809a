//! A recorded session, served from memory.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use mcp_server::Server;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A reader that returns some lines at a time, and then ends or stays pending.
pub(crate) struct Recording {
    pieces: std::vec::IntoIter<Vec<u8>>,
    piece: Vec<u8>,
    at: usize,
    ends: bool,
}

impl Recording {
    /// Creates a reader of these lines, at most `at_once` of them in one read.
    pub(crate) fn new(lines: &[Vec<u8>], at_once: usize, ends: bool) -> Self {
        let pieces: Vec<Vec<u8>> = lines.chunks(at_once).map(<[_]>::concat).collect();
        Self {
            pieces: pieces.into_iter(),
            piece: Vec::new(),
            at: 0,
            ends,
        }
    }
}

impl AsyncRead for Recording {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        if self.at == self.piece.len() {
            match self.pieces.next() {
                Some(piece) => (self.piece, self.at) = (piece, 0),
                None if self.ends => return Poll::Ready(Ok(())),
                None => return Poll::Pending,
            }
        }
        let count = buffer.remaining().min(self.piece.len() - self.at);
        buffer.put_slice(&self.piece[self.at..self.at + count]);
        self.at += count;
        Poll::Ready(Ok(()))
    }
}

/// A writer that counts lines.
pub(crate) struct Sink(pub(crate) Arc<AtomicUsize>);

impl AsyncWrite for Sink {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let lines = bytes.iter().filter(|b| **b == b'\n').count();
        self.0.fetch_add(lines, Ordering::Relaxed);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Serves a recorded session with this number of responses; returns the number of allocations.
pub(crate) fn allocations(server: &Server, recording: Recording, answers: usize) -> u64 {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let lines = Arc::new(AtomicUsize::new(0));
    let sink = Sink(Arc::clone(&lines));
    let server = server.clone();
    let counted = allocation_counter::measure(|| {
        runtime
            .block_on(mcp_transport_stdio::serve_io(server, recording, sink))
            .unwrap();
    });
    assert_eq!(
        lines.load(Ordering::Relaxed),
        answers,
        "every request has a response"
    );
    counted.count_total
}
