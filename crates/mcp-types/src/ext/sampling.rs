//! Sampling requests and results.

use crate::{
    CreateMessageRequestParams, CreateMessageResult, SamplingMessageContentBlock, ToolChoiceMode,
    ToolUseContent,
};

impl CreateMessageResult {
    /// The tool calls that the model requests, in order.
    pub fn tool_uses(&self) -> impl Iterator<Item = &ToolUseContent> {
        self.content.iter().filter_map(|block| match block {
            SamplingMessageContentBlock::ToolUse(tool_use) => Some(tool_use),
            _ => None,
        })
    }
}

impl CreateMessageRequestParams {
    /// Whether the model may or must call tools; [`ToolChoiceMode::Auto`] if the request does not state it.
    pub fn tool_choice_mode(&self) -> ToolChoiceMode {
        let choice = self
            .tool_choice
            .as_ref()
            .and_then(|choice| choice.mode.clone());
        choice.unwrap_or(ToolChoiceMode::Auto)
    }
}
