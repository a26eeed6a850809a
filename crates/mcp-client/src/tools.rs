//! Calling tools.

use std::fmt;
use std::future::IntoFuture;

use mcp_jsonrpc::{DecodeError, ErrorCode, RawJson};
use mcp_protocol::{BoxFuture, Timeouts};
use mcp_types::v2026_07_28::{CallToolOutcome, InputResponses};
use mcp_types::{CallToolResult, method};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::call::{Options, decode};
use crate::client::Shared;
use crate::exchange::{Ask, run};
use crate::progress::Progress;
use crate::{Client, Error};

/// A tool call that is sent when it is awaited.
///
/// The result may be a failure of the tool (`is_error`): hand it to the model. If the tool was
/// listed before, its structured output is checked against the schema it advertised.
///
/// # Cancel safety
/// Dropping the future cancels the call on the wire.
#[must_use = "a call is sent when it is awaited"]
pub struct ToolCall {
    client: Client,
    name: String,
    arguments: Value,
    options: Options,
}

impl ToolCall {
    pub(crate) fn new(client: &Client, name: String, arguments: Value) -> Self {
        Self {
            client: client.clone(),
            name,
            arguments,
            options: Options::default(),
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
        let client = self.client.clone();
        let name = self.name.clone();
        let raw = self.request(Extra::default(), false).await?;
        let result: CallToolResult = decode(method::TOOLS_CALL, &raw)?;
        check_output(client.shared(), &name, &result)?;
        Ok(result)
    }

    /// Sends the call and gives the raw result; with `once`, whatever it is.
    async fn request(self, extra: Extra, once: bool) -> Result<RawJson, Error> {
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
        let mut ask = Ask::new(method::TOOLS_CALL, Some(params));
        ask.options = self.options;
        ask.headers = headers;
        ask.once = once;
        let refused = match run(shared, &mut ask).await {
            Err(Error::Rejected(error)) if error.code == ErrorCode::HEADER_MISMATCH => error,
            done => return done,
        };
        if !shared.tools.mirrors() {
            return Err(Error::Rejected(refused));
        }
        // The tool may have come to want other headers since it was listed, if it was.
        tracing::debug!(tool = ?self.name, %refused, "listing the tools anew");
        self.client.list_tools().await?;
        let headers = shared.tools.headers(&self.name, &arguments)?;
        if headers == ask.headers {
            return Err(Error::Rejected(refused));
        }
        ask.headers = headers;
        run(shared, &mut ask).await
    }
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
            let raw = self.call.request(self.extra, true).await?;
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
fn check_output(shared: &Shared, tool: &str, result: &CallToolResult) -> Result<(), Error> {
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
