//! The `_meta` member and the grammar of its keys.

use std::fmt;
use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{JsonObject, ProgressToken, RelatedTaskMetadata};

/// The key of the progress token in the `_meta` of a request.
pub const PROGRESS_TOKEN_KEY: &str = "progressToken";

/// The key that ties a message to the task it belongs to.
pub const RELATED_TASK_KEY: &str = "io.modelcontextprotocol/related-task";

/// Free-form metadata beside a message or an object; unknown keys are always kept.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/index#meta>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Meta(JsonObject);

impl Meta {
    /// No metadata yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one entry, replacing an earlier one.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.0.insert(key.into(), value.into());
        self
    }

    /// The progress token, if there is a well-formed one.
    pub fn progress_token(&self) -> Option<ProgressToken> {
        ProgressToken::deserialize(self.0.get(PROGRESS_TOKEN_KEY)?).ok()
    }

    /// Asks for progress under this token.
    pub fn set_progress_token(&mut self, token: impl Into<ProgressToken>) {
        let value = match token.into() {
            ProgressToken::Number(number) => Value::from(number),
            ProgressToken::String(text) => Value::from(&*text),
        };
        self.0.insert(PROGRESS_TOKEN_KEY.to_owned(), value);
    }

    /// The task this message belongs to, if it names one.
    pub fn related_task(&self) -> Option<RelatedTaskMetadata> {
        RelatedTaskMetadata::deserialize(self.0.get(RELATED_TASK_KEY)?).ok()
    }

    /// Ties this message to a task.
    pub fn set_related_task(&mut self, task_id: impl Into<String>) {
        let value = JsonObject::from_iter([("taskId".to_owned(), Value::String(task_id.into()))]);
        self.0
            .insert(RELATED_TASK_KEY.to_owned(), Value::Object(value));
    }

    /// The entries as a plain map.
    pub fn into_inner(self) -> JsonObject {
        self.0
    }
}

impl Deref for Meta {
    type Target = JsonObject;

    fn deref(&self) -> &JsonObject {
        &self.0
    }
}

impl DerefMut for Meta {
    fn deref_mut(&mut self) -> &mut JsonObject {
        &mut self.0
    }
}

impl From<JsonObject> for Meta {
    fn from(entries: JsonObject) -> Self {
        Self(entries)
    }
}

impl From<Meta> for JsonObject {
    fn from(meta: Meta) -> Self {
        meta.0
    }
}

impl FromIterator<(String, Value)> for Meta {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(entries: I) -> Self {
        Self(entries.into_iter().collect())
    }
}

/// Checks `_meta` keys against the grammar of the specification.
#[derive(Debug)]
#[non_exhaustive]
pub enum MetaKey {}

/// What a well-formed `_meta` key belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetaKeyKind {
    /// A bare name without a prefix.
    Plain,
    /// A key under somebody's own prefix.
    Prefixed,
    /// A key under a prefix that the protocol keeps for itself.
    Reserved,
}

/// Why a `_meta` key is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetaKeyError {
    /// There is neither a prefix nor a name.
    Empty,
    /// A label of the prefix does not begin with a letter, end with a letter or digit, or has a foreign character.
    Label,
    /// The name does not begin and end with a letter or digit, or has a foreign character.
    Name,
}

impl MetaKey {
    /// Checks one key and says whose it is.
    ///
    /// A prefix is dot-separated labels before one slash; it is reserved when its second label is `mcp` or
    /// `modelcontextprotocol`. The name may be empty after a prefix.
    pub fn check(key: &str) -> Result<MetaKeyKind, MetaKeyError> {
        let Some((prefix, name)) = key.split_once('/') else {
            return match key {
                "" => Err(MetaKeyError::Empty),
                name => check_name(name).map(|()| MetaKeyKind::Plain),
            };
        };
        if !prefix.split('.').all(is_label) {
            return Err(MetaKeyError::Label);
        }
        if !name.is_empty() {
            check_name(name)?;
        }
        let reserved = matches!(
            prefix.split('.').nth(1),
            Some("mcp" | "modelcontextprotocol")
        );
        Ok(if reserved {
            MetaKeyKind::Reserved
        } else {
            MetaKeyKind::Prefixed
        })
    }
}

fn is_label(label: &str) -> bool {
    let bytes = label.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return false;
    };
    first.is_ascii_alphabetic()
        && last.is_ascii_alphanumeric()
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
}

fn check_name(name: &str) -> Result<(), MetaKeyError> {
    let bytes = name.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    let framed = ends
        .iter()
        .all(|end| end.is_some_and(u8::is_ascii_alphanumeric));
    let inside = bytes
        .iter()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    if framed && inside {
        Ok(())
    } else {
        Err(MetaKeyError::Name)
    }
}

impl fmt::Display for MetaKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "empty _meta key",
            Self::Label => "malformed label in the prefix of a _meta key",
            Self::Name => "malformed name in a _meta key",
        })
    }
}

impl std::error::Error for MetaKeyError {}
