//! Lists: what is registered, announced and visible, page by page.

use std::collections::BTreeSet;

use super::{Peer, named};
use crate::prelude::*;

/// The method of each list, its member of the result, and the key of an item.
pub(crate) const LISTS: [(&str, &str, &str); 4] = [
    ("tools/list", "tools", "name"),
    ("prompts/list", "prompts", "name"),
    ("resources/list", "resources", "uri"),
    (
        "resources/templates/list",
        "resourceTemplates",
        "uriTemplate",
    ),
];

// proves: PAGE-003, PAGE-004, PAGE-006, RES-004, RES-010, PROMPT-004
// proves: M-PAGE-002, M-PAGE-003, M-PAGE-004, M-PAGE-009
#[tokio::test]
async fn every_list_has_pages_and_rejects_cursors_that_it_did_not_issue() {
    let server = everything::server()
        .page_size(2)
        .resource(Resource::new("t://{a}", "a", || "x"))
        .resource(Resource::new("u://{b}", "b", || "x"));
    for mut peer in Peer::both(server).await {
        let mut cursors = Vec::new();
        for (method, member, key) in LISTS {
            let (mut seen, mut params) = (Vec::new(), json!({}));
            loop {
                let page = peer.call(method, params.clone()).await;
                let again = peer.call(method, params).await;
                assert_eq!(page, again, "a cursor gives the same page");
                let items = page[member].as_array().unwrap();
                assert!((1..=2).contains(&items.len()), "{page}");
                seen.extend(items.iter().map(|item| item[key].to_string()));
                let Some(cursor) = page["nextCursor"].as_str() else {
                    break;
                };
                cursors.push((method, cursor.to_owned()));
                params = json!({ "cursor": cursor });
            }
            assert!(seen.len() > 2, "{method}");
            assert_eq!(
                seen.iter().collect::<BTreeSet<_>>().len(),
                seen.len(),
                "{method}"
            );
            for bad in ["", "garbage", "0.0", "2.00000000000000000000000000000000"] {
                peer.expect_error(method, json!({ "cursor": bad }), -32602)
                    .await;
            }
            peer.expect_error(method, json!({ "cursor": 7 }), -32602)
                .await;
        }
        // The cursor of one list is invalid for another.
        let (of, cursor) = cursors.swap_remove(0);
        for (method, ..) in LISTS {
            let answer = peer.answer(method, json!({ "cursor": cursor })).await;
            assert_eq!(answer["error"].is_null(), of == method, "{answer}");
        }
        peer.silent().await;
    }
}

#[tokio::test]
async fn pages_omit_and_repeat_no_item_if_the_list_changes_in_between() {
    let server = Server::builder("s", "1")
        .page_size(2)
        .tools(["a", "b", "c", "d"].map(|name| Tool::new(name, || "x")))
        .build()
        .unwrap();
    let mut wire = PipeEnd::session(server.clone()).await;
    let first = wire.call("tools/list", Value::Null).await;
    server.tools().remove("b");
    server.tools().add([Tool::new("e", || "x")]).unwrap();
    for _ in 0..2 {
        wire.expect("notifications/tools/list_changed").await;
    }
    let mut cursor = first["nextCursor"].clone();
    for name in ["c", "e"] {
        let page = wire.call("tools/list", json!({ "cursor": cursor })).await;
        assert_eq!(page["tools"][0]["name"], name);
        cursor = page["nextCursor"].clone();
    }
    assert!(cursor.is_null());
}

// proves: TOOL-017, TOOL-019, TOOL-020, TOOL-021, RES-022, RES-023, RES-027, BASE-026, M-TOOL-019, M-TOOL-021, M-TOOL-022, M-TOOL-023, M-RES-013, M-RES-023, M-SCHEMA-007
#[tokio::test]
async fn invalid_registrations_are_rejected_with_the_name() {
    let server = Server::builder("s", "1")
        .tool(Tool::new("taken", || "x"))
        .build()
        .unwrap();
    let dynamic = |schema: Value| Tool::dynamic("d", schema, |Args(_): Args<JsonObject>| "x");
    let foreign = json!({ "type": "object", "$schema": "https://example.com/dialect" });
    let long = "x".repeat(129);
    for (tool, problem) in [
        (Tool::new("", || "x"), "1 to 128"),
        (Tool::new(long, || "x"), "1 to 128"),
        (Tool::new("my tool", || "x"), "1 to 128"),
        (Tool::new("a,b", || "x"), "1 to 128"),
        (Tool::new("a/b", || "x"), "1 to 128"),
        (Tool::new("ümlaut", || "x"), "1 to 128"),
        (Tool::new("taken", || "y"), "taken"),
        (dynamic(foreign), "https://example.com/dialect"),
        (dynamic(Value::Null), "object"),
    ] {
        let error = server.tools().add([tool]).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
    let fits = "x".repeat(128);
    server.tools().add([Tool::new(fits, || "x")]).unwrap();
    let foreign = Resource::text("my scheme://x", "x", "");
    let error = server.resources().add([foreign]).unwrap_err().to_string();
    assert!(error.contains("my scheme"), "{error}");
    for (notes, fits) in [
        (json!({ "priority": 1.5 }), false),
        (json!({ "priority": -0.1 }), false),
        (json!({ "lastModified": "yesterday" }), false),
        (
            json!({ "priority": 1.0, "lastModified": "2025-01-12T15:00:58.5+01:00" }),
            true,
        ),
    ] {
        let resource = Resource::text("x://y", "y", "");
        let resource = resource.annotations(serde_json::from_value(notes.clone()).unwrap());
        assert_eq!(server.resources().add([resource]).is_ok(), fits, "{notes}");
    }
    let served = Server::builder("s", "1").tool(Tool::new("no good", || "x"));
    fails_with(PipeEnd::to(served).close().await, "no good");
}

// proves: TOOL-006, TOOL-012, PROMPT-002, PROMPT-007, RES-011
#[tokio::test]
async fn a_changed_list_is_announced_if_the_server_declared_list_changed() {
    let [mut session, _] = Peer::both(everything::server()).await;
    for list in ["tool", "prompt", "resource"] {
        let trigger = named(&format!("test_trigger_{list}_change"), json!({}));
        let id = session.request("tools/call", trigger).await;
        let changed = format!("notifications/{list}s/list_changed");
        for _ in 0..2 {
            session.wire.expect(&changed).await;
        }
        assert_eq!(session.wire.recv().await["id"], id);
    }
    let mut quiet = PipeEnd::to(everything::server().without_list_changes());
    let result = quiet.handshake("2025-11-25", json!({})).await;
    let declared = result["capabilities"].to_string();
    assert!(!declared.contains("listChanged"), "{declared}");
    quiet.tool("test_trigger_tool_change", json!({})).await;
    quiet.tool("test_trigger_prompt_change", json!({})).await;
    quiet.silent().await;
}
