//! A response that arrives on an event stream, across as many connections as necessary.
//!
//! Specification: [sending
//! messages](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server),
//! point 6.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use crate::client::call::failure::{CallFailure, ResponseContext};
use crate::client::inbox::receive::{Received, receive};
use crate::client::refusal::{Refusal, is_retryable};
use crate::client::resume::ResumeState;
use crate::client::session::current::Session;
use crate::client::state::ClientState;
use crate::client::wire::body::{ContentKind, EventReader, ReadError};
use crate::client::wire::connection::{RequestKind, SendError};
use crate::http_service::ResponseBody;
use http::Response;
use mcp_jsonrpc::ParseError;
use mcp_protocol::{Answer, CallError, TransportError};
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};

/// Maximum time for which the stream is read after the response. Servers close a stream after its response.
const TAIL_TIME: Duration = Duration::from_secs(1);

/// Maximum number of times that a caller yields to the runtime while it waits for the end of the stream.
const MAX_YIELDS: usize = 3;

/// How one connection of a stream ended.
enum StreamEnd {
    Response(Answer),
    /// The connection ended before the response arrived. The value is the error, if there was one.
    Interrupted(Option<TransportError>),
}

/// Waits for the response on an event stream. Resumes the stream if its connection is interrupted.
pub(crate) async fn follow(
    context: &ResponseContext<'_>,
    mut events: EventReader,
) -> Result<Answer, CallFailure> {
    let mut resume = ResumeState::of_call(&context.state.options.reconnect);
    loop {
        let reason = match read_connection(context, &mut events, &mut resume).await? {
            StreamEnd::Response(answer) => {
                finish(context.state, context.session, events).await;
                return Ok(answer);
            }
            StreamEnd::Interrupted(reason) => reason,
        };
        events = Box::pin(reconnect(context, &mut resume, reason)).await?;
    }
}

/// Reads one connection of a stream until the response arrives or the connection ends.
async fn read_connection(
    context: &ResponseContext<'_>,
    events: &mut EventReader,
    resume: &mut ResumeState<'_>,
) -> Result<StreamEnd, CallFailure> {
    let mut malformed: Option<ParseError> = None;
    loop {
        let event = events.next().await;
        let event = match event {
            Ok(Some(event)) => event,
            Ok(None) | Err(ReadError::Interrupted(_)) => {
                let reason = event.err().map(ReadError::into_error);
                resume.set_retry(events.retry());
                // The malformed message may have been the response, and the server does not send the response again.
                return match malformed {
                    Some(error) => Err(CallFailure::Final(CallError::Malformed(error))),
                    None => Ok(StreamEnd::Interrupted(reason)),
                };
            }
            Err(ReadError::TooLong(error)) => {
                let problem = format!("answered {} on a stream: {error}", context.method);
                return Err(CallFailure::failed(
                    context.error(&problem).with_source(error),
                ));
            }
        };
        if resume.record(&event) {
            context.set_problem(None);
        }
        if !event.is_message() {
            continue;
        }
        match receive(context.state, context.session, event.data, Some(context.id)) {
            Received::Response(Ok(answer)) => return Ok(StreamEnd::Response(answer)),
            Received::Response(Err(error)) => return Err(CallFailure::Final(error)),
            Received::ErrorWithoutId(error) => {
                return Err(CallFailure::failed(context.unreadable_request(&error)));
            }
            Received::Malformed(error) => malformed = malformed.or(Some(error)),
            Received::OtherResponse(_) | Received::UnexpectedBatch | Received::Consumed => {}
        }
    }
}

