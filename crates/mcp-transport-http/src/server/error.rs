//! The reason why a server cannot be served over HTTP.

use std::fmt;
use std::io;

use mcp_protocol::InvalidServer;

/// The reason why a server cannot be served over HTTP. The text says what to change. Programs can use [`kind`](Self::kind).
///
/// An [`io::Error`] converts to this type, so that a program can use `?` when it creates its own listener:
///
/// ```no_run
/// # use mcp_protocol::IntoService;
/// use mcp_transport_http::{Endpoint, Error, serve_with, shutdown_signal};
/// use tokio::net::TcpListener;
///
/// async fn run(server: impl IntoService) -> Result<(), Error> {
///     let endpoint = Endpoint::new(server)?;
///     let listener = TcpListener::bind("127.0.0.1:8000").await?;
///     serve_with(listener, endpoint, shutdown_signal()).await
/// }
/// ```
pub struct Error {
    kind: ErrorKind,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The kind of an [`Error`], returned by [`Error::kind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The configuration of the server is invalid, for example because two tools have the same name.
    InvalidServer,
    /// An option of [`ServerOptions`](crate::ServerOptions) is invalid.
    InvalidOptions,
    /// The address cannot be used. Another attempt may succeed later, for example after another process has released the port.
    Listen,
}

impl Error {
    pub(crate) fn invalid_server(error: &InvalidServer) -> Self {
        Self {
            kind: ErrorKind::InvalidServer,
            message: error.to_string(),
            source: None,
        }
    }

    pub(crate) fn invalid_options(message: String) -> Self {
        Self {
            kind: ErrorKind::InvalidOptions,
            message,
            source: None,
        }
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl From<io::Error> for Error {
    /// Creates an error of the listener.
    fn from(source: io::Error) -> Self {
        Self {
            kind: ErrorKind::Listen,
            message: "cannot listen on the address".to_owned(),
            source: Some(source.into()),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
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
        self.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_listener_keeps_its_cause() {
        let error = Error::from(io::Error::from(io::ErrorKind::AddrInUse));
        assert_eq!(error.kind(), ErrorKind::Listen);
        assert!(std::error::Error::source(&error).is_some());
        assert!(format!("{error:?}").contains("address in use"), "{error:?}");
    }
}
