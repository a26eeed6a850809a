//! Stdin and stdout as asynchronous streams.
//!
//! Pipes and sockets, which hosts use, are read and written without blocking, on the runtime's reactor. For files and terminals,
//! and on systems other than Unix, there is one thread per direction. These threads do not keep the process alive.

mod threads;
#[cfg(unix)]
mod unix;

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(unix)]
use std::sync::{Mutex, MutexGuard};
use std::task::{Context, Poll};

#[cfg(unix)]
use mcp_protocol::lock;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::error::{Error, Repr};
#[cfg(not(unix))]
use threads::{ThreadReader, ThreadWriter};

/// Whether this process is serving on stdin and stdout.
static TAKEN: AtomicBool = AtomicBool::new(false);

#[cfg(unix)]
const GUARDED: &str = "file descriptors 0 and 1 for the guard";

/// The exclusive right to serve on stdin and stdout.
struct ExclusiveUse;

impl ExclusiveUse {
    fn take() -> Result<Self, Error> {
        match TAKEN.swap(true, Ordering::AcqRel) {
            true => Err(Repr::Busy.into()),
            false => Ok(Self),
        }
    }
}

impl Drop for ExclusiveUse {
    fn drop(&mut self) {
        TAKEN.store(false, Ordering::Release);
    }
}

/// A guard that restores stdin and stdout when dropped. Drop the streams before the guard.
pub(crate) struct Restore {
    #[cfg(unix)]
    _saved: unix::Saved,
    _exclusive: ExclusiveUse,
}

/// Descriptors that [`protect_stdout`] has saved for the next [`serve`](crate::serve).
#[cfg(unix)]
static PROTECTED: Mutex<Option<unix::Saved>> = Mutex::new(None);

#[cfg(unix)]
fn protected() -> MutexGuard<'static, Option<unix::Saved>> {
    lock(&PROTECTED)
}

/// Protects stdout from text that the program prints before it calls [`serve`](crate::serve).
///
/// On Unix, descriptor 1 now points to stderr, and descriptor 0 points to the null device, until the next `serve` ends. `serve`
/// uses the original descriptors. On other systems this function does nothing, and printed text reaches the client. Call it first
/// in `main`; a second call has no effect.
///
/// ```no_run
/// # async fn run(server: impl mcp_protocol::IntoService) -> Result<(), mcp_transport_stdio::Error> {
/// mcp_transport_stdio::protect_stdout()?;
/// println!("starting up"); // on stderr
/// mcp_transport_stdio::serve(server).await
/// # }
/// ```
///
/// # Errors
/// Stdin and stdout are already being served, or cannot be used.
pub fn protect_stdout() -> Result<(), Error> {
    let _exclusive = ExclusiveUse::take()?;
    #[cfg(unix)]
    {
        let mut protected = protected();
        if protected.is_none() {
            let mut saved = unix::Saved::new().map_err(unusable("stdin and stdout"))?;
            saved.guard().map_err(unusable(GUARDED))?;
            *protected = Some(saved);
        }
    }
    Ok(())
}

/// Opens stdin and stdout. If `guard` is `true`, the rest of the process can no longer use them.
#[cfg(unix)]
pub(crate) fn open(guard: bool) -> Result<(Reader, Writer, Restore), Error> {
    let exclusive = ExclusiveUse::take()?;
    let saved = protected().take().map_or_else(unix::Saved::new, Ok);
    let mut saved = saved.map_err(unusable("stdin and stdout"))?;
    let reader = saved.reader().map_err(unusable("stdin"))?;
    let writer = saved.writer().map_err(unusable("stdout"))?;
    if guard {
        saved.guard().map_err(unusable(GUARDED))?;
    }
    let restore = Restore {
        _saved: saved,
        _exclusive: exclusive,
    };
    Ok((reader, Writer(writer), restore))
}

/// Opens stdin and stdout. On this system, other code of the process can still use them, so `_guard` has no effect.
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
    move |error| Error::new(Repr::Open(what), error)
}

pub(crate) type Reader = Box<dyn AsyncRead + Send + Unpin>;

/// A writer for stdout. It never shuts stdout down, because stdout belongs to the process.
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
