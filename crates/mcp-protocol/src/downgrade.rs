//! Down-conversion of values for older revisions: unknown members are removed, replaced, or
//! rejected.
//!
//! Descriptive members are removed silently. If the meaning of a value would be lost, the conversion fails. Except for
//! `stateless_capabilities` and `handler_error`, each function does nothing for the newest revision.
//! Received values are not converted; unknown members in them are ignored.

use mcp_jsonrpc::{ErrorCode, ErrorObject};
use mcp_types::v2026_07_28::TASKS_EXTENSION;
use mcp_types::{
    Annotations, BlobResourceContents, CallToolResult, ClientCapabilities, CompleteRequestParams,
    CompletionReference, ContentBlock, CreateMessageResult, ElicitResult, ElicitValue,
    ElicitationCapability, EmbeddedResource, GetPromptResult, Implementation, InitializeResult,
    OneOrMany, Prompt, ReadResourceResult, Resource, ResourceContents, ResourceTemplate, Root,
    SamplingMessageContentBlock, ServerCapabilities, Tool,
};

use serde_json::Value;

use crate::Rules;
use crate::gate::{Unsupported, known};

/// Returns whether listed objects and content must be converted for this revision. If `false`, only capabilities and the result
/// of `initialize` are converted.
pub fn changes_content(rules: &Rules) -> bool {
    !rules.icons
}

/// Converts the result of `initialize`.
pub fn initialize_result(result: &mut InitializeResult, rules: &Rules) {
    implementation(&mut result.server_info, rules);
    server_capabilities(&mut result.capabilities, rules);
}

/// Converts the description of an implementation.
pub fn implementation(info: &mut Implementation, rules: &Rules) {
    if !rules.titles_and_meta {
        info.title = None;
    }
    if !rules.icons {
        info.description = None;
        info.icons = None;
        info.website_url = None;
    }
}

/// Converts server capabilities.
pub fn server_capabilities(capabilities: &mut ServerCapabilities, rules: &Rules) {
    if !rules.completions_capability {
        capabilities.completions = None;
    }
    if !rules.tasks {
        capabilities.tasks = None;
    }
}

/// Converts server capabilities to the stateless revision, where tasks are an extension.
pub(crate) fn stateless_capabilities(
    capabilities: ServerCapabilities,
) -> mcp_types::v2026_07_28::ServerCapabilities {
    let mut stateless = mcp_types::v2026_07_28::ServerCapabilities::new();
    stateless.completions = capabilities.completions;
    stateless.experimental = capabilities.experimental;
    stateless.logging = capabilities.logging;
    stateless.prompts = capabilities.prompts;
    stateless.resources = capabilities.resources;
    stateless.tools = capabilities.tools;
    stateless.extensions = capabilities.extensions;
    if capabilities.tasks.is_some() {
        let extensions = stateless.extensions.get_or_insert_default();
        extensions.entry(TASKS_EXTENSION.to_owned()).or_default();
    }
    stateless
}

/// Replaces the error code of a handler if the stateless revision reserves it: -32099 to -32000
/// have other meanings there.
///
/// Specification: 2026-07-28, basic/index#error-codes.
pub fn handler_error(mut error: ErrorObject, rules: &Rules) -> ErrorObject {
    if !rules.stateless {
        return error;
    }
    let missing = error
        .data
        .as_ref()
        .map(|data| &data["requiredCapabilities"]);
    error.code = match error.code {
        code @ ErrorCode::MISSING_CLIENT_CAPABILITY if missing.is_some_and(Value::is_object) => {
            code
        }
        ErrorCode::RESOURCE_NOT_FOUND => ErrorCode::INVALID_PARAMS,
        ErrorCode(reserved @ -32099..=-32000) => {
            tracing::warn!(
                code = reserved,
                "a handler returned an error code that the protocol reserves; use a code outside of -32768..-32000"
            );
            ErrorCode::INTERNAL_ERROR
        }
        code => code,
    };
    error
}

