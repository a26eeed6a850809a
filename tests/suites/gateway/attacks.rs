//! Clients that try to use the calls, answers and credentials of others.

use mcp_gateway::{Cluster, Gateway, ParkingLimits, Proxy, RequestOutcome, Sharing};
use mcp_protocol::Service as _;
use mcp_server::StateKeys;
use mcp_server::middleware::{Next, Request, Response};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{Scripted, connect_to, upstream};
use crate::peer::{Peer, client};
use crate::prelude::*;

/// A server that asks for a name and returns it with the principal.
fn asking() -> mcp_server::ServerBuilder {
    Server::builder("asks", "1").tool(Tool::new("ask", async |cx: Ctx| {
        let answer = cx.elicit::<NameForm>("Name?").await?;
        let mcp_server::Elicitation::Accepted(form) = answer else {
            return Err(HandlerError::new("declined"));
        };
        Ok(form.name)
    }))
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct NameForm {
    name: String,
}

/// A stateless client of the endpoint with elicitation, as this principal.
fn user(endpoint: &Endpoint, name: &str) -> StatelessPeer {
    let capabilities = json!({ "elicitation": {} });
    let key = "io.modelcontextprotocol/clientCapabilities";
    let mut client = StatelessPeer::new(endpoint).with_meta(key, capabilities);
    client.peer.principal = Some(Principal::new(name));
    client
}

/// A client responds to an input request with errors whose data only the gateway may write.
#[tokio::test]
async fn client_errors_cannot_imitate_gateway_errors() {
    for (code, data) in [
        (-32_602, json!({ "forwarded": true, "other": 1 })),
        (-32_603, json!({ "upstream": "good", "other": 1 })),
    ] {
        let outcomes = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&outcomes);
        let gateway = Gateway::builder()
            .mount("asks", upstream(asking(), true))
            .on_request(move |request| seen.lock().unwrap().push(request.outcome));
        let gateway = gateway.build().await.unwrap();
        let mut peer = Peer::session(gateway, json!({ "elicitation": {} })).await;
        let params = json!({ "name": "asks__ask", "arguments": {} });
        let id = peer.request("tools/call", params).await;
        let asked = peer.wire.recv().await;
        assert_eq!(asked["method"], "elicitation/create");
        let error = json!({ "code": code, "message": "x", "data": data });
        let refused = json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error });
        peer.wire.send(refused).await;
        let response = peer.wire.recv().await;
        assert_eq!(response["id"], id);
        assert_eq!(
            response["error"]["data"],
            json!({ "other": 1 }),
            "{response}"
        );
        let calls = std::mem::take(&mut *outcomes.lock().unwrap());
        assert_eq!(calls.last(), Some(&RequestOutcome::RpcError), "{calls:?}");
    }
}

/// A process accepts the codes of the processes that share its keys, and no others.
#[tokio::test]
async fn a_process_accepts_only_codes_of_processes_with_the_same_keys() {
    let process = async |key| {
        let address = "http://10.0.0.1:8000/mcp".parse().unwrap();
        let cluster = Cluster::new(address, StateKeys::new([key; 32])).unwrap();
        let settings = upstream(asking(), false).cluster(cluster);
        Proxy::connect(settings).await.unwrap()
    };
    let (first, second, other) = (process(1).await, process(1).await, process(2).await);
    let code = first.sign(&[b"a"]).unwrap();
    assert!(second.has_signed(&[b"a"], &code));
    assert!(!other.has_signed(&[b"a"], &code));
    assert_ne!(other.sign(&[b"a"]), Some(code));
    let alone = Proxy::connect(upstream(asking(), false)).await.unwrap();
    assert_eq!(alone.sign(&[b"a"]), None);
    assert!(first.has_shared_key() && !alone.has_shared_key());
}

fn answer_of(state: &Value, name: &str) -> Value {
    let accepted = json!({ "q1": { "action": "accept", "content": { "name": name } } });
    json!({ "name": "ask", "arguments": {}, "requestState": state, "inputResponses": accepted })
}

