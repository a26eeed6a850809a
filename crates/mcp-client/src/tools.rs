//! Calling tools.

use std::fmt;
use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use mcp_jsonrpc::{DecodeError, ErrorCode, RawJson};
use mcp_protocol::{BoxFuture, Timeouts};
use mcp_types::v2026_07_28::{CallToolOutcome, InputResponses};
use mcp_types::{CallToolResult, TaskMetadata, method};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::call::{Options, decode};
use crate::client::Shared;
use crate::exchange::Ask;
use crate::progress::{Entry, Progress};
use crate::tasks::{OnStatus, Started, TaskHandle, TaskState, Wish};
use crate::{Client, Error, tasks};

/// A tool call that is sent when it is awaited.
///
/// The result may be a failure of the tool (`is_error`): hand it to the model. If the tool was
/// listed before, its structured output is checked against the schema it advertised.
///
/// A server may go on with the call as a task. The call is looked at then until it has ended, up
/// to [`Timeouts::cap`]; the server's silence counts for each look alone. What the task asks is
/// answered by the handlers of the [`Builder`](crate::Builder). [`start`](Self::start) is for
/// hosts that do not want to wait.
///
/// # Cancel safety
/// Dropping the future cancels the call on the wire, and the task.
#[must_use = "a call is sent when it is awaited"]
pub struct ToolCall {
    client: Client,
    name: String,
    arguments: Value,
    options: Options,
    wish: Wish,
    on_status: Option<OnStatus>,
}

/// What came of a call.
enum Raw {
    Result(RawJson),
    /// The result that creates a task, and where progress goes that comes after it.
    Task(RawJson, Option<Entry>),
}

impl ToolCall {
    pub(crate) fn new(client: &Client, name: String, arguments: Value) -> Self {
        Self {
            client: client.clone(),
            name,
            arguments,
            options: Options::default(),
            wish: Wish::default(),
            on_status: None,
        }
    }

    /// Asks for a task where the server leaves that to its client (2025-11-25): for a call of a
    /// tool that may be one. Others are called as ever. `ttl` is how long the server should keep
    /// the task; it may decide otherwise. Since 2026-07-28 servers decide alone.
    pub fn as_task(mut self, ttl: impl Into<Option<Duration>>) -> Self {
        self.wish = Wish {
            task: true,
            ttl: ttl.into(),
        };
        self
    }

    /// Calls `callback` with each state of the task, if the call becomes one. It must not block.
    pub fn on_status(mut self, callback: impl Fn(&TaskState) + Send + Sync + 'static) -> Self {
        self.on_status = Some(Arc::new(callback));
        self
    }

    /// Sends the call, and waits for no task to end: what comes is the result, or the task.
    ///
    /// # Errors
    /// As the call itself.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the call on the wire, as long as it is no task.
    pub async fn start(self) -> Result<Started, Error> {
        let (client, name) = (self.client.clone(), self.name.clone());
        let timeouts = self.options.timeouts.unwrap_or(client.shared().timeouts);
        let on_status = self.on_status.clone();
        match self.request(Extra::default(), false).await? {
            Raw::Result(raw) => {
                let result: CallToolResult = decode(method::TOOLS_CALL, &raw)?;
                check_output(client.shared(), &name, &result)?;
                Ok(Started::Done(result))
            }
            Raw::Task(raw, progress) => {
                let task = TaskHandle::created(&client, name, &raw, timeouts, progress)?;
                Ok(Started::Task(task.with_on_status(on_status)))
            }
        }
    }

    /// Timeouts for this call, instead of the client's.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.options.timeouts = Some(timeouts);
        self
    }

    /// Calls `callback` with each progress notification, in order. It runs where messages are
    /// received, so it must not block.
    pub fn on_progress(mut self, callback: impl FnMut(Progress) + Send + 'static) -> Self {
        self.options.on_progress = Some(Box::new(callback));
        self
    }

    /// Decodes the structured output into `T`.
    ///
    /// # Errors
    /// As the call itself; also if the tool failed (then with the tool's text), or if there is
    /// no structured output that fits `T`.
    pub async fn decoded<T: DeserializeOwned>(self) -> Result<T, Error> {
        let name = self.name.clone();
        let result = self.await?;
        if result.is_error == Some(true) {
            let text: String = result.joined_text().chars().take(512).collect();
            return Err(Error::Protocol(format!("tool {name:?} failed: {text}")));
        }
        let text = result
            .structured_content
            .ok_or_else(|| Error::Protocol(format!("tool {name:?} gave no structured output")))?
            .to_string();
        mcp_jsonrpc::decode(&text).map_err(|problem| {
            let pointer = format!("/structuredContent{}", problem.pointer());
            Error::Answer {
                method: method::TOOLS_CALL,
                problem: DecodeError::new(pointer, problem.message()),
            }
        })
    }

    async fn send(self) -> Result<CallToolResult, Error> {
        let began = Instant::now();
        match self.start().await? {
            Started::Done(result) => Ok(result),
            Started::Task(task) => task.finish(began).await,
        }
    }

    /// Sends the call and gives the raw result; with `once`, whatever it is.
    async fn request(self, extra: Extra, once: bool) -> Result<Raw, Error> {
        let shared = self.client.shared();
        let arguments = match self.arguments {
            Value::Null | Value::Object(_) => self.arguments,
            other => {
                return Err(Error::Invalid(format!(
                    "tool arguments are a JSON object, not {other}"
                )));
            }
        };
        if let Some(approve) = &shared.approve
            && !approve(&self.name, &arguments)
        {
            return Err(Error::Invalid(format!(
                "the call of tool {:?} was not approved",
                self.name
            )));
        }
        let headers = shared.tools.headers(&self.name, &arguments)?;
        let mut params = json!({ "name": self.name });
        if !arguments.is_null() {
            params["arguments"] = arguments.clone();
        }
        extra.write(&mut params)?;
        if !once && let Some(task) = self.wish.of_call(&self.client, &self.name).await? {
            params["task"] = metadata(&task)?;
        }
        let mut ask = Ask::new(method::TOOLS_CALL, Some(params));
        ask.options = self.options;
        ask.headers = headers;
        ask.once = once;
        let (result, mut ask) = tasks::send(&self.client, ask).await;
        let refused = match result {
            Ok(result) => return Ok(Raw::of(result, ask)),
            Err(Error::Rejected(refused)) => refused,
            Err(error) => return Err(error),
        };
        if refused.code == ErrorCode::HEADER_MISMATCH && shared.tools.mirrors() {
            // The tool may have come to want other headers since it was listed, if it was.
            tracing::debug!(tool = ?self.name, %refused, "listing the tools anew");
            self.client.list_tools().await?;
            let headers = shared.tools.headers(&self.name, &arguments)?;
            if headers == ask.headers {
                return Err(Error::Rejected(refused));
            }
            ask.headers = headers;
        } else if !once && ask.param("task").is_none() {
            let task = self.wish.after(&self.client, &self.name, &refused).await?;
            let Some(task) = task else {
                return Err(Error::Rejected(refused));
            };
            tracing::debug!(tool = ?self.name, %refused, "calling again, for a task");
            ask.set_param("task", metadata(&task)?);
        } else {
            return Err(Error::Rejected(refused));
        }
        let (result, ask) = tasks::send(&self.client, ask).await;
        Ok(Raw::of(result?, ask))
    }
}

