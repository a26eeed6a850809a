//! Who says on whose behalf a message is sent.

use http::HeaderValue;
use mcp_protocol::{BoxFuture, TransportError};

/// Puts credentials on messages, and decides what to do if the server does not accept them.
///
/// One authorizer serves a whole connection, so its methods run at the same time: many messages
/// may be refused at once because of one expired token. It sees the method, the URL and all
/// headers of each message as it is sent, after redirects too, so that a proof can be bound to
/// them; and the headers of each response, so that it can take a nonce from them.
pub trait Authorize: Send + Sync + 'static {
    /// Puts credentials on a message that is about to be sent.
    ///
    /// # Errors
    /// There are none to be had; the message is not sent and fails with this error.
    fn authorize<'a>(
        &'a self,
        request: &'a mut http::request::Parts,
    ) -> BoxFuture<'a, Result<(), TransportError>>;

    /// Sees every response. Default: nothing is done.
    fn responded(&self, _response: &http::response::Parts) {}

    /// The server refused a message with 401 or 403. `request` is how it was sent, to tell a
    /// token that expired from one that was replaced since. Default: give up.
    ///
    /// # Errors
    /// The message fails with this error instead of one that describes the refusal.
    fn refused<'a>(
        &'a self,
        _request: &'a http::request::Parts,
        _response: &'a http::response::Parts,
    ) -> BoxFuture<'a, Result<AfterRefusal, TransportError>> {
        Box::pin(async { Ok(AfterRefusal::GiveUp) })
    }
}

/// What to do with a message the server did not authorize.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AfterRefusal {
    /// It fails, and the error says what the server said.
    GiveUp,
    /// It is authorized and sent again; the fourth refusal of a message is final. It did not run,
    /// so this is safe for tools too.
    SendAgain,
}

/// The header value of a bearer token; prints as nothing.
///
/// # Errors
/// The token has characters that may not stand in a header. The error does not quote it.
pub(crate) fn bearer(token: &str) -> Result<HeaderValue, TransportError> {
    let visible = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    let value = HeaderValue::try_from(format!("Bearer {token}"));
    match value {
        Ok(mut value) if visible => {
            value.set_sensitive(true);
            Ok(value)
        }
        _ => Err(TransportError::new(
            "the bearer token is empty or has characters other than visible ASCII; \
             a line break at its end, perhaps?",
        )),
    }
}
