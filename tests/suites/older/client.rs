//! What a client sends to a server of an older revision.

use mcp_types::{Icon, Root, SamplingMessageContentBlock as Block};

use super::{REVISIONS, check};
use crate::prelude::*;

#[tokio::test]
async fn a_client_sends_no_unknown_members_to_an_older_server() {
    for revision in REVISIONS {
        let builder = Client::builder("host", "1").on_sample(async |ask| {
            let mut answer = ask.reply("m", "x");
            let text = json!({
                "type": "text", "text": "x", "_meta": { "a": 1 },
                "annotations": { "priority": 1.0, "lastModified": "2025-01-01T00:00:00Z" }
            });
            answer.content = vec![serde_json::from_value::<Block>(text).unwrap()].into();
            Ok(answer)
        });
        let capabilities = json!({ "completions": {}, "prompts": {} });
        let (mut wire, client) = PipeEnd::accept(builder, revision, capabilities).await;
        assert_eq!(client.revision().as_str(), revision);
        let reference = mcp_types::PromptReference::new("p").with_title("P");
        let call = client.complete(reference, "a", "").resolved([("b", "2")]);
        let completing = tokio::spawn(async move { call.await });
        let request = wire.expect("completion/complete").await;
        check(revision, &request["params"], "context", "2025-06-18");
        check(revision, &request["params"]["ref"], "title", "2025-06-18");
        wire.answer(&request, json!({ "completion": { "values": [] } }))
            .await;
        completing.await.unwrap().unwrap();
        let message = json!({ "role": "user", "content": { "type": "text", "text": "x" } });
        let params = json!({ "messages": [message], "maxTokens": 5 });
        let answer = wire.call("sampling/createMessage", params).await;
        assert_eq!(
            answer["content"].is_array(),
            revision == "2025-11-25",
            "{answer}"
        );
        let block = match &answer["content"] {
            Value::Array(blocks) => &blocks[0],
            block => block,
        };
        check(revision, block, "_meta", "2025-06-18");
        assert_eq!(block["annotations"]["priority"], 1.0);
        let notes = &block["annotations"];
        check(revision, notes, "lastModified", "2025-06-18");
    }
}

// Before the handshake no revision is negotiated; the offered one decides.
#[tokio::test]
async fn initialize_contains_only_members_of_the_offered_revision() {
    for revision in Revision::WITH_SESSIONS {
        let builder = Client::builder("host", "1")
            .revision(revision)
            .title("Host")
            .icon(Icon::new("https://example.com/i.png"))
            .roots([])
            .sampling_tools()
            .sampling_context()
            .on_sample(async |ask| Ok(ask.reply("m", "x")))
            .on_elicit(async |form| form.decline())
            .on_elicit_url(async |url| url.decline());
        let (mut wire, transport) = PipeEnd::server();
        let connecting = tokio::spawn(builder.connect(transport));
        let offer = wire.welcome(revision.as_str(), json!({})).await;
        let revision = revision.as_str();
        assert_eq!(offer["protocolVersion"], revision);
        check(revision, &offer["clientInfo"], "title", "2025-06-18");
        check(revision, &offer["clientInfo"], "icons", "2025-11-25");
        let declared = &offer["capabilities"];
        assert_eq!(declared["roots"], json!({ "listChanged": true }));
        check(revision, &declared["sampling"], "tools", "2025-11-25");
        check(revision, &declared["sampling"], "context", "2025-11-25");
        check(revision, declared, "elicitation", "2025-06-18");
        if revision == "2025-06-18" {
            assert_eq!(declared["elicitation"], json!({}));
        }
        connecting.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_root_has_no_metadata_on_revisions_without_it() {
    for revision in REVISIONS {
        let mut root = Root::new("file:///a");
        root.meta = serde_json::from_value(json!({ "com.example/x": 1 })).unwrap();
        let builder = Client::builder("host", "1").roots([root]);
        let (mut wire, _client) = PipeEnd::accept(builder, revision, json!({})).await;
        let answer = wire.call("roots/list", Value::Null).await;
        check(revision, &answer["roots"][0], "_meta", "2025-06-18");
    }
}

// 2024-11-05 has the method without a capability for it.
#[tokio::test]
async fn completion_may_be_requested_on_a_revision_that_cannot_declare_it() {
    for revision in REVISIONS {
        let builder = Client::builder("host", "1");
        let (mut wire, client) = PipeEnd::accept(builder, revision, json!({ "prompts": {} })).await;
        let reference = mcp_types::PromptReference::new("p");
        let call = client.complete(reference, "a", "");
        let completing = tokio::spawn(async move { call.await });
        if revision == "2024-11-05" {
            let request = wire.expect("completion/complete").await;
            wire.refuse(&request, -32601, "no such method").await;
            assert_eq!(refused(completing.await.unwrap()).code.0, -32601);
        } else {
            assert_fails!(completing.await.unwrap(), Error::Unsupported { .. });
            wire.silent().await;
        }
    }
}