impl Raw {
    fn of(result: RawJson, ask: Ask) -> Self {
        match ask.created {
            true => Self::Task(result, ask.progress),
            false => Self::Result(result),
        }
    }
}

fn metadata(task: &TaskMetadata) -> Result<Value, Error> {
    serde_json::to_value(task).map_err(|error| Error::Invalid(error.to_string()))
}

/// What a round of a call says beside the call.
#[derive(Default)]
struct Extra {
    answers: Option<InputResponses>,
    state: Option<String>,
}

impl Extra {
    fn write(self, params: &mut Value) -> Result<(), Error> {
        if let Some(answers) = self.answers {
            let answers = serde_json::to_value(answers);
            params["inputResponses"] =
                answers.map_err(|error| Error::Invalid(error.to_string()))?;
        }
        if let Some(state) = self.state {
            params["requestState"] = Value::String(state);
        }
        Ok(())
    }
}

/// One request of a tool call, sent when it is awaited.
///
/// If the result asks for input, make another one with the same name and arguments, give it the
/// [answers](Self::answers) and the [state](Self::state), and await that.
///
/// # Cancel safety
/// Dropping the future cancels the request on the wire.
#[must_use = "a call is sent when it is awaited"]
pub struct ToolRound {
    call: ToolCall,
    extra: Extra,
}

impl ToolRound {
    pub(crate) fn new(call: ToolCall) -> Self {
        Self {
            call,
            extra: Extra::default(),
        }
    }

    /// The answers to what the round before asked, by the same keys.
    pub fn answers(mut self, answers: InputResponses) -> Self {
        self.extra.answers = Some(answers);
        self
    }

    /// What the round before handed out, if it did, as it came.
    pub fn state(mut self, state: impl Into<String>) -> Self {
        self.extra.state = Some(state.into());
        self
    }

    /// Timeouts for this request, instead of the client's.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.call = self.call.timeouts(timeouts);
        self
    }

    /// As [`ToolCall::on_progress`].
    pub fn on_progress(mut self, callback: impl FnMut(Progress) + Send + 'static) -> Self {
        self.call = self.call.on_progress(callback);
        self
    }
}

impl IntoFuture for ToolRound {
    type Output = Result<CallToolOutcome, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let client = self.call.client.clone();
            let name = self.call.name.clone();
            let (Raw::Result(raw) | Raw::Task(raw, _)) =
                self.call.request(self.extra, true).await?;
            let outcome = decode(method::TOOLS_CALL, &raw)?;
            if let CallToolOutcome::Complete(result) = &outcome {
                check_output(client.shared(), &name, &result.clone().into())?;
            }
            Ok(outcome)
        })
    }
}

impl fmt::Debug for ToolRound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ToolRound").field(&self.call.name).finish()
    }
}

/// Structured output keeps the schema the tool advertised.
pub(crate) fn check_output(
    shared: &Shared,
    tool: &str,
    result: &CallToolResult,
) -> Result<(), Error> {
    let validator = shared.tools.output(tool);
    let (Some(validator), false) = (validator, result.is_error == Some(true)) else {
        return Ok(());
    };
    let Some(content) = &result.structured_content else {
        return Err(Error::Protocol(format!(
            "tool {tool:?} advertises an output schema and gave no structured output"
        )));
    };
    validator.check(content).map_err(|problem| Error::Output {
        tool: tool.to_owned(),
        problem,
    })
}

impl IntoFuture for ToolCall {
    type Output = Result<CallToolResult, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ToolCall").field(&self.name).finish()
    }
}
