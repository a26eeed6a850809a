//! Prompts.

use mcp_server::{Args, CompletionRequest, Prompt};
use mcp_types::{
    ContentBlock, EmbeddedResource, ImageContent, PromptMessage, ResourceContents, Role,
    TextResourceContents,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::media::PNG;

#[derive(Deserialize, JsonSchema)]
struct Two {
    /// First test argument
    arg1: String,
    /// Second test argument
    arg2: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ResourceUri {
    /// URI of the resource to embed
    resource_uri: String,
}

pub(super) fn all() -> Vec<Prompt> {
    vec![
        Prompt::new(
            "test_simple_prompt",
            || "This is a simple prompt for testing.",
        )
        .description("A prompt without arguments"),
        Prompt::new("test_prompt_with_arguments", |Args(two): Args<Two>| {
            format!(
                "Prompt with arguments: arg1='{}', arg2='{}'",
                two.arg1, two.arg2
            )
        })
        .description("A prompt with two arguments")
        .complete_from("arg1", ["paris", "park", "party", "compare"])
        .complete("arg2", |completing: CompletionRequest| {
            let first = completing
                .arguments
                .get("arg1")
                .cloned()
                .unwrap_or_default();
            vec![format!("{first}-{}", completing.value)]
        }),
        Prompt::new(
            "test_prompt_with_embedded_resource",
            |Args(args): Args<ResourceUri>| {
                let contents = TextResourceContents::new(
                    args.resource_uri,
                    "Embedded resource content for testing.",
                )
                .with_mime_type("text/plain");
                let resource = EmbeddedResource::new(ResourceContents::Text(contents));
                vec![
                    PromptMessage::new(Role::User, ContentBlock::Resource(resource)),
                    PromptMessage::user("Please process the embedded resource above."),
                ]
            },
        )
        .description("A prompt that embeds a resource"),
        Prompt::new("test_prompt_with_image", || {
            let image = ContentBlock::Image(ImageContent::new(PNG, "image/png"));
            vec![
                PromptMessage::new(Role::User, image),
                PromptMessage::user("Please analyze the image above."),
            ]
        })
        .description("A prompt with an image"),
    ]
}
