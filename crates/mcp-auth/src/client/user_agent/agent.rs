//! How a user is sent to the authorization server.

use std::fmt;

use mcp_protocol::BoxFuture;

use super::callback::Callback;
use crate::error::Error;

/// Takes the user to the authorization server, and brings back what the browser brings back.
///
/// For programs with a terminal there is [`Loopback`](super::Loopback); for those who have a
/// redirect URI of their own, [`CustomUserAgent`].
pub trait UserAgent: Send + Sync + 'static {
    /// Gets ready for one visit. The redirect URI has to be known before the user leaves, because
    /// the client is registered with it.
    fn start_session(&self) -> BoxFuture<'_, Result<Box<dyn AuthorizationSession>, Error>>;

    /// Gets ready for another visit, where the client is registered with this redirect URI. If the
    /// visit has another one, the client is registered anew, and a server takes it for another
    /// client, to which nothing belongs that was begun before. Default: [`start_session`](Self::start_session).
    fn start_session_at<'a>(
        &'a self,
        _redirect_uri: &'a str,
    ) -> BoxFuture<'a, Result<Box<dyn AuthorizationSession>, Error>> {
        self.start_session()
    }
}

/// One visit to an authorization server.
pub trait AuthorizationSession: Send + 'static {
    /// Where the authorization server sends the browser back to: `https`, or `http` on this
    /// machine.
    fn redirect_uri(&self) -> &str;

    /// Shows this URL to the user and waits for the browser to come back. Dropping the future ends
    /// the visit.
    ///
    /// The URL was made safe to open, but it is not made for a shell: hand it to the system as one
    /// argument.
    ///
    /// # Errors
    /// The user could not be asked, or went away; see [`Error::user_agent`].
    fn open<'a>(self: Box<Self>, url: &'a str) -> BoxFuture<'a, Result<Callback, Error>>;
}

/// A redirect URI that the program receives by itself, and a function that takes the user there
/// and back.
pub struct CustomUserAgent<F> {
    uri: String,
    open: F,
}

impl<F, V> CustomUserAgent<F>
where
    F: Fn(String) -> V + Clone + Send + Sync + 'static,
    V: Future<Output = Result<Callback, Error>> + Send + 'static,
{
    /// `open` is given the URL to show to the user, and waits for the browser to come to `uri`.
    pub fn new(uri: impl Into<String>, open: F) -> Self {
        Self {
            uri: uri.into(),
            open,
        }
    }
}

impl<F, V> UserAgent for CustomUserAgent<F>
where
    F: Fn(String) -> V + Clone + Send + Sync + 'static,
    V: Future<Output = Result<Callback, Error>> + Send + 'static,
{
    fn start_session(&self) -> BoxFuture<'_, Result<Box<dyn AuthorizationSession>, Error>> {
        let session: Box<dyn AuthorizationSession> =
            Box::new(Self::new(self.uri.clone(), self.open.clone()));
        Box::pin(async { Ok(session) })
    }
}

impl<F, V> AuthorizationSession for CustomUserAgent<F>
where
    F: Fn(String) -> V + Clone + Send + Sync + 'static,
    V: Future<Output = Result<Callback, Error>> + Send + 'static,
{
    fn redirect_uri(&self) -> &str {
        &self.uri
    }

    fn open<'a>(self: Box<Self>, url: &'a str) -> BoxFuture<'a, Result<Callback, Error>> {
        Box::pin((self.open)(url.to_owned()))
    }
}

impl<F> fmt::Debug for CustomUserAgent<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Redirect").field(&self.uri).finish()
    }
}
