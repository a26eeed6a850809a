// Generated from the official schema of 2026-07-28 at commit 271ecc9accafdd9b83a3c869fa67c22953b2af80: do not edit. Run `cargo xtask codegen`.

//! Types that other messages are built from.

use crate::v2026_07_28::ClientCapabilities;
use crate::{Implementation, JsonObject, LoggingLevel, Meta, ProgressToken, RequestId};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// The requests that a cached result may answer.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching#cache-scope-field>
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CacheScope {
    /// Requests with the same authorization only.
    Private,
    /// All requests.
    Public,
    /// A value that this crate does not know, unchanged.
    Unknown(Box<str>),
}

impl CacheScope {
    /// The value on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Private => "private",
            Self::Public => "public",
            Self::Unknown(text) => text,
        }
    }
}

impl From<&str> for CacheScope {
    fn from(text: &str) -> Self {
        match text {
            "private" => Self::Private,
            "public" => Self::Public,
            other => Self::Unknown(other.into()),
        }
    }
}

impl<'de> Deserialize<'de> for CacheScope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::text::open(deserializer, "a CacheScope string")
    }
}

impl fmt::Display for CacheScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for CacheScope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The request that its sender has cancelled.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/cancellation>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CancelledNotificationParams {
    /// The id of a request sent earlier in the same direction.
    pub request_id: RequestId,
    /// The reason, for logs and for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Metadata that the protocol defines for the message, and free metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CancelledNotificationParams {
    /// Creates a value from its required members.
    pub fn new(request_id: impl Into<RequestId>) -> Self {
        Self {
            request_id: request_id.into(),
            reason: None,
            meta: None,
        }
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

/// A successful result without content.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/basic/index>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EmptyResult {
    #[serde(rename = "resultType", default)]
    pub(crate) result_type: crate::constant::Complete,
    /// Metadata that the protocol defines for the message, and free metadata.
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

/// The params of every list request.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PaginatedRequestParams {
    /// The [`Cursor`](crate::Cursor) of the page to read; absent for the first page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Metadata that the protocol defines for the message, and free metadata.
    #[serde(rename = "_meta")]
    pub meta: RequestMeta,
}

impl PaginatedRequestParams {
    /// Creates a value from its required members.
    pub fn new(meta: RequestMeta) -> Self {
        Self { cursor: None, meta }
    }

    /// Sets [`cursor`](Self::cursor).
    #[must_use]
    pub fn with_cursor(mut self, cursor: impl Into<String>) -> Self {
        self.cursor = Some(cursor.into());
        self
    }
}

/// The metadata of every request: the client's identity and capabilities, and free metadata.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/basic/index#_meta>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RequestMeta {
    /// The revision of the request.
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    pub protocol_version: String,
    /// The client software, as the client states it; not verified.
    #[serde(
        rename = "io.modelcontextprotocol/clientInfo",
        skip_serializing_if = "Option::is_none"
    )]
    pub client_info: Option<Implementation>,
    /// The capabilities of the client for this request.
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities")]
    pub client_capabilities: ClientCapabilities,
    /// Requests progress notifications with this token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress_token: Option<ProgressToken>,
    /// The least severe log message to send; absent means that no log messages are sent.
    #[serde(
        rename = "io.modelcontextprotocol/logLevel",
        skip_serializing_if = "Option::is_none"
    )]
    pub log_level: Option<LoggingLevel>,
    /// Members that this revision does not define, unchanged.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl RequestMeta {
    /// Creates a value from its required members.
    pub fn new(
        protocol_version: impl Into<String>,
        client_capabilities: ClientCapabilities,
    ) -> Self {
        Self {
            protocol_version: protocol_version.into(),
            client_info: None,
            client_capabilities,
            progress_token: None,
            log_level: None,
            extra: JsonObject::new(),
        }
    }

    /// Sets [`client_info`](Self::client_info).
    #[must_use]
    pub fn with_client_info(mut self, client_info: Implementation) -> Self {
        self.client_info = Some(client_info);
        self
    }

    /// Sets [`progress_token`](Self::progress_token).
    #[must_use]
    pub fn with_progress_token(mut self, progress_token: impl Into<ProgressToken>) -> Self {
        self.progress_token = Some(progress_token.into());
        self
    }

    /// Sets [`log_level`](Self::log_level).
    #[must_use]
    pub fn with_log_level(mut self, log_level: impl Into<LoggingLevel>) -> Self {
        self.log_level = Some(log_level.into());
        self
    }
}

/// The params of a request without specific params.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/basic/index>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RequestParams {
    /// Metadata that the protocol defines for the message, and free metadata.
    #[serde(rename = "_meta")]
    pub meta: RequestMeta,
}

impl RequestParams {
    /// Creates a value from its required members.
    pub fn new(meta: RequestMeta) -> Self {
        Self { meta }
    }
}

/// The kind of a result; extensions may define further kinds.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/basic/index#resulttype>
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ResultType {
    /// The result of the request.
    Complete,
    /// Input requests that the client has to answer before it retries the request, see [`InputRequiredResult`](crate::v2026_07_28::InputRequiredResult).
    InputRequired,
    /// A value that this crate does not know, unchanged.
    Unknown(Box<str>),
}

impl ResultType {
    /// The value on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Complete => "complete",
            Self::InputRequired => "input_required",
            Self::Unknown(text) => text,
        }
    }
}

impl From<&str> for ResultType {
    fn from(text: &str) -> Self {
        match text {
            "complete" => Self::Complete,
            "input_required" => Self::InputRequired,
            other => Self::Unknown(other.into()),
        }
    }
}

impl<'de> Deserialize<'de> for ResultType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::text::open(deserializer, "a ResultType string")
    }
}

impl fmt::Display for ResultType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for ResultType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
