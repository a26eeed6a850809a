//! Prompts, resources, templates and completion.

use mcp_server::{Args, CompletionRequest, Ctx, HandlerError, Prompt, Resource, Server};
use mcp_tests::everything;
use mcp_types::{
    AudioContent, ContentBlock, PromptMessage, ResourceContents, ResourceLink, Role,
    TextResourceContents,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Peer, named};

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Path {
    path: String,
}

// proves: M-PROMPT-001, M-PROMPT-002, M-PROMPT-012, M-PROMPT-013
#[tokio::test]
async fn prompts_are_declared_listed_written_and_checked() {
    let mut peer = Peer::new(everything::server());
    let told = peer.call("server/discover", json!({})).await;
    assert!(told["capabilities"]["prompts"].is_object());
    let listed = peer.call("prompts/list", json!({})).await;
    let prompt = &listed["prompts"][1];
    assert_eq!(prompt["name"], "test_prompt_with_arguments");
    assert_eq!(prompt["arguments"][0]["required"], true);
    let arguments = json!({ "arguments": { "arg1": "a", "arg2": "b" } });
    let written = peer
        .call(
            "prompts/get",
            named("test_prompt_with_arguments", arguments),
        )
        .await;
    assert_eq!(
        written["messages"],
        json!([{
            "role": "user",
            "content": { "type": "text", "text": "Prompt with arguments: arg1='a', arg2='b'" }
        }])
    );
    for bad in [
        json!({}),
        named("no_such", json!({})),
        named(
            "test_prompt_with_arguments",
            json!({ "arguments": { "arg1": "a" } }),
        ),
        named(
            "test_prompt_with_arguments",
            json!({ "arguments": { "arg1": "a", "arg2": 5 } }),
        ),
        named("test_prompt_with_arguments", json!({ "arguments": [] })),
    ] {
        assert_eq!(
            peer.fails("prompts/get", bad.clone()).await,
            -32602,
            "{bad}"
        );
    }
    let failing = Server::new("s", "1").prompt(Prompt::new("p", || -> String { panic!("secret") }));
    assert_eq!(
        Peer::new(failing)
            .fails("prompts/get", named("p", json!({})))
            .await,
        -32603
    );
}

// proves: M-PROMPT-008, M-PROMPT-009, M-PROMPT-010, M-PROMPT-011
#[tokio::test]
async fn messages_can_contain_every_kind_of_content() {
    let others = Prompt::new("others", || {
        let block = |content| PromptMessage::new(Role::User, content);
        vec![
            block(ContentBlock::Audio(AudioContent::new(
                everything::WAV,
                "audio/wav",
            ))),
            block(ContentBlock::ResourceLink(ResourceLink::new(
                "x://1", "one",
            ))),
        ]
    });
    let mut peer = Peer::new(everything::server().prompt(others));
    let image = peer
        .call("prompts/get", named("test_prompt_with_image", json!({})))
        .await;
    assert_eq!(
        image["messages"][0]["content"],
        json!({ "type": "image", "data": everything::PNG, "mimeType": "image/png" })
    );
    let others = peer.call("prompts/get", named("others", json!({}))).await;
    assert_eq!(
        others["messages"][0]["content"],
        json!({ "type": "audio", "data": everything::WAV, "mimeType": "audio/wav" })
    );
    assert_eq!(
        others["messages"][1]["content"],
        json!({ "type": "resource_link", "uri": "x://1", "name": "one" })
    );
    let more = json!({ "arguments": { "resourceUri": "test://x" } });
    let embedded = peer
        .call(
            "prompts/get",
            named("test_prompt_with_embedded_resource", more),
        )
        .await;
    assert_eq!(
        embedded["messages"][0]["content"]["resource"],
        json!({
            "uri": "test://x", "mimeType": "text/plain",
            "text": "Embedded resource content for testing."
        })
    );
}

/// Resources that exist, that are missing, that fail, and that have several contents.
fn library() -> Server {
    everything::server()
        .resource(Resource::new("lib://bytes", "bytes", || {
            vec![0_u8, 159, 146, 150]
        }))
        .resource(Resource::new("lib://fails", "fails", || {
            Err::<String, _>(std::io::Error::other("disk full"))
        }))
        .resource(Resource::new("lib://none", "none", || None::<String>))
        .resource(Resource::new("lib://folder", "folder", || {
            let one = |uri: &str| ResourceContents::Text(TextResourceContents::new(uri, "x"));
            vec![one("lib://folder/a"), one("lib://folder/b")]
        }))
        .resource(Resource::new("file:///project", "project", || "x").mime("inode/directory"))
        .resource(Resource::new(
            "file:///srv/{+path}",
            "files",
            |Args(it): Args<Path>| it.path,
        ))
}

