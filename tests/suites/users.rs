//! Users of one server: only the asked user can respond, data stays with its user, and invisible
//! items do not exist.

use std::collections::BTreeMap;

use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use mcp_protocol::Session;
use mcp_server::{Elicitation, ServerBuilder};
use mcp_tests::http::{Peer, Reply};
use mcp_tests::wire::initialize_params;
use mcp_types::PromptArgument;

use crate::features::LISTS;
use crate::prelude::*;

#[derive(Serialize, Deserialize, JsonSchema)]
struct Key {
    key: String,
    /// The name that the user enters.
    user: Option<String>,
}

/// `ask` stores what its user enters, for that user; `tell` returns what is stored for the caller.
fn server() -> ServerBuilder {
    type Kept = Arc<Mutex<BTreeMap<Principal, String>>>;
    let kept = Kept::default();
    let tells = Arc::clone(&kept);
    Server::builder("keeps", "1")
        .tool(Tool::new("ask", move |cx: Ctx| {
            let kept = Arc::clone(&kept);
            async move {
                let Some(user) = cx.principal().cloned() else {
                    return Err(HandlerError::new("there is no user"));
                };
                let Elicitation::Accepted(entered) = cx.elicit::<Key>("Enter your key").await?
                else {
                    return Ok("nothing".to_owned());
                };
                kept.lock().unwrap().insert(user, entered.key);
                Ok("kept".to_owned())
            }
        }))
        .tool(Tool::new("tell", move |cx: Ctx| {
            let kept = tells.lock().unwrap();
            let mine = cx.principal().and_then(|user| kept.get(user));
            mine.cloned().unwrap_or_else(|| "nothing".to_owned())
        }))
}

/// Opens a session of this user, or without a user.
async fn open(endpoint: &Endpoint, user: Option<&str>) -> Peer {
    let mut peer = Peer::new(endpoint);
    peer.principal = user.map(Principal::new);
    let capabilities = json!({ "elicitation": {} });
    peer.handshake("2025-11-25", capabilities).await;
    peer
}

/// Starts a call of `ask`; returns the response in flight and the server request.
async fn ask(peer: &Peer) -> (Reply, Value) {
    let mut call = peer.tool("call", "ask", json!({})).await;
    let question = call.message().await.unwrap();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    (call, question)
}

fn answer(question: &Value, content: Value) -> Value {
    let result = json!({ "action": "accept", "content": content });
    json!({ "jsonrpc": "2.0", "id": question["id"], "result": result })
}

async fn tell(peer: &Peer) -> String {
    peer.tool("tell", "tell", json!({})).await.said().await
}

// proves: ELIC-050, ELIC-058, ELIC-078, SEC-007
#[tokio::test]
async fn only_the_requested_client_can_respond() {
    let endpoint = Endpoint::new(server()).unwrap();
    let alice = open(&endpoint, Some("alice")).await;
    let bob = open(&endpoint, Some("bob")).await;
    let (mut call, question) = ask(&alice).await;
    let forged = answer(&question, json!({ "key": "forged" }));
    // In another session it is the response to no server request.
    assert_eq!(bob.post(forged.clone()).await.status, 202);
    // The session id is useless without the token of its user.
    for user in [Some("bob"), None] {
        let mut thief = alice.clone();
        thief.principal = user.map(Principal::new);
        assert_eq!(thief.post(forged.clone()).await.status, 404);
    }
    // Another session of the same user cannot respond either.
    let elsewhere = open(&endpoint, Some("alice")).await;
    assert_eq!(elsewhere.post(forged).await.status, 202);
    assert_eq!(tell(&alice).await, "nothing");
    alice
        .post(answer(&question, json!({ "key": "hers" })))
        .await;
    let result = call.message().await.unwrap();
    assert_eq!(result["result"]["content"][0]["text"], "kept");
    assert_eq!(tell(&alice).await, "hers");
}

// proves: ELIC-049, ELIC-052, ELIC-074
#[tokio::test]
async fn form_input_is_stored_for_the_verified_user_and_not_for_a_claimed_user() {
    let endpoint = Endpoint::new(server()).unwrap();
    let (alice, bob) = (
        open(&endpoint, Some("alice")).await,
        open(&endpoint, Some("bob")).await,
    );
    let (mut call, question) = ask(&bob).await;
    let content = json!({ "key": "his", "user": "alice" });
    bob.post(answer(&question, content)).await;
    call.message().await.unwrap();
    assert_eq!(tell(&alice).await, "nothing");
    assert_eq!(tell(&bob).await, "his");
    // The same user finds it in another session, and without a user it is not visible.
    assert_eq!(tell(&open(&endpoint, Some("bob")).await).await, "his");
    assert_eq!(tell(&open(&endpoint, None).await).await, "nothing");
}

