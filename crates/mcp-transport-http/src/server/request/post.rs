//! POST: one message, or a batch if the revision has batches.
//!
//! The handler is polled in the task of the HTTP connection. The response is usually JSON. If the handler sends a message first,
//! or if it runs longer than a certain delay, the response is an event stream; see [`PendingCall`].

use std::future::poll_fn;
use std::sync::Arc;

use http::Response;
use mcp_jsonrpc::{Batch, Frame, Message, ParseError, Request, TreeSize, parse_measured};
use mcp_protocol::middleware::{Discarded, Role};
use mcp_protocol::modern::RequestMeta;
use mcp_types::method;

use crate::server::cluster::save::PendingSave;
use crate::server::cluster::{Cluster, Placement};
use crate::server::head::{McpHeaders, RequestHead};
use crate::server::request::admission::{self, BOTH};
use crate::server::request::batch::{batch_of_messages, check_batch};
use crate::server::request::body::{charge_tree, read_body};
use crate::server::request::initialize::{check_initialize, initialize};
use crate::server::request::message::{fail_unreadable, single_message};
use crate::server::request::revision::{MessageClass, classify};
use crate::server::response::body::{Body, accepted};
use crate::server::response::refusal::Refusal;
use crate::server::running::outcome::PostOutcome;
use crate::server::running::pending::PendingCall;
use crate::server::running::start::{Progress, admit_stateless, start_stateless};
use crate::server::session::{ActivityGuard, HttpSession};
use crate::server::state::EndpointState;

/// Serves a POST.
pub(crate) async fn serve(
    state: &EndpointState,
    cluster: Option<&Cluster>,
    head: Box<RequestHead>,
    body: impl http_body::Body<Data: Send> + Send,
) -> Result<Response<Body>, Refusal> {
    let mcp_headers = McpHeaders::of(&head.headers);
    admission::admit(state, &head, &mcp_headers)?;
    admission::check_content(&head.headers, &mcp_headers)?;
    admission::check_accept(&head.headers, &mcp_headers, BOTH)?;
    let mut body = read_body(body, &head, &mcp_headers, state).await?;
    let mut claimed = None;
    if let Some(cluster) = cluster {
        let before = cluster.before(state, &head, &mcp_headers, Some(&body.bytes));
        match before.await? {
            Placement::Here(guard) => claimed = guard,
            #[cfg(feature = "forward")]
            Placement::Elsewhere(response) => return Ok(response),
        }
    }
    let mut size = TreeSize::default();
    let frame = match parse_measured(
        &body.bytes,
        &state.options.request_limits.message,
        &mut size,
    ) {
        Ok(frame) => frame,
        Err(error) => {
            let find = || state.session(&head, &mcp_headers, claimed.as_ref());
            return Err(refuse_unreadable(state, &body.bytes, &error, find));
        }
    };
    charge_tree(&mut body.memory, &size, &head, &state.bodies)?;
    let route = MessageRoute::of(state, &frame, &head, &mcp_headers, claimed.as_ref())?;
    let mut save = None;
    let (outcome, bytes) = match route.start(state, cluster, head, &mut save)? {
        Progress::Done(PostOutcome::Response(response))
            if save.is_none() && !response.body().is_stream() =>
        {
            return Ok(response);
        }
        Progress::Done(outcome) => {
            drop(frame);
            (outcome, Some(body.into_parts().0))
        }
        Progress::Running(mut call) => {
            drop(frame);
            let (bytes, memory) = body.into_parts();
            call.hold(memory);
            // Frees the memory of the body before waiting, unless the handler may choose another endpoint.
            let is_kept = call.is_stateless() && cluster.is_some_and(Cluster::can_forward);
            let bytes = is_kept.then_some(bytes);
            (call.respond().await, bytes)
        }
    };
    let mut response = match cluster {
        Some(cluster) => Box::pin(cluster.after(state, outcome, bytes, save)).await?,
        None => outcome.into_response(),
    };
    // Waits until the first event can be sent with the head of the response. If the process ended after the head alone, the
    // client could neither read the response nor resume, because it would have no event id.
    poll_fn(|cx| response.body_mut().poll_first(cx)).await;
    Ok(response)
}

