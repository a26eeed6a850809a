// Generated from the official schema of 2026-07-28 at commit 271ecc9accafdd9b83a3c869fa67c22953b2af80: do not edit. Run `cargo xtask codegen`.

//! Requests of a server for input from the user.

use crate::{ElicitAction, ElicitValue, RequestedSchema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::collections::BTreeMap;

/// An elicitation by a form in the host.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitRequestFormParams {
    /// The message for the user.
    pub message: String,
    /// The fields of the form.
    pub requested_schema: RequestedSchema,
}

impl ElicitRequestFormParams {
    /// Creates a value from its required members.
    pub fn new(message: impl Into<String>, requested_schema: RequestedSchema) -> Self {
        Self {
            message: message.into(),
            requested_schema,
        }
    }
}

/// A request for input from the user, by form or by URL.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation>
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[allow(
    clippy::large_enum_variant,
    reason = "variants are decoded in place; a `Box` would cost every reader an indirection"
)]
pub enum ElicitRequestParams {
    /// `mode` is `form` or left out.
    Form(ElicitRequestFormParams),
    /// `mode` is `url`.
    Url(ElicitRequestUrlParams),
    /// An object that this crate does not know, unchanged.
    Unknown(Value),
}

impl From<ElicitRequestFormParams> for ElicitRequestParams {
    fn from(arm: ElicitRequestFormParams) -> Self {
        Self::Form(arm)
    }
}

impl From<ElicitRequestUrlParams> for ElicitRequestParams {
    fn from(arm: ElicitRequestUrlParams) -> Self {
        Self::Url(arm)
    }
}

impl Serialize for ElicitRequestParams {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Form(arm) => arm.serialize(serializer),
            Self::Url(arm) => arm.serialize(serializer),
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
    const TAGS: &'static [&'static str] = &["form", "url"];
    const DEFAULT: Option<usize> = Some(0);

    fn arm<'de, D: Deserializer<'de>>(index: usize, members: D) -> Result<Self, D::Error> {
        match index {
            0 => ElicitRequestFormParams::deserialize(members).map(Self::Form),
            _ => ElicitRequestUrlParams::deserialize(members).map(Self::Url),
        }
    }

    fn unknown(raw: Value) -> Self {
        Self::Unknown(raw)
    }
}

/// An elicitation outside the host, for data that the host must not see.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mode", rename = "url")]
#[non_exhaustive]
pub struct ElicitRequestUrlParams {
    /// The message for the user, which states the reason.
    pub message: String,
    /// The URL to open.
    pub url: String,
}

impl ElicitRequestUrlParams {
    /// Creates a value from its required members.
    pub fn new(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            url: url.into(),
        }
    }
}

/// The response of the user.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ElicitResult {
    /// The reaction of the user.
    pub action: ElicitAction,
    /// The values of the fields; only for an accepted form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<BTreeMap<String, ElicitValue>>,
}

impl ElicitResult {
    /// Creates a value from its required members.
    pub fn new(action: impl Into<ElicitAction>) -> Self {
        Self {
            action: action.into(),
            content: None,
        }
    }

    /// Sets [`content`](Self::content).
    #[must_use]
    pub fn with_content(mut self, content: BTreeMap<String, ElicitValue>) -> Self {
        self.content = Some(content);
        self
    }
}
