//! Which requests are served, and which are rejected with which error.

use mcp_server::CacheHint;

use super::{Peer, meta, text};
use crate::prelude::*;

// proves: M-DISC-001, M-DISC-003, M-DISC-004, M-DISC-005, M-DISC-006, M-DISC-009, M-DISC-012, M-META-007
#[tokio::test]
async fn discover_returns_the_same_as_initialize() {
    let server = everything::server().cache_lists(CacheHint::public(Duration::from_secs(60)));
    let mut peer = Peer::new(server);
    let told = peer.call("server/discover", json!({})).await;
    let versions = told["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")), "{told}");
    let expected = json!({ "listChanged": true });
    assert_eq!(told["capabilities"]["tools"], expected);
    let expected = json!({ "listChanged": true, "subscribe": true });
    assert_eq!(told["capabilities"]["resources"], expected);
    assert!(told["capabilities"]["tasks"].is_null());
    assert_eq!(
        told["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "everything"
    );
    assert!(told["serverInfo"].is_null());
    assert!(told["instructions"].is_string());
    assert_eq!(told["ttlMs"], 60_000);
    assert_eq!(told["cacheScope"], "public");

    let mut anonymous = meta(json!({}));
    anonymous
        .as_object_mut()
        .unwrap()
        .shift_remove("io.modelcontextprotocol/clientInfo");
    peer.wire
        .call("server/discover", json!({ "_meta": anonymous }))
        .await;
}

// proves: M-META-004, M-VER-002, M-VER-003, M-VER-022, M-LOG-012, M-ERR-013, M-DISC-014, M-BASE-001
#[tokio::test]
async fn each_request_is_admitted_by_its_own_metadata() {
    let mut peer = Peer::new(everything::server().strictness(Strictness::Strict));
    let at = |change: fn(&mut Value)| {
        let mut meta = meta(json!({}));
        change(&mut meta);
        json!({ "_meta": meta })
    };
    let unknown = at(|meta| meta["io.modelcontextprotocol/protocolVersion"] = json!("v999.0.0"));
    for method in ["server/discover", "tools/list", "initialize", "no/such"] {
        let answer = peer.wire.answer_to(method, unknown.clone()).await;
        let error = &answer["error"];
        assert_eq!(error["code"], -32022, "{answer}");
        assert_eq!(error["data"]["requested"], "v999.0.0");
        let supported = error["data"]["supported"].as_array().unwrap();
        assert!(supported.contains(&json!("2026-07-28")));
    }
    // The version is checked first, because a later version may define the rest differently.
    let both = at(|meta| {
        meta["io.modelcontextprotocol/protocolVersion"] = json!("v999.0.0");
        meta["io.modelcontextprotocol/clientCapabilities"] = Value::Null;
    });
    peer.wire.expect_error("tools/list", both, -32022).await;
    let broken: [fn(&mut Value); 5] = [
        |meta| meta["io.modelcontextprotocol/protocolVersion"] = json!(7),
        |meta| {
            drop(
                meta.as_object_mut()
                    .unwrap()
                    .shift_remove("io.modelcontextprotocol/clientCapabilities"),
            )
        },
        |meta| meta["io.modelcontextprotocol/clientCapabilities"] = json!([]),
        |meta| meta["io.modelcontextprotocol/clientInfo"] = json!("me"),
        |meta| meta["io.modelcontextprotocol/logLevel"] = json!("loud"),
    ];
    for change in broken {
        let params = at(change);
        peer.wire.expect_error("tools/list", params, -32602).await;
    }
    for params in [Value::Null, json!({}), json!({ "_meta": {} })] {
        let error = peer.wire.expect_error("tools/list", params, -32602).await;
        says(&error, "io.modelcontextprotocol/protocolVersion");
        says(&error, "2026-07-28");
    }
    for gone in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "tasks/list",
        "no/such",
    ] {
        peer.expect_error(gone, json!({}), -32601).await;
    }
    text(&peer.tool("test_simple_text", json!({})).await);
}

