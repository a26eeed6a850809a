// Generated from the official schema of 2025-11-25 at commit c4c367f9f58296a7053f5c78a52fd02bfbb56a49: do not edit. Run `cargo xtask codegen`.

//! Model calls that a server requests from its client.

use crate::{
    AudioContent, ContentBlock, ImageContent, JsonObject, Meta, OneOrMany, OutOfRange, Role,
    TaskMetadata, TextContent, Tool,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::fmt;

/// A model call that a server requests.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/sampling>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreateMessageRequestParams {
    /// The conversation so far.
    pub messages: Vec<SamplingMessage>,
    /// The maximum number of tokens to sample; the client may stop earlier.
    pub max_tokens: u64,
    /// Preferences for the choice of the model; the client may ignore them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_preferences: Option<ModelPreferences>,
    /// A system prompt; the client may change it or leave it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// The additional context to include; values other than `none` need `sampling.context`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_context: Option<IncludeContext>,
    /// Settings for the model provider of the client, in a provider-specific format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
    /// Texts that end the sampling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_sequences: Option<Vec<String>>,
    /// The sampling temperature; the scale depends on the model.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "crate::number::serialize_optional"
    )]
    pub temperature: Option<f64>,
    /// Whether the model may or must call tools; needs `sampling.tools`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Tools that the model may call; needs `sampling.tools`. They are valid for this request only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    /// Requests execution as a task instead of an immediate result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskMetadata>,
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CreateMessageRequestParams {
    /// Creates a value from its required members.
    pub fn new(messages: Vec<SamplingMessage>, max_tokens: u64) -> Self {
        Self {
            messages,
            max_tokens,
            model_preferences: None,
            system_prompt: None,
            include_context: None,
            metadata: None,
            stop_sequences: None,
            temperature: None,
            tool_choice: None,
            tools: None,
            task: None,
            meta: None,
        }
    }

    /// Sets [`model_preferences`](Self::model_preferences).
    #[must_use]
    pub fn with_model_preferences(mut self, model_preferences: ModelPreferences) -> Self {
        self.model_preferences = Some(model_preferences);
        self
    }

    /// Sets [`system_prompt`](Self::system_prompt).
    #[must_use]
    pub fn with_system_prompt(mut self, system_prompt: impl Into<String>) -> Self {
        self.system_prompt = Some(system_prompt.into());
        self
    }

    /// Sets [`include_context`](Self::include_context).
    #[must_use]
    pub fn with_include_context(mut self, include_context: impl Into<IncludeContext>) -> Self {
        self.include_context = Some(include_context.into());
        self
    }

    /// Sets [`metadata`](Self::metadata).
    #[must_use]
    pub fn with_metadata(mut self, metadata: JsonObject) -> Self {
        self.metadata = Some(metadata);
        self
    }

    /// Sets [`stop_sequences`](Self::stop_sequences).
    #[must_use]
    pub fn with_stop_sequences(mut self, stop_sequences: Vec<String>) -> Self {
        self.stop_sequences = Some(stop_sequences);
        self
    }

    /// Sets [`temperature`](Self::temperature).
    #[must_use]
    pub fn with_temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Sets [`tool_choice`](Self::tool_choice).
    #[must_use]
    pub fn with_tool_choice(mut self, tool_choice: ToolChoice) -> Self {
        self.tool_choice = Some(tool_choice);
        self
    }

    /// Sets [`tools`](Self::tools).
    #[must_use]
    pub fn with_tools(mut self, tools: Vec<Tool>) -> Self {
        self.tools = Some(tools);
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

/// The response of the model.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/sampling>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreateMessageResult {
    /// The sender of the message, normally the assistant.
    pub role: Role,
    /// The content: one block, or several.
    pub content: OneOrMany<SamplingMessageContentBlock>,
    /// The name of the model.
    pub model: String,
    /// The reason why the model stopped, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CreateMessageResult {
    /// Creates a value from its required members.
    pub fn new(
        role: impl Into<Role>,
        content: impl Into<OneOrMany<SamplingMessageContentBlock>>,
        model: impl Into<String>,
    ) -> Self {
        Self {
            role: role.into(),
            content: content.into(),
            model: model.into(),
            stop_reason: None,
            meta: None,
        }
    }

    /// Sets [`stop_reason`](Self::stop_reason).
    #[must_use]
    pub fn with_stop_reason(mut self, stop_reason: impl Into<StopReason>) -> Self {
        self.stop_reason = Some(stop_reason.into());
        self
    }

    /// Sets [`meta`](Self::meta).
    #[must_use]
    pub fn with_meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }
}

/// The servers whose context a client adds to a model call.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/sampling>
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IncludeContext {
    /// The context of all connected servers; deprecated by the specification.
    AllServers,
    /// No context; this is the default for a missing value.
    None,
    /// The context of the requesting server; deprecated by the specification.
    ThisServer,
    /// A value that this crate does not know, unchanged.
    Unknown(Box<str>),
}

impl IncludeContext {
    /// The value on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::AllServers => "allServers",
            Self::None => "none",
            Self::ThisServer => "thisServer",
            Self::Unknown(text) => text,
        }
    }
}