// proves: M-RES-001, M-RES-003, M-RES-006, M-RES-009, M-RES-012, M-RES-014, M-RES-015, M-RES-017, M-RES-018, M-RES-020, M-RES-021
#[tokio::test]
async fn resources_are_declared_listed_read_and_missed() {
    let mut peer = Peer::new(library());
    let told = peer.call("server/discover", json!({})).await;
    assert!(told["capabilities"]["resources"].is_object());
    let listed = peer.call("resources/list", json!({})).await;
    let uris: Vec<_> = listed["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["uri"].as_str().unwrap())
        .collect();
    assert_eq!(uris[..2], ["test://static-text", "test://static-binary"]);
    assert_eq!(
        listed["resources"][uris.len() - 1]["mimeType"],
        "inode/directory"
    );
    let templates = peer.call("resources/templates/list", json!({})).await;
    assert_eq!(
        templates["resourceTemplates"][0]["uriTemplate"],
        "test://template/{id}/data"
    );

    let mut read = async |uri: &str| {
        let answer = peer.answer("resources/read", json!({ "uri": uri })).await;
        let code = answer["error"]["code"].as_i64();
        code.map_or_else(|| Ok(answer["result"]["contents"].clone()), Err)
    };
    assert_eq!(
        read("lib://bytes").await,
        Ok(json!([{ "uri": "lib://bytes", "blob": "AJ+Slg==" }]))
    );
    let folder = read("lib://folder").await.unwrap();
    assert_eq!(
        (&folder[0]["uri"], &folder[1]["uri"]),
        (&json!("lib://folder/a"), &json!("lib://folder/b"))
    );
    let data = read("test://template/123/data").await.unwrap();
    assert_eq!(data[0]["uri"], "test://template/123/data");
    assert_eq!(read("file:///srv/a/b").await.unwrap()[0]["text"], "a/b");
    assert_eq!(read("lib://fails").await, Err(-32603));
    for missing in [
        "lib://none",
        "lib://no-such",
        "test://template/a%2Fb/data",
        "test://template/%2e%2e/data",
        "file:///srv/../etc/passwd",
        "file:///srv/a/../../etc/passwd",
        "file:///srv/%2e%2e/etc/passwd",
        "not a uri",
        "",
    ] {
        assert_eq!(read(missing).await, Err(-32602), "{missing}");
    }
    for broken in [
        json!({}),
        json!({ "uri": 7 }),
        json!({ "uri": "x".repeat(9_000) }),
    ] {
        assert_eq!(peer.fails("resources/read", broken).await, -32602);
    }
}

// proves: M-RES-007, M-PROMPT-005, M-MRTR-006, M-CACHE-002
#[tokio::test]
async fn readings_and_prompts_may_ask() {
    let asks = async |cx: Ctx| {
        let name = cx.named("name").elicit::<Name>("Whose?").await?;
        Ok::<_, HandlerError>(name.accepted().map_or_else(String::new, |it| it.name))
    };
    let server = Server::new("s", "1")
        .resource(Resource::new("x://asks", "asks", asks))
        .resource(Resource::new("x://asks/{v}", "asks", asks))
        .prompt(Prompt::new("asks", asks));
    let mut peer = Peer::with(server, json!({ "elicitation": {} }));
    for (method, params) in [
        ("resources/read", json!({ "uri": "x://asks" })),
        ("resources/read", json!({ "uri": "x://asks/1" })),
        ("prompts/get", named("asks", json!({}))),
    ] {
        let asked = peer.call(method, params.clone()).await;
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let question = &asked["inputRequests"]["name"];
        assert_eq!(question["method"], "elicitation/create");
        assert!(
            asked.get("ttlMs").is_none() && asked.get("cacheScope").is_none(),
            "{asked}"
        );
        let mut again = params;
        again["inputResponses"] =
            json!({ "name": { "action": "accept", "content": { "name": "Ann" } } });
        let done = peer.call(method, again).await;
        assert_eq!(done["resultType"], "complete", "{done}");
        assert!(done.to_string().contains("Ann"), "{done}");
    }
}

fn complete(reference: Value, argument: &str, value: &str) -> Value {
    json!({ "ref": reference, "argument": { "name": argument, "value": value } })
}

// proves: M-COMP-001, M-COMP-002, M-COMP-006, M-COMP-007, M-COMP-009
#[tokio::test]
async fn completion_serves_prompts_and_templates_and_checks_its_input() {
    let failing = Prompt::new("fails", |Args(it): Args<Name>| it.name)
        .complete("name", |_: CompletionRequest| -> Vec<String> {
            panic!("secret")
        });
    let mut peer = Peer::new(everything::server().prompt(failing));
    let told = peer.call("server/discover", json!({})).await;
    assert!(told["capabilities"]["completions"].is_object());
    let prompt = json!({ "type": "ref/prompt", "name": "test_prompt_with_arguments" });
    let template = json!({ "type": "ref/resource", "uri": "test://template/{id}/data" });
    let mut second = complete(prompt.clone(), "arg2", "x");
    second["context"] = json!({ "arguments": { "arg1": "first" } });
    for (asked, values) in [
        (
            complete(prompt.clone(), "arg1", "par"),
            json!(["paris", "park", "party", "compare"]),
        ),
        (complete(template, "id", "4"), json!(["456"])),
        (second, json!(["first-x"])),
    ] {
        let found = peer.call("completion/complete", asked).await;
        assert_eq!(found["completion"]["values"], values);
    }
    for bad in [
        json!({}),
        json!({ "ref": prompt }),
        complete(
            json!({ "type": "ref/prompt", "name": "no_such" }),
            "arg1",
            "",
        ),
        complete(
            json!({ "type": "ref/resource", "uri": "no://such" }),
            "id",
            "",
        ),
        complete(json!({ "type": "ref/other", "name": "x" }), "arg1", ""),
        complete(prompt.clone(), "no_such", ""),
        complete(prompt.clone(), "arg1", &"x".repeat(5_000)),
    ] {
        assert_eq!(
            peer.fails("completion/complete", bad.clone()).await,
            -32602,
            "{bad}"
        );
    }
    let fails = complete(json!({ "type": "ref/prompt", "name": "fails" }), "name", "");
    assert_eq!(peer.fails("completion/complete", fails).await, -32603);
    let mut plain = Peer::new(Server::new("s", "1").prompt(Prompt::new("p", || "x")));
    let asked = complete(json!({ "type": "ref/prompt", "name": "p" }), "a", "");
    assert_eq!(plain.fails("completion/complete", asked).await, -32601);
    let told = plain.call("server/discover", json!({})).await;
    assert!(told["capabilities"]["completions"].is_null());
}

// proves: M-COMP-012, M-MRTR-007
#[tokio::test]
async fn a_completion_cannot_ask() {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};
    let prompt = Prompt::new("p", |Args(it): Args<Name>| it.name).complete(
        "name",
        |it: CompletionRequest| {
            let asked =
                pin!(it.ctx.elicit::<Name>("Whose?")).poll(&mut Context::from_waker(Waker::noop()));
            match asked {
                Poll::Ready(Err(error)) => vec![error.to_string()],
                _ => panic!("it was asked"),
            }
        },
    );
    let mut peer = Peer::with(
        Server::new("s", "1").prompt(prompt),
        json!({ "elicitation": {} }),
    );
    let asked = complete(json!({ "type": "ref/prompt", "name": "p" }), "name", "");
    let found = peer.call("completion/complete", asked).await;
    assert_eq!(found["resultType"], "complete");
    let said = found["completion"]["values"][0].as_str().unwrap();
    assert!(
        said.contains("outside of tools, prompts and resources"),
        "{said}"
    );
}

// proves: M-COMP-004, M-COMP-005
#[tokio::test]
async fn at_most_a_hundred_values_are_sent() {
    let many = |n: usize| (0..n).map(|i| format!("v{i:03}")).collect::<Vec<_>>();
    let prompt = Prompt::new("p", |Args(it): Args<Name>| it.name)
        .complete("name", move |it: CompletionRequest| {
            many(it.value.parse().unwrap_or(0))
        });
    let mut peer = Peer::new(Server::new("s", "1").prompt(prompt));
    for (given, sent, more) in [("500", 100, true), ("100", 100, false), ("3", 3, false)] {
        let asked = complete(json!({ "type": "ref/prompt", "name": "p" }), "name", given);
        let found = peer.call("completion/complete", asked).await["completion"].take();
        assert_eq!(found["values"].as_array().unwrap().len(), sent, "{given}");
        assert_eq!(found["hasMore"] == true, more, "{given}: {found}");
    }
}
