//! Errors of serving a pipe, and the reasons for which a connection ends.

use std::time::Duration;
use std::{fmt, io};

/// The reason why serving a pipe failed. The accessors tell its kind.
///
/// A client that closes its end is not an error.
pub struct Error {
    kind: Kind,
    source: Option<io::Error>,
}

#[derive(Debug)]
enum Kind {
    /// The server configuration is invalid.
    Unready(String),
    Open(&'static str),
    Read,
    Write,
    Stalled(Duration),
    Busy,
}

impl Error {
    pub(crate) fn unready(why: String) -> Self {
        Self {
            kind: Kind::Unready(why),
            source: None,
        }
    }

    pub(crate) fn open(what: &'static str, source: io::Error) -> Self {
        Self {
            kind: Kind::Open(what),
            source: Some(source),
        }
    }

    pub(crate) fn read(source: io::Error) -> Self {
        Self {
            kind: Kind::Read,
            source: Some(source),
        }
    }

    pub(crate) fn write(source: io::Error) -> Self {
        Self {
            kind: Kind::Write,
            source: Some(source),
        }
    }

    pub(crate) fn stalled(limit: Duration) -> Self {
        Self {
            kind: Kind::Stalled(limit),
            source: None,
        }
    }

    pub(crate) fn busy() -> Self {
        Self {
            kind: Kind::Busy,
            source: None,
        }
    }

    /// Returns whether the pipe failed after it was opened.
    pub fn is_closed(&self) -> bool {
        matches!(self.kind, Kind::Read | Kind::Write | Kind::Stalled(_))
    }

    /// Returns whether the peer did not read for longer than
    /// [`Options::with_write_timeout`](crate::Options::with_write_timeout) allows.
    pub fn is_timeout(&self) -> bool {
        matches!(self.kind, Kind::Stalled(_))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Unready(why) => f.write_str(why),
            Kind::Open(what) => write!(f, "cannot use {what} for the protocol"),
            Kind::Read => f.write_str("reading from the peer failed"),
            Kind::Write => f.write_str("writing to the peer failed"),
            Kind::Stalled(limit) => f.write_str(&stall_text(*limit)),
            Kind::Busy => f.write_str(
                "stdin and stdout are already being served; a process has only one of each, use \
                 serve_io for other streams",
            ),
        }
    }
}

impl fmt::Debug for Error {
    /// Writes the same text as `Display`, with the cause, because this is what a `main` that
    /// returns the error prints.
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
pub(crate) fn stall_text(limit: Duration) -> String {
    format!(
        "the peer read nothing for {} s, the limit of Options::with_write_timeout",
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
    /// Returns whether the peer is gone; otherwise the connection failed.
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
