//! Decides whether a message belongs to a session-based revision or to the stateless one. The body decides, and the headers must
//! agree with the body.
//!
//! Specification: versioning, and streamable HTTP, backward compatibility.

use std::sync::Arc;

use http::StatusCode;
use mcp_jsonrpc::{ErrorCode, ErrorObject, Frame, Message, Request, quote};
use mcp_protocol::modern::{RawRequestMeta, missing_request_meta};
use mcp_protocol::{Exchange, Inbound as _, Link, Reply, Revision, guarded};
use mcp_types::method;

use crate::server::head::McpHeaders;
use crate::server::response::refusal::{MAX_QUOTED, Refusal};
use crate::server::state::EndpointState;
use crate::server::stream::Stream;

/// The kind of a message, which decides how the message is served.
pub(crate) enum MessageClass<'a> {
    /// A request that has request metadata. It belongs to the stateless revision.
    Stateless(RawRequestMeta<'a>),
    /// A notification of the stateless revision, which is ignored. Clients of this revision send no notifications over HTTP.
    Ignored,
    /// A message that belongs to a session or opens a session.
    SessionBased,
}

/// Decides whether a message or batch belongs to the stateless revision or to a session-based revision.
///
/// # Errors
/// Returns an error if the server does not support the revision of the message, or if the headers contradict the body.
pub(crate) fn classify<'a>(
    state: &EndpointState,
    frame: &Frame<'a>,
    mcp_headers: &McpHeaders<'_>,
) -> Result<MessageClass<'a>, Refusal> {
    let meta = match frame {
        Frame::Single(Message::Request(request)) => RawRequestMeta::of(request),
        Frame::Single(Message::Notification(notification)) => {
            notification.params.and_then(RawRequestMeta::of_params)
        }
        _ => None,
    };
    if let (Some(meta), Frame::Single(Message::Request(_))) = (meta, frame) {
        return Ok(MessageClass::Stateless(meta));
    }
    let is_stateless = meta.is_some() || mcp_headers.names_stateless_revision;
    if !is_stateless && state.has_handshake {
        return Ok(MessageClass::SessionBased);
    }
    let message = match frame {
        Frame::Single(message) => message,
        Frame::Batch(_) => {
            return Err(Refusal::bad_request(
                "the stateless revision has no batches; send one message per POST",
            ));
        }
    };
    match (message, is_stateless) {
        (Message::Request(request), true) => {
            Err(refuse(missing_request_meta(&state.revisions), request))
        }
        (Message::Request(request), false) if request.method == method::INITIALIZE => {
            Err(refuse(refuse_handshake(state, request), request))
        }
        (Message::Request(request), false) => Err(refuse(
            missing_version(mcp_headers, &state.revisions),
            request,
        )),
        (Message::Notification(notification), true) => {
            tracing::debug!(method = %notification.method, "ignored a notification");
            Ok(MessageClass::Ignored)
        }
        (Message::Response(_), true) => Err(Refusal::bad_request(
            "the stateless revision has no server requests; send responses as inputResponses of a request",
        )),
        (Message::Notification(_) | Message::Response(_), false) => {
            let error = missing_version(mcp_headers, &state.revisions);
            Err(Refusal::with_error(StatusCode::BAD_REQUEST, error))
        }
    }
}

fn refuse(error: ErrorObject, request: &Request<'_>) -> Refusal {
    Refusal::with_error(StatusCode::BAD_REQUEST, error).with_id(Some(request.id.clone()))
}

/// Returns the error for a request without a version header. A server without session-based revisions requires this header.
fn missing_version(mcp_headers: &McpHeaders<'_>, served: &[Revision]) -> ErrorObject {
    let sent = mcp_headers.version.first().map_or_else(
        || "is missing".to_owned(),
        |value| {
            format!(
                "is {}",
                quote(&String::from_utf8_lossy(value.as_bytes()), MAX_QUOTED)
            )
        },
    );
    let served: Vec<&str> = served.iter().map(|revision| revision.as_str()).collect();
    ErrorObject::new(
        ErrorCode::HEADER_MISMATCH,
        format!(
            "the MCP-Protocol-Version header {sent}; this server supports {}; send the revision in the header and in \
             _meta",
            served.join(", ")
        ),
    )
}

/// Returns the error for `initialize` on a server without session-based revisions.
fn refuse_handshake(state: &EndpointState, request: &Request<'_>) -> ErrorObject {
    let session = &state.stateless.session;
    let link: Arc<dyn Link> = Arc::<Stream>::clone(&session.standalone);
    let exchange = Exchange::new(request.id.clone(), link);
    match guarded(|| session.inbound.request(request, exchange)) {
        Ok(Reply::Ready(Err(error))) | Err(error) => error,
        Ok(_) => ErrorObject::internal("initialize cannot be answered"),
    }
}