impl From<&str> for IncludeContext {
    fn from(text: &str) -> Self {
        match text {
            "allServers" => Self::AllServers,
            "none" => Self::None,
            "thisServer" => Self::ThisServer,
            other => Self::Unknown(other.into()),
        }
    }
}

impl<'de> Deserialize<'de> for IncludeContext {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::text::open(deserializer, "a IncludeContext string")
    }
}

impl fmt::Display for IncludeContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for IncludeContext {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A hint for a model or a family of models.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/sampling>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ModelHint {
    /// A part of a model name, such as `sonnet`; a client may map it to a model of another provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl ModelHint {
    /// Creates a value without members; all are optional.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`name`](Self::name).
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }
}

/// The preferences of a server for the choice of a model; the client decides.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/sampling>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ModelPreferences {
    /// The importance of low cost, from 0 to 1.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "crate::number::serialize_optional"
    )]
    pub cost_priority: Option<f64>,
    /// Preferred models, the best first; the first match is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hints: Option<Vec<ModelHint>>,
    /// The importance of capability, from 0 to 1.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "crate::number::serialize_optional"
    )]
    pub intelligence_priority: Option<f64>,
    /// The importance of speed, from 0 to 1.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "crate::number::serialize_optional"
    )]
    pub speed_priority: Option<f64>,
}

impl ModelPreferences {
    /// Creates a value without members; all are optional.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`cost_priority`](Self::cost_priority). A value outside 0 to 1 is refused.
    pub fn with_cost_priority(mut self, cost_priority: f64) -> Result<Self, OutOfRange> {
        self.cost_priority = Some(crate::number::within(cost_priority, 0f64, 1f64)?);
        Ok(self)
    }

    /// Sets [`hints`](Self::hints).
    #[must_use]
    pub fn with_hints(mut self, hints: Vec<ModelHint>) -> Self {
        self.hints = Some(hints);
        self
    }

    /// Sets [`intelligence_priority`](Self::intelligence_priority). A value outside 0 to 1 is refused.
    pub fn with_intelligence_priority(
        mut self,
        intelligence_priority: f64,
    ) -> Result<Self, OutOfRange> {
        self.intelligence_priority =
            Some(crate::number::within(intelligence_priority, 0f64, 1f64)?);
        Ok(self)
    }

    /// Sets [`speed_priority`](Self::speed_priority). A value outside 0 to 1 is refused.
    pub fn with_speed_priority(mut self, speed_priority: f64) -> Result<Self, OutOfRange> {
        self.speed_priority = Some(crate::number::within(speed_priority, 0f64, 1f64)?);
        Ok(self)
    }
}

/// A message of a conversation with a model.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/sampling>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SamplingMessage {
    /// The sender of the message.
    pub role: Role,
    /// The content: one block, or several.
    pub content: OneOrMany<SamplingMessageContentBlock>,
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl SamplingMessage {
    /// Creates a value from its required members.
    pub fn new(
        role: impl Into<Role>,
        content: impl Into<OneOrMany<SamplingMessageContentBlock>>,
    ) -> Self {
        Self {
            role: role.into(),
            content: content.into(),
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

/// A content block of a conversation with a model.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/sampling>
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[allow(
    clippy::large_enum_variant,
    reason = "variants are decoded in place; a `Box` would cost every reader an indirection"
)]
pub enum SamplingMessageContentBlock {
    /// `type` is `text`.
    Text(TextContent),
    /// `type` is `image`.
    Image(ImageContent),
    /// `type` is `audio`.
    Audio(AudioContent),
    /// `type` is `tool_use`.
    ToolUse(ToolUseContent),
    /// `type` is `tool_result`.
    ToolResult(ToolResultContent),
    /// An object that this crate does not know, unchanged.
    Unknown(Value),
}

impl From<TextContent> for SamplingMessageContentBlock {
    fn from(arm: TextContent) -> Self {
        Self::Text(arm)
    }
}

impl From<ImageContent> for SamplingMessageContentBlock {
    fn from(arm: ImageContent) -> Self {
        Self::Image(arm)
    }
}

impl From<AudioContent> for SamplingMessageContentBlock {
    fn from(arm: AudioContent) -> Self {
        Self::Audio(arm)
    }
}

impl From<ToolUseContent> for SamplingMessageContentBlock {
    fn from(arm: ToolUseContent) -> Self {
        Self::ToolUse(arm)
    }
}

impl From<ToolResultContent> for SamplingMessageContentBlock {
    fn from(arm: ToolResultContent) -> Self {
        Self::ToolResult(arm)
    }
}

impl Serialize for SamplingMessageContentBlock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(arm) => arm.serialize(serializer),
            Self::Image(arm) => arm.serialize(serializer),
            Self::Audio(arm) => arm.serialize(serializer),
            Self::ToolUse(arm) => arm.serialize(serializer),
            Self::ToolResult(arm) => arm.serialize(serializer),
            Self::Unknown(raw) => raw.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for SamplingMessageContentBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::union::tagged(deserializer)
    }
}

impl crate::union::TaggedUnion for SamplingMessageContentBlock {
    const NAME: &'static str = "SamplingMessageContentBlock";
    const TAG: &'static str = "type";
    const TAGS: &'static [&'static str] = &["text", "image", "audio", "tool_use", "tool_result"];

    fn arm<'de, D: Deserializer<'de>>(index: usize, members: D) -> Result<Self, D::Error> {
        match index {
            0 => TextContent::deserialize(members).map(Self::Text),
            1 => ImageContent::deserialize(members).map(Self::Image),
            2 => AudioContent::deserialize(members).map(Self::Audio),
            3 => ToolUseContent::deserialize(members).map(Self::ToolUse),
            _ => ToolResultContent::deserialize(members).map(Self::ToolResult),
        }
    }

    fn unknown(raw: Value) -> Self {
        Self::Unknown(raw)
    }
}

