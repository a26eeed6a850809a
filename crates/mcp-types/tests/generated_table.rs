// Generated from the official schema of 2025-11-25 at commit c4c367f9f58296a7053f5c78a52fd02bfbb56a49: do not edit. Run `cargo xtask codegen`.

//! Every definition with a Rust type, and its round trip.

use crate::support::{RoundTrip, round_trip};

/// The name of each definition, and a function that decodes a value and encodes it again.
pub(crate) const TABLE: &[(&str, RoundTrip)] = &[
    ("Annotations", round_trip::<mcp_types::Annotations>),
    ("AudioContent", round_trip::<mcp_types::AudioContent>),
    (
        "BlobResourceContents",
        round_trip::<mcp_types::BlobResourceContents>,
    ),
    ("BooleanSchema", round_trip::<mcp_types::BooleanSchema>),
    (
        "CallToolRequestParams",
        round_trip::<mcp_types::CallToolRequestParams>,
    ),
    ("CallToolResult", round_trip::<mcp_types::CallToolResult>),
    (
        "CancelTaskResult",
        round_trip::<mcp_types::CancelTaskResult>,
    ),
    (
        "CancelledNotificationParams",
        round_trip::<mcp_types::CancelledNotificationParams>,
    ),
    (
        "ClientCapabilities",
        round_trip::<mcp_types::ClientCapabilities>,
    ),
    (
        "CompleteRequestParams",
        round_trip::<mcp_types::CompleteRequestParams>,
    ),
    ("CompleteResult", round_trip::<mcp_types::CompleteResult>),
    ("ContentBlock", round_trip::<mcp_types::ContentBlock>),
    (
        "CreateMessageRequestParams",
        round_trip::<mcp_types::CreateMessageRequestParams>,
    ),
    (
        "CreateMessageResult",
        round_trip::<mcp_types::CreateMessageResult>,
    ),
    (
        "CreateTaskResult",
        round_trip::<mcp_types::CreateTaskResult>,
    ),
    ("Cursor", round_trip::<mcp_types::Cursor>),
    (
        "ElicitRequestFormParams",
        round_trip::<mcp_types::ElicitRequestFormParams>,
    ),
    (
        "ElicitRequestParams",
        round_trip::<mcp_types::ElicitRequestParams>,
    ),
    (
        "ElicitRequestURLParams",
        round_trip::<mcp_types::ElicitRequestUrlParams>,
    ),
    ("ElicitResult", round_trip::<mcp_types::ElicitResult>),
    (
        "EmbeddedResource",
        round_trip::<mcp_types::EmbeddedResource>,
    ),
    ("EmptyResult", round_trip::<mcp_types::EmptyResult>),
    (
        "GetPromptRequestParams",
        round_trip::<mcp_types::GetPromptRequestParams>,
    ),
    ("GetPromptResult", round_trip::<mcp_types::GetPromptResult>),
    (
        "GetTaskPayloadResult",
        round_trip::<mcp_types::GetTaskPayloadResult>,
    ),
    ("GetTaskResult", round_trip::<mcp_types::GetTaskResult>),
    ("Icon", round_trip::<mcp_types::Icon>),
    ("ImageContent", round_trip::<mcp_types::ImageContent>),
    ("Implementation", round_trip::<mcp_types::Implementation>),
    (
        "InitializeRequestParams",
        round_trip::<mcp_types::InitializeRequestParams>,
    ),
    (
        "InitializeResult",
        round_trip::<mcp_types::InitializeResult>,
    ),
    (
        "LegacyTitledEnumSchema",
        round_trip::<mcp_types::LegacyTitledEnumSchema>,
    ),
    (
        "ListPromptsResult",
        round_trip::<mcp_types::ListPromptsResult>,
    ),
    (
        "ListResourceTemplatesResult",
        round_trip::<mcp_types::ListResourceTemplatesResult>,
    ),
    (
        "ListResourcesResult",
        round_trip::<mcp_types::ListResourcesResult>,
    ),
    ("ListRootsResult", round_trip::<mcp_types::ListRootsResult>),
    ("ListTasksResult", round_trip::<mcp_types::ListTasksResult>),
    ("ListToolsResult", round_trip::<mcp_types::ListToolsResult>),
    ("LoggingLevel", round_trip::<mcp_types::LoggingLevel>),
    (
        "LoggingMessageNotificationParams",
        round_trip::<mcp_types::LoggingMessageNotificationParams>,
    ),
    ("ModelHint", round_trip::<mcp_types::ModelHint>),
    (
        "ModelPreferences",
        round_trip::<mcp_types::ModelPreferences>,
    ),
    (
        "NotificationParams",
        round_trip::<mcp_types::NotificationParams>,
    ),
    ("NumberSchema", round_trip::<mcp_types::NumberSchema>),
    (
        "PaginatedRequestParams",
        round_trip::<mcp_types::PaginatedRequestParams>,
    ),
    (
        "PrimitiveSchemaDefinition",
        round_trip::<mcp_types::PrimitiveSchemaDefinition>,
    ),
    (
        "ProgressNotificationParams",
        round_trip::<mcp_types::ProgressNotificationParams>,
    ),
    ("Prompt", round_trip::<mcp_types::Prompt>),
    ("PromptArgument", round_trip::<mcp_types::PromptArgument>),
    ("PromptMessage", round_trip::<mcp_types::PromptMessage>),
    ("PromptReference", round_trip::<mcp_types::PromptReference>),
    (
        "ReadResourceRequestParams",
        round_trip::<mcp_types::ReadResourceRequestParams>,
    ),
    (
        "ReadResourceResult",
        round_trip::<mcp_types::ReadResourceResult>,
    ),
    (
        "RelatedTaskMetadata",
        round_trip::<mcp_types::RelatedTaskMetadata>,
    ),
    ("RequestParams", round_trip::<mcp_types::RequestParams>),
    ("Resource", round_trip::<mcp_types::Resource>),
    ("ResourceLink", round_trip::<mcp_types::ResourceLink>),
    (
        "ResourceTemplate",
        round_trip::<mcp_types::ResourceTemplate>,
    ),
    (
        "ResourceTemplateReference",
        round_trip::<mcp_types::ResourceTemplateReference>,
    ),
    (
        "ResourceUpdatedNotificationParams",
        round_trip::<mcp_types::ResourceUpdatedNotificationParams>,
    ),
    ("Result", round_trip::<mcp_types::OpenResult>),
    ("Role", round_trip::<mcp_types::Role>),
    ("Root", round_trip::<mcp_types::Root>),
    ("SamplingMessage", round_trip::<mcp_types::SamplingMessage>),
    (
        "SamplingMessageContentBlock",
        round_trip::<mcp_types::SamplingMessageContentBlock>,
    ),
    (
        "ServerCapabilities",
        round_trip::<mcp_types::ServerCapabilities>,
    ),
    (
        "SetLevelRequestParams",
        round_trip::<mcp_types::SetLevelRequestParams>,
    ),
    ("StringSchema", round_trip::<mcp_types::StringSchema>),
    (
        "SubscribeRequestParams",
        round_trip::<mcp_types::SubscribeRequestParams>,
    ),
    ("Task", round_trip::<mcp_types::Task>),
    ("TaskMetadata", round_trip::<mcp_types::TaskMetadata>),
    ("TaskStatus", round_trip::<mcp_types::TaskStatus>),
    (
        "TaskStatusNotificationParams",
        round_trip::<mcp_types::TaskStatusNotificationParams>,
    ),
    ("TextContent", round_trip::<mcp_types::TextContent>),
    (
        "TextResourceContents",
        round_trip::<mcp_types::TextResourceContents>,
    ),
    (
        "TitledMultiSelectEnumSchema",
        round_trip::<mcp_types::TitledMultiSelectEnumSchema>,
    ),
    (
        "TitledSingleSelectEnumSchema",
        round_trip::<mcp_types::TitledSingleSelectEnumSchema>,
    ),
    ("Tool", round_trip::<mcp_types::Tool>),
    ("ToolAnnotations", round_trip::<mcp_types::ToolAnnotations>),
    ("ToolChoice", round_trip::<mcp_types::ToolChoice>),
    ("ToolExecution", round_trip::<mcp_types::ToolExecution>),
    (
        "ToolResultContent",
        round_trip::<mcp_types::ToolResultContent>,
    ),
    ("ToolUseContent", round_trip::<mcp_types::ToolUseContent>),
    (
        "UnsubscribeRequestParams",
        round_trip::<mcp_types::UnsubscribeRequestParams>,
    ),
    (
        "UntitledMultiSelectEnumSchema",
        round_trip::<mcp_types::UntitledMultiSelectEnumSchema>,
    ),
    (
        "UntitledSingleSelectEnumSchema",
        round_trip::<mcp_types::UntitledSingleSelectEnumSchema>,
    ),
];
