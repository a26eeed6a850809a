// Generated from the official schema of 2025-11-25 at commit c4c367f9f58296a7053f5c78a52fd02bfbb56a49: do not edit. Run `cargo xtask codegen`.

//! Types that other messages are built from.

use crate::{JsonObject, Meta, OutOfRange, ProgressToken, RequestId};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::ops::{Deref, DerefMut};

/// Hints on how a host should treat a resource or a content block.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/resources#annotations>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Annotations {
    /// The intended audience; absent means that none is stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audience: Option<Vec<Role>>,
    /// The time of the last change, as an ISO 8601 timestamp.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
    /// The importance, from 0 (can be left out) to 1 (required).
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "crate::number::serialize_optional"
    )]
    pub priority: Option<f64>,
}

impl Annotations {
    /// Creates a value without members; all are optional.
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

    /// Sets [`priority`](Self::priority). A value outside 0 to 1 is refused.
    pub fn with_priority(mut self, priority: f64) -> Result<Self, OutOfRange> {
        self.priority = Some(crate::number::within(priority, 0f64, 1f64)?);
        Ok(self)
    }
}

/// The request that its sender has cancelled.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CancelledNotificationParams {
    /// The id of a request sent earlier in the same direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// The reason, for logs and for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CancelledNotificationParams {
    /// Creates a value without members; all are optional.
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

/// An opaque position in a list; only the server that created it can read it.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/pagination>
pub type Cursor = String;

/// A successful result without content.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/index>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EmptyResult {
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl EmptyResult {
    /// Creates a value without members; all are optional.
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

/// An icon of a tool, a prompt, a resource or an implementation.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/index#icons>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Icon {
    /// The location of the image: an `https:` or a `data:` URI, see [`Icon::is_safe_src`].
    pub src: String,
    /// The image type, if the source does not state it or is too general.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The intended sizes, such as `48x48`, or `any` for a scalable image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<String>>,
    /// The background that the icon is designed for; absent means both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theme: Option<IconTheme>,
}

impl Icon {
    /// Creates a value from its required members.
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

/// The background that an icon is designed for.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/index#icons>
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IconTheme {
    /// A dark background.
    Dark,
    /// A light background.
    Light,
    /// A value that this crate does not know, unchanged.
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

impl<'de> Deserialize<'de> for IconTheme {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::text::open(deserializer, "a IconTheme string")
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

/// The params of a notification without specific params.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/index>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NotificationParams {
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl NotificationParams {
    /// Creates a value without members; all are optional.
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

/// A result of any shape, for methods that the schema does not define.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/index>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OpenResult(JsonObject);
impl OpenResult {
    /// Creates a value without members.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the members as a map.
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

/// The params of every list request.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/pagination>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PaginatedRequestParams {
    /// The [`Cursor`](crate::Cursor) of the page to read; absent for the first page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl PaginatedRequestParams {
    /// Creates a value without members; all are optional.
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

/// The progress of a request.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/progress>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ProgressNotificationParams {
    /// The token from the metadata of the request.
    pub progress_token: ProgressToken,
    /// The progress so far; grows with every notification.
    #[serde(serialize_with = "crate::number::serialize")]
    pub progress: f64,
    /// The total amount, in the same unit, if it is known.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "crate::number::serialize_optional"
    )]
    pub total: Option<f64>,
    /// A description of the progress, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ProgressNotificationParams {
    /// Creates a value from its required members.
    pub fn new(progress_token: impl Into<ProgressToken>, progress: f64) -> Self {
        Self {
            progress_token: progress_token.into(),
            progress,
            total: None,
            message: None,
            meta: None,
        }
    }

    /// Sets [`total`](Self::total).
    #[must_use]
    pub fn with_total(mut self, total: f64) -> Self {
        self.total = Some(total);
        self
    }

    /// Sets [`message`](Self::message).
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// Sets [`meta`](Self::meta).
    #[must_use]
    pub fn with_meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }
}

/// The params of a request without specific params.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/index>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RequestParams {
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl RequestParams {
    /// Creates a value without members; all are optional.
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

/// The sender or the recipient of a message in a conversation.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/schema#role>
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// The model.
    Assistant,
    /// The person.
    User,
    /// A value that this crate does not know, unchanged.
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

impl<'de> Deserialize<'de> for Role {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::text::open(deserializer, "a Role string")
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
