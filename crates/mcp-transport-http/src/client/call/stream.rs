//! An answer that comes on a stream, over as many connections as it takes.
//!
//! Specification: [sending messages](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server), point 6.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use crate::client::call::failure::Failure;
use crate::client::call::refusal::{Refusal, is_lost, is_passing};
use crate::client::call::response::Asked;
use crate::client::call::resume::Resume;
use crate::client::inbox::receive::{Heard, hear};
use crate::client::session::current::Facts;
use crate::client::state::Core;
use crate::client::wire::body::ResponseBody;
use crate::client::wire::connection;
use crate::client::wire::content::Form;
use crate::client::wire::events::{Broken, Events};
use http::Response;
use mcp_jsonrpc::ParseError;
use mcp_protocol::{Answer, CallError, TransportError};
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};

/// How long a stream is read on after the answer: a server ends it then.
const TAIL_TIME: Duration = Duration::from_secs(1);

/// How many turns of the runtime a caller waits for the end of a stream.
const TURNS: usize = 3;

/// How one connection of a stream ended.
enum End {
    Answer(Answer),
    /// Without the answer; the reason, if it was not the server's wish.
    Cut(Option<TransportError>),
}

/// Waits for the answer on a stream, and goes on elsewhere if it breaks off.
pub(crate) async fn follow(asked: &Asked<'_>, mut events: Events) -> Result<Answer, Failure> {
    let mut resume = Resume::of_call(&asked.core.options.reconnect);
    loop {
        let reason = match listen(asked, &mut events, &mut resume).await? {
            End::Answer(answer) => {
                finish(asked.core, asked.facts, events).await;
                return Ok(answer);
            }
            End::Cut(reason) => reason,
        };
        events = Box::pin(reconnect(asked, &mut resume, reason)).await?;
    }
}

/// Reads one connection of a stream to its end or to the answer.
async fn listen(
    asked: &Asked<'_>,
    events: &mut Events,
    resume: &mut Resume<'_>,
) -> Result<End, Failure> {
    let mut spoiled: Option<ParseError> = None;
    loop {
        let event = events.next().await;
        let event = match event {
            Ok(Some(event)) => event,
            Ok(None) | Err(Broken::Cut(_)) => {
                let reason = event.err().map(Broken::into_error);
                resume.set_retry(events.retry());
                // It may have been the answer, and nobody sends it again.
                return match spoiled {
                    Some(error) => Err(Failure::Final(CallError::Malformed(error))),
                    None => Ok(End::Cut(reason)),
                };
            }
            Err(Broken::TooLong(error)) => {
                let problem = format!("answered {} on a stream: {error}", asked.method);
                return Err(Failure::failed(asked.error(&problem).with_source(error)));
            }
        };
        resume.note(&event);
        if !event.is_message() {
            continue;
        }
        match asked.receive(event.data) {
            Heard::Answer(Ok(answer)) => return Ok(End::Answer(answer)),
            Heard::Answer(Err(error)) => return Err(Failure::Final(error)),
            Heard::Anonymous(error) => return Err(Failure::failed(asked.anonymous(&error))),
            Heard::Unreadable(error) => spoiled = spoiled.or(Some(error)),
            Heard::OtherAnswer(_) | Heard::Batch | Heard::Nothing => {}
        }
    }
}

/// Comes back for the rest of a stream: by GET and never by sending the request again.
async fn reconnect(
    asked: &Asked<'_>,
    resume: &mut Resume<'_>,
    reason: Option<TransportError>,
) -> Result<Events, Failure> {
    let mut reason = reason.map_or_else(|| "the stream ended".to_owned(), |it| it.to_string());
    if asked.facts.claims {
        let method = asked.method;
        let problem = format!("ended the stream of {method} before the answer ({reason})");
        return Err(Failure::Lost(asked.error(&problem)));
    }
    let Some(last) = resume.last().cloned() else {
        let problem = format!(
            "ended the stream of {} before the answer and gave no event id to resume it with \
             ({reason})",
            asked.method
        );
        return Err(Failure::Lost(asked.error(&problem)));
    };
    loop {
        let Some(wait) = resume.next_wait() else {
            return Err(given_up(asked, resume, &reason));
        };
        sleep(wait).await;
        match asked.core.get(asked.facts, Some(last.clone())).await {
            Ok(response) => match resumed(asked, response).await? {
                Ok(events) => return Ok(events),
                Err(again) => reason = again,
            },
            Err(connection::Broken::Refused(error)) => return Err(Failure::failed(error)),
            Err(broken) => reason = broken.into_error().to_string(),
        }
        tracing::debug!(reason, "could not resume a stream yet");
    }
}

/// What a response to the wish to resume means: the rest of the stream, a reason to try again, or
/// the end.
async fn resumed(
    asked: &Asked<'_>,
    response: Response<ResponseBody>,
) -> Result<Result<Events, String>, Failure> {
    let status = response.status();
    if is_lost(status, asked.facts) {
        return Err(Failure::SessionLost { seen: true });
    }
    if status.is_success() {
        if let Form::Events = Form::of(response.headers()) {
            return Ok(Ok(Events::new(response.into_body(), &asked.core.options)));
        }
        let problem = format!(
            "answered the wish to resume the stream of {} with {status} and no stream; the answer \
             is lost, and the request may have run",
            asked.method
        );
        return Err(Failure::failed(asked.error(&problem)));
    }
    let refusal = Refusal::read(asked.core, response).await;
    let what = format!("to resume the stream of {}", asked.method);
    let error = refusal.error(asked.core, asked.facts, &what);
    if is_passing(status) {
        if let Some(wait) = refusal.retry_after {
            sleep(wait).await;
        }
        return Ok(Err(error.to_string()));
    }
    Err(Failure::failed(TransportError::new(format!(
        "{error}; the answer is lost, and the request may have run"
    ))))
}

fn given_up(asked: &Asked<'_>, resume: &Resume<'_>, reason: &str) -> Failure {
    let problem = format!(
        "did not complete the stream of {}, though asked {} times, and ClientOptions::with_reconnects \
         allows no more; the answer is lost, and the request may have run ({reason})",
        asked.method,
        resume.total()
    );
    Failure::failed(asked.error(&problem))
}

/// Reads what follows the answer, so that the connection can be used again. Mostly that is the end
/// and at most a turn away; if not, a task waits for it, but not for long.
async fn finish(core: &Arc<Core>, facts: &Arc<Facts>, mut events: Events) {
    for _ in 0..TURNS {
        let mut rest = pin!(read_on(core, facts, &mut events));
        let ended = poll_fn(|cx| Poll::Ready(rest.as_mut().poll(cx).is_ready())).await;
        // The end, or the chance for it to arrive; either way the connection has a turn.
        yield_now().await;
        if ended {
            return;
        }
    }
    if let Ok(place) = Arc::clone(&core.places.tails).try_acquire_owned() {
        let (shared, facts) = (Arc::clone(core), Arc::clone(facts));
        core.tasks.spawn(async move {
            let _ = timeout(TAIL_TIME, read_on(&shared, &facts, &mut events)).await;
            drop(place);
        });
    }
}

async fn read_on(core: &Arc<Core>, facts: &Arc<Facts>, events: &mut Events) {
    while let Ok(Some(event)) = events.next().await {
        if event.is_message() {
            hear(core, facts, event.data, None);
        }
    }
}
