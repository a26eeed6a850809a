//! Input requests that are not sent, or that get an invalid response.

use mcp_server::{Ctx, Elicitation, HandlerError, Server, Tool};
use mcp_types::{
    CreateMessageRequestParams, ElicitRequestFormParams, ElicitRequestParams, IncludeContext,
    SamplingMessage,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Peer, named, text};

/// Creates a server whose tool `ask` sends this sampling request.
fn sampling(params: Value) -> Server {
    let params: CreateMessageRequestParams = serde_json::from_value(params).unwrap();
    Server::new("s", "1").tool(Tool::new("ask", move |cx: Ctx| {
        let cx = cx.named("q");
        let params = params.clone();
        async move { Ok::<_, HandlerError>(cx.sample(params).await?.model) }
    }))
}

async fn missing(peer: &mut Peer) -> Value {
    let answer = peer.answer("tools/call", named("ask", json!({}))).await;
    assert_eq!(answer["error"]["code"], -32021, "{answer}");
    answer["error"]["data"]["requiredCapabilities"].clone()
}

fn said(role: &str) -> Value {
    json!({ "role": role, "content": { "type": "text", "text": "x" } })
}

// proves: M-SAMP-004, M-SAMP-006, M-SAMP-007, M-DEPR-005, M-META-010, M-MRTR-021
#[tokio::test]
async fn sampling_asks_only_for_what_the_request_declares() {
    let tools = json!([{ "name": "t", "inputSchema": { "type": "object" } }]);
    let with_tools = json!({ "messages": [said("user")], "maxTokens": 5, "tools": tools });
    let chosen =
        json!({ "messages": [said("user")], "maxTokens": 5, "toolChoice": { "mode": "none" } });
    for params in [with_tools.clone(), chosen] {
        let mut peer = Peer::new(sampling(params));
        assert_eq!(missing(&mut peer).await, json!({ "sampling": {} }));
        peer.capabilities = json!({ "sampling": {} });
        assert_eq!(
            missing(&mut peer).await,
            json!({ "sampling": { "tools": {} } })
        );
    }
    let mut peer = Peer::with(sampling(with_tools), json!({ "sampling": { "tools": {} } }));
    let asked = peer.tool("ask", json!({})).await;
    assert_eq!(
        asked["inputRequests"]["q"]["params"]["tools"][0]["name"],
        "t"
    );

    // The context is omitted unless it is requested and supported.
    let plain = json!({ "messages": [said("user")], "maxTokens": 5 });
    for context in [
        IncludeContext::AllServers,
        IncludeContext::ThisServer,
        IncludeContext::None,
    ] {
        let mut wants = plain.clone();
        wants["includeContext"] = json!(context);
        let mut peer = Peer::with(sampling(wants), json!({ "sampling": {} }));
        let asked = peer.tool("ask", json!({})).await;
        let sent = &asked["inputRequests"]["q"]["params"]["includeContext"];
        assert!(sent.is_null() || sent == "none", "{asked}");
        peer.capabilities = json!({ "sampling": { "context": {} } });
        let asked = peer.tool("ask", json!({})).await;
        assert_eq!(
            asked["inputRequests"]["q"]["params"]["includeContext"],
            json!(context)
        );
    }
    let mut peer = Peer::with(sampling(plain), json!({ "sampling": { "context": {} } }));
    let asked = peer.tool("ask", json!({})).await;
    let params = json!({ "messages": [said("user")], "maxTokens": 5 });
    assert_eq!(
        asked["inputRequests"],
        json!({ "q": { "method": "sampling/createMessage", "params": params } })
    );
}

