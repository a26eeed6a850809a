//! Tools and their results.

use crate::{CallToolResult, ContentBlock, Tool, ToolAnnotations};

impl CallToolResult {
    /// A result of one text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![ContentBlock::text(text)])
    }

    /// A failure the model should see and may correct.
    pub fn error(text: impl Into<String>) -> Self {
        Self::text(text).with_is_error(true)
    }

    /// Whether the call failed; a result that does not say so succeeded.
    pub fn is_error(&self) -> bool {
        self.is_error.unwrap_or(false)
    }

    /// The text blocks, joined by line breaks.
    pub fn joined_text(&self) -> String {
        let blocks: Vec<_> = self
            .content
            .iter()
            .filter_map(ContentBlock::as_text)
            .collect();
        blocks.join("\n")
    }
}

impl Tool {
    /// What to show a person: the title, else the title among the annotations, else the name.
    pub fn display_name(&self) -> &str {
        let annotated = self
            .annotations
            .as_ref()
            .and_then(|annotations| annotations.title.as_deref());
        self.title.as_deref().or(annotated).unwrap_or(&self.name)
    }
}

impl ToolAnnotations {
    /// Whether the tool leaves its environment alone; no, unless it says so.
    pub fn read_only(&self) -> bool {
        self.read_only_hint.unwrap_or(false)
    }

    /// Whether the tool may destroy something; yes, unless it says otherwise.
    pub fn destructive(&self) -> bool {
        self.destructive_hint.unwrap_or(true)
    }

    /// Whether a second equal call changes nothing more; no, unless it says so.
    pub fn idempotent(&self) -> bool {
        self.idempotent_hint.unwrap_or(false)
    }

    /// Whether the tool reaches an open set of outside things; yes, unless it says otherwise.
    pub fn open_world(&self) -> bool {
        self.open_world_hint.unwrap_or(true)
    }
}
