//! Stdin and stdout as asynchronous streams.
//!
//! Pipes and sockets, which hosts use, are read and written without blocking, on the runtime's
//! reactor. Files, terminals, and systems other than Unix use one thread per direction, which does
//! not keep the process alive.

mod threads;
#[cfg(unix)]
mod unix;

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite};

use crate::error::{Error, ErrorKind};
#[cfg(not(unix))]
use threads::{ThreadReader, ThreadWriter};

/// Whether stdin and stdout are being served.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The exclusive right to serve on stdin and stdout.
struct ExclusiveUse;

impl ExclusiveUse {
    fn take() -> Result<Self, Error> {
        match TAKEN.swap(true, Ordering::AcqRel) {
            true => Err(ErrorKind::Busy.into()),
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
    let mut saved = unix::Saved::new().map_err(unusable("stdin and stdout"))?;
    let reader = saved.reader().map_err(unusable("stdin"))?;
    let writer = saved.writer().map_err(unusable("stdout"))?;
    if guard {
        let what = "file descriptors 0 and 1 for the guard";
        saved.guard().map_err(unusable(what))?;
    }
    let restore = Restore {
        _saved: saved,
        _exclusive: exclusive,
    };
    Ok((reader, Writer(writer), restore))
}

/// Opens stdin and stdout. This system has no guard.
#[cfg(not(unix))]
pub(crate) fn open(_guard: bool) -> Result<(Reader, Writer, Restore), Error> {
    let exclusive = ExclusiveUse::take()?;
    let reader = ThreadReader::new(io::stdin()).map_err(unusable("stdin"))?;
    let writer = ThreadWriter::new(io::stdout()).map_err(unusable("stdout"))?;
    let restore = Restore {
        _exclusive: exclusive,
    };
    Ok((Box::new(reader), Writer(Box::new(writer)), restore))
}

fn unusable(what: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |error| Error::new(ErrorKind::Open(what), error)
}

pub(crate) type Reader = Box<dyn AsyncRead + Send + Unpin>;

/// Stdout. It is never shut down, because it belongs to the process.
pub(crate) struct Writer(Box<dyn AsyncWrite + Send + Unpin>);

impl AsyncWrite for Writer {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}
