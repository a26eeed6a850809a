//! Elicitation by form, and the elicitation modes that a client declares.

use mcp_server::{Ask, Elicitation, ServerBuilder};
use mcp_types::{ElicitRequestFormParams, ElicitRequestParams};

use super::{Peer, answered, asked, failed, named, text, undeclared};
use crate::prelude::*;

#[derive(Serialize, Deserialize, JsonSchema)]
struct Account {
    /// Your name.
    #[schemars(length(min = 2))]
    name: String,
    age: u8,
    #[schemars(extend("format" = "email"))]
    mail: Option<String>,
    kind: Kind,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Person,
    Robot,
}

/// Creates a server whose tool `ask` requests an account, and `url` a visit to a URL.
fn account() -> ServerBuilder {
    let ask = async |cx: Ctx| {
        Ok::<_, HandlerError>(match cx.elicit::<Account>("Which account?").await? {
            Elicitation::Accepted(account) => format!("{} is {}", account.name, account.age),
            Elicitation::Declined => "declined".to_owned(),
            Elicitation::Cancelled => "cancelled".to_owned(),
        })
    };
    let url = async |cx: Ctx| {
        let visit = cx.elicit_url("Sign in", "https://example.com/in").await?;
        Ok::<_, HandlerError>(visit.accepted().is_some().to_string())
    };
    Server::builder("s", "1")
        .tool(Tool::new("ask", ask))
        .tool(Tool::new("url", url))
}

/// Creates a server whose tool `ask` sends a form with this schema.
fn raw_form(schema: Value) -> ServerBuilder {
    Server::builder("s", "1").tool(Tool::new("ask", move |cx: Ctx| {
        let schema = schema.clone();
        async move {
            let params = ElicitRequestFormParams::new("?", serde_json::from_value(schema)?);
            let result = cx.elicit_raw(ElicitRequestParams::Form(params)).await?;
            Ok::<_, HandlerError>(result.action.as_str().to_owned())
        }
    }))
}

fn accepted(content: Value) -> Value {
    json!({ "action": "accept", "content": content })
}

// proves: ELIC-012, ELIC-015, ELIC-016, ELIC-017, ELIC-018, ELIC-019, ELIC-022, BASE-027
// proves: M-ELIC-011, M-ELIC-012, M-ELIC-014, M-ELIC-015, M-ELIC-016
#[tokio::test]
async fn a_form_is_made_from_a_type() {
    for is_stateless in [false, true] {
        let capabilities = json!({ "elicitation": {} });
        let mut peer = Peer::open(account(), capabilities, is_stateless).await;
        let params = asked(&mut peer, "ask").await["params"].take();
        assert_eq!(params["message"], "Which account?");
        assert!(params["mode"].is_null() || params["mode"] == "form");
        let schema = &params["requestedSchema"];
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["required"], json!(["name", "age", "kind"]));
        let name = &schema["properties"]["name"];
        assert_eq!(name["type"], "string");
        assert_eq!(name["minLength"], 2);
        assert_eq!(name["description"], "Your name.");
        assert_eq!(schema["properties"]["age"]["type"], "integer");
        let mail = json!({ "type": "string", "format": "email" });
        assert_eq!(schema["properties"]["mail"], mail);
        let kind = json!({ "type": "string", "enum": ["person", "robot"] });
        assert_eq!(schema["properties"]["kind"], kind);
    }
}

// proves: M-ELIC-015, M-ELIC-016
#[tokio::test]
async fn a_form_that_is_not_flat_is_never_sent() {
    for is_stateless in [false, true] {
        for property in [
            json!({ "type": "object", "properties": {} }),
            json!({ "type": "array", "items": { "type": "object" } }),
            json!({ "type": "string", "format": "ipv4" }),
            json!({ "type": "null" }),
        ] {
            let schema = json!({ "type": "object", "properties": { "x": property } });
            let capabilities = json!({ "elicitation": {} });
            let mut peer = Peer::open(raw_form(schema), capabilities, is_stateless).await;
            failed(&mut peer, "").await;
        }
    }
}

#[tokio::test]
async fn a_nested_form_is_refused_before_it_is_sent() {
    #[derive(Deserialize, JsonSchema)]
    struct Nested {
        #[expect(dead_code, reason = "never reached")]
        account: Account,
    }
    let server = Server::builder("s", "1").tool(Tool::new("ask", async |cx: Ctx| {
        cx.elicit::<Nested>("Which account?").await.map(|_| "never")
    }));
    let mut peer = Peer::session(server, json!({ "elicitation": {} })).await;
    failed(&mut peer, "account").await;
}

#[tokio::test]
async fn responses_to_raw_forms_are_validated() {
    let property = json!({ "type": "integer", "minimum": 5 });
    let server = raw_form(json!({ "type": "object", "properties": { "n": property } }));
    let mut peer = Peer::session(server, json!({ "elicitation": {} })).await;
    for (n, fits) in [(7, true), (3, false)] {
        let result = answered(&mut peer, "ask", accepted(json!({ "n": n }))).await;
        assert_eq!(result["isError"] != true, fits, "{result}");
    }
}

