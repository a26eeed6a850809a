//! Tool calls.

use std::fmt;
use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use mcp_jsonrpc::ErrorCode;
use mcp_protocol::BoxFuture;
use mcp_types::v2026_07_28::{CallToolOutcome, InputResponses};
use mcp_types::{CallToolResult, TaskMetadata, method};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::Error;
use crate::lists;
use crate::request::{Outcome, Request, RequestOptions, option_setters};
use crate::shared::Shared;
use crate::task_status::state::{OnStatus, TaskState};
use crate::tasks::preference::TaskPreference;
use crate::tasks::{CallStart, TaskHandle, abandoned};
use crate::tolerant;

/// A tool call that is sent when it is awaited.
///
/// The result can be a failure of the tool (`is_error`): pass it to the model. If the tool was
/// listed before, its structured output is validated against the advertised schema.
///
/// The server may continue the call as a task. In this case, the client polls the task until the task ends or
/// [`Timeouts::total`](crate::Timeouts::total) has passed. The idle timeout applies to each poll. Input requests of the task are
/// handled by the handlers of the [`ClientBuilder`](crate::ClientBuilder). [`start`](Self::start) returns the task instead of
/// waiting.
///
/// # Cancel safety
/// Dropping the future cancels the call at the server. If the call has become a task, the task is cancelled.
#[must_use = "a call is sent when it is awaited"]
pub struct ToolCall {
    shared: Arc<Shared>,
    name: String,
    arguments: Value,
    options: RequestOptions,
    preference: TaskPreference,
    on_status: Option<OnStatus>,
}

impl ToolCall {
    pub(crate) fn new(shared: &Arc<Shared>, name: String, arguments: Value) -> Self {
        Self {
            shared: Arc::clone(shared),
            name,
            arguments,
            options: RequestOptions::default(),
            preference: TaskPreference::default(),
            on_status: None,
        }
    }

    /// Requests that the call runs as a task, if the revision is 2025-11-25 and tasks are optional for the tool. Otherwise this
    /// setting has no effect. `ttl` is the requested time to live; the server may choose another time. Since 2026-07-28, the
    /// server decides which calls become tasks.
    pub fn as_task(mut self, ttl: impl Into<Option<Duration>>) -> Self {
        self.preference = TaskPreference {
            is_wanted: true,
            ttl: ttl.into(),
        };
        self
    }

    /// Calls `callback` with each state of the task, if the call becomes a task. The callback must not block.
    pub fn on_status(mut self, callback: impl Fn(&TaskState) + Send + Sync + 'static) -> Self {
        self.on_status = Some(Arc::new(callback));
        self
    }

    /// Sends the call and returns the result or the task, without waiting for the end of a task.
    ///
    /// # Errors
    /// The errors of the call.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the call at the server, unless the call has become a task.
    pub async fn start(self) -> Result<CallStart, Error> {
        let (shared, name) = (Arc::clone(&self.shared), self.name.clone());
        let timeouts = self.options.timeouts.unwrap_or(shared.timeouts);
        let on_status = self.on_status.clone();
        let outcome = self.request(InputParams::default(), false).await?;
        if outcome.is_task {
            let mut task = TaskHandle::created(&shared, name, outcome, timeouts)?;
            task.on_status = on_status;
            return Ok(CallStart::Task(task));
        }
        let result: CallToolResult =
            tolerant::decode(method::TOOLS_CALL, &outcome.raw, &shared.tolerance)?;
        shared.tools.check_output(&name, &result).await?;
        Ok(CallStart::Done(result))
    }

    option_setters!(options);

    /// Decodes the structured output into `T`.
    ///
    /// # Errors
    /// The errors of the call. Also an error with the tool's text if the tool failed, and an error if there is no structured
    /// output that matches `T`.
    pub async fn decoded<T: DeserializeOwned>(self) -> Result<T, Error> {
        let name = self.name.clone();
        let result = self.await?;
        let has_output = !result.is_error() && result.structured_content.is_some();
        result.decoded().map_err(|problem| match has_output {
            true => Error::InvalidResult {
                method: method::TOOLS_CALL.into(),
                problem,
            },
            false => Error::protocol(format!("tool {name:?}: {}", problem.message())),
        })
    }