/// Resumes a stream with GET. The JSON-RPC request itself is never sent again.
async fn reconnect(
    context: &ResponseContext<'_>,
    resume: &mut ResumeState<'_>,
    reason: Option<TransportError>,
) -> Result<EventReader, CallFailure> {
    let mut reason = reason.map_or_else(|| "the stream ended".to_owned(), |it| it.to_string());
    if context.session.is_stateless {
        let method = context.method;
        let problem = format!("closed the stream of {method} before the response ({reason})");
        return Err(CallFailure::ResponseLost(context.error(&problem)));
    }
    let Some(last) = resume.last().cloned() else {
        let problem = format!(
            "closed the stream of {} before the response and sent no event id to resume it with \
             ({reason})",
            context.method
        );
        return Err(CallFailure::ResponseLost(context.error(&problem)));
    };
    loop {
        let Some(wait) = resume.next_wait() else {
            return Err(too_many_reconnects(context, resume, &reason));
        };
        context.set_problem(Some(&format!(
            "the stream of the call broke and could not be resumed: {reason}"
        )));
        sleep(wait).await;
        match context
            .state
            .send(context.session, RequestKind::Get(Some(last.clone())))
            .await
        {
            Ok(response) => match resumed(context, response).await? {
                Ok(events) => return Ok(events),
                Err(again) => reason = again,
            },
            Err(SendError::Rejected(error)) => return Err(CallFailure::failed(error)),
            Err(broken) => reason = broken.into_error().to_string(),
        }
        tracing::debug!(reason, "could not resume a stream; trying again");
    }
}

/// Evaluates the HTTP response to the GET that resumes a stream. Returns a reader for the rest of the stream, or the reason why
/// the client should try again, or a failure.
async fn resumed(
    context: &ResponseContext<'_>,
    response: Response<ResponseBody>,
) -> Result<Result<EventReader, String>, CallFailure> {
    let status = response.status();
    if status.is_success() {
        if let ContentKind::EventReader = ContentKind::of(response.headers()) {
            return Ok(Ok(EventReader::new(
                response.into_body(),
                &context.state.options,
            )));
        }
        let problem = format!(
            "answered the resumption of {} with {status} and without an event stream; the \
             response is lost, and the request may have run",
            context.method
        );
        return Err(CallFailure::failed(
            context.error(&problem).as_possibly_executed(),
        ));
    }
    let refusal = Refusal::read(context.state, response).await;
    if refusal.is_session_lost(context.session) {
        return Err(CallFailure::SessionLost { seen: true });
    }
    let what = format!("to resume the stream of {}", context.method);
    let error = refusal.error(context.state, context.session, &what);
    if is_retryable(status) {
        if let Some(wait) = refusal.retry_after {
            sleep(wait).await;
        }
        return Ok(Err(error.to_string()));
    }
    let text = format!("{error}; the response is lost, and the request may have run");
    let error = TransportError::new(text).as_possibly_executed();
    Err(CallFailure::failed(error))
}

fn too_many_reconnects(
    context: &ResponseContext<'_>,
    resume: &ResumeState<'_>,
    reason: &str,
) -> CallFailure {
    let problem = format!(
        "did not complete the stream of {} within {} reconnects, the limit of \
         ClientOptions::with_max_reconnects or with_max_total_reconnects; the response is lost, and the \
         request may have run \
         ({reason})",
        context.method,
        resume.total()
    );
    CallFailure::failed(context.error(&problem).as_possibly_executed())
}

/// Reads the rest of the stream after the response, so that the HTTP connection can be used again. Usually the stream ends at
/// once. Otherwise a task continues to read for up to one second.
async fn finish(state: &Arc<ClientState>, session: &Arc<Session>, mut events: EventReader) {
    for _ in 0..MAX_YIELDS {
        let mut rest = pin!(read_rest(state, session, &mut events));
        let ended = poll_fn(|cx| Poll::Ready(rest.as_mut().poll(cx).is_ready())).await;
        // Gives the connection a chance to receive the end of the stream.
        yield_now().await;
        if ended {
            return;
        }
    }
    if let Ok(permit) = Arc::clone(&state.permits.stream_tails).try_acquire_owned() {
        let (shared, session) = (Arc::clone(state), Arc::clone(session));
        state.tasks.spawn(async move {
            let _ = timeout(TAIL_TIME, read_rest(&shared, &session, &mut events)).await;
            drop(permit);
        });
    }
}

async fn read_rest(state: &Arc<ClientState>, session: &Arc<Session>, events: &mut EventReader) {
    while let Ok(Some(event)) = events.next().await {
        if event.is_message() {
            receive(state, session, event.data, None);
        }
    }
}