// proves: M-SAMP-008, M-SAMP-009, M-SAMP-011, M-SAMP-025, M-SAMP-027
#[tokio::test]
async fn sampling_that_breaks_the_rules_is_never_sent() {
    let block = |kind: &str, id: &str| match kind {
        "use" => json!({ "type": "tool_use", "id": id, "name": "t", "input": {} }),
        _ => json!({ "type": "tool_result", "toolUseId": id, "content": [] }),
    };
    let message = |role: &str, blocks: &[Value]| json!({ "role": role, "content": blocks });
    let used = message("assistant", &[block("use", "a"), block("use", "b")]);
    let words = json!({ "type": "text", "text": "x" });
    let (a, b, c) = (
        block("result", "a"),
        block("result", "b"),
        block("result", "c"),
    );
    for (messages, needle) in [
        (json!([said("user"), used]), "no message has their results"),
        (json!([used, said("user")]), "exactly one result"),
        (
            json!([used, message("user", std::slice::from_ref(&a))]),
            "exactly one result",
        ),
        (
            json!([used, message("user", &[a.clone(), c.clone()])]),
            "exactly one result",
        ),
        (
            json!([used, message("user", &[a.clone(), b.clone(), words])]),
            "mixes",
        ),
        (json!([message("user", &[c])]), "does not precede it"),
        (json!([said("system")]), "unknown role"),
    ] {
        let params = json!({ "messages": messages, "maxTokens": 5 });
        let mut peer = Peer::with(sampling(params), json!({ "sampling": { "tools": {} } }));
        let failed = peer.tool("ask", json!({})).await;
        assert_eq!(failed["isError"], true, "{failed}");
        assert!(text(&failed).contains(needle), "{failed}");
    }
    let fine = json!({ "messages": [used, message("user", &[a, b])], "maxTokens": 5 });
    let mut peer = Peer::with(sampling(fine), json!({ "sampling": { "tools": {} } }));
    assert_eq!(
        peer.tool("ask", json!({})).await["resultType"],
        "input_required"
    );
}

// proves: M-SAMP-028
#[tokio::test]
async fn meta_of_tool_uses_and_results_is_sent_as_it_came() {
    let meta = json!({ "com.example/thought": ["signed"] });
    let uses = json!({ "type": "tool_use", "id": "a", "name": "t", "input": {}, "_meta": meta });
    let result = json!({ "type": "tool_result", "toolUseId": "a", "content": [], "_meta": meta });
    let messages = json!([
        { "role": "assistant", "content": [uses] },
        { "role": "user", "content": [result] }
    ]);
    let params = json!({ "messages": messages, "maxTokens": 5 });
    let mut peer = Peer::with(sampling(params), json!({ "sampling": { "tools": {} } }));
    let asked = peer.tool("ask", json!({})).await;
    let sent = &asked["inputRequests"]["q"]["params"]["messages"];
    assert_eq!(sent[0]["content"][0]["_meta"], meta);
    assert_eq!(sent[1]["content"][0]["_meta"], meta);
}

// proves: M-SAMP-020, M-SAMP-023
#[tokio::test]
async fn any_stop_reason_is_read_and_malformed_content_is_requested_again() {
    let params = json!({ "messages": [said("user")], "maxTokens": 5 });
    let mut peer = Peer::with(sampling(params), json!({ "sampling": {} }));
    let block = json!({ "type": "text", "text": "x" });
    for (content, reason) in [(block.clone(), "endTurn"), (json!([block]), "out_of_paper")] {
        let answer =
            json!({ "role": "assistant", "content": content, "model": "m", "stopReason": reason });
        let more = json!({ "inputResponses": { "q": answer } });
        assert_eq!(text(&peer.tool("ask", more).await), "m");
    }
    for content in [
        json!("x"),
        json!([7]),
        json!({ "type": "image" }),
        Value::Null,
    ] {
        let answer = json!({ "role": "assistant", "content": content, "model": "m" });
        let more = json!({ "inputResponses": { "q": answer } });
        let asked = peer.tool("ask", more).await;
        assert_eq!(asked["resultType"], "input_required", "{content}: {asked}");
    }
}

#[derive(Deserialize, JsonSchema)]
struct Account {
    name: String,
    age: u8,
    #[schemars(extend("format" = "email"))]
    mail: Option<String>,
}