/// Converts client capabilities.
pub fn client_capabilities(capabilities: &mut ClientCapabilities, rules: &Rules) {
    if !rules.elicitation_modes {
        let modes = capabilities.elicitation.take();
        let forms = modes.is_some_and(|modes| modes.form.is_some() || modes.url.is_none());
        capabilities.elicitation =
            (forms && rules.elicitation).then(ElicitationCapability::default);
    }
    if let (false, Some(sampling)) = (rules.sampling_tools, &mut capabilities.sampling) {
        sampling.tools = None;
        sampling.context = None;
    }
    if !rules.tasks {
        capabilities.tasks = None;
    }
}

/// Converts a listed tool.
pub fn tool(tool: &mut Tool, rules: &Rules) {
    if !rules.annotations_and_audio {
        tool.annotations = None;
    }
    if !rules.titles_and_meta {
        tool.title = None;
        tool.meta = None;
    }
    if !rules.structured_output {
        tool.output_schema = None;
    }
    if !rules.icons {
        tool.icons = None;
    }
    if !rules.tasks {
        tool.execution = None;
    }
}

/// Converts a listed prompt.
pub fn prompt(prompt: &mut Prompt, rules: &Rules) {
    if !rules.titles_and_meta {
        prompt.title = None;
        prompt.meta = None;
        for argument in prompt.arguments.iter_mut().flatten() {
            argument.title = None;
        }
    }
    if !rules.icons {
        prompt.icons = None;
    }
}

/// Converts a listed resource.
pub fn resource(resource: &mut Resource, rules: &Rules) {
    if !rules.titles_and_meta {
        resource.title = None;
        resource.meta = None;
        annotations(&mut resource.annotations);
    }
    if !rules.icons {
        resource.icons = None;
    }
}

/// Converts a listed resource template.
pub fn resource_template(template: &mut ResourceTemplate, rules: &Rules) {
    if !rules.titles_and_meta {
        template.title = None;
        template.meta = None;
        annotations(&mut template.annotations);
    }
    if !rules.icons {
        template.icons = None;
    }
}

fn annotations(annotations: &mut Option<Annotations>) {
    if let Some(annotations) = annotations {
        annotations.last_modified = None;
    }
}

/// Converts the result of a tool. Structured content is removed if the revision does not have it;
/// the text block contains the same data.
pub fn call_tool_result(result: &mut CallToolResult, rules: &Rules) {
    if !changes_content(rules) {
        return;
    }
    if !rules.structured_output {
        result.structured_content = None;
    }
    result
        .content
        .iter_mut()
        .for_each(|block| content(block, rules));
}

/// Converts the messages of a prompt.
pub fn get_prompt_result(result: &mut GetPromptResult, rules: &Rules) {
    for message in &mut result.messages {
        content(&mut message.content, rules);
    }
}

/// Converts the contents of a resource.
pub fn read_resource_result(result: &mut ReadResourceResult, rules: &Rules) {
    if !rules.titles_and_meta {
        result.contents.iter_mut().for_each(resource_contents);
    }
}

fn resource_contents(contents: &mut ResourceContents) {
    match contents {
        ResourceContents::Text(text) => text.meta = None,
        ResourceContents::Blob(blob) => blob.meta = None,
        _ => {}
    }
}

/// Converts a content block: audio becomes an embedded resource, a resource link becomes text.
pub fn content(block: &mut ContentBlock, rules: &Rules) {
    if !changes_content(rules) {
        return;
    }
    match block {
        ContentBlock::Audio(audio) if !rules.annotations_and_audio => {
            let mut blob =
                BlobResourceContents::new("urn:mcp:audio", std::mem::take(&mut audio.data));
            blob.mime_type = Some(std::mem::take(&mut audio.mime_type));
            let mut resource = EmbeddedResource::new(ResourceContents::Blob(blob));
            resource.annotations = audio.annotations.take();
            *block = ContentBlock::Resource(resource);
        }
        ContentBlock::ResourceLink(link) if !rules.structured_output => {
            let name = link.title.as_deref().unwrap_or(&link.name);
            *block = ContentBlock::text(format!("{name}: {}", link.uri));
        }
        ContentBlock::ResourceLink(link) if !rules.icons => link.icons = None,
        _ => {}
    }
    if rules.titles_and_meta {
        return;
    }
    let (meta, notes) = match block {
        ContentBlock::Text(block) => (&mut block.meta, &mut block.annotations),
        ContentBlock::Image(block) => (&mut block.meta, &mut block.annotations),
        ContentBlock::Audio(block) => (&mut block.meta, &mut block.annotations),
        ContentBlock::ResourceLink(block) => (&mut block.meta, &mut block.annotations),
        ContentBlock::Resource(block) => {
            resource_contents(&mut block.resource);
            (&mut block.meta, &mut block.annotations)
        }
        _ => return,
    };
    *meta = None;
    annotations(notes);
}

