// Generated from the official schema of 2026-07-28 at commit 271ecc9accafdd9b83a3c869fa67c22953b2af80: do not edit. Run `cargo xtask codegen`.

//! Model calls that a server requests from its client.

use crate::v2026_07_28::Tool;
use crate::{IncludeContext, JsonObject, ModelPreferences, SamplingMessage, ToolChoice};
use serde::{Deserialize, Serialize};

/// A model call that a server requests.
///
/// Specification: <https://modelcontextprotocol.io/specification/2026-07-28/client/sampling>
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
}
