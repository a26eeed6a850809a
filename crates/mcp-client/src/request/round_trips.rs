//! Multi round-trip requests.
//!
//! The handlers of server requests also answer the input requests in a result. The client returns the server's state unchanged
//! and does not read it.
//!
//! Specification: [multi round-trip requests][spec].
//!
//! [spec]: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use mcp_jsonrpc::{DecodeError, ErrorObject, RawJson, decode, members, quote};
use mcp_protocol::modern::may_require_input;
use mcp_protocol::{Outcome, Payload, Reply, guarded};
use mcp_types::method;
use mcp_types::v2026_07_28::CreateTaskResult;

use crate::Error;
use crate::request::member;

/// A trait with which a call answers the input requests of a server.
pub(crate) trait AnswerInput: Send + Sync {
    /// Starts the handler of `method`, with params as JSON text.
    ///
    /// # Errors
    /// The client did not declare the capability, or the params are invalid.
    fn answer(&self, method: &str, params: Option<&str>) -> Result<Reply, ErrorObject>;
}

pub(crate) enum ResultKind {
    Complete,
    InputRequired,
    /// The server continues the request as a task. The client polls the task.
    Task,
}

impl ResultKind {
    /// Reads the type of a result. A result is complete if its type is missing or `null`.
    ///
    /// # Errors
    /// The method does not allow this type.
    pub(crate) fn of(method: &str, result: &RawJson) -> Result<Self, Error> {
        let kind = member(result, "resultType").filter(|text| *text != "null");
        let Some(text) = kind else {
            return Ok(Self::Complete);
        };
        let kind: String = decode(text).map_err(|problem| Error::InvalidResult {
            method: method.to_owned().into(),
            problem: DecodeError::new("/resultType", problem.message()),
        })?;
        match kind.as_str() {
            "complete" => Ok(Self::Complete),
            "input_required" if may_require_input(method) => Ok(Self::InputRequired),
            "input_required" => Err(Error::protocol(format!(
                "{method} was answered with input_required, which it does not allow"
            ))),
            CreateTaskResult::RESULT_TYPE if method == method::TOOLS_CALL => Ok(Self::Task),
            CreateTaskResult::RESULT_TYPE => Err(Error::protocol(format!(
                "{method} was answered with a task, which it does not allow"
            ))),
            other => Err(Error::UnknownResult {
                method: method.to_owned().into(),
                kind: other.chars().take(64).collect(),
            }),
        }
    }
}

pub(crate) struct InputRequired<'a> {
    method: &'a str,
    requests: Option<&'a str>,
    /// The state as JSON text, which the client returns unchanged.
    state: Option<&'a str>,
}

impl<'a> InputRequired<'a> {
    pub(crate) fn read(method: &'a str, result: &'a RawJson) -> Result<Self, Error> {
        let present = |name| member(result, name).filter(|text| *text != "null");
        let this = Self {
            method,
            requests: present("inputRequests"),
            state: present("requestState"),
        };
        match this.state {
            Some(state) if !state.starts_with('"') => Err(Error::protocol(format!(
                "{method} was answered with a requestState that is not a string"
            ))),
            None if this.requests.is_none() => Err(Error::protocol(format!(
                "{method} was answered with neither input requests nor a requestState"
            ))),
            _ => Ok(this),
        }
    }

    pub(crate) fn has_requests(&self) -> bool {
        self.requests.is_some()
    }

    /// Answers all input requests concurrently, and returns the params that must be added to the next request.
    ///
    /// # Errors
    /// Returns an error if an input request has no result. The call then fails, because an input response cannot report a
    /// failure.
    ///
    /// # Cancel safety
    /// Dropping the future drops the handlers.
    pub(crate) async fn answered_by(
        &self,
        handlers: &dyn AnswerInput,
    ) -> Result<RetryParams, Error> {
        let mut started = Vec::new();
        for request in members(self.requests.unwrap_or("{}")) {
            let (key, request) = request.map_err(|error| {
                Error::protocol(format!("{} was answered with {error}", self.method))
            })?;
            started.push(start_handler(self.method, handlers, key, request)?);
        }
        let responses = all(started).await;
        let responses =
            responses.map_err(|(key, reason)| input_failed(self.method, &key, reason))?;
        let responses = self.requests.map(|_| responses.as_slice());
        Ok(RetryParams::new(responses, self.state))
    }
}

/// Starts the handler of an input request in a call of `method`.
///
/// # Errors
/// Returns an error if the input request is malformed, or if the client has no handler for it.
pub(crate) fn start_handler(
    method: &str,
    handlers: &dyn AnswerInput,
    key: &str,
    request: &str,
) -> Result<(String, Reply), Error> {
    let requested = member(request, "method").and_then(|text| decode::<String>(text).ok());
    let requested = requested.ok_or_else(|| {
        Error::protocol(format!("input request {} has no method", quote(key, 64)))
    })?;
    let reply = guarded(|| handlers.answer(&requested, member(request, "params")));
    match reply.and_then(|reply| reply) {
        Ok(reply) => Ok((key.to_owned(), reply)),
        Err(reason) => Err(input_failed(method, key, reason)),
    }
}

