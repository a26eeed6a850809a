//! What the server says outside any call.
//!
//! Specification: [listening](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server).

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use http::StatusCode;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::client::call::refusal::{Refusal, is_lost};
use crate::client::call::response::Form;
use crate::client::call::resume::Resume;
use crate::client::call::stream::is_passing;
use crate::client::inbox::receive::hear;
use crate::client::session::current::Facts;
use crate::client::session::reinitialize;
use crate::client::state::Core;
use crate::client::tasks::{Either, either};
use crate::client::wire::connection;
use crate::client::wire::events::{Broken, Events};

/// Whether somebody listens.
#[derive(Default)]
pub(crate) struct Listening {
    state: AtomicU8,
    /// The server has said whether it has something to say.
    answered: watch::Sender<bool>,
}

impl Listening {
    /// Completes when the server was asked once whether it has something to say. Cancel safe.
    pub(crate) async fn answered(&self) {
        let _ = self
            .answered
            .subscribe()
            .wait_for(|answered| *answered)
            .await;
    }
}

/// Nobody has listened yet, or the server does not want it.
const OFF: u8 = 0;
const ON: u8 = 1;
/// The server could not be reached for too long; it may be back.
const ASLEEP: u8 = 2;

/// Starts listening, unless somebody does or nobody wants it. There is a session.
pub(crate) fn start(core: &Arc<Core>) {
    if !core.options.listen || core.listening.state.swap(ON, Ordering::AcqRel) == ON {
        return;
    }
    let shared = Arc::clone(core);
    core.tasks.spawn(async move {
        let ended = either(shared.ended(), run(&shared)).await;
        if let Either::Second(state) = ended {
            shared.listening.state.store(state, Ordering::Release);
        }
    });
}

/// Listens again if that was given up because the server could not be reached: a call has just
/// reached it.
pub(crate) fn wake(core: &Arc<Core>) {
    if core.listening.state.load(Ordering::Relaxed) == ASLEEP {
        start(core);
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
async fn run(core: &Arc<Core>) -> u8 {
    let mut resume = Resume::of_connection(&core.options.reconnect);
    let mut facts = core.session.current().await;
    loop {
        let once = either(
            core.session.replaced(&facts),
            once(core, &facts, &mut resume),
        )
        .await;
        let reason = match once {
            Either::First(()) => {
                facts = core.session.current().await;
                resume = Resume::of_connection(&core.options.reconnect);
                continue;
            }
            Either::Second(End::Unwanted) => return OFF,
            Either::Second(End::Over(reason)) => reason,
        };
        let Some(wait) = resume.next_wait() else {
            tracing::warn!(
                reason,
                "nothing is heard from the server outside calls any more"
            );
            return ASLEEP;
        };
        tracing::debug!(reason, ?wait, "listening again");
        if let Either::First(()) = either(core.session.replaced(&facts), sleep(wait)).await {
            facts = core.session.current().await;
            resume = Resume::of_connection(&core.options.reconnect);
        }
    }
}

/// Listens on one connection.
async fn once(core: &Arc<Core>, facts: &Arc<Facts>, resume: &mut Resume<'_>) -> End {
    let response = core.get(facts, resume.last().cloned()).await;
    core.listening.answered.send_replace(true);
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
        reinitialize::renew(core, facts);
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