/// Tools that request input by form, by URL, and by a hand-written form.
fn forms() -> Server {
    let ask = Tool::new("form", async |cx: Ctx| {
        Ok::<_, HandlerError>(
            match cx.named("q").elicit::<Account>("Who are you?").await? {
                Elicitation::Accepted(it) => format!("{} {} {:?}", it.name, it.age, it.mail),
                Elicitation::Declined => "declined".to_owned(),
                Elicitation::Cancelled => "cancelled".to_owned(),
            },
        )
    });
    let url = Tool::new("url", async |cx: Ctx| {
        let visit = cx
            .named("q")
            .elicit_url("Sign in", "https://example.com/in")
            .await?;
        let told = visit.complete();
        Ok::<_, HandlerError>(format!("{} {told}", visit.accepted))
    });
    let bad = Tool::new("bad", async |cx: Ctx| {
        cx.elicit_url("Sign in", "not a url").await?;
        Ok::<_, HandlerError>("never")
    });
    Server::new("s", "1").tool(ask).tool(url).tool(bad)
}

fn answered(action: &str, content: Value) -> Value {
    let mut answer = json!({ "action": action });
    if !content.is_null() {
        answer["content"] = content;
    }
    json!({ "inputResponses": { "q": answer } })
}

// proves: M-ELIC-011, M-ELIC-012, M-ELIC-014, M-ELIC-015, M-ELIC-016, M-ELIC-018, M-ELIC-019, M-ELIC-020
#[tokio::test]
async fn a_form_has_a_flat_schema_and_a_url_is_one() {
    let modes = json!({ "elicitation": { "form": {}, "url": {} } });
    let mut peer = Peer::with(forms(), modes);
    let asked = peer.tool("form", json!({})).await;
    let params = &asked["inputRequests"]["q"]["params"];
    assert_eq!(params["message"], "Who are you?");
    assert!(params["mode"].is_null() || params["mode"] == "form");
    let schema = &params["requestedSchema"];
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["required"], json!(["name", "age"]));
    let kinds = ["name", "age", "mail"].map(|name| schema["properties"][name]["type"].clone());
    assert_eq!(kinds, ["string", "integer", "string"].map(Value::from));
    assert_eq!(schema["properties"]["mail"]["format"], "email");

    let asked = peer.tool("url", json!({})).await;
    assert_eq!(
        asked["inputRequests"]["q"],
        json!({ "method": "elicitation/create", "params": {
            "mode": "url", "message": "Sign in", "url": "https://example.com/in"
        } })
    );
    // The stateless revision has no notification for the completion.
    let done = peer.tool("url", answered("accept", Value::Null)).await;
    assert_eq!(text(&done), "true false");
    peer.silent().await;
    assert_eq!(peer.tool("bad", json!({})).await["isError"], true);
}

// proves: M-ELIC-015, M-ELIC-016
#[tokio::test]
async fn a_form_that_is_not_flat_is_never_sent() {
    for property in [
        json!({ "type": "object", "properties": {} }),
        json!({ "type": "array", "items": { "type": "object" } }),
        json!({ "type": "string", "format": "ipv4" }),
        json!({ "type": "null" }),
    ] {
        let schema = json!({ "type": "object", "properties": { "x": property } });
        let Ok(schema) = serde_json::from_value(schema) else {
            continue;
        };
        let params = ElicitRequestParams::Form(ElicitRequestFormParams::new("x", schema));
        let ask = Tool::new("ask", move |cx: Ctx| {
            let params = params.clone();
            async move { cx.elicit_raw(params).await.map(|_| "answered") }
        });
        let mut peer = Peer::with(
            Server::new("s", "1").tool(ask),
            json!({ "elicitation": {} }),
        );
        let failed = peer.tool("ask", json!({})).await;
        assert_eq!(failed["isError"], true, "{property}: {failed}");
    }
}

// proves: M-DEPR-007
#[tokio::test]
async fn choices_with_titles_use_one_of() {
    let mut peer = Peer::with(
        mcp_tests::everything::server(),
        json!({ "elicitation": {} }),
    );
    let asked = peer.tool("test_elicitation_sep1330_enums", json!({})).await;
    let questions = asked["inputRequests"].as_object().unwrap();
    let question = questions.values().next().unwrap();
    let fields = &question["params"]["requestedSchema"]["properties"];
    let first = json!({ "const": "value1", "title": "First Option" });
    assert_eq!(fields["titledSingle"]["oneOf"][0], first);
    assert!(fields["titledSingle"].get("enumNames").is_none());
}

