//! What the server says outside any call.
//!
//! Specification: [listening](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server).

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};

use crate::client::call::refusal::{Refusal, is_lost, is_passing};
use crate::client::call::resume::Resume;
use crate::client::inbox::listening::ListenState;
use crate::client::inbox::receive::hear;
use crate::client::session::current::Facts;
use crate::client::state::Core;
use crate::client::wire::connection;
use crate::client::wire::content::Form;
use crate::client::wire::events::{Broken, Events};
use http::StatusCode;
use tokio::time::{Instant, timeout};

/// Listens each time that is wanted. Runs until the connection ends.
pub(crate) async fn run(core: Arc<Core>) {
    loop {
        core.listening.wanted().await;
        let state = listen(&core).await;
        core.listening.set(state);
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
async fn listen(core: &Arc<Core>) -> ListenState {
    let mut resume = Resume::of_connection(&core.options.reconnect);
    let mut facts = core.session.current().await;
    loop {
        let end = {
            let replaced = pin!(core.session.replaced(&facts));
            match select(replaced, pin!(once(core, &facts, &mut resume))).await {
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
                        "nothing is heard from the server outside calls any more"
                    );
                    return ListenState::Suspended;
                };
                tracing::debug!(reason, ?wait, "listening again");
                Some(wait)
            }
        };
        let is_replaced = match wait {
            None => true,
            Some(wait) => timeout(wait, core.session.replaced(&facts)).await.is_ok(),
        };
        if is_replaced {
            facts = core.session.current().await;
            resume = Resume::of_connection(&core.options.reconnect);
        }
    }
}

/// Listens on one connection.
async fn once(core: &Arc<Core>, facts: &Arc<Facts>, resume: &mut Resume<'_>) -> End {
    let response = core.get(facts, resume.last().cloned()).await;
    core.listening.set_answered();
    let response = match response {
        Ok(response) => response,
        Err(connection::Broken::Refused(error)) => {
            tracing::warn!(%error, "the server is not listened to");
            return End::Unwanted;
        }
        Err(broken) => return End::Over(broken.into_error().to_string()),
    };
    let status = response.status();
    if is_lost(status, facts) {
        core.session_lost(facts);
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
        return refused(core, facts, resume, response).await;
    }
    let problem = match Form::of(response.headers()) {
        Form::Events => None,
        Form::Json => Some("it answers with JSON".to_owned()),
        Form::Other(problem) => Some(format!("it answers with {problem}")),
    };
    if let Some(problem) = problem {
        tracing::warn!(problem, "the server is not listened to");
        return End::Unwanted;
    }
    let events = Events::new(response.into_body(), &core.options);
    read(core, facts, resume, events).await
}

async fn refused(
    core: &Core,
    facts: &Facts,
    resume: &mut Resume<'_>,
    response: http::Response<crate::client::wire::body::ResponseBody>,
) -> End {
    let refusal = Refusal::read(core, response).await;
    let error = refusal.error(core, facts, "to be listened to");
    if is_passing(refusal.status) {
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
    core: &Arc<Core>,
    facts: &Arc<Facts>,
    resume: &mut Resume<'_>,
    mut events: Events,
) -> End {
    let began = Instant::now();
    let reason = loop {
        match events.next().await {
            Ok(Some(event)) => {
                resume.note(&event);
                if event.is_message() {
                    hear(core, facts, event.data, None);
                }
            }
            Ok(None) => break "the stream ended".to_owned(),
            Err(Broken::Cut(error)) => break error.to_string(),
            Err(Broken::TooLong(error)) => {
                tracing::warn!(%error, "the server was not understood; something is missed");
                // It would only send that event again.
                resume.forget();
                break error.to_string();
            }
        }
    };
    resume.set_retry(events.retry());
    // A silent stream that somebody in between cuts every few minutes is as good as any.
    if began.elapsed() >= core.options.reconnect.cap {
        resume.is_well();
    }
    End::Over(reason)
}
