//! New headers for the messages of a connection after the server has refused a message with status 401.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use mcp_protocol::{BoxFuture, TransportError};
use tokio::time::Instant;

use crate::client::user_headers::checked_header;
use crate::client::wire::authorize::{AfterRefusal, Authorize};
use crate::sync::lock;

/// Minimum time between the end of one call of `renew` and the start of the next call. Limits the number of calls if the server
/// refuses all headers.
const MIN_INTERVAL: Duration = Duration::from_secs(10);

/// The headers by name.
type Headers = BTreeMap<String, String>;
/// A function that returns new headers.
pub(crate) type Renew =
    dyn Fn() -> BoxFuture<'static, Result<Headers, TransportError>> + Send + Sync;

/// The current and the former headers from [`Renew`], the current headers first. Both are empty before the first call, and a call
/// that returns the current headers again changes nothing. The former headers are kept, because the server can still refuse a
/// message that was sent with them, and quote them in the error.
pub(crate) type RecentHeaders = Arc<Mutex<[HeaderMap; 2]>>;

/// An [`Authorize`] that replaces headers of all messages of a connection after a refusal with status 401.
pub(crate) struct RenewedHeaders(Arc<State>);

struct State {
    renew: Arc<Renew>,
    renewed: RecentHeaders,
    /// Time at which the last call of `renew` ended. Locked while the function runs.
    renewed_at: tokio::sync::Mutex<Option<Instant>>,
}

impl RenewedHeaders {
    /// Creates the authorizer. `renewed` is shared with the connection, which removes the values from error messages.
    pub(crate) fn new(renew: Arc<Renew>, renewed: RecentHeaders) -> Self {
        Self(Arc::new(State {
            renew,
            renewed,
            renewed_at: tokio::sync::Mutex::default(),
        }))
    }
}

impl State {
    /// Returns whether a message was sent with the current headers.
    fn has_current_headers(&self, sent: &HeaderMap) -> bool {
        let [current, _] = &*lock(&self.renewed);
        current
            .iter()
            .all(|(name, value)| sent.get(name) == Some(value))
    }

    async fn after_refusal(&self, sent: &HeaderMap) -> Result<AfterRefusal, TransportError> {
        let mut renewed_at = self.renewed_at.lock().await;
        if !self.has_current_headers(sent) {
            // The headers were renewed for another message after this message was sent.
            return Ok(AfterRefusal::SendAgain);
        }
        if renewed_at.is_some_and(|at| at.elapsed() < MIN_INTERVAL) {
            return Ok(AfterRefusal::GiveUp);
        }
        let headers = (self.renew)().await;
        // Set also after a failure: other refused messages then fail without another call.
        *renewed_at = Some(Instant::now());
        let headers = headers?;
        let headers = headers
            .iter()
            .map(|(name, value)| checked_header(name, value));
        let headers = headers.collect::<Result<_, _>>()?;
        {
            let [current, former] = &mut *lock(&self.renewed);
            if *current != headers {
                *former = std::mem::replace(current, headers);
            }
        }
        Ok(match self.has_current_headers(sent) {
            true => AfterRefusal::GiveUp,
            false => AfterRefusal::SendAgain,
        })
    }
}

impl Authorize for RenewedHeaders {
    fn authorize<'a>(
        &'a self,
        request: &'a mut http::request::Parts,
    ) -> BoxFuture<'a, Result<(), TransportError>> {
        for (name, value) in &lock(&self.0.renewed)[0] {
            request.headers.insert(name, value.clone());
        }
        Box::pin(std::future::ready(Ok(())))
    }

    fn refused<'a>(
        &'a self,
        request: &'a http::request::Parts,
        response: &'a http::response::Parts,
    ) -> BoxFuture<'a, Result<AfterRefusal, TransportError>> {
        Box::pin(async move {
            if response.status != StatusCode::UNAUTHORIZED {
                return Ok(AfterRefusal::GiveUp);
            }
            // Callers that cancel their messages neither end the call of `renew` nor cause further calls.
            let (state, sent) = (Arc::clone(&self.0), request.headers.clone());
            let renewing = tokio::spawn(async move { state.after_refusal(&sent).await });
            // The task fails only if the runtime shuts down or the function panics.
            let renewed = renewing.await;
            renewed.unwrap_or_else(|error| Err(TransportError::new(error.to_string())))
        })
    }
}