// proves: M-ELIC-008, M-ELIC-010
#[tokio::test]
async fn only_declared_modes_are_requested() {
    for (elicitation, form, url) in [
        (json!({}), true, false),
        (json!({ "form": {} }), true, false),
        (json!({ "url": {} }), false, true),
        (json!({ "form": {}, "url": {} }), true, true),
    ] {
        let mut peer = Peer::with(forms(), json!({ "elicitation": elicitation }));
        for (tool, can) in [("form", form), ("url", url)] {
            let answer = peer.answer("tools/call", named(tool, json!({}))).await;
            if can {
                assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
            } else {
                let needed = json!({ "requiredCapabilities": { "elicitation": { tool: {} } } });
                assert_eq!(answer["error"]["code"], -32021, "{answer}");
                assert_eq!(answer["error"]["data"], needed);
            }
        }
    }
}

// proves: M-ELIC-023, M-ELIC-031, M-ELIC-032, M-ELIC-047
#[tokio::test]
async fn each_action_reaches_the_handler_and_a_wrong_answer_does_not() {
    let mut peer = Peer::with(forms(), json!({ "elicitation": {} }));
    let right = json!({ "name": "Ann", "age": 7, "mail": "a@b.example" });
    for (more, said) in [
        (answered("accept", right), "Ann 7 Some(\"a@b.example\")"),
        (answered("decline", Value::Null), "declined"),
        (answered("cancel", Value::Null), "cancelled"),
    ] {
        assert_eq!(text(&peer.tool("form", more).await), said);
    }
    for more in [
        answered("accept", Value::Null),
        answered("accept", json!({ "name": "Ann" })),
        answered("accept", json!({ "name": "Ann", "age": "7" })),
        answered(
            "accept",
            json!({ "name": "Ann", "age": 7, "mail": "nowhere" }),
        ),
        answered("accept", json!({ "name": "Ann", "age": 700 })),
        answered("agree", json!({ "name": "Ann", "age": 7 })),
        json!({ "inputResponses": { "q": { "code": -1, "message": "no" } } }),
    ] {
        let asked = peer.tool("form", more.clone()).await;
        assert_eq!(asked["resultType"], "input_required", "{more}: {asked}");
    }
}

// proves: M-ROOT-006, M-ROOT-008
#[tokio::test]
async fn roots_are_requested_if_declared_and_invalid_ones_again() {
    let roots = Tool::new("ask", async |cx: Ctx| {
        let roots = cx.named("q").roots().await?;
        Ok::<_, HandlerError>(format!("{} roots", roots.len()))
    });
    let mut peer = Peer::new(Server::new("s", "1").tool(roots));
    assert_eq!(missing(&mut peer).await, json!({ "roots": {} }));
    peer.capabilities = json!({ "roots": {} });
    let asked = peer.tool("ask", json!({})).await;
    assert_eq!(asked["inputRequests"]["q"]["method"], "roots/list");
    for bad in [
        json!({}),
        json!({ "roots": 7 }),
        json!({ "roots": [{}] }),
        Value::Null,
    ] {
        let asked = peer
            .tool("ask", json!({ "inputResponses": { "q": bad } }))
            .await;
        assert_eq!(asked["resultType"], "input_required", "{bad}");
    }
    let none = json!({ "inputResponses": { "q": { "roots": [] } } });
    assert_eq!(text(&peer.tool("ask", none).await), "0 roots");
}

// proves: M-SAMP-011
#[tokio::test]
async fn a_message_has_a_role_and_content() {
    let message = json!(SamplingMessage::user("Hi"));
    assert_eq!(
        message,
        json!({ "role": "user", "content": { "type": "text", "text": "Hi" } })
    );
}
