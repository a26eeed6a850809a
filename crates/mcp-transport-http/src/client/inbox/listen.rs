//! The GET stream: messages from the server outside of calls.
//!
//! Specification:
//! [listening](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server).

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};

use crate::client::inbox::receive::receive;
use crate::client::listening::ListenState;
use crate::client::refusal::{Refusal, is_retryable};
use crate::client::resume::ResumeState;
use crate::client::session::current::Session;
use crate::client::state::ClientState;
use crate::client::wire::body::{ContentKind, EventReader, ReadError};
use crate::client::wire::connection::{RequestKind, SendError};
use http::StatusCode;
use tokio::time::{Instant, timeout};

/// Listens on the GET stream whenever the state becomes [`ListenState::On`]. Runs until the connection ends.
pub(crate) async fn run(state: Arc<ClientState>) {
    loop {
        state.listening.wanted().await;
        let next = listen(&state).await;
        state.listening.set(next);
    }
}

/// How one connection of the GET stream ended.
enum ListenEnd {
    /// The connection was interrupted or refused. The text is the reason.
    Interrupted(String),
    /// The server does not support the GET stream.
    Unsupported,
}

/// Keeps the GET stream open, and reconnects it. Returns the new state when the client stops listening.
async fn listen(state: &Arc<ClientState>) -> ListenState {
    let mut resume = ResumeState::of_connection(&state.options.reconnect);
    let mut session = state.sessions.current().await;
    loop {
        let end = {
            let replaced = pin!(state.sessions.replaced(&session));
            match select(replaced, pin!(listen_once(state, &session, &mut resume))).await {
                Either::Left(_) => None,
                Either::Right((end, _)) => Some(end),
            }
        };
        let wait = match end {
            None => None,
            Some(ListenEnd::Unsupported) => return ListenState::Off,
            Some(ListenEnd::Interrupted(reason)) => {
                let Some(wait) = resume.next_wait() else {
                    tracing::warn!(
                        reason,
                        "stopped listening: messages of the server outside of calls are not \
                         received"
                    );
                    return ListenState::Suspended;
                };
                tracing::debug!(reason, ?wait, "listening again");
                Some(wait)
            }
        };
        let is_replaced = match wait {
            None => true,
            Some(wait) => timeout(wait, state.sessions.replaced(&session))
                .await
                .is_ok(),
        };
        if is_replaced {
            session = state.sessions.current().await;
            resume = ResumeState::of_connection(&state.options.reconnect);
        }
    }
}

/// Reads one connection of the GET stream.
async fn listen_once(
    state: &Arc<ClientState>,
    session: &Arc<Session>,
    resume: &mut ResumeState<'_>,
) -> ListenEnd {
    let response = state
        .send(session, RequestKind::Get(resume.last().cloned()))
        .await;
    state.listening.set_answered();
    let response = match response {
        Ok(response) => response,
        Err(SendError::Rejected(error)) => {
            tracing::warn!(%error, "stopped listening: the GET stream is not available");
            return ListenEnd::Unsupported;
        }
        Err(broken) => return ListenEnd::Interrupted(broken.into_error().to_string()),
    };
    let status = response.status();
    if matches!(
        status,
        StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED
    ) {
        tracing::debug!("the server has no GET stream");
        return ListenEnd::Unsupported;
    }
    if !status.is_success() {
        return refused(state, session, resume, response).await;
    }
    let problem = match ContentKind::of(response.headers()) {
        ContentKind::EventReader => None,
        ContentKind::Json => Some("the server answered with JSON".to_owned()),
        ContentKind::Other(problem) => Some(format!("the server answered with {problem}")),
    };
    if let Some(problem) = problem {
        tracing::warn!(
            problem,
            "stopped listening: the GET stream is not available"
        );
        return ListenEnd::Unsupported;
    }
    state.listening.set_streamed();
    let events = EventReader::new(response.into_body(), &state.options);
    read(state, session, resume, events).await
}

async fn refused(
    state: &ClientState,
    session: &Session,
    resume: &mut ResumeState<'_>,
    response: http::Response<crate::http_service::ResponseBody>,
) -> ListenEnd {
    let refusal = Refusal::read(state, response).await;
    // A router that knows only POST answers GET with 404 and has never read the session id. A call
    // will notice if the session is really lost.
    if state.listening.has_streamed() && refusal.is_session_lost(session) {
        state.session_lost(session);
        // The caller drops this future when the new session is open or the connection ends.
        std::future::pending::<()>().await;
    }
    let error = refusal.error(state, session, "the GET stream");
    if is_retryable(refusal.status) {
        resume.set_retry(refusal.retry_after);
        return ListenEnd::Interrupted(error.to_string());
    }
    if resume.last().is_some() {
        // The server may no longer know the event; a new stream still delivers later events.
        resume.forget();
        return ListenEnd::Interrupted(error.to_string());
    }
    tracing::warn!(%error, "stopped listening: the GET stream is not available");
    ListenEnd::Unsupported
}

async fn read(
    state: &Arc<ClientState>,
    session: &Arc<Session>,
    resume: &mut ResumeState<'_>,
    mut events: EventReader,
) -> ListenEnd {
    let began = Instant::now();
    let reason = loop {
        match events.next().await {
            Ok(Some(event)) => {
                resume.record(&event);
                if event.is_message() {
                    receive(state, session, event.data, None);
                }
            }
            Ok(None) => break "the stream ended".to_owned(),
            Err(ReadError::Interrupted(error)) => break error.to_string(),
            Err(ReadError::TooLong(error)) => {
                tracing::warn!(%error, "skipped an event that exceeds a limit");
                // A resumption would only send the same event again.
                resume.forget();
                break error.to_string();
            }
        }
    };
    resume.set_retry(events.retry());
    // A proxy that closes idle streams every few minutes is not a failure.
    if began.elapsed() >= state.options.reconnect.cap {
        resume.reset_attempts();
    }
    ListenEnd::Interrupted(reason)
}