// proves: ELIC-047, ELIC-048, ELIC-076, M-ELIC-023, M-ELIC-031, M-ELIC-032, M-ELIC-047
#[tokio::test]
async fn each_user_action_reaches_the_handler_and_an_invalid_answer_does_not() {
    let fine = json!({ "name": "Ada", "age": 36, "kind": "person", "mail": "a@b.example" });
    let with = |member: &str, value: Value| {
        let mut content = fine.clone();
        content[member] = value;
        accepted(content)
    };
    for is_stateless in [false, true] {
        let capabilities = json!({ "elicitation": {} });
        let mut peer = Peer::open(account(), capabilities, is_stateless).await;
        for (answer, said) in [
            (accepted(fine.clone()), "Ada is 36"),
            (json!({ "action": "decline" }), "declined"),
            (
                json!({ "action": "cancel", "content": { "x": 1 } }),
                "cancelled",
            ),
        ] {
            assert_eq!(text(&answered(&mut peer, "ask", answer).await), said);
        }
        // In a session the call fails and says why; a stateless client is asked again.
        for (answer, problem) in [
            (json!({ "action": "accept" }), "\"name\""),
            (accepted(json!({ "name": "Ada" })), "\"age\""),
            (with("name", json!("A")), "\"name\""),
            (with("age", json!(300)), "does not match"),
            (with("age", json!("7")), "\"age\""),
            (with("mail", json!("nowhere")), "\"mail\""),
            (with("kind", json!("cat")), "\"kind\""),
            (json!({ "action": "shrug" }), "shrug"),
            (json!({ "action": "agree", "content": fine }), "agree"),
            (json!({ "action": 5 }), "does not match"),
            (json!({ "code": -1, "message": "no" }), "action"),
            (json!({}), "action"),
        ] {
            let result = answered(&mut peer, "ask", answer.clone()).await;
            if is_stateless {
                assert_eq!(result["resultType"], "input_required", "{answer}: {result}");
            } else {
                assert_eq!(result["isError"], true, "{answer}: {result}");
                assert!(text(&result).contains(problem), "{answer}: {result}");
            }
        }
    }
    let mut peer = Peer::session(account(), json!({ "elicitation": {} })).await;
    let request = asked(&mut peer, "ask").await;
    peer.wire.refuse(&request, -32602, "no forms today").await;
    let result = peer.wire.recv().await["result"].take();
    assert!(text(&result).contains("no forms today"), "{result}");
}

// proves: ELIC-009, ELIC-011, M-ELIC-008, M-ELIC-010
#[tokio::test]
async fn only_declared_modes_are_requested() {
    for (elicitation, form, url) in [
        (json!({}), true, false),
        (json!({ "form": {} }), true, false),
        (json!({ "url": {} }), false, true),
        (json!({ "form": {}, "url": {} }), true, true),
    ] {
        for (tool, mode, is_declared) in [("ask", "form", form), ("url", "url", url)] {
            let capabilities = json!({ "elicitation": elicitation });
            let mut session = Peer::session(account(), capabilities.clone()).await;
            let mut stateless = Peer::with(account(), capabilities);
            if is_declared {
                for peer in [&mut session, &mut stateless] {
                    let request = asked(peer, tool).await;
                    assert_eq!(request["method"], "elicitation/create", "{elicitation}");
                }
                continue;
            }
            assert_eq!(
                session.tool(tool, json!({})).await["isError"],
                true,
                "{elicitation}"
            );
            let call = named(tool, json!({}));
            let error = stateless.expect_error("tools/call", call, -32021).await;
            let needed = json!({ "requiredCapabilities": { "elicitation": { mode: {} } } });
            assert_eq!(error["data"], needed);
        }
    }
}

/// Really do it?
#[derive(Deserialize, JsonSchema)]
struct Confirm {
    sure: bool,
}

#[tokio::test]
async fn an_ask_parameter_is_resolved_before_the_handler_runs() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let server =
        Server::builder("s", "1").tool(Tool::new("ask", move |Ask(confirm): Ask<Confirm>| {
            counted.fetch_add(1, Ordering::SeqCst);
            confirm.sure
        }));
    let server = server.build().unwrap();
    let mut peer = Peer::session(server.clone(), json!({ "elicitation": {} })).await;
    let request = asked(&mut peer, "ask").await;
    assert_eq!(request["params"]["message"], "Really do it?");
    peer.wire
        .answer(&request, accepted(json!({ "sure": true })))
        .await;
    assert_eq!(text(&peer.wire.recv().await["result"]), "true");
    for (action, said) in [
        ("decline", "the user declined"),
        ("cancel", "the user gave no answer"),
    ] {
        let result = answered(&mut peer, "ask", json!({ "action": action })).await;
        assert_eq!(text(&result), said);
    }
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    let mut peer = Peer::session(server, json!({})).await;
    undeclared(&mut peer, json!({}), "elicitation").await;
}

// proves: ELIC-023, ELIC-025, ELIC-026, M-DEPR-007
#[tokio::test]
async fn every_kind_of_choice_is_sent_as_built() {
    let tool = "test_elicitation_sep1330_enums";
    for is_stateless in [false, true] {
        let capabilities = json!({ "elicitation": {} });
        let mut peer = Peer::open(everything::server(), capabilities, is_stateless).await;
        let request = asked(&mut peer, tool).await;
        let fields = &request["params"]["requestedSchema"]["properties"];
        let first = json!({ "const": "value1", "title": "First Option" });
        assert_eq!(fields["titledSingle"]["oneOf"][0], first);
        assert!(fields["titledSingle"].get("enumNames").is_none());
        let third = &fields["titledMulti"]["items"]["anyOf"][2];
        assert_eq!(third["const"], "value3");
        assert_eq!(fields["legacyEnum"]["enumNames"][1], "Option Two");
        assert_eq!(fields["untitledMulti"]["maxItems"], 3);
        if is_stateless {
            continue;
        }
        let content = json!({
            "untitledSingle": "option1",
            "titledSingle": "value2",
            "legacyEnum": "opt3",
            "untitledMulti": ["option1", "option2"],
            "titledMulti": ["value3"]
        });
        peer.wire.answer(&request, accepted(content)).await;
        let result = peer.wire.recv().await["result"].take();
        let said = text(&result);
        assert!(
            said.contains("value2") && said.contains("[\"value3\"]"),
            "{said}"
        );
    }
}