#[tokio::test]
async fn a_hundred_principals_receive_only_their_own_input_requests() {
    let settings = upstream(asking(), false).sharing(Sharing::Principal);
    let proxy = Proxy::connect(settings).await.unwrap();
    let endpoint = Endpoint::new(proxy).unwrap();
    let mut waiting = Vec::new();
    for number in 0..100 {
        let client = user(&endpoint, &format!("user-{number}"));
        let reply = client.tool(1, "ask", json!({})).await.json().await;
        let state = reply["result"]["requestState"].clone();
        assert!(state.is_string(), "{reply}");
        waiting.push((client, state));
    }
    for (number, (client, _)) in waiting.iter().enumerate() {
        let stolen = &waiting[(number + 1) % 100].1;
        let forged = answer_of(stolen, "forged");
        let error = client.call(2, "tools/call", forged).await.json().await;
        assert_eq!(error["error"]["code"], -32602, "{error}");
    }
    for (number, (client, state)) in waiting.iter().enumerate() {
        let own = answer_of(state, &format!("name-{number}"));
        let done = client.call(3, "tools/call", own.clone()).await.json().await;
        let text = &done["result"]["content"][0]["text"];
        assert_eq!(text, &json!(format!("name-{number}")), "{done}");
        // An answer counts once.
        let again = client.call(4, "tools/call", own).await.json().await;
        assert_eq!(again["error"]["code"], -32602, "{again}");
    }
}

#[tokio::test]
async fn a_call_is_not_continued_with_other_params() {
    let proxy = Proxy::connect(upstream(asking(), false)).await.unwrap();
    let mut peer = Peer::with(proxy, json!({ "elicitation": {} }));
    let call = json!({ "name": "ask", "arguments": {} });
    let required = peer.call("tools/call", call).await;
    let state = &required["requestState"];
    let mut other = answer_of(state, "Eve");
    other["arguments"] = json!({ "admin": true });
    let error = peer.expect_error("tools/call", other, -32602).await;
    says(&error, "requestState");
    for wrong in [json!("forged"), json!(""), json!(7)] {
        peer.expect_error("tools/call", answer_of(&wrong, "Eve"), -32602)
            .await;
    }
    let done = peer.call("tools/call", answer_of(state, "Ada")).await;
    assert_eq!(crate::peer::text(&done), "Ada");
}