/// Returns the error response for a body that is not a message. If the body was meant as a response, fails the server request
/// that it belongs to.
fn refuse_unreadable(
    state: &EndpointState,
    body: &[u8],
    error: &ParseError,
    find: impl FnOnce() -> Result<Arc<HttpSession>, Refusal>,
) -> Refusal {
    // The message names no session, so the layers of the service are used.
    if let Some(layers) = state.service.layers() {
        layers.discarded(Role::Server, Discarded::Malformed(error));
    }
    if error.is_response()
        && let Ok(session) = find()
    {
        fail_unreadable(state, &session, body, error);
    }
    Refusal::unparsable(error)
}

/// A message or batch whose headers have been checked, with the session or stateless server that serves it.
///
/// The messages are borrowed, because a parsed request is large and moving it costs more than most checks.
enum MessageRoute<'a, 'b> {
    Ignored,
    Stateless(&'a Request<'b>, RequestMeta),
    Initialize(&'a Request<'b>),
    Message(Arc<HttpSession>, &'a Message<'b>),
    Batch(Arc<HttpSession>, &'a Batch<'b>),
}

impl<'a, 'b> MessageRoute<'a, 'b> {
    /// Decides whether a session or the stateless server serves a message or batch, and which session.
    ///
    /// # Errors
    /// The first check that fails.
    #[inline]
    fn of(
        state: &EndpointState,
        frame: &'a Frame<'b>,
        head: &RequestHead,
        mcp_headers: &McpHeaders<'_>,
        claimed: Option<&ActivityGuard>,
    ) -> Result<Self, Refusal> {
        Ok(match (frame, classify(state, frame, mcp_headers)?) {
            (_, MessageClass::Ignored) => Self::Ignored,
            (Frame::Single(Message::Request(request)), MessageClass::Stateless(meta)) => {
                let meta = admit_stateless(state, request, &meta, &head.headers, mcp_headers)?;
                Self::Stateless(request, meta)
            }
            (Frame::Single(Message::Request(request)), _)
                if request.method == method::INITIALIZE =>
            {
                check_initialize(state, request, head, mcp_headers, claimed.is_some())?;
                Self::Initialize(request)
            }
            (Frame::Single(message), _) => {
                let session = state.session(head, mcp_headers, claimed);
                let session = session.map_err(|refusal| match message {
                    Message::Request(request) => refusal.with_id(Some(request.id.clone())),
                    _ => refusal,
                })?;
                Self::Message(session, message)
            }
            (Frame::Batch(batch), _) => {
                let session = state.session(head, mcp_headers, claimed)?;
                check_batch(&session, batch)?;
                Self::Batch(session, batch)
            }
        })
    }

    /// Calls the handlers. Sets `save` if the session must be stored before the response is sent.
    ///
    /// # Errors
    /// A limit is reached.
    #[inline]
    fn start(
        self,
        state: &EndpointState,
        cluster: Option<&Cluster>,
        head: Box<RequestHead>,
        save: &mut Option<Box<PendingSave>>,
    ) -> Result<Progress<PostOutcome, PendingCall>, Refusal> {
        match self {
            Self::Ignored => Ok(Progress::Done(PostOutcome::Response(accepted()))),
            Self::Stateless(request, meta) => start_stateless(state, request, meta, head),
            Self::Initialize(request) => {
                let store = cluster.and_then(|cluster| cluster.store.as_ref());
                let opened = initialize(state, store, request, head, save)?;
                Ok(Progress::Done(PostOutcome::Response(opened)))
            }
            Self::Message(session, message) => {
                *save = cluster.and_then(|_| PendingSave::after(&session, message));
                single_message(state, &session, message, head)
            }
            Self::Batch(session, batch) => {
                *save = cluster.and_then(|_| PendingSave::after_batch(&session));
                batch_of_messages(state, &session, batch, head)
            }
        }
    }
}
