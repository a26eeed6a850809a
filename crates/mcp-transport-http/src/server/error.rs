//! The error of a server that cannot be served over HTTP.

use std::fmt;
use std::io;

/// The reason why a server cannot be served over HTTP. The text says what to change.
pub struct Error {
    message: String,
    source: Option<io::Error>,
}

impl Error {
    pub(crate) fn invalid(message: String) -> Self {
        Self {
            message,
            source: None,
        }
    }

    pub(crate) fn listen(source: io::Error) -> Self {
        Self {
            message: "cannot listen on the address".to_owned(),
            source: Some(source),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
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
