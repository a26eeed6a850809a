//! Sends a request and waits for its result: in one round trip or, if the server sends input requests, in several.

use std::time::Duration;

use mcp_jsonrpc::{ErrorCode, RawJson};
use mcp_protocol::{Answer, Call, CallError, Deadline, Extras, SentId, Timeouts, http_headers};
use mcp_types::{JsonObject, method};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::Error;
use crate::cache::Lookup;
use crate::request::meta::MetaTemplate;
use crate::request::progress::ProgressEntry;
use crate::request::round_trips::{InputRequired, ResultKind, RetryParams, retry_delay};
use crate::request::{Outcome, Request};
use crate::shared::Shared;
use crate::sync::race;
use crate::task_status::state::nested_task;

/// Sends `request` and waits for its result, until a timeout of the request expires.
pub(crate) async fn run(shared: &Shared, request: &mut Request) -> Result<Outcome, Error> {
    // Checks the revision first, because its error is more precise.
    shared.has(&request.method)?;
    shared.offers(&request.method)?;
    run_undeclared(shared, request).await
}

/// Sends `request`, even if the server has not declared the required capability.
pub(crate) async fn run_undeclared(
    shared: &Shared,
    request: &mut Request,
) -> Result<Outcome, Error> {
    shared.has(&request.method)?;
    let timeouts = request.options.timeouts.unwrap_or(shared.timeouts);
    match &shared.agreed.meta {
        Some(meta) => run_stateless(shared, meta, request, timeouts).await,
        None => run_in_session(shared, request, timeouts).await,
    }
}

/// Sends the request of a session-based revision.
async fn run_in_session(
    shared: &Shared,
    request: &mut Request,
    timeouts: Timeouts,
) -> Result<Outcome, Error> {
    let method = &*request.method;
    let callback = request.options.on_progress.take();
    let entry = reports_progress(method).then(|| shared.progress.open(callback));
    if let (Some(entry), Some(Value::Object(params))) = (&entry, &mut request.params) {
        let meta = params
            .entry("_meta")
            .or_insert_with(|| Value::Object(JsonObject::new()));
        if let (Value::Object(meta), Ok(token)) = (meta, serde_json::to_value(entry.token())) {
            meta.insert("progressToken".to_owned(), token);
        }
    }
    let params = request.params.as_ref();
    let sent = SentId::new();
    let call = shared.link.request_with(
        request.method.clone(),
        params.map(|params| params.to_string().into_bytes()),
        Extras::of_id(sent.clone()),
    );
    let mut deadline = timeouts.start(Instant::now().into_std());
    let answer = wait(method, call, &sent, entry.as_ref(), &mut deadline).await?;
    let raw = answer.map_err(Error::Rejected)?;
    // A server without support for tasks ignores the `task` member and returns the plain result.
    let is_task = request.has_task() && nested_task(&raw).is_some();
    Ok(Outcome {
        raw,
        is_task,
        progress: entry.filter(|_| is_task),
    })
}

/// Sends the request of the stateless revision. If the server returns input requests, sends the request again with the input
/// responses. Sends nothing if the cache has the result.
async fn run_stateless(
    shared: &Shared,
    meta: &MetaTemplate,
    request: &mut Request,
    timeouts: Timeouts,
) -> Result<Outcome, Error> {
    let (empty, is_fresh) = (JsonObject::new(), request.options.is_fresh);
    let (params, now) = (params_of(request, &empty), Instant::now());
    let mut slot = match shared.cache.find(&request.method, params, is_fresh, now) {
        Lookup::Hit(result) => return Ok(done(result)),
        Lookup::Miss(slot) => Some(slot),
        Lookup::Uncacheable => None,
    };
    let end = Instant::now() + timeouts.total;
    let mut deadline = timeouts.start(Instant::now().into_std());
    let mut retry = RetryParams::default();
    let mut round_trips = 0;
    let mut without_input = 0;
    loop {
        let result = send_stateless(shared, meta, request, &retry, &mut deadline).await?;
        match ResultKind::of(&request.method, &result)? {
            ResultKind::Complete => {
                if let (Some(slot), 0) = (slot.take(), round_trips) {
                    shared.cache.keep(slot, &result, Instant::now());
                }
                return Ok(done(result));
            }
            ResultKind::Task => return created_task(shared, request, result),
            ResultKind::InputRequired if request.is_single => return Ok(done(result)),
            ResultKind::InputRequired if round_trips == shared.max_round_trips => {
                return Err(Error::TooManyRoundTrips {
                    method: request.method.clone(),
                    limit: round_trips,
                });
            }
            ResultKind::InputRequired => round_trips += 1,
        }
        let required = InputRequired::read(&request.method, &result)?;
        without_input = if required.has_requests() {
            0
        } else {
            without_input + 1
        };
        // Only the total timeout applies, because a user may need longer than the idle timeout. If the
        // connection ends, the wait ends, because the answer cannot be sent.
        let answer = async {
            tokio::time::sleep(retry_delay(without_input)).await;
            required.answered_by(&*shared.inbound).await
        };
        let closed = async { Err(Error::Closed(shared.connection.closed().await)) };
        let answered = timeout_at(end, race(answer, closed));
        retry = answered.await.map_err(|_| Error::Timeout {
            method: request.method.clone(),
            setting: "Timeouts::total",
            after: timeouts.total,
            reason: None,
        })??;
        deadline.progress(Instant::now().into_std());
    }
}