// proves: M-ERR-014, M-PROMPT-015
#[tokio::test]
async fn methods_of_undeclared_features_do_not_exist() {
    let mut bare = Peer::new(Server::builder("bare", "1"));
    for method in [
        "tools/list",
        "prompts/get",
        "resources/read",
        "completion/complete",
    ] {
        bare.expect_error(method, json!({}), -32601).await;
    }
}

// proves: M-VER-009, M-VER-018, M-VER-019, M-VER-020, M-META-012
#[tokio::test]
async fn stateless_requests_and_a_session_on_one_pipe_share_no_state() {
    let probe = Tool::new("who", |cx: Ctx| {
        let can_sample = cx
            .client_capabilities()
            .is_some_and(|can| can.sampling.is_some());
        format!("{} {can_sample}", cx.revision())
    });
    let mut peer = Peer::new(Server::builder("s", "1").tool(probe));
    assert_eq!(text(&peer.tool("who", json!({})).await), "2026-07-28 false");
    let told = peer
        .wire
        .handshake("2025-06-18", json!({ "sampling": {} }))
        .await;
    assert_eq!(told["protocolVersion"], "2025-06-18");
    assert!(told["resultType"].is_null());
    let old = peer.wire.tool("who", json!({})).await;
    let expected = json!({ "content": [{ "type": "text", "text": "2025-06-18 true" }] });
    assert_eq!(old, expected);
    // Declarations of the session do not apply to a request with its own metadata.
    assert_eq!(text(&peer.tool("who", json!({})).await), "2026-07-28 false");
    peer.capabilities = json!({ "sampling": {} });
    assert_eq!(text(&peer.tool("who", json!({})).await), "2026-07-28 true");
    peer.wire.silent().await;
}

// proves: M-VER-014
#[tokio::test]
async fn the_served_revisions_can_be_configured() {
    let stateless = || Server::builder("s", "1").revisions([Revision::V2026_07_28]);
    let mut wire = PipeEnd::to(stateless());
    let params = mcp_tests::wire::initialize_params("2025-11-25", json!({}));
    let answer = wire.answer_to("initialize", params).await;
    assert_eq!(answer["error"]["code"], -32022);
    assert_eq!(answer["error"]["data"]["supported"], json!(["2026-07-28"]));

    let mut peer = Peer::new(Server::builder("s", "1").revisions(Revision::WITH_SESSIONS));
    let answer = peer.answer("server/discover", json!({})).await;
    assert_eq!(answer["error"]["code"], -32601);
    let answer = peer.answer("tools/list", json!({})).await;
    assert_eq!(answer["error"]["code"], -32022);
    let supported = answer["error"]["data"]["supported"].as_array().unwrap();
    assert!(!supported.contains(&json!("2026-07-28")), "{answer}");
    peer.wire
        .expect_error("tools/list", Value::Null, -32600)
        .await;
}

// proves: M-CACHE-001, M-CACHE-015, M-CACHE-025
#[tokio::test]
async fn lists_and_resources_have_a_time_to_live() {
    let server = everything::server()
        .page_size(3)
        .cache_resources(CacheHint::private(Duration::from_millis(1_500)));
    let mut peer = Peer::new(server);
    for method in [
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
    ] {
        let mut cursor = Value::Null;
        loop {
            let params = match cursor.as_str() {
                Some(cursor) => json!({ "cursor": cursor }),
                None => json!({}),
            };
            let page = peer.call(method, params).await;
            assert_eq!(page["ttlMs"], 0);
            assert_eq!(page["cacheScope"], "private");
            cursor = page["nextCursor"].clone();
            if cursor.is_null() {
                break;
            }
        }
    }
    let read = peer
        .call("resources/read", json!({ "uri": "test://static-text" }))
        .await;
    assert_eq!(read["ttlMs"], 1_500);
    assert_eq!(read["cacheScope"], "private");
    let called = peer.tool("test_simple_text", json!({})).await;
    assert!(called["ttlMs"].is_null() && called["cacheScope"].is_null());
}
