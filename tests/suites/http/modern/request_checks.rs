//! The checks before a request is served, and their order.

use http::{HeaderValue, Method};
use mcp_tests::http::{Peer, StatelessPeer};
use mcp_types::{CLIENT_CAPABILITIES_KEY, PROTOCOL_VERSION_KEY};
use serde_json::{Value, json};

use super::Probe;

/// A defect of a request: the status, code and a word of the response, and the change.
struct Fault(u16, i64, &'static str, fn(&mut Peer, &mut Value));

fn set(peer: &mut Peer, name: &'static str, value: Option<&str>) {
    *peer = peer.with(name, value);
}

/// The defects, in the order of the checks.
const FAULTS: [Fault; 11] = [
    Fault(403, -32600, "allow_origin", |peer, _| {
        set(peer, "origin", Some("https://evil.example"))
    }),
    Fault(406, -32600, "text/event-stream", |peer, _| {
        set(peer, "accept", Some("application/json"))
    }),
    Fault(400, -32600, "jsonrpc", |_, request| {
        request["jsonrpc"] = json!("1.0")
    }),
    Fault(
        400,
        -32020,
        "MCP-Protocol-Version header is missing",
        |peer, _| set(peer, "mcp-protocol-version", None),
    ),
    Fault(400, -32022, "2026-07-28", |peer, request| {
        request["params"]["_meta"][PROTOCOL_VERSION_KEY] = json!("v999.0.0");
        if peer.headers.contains_key("mcp-protocol-version") {
            set(peer, "mcp-protocol-version", Some("v999.0.0"));
        }
    }),
    Fault(400, -32602, "clientCapabilities", |_, request| {
        let meta = request["params"]["_meta"].as_object_mut().unwrap();
        meta.shift_remove(CLIENT_CAPABILITIES_KEY);
    }),
    Fault(400, -32020, "Mcp-Method", |peer, _| {
        set(peer, "mcp-method", Some("tools/list"))
    }),
    Fault(400, -32020, "Mcp-Name", |peer, _| {
        set(peer, "mcp-name", Some("other"))
    }),
    Fault(404, -32601, "tools/nope", |peer, request| {
        request["method"] = json!("tools/nope");
        let wrong = peer
            .headers
            .get("mcp-method")
            .is_some_and(|it| it == "tools/list");
        if !wrong {
            set(peer, "mcp-method", Some("tools/nope"));
        }
    }),
    Fault(400, -32020, "Mcp-Param-Region", |peer, _| {
        set(peer, "mcp-param-region", Some("elsewhere"))
    }),
    Fault(200, -32602, "arguments", |_, request| {
        request["params"]["arguments"] = json!("text")
    }),
];

const NAME: usize = 7;
const METHOD: usize = 8;

fn region() -> Probe {
    let mut probe = Probe::ready();
    probe.schema = json!({
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    });
    probe
}

// proves: M-META-005, M-HTTP-002, M-HTTP-003, M-HTTP-033, M-HTTP-034, M-HTTP-035, M-HTTP-043, M-HTTP-044, M-HTTP-045, M-HTTP-046
#[tokio::test]
async fn the_first_of_two_invalid_properties_of_a_request_is_reported() {
    let probe = region();
    let runs = std::sync::Arc::clone(&probe.runs);
    let endpoint = probe.endpoint();
    let client = StatelessPeer::new(&endpoint);
    for (first, Fault(status, code, words, does)) in FAULTS.iter().enumerate() {
        for (second, Fault(_, _, later, also)) in FAULTS.iter().enumerate().skip(first) {
            if (first, second) == (NAME, METHOD) {
                continue; // an unknown method has no name to repeat
            }
            let params = json!({"name": "go", "arguments": {"region": "here"}});
            let mut request = client.request("seven", "tools/call", params);
            let mut peer = client.mirroring(&request);
            set(&mut peer, "mcp-param-region", Some("here"));
            does(&mut peer, &mut request);
            if second > first {
                also(&mut peer, &mut request);
            }
            if (*code, *status) == (-32602, 200) {
                // The header has no value to repeat.
                set(&mut peer, "mcp-param-region", None);
            }
            let reply = peer.post(request).await;
            let pair = format!("{words} before {later}");
            assert_eq!(reply.status, *status, "{pair}");
            assert_eq!(reply.kind(), "application/json", "{pair}");
            assert_eq!(reply.headers.get("mcp-session-id"), None);
            let body = reply.json().await;
            assert_eq!(body["error"]["code"], *code, "{pair}: {body}");
            crate::prelude::says(&body, words);
            let id = match first {
                0 | 1 => Value::Null,
                _ => json!("seven"),
            };
            assert_eq!(body["id"], id, "{pair}");
        }
    }
    assert_eq!(
        runs.load(std::sync::atomic::Ordering::Acquire),
        1,
        "only the last fault is the handler's to find"
    );
}

// Some JSON libraries write `/` as `\/`, also in names of members.
#[tokio::test]
async fn names_of_metadata_may_have_escapes() {
    let endpoint = Probe::ready().endpoint();
    let client = StatelessPeer::new(&endpoint);
    let request = client.request(1, "tools/call", json!({"name": "go", "arguments": {}}));
    let peer = client.mirroring(&request);
    let plain = request.to_string();
    let escapes = [
        plain.replace('/', "\\/"),
        plain.replace("\"_meta\"", "\"\\u005fmeta\""),
    ];
    for text in escapes {
        assert_ne!(text, plain);
        let reply = peer.send(Method::POST, text).await;
        assert_eq!(reply.status, 200);
        let body = reply.json().await;
        assert!(body["result"].is_object(), "{body}");
    }
}

// proves: M-HTTP-034
#[tokio::test]
async fn the_error_for_an_unsupported_revision_lists_the_supported_revisions() {
    let endpoint = Probe::ready().endpoint();
    let client = StatelessPeer::new(&endpoint).with_meta(PROTOCOL_VERSION_KEY, "1900-01-01");
    let reply = client.tool(5, "go", json!({})).await;
    assert_eq!(reply.status, 400);
    let error = reply.json().await["error"].take();
    assert_eq!(error["code"], -32022);
    assert_eq!(error["data"]["requested"], "1900-01-01");
    let supported = error["data"]["supported"].as_array().unwrap();
    assert!(supported.contains(&json!("2026-07-28")));
    // A session-based revision is not valid in such a request.
    let client = client.with_meta(PROTOCOL_VERSION_KEY, "2025-11-25");
    let reply = client.tool(5, "go", json!({})).await;
    assert_eq!(reply.json().await["error"]["code"], -32022);
}

// proves: M-ERR-011, M-XPORT-003, M-HTTP-041, M-HTTP-042, M-HTTP-043, M-HTTP-047, M-HDR-020, M-HDR-021
#[tokio::test]
async fn standard_headers_must_echo_the_body_exactly() {
    let endpoint = Probe::ready().endpoint();
    let client = StatelessPeer::new(&endpoint);
    let params = json!({"name": "go", "arguments": {}});
    let request = client.request(1, "tools/call", params);
    let good = client.mirroring(&request);
    let cases: [(&'static str, &[&[u8]], u16); 15] = [
        ("mcp-method", &[b"tools/call"], 200),
        ("mcp-method", &[b" \ttools/call "], 200),
        ("mcp-method", &[b"Tools/Call"], 400),
        ("mcp-method", &[], 400),
        ("mcp-method", &[b""], 400),
        ("mcp-method", &[b"tools/call", b"tools/call"], 400),
        ("mcp-method", &["tools/call\u{e9}".as_bytes()], 400),
        ("mcp-name", &[b"=?base64?Z28=?="], 200),
        ("mcp-name", &[b"=?BASE64?Z28=?="], 400),
        ("mcp-name", &[b"=?base64?Z28?="], 400),
        ("mcp-name", &[b"=?base64?/w==?="], 400),
        ("mcp-name", &[b"go", b"other"], 400),
        ("mcp-name", &[], 400),
        ("mcp-protocol-version", &[b"2026-07-28", b"2026-07-28"], 400),
        ("mcp-protocol-version", &[b"2025-11-25"], 400),
    ];
    for (name, values, status) in cases {
        let mut peer = good.with(name, None);
        for value in values {
            let value = HeaderValue::from_bytes(value).unwrap();
            peer.headers.append(name, value);
        }
        let reply = peer.post(request.clone()).await;
        assert_eq!(reply.status, status, "{name}: {values:?}");
        let body = reply.json().await;
        assert_eq!(body["id"], 1);
        if status == 400 {
            assert_eq!(body["error"]["code"], -32020, "{body}");
            let message = body["error"]["message"].as_str().unwrap();
            assert!(message.to_lowercase().contains(name), "{message}");
        }
    }
    // The header is required even if the body has no name that it could repeat.
    let unnamed = client.request(1, "tools/call", json!({ "arguments": {} }));
    let peer = good.with("mcp-name", None);
    let body = peer.post(unnamed).await.refused(400, -32020).await;
    assert!(body["error"]["message"].to_string().contains("Mcp-Name"));
    // A name with characters beyond ASCII is encoded; the names of other methods are not compared.
    assert_eq!(client.tool(1, "g\u{f6}", json!({})).await.status, 200);
    let request = client.request(1, "tools/list", json!({}));
    let peer = client.mirroring(&request).with("mcp-name", Some("any"));
    assert_eq!(peer.post(request).await.status, 200);
}

// proves: M-HTTP-016, M-HTTP-045
#[tokio::test]
async fn a_response_has_the_id_of_its_request_and_a_status_for_its_error() {
    let endpoint = Probe::ready().endpoint();
    let client = StatelessPeer::new(&endpoint);
    for id in [json!(7), json!("7"), json!(""), json!(-1)] {
        let reply = client.tool(id.clone(), "go", json!({})).await;
        assert_eq!(reply.status, 200);
        assert_eq!(reply.kind(), "application/json");
        let body = reply.json().await;
        assert_eq!(body["id"], id);
        assert_eq!(body["result"]["resultType"], "complete");
    }
    // Methods of session-based revisions, unknown methods, and methods whose capability is not
    // declared.
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "unknown/method",
        "prompts/list",
    ] {
        let reply = client.call("m", method, json!({})).await;
        let body = reply.refused(404, -32601).await;
        assert_eq!(body["id"], "m");
    }
}

#[tokio::test]
async fn invalid_messages_are_rejected_before_invalid_headers() {
    let endpoint = Probe::ready().endpoint();
    let peer = Peer::new(&endpoint).with("mcp-protocol-version", Some("2026-07-28"));
    for (body, code) in [
        ("{", -32700),
        ("7", -32600),
        ("[]", -32600),
        (r#"{"jsonrpc":"2.0"}"#, -32600),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]"#,
            -32600,
        ),
    ] {
        let reply = peer.send(Method::POST, body).await;
        assert_eq!(reply.status, 400, "{body}");
        let answer = reply.json().await;
        assert_eq!(answer["error"]["code"], code, "{body}: {answer}");
    }
}
