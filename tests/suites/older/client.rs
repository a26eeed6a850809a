//! What a client sends to a server of an older revision.

use mcp_client::{Client, Error};
use mcp_protocol::Revision;
use mcp_tests::everything;
use mcp_tests::wire::{Wire, connect};
use mcp_types::{SamplingMessageContentBlock, TextContent};
use serde_json::json;

use super::{REVISIONS, check};

#[tokio::test]
async fn a_client_sends_an_older_server_nothing_it_does_not_know() {
    for revision in REVISIONS {
        let builder = Client::builder("host", "1").on_sample(async |ask| {
            let mut answer = ask.reply("m", "x");
            let block = SamplingMessageContentBlock::Text(TextContent::new("x"));
            answer.content = vec![block].into();
            Ok(answer)
        });
        let capabilities = json!({ "completions": {}, "prompts": {} });
        let (mut wire, client) = Wire::accept(builder, revision, capabilities).await;
        assert_eq!(client.revision().as_str(), revision);
        let reference = mcp_types::PromptReference::new("p");
        let resolved = [("b".to_owned(), "2".to_owned())].into();
        let call = client.complete(reference, "a", "", resolved);
        let completing = tokio::spawn(async move { call.await });
        let request = wire.expect("completion/complete").await;
        check(revision, &request["params"], "context", "2025-06-18");
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
    }
}

#[tokio::test]
async fn a_client_answers_no_forms_before_2025_06_18_and_no_urls_before_2025_11_25() {
    for revision in REVISIONS {
        let builder = Client::builder("host", "1")
            .on_elicit(async |form| form.decline())
            .on_elicit_url(async |url| url.decline());
        let (mut wire, _client) = Wire::accept(builder, revision, json!({})).await;
        let form =
            json!({ "message": "?", "requestedSchema": { "type": "object", "properties": {} } });
        let url =
            json!({ "mode": "url", "message": "?", "url": "https://x.y/", "elicitationId": "1" });
        let (form, url) = (
            wire.answer_to("elicitation/create", form).await,
            wire.answer_to("elicitation/create", url).await,
        );
        match revision {
            "2025-11-25" => assert!(form["error"].is_null() && url["error"].is_null()),
            "2025-06-18" => {
                assert!(form["error"].is_null());
                assert_eq!(url["error"]["code"], -32602);
            }
            _ => assert_eq!(
                (&form["error"]["code"], &url["error"]["code"]),
                (&json!(-32601), &json!(-32601))
            ),
        }
    }
}

#[tokio::test]
async fn every_revision_works_from_end_to_end() {
    for revision in Revision::ALL {
        let builder = Client::builder("host", "1")
            .revision(revision)
            .on_elicit(async |form| form.accept(json!({ "username": "u", "email": "e@x" })));
        let client = connect(builder, everything::server()).await.unwrap();
        assert_eq!(client.revision(), revision);
        assert!(client.list_tools().await.unwrap().len() > 10);
        let sum = client
            .call_tool("add", json!({ "a": 1, "b": 2 }))
            .await
            .unwrap();
        assert_eq!(sum.joined_text(), "3");
        let asked = client
            .call_tool("test_elicitation", json!({ "message": "?" }))
            .await
            .unwrap();
        assert_eq!(
            asked.is_error == Some(true),
            revision < Revision::V2025_06_18
        );
        let missing = client.read_resource("test://no").await.unwrap_err();
        assert!(matches!(missing, Error::Rejected(error) if error.code.0 == -32002));
        client.close().await.unwrap();
    }
}