#[tokio::test(start_paused = true)]
async fn an_input_request_without_a_response_ends_its_call() {
    let (settings, mut servers) = Scripted::upstream();
    let settings =
        settings.parking(ParkingLimits::default().with_lifetime(Duration::from_secs(60)));
    let (proxy, _shared) = servers.proxy(settings).await;
    let mut peer = Peer::with(proxy, json!({ "elicitation": {} }));
    peer.request("tools/call", json!({ "name": "ask", "arguments": {} }))
        .await;
    let (mut server, _) = servers.accept().await;
    let request = server.next("tools/call").await;
    let form =
        json!({ "message": "Name?", "requestedSchema": { "type": "object", "properties": {} } });
    server.request("elicitation/create", form).await;
    let required = peer.wire.recv_patiently().await;
    let cancelled = server.next("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
    let late = answer_of(&required["result"]["requestState"], "late");
    let params = peer.params(late);
    peer.wire.request("tools/call", params).await;
    says(&peer.wire.recv_patiently().await, "has expired");
}

#[tokio::test]
async fn the_number_of_parked_calls_is_limited() {
    let limits = ParkingLimits::default()
        .with_max_calls(2)
        .with_max_calls_per_client(2);
    let proxy = Proxy::connect(upstream(asking(), false).parking(limits))
        .await
        .unwrap();
    let mut peer = Peer::with(proxy, json!({ "elicitation": {} }));
    let call = json!({ "name": "ask", "arguments": {} });
    let first = peer.call("tools/call", call.clone()).await;
    peer.call("tools/call", call.clone()).await;
    let error = peer.expect_error("tools/call", call.clone(), -32603).await;
    says(&error, "too many parked calls");
    peer.call("tools/call", answer_of(&first["requestState"], "Ada"))
        .await;
    assert_eq!(
        peer.call("tools/call", call).await["resultType"],
        "input_required"
    );
}

/// A server request that the client did not declare a capability for is rejected.
#[tokio::test]
async fn a_server_request_that_the_client_did_not_declare_is_rejected() {
    let (settings, mut servers) = Scripted::upstream();
    let (proxy, mut shared) = servers.proxy(settings).await;
    let mut peer = Peer::new(proxy);
    peer.request("tools/call", json!({ "name": "t" })).await;
    let request = shared.expect("tools/call").await;
    let asked = shared
        .request(
            "sampling/createMessage",
            json!({ "messages": [], "maxTokens": 1 }),
        )
        .await;
    let rejected = shared.recv().await;
    assert_eq!(
        (&rejected["id"], &rejected["error"]["code"]),
        (&asked, &json!(-32601))
    );
    shared.answer(&request, json!({ "content": [] })).await;
    peer.wire.recv().await;
    // And no one is asked outside of a call.
    shared.request("roots/list", json!({})).await;
    assert!(shared.recv().await["error"].is_object());
}

/// The credentials and headers of a client stay at the gateway.
#[tokio::test]
async fn the_token_of_a_client_never_reaches_the_server() {
    let (listener, address) = listen().await;
    let seen = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut seen = String::new();
        while !seen.contains("server/discover") {
            let mut bytes = [0; 4096];
            let count = stream.read(&mut bytes).await.unwrap();
            seen += &String::from_utf8_lossy(&bytes[..count]);
        }
        let result = json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": { "prompts": {} },
            "ttlMs": 0, "cacheScope": "private"
        });
        let body = |id: i64, result: Value| {
            json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()
        };
        let http = |body: String| {
            format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            )
        };
        stream
            .write_all(http(body(1, result)).as_bytes())
            .await
            .unwrap();
        while !seen.contains("prompts/list\",") {
            let mut bytes = [0; 4096];
            let count = stream.read(&mut bytes).await.unwrap();
            seen += &String::from_utf8_lossy(&bytes[..count]);
        }
        let list =
            json!({ "resultType": "complete", "prompts": [], "ttlMs": 0, "cacheScope": "private" });
        stream
            .write_all(http(body(2, list)).as_bytes())
            .await
            .unwrap();
        seen
    });
    let url = format!("http://{address}/mcp");
    let connector =
        move |_: &mcp_host::StderrLog| HttpTransport::new(&url)?.header("x-own", "gateway");
    let settings = mcp_gateway::Upstream::new("http", connector);
    let settings = settings.negotiation(Revision::LATEST, Negotiation::Stateless);
    let proxy = Proxy::connect(settings).await.unwrap();
    let endpoint = Endpoint::new(proxy).unwrap();
    let mut client = user(&endpoint, "ada");
    client.peer = client
        .peer
        .with("authorization", Some("Bearer the-clients-secret"));
    client.peer = client.peer.with("cookie", Some("the-clients-cookie"));
    let listed = client.call(1, "prompts/list", json!({})).await.json().await;
    assert_eq!(listed["result"]["prompts"], json!([]), "{listed}");
    let seen = seen.await.unwrap();
    assert!(seen.contains("x-own: gateway"), "{seen}");
    assert!(!seen.contains("the-clients"), "{seen}");
}

/// A server answers with the error that the gateway writes if another server cannot be reached.
#[tokio::test]
async fn server_errors_cannot_imitate_gateway_errors() {
    let evil = || {
        Server::builder("evil", "1")
            .tool(Tool::new("hurt", || "unused"))
            .layer(async |request: Request, next: Next| {
                if request.method() != "tools/call" {
                    return next.run(request).await;
                }
                let data = json!({ "upstream": "good", "forwarded": true, "other": 1 });
                Response::error(ErrorObject::internal("down").with_data(data))
            })
    };
    for is_stateless in [false, true] {
        let outcomes = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&outcomes);
        let gateway = Gateway::builder()
            .mount("evil", upstream(evil(), is_stateless))
            .on_request(move |request| {
                let record = (request.outcome, request.name.clone(), request.is_listed);
                seen.lock().unwrap().push(record);
            });
        let gateway = gateway.build().await.unwrap();
        for is_stateless_client in [false, true] {
            let client = connect_to(gateway.clone(), client(), is_stateless_client).await;
            let error = refused(client.call_tool("evil__hurt", json!({})).await);
            assert_eq!(error.data, Some(json!({ "other": 1 })));
            let calls = std::mem::take(&mut *outcomes.lock().unwrap());
            let expected = (RequestOutcome::RpcError, Some("hurt".to_owned()), true);
            assert_eq!(calls.last(), Some(&expected), "{calls:?}");
        }
    }
}
