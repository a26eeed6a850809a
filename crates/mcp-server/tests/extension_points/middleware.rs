//! Middleware, custom methods and extensions, at every revision.

use std::sync::{Arc, Mutex};

use mcp_server::middleware::{
    Direction, Middleware, Next, NextNotification, Notification, Request, Response,
};
use mcp_server::testing::{TestClient, block_on};
use mcp_server::types::JsonObject;
use mcp_server::{
    Args, Ctx, ErrorCode, ErrorObject, Json, LoggingLevel, Prompt, Resource, Revision, Server,
    ServerBuilder, Tool,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// What middleware saw, in order.
#[derive(Clone, Default)]
struct Records(Arc<Mutex<Vec<String>>>);

impl Records {
    fn add(&self, text: impl Into<String>) {
        self.0.lock().unwrap().push(text.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// Records requests, responses and notifications under a name.
struct Recorder(&'static str, Records);

impl Middleware for Recorder {
    async fn request(&self, request: Request, next: Next) -> Response {
        let (name, method) = (self.0, request.method().to_owned());
        let direction = match request.direction() {
            Direction::Inbound => ">",
            Direction::Outbound => "<",
        };
        self.1.add(format!("{name} {direction} {method}"));
        let response = next.run(request).await;
        let kind = match (response.as_error(), response.is_tool_error()) {
            (Some(error), _) => format!("error {}", error.code.0),
            (None, true) => "tool error".to_owned(),
            (None, false) => "result".to_owned(),
        };
        self.1.add(format!("{name} {method}: {kind}"));
        response
    }

    fn notification(&self, notification: Notification<'_>, next: NextNotification<'_>) {
        self.1
            .add(format!("{} ! {}", self.0, notification.method()));
        next.run(notification);
    }
}

fn tools() -> ServerBuilder {
    Server::builder("s", "1")
        .tool(Tool::new("ok", || "ok"))
        .tool(Tool::new("blocking", || "blocked").blocking())
        .tool(Tool::new("bad", || Err::<(), _>("bad")))
        .tool(Tool::new("refused", || {
            Err::<(), _>(ErrorObject::new(ErrorCode(7), "refused"))
        }))
}

/// Calls a tool and returns what `records` saw of the call alone.
fn calls(client: &TestClient, records: &Records, tool: &str) -> Vec<String> {
    block_on(client.call_tool("ok", json!({}))).unwrap();
    records.take();
    let _ = block_on(client.call_tool(tool, json!({})));
    records.take()
}

pub(super) fn the_first_middleware_is_the_outermost(revision: Revision) {
    let records = Records::default();
    let server = tools()
        .layer(Recorder("a", records.clone()))
        .layer(Recorder("b", records.clone()));
    let client = TestClient::at(revision, server);
    for (tool, response) in [
        ("ok", "result"),
        ("blocking", "result"),
        ("bad", "tool error"),
        ("refused", "error 7"),
    ] {
        let expected = [
            "a > tools/call".to_owned(),
            "b > tools/call".to_owned(),
            format!("b tools/call: {response}"),
            format!("a tools/call: {response}"),
        ];
        assert_eq!(
            calls(&client, &records, tool),
            expected,
            "{revision} {tool}"
        );
    }
}

pub(super) fn middleware_receives_the_handshake_and_unknown_methods() {
    for revision in Revision::WITH_SESSIONS {
        let records = Records::default();
        let client = TestClient::at(revision, tools().layer(Recorder("a", records.clone())));
        block_on(client.request("ping", json!({}))).unwrap();
        block_on(client.request("nope", json!({}))).unwrap_err();
        let expected = [
            "a > initialize",
            "a initialize: result",
            "a ! notifications/initialized",
            "a > ping",
            "a ping: result",
            "a > nope",
            "a nope: error -32601",
        ];
        assert_eq!(records.take(), expected, "{revision}");
    }
    let records = Records::default();
    let client = TestClient::new(tools().layer(Recorder("a", records.clone())));
    block_on(client.request("server/discover", json!({}))).unwrap();
    let expected = ["a > server/discover", "a server/discover: result"];
    assert_eq!(records.take(), expected);
}

pub(super) fn a_middleware_answers_changes_and_refuses(revision: Revision) {
    let echo = Tool::new("echo", |Args(value): Args<JsonObject>| Json(value));
    let server =
        Server::builder("s", "1")
            .tool(echo)
            .layer(async |mut request: Request, next: Next| {
                let mut params: Value = request.decode_params().unwrap();
                match params["arguments"]["do"].as_str() {
                    Some("answer") => Response::result(json!({ "content": [], "from": "layer" })),
                    Some("refuse") => Response::error(ErrorObject::new(ErrorCode(9), "no")),
                    Some("params") => {
                        params["arguments"]["added"] = json!(1);
                        request.set_params(&params).unwrap();
                        next.run(request).await
                    }
                    Some("result") => {
                        let response = next.run(request).await;
                        let mut result: JsonObject = response.decode_result().unwrap().unwrap();
                        result.insert("changed".into(), true.into());
                        Response::result(result)
                    }
                    _ => next.run(request).await,
                }
            });
    let client = TestClient::at(revision, server);
    let call = |what: &str| {
        let params = json!({ "name": "echo", "arguments": { "do": what } });
        block_on(client.request("tools/call", params))
    };
    assert_eq!(call("answer").unwrap()["from"], "layer", "{revision}");
    assert_eq!(call("refuse").unwrap_err().code.0, 9, "{revision}");
    let text = call("params").unwrap()["content"][0]["text"].take();
    assert!(text.as_str().unwrap().contains("\"added\":1"), "{text}");
    assert_eq!(call("result").unwrap()["changed"], true, "{revision}");
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    #[expect(dead_code, reason = "only the type is used")]
    sure: bool,
}

pub(super) fn messages_of_a_handler_pass_from_the_inside_to_the_outside(revision: Revision) {
    let records = Records::default();
    let tool = Tool::new("ask", async |cx: Ctx| {
        cx.log(LoggingLevel::Error, "careful");
        let asked = cx.elicit::<Confirm>("Sure?").await;
        asked.map(|_| "done").map_err(|error| error.to_string())
    });
    let server = Server::builder("s", "1")
        .tool(tool.layer(Recorder("t", records.clone())))
        .layer(Recorder("a", records.clone()))
        .layer(Recorder("b", records.clone()));
    let client = TestClient::at(revision, server).answer_forms(|_, _| json!({ "sure": true }));
    if revision.is_stateless() {
        block_on(client.request("server/discover", json!({}))).unwrap();
    } else {
        block_on(client.request("ping", json!({}))).unwrap();
    }
    records.take();
    block_on(client.call_tool("ask", json!({}))).unwrap();
    let records = records.take();
    let count = |text: &str| records.iter().filter(|line| *line == text).count();
    let has_forms = revision.rules().elicitation;
    for name in ["a", "b", "t"] {
        let asked = usize::from(has_forms);
        let what = format!("{name} < elicitation/create");
        assert_eq!(count(&what), asked, "{revision}: {records:?}");
    }
    let position = |text: &str| records.iter().position(|line| line == text).unwrap();
    let logged = ["t", "b", "a"].map(|name| position(&format!("{name} ! notifications/message")));
    assert!(logged.is_sorted(), "{revision}: {records:?}");
    if has_forms {
        let asked = ["t", "b", "a"].map(|name| position(&format!("{name} < elicitation/create")));
        assert!(asked.is_sorted(), "{revision}: {records:?}");
    }
}

pub(super) fn a_middleware_can_answer_for_the_client(revision: Revision) {
    if !revision.rules().elicitation {
        return;
    }
    let server = Server::builder("s", "1")
        .tool(Tool::new("ask", async |cx: Ctx| {
            match cx.elicit::<Confirm>("Sure?").await {
                Ok(answer) => format!("{answer:?}"),
                Err(error) => error.to_string(),
            }
        }))
        .layer(async |request: Request, next: Next| {
            if request.direction() == Direction::Outbound {
                return Response::result(json!({ "action": "decline" }));
            }
            next.run(request).await
        });
    let client =
        TestClient::at(revision, server).answer_forms(|_, _| panic!("the middleware answers"));
    let said = block_on(client.call_tool("ask", json!({}))).unwrap();
    assert!(
        said.joined_text().contains("Decline"),
        "{revision}: {said:?}"
    );
}

impl std::fmt::Debug for Confirm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Confirm")
    }
}

pub(super) fn a_panic_fails_one_request_and_drops_one_notification(_: Revision) {
    struct Panics;
    impl Middleware for Panics {
        async fn request(&self, request: Request, next: Next) -> Response {
            assert!(!request.params().unwrap_or_default().contains("panic"));
            next.run(request).await
        }

        fn notification(&self, notification: Notification<'_>, next: NextNotification<'_>) {
            assert!(!notification.params().unwrap_or_default().contains("panic"));
            next.run(notification);
        }
    }
    for revision in Revision::ALL {
        let records = Records::default();
        let heard = records.clone();
        let server = tools()
            .tool(Tool::new("panic", || "unreachable"))
            .on_notification("com.example/tick", move |Args(params): Args<JsonObject>| {
                heard.add(params["text"].as_str().unwrap_or_default());
            })
            .layer(Panics);
        let client = TestClient::at(revision, server);
        let error = block_on(client.call_tool("panic", json!({}))).unwrap_err();
        assert_eq!(error.code, ErrorCode::INTERNAL_ERROR, "{revision}");
        assert!(block_on(client.call_tool("ok", json!({}))).is_ok());
        for text in ["panic", "fine"] {
            let params = json!({ "text": text });
            block_on(client.notify("com.example/tick", params)).unwrap();
        }
        assert_eq!(records.take(), ["fine"], "{revision}");
    }
}

pub(super) fn items_and_mounted_servers_have_their_own_middleware(revision: Revision) {
    let records = Records::default();
    let inner = Server::builder("inner", "1")
        .tool(Tool::new("ok", || "ok").layer(Recorder("tool", records.clone())))
        .prompt(Prompt::new("p", || "p"))
        .resource(Resource::text("data://x", "x", "x"))
        .layer(Recorder("inner", records.clone()));
    let server = tools().mount("m", inner);
    let client = TestClient::at(revision, server);
    assert_eq!(calls(&client, &records, "ok"), [""; 0], "{revision}");
    let expected = [
        "inner > tools/call",
        "tool > tools/call",
        "tool tools/call: result",
        "inner tools/call: result",
    ];
    assert_eq!(calls(&client, &records, "m_ok"), expected, "{revision}");
    block_on(client.get_prompt("m_p", json!({}))).unwrap();
    let expected = ["inner > prompts/get", "inner prompts/get: result"];
    assert_eq!(records.take(), expected, "{revision}");
    block_on(client.read_resource("data://m/x")).unwrap();
    let expected = ["inner > resources/read", "inner resources/read: result"];
    assert_eq!(records.take(), expected, "{revision}");
}
