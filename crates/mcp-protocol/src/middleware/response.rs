//! The response to a request that passed the middleware.

use std::fmt;

use mcp_jsonrpc::{DecodeError, ErrorObject, RawJson, decode, members};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::seam::WriteJson;
use crate::{Answer, CallError, Outcome, Payload};

/// The response to a request: a result, an error of the peer or of a handler, or the reason why an
/// outbound request has no response.
pub struct Response(Box<Content>);

enum Content {
    Result(Payload),
    Raw(RawJson),
    Error(ErrorObject),
    Failed(CallError),
}

/// A result as raw text, written without a change.
struct RawResult(RawJson);

impl WriteJson for RawResult {
    fn write_json(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0.as_bytes());
    }
}

impl Response {
    /// Creates a response with a result, which must be a JSON object.
    pub fn result<T: Serialize + Send + Sync + 'static>(result: T) -> Self {
        Self(Box::new(Content::Result(Payload::of(result))))
    }

    /// Creates a response with the JSON text of a result, which is not checked.
    pub fn raw_result(result: RawJson) -> Self {
        Self(Box::new(Content::Raw(result)))
    }

    /// Creates a response with an error.
    pub fn error(error: ErrorObject) -> Self {
        Self(Box::new(Content::Error(error)))
    }

    /// Returns the JSON text of the result; `None` for an error.
    pub fn result_text(&self) -> Option<String> {
        match &*self.0 {
            Content::Result(payload) => {
                let mut out = Vec::new();
                payload.write(&mut out);
                String::from_utf8(out).ok()
            }
            Content::Raw(raw) => Some(raw.as_str().to_owned()),
            Content::Error(_) | Content::Failed(_) => None,
        }
    }

    /// Decodes the result; `None` for an error.
    pub fn decode_result<T: DeserializeOwned>(&self) -> Option<Result<T, DecodeError>> {
        self.result_text().map(|text| decode(&text))
    }

    /// Returns the error, if the response is one.
    pub fn as_error(&self) -> Option<&ErrorObject> {
        match &*self.0 {
            Content::Error(error) => Some(error),
            _ => None,
        }
    }

    /// Returns why an outbound request has no response, for example because the connection ended.
    pub fn as_failure(&self) -> Option<&CallError> {
        match &*self.0 {
            Content::Failed(error) => Some(error),
            _ => None,
        }
    }

    /// Returns whether the response is the result of a tool that failed (`isError`).
    pub fn is_tool_error(&self) -> bool {
        match &*self.0 {
            Content::Result(Payload::CallTool(result, _)) => result.is_error == Some(true),
            Content::Result(Payload::WithMeta(inner, _)) => {
                matches!(&**inner, Payload::CallTool(result, _) if result.is_error == Some(true))
            }
            Content::Raw(raw) => members(raw)
                .filter_map(Result::ok)
                .any(|member| member == ("isError", "true")),
            _ => false,
        }
    }

    pub(crate) fn of_answer(answer: Result<Answer, CallError>) -> Self {
        Self(Box::new(match answer {
            Ok(Ok(result)) => Content::Raw(result),
            Ok(Err(error)) => Content::Error(error),
            Err(error) => Content::Failed(error),
        }))
    }

    /// Converts the response of an outbound request.
    pub(crate) fn into_answer(self) -> Result<Answer, CallError> {
        match *self.0 {
            Content::Raw(result) => Ok(Ok(result)),
            Content::Error(error) => Ok(Err(error)),
            Content::Failed(error) => Err(error),
            Content::Result(payload) => {
                let text = Self(Box::new(Content::Result(payload))).result_text();
                Ok(Ok(RawJson::copy(&text.unwrap_or_default())))
            }
        }
    }

    /// Converts the response of an inbound request.
    pub(crate) fn into_outcome(self) -> Outcome {
        match *self.0 {
            Content::Result(payload) => Ok(payload),
            Content::Raw(result) => Ok(Payload::Boxed(Box::new(RawResult(result)))),
            Content::Error(error) => Err(error),
            Content::Failed(error) => Err(ErrorObject::internal(error.to_string())),
        }
    }
}

impl From<Outcome> for Response {
    fn from(outcome: Outcome) -> Self {
        Self(Box::new(match outcome {
            Ok(payload) => Content::Result(payload),
            Err(error) => Content::Error(error),
        }))
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Content::Result(_) | Content::Raw(_) => f.write_str("Response(result)"),
            Content::Error(error) => f.debug_tuple("Response").field(error).finish(),
            Content::Failed(error) => f.debug_tuple("Response").field(error).finish(),
        }
    }
}