/// Creates the error of a call in which an input request was not answered.
pub(crate) fn input_failed(method: &str, key: &str, reason: ErrorObject) -> Error {
    Error::InputFailed {
        method: method.to_owned().into(),
        request: key.chars().take(64).collect(),
        reason: reason.message.into_owned(),
    }
}

/// Creates a JSON object from keys and values. The values are JSON text.
pub(crate) fn object(members: &[(String, String)]) -> String {
    let all: Vec<String> = members
        .iter()
        .map(|(key, value)| format!("\"{key}\":{value}"))
        .collect();
    format!("{{{}}}", all.join(","))
}

/// Params that a request adds to continue the previous round trip: `inputResponses` and `requestState`.
#[derive(Default)]
pub(crate) struct RetryParams {
    /// The members: names, and values as JSON text.
    members: Vec<(&'static str, String)>,
}

impl RetryParams {
    fn new(responses: Option<&[(String, String)]>, state: Option<&str>) -> Self {
        let responses = responses.map(|responses| ("inputResponses", object(responses)));
        let state = state.map(|state| ("requestState", state.to_owned()));
        Self {
            members: responses.into_iter().chain(state).collect(),
        }
    }

    pub(crate) fn members(&self) -> &[(&'static str, String)] {
        &self.members
    }
}

/// Returns the delay before the `nth` consecutive request that returns only the state. The first delay is zero; later delays
/// increase up to two seconds.
pub(crate) fn retry_delay(nth: u32) -> Duration {
    match nth {
        0 | 1 => Duration::ZERO,
        more => Duration::from_millis(100 << (more - 2).min(5)).min(Duration::from_secs(2)),
    }
}

/// Waits for all replies and returns their outcomes as JSON text, or the first failure.
///
/// # Cancel safety
/// Dropping the future drops the handlers.
pub(crate) async fn all(
    replies: Vec<(String, Reply)>,
) -> Result<Vec<(String, String)>, (String, ErrorObject)> {
    let mut waiting: Vec<_> = replies
        .into_iter()
        .map(|(key, reply)| (key, Box::pin(outcome(reply))))
        .collect();
    let mut done: Vec<Option<String>> = vec![None; waiting.len()];
    poll_fn(|cx| {
        for ((key, future), done) in waiting.iter_mut().zip(&mut done) {
            if done.is_some() {
                continue;
            }
            match future.as_mut().poll(cx) {
                Poll::Pending => {}
                Poll::Ready(Ok(payload)) => *done = Some(json(&payload)),
                Poll::Ready(Err(error)) => return Poll::Ready(Err((key.clone(), error))),
            }
        }
        match done.iter().all(Option::is_some) {
            true => Poll::Ready(Ok(())),
            false => Poll::Pending,
        }
    })
    .await?;
    let keys = waiting.into_iter().map(|(key, _)| key);
    Ok(keys.zip(done.into_iter().flatten()).collect())
}

/// Waits for the outcome of a handler. A panic becomes an error.
pub(crate) async fn outcome(reply: Reply) -> Outcome {
    match reply {
        Reply::Ready(outcome) => outcome,
        Reply::Pending(mut future) => {
            poll_fn(|cx| {
                let polled = guarded(|| future.as_mut().poll(cx));
                polled.unwrap_or_else(|error| Poll::Ready(Err(error)))
            })
            .await
        }
        _ => Err(ErrorObject::internal(
            "the handler returned an unknown kind of reply",
        )),
    }
}

/// Returns a payload as JSON text.
pub(crate) fn json(payload: &Payload) -> String {
    let mut out = Vec::new();
    payload.write(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_that_only_return_the_state_are_delayed() {
        let waits: Vec<u128> = (1..9).map(|nth| retry_delay(nth).as_millis()).collect();
        assert_eq!(waits, [0, 100, 200, 400, 800, 1_600, 2_000, 2_000]);
    }

    // proves: M-BASE-015
    #[test]
    fn the_result_type_is_read_and_checked() {
        let kind = |method, text: &str| ResultKind::of(method, &RawJson::copy(text));
        let tool = method::TOOLS_CALL;
        assert!(matches!(kind(tool, "{}"), Ok(ResultKind::Complete)));
        let complete = r#"{"resultType":"complete"}"#;
        assert!(matches!(kind(tool, complete), Ok(ResultKind::Complete)));
        let asks = r#"{"resultType":"input_required"}"#;
        assert!(matches!(kind(tool, asks), Ok(ResultKind::InputRequired)));
        assert!(matches!(
            kind(method::TOOLS_LIST, asks),
            Err(Error::Protocol { .. })
        ));
        let Err(other) = kind(tool, r#"{"resultType":"hologram"}"#) else {
            panic!("a kind of an extension")
        };
        assert!(other.to_string().contains("\"hologram\""), "{other}");
    }

    // proves: M-TASK-005
    #[test]
    fn only_a_tool_call_can_continue_as_a_task() {
        let task = RawJson::copy(r#"{"resultType":"task","taskId":"1"}"#);
        assert!(matches!(
            ResultKind::of(method::TOOLS_CALL, &task),
            Ok(ResultKind::Task)
        ));
        for method in [
            method::PROMPTS_GET,
            method::RESOURCES_READ,
            method::TOOLS_LIST,
        ] {
            let refused = ResultKind::of(method, &task);
            assert!(matches!(refused, Err(Error::Protocol { .. })), "{method}");
        }
    }
}
