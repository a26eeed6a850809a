//! Blocking streams on separate threads.
//!
//! `tokio::io::stdin` is not used, because the runtime waits for its thread. A process would then end only after the next line of
//! input.

use std::io::{self, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;

/// Number of bytes that are passed between the threads at once.
const CHUNK: usize = 64 << 10;

/// A reader with a thread that reads one chunk in advance.
pub(crate) struct ThreadReader {
    chunks: mpsc::Receiver<io::Result<Vec<u8>>>,
    chunk: Vec<u8>,
    taken: usize,
}

impl ThreadReader {
    pub(crate) fn new(mut source: impl Read + Send + 'static) -> io::Result<Self> {
        let (sender, chunks) = mpsc::channel(1);
        std::thread::Builder::new()
            .name("mcp-stdin".into())
            .spawn(move || {
                let mut buffer = vec![0; CHUNK];
                loop {
                    let read = match source.read(&mut buffer) {
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                        other => other.map(|count| buffer[..count].to_vec()),
                    };
                    let last = read.as_ref().map_or(true, Vec::is_empty);
                    if sender.blocking_send(read).is_err() || last {
                        return;
                    }
                }
            })?;
        Ok(Self {
            chunks,
            chunk: Vec::new(),
            taken: 0,
        })
    }
}

impl AsyncRead for ThreadReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.taken == self.chunk.len() {
            match ready!(self.chunks.poll_recv(cx)) {
                Some(chunk) => self.chunk = chunk?,
                None => self.chunk.clear(),
            }
            self.taken = 0;
        }
        let rest = &self.chunk[self.taken..];
        let count = rest.len().min(buffer.remaining());
        buffer.put_slice(&rest[..count]);
        self.taken += count;
        Poll::Ready(Ok(()))
    }
}

/// A writer that passes one chunk at a time to its thread. Flushing waits until the thread has written the chunk.
pub(crate) struct ThreadWriter {
    chunks: mpsc::Sender<Vec<u8>>,
    written: mpsc::Receiver<(Vec<u8>, io::Result<()>)>,
    /// The buffer. `None` while the thread uses it.
    spare: Option<Vec<u8>>,
}

impl ThreadWriter {
    pub(crate) fn new(mut sink: impl Write + Send + 'static) -> io::Result<Self> {
        let (chunks, mut inbox) = mpsc::channel::<Vec<u8>>(1);
        let (outbox, written) = mpsc::channel(1);
        std::thread::Builder::new()
            .name("mcp-stdout".into())
            .spawn(move || {
                while let Some(chunk) = inbox.blocking_recv() {
                    let result = sink.write_all(&chunk).and_then(|()| sink.flush());
                    if outbox.blocking_send((chunk, result)).is_err() {
                        return;
                    }
                }
            })?;
        Ok(Self {
            chunks,
            written,
            spare: Some(Vec::new()),
        })
    }

    /// Completes when the thread has written its chunk.
    fn poll_done(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.spare.is_some() {
            return Poll::Ready(Ok(()));
        }
        let (mut chunk, result) = ready!(self.written.poll_recv(cx)).ok_or_else(ended)?;
        chunk.clear();
        self.spare = Some(chunk);
        Poll::Ready(result)
    }
}

impl AsyncWrite for ThreadWriter {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_done(cx))?;
        let count = bytes.len().min(CHUNK);
        let mut chunk = self.spare.take().unwrap_or_default();
        chunk.extend_from_slice(&bytes[..count]);
        self.chunks.try_send(chunk).map_err(|_| ended())?;
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_done(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_done(cx)
    }
}

fn ended() -> io::Error {
    io::Error::other("the thread that writes to stdout has ended")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn blocking_streams_deliver_every_byte() {
        let (source, sink) = io::pipe().unwrap();
        let mut writer = ThreadWriter::new(sink).unwrap();
        let mut reader = ThreadReader::new(source).unwrap();
        let sent: Vec<u8> = (0..1_000_000_u32).map(|n| (n % 251) as u8).collect();
        let mut got = Vec::new();
        let send = async {
            writer.write_all(&sent).await.unwrap();
            writer.flush().await.unwrap();
            drop(writer);
        };
        let (got_all, ()) = tokio::join!(reader.read_to_end(&mut got), send);
        got_all.unwrap();
        assert!(got == sent);
    }
}
