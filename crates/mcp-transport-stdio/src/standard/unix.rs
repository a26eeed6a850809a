//! Stdin and stdout on Unix. They are non-blocking unless this would affect another process, and other code of this process
//! cannot use them.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::stdio::{dup2_stdin, dup2_stdout, stderr, stdin, stdout};
use tokio::io::AsyncWrite;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

use super::Reader;
use super::threads::{ThreadReader, ThreadWriter};

/// Private, close-on-exec duplicates of descriptors 0 and 1, and the data to restore them.
pub(crate) struct Saved {
    stdin: OwnedFd,
    stdout: OwnedFd,
    stdin_flags: Option<OFlags>,
    stdout_flags: Option<OFlags>,
    guarded: bool,
}

impl Saved {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            stdin: private(stdin())?,
            stdout: private(stdout())?,
            stdin_flags: None,
            stdout_flags: None,
            guarded: false,
        })
    }

    pub(crate) fn reader(&mut self) -> io::Result<Reader> {
        if let Some(path) = anonymous_pipe(&self.stdin)
            && let Ok(pipe) = pipe::OpenOptions::new().open_receiver(path)
        {
            return Ok(Box::new(pipe));
        }
        let kind = Kind::of(&self.stdin)?;
        let copy = self.stdin.try_clone()?;
        if kind == Kind::Other {
            return Ok(Box::new(ThreadReader::new(File::from(copy))?));
        }
        self.stdin_flags = Some(fcntl_getfl(&self.stdin)?);
        Ok(match kind {
            Kind::Socket => Box::new(socket(copy)?),
            _ => Box::new(pipe::Receiver::from_owned_fd(copy)?),
        })
    }

    pub(crate) fn writer(&mut self) -> io::Result<Box<dyn AsyncWrite + Send + Unpin>> {
        if let Some(path) = anonymous_pipe(&self.stdout)
            && let Ok(pipe) = pipe::OpenOptions::new().open_sender(path)
        {
            return Ok(Box::new(pipe));
        }
        let kind = Kind::of(&self.stdout)?;
        let copy = self.stdout.try_clone()?;
        if kind == Kind::Other {
            return Ok(Box::new(ThreadWriter::new(File::from(copy))?));
        }
        self.stdout_flags = Some(fcntl_getfl(&self.stdout)?);
        Ok(match kind {
            Kind::Socket => Box::new(socket(copy)?),
            _ => Box::new(pipe::Sender::from_owned_fd(copy)?),
        })
    }

    /// Makes descriptor 1 point to stderr and descriptor 0 point to the null device, for this process and the children that it
    /// starts.
    pub(crate) fn guard(&mut self) -> io::Result<()> {
        let nothing = File::open("/dev/null")?;
        self.guarded = true;
        dup2_stdin(&nothing)?;
        dup2_stdout(stderr())?;
        Ok(())
    }
}

impl Drop for Saved {
    fn drop(&mut self) {
        if self.guarded {
            // Text that was printed while the guard was active must not be written to the real
            // stdout later.
            let _ = io::stdout().flush();
            let _ = dup2_stdout(&self.stdout);
            let _ = dup2_stdin(&self.stdin);
        }
        if let Some(flags) = self.stdout_flags {
            let _ = fcntl_setfl(&self.stdout, flags);
        }
        if let Some(flags) = self.stdin_flags {
            let _ = fcntl_setfl(&self.stdin, flags);
        }
    }
}

/// How a descriptor can be used.
#[derive(PartialEq)]
enum Kind {
    Pipe,
    Socket,
    /// A descriptor that stays blocking, for example a file, which is always ready. Terminals and stderr are shared with other
    /// processes. If the descriptor were non-blocking, these processes would receive `EAGAIN`.
    Other,
}

impl Kind {
    fn of(fd: &OwnedFd) -> io::Result<Self> {
        let own = fstat(fd)?;
        let shared = fstat(stderr())
            .is_ok_and(|other| (own.st_dev, own.st_ino) == (other.st_dev, other.st_ino));
        Ok(match FileType::from_raw_mode(own.st_mode) {
            FileType::Fifo if !shared => Self::Pipe,
            FileType::Socket if !shared => Self::Socket,
            _ => Self::Other,
        })
    }
}

/// Returns a path under which an anonymous pipe can be opened again (Linux). On the new descriptor, `O_NONBLOCK` affects only
/// this process. On a duplicate of the old descriptor, it would affect every process that shares the pipe. Returns `None` for a
/// named pipe, because a new descriptor would not notice that the original writer has closed it.
fn anonymous_pipe(fd: &OwnedFd) -> Option<String> {
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let target = std::fs::read_link(&path).ok()?;
    target.to_str()?.starts_with("pipe:").then_some(path)
}

fn socket(fd: OwnedFd) -> io::Result<UnixStream> {
    let socket = std::os::unix::net::UnixStream::from(fd);
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}

fn private(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    Ok(fcntl_dupfd_cloexec(fd.as_fd(), 3)?)
}