/// The reason why a model stopped; providers may define further reasons.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/sampling>
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StopReason {
    /// The model finished its turn.
    EndTurn,
    /// The model reached a stop sequence.
    StopSequence,
    /// The model reached the token limit.
    MaxTokens,
    /// The model requests tool calls.
    ToolUse,
    /// A value that this crate does not know, unchanged.
    Unknown(Box<str>),
}

impl StopReason {
    /// The value on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::EndTurn => "endTurn",
            Self::StopSequence => "stopSequence",
            Self::MaxTokens => "maxTokens",
            Self::ToolUse => "toolUse",
            Self::Unknown(text) => text,
        }
    }
}

impl From<&str> for StopReason {
    fn from(text: &str) -> Self {
        match text {
            "endTurn" => Self::EndTurn,
            "stopSequence" => Self::StopSequence,
            "maxTokens" => Self::MaxTokens,
            "toolUse" => Self::ToolUse,
            other => Self::Unknown(other.into()),
        }
    }
}

impl<'de> Deserialize<'de> for StopReason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::text::open(deserializer, "a StopReason string")
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for StopReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Whether a model may or must call tools.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/sampling>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolChoice {
    /// The mode; absent means [`ToolChoiceMode::Auto`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ToolChoiceMode>,
}

impl ToolChoice {
    /// Creates a value without members; all are optional.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`mode`](Self::mode).
    #[must_use]
    pub fn with_mode(mut self, mode: impl Into<ToolChoiceMode>) -> Self {
        self.mode = Some(mode.into());
        self
    }
}

/// Whether a model may or must call tools.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/sampling>
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolChoiceMode {
    /// The model may call tools.
    Auto,
    /// The model must not call tools.
    None,
    /// The model must call at least one tool.
    Required,
    /// A value that this crate does not know, unchanged.
    Unknown(Box<str>),
}

impl ToolChoiceMode {
    /// The value on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Auto => "auto",
            Self::None => "none",
            Self::Required => "required",
            Self::Unknown(text) => text,
        }
    }
}

impl From<&str> for ToolChoiceMode {
    fn from(text: &str) -> Self {
        match text {
            "auto" => Self::Auto,
            "none" => Self::None,
            "required" => Self::Required,
            other => Self::Unknown(other.into()),
        }
    }
}

impl<'de> Deserialize<'de> for ToolChoiceMode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::text::open(deserializer, "a ToolChoiceMode string")
    }
}

impl fmt::Display for ToolChoiceMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for ToolChoiceMode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The result of a tool call that the model requested.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/sampling>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "tool_result", rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolResultContent {
    /// The id of the [`ToolUseContent`].
    pub tool_use_id: String,
    /// The result for the model.
    pub content: Vec<ContentBlock>,
    /// The result for a program.
    #[serde(
        default,
        deserialize_with = "crate::presence::kept",
        skip_serializing_if = "Option::is_none"
    )]
    pub structured_content: Option<Value>,
    /// Whether the call failed; absent means no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ToolResultContent {
    /// Creates a value from its required members.
    pub fn new(tool_use_id: impl Into<String>, content: Vec<ContentBlock>) -> Self {
        Self {
            tool_use_id: tool_use_id.into(),
            content,
            structured_content: None,
            is_error: None,
            meta: None,
        }
    }

    /// Sets [`structured_content`](Self::structured_content).
    #[must_use]
    pub fn with_structured_content(mut self, structured_content: impl Into<Value>) -> Self {
        self.structured_content = Some(structured_content.into());
        self
    }

    /// Sets [`is_error`](Self::is_error).
    #[must_use]
    pub fn with_is_error(mut self, is_error: bool) -> Self {
        self.is_error = Some(is_error);
        self
    }

    /// Sets [`meta`](Self::meta).
    #[must_use]
    pub fn with_meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }
}

/// A tool call that the model requests.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/client/sampling>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "tool_use")]
#[non_exhaustive]
pub struct ToolUseContent {
    /// The id that the tool result refers to.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments.
    pub input: JsonObject,
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ToolUseContent {
    /// Creates a value from its required members.
    pub fn new(id: impl Into<String>, name: impl Into<String>, input: JsonObject) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            input,
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
