//! Requests of the stateless revision (2026-07-28), whose headers echo values of the body.
//!
//! Each request is one POST, and the response is its only stream. The stream cannot be resumed, so a call fails if its connection
//! breaks. Closing the stream cancels the call.
//!
//! Specification: [request metadata][spec].
//!
//! [spec]: https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#request-metadata

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::InvalidHeaderValue;
use http::{HeaderName, HeaderValue};
use mcp_protocol::{
    Answer, CallError, MethodName, SentId, StatelessRequest, TransportError, http_headers,
};
use mcp_types::method;
use tokio::time::{sleep, timeout};

use crate::client::call::failure::{CallFailure, ResponseContext, failed, may_have_run};
use crate::client::call::pending::PendingRequest;
use crate::client::call::read::read;
use crate::client::refusal::repeat::is_repeatable;
use crate::client::session::current::Session;
use crate::client::state::ClientState;
use crate::headers::PROTOCOL_VERSION;

pub(crate) const METHOD: HeaderName = HeaderName::from_static("mcp-method");
pub(crate) const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// Prefix of the headers that echo arguments. Header names ignore case.
pub(crate) const PARAM_PREFIX: &str = "mcp-param-";

const NO_SESSION: &str = "the server reports a lost session, but the request has no session";

/// Returns the headers of a request of the stateless revision. `params` are the headers that echo arguments.
pub(crate) fn headers(
    method: &MethodName,
    request: StatelessRequest,
    params: Vec<(String, String)>,
) -> Result<Vec<(HeaderName, HeaderValue)>, TransportError> {
    let mut headers = Vec::with_capacity(3 + params.len());
    headers.push((
        PROTOCOL_VERSION,
        value(http_headers::PROTOCOL_VERSION, request.revision)?,
    ));
    let shown = match method {
        Cow::Borrowed(name) => HeaderValue::from_maybe_shared(Bytes::from_static(name.as_bytes())),
        Cow::Owned(name) => HeaderValue::from_str(name),
    };
    let shown = shown.map_err(|error| invalid(http_headers::METHOD, error))?;
    headers.push((METHOD, shown));
    if let Some(name) = request.name {
        let name = http_headers::encode(&name);
        headers.push((NAME, value(http_headers::NAME, &name)?));
    }
    for (name, text) in params {
        let header = HeaderName::try_from(name.as_str()).map_err(|error| {
            TransportError::new(format!("{name:?} is not a valid header name")).with_source(error)
        })?;
        headers.push((header, value(&name, &text)?));
    }
    Ok(headers)
}

fn value(header: &str, text: &str) -> Result<HeaderValue, TransportError> {
    HeaderValue::from_str(text).map_err(|error| invalid(header, error))
}

fn invalid(header: &str, error: InvalidHeaderValue) -> TransportError {
    TransportError::new(format!("the value of {header} is not valid in a header"))
        .with_source(error)
}

/// Sends a request and waits for its response. The request is repeated only if the server was too
/// busy and the request has no side effects.
pub(crate) async fn run(
    state: &Arc<ClientState>,
    method: &str,
    params: Option<Vec<u8>>,
    headers: Vec<(HeaderName, HeaderValue)>,
    response_timeout: Option<Duration>,
    sent: Option<SentId>,
) -> Result<Answer, CallError> {
    let no_session = Arc::new(Session::stateless());
    let mut may_wait = is_repeatable(method);
    loop {
        let pending = PendingRequest::open(state, &no_session, method, sent.as_ref())
            .map_err(|failure| failure.into_error(NO_SESSION))?;
        let context = pending.context;
        let message = context.message(params.as_deref());
        let exchange = async {
            let post = state.post_stateless(&headers, message, response_timeout);
            let response = post.await?;
            within(&context, response_timeout, read(&context, response)).await
        };
        match pending.answered_by(exchange).await {
            Ok(answer) => return Ok(answer),
            Err(CallFailure::Unavailable(Some(wait), _))
                if may_wait && wait <= state.options.retry_after =>
            {
                state.until_closed(sleep(wait)).await?;
                may_wait = false;
            }
            Err(CallFailure::ResponseLost(error)) => {
                return Err(failed(match method {
                    method::SERVER_DISCOVER => error.as_inconclusive(),
                    method if is_repeatable(method) => error,
                    method => may_have_run(error, method),
                }));
            }
            Err(failure) => return Err(failure.into_error(NO_SESSION)),
        }
    }
}

/// Waits for the response, for at most `limit`.
async fn within<T>(
    context: &ResponseContext<'_>,
    limit: Option<Duration>,
    response: impl Future<Output = Result<T, CallFailure>>,
) -> Result<T, CallFailure> {
    let Some(limit) = limit else {
        return response.await;
    };
    let done = timeout(limit, response).await;
    done.unwrap_or_else(|_| {
        let problem = format!(
            "did not answer {} within {} s",
            context.method,
            limit.as_secs_f64()
        );
        Err(CallFailure::ResponseLost(
            context.error(&problem).as_temporary(),
        ))
    })
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use mcp_types::method;

    use super::*;

    fn request(name: Option<&str>) -> StatelessRequest {
        StatelessRequest::new("2026-07-28", name.map(str::to_owned))
    }

    // proves: M-HTTP-031, M-HTTP-032, M-HTTP-038, M-HTTP-039, M-HTTP-040, M-HDR-019
    #[test]
    fn headers_echo_the_revision_the_method_and_the_name() {
        for (name, encoded) in [
            (Some("a tool"), Some("a tool")),
            (
                Some("file:///naïve"),
                Some("=?base64?ZmlsZTovLy9uYcOvdmU=?="),
            ),
            (None, None),
        ] {
            let headers = headers(&method::TOOLS_CALL.into(), request(name), Vec::new());
            let headers: HeaderMap = headers.unwrap().into_iter().collect();
            assert_eq!(headers["mcp-protocol-version"], "2026-07-28");
            assert_eq!(headers["mcp-method"], method::TOOLS_CALL);
            let sent = headers.get("mcp-name").map(|name| name.to_str().unwrap());
            assert_eq!(sent, encoded, "{name:?}");
        }
    }

    // proves: M-HDR-016
    #[test]
    fn invalid_header_names_and_values_are_rejected() {
        let with = |name: &str, value: &str| {
            let params = vec![(name.to_owned(), value.to_owned())];
            headers(&method::TOOLS_CALL.into(), request(None), params)
                .map(|headers| headers.into_iter().collect::<HeaderMap>())
        };
        assert_eq!(with("Mcp-Param-A", "b").unwrap()["mcp-param-a"], "b");
        assert!(with("Mcp-Param-A", "b\r\nc").is_err());
        assert!(with("Mcp-Param A", "b").is_err());
    }
}
