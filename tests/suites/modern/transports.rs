//! The same requests over every transport.

use mcp_tests::wire::check_envelope;
use mcp_transport_stdio::serve_io;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};

use super::{Peer, named};
use crate::prelude::*;

/// The requests, in order; responses are compared without their ids.
fn scenario() -> Vec<(&'static str, Value)> {
    vec![
        ("server/discover", json!({})),
        ("tools/list", json!({})),
        (
            "tools/call",
            named("test_multiple_content_types", json!({})),
        ),
        ("tools/call", named("test_error_handling", json!({}))),
        ("tools/call", named("none", json!({}))),
        (
            "tools/call",
            named("test_input_required_result_elicitation", json!({})),
        ),
        (
            "tools/call",
            named("test_input_required_result_sampling", json!({})),
        ),
        ("prompts/get", named("test_simple_prompt", json!({}))),
        ("resources/read", json!({ "uri": "test://static-binary" })),
        ("resources/read", json!({ "uri": "test://none" })),
        ("resources/templates/list", json!({ "cursor": "forged" })),
        ("no/such", json!({})),
    ]
}

fn request(id: usize, method: &str, params: Value) -> Value {
    let peer = Peer::with(everything::server(), json!({ "elicitation": {} }));
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": peer.params(params) })
}

fn bare(mut answer: Value) -> Value {
    check_envelope(&answer);
    answer.as_object_mut().unwrap().shift_remove("id");
    answer
}

/// Returns the responses of the peer at the other end of these streams, line by line.
async fn over(read: impl AsyncRead + Unpin, mut write: impl AsyncWrite + Unpin) -> Vec<Value> {
    let mut lines = BufReader::new(read).lines();
    let mut answers = Vec::new();
    for (id, (method, params)) in scenario().into_iter().enumerate() {
        let line = format!("{}\n", request(id, method, params));
        write.write_all(line.as_bytes()).await.unwrap();
        let answer: Value =
            serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
        assert_eq!(answer["id"], id);
        answers.push(bare(answer));
    }
    answers
}

// proves: M-XPORT-004, M-XPORT-005, M-XPORT-007, M-XPORT-008, M-STDIO-011
#[tokio::test]
async fn a_request_has_the_same_result_on_every_transport() {
    let (near, far) = tokio::io::duplex(1 << 20);
    let (far_read, far_write) = tokio::io::split(far);
    let served = tokio::spawn(serve_io(everything::server(), far_read, far_write));
    let (near_read, near_write) = tokio::io::split(near);
    let in_memory = over(near_read, near_write).await;
    served.await.unwrap().unwrap();

    let (listener, address) = listen().await;
    let served = tokio::spawn(async move {
        let (read, write) = listener.accept().await.unwrap().0.into_split();
        serve_io(everything::server(), read, write).await
    });
    let (read, write) = tokio::net::TcpStream::connect(address)
        .await
        .unwrap()
        .into_split();
    let over_tcp = over(read, write).await;
    served.await.unwrap().unwrap();

    let endpoint = Endpoint::new(everything::server()).unwrap();
    let client = StatelessPeer::new(&endpoint);
    let mut over_http = Vec::new();
    for (id, (method, params)) in scenario().into_iter().enumerate() {
        let request = request(id, method, params);
        let reply = client.mirroring(&request).post(request).await;
        over_http.push(bare(reply.answer().await));
    }
    assert_eq!(in_memory, over_tcp);
    assert_eq!(in_memory, over_http);
    assert_eq!(in_memory[5]["result"]["resultType"], "input_required");
    assert_eq!(in_memory[6]["error"]["code"], -32021);
}
