// Generated from the official schema of 2025-11-25 at commit c4c367f9f58296a7053f5c78a52fd02bfbb56a49: do not edit. Run `cargo xtask codegen`.

//! Requests of a server for input from the user.

use crate::{ElicitValue, FormProperties, Meta, TaskMetadata};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// The reaction of the user to an elicitation.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation>
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ElicitAction {
    /// The user submitted the form, or agreed to open the URL.
    Accept,
    /// The user dismissed the request without a decision.
    Cancel,
    /// The user declined.
    Decline,
    /// A value that this crate does not know, unchanged.
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

impl<'de> Deserialize<'de> for ElicitAction {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::text::open(deserializer, "a ElicitAction string")
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

/// An elicitation by a form in the host.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitRequestFormParams {
    /// The message for the user.
    pub message: String,
    /// The fields of the form.
    pub requested_schema: RequestedSchema,
    /// Requests execution as a task instead of an immediate result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskMetadata>,
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ElicitRequestFormParams {
    /// Creates a value from its required members.
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

/// A request for input from the user, by form or by URL.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation>
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[allow(
    clippy::large_enum_variant,
    reason = "variants are decoded in place; a `Box` would cost every reader an indirection"
)]
pub enum ElicitRequestParams {
    /// `mode` is `url`.
    Url(ElicitRequestUrlParams),
    /// `mode` is `form` or left out.
    Form(ElicitRequestFormParams),
    /// An object that this crate does not know, unchanged.
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
    const DEFAULT: Option<usize> = Some(1);

    fn arm<'de, D: Deserializer<'de>>(index: usize, members: D) -> Result<Self, D::Error> {
        match index {
            0 => ElicitRequestUrlParams::deserialize(members).map(Self::Url),
            _ => ElicitRequestFormParams::deserialize(members).map(Self::Form),
        }
    }

    fn unknown(raw: Value) -> Self {
        Self::Unknown(raw)
    }
}

/// An elicitation outside the host, for data that the host must not see.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mode", rename = "url", rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitRequestUrlParams {
    /// The message for the user, which states the reason.
    pub message: String,
    /// The URL to open.
    pub url: String,
    /// The id that the completion notification repeats, unique within the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation_id: Option<String>,
    /// Requests execution as a task instead of an immediate result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskMetadata>,
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ElicitRequestUrlParams {
    /// Creates a value from its required members.
    pub fn new(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            url: url.into(),
            elicitation_id: None,
            task: None,
            meta: None,
        }
    }

    /// Sets [`elicitation_id`](Self::elicitation_id).
    #[must_use]
    pub fn with_elicitation_id(mut self, elicitation_id: impl Into<String>) -> Self {
        self.elicitation_id = Some(elicitation_id.into());
        self
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

/// The response of the user.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ElicitResult {
    /// The reaction of the user.
    pub action: ElicitAction,
    /// The values of the fields; only for an accepted form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<BTreeMap<String, ElicitValue>>,
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ElicitResult {
    /// Creates a value from its required members.
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

/// The elicitation that was completed outside the host.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitationCompleteNotificationParams {
    /// The id from the request.
    pub elicitation_id: String,
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ElicitationCompleteNotificationParams {
    /// Creates a value from its required members.
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

/// The schema of a form: a flat object of primitive fields.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "object")]
#[non_exhaustive]
pub struct RequestedSchema {
    /// The JSON Schema dialect; absent means 2020-12.
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The fields, in the order in which they are shown.
    pub properties: FormProperties,
    /// The fields the user must fill in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<Vec<String>>,
}

impl RequestedSchema {
    /// Creates a value from its required members.
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

/// The data of the error for a request that requires elicitations by URL before it is retried.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UrlElicitationRequired {
    /// The required elicitations, all by URL.
    pub elicitations: Vec<ElicitRequestUrlParams>,
}

impl UrlElicitationRequired {
    /// Creates a value from its required members.
    pub fn new(elicitations: Vec<ElicitRequestUrlParams>) -> Self {
        Self { elicitations }
    }
}
