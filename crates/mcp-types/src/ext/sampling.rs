//! Sampling results.

use crate::{CreateMessageResult, SamplingMessageContentBlock, ToolUseContent};

impl CreateMessageResult {
    /// The tool calls the model asks for, in order.
    pub fn tool_uses(&self) -> impl Iterator<Item = &ToolUseContent> {
        self.content.iter().filter_map(|block| match block {
            SamplingMessageContentBlock::ToolUse(tool_use) => Some(tool_use),
            _ => None,
        })
    }
}
