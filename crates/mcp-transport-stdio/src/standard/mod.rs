//! Stdin and stdout as asynchronous streams.
//!
//! Pipes and sockets, which hosts use, are read and written without blocking, on the runtime's
//! reactor. Files, terminals, and systems other than Unix use one thread per direction, which does
//! not keep the process alive.

mod threads;
#[cfg(unix)]
mod unix;

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::error::Error;
use threads::{ThreadReader, ThreadWriter};

/// Whether stdin and stdout are being served.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The exclusive right to serve on stdin and stdout.
struct ExclusiveUse;

impl ExclusiveUse {
    fn take() -> Result<Self, Error> {
        match TAKEN.swap(true, Ordering::AcqRel) {
            true => Err(Error::busy()),
            false => Ok(Self),
        }
    }
}

impl Drop for ExclusiveUse {
    fn drop(&mut self) {
        TAKEN.store(false, Ordering::Release);
    }
}

/// Restores stdin and stdout when dropped. Drop the streams first.
pub(crate) struct Restore {
    #[cfg(unix)]
    _saved: unix::Saved,
    _exclusive: ExclusiveUse,
}

/// Opens stdin and stdout. With `guard`, the rest of the process can no longer use them.
#[cfg(unix)]
pub(crate) fn open(guard: bool) -> Result<(Reader, Writer, Restore), Error> {
    let exclusive = ExclusiveUse::take()?;
    let mut saved = unix::Saved::new().map_err(|error| Error::open("stdin and stdout", error))?;
    let reader = saved
        .reader()
        .map_err(|error| Error::open("stdin", error))?;
    let writer = saved
        .writer()
        .map_err(|error| Error::open("stdout", error))?;
    if guard {
        saved
            .guard()
            .map_err(|error| Error::open("file descriptors 0 and 1 for the guard", error))?;
    }
    let restore = Restore {
        _saved: saved,
        _exclusive: exclusive,
    };
    Ok((reader, writer, restore))
}

/// Opens stdin and stdout. This system has no guard.
#[cfg(not(unix))]
pub(crate) fn open(_guard: bool) -> Result<(Reader, Writer, Restore), Error> {
    let exclusive = ExclusiveUse::take()?;
    let reader =
        ThreadReader::new(std::io::stdin()).map_err(|error| Error::open("stdin", error))?;
    let writer =
        ThreadWriter::new(std::io::stdout()).map_err(|error| Error::open("stdout", error))?;
    Ok((
        Reader::Thread(reader),
        Writer::Thread(writer),
        Restore {
            _exclusive: exclusive,
        },
    ))
}

pub(crate) enum Reader {
    #[cfg(unix)]
    Pipe(tokio::net::unix::pipe::Receiver),
    #[cfg(unix)]
    Socket(tokio::net::UnixStream),
    Thread(ThreadReader),
}

impl AsyncRead for Reader {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        match self.get_mut() {
            #[cfg(unix)]
            Self::Pipe(pipe) => Pin::new(pipe).poll_read(cx, buffer),
            #[cfg(unix)]
            Self::Socket(socket) => Pin::new(socket).poll_read(cx, buffer),
            Self::Thread(thread) => Pin::new(thread).poll_read(cx, buffer),
        }
    }
}

pub(crate) enum Writer {
    #[cfg(unix)]
    Pipe(tokio::net::unix::pipe::Sender),
    #[cfg(unix)]
    Socket(tokio::net::UnixStream),
    Thread(ThreadWriter),
}

impl AsyncWrite for Writer {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        match self.get_mut() {
            #[cfg(unix)]
            Self::Pipe(pipe) => Pin::new(pipe).poll_write(cx, bytes),
            #[cfg(unix)]
            Self::Socket(socket) => Pin::new(socket).poll_write(cx, bytes),
            Self::Thread(thread) => Pin::new(thread).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        match self.get_mut() {
            #[cfg(unix)]
            Self::Pipe(_) | Self::Socket(_) => Poll::Ready(Ok(())),
            Self::Thread(thread) => Pin::new(thread).poll_flush(cx),
        }
    }

    /// Flushes only, because stdout belongs to the process.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        self.poll_flush(cx)
    }
}
