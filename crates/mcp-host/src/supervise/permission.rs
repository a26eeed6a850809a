//! Permission to connect to a server, to call its tools, and to use its prompts, resources and skills.

use std::sync::Arc;
use std::time::Instant;

use mcp_client::CallToolResult;
use mcp_client::types::{CompletionReference, Prompt, Tool};
use mcp_protocol::BoxFuture;
use mcp_skills::SkillEntry;
use serde_json::Value;

use crate::action_kind::ActionKind;

/// An item that the host requests from a server.
pub(crate) enum Item<'a> {
    Prompt {
        name: &'a str,
        /// The prompt from the list of the server; `None` if the list does not contain it.
        prompt: Option<&'a Prompt>,
        arguments: &'a [(String, String)],
    },
    /// A resource that the host reads or watches.
    Resource {
        uri: &'a str,
        is_listed: bool,
        /// Whether the resource is a file of a listed skill.
        is_of_skill: bool,
    },
    /// The `SKILL.md` of a skill, or another file of the skill.
    Skill {
        entry: &'a Arc<SkillEntry>,
        /// The path of the other file; `None` for `SKILL.md`.
        path: Option<&'a str>,
    },
    /// Values for an argument of a prompt, or for a variable of a resource template.
    Completion { reference: &'a CompletionReference },
}

impl Item<'_> {
    pub(crate) fn kind(&self) -> ActionKind {
        match self {
            Self::Prompt { .. }
            | Self::Completion {
                reference: CompletionReference::Prompt(_),
            } => ActionKind::Prompt,
            Self::Skill { .. } => ActionKind::Skill,
            _ => ActionKind::Resource,
        }
    }

    /// Returns the name of the prompt, or the URI of the resource, skill or template.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Prompt { name, .. } => name,
            Self::Resource { uri, .. } => uri,
            Self::Skill { entry, .. } => &entry.uri,
            Self::Completion {
                reference: CompletionReference::Prompt(prompt),
            } => &prompt.name,
            Self::Completion {
                reference: CompletionReference::Resource(template),
            } => &template.uri,
            Self::Completion { .. } => "",
        }
    }
}

/// The decisions about what a supervised client may do. An error is the reason for a denial.
pub(crate) trait Permission: Send + Sync + 'static {
    /// Decides whether the client may connect. Calls `before_ask` before a person is asked.
    fn connect<'a>(
        &'a self,
        before_ask: &'a (dyn Fn() + Sync),
    ) -> BoxFuture<'a, Result<(), String>>;

    /// Decides whether the client may call a tool.
    fn call<'a>(
        &'a self,
        tool: &'a Arc<Tool>,
        arguments: &'a Value,
    ) -> BoxFuture<'a, Result<(), String>>;

    /// Records that the application has received text from the server. Must be called before a model can receive this text.
    fn received(&self);

    /// Decides whether the client may request a prompt, a resource or a skill.
    fn fetch<'a>(&'a self, item: &'a Item<'a>) -> BoxFuture<'a, Result<(), String>>;

    /// Records whether the server has returned a permitted item. Must be called before a model receives the item.
    fn fetched(&self, item: &Item<'_>, started: Instant, is_ok: bool);

    /// Records the result of a permitted call.
    fn called(
        &self,
        tool: &str,
        started: Instant,
        result: Result<&CallToolResult, &mcp_client::Error>,
    );
}
