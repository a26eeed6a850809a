//! Calling tools.

use std::fmt;
use std::future::IntoFuture;

use mcp_jsonrpc::DecodeError;
use mcp_protocol::{BoxFuture, Timeouts};
use mcp_types::{CallToolResult, Request as _, method};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::call::{Options, decode, run};
use crate::client::Shared;
use crate::progress::Progress;
use crate::{Client, Error, lock};

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
        let shared = self.client.shared();
        let arguments = match self.arguments {
            Value::Null => None,
            Value::Object(_) => Some(self.arguments),
            other => {
                return Err(Error::Invalid(format!(
                    "tool arguments are a JSON object, not {other}"
                )));
            }
        };
        if let Some(approve) = &shared.approve
            && !approve(&self.name, arguments.as_ref().unwrap_or(&Value::Null))
        {
            return Err(Error::Invalid(format!(
                "the call of tool {:?} was not approved",
                self.name
            )));
        }
        let params = match arguments {
            Some(arguments) => json!({ "name": self.name, "arguments": arguments }),
            None => json!({ "name": self.name }),
        };
        let raw = run(shared, method::TOOLS_CALL, Some(params), self.options).await?;
        let result: CallToolResult = decode(mcp_types::CallToolRequest::METHOD, &raw)?;
        check_output(shared, &self.name, &result)?;
        Ok(result)
    }
}

/// Structured output keeps the schema the tool advertised.
fn check_output(shared: &Shared, tool: &str, result: &CallToolResult) -> Result<(), Error> {
    let validator = lock(&shared.outputs).get(tool).cloned().flatten();
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
