//! Header parameters of tools.

use http::{HeaderName, HeaderValue};

use super::Probe;
use crate::prelude::*;

/// Header parameters as sent, without the prefix of their names.
type Sent<'a> = &'a [(&'a str, &'a str)];

fn probe() -> Probe {
    let mut probe = Probe::ready();
    probe.schema = json!({
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "where": {"type": "object", "properties": {
                "limit": {"type": "integer", "x-mcp-header": "Limit"},
                "dry": {"type": "boolean", "x-mcp-header": "Dry-Run"},
            }},
            "query": {"type": "string"},
        },
    });
    probe
}

// proves: M-HDR-021, M-HDR-026, M-HDR-027, M-HDR-028, M-HDR-031, M-HDR-032, M-HTTP-048
#[tokio::test]
async fn header_parameters_must_match_the_body() {
    let probe = probe();
    let endpoint = probe.endpoint();
    let client = StatelessPeer::new(&endpoint);
    let (region, limit) = (json!({"region": "here"}), json!({"where": {"limit": 42}}));
    let (umlaut, dry) = (json!({"region": "\u{e9}"}), json!({"where": {"dry": true}}));
    let (none, null) = (json!({}), json!({"region": null}));
    let both = json!({"region": "a", "where": {"limit": 1}});
    let cases: [(&Value, Sent<'_>, bool); 19] = [
        (&none, &[], true),
        (&json!({"query": "x"}), &[], true),
        (&null, &[], true),
        (&null, &[("region", "null")], false),
        (&none, &[("region", "here")], false),
        (&none, &[("other", "x")], true),
        (&region, &[], false),
        (&region, &[("region", "here")], true),
        (&region, &[("region", "Here")], false),
        (&region, &[("region", "=?base64?aGVy?ZQ==?=")], false),
        (&umlaut, &[("region", "=?base64?w6k=?=")], true),
        (&umlaut, &[("region", "\u{e9}")], false),
        (&limit, &[], false),
        (&limit, &[("limit", "42")], true),
        (&limit, &[("limit", "42.0")], true),
        (&limit, &[("limit", "43")], false),
        (&dry, &[("dry-run", "true")], true),
        (&dry, &[("dry-run", "True")], false),
        (&both, &[("region", "a"), ("limit", "1")], true),
    ];
    for (arguments, headers, good) in cases {
        let mut client = client.clone();
        for (name, value) in headers {
            let name = HeaderName::try_from(format!("mcp-param-{name}")).unwrap();
            let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
            client.peer.headers.insert(name, value);
        }
        let reply = client.tool("p", "go", arguments.clone()).await;
        let status = if good { 200 } else { 400 };
        assert_eq!(reply.status, status, "{arguments} {headers:?}");
        let body = reply.json().await;
        assert_eq!(body["id"], "p");
        if !good {
            assert_eq!(body["error"]["code"], -32020, "{body}");
        }
    }
}

// proves: M-HDR-026, M-HDR-028
#[tokio::test]
async fn a_parameter_header_is_unique_and_ascii() {
    let endpoint = probe().endpoint();
    let mut client = StatelessPeer::new(&endpoint);
    let values: [&[u8]; 2] = [b"here", b"here"];
    for value in values {
        let value = HeaderValue::from_bytes(value).unwrap();
        client.peer.headers.append("mcp-param-region", value);
    }
    for tool in ["go", "plain"] {
        let reply = client.tool(1, tool, json!({"region": "here"})).await;
        let known = tool == "go";
        assert_eq!(reply.status, if known { 400 } else { 200 });
        let body = reply.json().await;
        let message = body["error"]["message"].as_str().unwrap_or_default();
        assert_eq!(message.contains("Mcp-Param-Region"), known, "{body}");
    }
    let value = HeaderValue::from_bytes("\u{e9}".as_bytes()).unwrap();
    client.peer.headers.insert("mcp-param-region", value);
    let reply = client.tool(1, "go", json!({"region": "\u{e9}"})).await;
    reply.refused(400, -32020).await;
}

// proves: M-HDR-001, M-HDR-032
#[tokio::test]
async fn annotations_in_the_schema_of_a_tool_require_headers_for_its_arguments() {
    let schema = json!({
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    });
    let tool = Tool::dynamic("go", schema, || "done");
    let endpoint = Endpoint::new(Server::builder("headers", "1").tool(tool)).unwrap();
    let client = StatelessPeer::new(&endpoint);
    let list = client.call(1, "tools/list", json!({})).await.json().await;
    let region = &list["result"]["tools"][0]["inputSchema"]["properties"]["region"];
    assert_eq!(region["x-mcp-header"], "Region");
    let reply = client.tool(1, "go", json!({"region": "here"})).await;
    reply.refused(400, -32020).await;
    let mut client = client;
    client.peer = client.peer.with("mcp-param-region", Some("here"));
    let reply = client.tool(1, "go", json!({"region": "here"})).await;
    assert_eq!(reply.status, 200);
}
