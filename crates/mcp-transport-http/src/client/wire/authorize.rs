//! The hook that adds credentials to messages.

use http::HeaderValue;
use mcp_protocol::{BoxFuture, TransportError};

/// An authorizer adds credentials to messages, and decides what happens after a refusal.
///
/// One authorizer serves all messages of a connection. Its methods are called concurrently: for example, one expired token may
/// cause many refusals at once. The authorizer receives the method, the URL and all headers of each message that is sent,
/// including messages after a redirect. It can therefore create a proof that covers the method and the URL. It also receives the
/// headers of each response, so that it can read a nonce.
pub trait Authorize: Send + Sync + 'static {
    /// Adds credentials to a message before it is sent.
    ///
    /// # Errors
    /// Returns an error if no credentials can be obtained. The message is not sent and fails with
    /// this error.
    fn authorize<'a>(
        &'a self,
        request: &'a mut http::request::Parts,
    ) -> BoxFuture<'a, Result<(), TransportError>>;

    /// Called with the head of every response. Default: does nothing.
    fn responded(&self, _response: &http::response::Parts) {}

    /// Handles a response with status 401 or 403. `request` is the message as it was sent. From it, the authorizer can see
    /// whether the refused token has expired or was replaced in the meantime. Default: the message fails.
    ///
    /// # Errors
    /// The message fails with the returned error instead of an error that describes the refusal.
    fn refused<'a>(
        &'a self,
        _request: &'a http::request::Parts,
        _response: &'a http::response::Parts,
    ) -> BoxFuture<'a, Result<AfterRefusal, TransportError>> {
        Box::pin(async { Ok(AfterRefusal::GiveUp) })
    }
}

/// What happens to a message after a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AfterRefusal {
    /// The message fails with an error that quotes the server.
    GiveUp,
    /// The message is authorized and sent again. After the fourth refusal, the message fails. Sending again is safe even for tool
    /// calls, because the server has not executed a refused message.
    SendAgain,
}

/// Returns the `Authorization` value of a bearer token, marked as sensitive.
///
/// # Errors
/// Returns an error if the token has characters that are not valid in a header. The error does not quote the token.
pub(crate) fn bearer(token: &str) -> Result<HeaderValue, TransportError> {
    let value = secret_value(&format!("Bearer {token}"));
    value
        .filter(|_| !token.is_empty() && !token.contains(' '))
        .ok_or_else(|| {
            TransportError::new(
                "the bearer token is empty or has characters other than visible ASCII; check for a \
             trailing line break",
            )
        })
}

/// Returns a header value that is marked as sensitive. Returns `None` if the text has other characters than visible ASCII and
/// spaces. `HeaderValue` itself would accept bytes beyond ASCII.
pub(crate) fn secret_value(text: &str) -> Option<HeaderValue> {
    let is_plain = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    text.bytes().all(is_plain).then_some(value)
}