/// Converts the params of `completion/complete`.
pub fn complete_params(params: &mut CompleteRequestParams, rules: &Rules) {
    if !rules.completion_context {
        params.context = None;
    }
    if let (false, CompletionReference::Prompt(prompt)) =
        (rules.titles_and_meta, &mut params.reference)
    {
        prompt.title = None;
    }
}

/// Converts a listed root.
pub fn root(root: &mut Root, rules: &Rules) {
    if !rules.titles_and_meta {
        root.meta = None;
    }
}

/// Converts the result of `sampling/createMessage`.
///
/// # Errors
/// The negotiated revision does not have this content.
pub fn create_message_result(
    result: &mut CreateMessageResult,
    rules: &'static Rules,
) -> Result<(), Unsupported> {
    sampling_content(&mut result.content, rules)
}

/// Converts the content of a sampling message or result.
pub(crate) fn sampling_content(
    content: &mut OneOrMany<SamplingMessageContentBlock>,
    rules: &'static Rules,
) -> Result<(), Unsupported> {
    if !rules.sampling_tools {
        *content = single(content, rules)?;
    }
    match content {
        OneOrMany::One(block) => sampling_block(block, rules),
        OneOrMany::Many(blocks) => blocks
            .iter_mut()
            .try_for_each(|block| sampling_block(block, rules)),
    }
}

/// Replaces an array that contains one block by the block itself. Fails for a longer array, which does not exist before
/// 2025-11-25.
fn single(
    content: &mut OneOrMany<SamplingMessageContentBlock>,
    rules: &'static Rules,
) -> Result<OneOrMany<SamplingMessageContentBlock>, Unsupported> {
    known(
        content.len() == 1,
        "sampling content with several blocks",
        rules,
    )?;
    let content = std::mem::replace(content, OneOrMany::Many(Vec::new()));
    Ok(content
        .into_iter()
        .next()
        .map_or_else(|| OneOrMany::Many(Vec::new()), OneOrMany::One))
}

fn sampling_block(
    block: &mut SamplingMessageContentBlock,
    rules: &'static Rules,
) -> Result<(), Unsupported> {
    use SamplingMessageContentBlock as Block;
    let (meta, notes) = match block {
        Block::Text(text) => (&mut text.meta, &mut text.annotations),
        Block::Image(image) => (&mut image.meta, &mut image.annotations),
        Block::Audio(audio) => {
            known(rules.annotations_and_audio, "audio content", rules)?;
            (&mut audio.meta, &mut audio.annotations)
        }
        Block::ToolUse(_) | Block::ToolResult(_) => {
            return known(rules.sampling_tools, "tool use in sampling", rules);
        }
        _ => return Ok(()),
    };
    if !rules.titles_and_meta {
        *meta = None;
        annotations(notes);
    }
    Ok(())
}

/// Checks the result of an elicitation.
///
/// # Errors
/// The content has a multiple choice answer, which does not exist before 2025-11-25.
pub fn elicit_result(result: &mut ElicitResult, rules: &'static Rules) -> Result<(), Unsupported> {
    let lists = result
        .content
        .iter()
        .flat_map(|content| content.values())
        .any(|value| matches!(value, ElicitValue::Strings(_)));
    known(rules.rich_forms || !lists, "multiple choice answers", rules)
}
