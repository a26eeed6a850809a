//! What the server says outside any call.
//!
//! Specification: [listening](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server).

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};

use crate::client::call::refusal::{Refusal, is_retryable, is_session_lost};
use crate::client::call::resume::ResumeState;
use crate::client::inbox::listening::ListenState;
use crate::client::inbox::receive::receive;
use crate::client::session::current::Session;
use crate::client::state::ClientState;
use crate::client::wire::connection;
use crate::client::wire::content::ContentKind;
use crate::client::wire::events::{EventReader, ReadError};
use http::StatusCode;
use tokio::time::{Instant, timeout};

/// Listens each time that is wanted. Runs until the connection ends.
pub(crate) async fn run(state: Arc<ClientState>) {
    loop {
        state.listening.wanted().await;
        let next = listen(&state).await;
        state.listening.set(next);
    }
}

/// How listening to one connection ended.
enum End {
    /// It broke off, or there was none.
    Over(String),
    /// The server does not want it, now or ever.
    Unwanted,
}

/// Listens for as long as the server lets it; returns whether to try again later.
async fn listen(state: &Arc<ClientState>) -> ListenState {
    let mut resume = ResumeState::of_connection(&state.options.reconnect);
    let mut session = state.sessions.current().await;
    loop {
        let end = {
            let replaced = pin!(state.sessions.replaced(&session));
            match select(replaced, pin!(once(state, &session, &mut resume))).await {
                Either::Left(_) => None,
                Either::Right((end, _)) => Some(end),
            }
        };
        let wait = match end {
            None => None,
            Some(End::Unwanted) => return ListenState::Off,
            Some(End::Over(reason)) => {
                let Some(wait) = resume.next_wait() else {
                    tracing::warn!(
                        reason,
                        "nothing is received from the server outside calls any more"
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

/// Listens on one connection.
async fn once(
    state: &Arc<ClientState>,
    session: &Arc<Session>,
    resume: &mut ResumeState<'_>,
) -> End {
    let response = state.get(session, resume.last().cloned()).await;
    state.listening.set_answered();
    let response = match response {
        Ok(response) => response,
        Err(connection::SendError::Rejected(error)) => {
            tracing::warn!(%error, "the server is not listened to");
            return End::Unwanted;
        }
        Err(broken) => return End::Over(broken.into_error().to_string()),
    };
    let status = response.status();
    if is_session_lost(status, session) {
        state.session_lost(session);
        // The new session ends this wait, or the connection does.
        std::future::pending::<()>().await;
    }
    if matches!(
        status,
        StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED
    ) {
        tracing::debug!("the server says nothing outside calls");
        return End::Unwanted;
    }
    if !status.is_success() {
        return refused(state, session, resume, response).await;
    }
    let problem = match ContentKind::of(response.headers()) {
        ContentKind::EventReader => None,
        ContentKind::Json => Some("it answers with JSON".to_owned()),
        ContentKind::Other(problem) => Some(format!("it answers with {problem}")),
    };
    if let Some(problem) = problem {
        tracing::warn!(problem, "the server is not listened to");
        return End::Unwanted;
    }
    let events = EventReader::new(response.into_body(), &state.options);
    read(state, session, resume, events).await
}

async fn refused(
    state: &ClientState,
    session: &Session,
    resume: &mut ResumeState<'_>,
    response: http::Response<crate::client::wire::body::ResponseBody>,
) -> End {
    let refusal = Refusal::read(state, response).await;
    let error = refusal.error(state, session, "to be listened to");
    if is_retryable(refusal.status) {
        resume.set_retry(refusal.retry_after);
        return End::Over(error.to_string());
    }
    if resume.last().is_some() {
        // Perhaps it does not know the event any more; a new stream is better than none.
        resume.forget();
        return End::Over(error.to_string());
    }
    tracing::warn!(%error, "the server is not listened to");
    End::Unwanted
}

async fn read(
    state: &Arc<ClientState>,
    session: &Arc<Session>,
    resume: &mut ResumeState<'_>,
    mut events: EventReader,
) -> End {
    let began = Instant::now();
    let reason = loop {
        match events.next().await {
            Ok(Some(event)) => {
                resume.note(&event);
                if event.is_message() {
                    receive(state, session, event.data, None);
                }
            }
            Ok(None) => break "the stream ended".to_owned(),
            Err(ReadError::Interrupted(error)) => break error.to_string(),
            Err(ReadError::TooLong(error)) => {
                tracing::warn!(%error, "the server was not understood; something is missed");
                // It would only send that event again.
                resume.forget();
                break error.to_string();
            }
        }
    };
    resume.set_retry(events.retry());
    // A silent stream that somebody in between cuts every few minutes is as good as any.
    if began.elapsed() >= state.options.reconnect.cap {
        resume.is_well();
    }
    End::Over(reason)
}
