//! User agents: they open the authorization server for the user, and receive the callbacks.

mod loopback;

use std::fmt;

use mcp_protocol::BoxFuture;
use url::form_urlencoded;

pub use self::loopback::Loopback;
use crate::Secret;
use crate::error::Error;

/// Maximum number of parameters that are read from a callback.
const MAX_PARAMETERS: usize = 32;

/// A user agent: it opens the authorization server for the user, and receives the callback.
///
/// Use [`Loopback`] in programs on the user's machine, and [`CustomUserAgent`] in
/// programs with their own redirect URI.
pub trait UserAgent: Send + Sync + 'static {
    /// Starts an authorization session. The session must know its redirect URI before the browser is opened, because the client
    /// is registered with this URI.
    fn start_session(&self) -> BoxFuture<'_, Result<Box<dyn AuthorizationSession>, Error>>;

    /// Starts an authorization session for a client that is registered with this redirect URI. If the session has another
    /// redirect URI, the client is registered again, and authorization servers treat it as a different client. Default:
    /// [`start_session`](Self::start_session).
    fn start_session_at<'a>(
        &'a self,
        _redirect_uri: &'a str,
    ) -> BoxFuture<'a, Result<Box<dyn AuthorizationSession>, Error>> {
        self.start_session()
    }
}

/// One visit of the user's browser to the authorization server, until the browser is redirected back to the client.
pub trait AuthorizationSession: Send + 'static {
    /// Returns the redirect URI: an `https` URL, or an `http` URL on this machine.
    fn redirect_uri(&self) -> &str;

    /// Opens the URL for the user and waits for the callback. Dropping the future aborts the
    /// session.
    ///
    /// The URL is safe to open, but it is not quoted for a shell: pass it to the system as one
    /// argument.
    ///
    /// # Errors
    /// Returns an error if the user cannot be reached or cancels; see [`Error::user_agent`].
    fn open<'a>(self: Box<Self>, url: &'a str) -> BoxFuture<'a, Result<Callback, Error>>;
}

/// A user agent that consists of a redirect URI and a function. The function opens a URL and waits for the callback.
pub struct CustomUserAgent<F> {
    uri: String,
    open: F,
}

impl<F, V> CustomUserAgent<F>
where
    F: Fn(String) -> V + Clone + Send + Sync + 'static,
    V: Future<Output = Result<Callback, Error>> + Send + 'static,
{
    /// Creates a user agent with the redirect URI `uri`. `open` opens the URL that it receives, and returns the [`Callback`] that
    /// the browser then sends to `uri`.
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
        f.debug_tuple("CustomUserAgent").field(&self.uri).finish()
    }
}

/// The parameters of a redirect back to the client. `Debug` prints only their names, because the
/// values may contain a code.
#[derive(Debug, Clone)]
pub struct Callback(Vec<(String, Secret)>);

impl Callback {
    /// Reads the URL to which the browser was redirected, or only the query of this URL.
    pub fn parse(url: &str) -> Self {
        let query = url.split_once('?').map_or(url, |(_, query)| query);
        let query = query.split('#').next().unwrap_or_default();
        let pairs = form_urlencoded::parse(query.as_bytes()).take(MAX_PARAMETERS);
        let pairs = pairs.map(|(name, value)| (name.into_owned(), value.into_owned().into()));
        Self(pairs.collect())
    }

    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        let mut all = self.0.iter();
        let found = all.find(|(known, _)| known == name);
        found.map(|(_, value)| value.expose())
    }

    /// Returns whether a parameter that the client needs is repeated: RFC 6749, section 3.1.
    pub(crate) fn repeats(&self) -> bool {
        ["code", "state", "iss", "error"].iter().any(|name| {
            let named = self.0.iter().filter(|(known, _)| known == name);
            named.count() > 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callback_is_parsed_from_a_url_or_from_its_query() {
        for text in ["http://h/cb?code=a%20b&state=s#x", "code=a+b&state=s"] {
            let callback = Callback::parse(text);
            assert_eq!(callback.parameter("code"), Some("a b"));
            assert_eq!(callback.parameter("state"), Some("s"));
            assert!(!format!("{callback:?}").contains("a b"));
        }
        assert!(Callback::parse("state=1&x=1&state=2").repeats());
        assert!(!Callback::parse("x=1&x=2").repeats());
    }

    #[test]
    fn debug_output_of_a_custom_user_agent_names_the_type() {
        let open = |url: String| std::future::ready(Ok(Callback::parse(&url)));
        let agent = CustomUserAgent::new("http://h/cb", open);
        assert!(format!("{agent:?}").starts_with("CustomUserAgent("));
    }
}