/// Sends the request once and waits for the result.
async fn send_stateless(
    shared: &Shared,
    meta: &MetaTemplate,
    request: &mut Request,
    retry: &RetryParams,
    deadline: &mut Deadline,
) -> Result<RawJson, Error> {
    let callback = request.options.on_progress.take();
    let (method, empty) = (&*request.method, JsonObject::new());
    let params = params_of(request, &empty);
    let mut entry = reports_progress(method).then(|| shared.progress.open(callback));
    let token = entry.as_ref().map(ProgressEntry::token);
    let written = meta.write(params, token.as_ref(), retry.members());
    let mut extras = meta.extras(name_header(shared, method, params));
    extras.headers.clone_from(&request.headers);
    let sent = extras.id.get_or_insert_default().clone();
    let call = shared
        .link
        .request_with(request.method.clone(), Some(written), extras);
    let answer = wait(method, call, &sent, entry.as_ref(), deadline).await?;
    if let Err(error) = &answer
        && suggests_changed_tools(method, error.code)
    {
        shared.cache.forget(&[method::TOOLS_LIST]);
    }
    request.options.on_progress = entry.as_mut().and_then(ProgressEntry::take_callback);
    answer.map_err(Error::Rejected)
}

fn params_of<'a>(request: &'a Request, empty: &'a JsonObject) -> &'a JsonObject {
    match &request.params {
        Some(Value::Object(params)) => params,
        _ => empty,
    }
}

/// Returns the result that creates a task. Returns an error if the client did not declare the tasks extension.
fn created_task(shared: &Shared, request: &Request, raw: RawJson) -> Result<Outcome, Error> {
    match shared.has_tasks() {
        true => Ok(Outcome {
            raw,
            is_task: true,
            progress: None,
        }),
        false => Err(Error::UnknownResult {
            method: request.method.clone(),
            kind: "task".to_owned(),
        }),
    }
}

fn done(raw: RawJson) -> Outcome {
    Outcome {
        raw,
        is_task: false,
        progress: None,
    }
}

/// Returns the value of the `Mcp-Name` header. Returns `None` if the transport has no headers or the method has no such header.
fn name_header(shared: &Shared, method: &str, params: &JsonObject) -> Option<String> {
    if !shared.tools.has_headers() {
        return None;
    }
    let member = http_headers::name_member(method)?;
    params.get(member)?.as_str().map(str::to_owned)
}

/// Waits for the response until the deadline. Progress notifications extend the deadline.
async fn wait(
    method: &str,
    call: Call,
    sent: &SentId,
    entry: Option<&ProgressEntry>,
    deadline: &mut Deadline,
) -> Result<Answer, Error> {
    // The transport reports the last problem when the call is dropped.
    let (setting, after) = match wait_until(call, entry, deadline).await {
        Ok(answer) => return Ok(answer?),
        Err(expired) => expired,
    };
    Err(Error::Timeout {
        method: method.to_owned().into(),
        setting,
        after,
        reason: sent.problem(),
    })
}

/// Waits for the response, and drops the call at the deadline. The error is the name and value of the timeout that expired.
async fn wait_until(
    call: Call,
    entry: Option<&ProgressEntry>,
    deadline: &mut Deadline,
) -> Result<Result<Answer, CallError>, (&'static str, Duration)> {
    tokio::pin!(call);
    loop {
        if let Ok(answer) = timeout_at(Instant::from_std(deadline.at()), &mut call).await {
            return Ok(answer);
        }
        if let Some(last) = entry.and_then(ProgressEntry::last) {
            deadline.progress(last.into_std());
        }
        if let Some(expired) = deadline.expired(Instant::now().into_std()) {
            return Err(expired);
        }
    }
}

/// Returns whether a server may send progress for the method.
fn reports_progress(method: &str) -> bool {
    matches!(
        method,
        method::TOOLS_CALL | method::PROMPTS_GET | method::RESOURCES_READ
    )
}

/// Returns whether the error suggests that the listed tools are outdated.
fn suggests_changed_tools(method: &str, code: ErrorCode) -> bool {
    method == method::TOOLS_CALL
        && matches!(
            code,
            ErrorCode::INVALID_PARAMS | ErrorCode::METHOD_NOT_FOUND | ErrorCode::HEADER_MISMATCH
        )
}
