//! Errors of serving a pipe, and the reasons why a connection ends.

use std::time::Duration;
use std::{fmt, io};

use mcp_protocol::{Closed, InvalidServer};

/// The reason why serving a pipe failed. Programs can distinguish reasons by their [`kind`](Self::kind). After an error, the same
/// pipe cannot be served again.
///
/// It is not an error if a client closes its end.
pub struct Error {
    problem: Repr,
    source: Option<io::Error>,
}

/// The kind of an [`Error`], returned by [`Error::kind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The configuration of the server is invalid, for example because two tools have the same name.
    InvalidServer,
    /// Stdin or stdout cannot be used.
    Open,
    /// Stdin and stdout are already being served by this process.
    Busy,
    /// Reading failed.
    Read,
    /// Writing failed.
    Write,
    /// The peer did not read for longer than
    /// [`StdioOptions::with_write_timeout`](crate::StdioOptions::with_write_timeout) allows.
    WriteTimeout,
}

#[derive(Debug)]
pub(crate) enum Repr {
    InvalidServer(InvalidServer),
    Open(&'static str),
    Read,
    Write,
    Stalled(Duration),
    Busy,
}

impl Error {
    pub(crate) fn new(problem: Repr, source: io::Error) -> Self {
        let source = Some(source);
        Self { problem, source }
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        match self.problem {
            Repr::InvalidServer(_) => ErrorKind::InvalidServer,
            Repr::Open(_) => ErrorKind::Open,
            Repr::Busy => ErrorKind::Busy,
            Repr::Read => ErrorKind::Read,
            Repr::Write => ErrorKind::Write,
            Repr::Stalled(_) => ErrorKind::WriteTimeout,
        }
    }

    /// Returns whether the pipe failed after it was opened.
    pub fn is_closed(&self) -> bool {
        matches!(self.problem, Repr::Read | Repr::Write | Repr::Stalled(_))
    }

    /// Returns whether the peer did not read for longer than
    /// [`StdioOptions::with_write_timeout`](crate::StdioOptions::with_write_timeout) allows.
    pub fn is_timeout(&self) -> bool {
        matches!(self.problem, Repr::Stalled(_))
    }
}

impl From<Repr> for Error {
    fn from(problem: Repr) -> Self {
        Self {
            problem,
            source: None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.problem {
            Repr::InvalidServer(error) => error.fmt(f),
            Repr::Open(what) => write!(f, "cannot use {what} for the protocol"),
            Repr::Read => f.write_str("reading from the peer failed"),
            Repr::Write => f.write_str("writing to the peer failed"),
            Repr::Stalled(limit) => f.write_str(&stall_text(*limit)),
            Repr::Busy => f.write_str(
                "stdin and stdout are already being served; a process has only one of each; use \
                 serve_io for other streams",
            ),
        }
    }
}

impl fmt::Debug for Error {
    /// Writes the same text as `Display`, including the cause. A `main` function that returns the error prints it with `Debug`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Some(source) => write!(f, "{self}: {source}"),
            None => write!(f, "{self}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}

/// Returns the error text for a peer that does not read.
fn stall_text(limit: Duration) -> String {
    format!(
        "the peer read nothing for {} s, the limit of StdioOptions::with_write_timeout",
        limit.as_secs_f64()
    )
}

/// The reason why a driver stopped.
#[derive(Debug)]
pub(crate) enum End {
    /// The peer closed its stream.
    Eof,
    /// This side closed the connection.
    Closed,
    Read(io::Error),
    Write(io::Error),
    /// The peer did not read within the write timeout.
    Stalled(Duration),
    /// The peer wrote too many lines that are not messages.
    TooManyStrayLines,
}

impl End {
    /// Returns the reason why the connection ended.
    pub(crate) fn into_closed(self) -> Closed {
        let gone = self.is_peer_gone();
        match self {
            Self::Eof => Closed::eof(),
            Self::Read(error) | Self::Write(error) if gone => {
                Closed::eof().with_detail(error.to_string())
            }
            Self::Read(error) | Self::Write(error) => Closed::io(error),
            Self::Stalled(limit) => Closed::stalled(stall_text(limit)),
            Self::Closed | Self::TooManyStrayLines => Closed::local(),
        }
    }

    /// Returns whether the peer has disconnected. In all other cases, the connection has failed.
    pub(crate) fn is_peer_gone(&self) -> bool {
        use io::ErrorKind::{BrokenPipe, ConnectionReset};
        match self {
            Self::Eof => true,
            Self::Read(error) | Self::Write(error) => {
                matches!(error.kind(), BrokenPipe | ConnectionReset)
            }
            Self::Closed | Self::Stalled(_) | Self::TooManyStrayLines => false,
        }
    }
}
