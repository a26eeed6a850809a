// Generated from the official schema of 2026-07-28 at commit 271ecc9accafdd9b83a3c869fa67c22953b2af80: do not edit. Run `cargo xtask codegen`.

//! Results that request input from the client, and the responses in the retried request.

use crate::v2026_07_28::{
    CallToolResult, CreateMessageRequestParams, ElicitRequestParams, ElicitResult, GetPromptResult,
    ListRootsRequestParams, ListRootsResult, ReadResourceResult,
};
use crate::{CreateMessageResult, JsonObject, Meta};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::collections::BTreeMap;

/// The result of a tool call: complete, or a request for input.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr>
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[allow(
    clippy::large_enum_variant,
    reason = "variants are decoded in place; a `Box` would cost every reader an indirection"
)]
pub enum CallToolOutcome {
    /// `resultType` is `input_required`.
    InputRequired(InputRequiredResult),
    /// `resultType` is `complete` or left out.
    Complete(CallToolResult),
    /// An object that this crate does not know, unchanged.
    Unknown(Value),
}

impl From<InputRequiredResult> for CallToolOutcome {
    fn from(arm: InputRequiredResult) -> Self {
        Self::InputRequired(arm)
    }
}

impl From<CallToolResult> for CallToolOutcome {
    fn from(arm: CallToolResult) -> Self {
        Self::Complete(arm)
    }
}

impl Serialize for CallToolOutcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::InputRequired(arm) => arm.serialize(serializer),
            Self::Complete(arm) => arm.serialize(serializer),
            Self::Unknown(raw) => raw.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for CallToolOutcome {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::union::tagged(deserializer)
    }
}

impl crate::union::TaggedUnion for CallToolOutcome {
    const NAME: &'static str = "CallToolOutcome";
    const TAG: &'static str = "resultType";
    const TAGS: &'static [&'static str] = &["input_required", "complete"];
    const DEFAULT: Option<usize> = Some(1);

    fn arm<'de, D: Deserializer<'de>>(index: usize, members: D) -> Result<Self, D::Error> {
        match index {
            0 => InputRequiredResult::deserialize(members).map(Self::InputRequired),
            _ => CallToolResult::deserialize(members).map(Self::Complete),
        }
    }

    fn unknown(raw: Value) -> Self {
        Self::Unknown(raw)
    }
}

/// The result of `prompts/get`: complete, or a request for input.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr>
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[allow(
    clippy::large_enum_variant,
    reason = "variants are decoded in place; a `Box` would cost every reader an indirection"
)]
pub enum GetPromptOutcome {
    /// `resultType` is `input_required`.
    InputRequired(InputRequiredResult),
    /// `resultType` is `complete` or left out.
    Complete(GetPromptResult),
    /// An object that this crate does not know, unchanged.
    Unknown(Value),
}

impl From<InputRequiredResult> for GetPromptOutcome {
    fn from(arm: InputRequiredResult) -> Self {
        Self::InputRequired(arm)
    }
}

impl From<GetPromptResult> for GetPromptOutcome {
    fn from(arm: GetPromptResult) -> Self {
        Self::Complete(arm)
    }
}

impl Serialize for GetPromptOutcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::InputRequired(arm) => arm.serialize(serializer),
            Self::Complete(arm) => arm.serialize(serializer),
            Self::Unknown(raw) => raw.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for GetPromptOutcome {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::union::tagged(deserializer)
    }
}

impl crate::union::TaggedUnion for GetPromptOutcome {
    const NAME: &'static str = "GetPromptOutcome";
    const TAG: &'static str = "resultType";
    const TAGS: &'static [&'static str] = &["input_required", "complete"];
    const DEFAULT: Option<usize> = Some(1);

    fn arm<'de, D: Deserializer<'de>>(index: usize, members: D) -> Result<Self, D::Error> {
        match index {
            0 => InputRequiredResult::deserialize(members).map(Self::InputRequired),
            _ => GetPromptResult::deserialize(members).map(Self::Complete),
        }
    }

    fn unknown(raw: Value) -> Self {
        Self::Unknown(raw)
    }
}