// A custom scheme: a header, and a layer before the endpoint that understands it.
// proves: BASE-018, M-AUTH-005
#[tokio::test]
async fn a_custom_authentication_scheme_is_passed_to_the_server() {
    let endpoint = Endpoint::new(server()).unwrap();
    let router = axum::Router::new()
        .route_service("/mcp", endpoint)
        .layer(from_fn(check_badge));
    let (listener, address) = listen().await;
    tokio::spawn(async move { axum::serve(listener, router).await });
    let connect = async |badge: Option<&str>| {
        let mut transport = HttpTransport::new(format!("http://{address}/mcp")).unwrap();
        if let Some(badge) = badge {
            transport = transport.header("x-badge", badge).unwrap();
        }
        let builder = Client::builder("host", "1")
            .on_elicit(async |form| form.accept(json!({ "key": "a key" })));
        builder.connect(transport).await
    };
    let client = connect(Some("17")).await.unwrap();
    assert_eq!(called(&client, "ask", json!({})).await, "kept");
    fails_with(connect(None).await, "401");
}

/// Accepts requests with a badge, as its holder.
async fn check_badge(mut request: Request, next: Next) -> Result<Response, StatusCode> {
    let badge = request.headers().get("x-badge");
    let badge = badge.ok_or(StatusCode::UNAUTHORIZED)?.to_str().unwrap();
    let holder = Principal::new(badge);
    request.extensions_mut().insert(holder);
    Ok(next.run(request).await)
}

/// One item of each kind, for friends only.
fn for_friends() -> ServerBuilder {
    let friends = |session: &Session| session.client().is_some_and(|it| it.name == "friend");
    Server::builder("friends", "1")
        .tool(Tool::new("tool", || "x").visible_if(friends))
        .prompt(
            Prompt::new("prompt", || "x")
                .arguments(vec![PromptArgument::new("a")])
                .complete_from("a", ["x"])
                .visible_if(friends),
        )
        .resource(Resource::text("x://plain", "plain", "x").visible_if(friends))
        .resource(
            Resource::new("x://any/{v}", "any", || "x")
                .complete_from("v", ["x"])
                .visible_if(friends),
        )
}

#[tokio::test]
async fn hidden_items_do_not_exist_for_any_method() {
    let complete = |reference: Value, name: &str| {
        let argument = json!({ "name": name, "value": "" });
        json!({ "ref": reference, "argument": argument })
    };
    let template = json!({ "type": "ref/resource", "uri": "x://any/{v}" });
    let prompt = json!({ "type": "ref/prompt", "name": "prompt" });
    let hidden = [
        ("tools/call", json!({ "name": "tool" }), -32602),
        ("prompts/get", json!({ "name": "prompt" }), -32602),
        ("resources/read", json!({ "uri": "x://plain" }), -32002),
        ("resources/read", json!({ "uri": "x://any/1" }), -32002),
        ("resources/subscribe", json!({ "uri": "x://plain" }), -32002),
        ("resources/subscribe", json!({ "uri": "x://any/1" }), -32002),
        ("completion/complete", complete(prompt, "a"), -32602),
        ("completion/complete", complete(template, "v"), -32602),
    ];
    for (name, sees) in [("friend", true), ("stranger", false)] {
        let mut wire = PipeEnd::to(for_friends());
        let mut params = initialize_params("2025-11-25", json!({}));
        params["clientInfo"]["name"] = json!(name);
        wire.call("initialize", params).await;
        for (method, member, _) in LISTS {
            let list = wire.call(method, Value::Null).await;
            let count = list[member].as_array().unwrap().len();
            assert_eq!(count, usize::from(sees), "{name} {method}");
        }
        for (method, params, code) in &hidden {
            let answer = wire.answer_to(method, params.clone()).await;
            let refused = answer["error"]["code"].as_i64();
            assert_eq!(
                refused,
                (!sees).then_some(*code),
                "{name} {method} {params}"
            );
        }
    }
}
