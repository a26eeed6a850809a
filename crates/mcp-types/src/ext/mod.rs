//! Convenience methods of the generated types. A topic with many methods has a separate module.

mod content;
mod elicitation;
mod tools;

use std::fmt;
use std::str::FromStr;

use mcp_jsonrpc::ErrorCode;

use crate::v2026_07_28::{CacheScope, MissingRequiredClientCapability, UnsupportedProtocolVersion};
use crate::{
    CreateMessageRequestParams, CreateMessageResult, Icon, LoggingLevel,
    SamplingMessageContentBlock, TaskStatus, ToolChoiceMode, ToolUseContent,
    UrlElicitationRequired,
};

impl Default for CacheScope {
    /// Returns the scope of a result that has no `cacheScope`: private.
    fn default() -> Self {
        Self::Private
    }
}

impl Icon {
    /// Returns the icons that a host may fetch. Leaves out icons whose source is not safe.
    pub fn safe(icons: &[Self]) -> impl Iterator<Item = &Self> {
        icons.iter().filter(|icon| icon.is_safe_src())
    }

    /// Returns whether `src` is an `https:` or `data:` URI. Hosts do not fetch icons with another kind of URI.
    pub fn is_safe_src(&self) -> bool {
        let scheme = self.src.split_once(':').map(|(scheme, _)| scheme);
        scheme.is_some_and(|scheme| {
            ["https", "data"]
                .iter()
                .any(|safe| scheme.eq_ignore_ascii_case(safe))
        })
    }
}

/// The error for a text that is not one of the eight names of log levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownLoggingLevel;

impl fmt::Display for UnknownLoggingLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown log level")
    }
}

impl std::error::Error for UnknownLoggingLevel {}

impl FromStr for LoggingLevel {
    type Err = UnknownLoggingLevel;

    fn from_str(text: &str) -> Result<Self, UnknownLoggingLevel> {
        Self::from_wire(text).ok_or(UnknownLoggingLevel)
    }
}

impl UrlElicitationRequired {
    /// The code of the error that has this data.
    pub const CODE: ErrorCode = ErrorCode::URL_ELICITATION_REQUIRED;
}

impl MissingRequiredClientCapability {
    /// The code of the error that has this data.
    pub const CODE: ErrorCode = ErrorCode::MISSING_CLIENT_CAPABILITY;
}

impl UnsupportedProtocolVersion {
    /// The code of the error that has this data.
    pub const CODE: ErrorCode = ErrorCode::UNSUPPORTED_PROTOCOL_VERSION;
}

impl CreateMessageResult {
    /// Returns the tool calls that the model requests, in order.
    pub fn tool_uses(&self) -> impl Iterator<Item = &ToolUseContent> {
        self.content.iter().filter_map(|block| match block {
            SamplingMessageContentBlock::ToolUse(tool_use) => Some(tool_use),
            _ => None,
        })
    }
}

impl CreateMessageRequestParams {
    /// Returns whether the model may or must call tools. Returns [`ToolChoiceMode::Auto`] if the request does not say.
    pub fn tool_choice_mode(&self) -> ToolChoiceMode {
        let choice = self
            .tool_choice
            .as_ref()
            .and_then(|choice| choice.mode.clone());
        choice.unwrap_or(ToolChoiceMode::Auto)
    }
}

impl TaskStatus {
    /// Returns whether the status is final. A status that this crate does not know may still change.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Cancelled | Self::Completed | Self::Failed)
    }
}
