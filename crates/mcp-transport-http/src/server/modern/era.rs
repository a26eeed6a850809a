//! Which era a message belongs to. The body decides; the headers only confirm.
//!
//! Specification: versioning, and streamable HTTP, backward compatibility.

use std::sync::Arc;

use http::{HeaderMap, StatusCode};
use mcp_jsonrpc::{ErrorCode, ErrorObject, Frame, Message, Request};
use mcp_protocol::modern::{RawRequestMeta, missing_request_meta};
use mcp_protocol::{Exchange, Inbound as _, Link, Reply, Revision, guarded};
use mcp_types::method;

use super::headers::is_announced;
use crate::headers::PROTOCOL_VERSION;
use crate::server::admission::shown;
use crate::server::endpoint::Shared;
use crate::server::heads::Heads;
use crate::server::refusal::Refusal;
use crate::server::stream::Stream;

/// Who serves a message.
pub(crate) enum Era<'a> {
    /// A request that says itself what it is.
    Modern(RawRequestMeta<'a>),
    /// A notification of an era in which clients have nothing to notify of over HTTP.
    Ignored,
    /// Something that belongs to a session, or opens one.
    Legacy,
}

/// Who serves what a body holds.
///
/// # Errors
/// Nobody does.
pub(crate) fn era_of<'a>(
    shared: &Shared,
    frame: &Frame<'a>,
    headers: &HeaderMap,
    heads: &Heads<'_>,
) -> Result<Era<'a>, Refusal> {
    let claim = match frame {
        Frame::Single(Message::Request(request)) => RawRequestMeta::of(request),
        Frame::Single(Message::Notification(notification)) => {
            notification.params.and_then(RawRequestMeta::of_params)
        }
        _ => None,
    };
    if let (Some(claim), Frame::Single(Message::Request(_))) = (claim, frame) {
        return Ok(Era::Modern(claim));
    }
    let announced = claim.is_some() || is_announced(headers, heads);
    if !announced && shared.has_handshake {
        return Ok(Era::Legacy);
    }
    let message = match frame {
        Frame::Single(message) => message,
        Frame::Batch(_) => {
            return Err(Refusal::bad_request(
                "this revision has no batches; send one message per POST",
            ));
        }
    };
    match (message, announced) {
        (Message::Request(request), true) => {
            Err(refuse(missing_request_meta(&shared.revisions), request))
        }
        (Message::Request(request), false) if request.method == method::INITIALIZE => {
            Err(refuse(handshake(shared, request), request))
        }
        (Message::Request(request), false) => {
            Err(refuse(unannounced(headers, &shared.revisions), request))
        }
        (Message::Notification(notification), true) => {
            tracing::debug!(method = %notification.method, "ignored a notification");
            Ok(Era::Ignored)
        }
        (Message::Response(_), true) => Err(Refusal::bad_request(
            "this revision has no questions to clients, so there is nothing to answer by POST",
        )),
        (Message::Notification(_) | Message::Response(_), false) => {
            let error = unannounced(headers, &shared.revisions);
            Err(Refusal::with_error(StatusCode::BAD_REQUEST, error))
        }
    }
}

fn refuse(error: ErrorObject, request: &Request<'_>) -> Refusal {
    Refusal::with_error(StatusCode::BAD_REQUEST, error).answering(Some(request.id.clone()))
}

/// The answer where older revisions are not served, which may do without the header.
fn unannounced(headers: &HeaderMap, served: &[Revision]) -> ErrorObject {
    let sent = headers.get(PROTOCOL_VERSION).map_or_else(
        || "is missing".to_owned(),
        |value| format!("is {}", shown(&String::from_utf8_lossy(value.as_bytes()))),
    );
    let served: Vec<&str> = served.iter().map(|revision| revision.as_str()).collect();
    ErrorObject::new(
        ErrorCode::HEADER_MISMATCH,
        format!(
            "the MCP-Protocol-Version header {sent}; this server speaks {}, each request of which \
             names it there and in _meta",
            served.join(", ")
        ),
    )
}

/// The answer to `initialize` where it opens nothing.
fn handshake(shared: &Shared, request: &Request<'_>) -> ErrorObject {
    let session = &shared.modern.session;
    let link: Arc<dyn Link> = Arc::<Stream>::clone(&session.general);
    let exchange = Exchange::new(request.id.clone(), link);
    match guarded(|| session.inbound.request(request, exchange)) {
        Ok(Reply::Ready(Err(error))) | Err(error) => error,
        Ok(_) => ErrorObject::internal("the handshake cannot be answered now"),
    }
}
