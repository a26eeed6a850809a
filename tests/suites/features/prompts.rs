//! Prompts: listed, written with arguments, and all kinds of their content.

use mcp_types::{AudioContent, ContentBlock, PromptArgument, PromptMessage, ResourceLink, Role};

use super::{Peer, named};
use crate::prelude::*;

const WITH_ARGUMENTS: &str = "test_prompt_with_arguments";

// proves: PROMPT-001, PROMPT-003, PROMPT-005, PROMPT-008, PROMPT-016, PROMPT-017, PROMPT-018, PROMPT-019
// proves: M-PROMPT-001, M-PROMPT-002, M-PROMPT-012, M-PROMPT-013
#[tokio::test]
async fn prompts_are_declared_listed_and_returned_and_their_arguments_are_checked() {
    let server = everything::server()
        .prompt(Prompt::new("fails", || Err::<String, _>("no words")))
        .prompt(Prompt::new("panics", || -> String { panic!("secret") }));
    for mut peer in Peer::both(server).await {
        if peer.is_stateless {
            assert!(peer.discover().await["capabilities"]["prompts"].is_object());
        }
        let listed = peer.call("prompts/list", json!({})).await;
        let prompt = &listed["prompts"][1];
        assert_eq!(prompt["name"], WITH_ARGUMENTS);
        let arguments = json!([
            { "name": "arg1", "description": "First test argument", "required": true },
            { "name": "arg2", "description": "Second test argument", "required": true }
        ]);
        assert_eq!(prompt["arguments"], arguments);
        let get = |arguments: Value| named(WITH_ARGUMENTS, json!({ "arguments": arguments }));
        let given = get(json!({ "arg1": "a", "arg2": "b" }));
        let written = peer.call("prompts/get", given).await;
        let messages = json!([{
            "role": "user",
            "content": { "type": "text", "text": "Prompt with arguments: arg1='a', arg2='b'" }
        }]);
        assert_eq!(written["messages"], messages);
        for (params, code) in [
            (json!({}), -32602),
            (named("no_such", json!({})), -32602),
            (get(json!({ "arg1": "a" })), -32602),
            (get(json!({ "arg1": "a", "arg2": 5 })), -32602),
            (
                get(json!({ "arg1": "a", "arg2": "b", "arg3": "c" })),
                -32602,
            ),
            (get(json!([])), -32602),
            (named("fails", json!({})), -32603),
            (named("panics", json!({})), -32603),
        ] {
            peer.expect_error("prompts/get", params, code).await;
        }
    }
}

// proves: PROMPT-017
#[tokio::test]
async fn required_arguments_are_checked_even_if_the_handler_takes_none() {
    let required = PromptArgument::new("a").with_required(true);
    let prompt = Prompt::new("p", || "x").arguments(vec![required]);
    for mut peer in Peer::both(Server::builder("s", "1").prompt(prompt)).await {
        let bare = named("p", json!({}));
        peer.expect_error("prompts/get", bare, -32602).await;
        let given = named("p", json!({ "arguments": { "a": "1" } }));
        peer.call("prompts/get", given).await;
    }
}

// proves: PROMPT-009, PROMPT-010, PROMPT-011, PROMPT-012, PROMPT-013, PROMPT-014, PROMPT-015, SCHEMA-026
// proves: M-PROMPT-008, M-PROMPT-009, M-PROMPT-010, M-PROMPT-011
#[tokio::test]
async fn messages_can_contain_every_kind_of_content() {
    let others = Prompt::new("others", || {
        let block = |content| PromptMessage::new(Role::User, content);
        let audio = AudioContent::new(everything::WAV, "audio/wav");
        let link = ResourceLink::new("x://1", "one");
        vec![
            block(ContentBlock::Audio(audio)),
            block(ContentBlock::ResourceLink(link)),
        ]
    });
    for mut peer in Peer::both(everything::server().prompt(others)).await {
        let mut contents = async |prompt: &str, more: Value| {
            let written = peer.call("prompts/get", named(prompt, more)).await;
            let messages = written["messages"].as_array().unwrap().iter();
            messages
                .map(|message| message["content"].clone())
                .collect::<Vec<_>>()
        };
        let image = contents("test_prompt_with_image", json!({})).await;
        let expected = json!({ "type": "image", "data": everything::PNG, "mimeType": "image/png" });
        assert_eq!(image[0], expected);
        let others = contents("others", json!({})).await;
        let audio = json!({ "type": "audio", "data": everything::WAV, "mimeType": "audio/wav" });
        let link = json!({ "type": "resource_link", "uri": "x://1", "name": "one" });
        assert_eq!(others, [audio, link]);
        let more = json!({ "arguments": { "resourceUri": "test://x" } });
        let embedded = contents("test_prompt_with_embedded_resource", more).await;
        let resource = json!({
            "uri": "test://x", "mimeType": "text/plain",
            "text": "Embedded resource content for testing."
        });
        assert_eq!(embedded[0]["resource"], resource);
    }
}
