//! The content of a response that passes through the middleware.

use std::fmt;

use mcp_jsonrpc::{DecodeError, ErrorObject, RawJson, decode};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::message::{Content, Response};
use crate::payload::{WriteJson, is_tool_error};
use crate::{Answer, CallError, Outcome, Payload};

/// A result as JSON text, which is written without a change.
struct RawResult(RawJson);

impl WriteJson for RawResult {
    fn write_json(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0.as_bytes());
    }

    fn as_text(&self) -> Option<&str> {
        Some(&self.0)
    }
}

impl Response {
    /// Creates a response with a result, which must be a JSON object.
    pub fn result<T: Serialize + Send + Sync + 'static>(result: T) -> Self {
        Self::new(Content::Outcome(Ok(Payload::of(result))))
    }

    /// Creates a response with the JSON text of a result, which is not checked.
    pub fn raw_result(result: RawJson) -> Self {
        Self::new(Content::Raw(result))
    }

    /// Creates a response with an error.
    pub fn error(error: ErrorObject) -> Self {
        Self::new(Content::error(error))
    }

    /// Returns the JSON text of the result. Returns `None` for an error.
    pub fn result_text(&self) -> Option<String> {
        match self.content()? {
            Content::Outcome(Ok(payload)) => Some(text_of(payload)),
            Content::Raw(raw) => Some(raw.as_str().to_owned()),
            Content::Outcome(Err(_)) | Content::Failed(_) => None,
        }
    }

    /// Decodes the result. Returns `None` for an error.
    pub fn decode_result<T: DeserializeOwned>(&self) -> Option<Result<T, DecodeError>> {
        self.result_text().map(|text| decode(&text))
    }

    /// Returns the error, if the response is an error.
    pub fn as_error(&self) -> Option<&ErrorObject> {
        match self.content()? {
            Content::Outcome(Err(error)) => Some(error),
            _ => None,
        }
    }

    /// Returns the reason why an outbound request has no response, for example that the connection ended.
    pub fn as_failure(&self) -> Option<&CallError> {
        match self.content()? {
            Content::Failed(error) => Some(error),
            _ => None,
        }
    }

    /// Returns whether the response is the result of a tool that failed (`isError`).
    pub fn is_tool_error(&self) -> bool {
        match self.content() {
            Some(Content::Outcome(Ok(payload))) => payload.is_tool_error(),
            Some(Content::Raw(raw)) => is_tool_error(raw),
            _ => false,
        }
    }

    pub(crate) fn of_answer(answer: Result<Answer, CallError>) -> Self {
        Self::new(match answer {
            Ok(Ok(result)) => Content::Raw(result),
            Ok(Err(error)) => Content::error(error),
            Err(error) => Content::Failed(error),
        })
    }

    /// Converts the response of an outbound request to the form that the caller receives.
    pub(crate) fn into_answer(mut self) -> Result<Answer, CallError> {
        let content = self.take_content();
        self.end();
        match content {
            Some(Content::Raw(result)) => Ok(Ok(result)),
            Some(Content::Outcome(outcome)) => {
                Ok(outcome.map(|payload| RawJson::copy(&text_of(&payload))))
            }
            Some(Content::Failed(error)) => Err(error),
            None => Ok(Err(missing())),
        }
    }

    /// Converts the response of an inbound request to the form that the transport sends.
    pub(crate) fn into_outcome(mut self) -> Outcome {
        let outcome = match self.take_content() {
            Some(Content::Outcome(outcome)) => outcome,
            Some(Content::Raw(result)) => Ok(Payload::Boxed(Box::new(RawResult(result)))),
            Some(Content::Failed(error)) => Err(ErrorObject::internal(error.to_string())),
            None => Err(missing()),
        };
        self.end();
        outcome
    }
}

fn missing() -> ErrorObject {
    ErrorObject::internal("there is no response")
}

fn text_of(payload: &Payload) -> String {
    let mut out = Vec::new();
    payload.write(&mut out);
    String::from_utf8(out).unwrap_or_default()
}

impl From<Outcome> for Response {
    fn from(outcome: Outcome) -> Self {
        Self::new(Content::Outcome(outcome))
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.content() {
            Some(Content::Outcome(Err(error))) => f.debug_tuple("Response").field(error).finish(),
            Some(Content::Failed(error)) => f.debug_tuple("Response").field(error).finish(),
            _ => f.write_str("Response(result)"),
        }
    }
}