/// A request for input from the client. It is part of a result and has no id.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr>
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[allow(
    clippy::large_enum_variant,
    reason = "variants are decoded in place; a `Box` would cost every reader an indirection"
)]
pub enum InputRequest {
    /// `method` is `sampling/createMessage`.
    CreateMessage(CreateMessageRequestParams),
    /// `method` is `roots/list`.
    ListRoots(Option<ListRootsRequestParams>),
    /// `method` is `elicitation/create`.
    Elicit(ElicitRequestParams),
    /// An object that this crate does not know, unchanged.
    Unknown(Value),
}

impl From<CreateMessageRequestParams> for InputRequest {
    fn from(params: CreateMessageRequestParams) -> Self {
        Self::CreateMessage(params)
    }
}

impl From<ListRootsRequestParams> for InputRequest {
    fn from(params: ListRootsRequestParams) -> Self {
        Self::ListRoots(Some(params))
    }
}

impl From<ElicitRequestParams> for InputRequest {
    fn from(params: ElicitRequestParams) -> Self {
        Self::Elicit(params)
    }
}

impl Serialize for InputRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::CreateMessage(params) => crate::embedded::write(
                serializer,
                crate::method::SAMPLING_CREATE_MESSAGE,
                Some(params),
            ),
            Self::ListRoots(params) => {
                crate::embedded::write(serializer, crate::method::ROOTS_LIST, params.as_ref())
            }
            Self::Elicit(params) => {
                crate::embedded::write(serializer, crate::method::ELICITATION_CREATE, Some(params))
            }
            Self::Unknown(raw) => raw.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for InputRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::embedded::read(deserializer)
    }
}

impl crate::embedded::EmbeddedUnion for InputRequest {
    const NAME: &'static str = "InputRequest";
    const METHODS: &'static [&'static str] = &[
        crate::method::SAMPLING_CREATE_MESSAGE,
        crate::method::ROOTS_LIST,
        crate::method::ELICITATION_CREATE,
    ];

    fn arm<'de, D: Deserializer<'de>>(index: usize, params: D) -> Result<Self, D::Error> {
        match index {
            0 => CreateMessageRequestParams::deserialize(params).map(Self::CreateMessage),
            1 => ListRootsRequestParams::deserialize(params)
                .map(|params| Self::ListRoots(Some(params))),
            _ => ElicitRequestParams::deserialize(params).map(Self::Elicit),
        }
    }

    fn bare(index: usize) -> Option<Self> {
        match index {
            1 => Some(Self::ListRoots(None)),
            _ => None,
        }
    }

    fn unknown(raw: Value) -> Self {
        Self::Unknown(raw)
    }
}

/// Input requests under keys that the server chooses.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr>
pub type InputRequests = BTreeMap<String, InputRequest>;

/// A result that requires a retry of the request, with responses to its input requests if it has any.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InputRequiredResult {
    #[serde(rename = "resultType", default)]
    pub(crate) result_type: crate::constant::InputRequired,
    /// The input requests; absent if the client only has to retry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_requests: Option<InputRequests>,
    /// The state that the client sends with the retry, unchanged; only the server can read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// Metadata that the protocol defines for the message, and free metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl InputRequiredResult {
    /// Creates a value without members; all are optional.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`input_requests`](Self::input_requests).
    #[must_use]
    pub fn with_input_requests(mut self, input_requests: InputRequests) -> Self {
        self.input_requests = Some(input_requests);
        self
    }

    /// Sets [`request_state`](Self::request_state).
    #[must_use]
    pub fn with_request_state(mut self, request_state: impl Into<String>) -> Self {
        self.request_state = Some(request_state.into());
        self
    }

    /// Sets [`meta`](Self::meta).
    #[must_use]
    pub fn with_meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }
}

