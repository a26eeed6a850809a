// Generated from the official schema: do not edit. Run `cargo xtask codegen`.

//!

use crate::{JsonObject, Meta, ProgressToken, RequestId};
use serde::Deserialize;
use serde::Deserializer;
use serde::Serialize;
use serde::Serializer;
use std::fmt;
use std::ops::Deref;
use std::ops::DerefMut;

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Annotations {
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audience: Option<Vec<Role>>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
    ///
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "crate::number::serialize_optional"
    )]
    pub priority: Option<f64>,
}

impl Annotations {
    /// An empty `Annotations`; every member is optional.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`audience`](Self::audience).
    #[must_use]
    pub fn with_audience(mut self, audience: Vec<Role>) -> Self {
        self.audience = Some(audience);
        self
    }

    /// Sets [`last_modified`](Self::last_modified).
    #[must_use]
    pub fn with_last_modified(mut self, last_modified: impl Into<String>) -> Self {
        self.last_modified = Some(last_modified.into());
        self
    }

    /// Sets [`priority`](Self::priority).
    #[must_use]
    pub fn with_priority(mut self, priority: f64) -> Self {
        self.priority = Some(priority);
        self
    }
}

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CancelledNotificationParams {
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CancelledNotificationParams {
    /// An empty `CancelledNotificationParams`; every member is optional.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`request_id`](Self::request_id).
    #[must_use]
    pub fn with_request_id(mut self, request_id: impl Into<RequestId>) -> Self {
        self.request_id = Some(request_id.into());
        self
    }

    /// Sets [`reason`](Self::reason).
    #[must_use]
    pub fn with_reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
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
pub type Cursor = String;

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EmptyResult {
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl EmptyResult {
    /// An empty `EmptyResult`; every member is optional.
    pub fn new() -> Self {
        Self::default()
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
pub struct Icon {
    ///
    pub src: String,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<String>>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theme: Option<IconTheme>,
}

impl Icon {
    /// A `Icon` with its required members.
    pub fn new(src: impl Into<String>) -> Self {
        Self {
            src: src.into(),
            mime_type: None,
            sizes: None,
            theme: None,
        }
    }

    /// Sets [`mime_type`](Self::mime_type).
    #[must_use]
    pub fn with_mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Sets [`sizes`](Self::sizes).
    #[must_use]
    pub fn with_sizes(mut self, sizes: Vec<String>) -> Self {
        self.sizes = Some(sizes);
        self
    }

    /// Sets [`theme`](Self::theme).
    #[must_use]
    pub fn with_theme(mut self, theme: impl Into<IconTheme>) -> Self {
        self.theme = Some(theme.into());
        self
    }
}

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IconTheme {
    ///
    Dark,
    ///
    Light,
    /// A value this crate does not know, kept as it came.
    Unknown(Box<str>),
}

impl IconTheme {
    /// The value on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Dark => "dark",
            Self::Light => "light",
            Self::Unknown(text) => text,
        }
    }
}

impl From<&str> for IconTheme {
    fn from(text: &str) -> Self {
        match text {
            "dark" => Self::Dark,
            "light" => Self::Light,
            other => Self::Unknown(other.into()),
        }
    }
}

impl fmt::Display for IconTheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for IconTheme {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for IconTheme {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::text::open(deserializer, "a IconTheme string")
    }
}

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NotificationParams {
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl NotificationParams {
    /// An empty `NotificationParams`; every member is optional.
    pub fn new() -> Self {
        Self::default()
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OpenResult(JsonObject);
impl OpenResult {
    /// No members yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The members as a plain map.
    pub fn into_inner(self) -> JsonObject {
        self.0
    }
}

impl Deref for OpenResult {
    type Target = JsonObject;
    fn deref(&self) -> &JsonObject {
        &self.0
    }
}

impl DerefMut for OpenResult {
    fn deref_mut(&mut self) -> &mut JsonObject {
        &mut self.0
    }
}

impl From<JsonObject> for OpenResult {
    fn from(members: JsonObject) -> Self {
        Self(members)
    }
}

impl From<OpenResult> for JsonObject {
    fn from(open: OpenResult) -> Self {
        open.0
    }
}

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PaginatedRequestParams {
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl PaginatedRequestParams {
    /// An empty `PaginatedRequestParams`; every member is optional.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`cursor`](Self::cursor).
    #[must_use]
    pub fn with_cursor(mut self, cursor: impl Into<String>) -> Self {
        self.cursor = Some(cursor.into());
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
pub struct ProgressNotificationParams {
    ///
    pub progress_token: ProgressToken,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    ///
    #[serde(serialize_with = "crate::number::serialize")]
    pub progress: f64,
    ///
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "crate::number::serialize_optional"
    )]
    pub total: Option<f64>,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ProgressNotificationParams {
    /// A `ProgressNotificationParams` with its required members.
    pub fn new(progress_token: impl Into<ProgressToken>, progress: f64) -> Self {
        Self {
            progress_token: progress_token.into(),
            message: None,
            progress,
            total: None,
            meta: None,
        }
    }

    /// Sets [`message`](Self::message).
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// Sets [`total`](Self::total).
    #[must_use]
    pub fn with_total(mut self, total: f64) -> Self {
        self.total = Some(total);
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RequestParams {
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl RequestParams {
    /// An empty `RequestParams`; every member is optional.
    pub fn new() -> Self {
        Self::default()
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
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    ///
    Assistant,
    ///
    User,
    /// A value this crate does not know, kept as it came.
    Unknown(Box<str>),
}

impl Role {
    /// The value on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Assistant => "assistant",
            Self::User => "user",
            Self::Unknown(text) => text,
        }
    }
}

impl From<&str> for Role {
    fn from(text: &str) -> Self {
        match text {
            "assistant" => Self::Assistant,
            "user" => Self::User,
            other => Self::Unknown(other.into()),
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Role {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Role {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::text::open(deserializer, "a Role string")
    }
}
