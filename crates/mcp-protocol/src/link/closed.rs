//! The end of a connection.

use std::fmt;
use std::sync::Arc;

/// The reason why a connection ended. All pending calls fail with this reason.
///
/// Cloning shares the text. [`Display`](fmt::Display) describes the cause and, for a child process, its exit status and its last
/// lines on stderr.
#[derive(Debug, Clone)]
pub struct Closed(Arc<Reason>);

#[derive(Debug)]
struct Reason {
    kind: Kind,
    detail: Vec<String>,
}

#[derive(Debug)]
enum Kind {
    Local,
    Eof,
    Io(std::io::Error),
    Stalled(String),
    Exited(String),
    Protocol(String),
}

impl Closed {
    fn new(kind: Kind) -> Self {
        Self(Arc::new(Reason {
            kind,
            detail: Vec::new(),
        }))
    }

    /// Creates the reason "this side closed the connection".
    pub fn local() -> Self {
        Self::new(Kind::Local)
    }

    /// Creates the reason "the peer closed its stream".
    pub fn eof() -> Self {
        Self::new(Kind::Eof)
    }

    /// Creates the reason "reading or writing failed".
    pub fn io(error: std::io::Error) -> Self {
        Self::new(Kind::Io(error))
    }

    /// Creates the reason "the peer stopped reading". `what` names the limit that was exceeded.
    pub fn stalled(what: impl Into<String>) -> Self {
        Self::new(Kind::Stalled(what.into()))
    }

    /// Creates the reason "the process of the peer ended". `status` is text such as "exit status 1" or "signal 9".
    pub fn exited(status: impl Into<String>, stderr: &[String]) -> Self {
        Self::new(Kind::Exited(status.into())).with_stderr(stderr)
    }

    /// Creates the reason "the peer violated the protocol", for a violation that ends the session.
    pub fn protocol(what: impl Into<String>) -> Self {
        Self::new(Kind::Protocol(what.into()))
    }

    /// Adds the last stderr lines of the peer, if it has written any.
    #[must_use]
    pub fn with_stderr(self, lines: &[String]) -> Self {
        match lines {
            [] => self,
            lines => self.with_detail(format!("last stderr lines: {}", lines.join(" | "))),
        }
    }

    /// Adds a line that explains the reason.
    #[must_use]
    pub fn with_detail(self, line: impl Into<String>) -> Self {
        let mut detail = self.0.detail.clone();
        detail.push(line.into());
        let kind = match &self.0.kind {
            Kind::Local => Kind::Local,
            Kind::Eof => Kind::Eof,
            Kind::Io(error) => Kind::Io(std::io::Error::new(error.kind(), error.to_string())),
            Kind::Stalled(what) => Kind::Stalled(what.clone()),
            Kind::Exited(status) => Kind::Exited(status.clone()),
            Kind::Protocol(what) => Kind::Protocol(what.clone()),
        };
        Self(Arc::new(Reason { kind, detail }))
    }

    /// Returns the lines that explain the reason, for example the last stderr lines of a child process.
    pub fn details(&self) -> &[String] {
        &self.0.detail
    }

    /// Returns whether this side closed the connection.
    pub fn is_local(&self) -> bool {
        matches!(self.0.kind, Kind::Local)
    }

    /// Returns whether the peer closed its stream or its process ended.
    pub fn is_peer_gone(&self) -> bool {
        matches!(self.0.kind, Kind::Eof | Kind::Exited(_))
    }
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.kind {
            Kind::Local => f.write_str("connection closed by this side")?,
            Kind::Eof => f.write_str("connection closed by the peer")?,
            Kind::Io(error) => write!(f, "connection failed: {error}")?,
            Kind::Stalled(what) => write!(
                f,
                "connection closed because the peer does not read: {what}"
            )?,
            Kind::Exited(status) => write!(f, "peer process ended: {status}")?,
            Kind::Protocol(what) => write!(f, "connection closed: {what}")?,
        }
        for line in &self.0.detail {
            write!(f, "; {line}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Closed {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.kind {
            Kind::Io(error) => Some(error),
            _ => None,
        }
    }
}
