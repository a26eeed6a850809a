//! The outcome of a call: a response, or the choice of another endpoint by the handler.

use std::sync::Arc;

use http::header::RETRY_AFTER;
use http::{HeaderValue, Response, StatusCode};

use crate::permit::Permit;
use crate::server::response::body::{Body, event_stream, json};
use crate::server::response::text::JsonText;
use crate::server::session::HttpSession;
use crate::server::session::events::StreamBody;
use crate::server::stream::Stream;

/// The outcome of a POST.
pub(crate) enum PostOutcome {
    Response(Response<Body>),
    /// The handler has chosen another endpoint.
    #[cfg(feature = "forward")]
    Forward(Box<ForwardChoice>),
}

/// A request whose handler has chosen another endpoint.
#[cfg(feature = "forward")]
pub(crate) struct ForwardChoice {
    /// The stream of the call, which contains the address of the other endpoint.
    pub(crate) stream: Arc<Stream>,
    /// The response of the handler. It is sent if the other endpoint cannot be reached.
    pub(crate) response: Response<Body>,
}

impl PostOutcome {
    /// Creates the outcome of a call. This is a JSON response, or an event stream if the handler has sent messages, or the
    /// handler's choice of another endpoint.
    pub(crate) fn of_call(
        session: &Arc<HttpSession>,
        stream: Arc<Stream>,
        result: Option<JsonText>,
        status: StatusCode,
    ) -> Self {
        let result = match result {
            Some(result) if !stream.is_started() => result,
            result => {
                stream.finish(result.map(JsonText::into_whole).as_deref());
                let events = StreamBody::new(session, stream, 0);
                return Self::Response(event_stream(Body::events(events)));
            }
        };
        let mut response = json(result);
        *response.status_mut() = status;
        if status == StatusCode::SERVICE_UNAVAILABLE {
            let retry = HeaderValue::from_static("1");
            response.headers_mut().insert(RETRY_AFTER, retry);
        }
        #[cfg(feature = "forward")]
        if stream.forward_target().is_some() {
            return Self::Forward(Box::new(ForwardChoice { stream, response }));
        }
        Self::Response(response)
    }

    /// Returns the response of the handler.
    pub(crate) fn into_response(self) -> Response<Body> {
        match self {
            Self::Response(response) => response,
            #[cfg(feature = "forward")]
            Self::Forward(choice) => choice.response,
        }
    }

    /// Keeps the permit of a request as [`Body::hold`] does.
    pub(crate) fn hold(&mut self, permit: Permit) {
        let response = match self {
            Self::Response(response) => response,
            #[cfg(feature = "forward")]
            Self::Forward(choice) => &mut choice.response,
        };
        response.body_mut().hold(permit);
    }
}
