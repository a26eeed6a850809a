//! One call: its request, its answer, and what is tried if that gets lost.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use mcp_jsonrpc::{RequestId, write_notification, write_request};
use mcp_protocol::{Answer, Call, CallError, Delivery, Extras, TransportError};
use mcp_types::method;
use tokio::time::sleep;

use crate::client::call::response::{Asked, Failure, failed};
use crate::client::call::stateless;
use crate::client::inbox::listen;
use crate::client::outbox::deliver;
use crate::client::outbox::queue::Note;
use crate::client::session::current::Facts;
use crate::client::session::initialize;
use crate::client::session::reinitialize;
use crate::client::session::replay::Record;
use crate::client::state::Core;

/// A call that is sent when it is first polled.
pub(crate) fn start(
    core: Arc<Core>,
    method: &'static str,
    params: Option<Vec<u8>>,
    extras: Extras,
) -> Call {
    // What was said before this call is heard before it.
    let after = core.outbox.position();
    Call::new(async move {
        if method == method::INITIALIZE {
            // Boxed, like all that is rare: a call is as large as the largest thing it may do.
            return Box::pin(initialize::first(&core, params)).await;
        }
        let said = core.until_closed(core.outbox.sent_up_to(after)).await;
        said.map_err(CallError::Closed)?;
        match stateless::mirrored(method, params.as_deref(), extras.headers) {
            Some(headers) => stateless::run(&core, method, params, headers?, extras.id).await,
            None => run(&core, method, params).await,
        }
    })
}

async fn run(
    core: &Arc<Core>,
    method: &'static str,
    params: Option<Vec<u8>>,
) -> Result<Answer, CallError> {
    let mut may_repeat = is_harmless_twice(method);
    loop {
        let facts = core.until_closed(core.session.current()).await;
        let facts = facts.map_err(CallError::Closed)?;
        match attempt(core, &facts, method, params.as_deref()).await {
            Ok(answer) => {
                if Record::concerns(method) && answer.is_ok() {
                    core.session
                        .record
                        .note(method, params.as_deref().unwrap_or_default());
                }
                listen::wake(core);
                return Ok(answer);
            }
            Err(Failure::Final(error)) => return Err(error),
            Err(Failure::SessionLost { seen }) => {
                reinitialize::renew(core, &facts);
                let renewed = core.until_closed(core.session.current()).await;
                renewed.map_err(CallError::Closed)?;
                if !may_repeat {
                    return Err(failed(forgotten(core, method, seen)));
                }
            }
            Err(Failure::Lost(error)) => {
                if !may_repeat {
                    return Err(failed(lost(error, method)));
                }
                tracing::debug!(%error, method, "the answer is lost; asking again");
            }
            Err(Failure::Unreached(error)) => return Err(failed(error)),
            Err(Failure::NotNow(wait, error)) => match wait {
                Some(wait) if may_repeat && wait <= core.options.retry_after => {
                    core.until_closed(sleep(wait))
                        .await
                        .map_err(CallError::Closed)?;
                }
                _ => return Err(failed(error)),
            },
        }
        may_repeat = false;
    }
}

/// Sends a request once and waits for its answer.
pub(crate) async fn attempt(
    core: &Arc<Core>,
    facts: &Arc<Facts>,
    method: &'static str,
    params: Option<&[u8]>,
) -> Result<Answer, Failure> {
    let pending = Pending::open(core, facts, method)?;
    let mut message = Vec::with_capacity(params.map_or(0, <[u8]>::len) + 128);
    write_request(&mut message, &RequestId::Number(pending.id), method, params);
    let asked = Asked {
        core,
        facts,
        method,
        id: pending.id,
    };
    let exchange = async {
        let response = core.post(facts, message.into()).await?;
        asked.read(response).await
    };
    pending.answered_by(exchange).await
}

/// A request that may have an answer coming. Dropping it cancels the request.
pub(crate) struct Pending<'a> {
    core: &'a Arc<Core>,
    facts: &'a Arc<Facts>,
    method: &'static str,
    pub(crate) id: i64,
    wanted: bool,
}

impl<'a> Pending<'a> {
    pub(crate) fn open(
        core: &'a Arc<Core>,
        facts: &'a Arc<Facts>,
        method: &'static str,
    ) -> Result<Self, Failure> {
        Ok(Self {
            core,
            facts,
            method,
            id: core.outgoing.open().map_err(Failure::Final)?,
            wanted: true,
        })
    }

    /// Waits for the answer, which may come on the stream of another call too, or for the end of
    /// the connection.
    pub(crate) async fn answered_by(
        mut self,
        exchange: impl Future<Output = Result<Answer, Failure>>,
    ) -> Result<Answer, Failure> {
        let mut exchange = pin!(exchange);
        let answer = poll_fn(|cx| {
            if let Poll::Ready(answer) = self.core.outgoing.poll(self.id, cx) {
                return Poll::Ready(answer.map_err(Failure::Final));
            }
            exchange.as_mut().poll(cx)
        })
        .await;
        self.wanted = false;
        answer
    }
}

impl Drop for Pending<'_> {
    /// Cancels on the wire, unless there is an answer or the request is `initialize`, which may
    /// not be cancelled. What belongs to no session is cancelled by the end of its stream.
    fn drop(&mut self) {
        let waited = self.core.outgoing.withdraw(self.id);
        let has_session = !self.facts.claims && self.method != method::INITIALIZE;
        if !waited || !self.wanted || !has_session {
            return;
        }
        let params = format!(
            "{{\"requestId\":{},\"reason\":\"the caller gave up\"}}",
            self.id
        );
        let mut message = Vec::new();
        let params = Some(params.as_bytes());
        write_notification(&mut message, method::NOTIFICATIONS_CANCELLED, params);
        let note = Note {
            message: message.into(),
            session: Some(Arc::clone(self.facts)),
            opens: false,
        };
        deliver::enqueue(self.core, |core| &core.cancels, note, Delivery::Always);
    }
}

/// Whether a request that may have run does no harm if it runs again. What is not known here may
/// do anything.
pub(crate) fn is_harmless_twice(method: &str) -> bool {
    matches!(
        method,
        method::PING
            | method::COMPLETION_COMPLETE
            | method::LOGGING_SET_LEVEL
            | method::PROMPTS_GET
            | method::PROMPTS_LIST
            | method::RESOURCES_LIST
            | method::RESOURCES_READ
            | method::RESOURCES_SUBSCRIBE
            | method::RESOURCES_TEMPLATES_LIST
            | method::RESOURCES_UNSUBSCRIBE
            | method::SERVER_DISCOVER
            | method::TASKS_GET
            | method::TASKS_LIST
            | method::TASKS_RESULT
            | method::TOOLS_LIST
    )
}

pub(crate) fn lost(error: TransportError, method: &str) -> TransportError {
    TransportError::new(format!(
        "{error}; {method} may have run, so it was not repeated"
    ))
    .with_source(error)
}

fn forgotten(core: &Core, method: &str, seen: bool) -> TransportError {
    let endpoint = &core.wire.endpoint;
    let ran = if seen {
        "it may have run"
    } else {
        "call again"
    };
    TransportError::new(format!(
        "{endpoint} had forgotten the session; a new one is open; {method} was not repeated, {ran}"
    ))
}
