//! The end of a connection.

use std::io;
use std::time::Duration;

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
