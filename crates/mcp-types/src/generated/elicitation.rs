// Generated from the official schema: do not edit. Run `cargo xtask codegen`.

//!

use crate::{ElicitValue, FormProperties, Meta, TaskMetadata};
use serde::Deserialize;
use serde::Deserializer;
use serde::Serialize;
use serde::Serializer;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ElicitAction {
    ///
    Accept,
    ///
    Cancel,
    ///
    Decline,
    /// A value this crate does not know, kept as it came.
    Unknown(Box<str>),
}

impl ElicitAction {
    /// The value on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Accept => "accept",
            Self::Cancel => "cancel",
            Self::Decline => "decline",
            Self::Unknown(text) => text,
        }
    }
}

impl From<&str> for ElicitAction {
    fn from(text: &str) -> Self {
        match text {
            "accept" => Self::Accept,
            "cancel" => Self::Cancel,
            "decline" => Self::Decline,
            other => Self::Unknown(other.into()),
        }
    }
}

impl fmt::Display for ElicitAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for ElicitAction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ElicitAction {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::text::open(deserializer, "a ElicitAction string")
    }
}

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitRequestFormParams {
    ///
    pub message: String,
    ///
    pub requested_schema: RequestedSchema,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskMetadata>,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ElicitRequestFormParams {
    /// A `ElicitRequestFormParams` with its required members.
    pub fn new(message: impl Into<String>, requested_schema: RequestedSchema) -> Self {
        Self {
            message: message.into(),
            requested_schema,
            task: None,
            meta: None,
        }
    }

    /// Sets [`task`](Self::task).
    #[must_use]
    pub fn with_task(mut self, task: TaskMetadata) -> Self {
        self.task = Some(task);
        self
    }

    /// Sets [`meta`](Self::meta).
    #[must_use]
    pub fn with_meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }
}

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[allow(
    clippy::large_enum_variant,
    reason = "arms are decoded in place; a box would cost every reader"
)]
pub enum ElicitRequestParams {
    /// `mode` is `url`.
    Url(ElicitRequestUrlParams),
    /// `mode` is `form` or left out.
    Form(ElicitRequestFormParams),
    /// An object this crate does not know, kept as it came.
    Unknown(Value),
}

impl From<ElicitRequestUrlParams> for ElicitRequestParams {
    fn from(arm: ElicitRequestUrlParams) -> Self {
        Self::Url(arm)
    }
}

impl From<ElicitRequestFormParams> for ElicitRequestParams {
    fn from(arm: ElicitRequestFormParams) -> Self {
        Self::Form(arm)
    }
}

impl Serialize for ElicitRequestParams {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Url(arm) => arm.serialize(serializer),
            Self::Form(arm) => arm.serialize(serializer),
            Self::Unknown(raw) => raw.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ElicitRequestParams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::union::tagged(deserializer)
    }
}

impl crate::union::TaggedUnion for ElicitRequestParams {
    const NAME: &'static str = "ElicitRequestParams";
    const TAG: &'static str = "mode";
    const TAGS: &'static [&'static str] = &["url", "form"];
    const DEFAULT: Option<usize> = Some(1usize);
    fn arm<'de, D: Deserializer<'de>>(index: usize, members: D) -> Result<Self, D::Error> {
        match index {
            0usize => ElicitRequestUrlParams::deserialize(members).map(Self::Url),
            _ => ElicitRequestFormParams::deserialize(members).map(Self::Form),
        }
    }

    fn unknown(raw: Value) -> Self {
        Self::Unknown(raw)
    }
}

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mode", rename = "url", rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitRequestUrlParams {
    ///
    pub message: String,
    ///
    pub url: String,
    ///
    pub elicitation_id: String,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskMetadata>,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ElicitRequestUrlParams {
    /// A `ElicitRequestUrlParams` with its required members.
    pub fn new(
        message: impl Into<String>,
        url: impl Into<String>,
        elicitation_id: impl Into<String>,
    ) -> Self {
        Self {
            message: message.into(),
            url: url.into(),
            elicitation_id: elicitation_id.into(),
            task: None,
            meta: None,
        }
    }

    /// Sets [`task`](Self::task).
    #[must_use]
    pub fn with_task(mut self, task: TaskMetadata) -> Self {
        self.task = Some(task);
        self
    }

    /// Sets [`meta`](Self::meta).
    #[must_use]
    pub fn with_meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }
}

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ElicitResult {
    ///
    pub action: ElicitAction,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<BTreeMap<String, ElicitValue>>,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ElicitResult {
    /// A `ElicitResult` with its required members.
    pub fn new(action: impl Into<ElicitAction>) -> Self {
        Self {
            action: action.into(),
            content: None,
            meta: None,
        }
    }

    /// Sets [`content`](Self::content).
    #[must_use]
    pub fn with_content(mut self, content: BTreeMap<String, ElicitValue>) -> Self {
        self.content = Some(content);
        self
    }

    /// Sets [`meta`](Self::meta).
    #[must_use]
    pub fn with_meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }
}

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitationCompleteNotificationParams {
    ///
    pub elicitation_id: String,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ElicitationCompleteNotificationParams {
    /// A `ElicitationCompleteNotificationParams` with its required members.
    pub fn new(elicitation_id: impl Into<String>) -> Self {
        Self {
            elicitation_id: elicitation_id.into(),
            meta: None,
        }
    }

    /// Sets [`meta`](Self::meta).
    #[must_use]
    pub fn with_meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }
}

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "object")]
#[non_exhaustive]
pub struct RequestedSchema {
    ///
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    ///
    pub properties: FormProperties,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<Vec<String>>,
}

impl RequestedSchema {
    /// A `RequestedSchema` with its required members.
    pub fn new(properties: impl Into<FormProperties>) -> Self {
        Self {
            schema: None,
            properties: properties.into(),
            required: None,
        }
    }

    /// Sets [`schema`](Self::schema).
    #[must_use]
    pub fn with_schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = Some(schema.into());
        self
    }

    /// Sets [`required`](Self::required).
    #[must_use]
    pub fn with_required(mut self, required: Vec<String>) -> Self {
        self.required = Some(required);
        self
    }
}

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UrlElicitationRequired {
    ///
    pub elicitations: Vec<ElicitRequestUrlParams>,
}

impl UrlElicitationRequired {
    /// A `UrlElicitationRequired` with its required members.
    pub fn new(elicitations: Vec<ElicitRequestUrlParams>) -> Self {
        Self { elicitations }
    }
}
