// Generated from the official schema of 2026-07-28 at commit 271ecc9accafdd9b83a3c869fa67c22953b2af80: do not edit. Run `cargo xtask codegen`.

//! Types that are specific to revision 2026-07-28, and the types that it shares with other revisions.

pub use crate::{
    Annotations, AudioContent, BlobResourceContents, BooleanSchema, Completion, CompletionArgument,
    CompletionContext, CompletionReference, ContentBlock, CreateMessageResult, Cursor,
    ElicitAction, ElicitationCapability, EmbeddedResource, EnumOption, Icon, IconTheme,
    ImageContent, Implementation, IncludeContext, LegacyTitledEnumSchema, LoggingLevel,
    LoggingMessageNotification, LoggingMessageNotificationParams, ModelHint, ModelPreferences,
    NotificationParams, NumberKind, NumberSchema, OpenResult, PrimitiveSchemaDefinition,
    ProgressNotification, ProgressNotificationParams, Prompt, PromptArgument,
    PromptListChangedNotification, PromptMessage, PromptReference, PromptsCapability,
    RequestedSchema, Resource, ResourceContents, ResourceLink, ResourceListChangedNotification,
    ResourceTemplate, ResourceTemplateReference, ResourceUpdatedNotification,
    ResourceUpdatedNotificationParams, ResourcesCapability, Role, Root, SamplingCapability,
    SamplingMessage, SamplingMessageContentBlock, StopReason, StringFormat, StringSchema,
    TextContent, TextResourceContents, TitledMultiSelectEnumSchema, TitledMultiSelectItems,
    TitledSingleSelectEnumSchema, ToolAnnotations, ToolChoice, ToolChoiceMode,
    ToolListChangedNotification, ToolResultContent, ToolUseContent, ToolsCapability,
    UntitledMultiSelectEnumSchema, UntitledMultiSelectItems, UntitledSingleSelectEnumSchema,
};

mod base;
pub use base::*;
mod completion;
pub use completion::*;
mod discover;
pub use discover::*;
mod elicitation;
pub use elicitation::*;
mod input;
pub use input::*;
mod lifecycle;
pub use lifecycle::*;
mod prompts;
pub use prompts::*;
mod resources;
pub use resources::*;
mod roots;
pub use roots::*;
mod sampling;
pub use sampling::*;
mod subscriptions;
pub use subscriptions::*;
mod tools;
pub use tools::*;
mod bridges;
mod methods;
pub use methods::*;