/// The response to an [`InputRequest`]: the result of that method without an envelope.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr>
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[allow(
    clippy::large_enum_variant,
    reason = "variants are decoded in place; a `Box` would cost every reader an indirection"
)]
pub enum InputResponse {
    /// `action` is there.
    Elicit(ElicitResult),
    /// `roots` is there.
    ListRoots(ListRootsResult),
    /// `model` is there.
    CreateMessage(CreateMessageResult),
    /// An object that this crate does not know, unchanged.
    Unknown(Value),
}

impl From<ElicitResult> for InputResponse {
    fn from(arm: ElicitResult) -> Self {
        Self::Elicit(arm)
    }
}

impl From<ListRootsResult> for InputResponse {
    fn from(arm: ListRootsResult) -> Self {
        Self::ListRoots(arm)
    }
}

impl From<CreateMessageResult> for InputResponse {
    fn from(arm: CreateMessageResult) -> Self {
        Self::CreateMessage(arm)
    }
}

impl Serialize for InputResponse {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Elicit(arm) => arm.serialize(serializer),
            Self::ListRoots(arm) => arm.serialize(serializer),
            Self::CreateMessage(arm) => arm.serialize(serializer),
            Self::Unknown(raw) => raw.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for InputResponse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::union::shaped(deserializer)
    }
}

impl crate::union::ShapedUnion for InputResponse {
    const NAME: &'static str = "InputResponse";

    fn classify(members: &JsonObject) -> Option<usize> {
        if crate::union::has(members, &["action"]) {
            return Some(0);
        }
        if crate::union::has(members, &["roots"]) {
            return Some(1);
        }
        if crate::union::has(members, &["model"]) {
            return Some(2);
        }
        None
    }

    fn arm<'de, D: Deserializer<'de>>(index: usize, members: D) -> Result<Self, D::Error> {
        match index {
            0 => ElicitResult::deserialize(members).map(Self::Elicit),
            1 => ListRootsResult::deserialize(members).map(Self::ListRoots),
            _ => CreateMessageResult::deserialize(members).map(Self::CreateMessage),
        }
    }

    fn unknown(raw: Value) -> Self {
        Self::Unknown(raw)
    }
}

/// Responses to [`InputRequests`], under the same keys.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr>
pub type InputResponses = BTreeMap<String, InputResponse>;

/// The result of `resources/read`: complete, or a request for input.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr>
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[allow(
    clippy::large_enum_variant,
    reason = "variants are decoded in place; a `Box` would cost every reader an indirection"
)]
pub enum ReadResourceOutcome {
    /// `resultType` is `input_required`.
    InputRequired(InputRequiredResult),
    /// `resultType` is `complete` or left out.
    Complete(ReadResourceResult),
    /// An object that this crate does not know, unchanged.
    Unknown(Value),
}

impl From<InputRequiredResult> for ReadResourceOutcome {
    fn from(arm: InputRequiredResult) -> Self {
        Self::InputRequired(arm)
    }
}

impl From<ReadResourceResult> for ReadResourceOutcome {
    fn from(arm: ReadResourceResult) -> Self {
        Self::Complete(arm)
    }
}

impl Serialize for ReadResourceOutcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::InputRequired(arm) => arm.serialize(serializer),
            Self::Complete(arm) => arm.serialize(serializer),
            Self::Unknown(raw) => raw.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ReadResourceOutcome {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::union::tagged(deserializer)
    }
}

impl crate::union::TaggedUnion for ReadResourceOutcome {
    const NAME: &'static str = "ReadResourceOutcome";
    const TAG: &'static str = "resultType";
    const TAGS: &'static [&'static str] = &["input_required", "complete"];
    const DEFAULT: Option<usize> = Some(1);

    fn arm<'de, D: Deserializer<'de>>(index: usize, members: D) -> Result<Self, D::Error> {
        match index {
            0 => InputRequiredResult::deserialize(members).map(Self::InputRequired),
            _ => ReadResourceResult::deserialize(members).map(Self::Complete),
        }
    }

    fn unknown(raw: Value) -> Self {
        Self::Unknown(raw)
    }
}