    /// Sends the call and returns the raw result. If `is_single`, returns the result of one request, whatever its type is.
    async fn request(self, input: InputParams, is_single: bool) -> Result<Outcome, Error> {
        let shared = &self.shared;
        let arguments = match self.arguments {
            Value::Null | Value::Object(_) => self.arguments,
            other => {
                return Err(Error::invalid(format!(
                    "tool arguments must be a JSON object, not {other}"
                )));
            }
        };
        if let Some(approve) = &shared.approve
            && !approve(&self.name, &arguments)
        {
            return Err(Error::invalid(format!(
                "the callback of ClientBuilder::approve did not approve the call of tool {:?}",
                self.name
            )));
        }
        let headers = shared.tools.headers(&self.name, &arguments)?;
        let mut params = json!({ "name": self.name });
        if !arguments.is_null() {
            params["arguments"] = arguments.clone();
        }
        input.write(&mut params)?;
        if !is_single && let Some(task) = self.preference.before_call(shared, &self.name).await? {
            params["task"] = metadata(&task)?;
        }
        let mut request = Request::new(method::TOOLS_CALL, Some(params));
        request.options = self.options;
        request.headers = headers;
        request.is_single = is_single;
        let rejection = match abandoned::send(shared, &mut request).await {
            Err(Error::Rejected(rejection)) => rejection,
            done => return done,
        };
        if rejection.code == ErrorCode::HEADER_MISMATCH && shared.tools.has_headers() {
            // The header annotations of the tool may have changed since it was listed.
            tracing::debug!(tool = ?self.name, %rejection, "listing the tools again");
            lists::tools(shared).await?;
            let headers = shared.tools.headers(&self.name, &arguments)?;
            if headers == request.headers {
                return Err(Error::Rejected(rejection));
            }
            request.headers = headers;
        } else if !is_single && !request.has_task() {
            let preference = self.preference;
            let task = preference.after_rejection(shared, &self.name, &rejection);
            let Some(task) = task.await? else {
                return Err(Error::Rejected(rejection));
            };
            tracing::debug!(tool = ?self.name, %rejection, "calling the tool again as a task");
            request.set_param("task", metadata(&task)?);
        } else {
            return Err(Error::Rejected(rejection));
        }
        abandoned::send(shared, &mut request).await
    }
}

fn metadata(task: &TaskMetadata) -> Result<Value, Error> {
    serde_json::to_value(task).map_err(|error| Error::invalid(error.to_string()))
}

/// The params that continue a previous round trip.
#[derive(Default)]
struct InputParams {
    responses: Option<InputResponses>,
    state: Option<String>,
}

impl InputParams {
    fn write(self, params: &mut Value) -> Result<(), Error> {
        if let Some(responses) = self.responses {
            let responses = serde_json::to_value(responses);
            params["inputResponses"] =
                responses.map_err(|error| Error::invalid(error.to_string()))?;
        }
        if let Some(state) = self.state {
            params["requestState"] = Value::String(state);
        }
        Ok(())
    }
}

/// One request of a tool call, sent when it is awaited.
///
/// If the result requires input, create another request with the same name and arguments, add the
/// [responses](Self::input_responses) and the [state](Self::request_state), and await it.
///
/// # Cancel safety
/// Dropping the future cancels the request at the server.
#[must_use = "a call is sent when it is awaited"]
pub struct ToolRoundTrip {
    call: ToolCall,
    input: InputParams,
}

impl ToolRoundTrip {
    pub(crate) fn new(call: ToolCall) -> Self {
        Self {
            call,
            input: InputParams::default(),
        }
    }

    /// Sets the responses to the input requests of the previous result, by the keys of the input requests.
    pub fn input_responses(mut self, responses: InputResponses) -> Self {
        self.input.responses = Some(responses);
        self
    }

    /// Sets the `requestState` of the previous result, unchanged.
    pub fn request_state(mut self, state: impl Into<String>) -> Self {
        self.input.state = Some(state.into());
        self
    }

    option_setters!(call.options);
}

impl IntoFuture for ToolRoundTrip {
    type Output = Result<CallToolOutcome, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let shared = Arc::clone(&self.call.shared);
            let name = self.call.name.clone();
            let outcome = self.call.request(self.input, true).await?;
            let outcome = tolerant::decode(method::TOOLS_CALL, &outcome.raw, &shared.tolerance)?;
            if let CallToolOutcome::Complete(result) = &outcome {
                let result = result.clone().into();
                shared.tools.check_output(&name, &result).await?;
            }
            Ok(outcome)
        })
    }
}

impl fmt::Debug for ToolRoundTrip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ToolRoundTrip")
            .field(&self.call.name)
            .finish()
    }
}

impl IntoFuture for ToolCall {
    type Output = Result<CallToolResult, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let began = Instant::now();
            match self.start().await? {
                CallStart::Done(result) => Ok(result),
                CallStart::Task(task) => task.finish(began).await,
            }
        })
    }
}

impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ToolCall").field(&self.name).finish()
    }
}
