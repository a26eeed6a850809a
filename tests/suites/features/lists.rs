//! Pages of lists.

use std::collections::BTreeSet;

use super::Peer;
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
async fn every_list_has_pages_and_rejects_cursors_that_it_did_not_make() {
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
async fn pages_stay_whole_when_the_list_changes_in_between() {
    let server = Server::new("s", "1")
        .page_size(2)
        .tools(["a", "b", "c", "d"].map(|name| Tool::new(name, || "x")));
    let mut wire = PipeEnd::session(server.clone()).await;
    let first = wire.call("tools/list", Value::Null).await;
    server.remove_tool("b");
    server.add_tools([Tool::new("e", || "x")]).unwrap();
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
