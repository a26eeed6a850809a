//! Which era a message belongs to. The body decides; the headers only confirm.
//!
//! Specification: versioning, and streamable HTTP, backward compatibility.

use std::sync::Arc;

use http::{HeaderMap, StatusCode};
use mcp_jsonrpc::{ErrorCode, ErrorObject, Frame, Message, Request};
use mcp_protocol::http_headers;
use mcp_protocol::modern::{RawRequestMeta, StandardHeaders, missing_request_meta};
use mcp_protocol::{Exchange, Inbound as _, Link, Reply, Revision, Service, guarded};
use mcp_types::method;

use crate::headers::PROTOCOL_VERSION;
use crate::server::request::head::{Doubled, Field, Heads};
use crate::server::response::refusal::{Refusal, shown};
use crate::server::state::Shared;
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

/// What stands for a header that cannot be read. No body says the same, so whichever check comes
/// to it refuses it, in its turn and by name.
const TWICE: &str = "(sent more than once)";
const ILLEGIBLE: &str = "(not visible ASCII)";

/// Those that every request has.
pub(crate) fn standard<'a>(heads: &Heads<'a>) -> StandardHeaders<'a> {
    let read = |field| match single(field) {
        Ok(value) => value,
        Err(flaw) => Some(flaw),
    };
    StandardHeaders {
        version: read(heads.version),
        method: read(heads.method),
        name: read(heads.name),
    }
}

fn single(field: Field<'_>) -> Result<Option<&str>, &'static str> {
    let Some(value) = field.only().map_err(|_| TWICE)? else {
        return Ok(None);
    };
    let text = value.to_str().map_err(|_| ILLEGIBLE)?;
    Ok(Some(text.trim_ascii()))
}

/// Whether the headers name a revision without a handshake.
pub(crate) fn is_announced(headers: &HeaderMap, heads: &Heads<'_>) -> bool {
    let mut modern = Revision::ALL.into_iter().filter(|it| it.is_stateless());
    modern.any(|revision| {
        let revision = revision.as_str().as_bytes();
        match heads.version.only() {
            Ok(version) => version.is_some_and(|it| it.as_bytes() == revision),
            Err(Doubled) => {
                let mut all = headers.get_all(PROTOCOL_VERSION).iter();
                all.any(|it| it.as_bytes() == revision)
            }
        }
    })
}

/// The headers that a tool gives to its parameters. `name` is `Mcp-Name`, which by now says the
/// same as the body.
pub(crate) fn check_params(
    service: &dyn Service,
    request: &Request<'_>,
    headers: &HeaderMap,
    name: Option<&str>,
) -> Result<(), ErrorObject> {
    if request.method != method::TOOLS_CALL {
        return Ok(());
    }
    let mirrored = name
        .and_then(http_headers::decode)
        .and_then(|tool| service.header_params(&tool));
    let Some(mirrored) = mirrored.filter(|it| !it.is_empty()) else {
        return Ok(());
    };
    for name in mirrored.headers() {
        single(Field::of(headers, name)).map_err(|flaw| {
            ErrorObject::new(
                ErrorCode::HEADER_MISMATCH,
                format!("the {name} header cannot be compared with the body {flaw}"),
            )
        })?;
    }
    let mut members = request.param_members().filter_map(Result::ok);
    let arguments = members.find(|(key, _)| *key == "arguments");
    let arguments = arguments.map_or("{}", |(_, arguments)| arguments);
    mirrored.check(arguments, |name| {
        single(Field::of(headers, name)).ok().flatten()
    })
}
