//! One direction of a pipe in memory. It has a capacity, and is closed when either end is dropped.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use mcp_protocol::lock;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Creates a pipe that can hold `capacity` bytes, but at least one byte. When it is full, its writer waits.
pub(super) fn pipe(capacity: usize) -> (Reader, Writer) {
    let shared = Arc::new(Shared(Mutex::new(State {
        bytes: VecDeque::new(),
        capacity: capacity.max(1),
        ended: false,
        unread: false,
        reader: None,
        writer: None,
    })));
    (Reader(Arc::clone(&shared)), Writer(shared))
}

/// The reading end.
#[derive(Debug)]
pub(super) struct Reader(Arc<Shared>);

/// The writing end.
#[derive(Debug)]
pub(super) struct Writer(Arc<Shared>);

#[derive(Debug)]
struct Shared(Mutex<State>);

#[derive(Debug)]
struct State {
    bytes: VecDeque<u8>,
    capacity: usize,
    /// Whether the writing end was closed.
    ended: bool,
    /// Whether the reading end was dropped.
    unread: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }

    /// Closes the writing end. The reader gets the remaining bytes, then the end of the stream.
    fn end(&self) {
        let mut state = self.lock();
        state.ended = true;
        let reader = state.reader.take();
        drop(state);
        reader.into_iter().for_each(Waker::wake);
    }
}

impl AsyncRead for Reader {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut state = self.0.lock();
        if state.bytes.is_empty() {
            if state.ended || buffer.remaining() == 0 {
                return Poll::Ready(Ok(()));
            }
            state.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let count = buffer.remaining().min(state.bytes.len());
        let (front, back) = state.bytes.as_slices();
        let first = count.min(front.len());
        buffer.put_slice(&front[..first]);
        buffer.put_slice(&back[..count - first]);
        state.bytes.drain(..count);
        let writer = state.writer.take();
        drop(state);
        writer.into_iter().for_each(Waker::wake);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Writer {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut state = self.0.lock();
        if state.unread || state.ended {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let count = bytes.len().min(state.capacity - state.bytes.len());
        if count == 0 && !bytes.is_empty() {
            state.writer = Some(cx.waker().clone());
            return Poll::Pending;
        }
        state.bytes.extend(&bytes[..count]);
        let reader = state.reader.take();
        drop(state);
        reader.into_iter().for_each(Waker::wake);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.end();
        Poll::Ready(Ok(()))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.unread = true;
        state.bytes = VecDeque::new();
        let writer = state.writer.take();
        drop(state);
        writer.into_iter().for_each(Waker::wake);
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.0.end();
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// Each end runs in a separate task, waits for the other end, and is woken by it.
    #[tokio::test]
    async fn a_small_pipe_delivers_every_byte() {
        for capacity in [0, 1, 7, 64, 4_096] {
            let (mut reader, mut writer) = pipe(capacity);
            let sent: Vec<u8> = (0..1_000_u32).map(|n| n.to_le_bytes()[0]).collect();
            let expected = sent.clone();
            let writing = tokio::spawn(async move {
                writer.write_all(&sent).await.unwrap();
                writer.shutdown().await.unwrap();
                assert!(writer.write_all(b"more").await.is_err());
            });
            let mut got = Vec::new();
            reader.read_to_end(&mut got).await.unwrap();
            writing.await.unwrap();
            assert_eq!(got, expected);
        }
    }

    #[tokio::test]
    async fn the_writer_waits_for_room_and_the_reader_for_bytes() {
        let (mut reader, mut writer) = pipe(2);
        let mut cx = Context::from_waker(Waker::noop());
        let mut space = [0; 4];
        let mut buffer = ReadBuf::new(&mut space);
        assert!(
            Pin::new(&mut reader)
                .poll_read(&mut cx, &mut buffer)
                .is_pending()
        );
        assert!(matches!(
            Pin::new(&mut writer).poll_write(&mut cx, b"abc"),
            Poll::Ready(Ok(2))
        ));
        assert!(Pin::new(&mut writer).poll_write(&mut cx, b"c").is_pending());
        assert!(
            Pin::new(&mut reader)
                .poll_read(&mut cx, &mut buffer)
                .is_ready()
        );
        assert_eq!(buffer.filled(), b"ab");
        assert!(Pin::new(&mut writer).poll_write(&mut cx, b"c").is_ready());
    }

    #[tokio::test]
    async fn dropping_one_end_of_a_pipe_closes_the_other_end() {
        let (mut reader, mut writer) = pipe(8);
        writer.write_all(b"last").await.unwrap();
        drop(writer);
        let mut got = String::new();
        reader.read_to_string(&mut got).await.unwrap();
        assert_eq!(got, "last");
        let (reader, mut writer) = pipe(1);
        writer.write_all(b"x").await.unwrap();
        let writing = tokio::spawn(async move { writer.write_all(b"y").await });
        tokio::task::yield_now().await;
        drop(reader);
        let error = writing.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
