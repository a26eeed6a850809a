//! Definitions of servers that are written in `sh`.

use serde_json::json;

use crate::{Folder, said};

/// A folder whose server "data" is a script. It answers `tools/list` with the file `tools`, and `prompts/list` with the file `prompts`, if
/// there is one. The files `info`, `capabilities` and `more` are parts of its description of itself.
pub(crate) fn scripted(name: &str) -> Folder {
    let folder = Folder::new(name);
    let script = r#"
while read -r line; do
  id=$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  list=
  case "$line" in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":%s,"serverInfo":%s%s}}\n' "$id" "$(cat capabilities)" "$(cat info)" "$(cat more)" ; continue ;;
    *'"tools/list"'*) list=tools ;;
    *'"prompts/list"'*) list=prompts ;;
    *'"id"'*) list=none ;;
  esac
  if test -f "$list"; then
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$(cat "$list")"
  elif test -n "$list"; then
    printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no %s"}}\n' "$id" "$list"
  fi
done"#;
    for (file, text) in [
        ("capabilities", r#"{"tools":{}}"#),
        ("more", ""),
        ("tools", r#"{"tools":[]}"#),
    ] {
        std::fs::write(folder.0.join(file), text).unwrap();
    }
    let _ = std::fs::remove_file(folder.0.join("prompts"));
    std::fs::write(folder.0.join("server"), script).unwrap();
    std::fs::write(folder.0.join("info"), r#"{"name":"s","version":"1"}"#).unwrap();
    let config = json!({ "mcpServers": { "data": { "command": "sh", "args": ["server"] } } });
    std::fs::write(folder.0.join("mcp.json"), config.to_string()).unwrap();
    folder
}

/// Other hosts read these lists differently from this program.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_hosts_read_differently_is_neither_locked_nor_compared() {
    let folder = scripted("differently");
    let serve = |tools: &str| std::fs::write(folder.0.join("tools"), tools).unwrap();
    let good = r#"{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}"#;
    let with = |more: &str| good.replace("}}]", &format!("}}{more}}}]"));
    let second = |tool: &str| good.replace("}}]", &format!("}}}},{tool}]"));
    let words = ["--revision", "sessions"];
    for (list, part) in [
        (
            with(r#","description":"x","title":5"#),
            "\"t\": /tools/0/title",
        ),
        (
            with(r#","description":"x","icons":"x""#),
            "\"t\": /tools/0/icons",
        ),
        (
            with(r#","description":"x","description":null"#),
            "\"description\" is repeated",
        ),
        (
            with(r#","_meta":{"a":[{"b":1,"\u0062":1}]}"#),
            "\"b\" is repeated",
        ),
        (
            second(r#"{"name":"evil","description":"x","inputSchema":null}"#),
            "\"evil\": /tools/1/inputSchema",
        ),
        (
            second(r#"{"name":"evil","inputSchema":{"type":"object"},"outputSchema":5}"#),
            "\"evil\": /tools/1/outputSchema",
        ),
        (second(r#"{"inputSchema":{"type":"object"}}"#), "/tools/1"),
        (
            good.replace("]}", r#"],"tools":[]}"#),
            "\"tools\" is repeated",
        ),
        (
            good.replace("]}", r#"],"nextCursor":""}"#),
            "cursor of the next page is empty",
        ),
        (good.replace("]}", r#"],"nextCursor":5}"#), "nextCursor"),
        (with(r#","title":"\ud800""#), "deviates"),
    ] {
        serve(good);
        let output = folder.lock(&words).await;
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let locked = folder.file();
        serve(&list);
        for words in [&[&words[..], &["--check"]].concat()[..], &words] {
            let output = folder.lock(words).await;
            assert_eq!(output.status.code(), Some(3), "{list}: {output:?}");
            assert!(said(&output).contains(part), "{list}: {}", said(&output));
        }
        assert_eq!(folder.file(), locked, "{list}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_members_are_part_of_a_definition() {
    let folder = scripted("unknown");
    let serve = |more: &str| {
        let tools =
            format!(r#"{{"tools":[{{"name":"t","inputSchema":{{"type":"object"}}{more}}}]}}"#);
        std::fs::write(folder.0.join("tools"), tools).unwrap();
    };
    let (lock, check) = (
        ["--revision", "sessions"],
        ["--revision", "sessions", "--check"],
    );
    serve("");
    assert_eq!(folder.lock(&lock).await.status.code(), Some(0));
    for more in [
        r#","vendor":"x""#,
        r#","annotations":{"vendor":"x"}"#,
        r#","icons":[{"src":"javascript:x"}]"#,
    ] {
        serve(more);
        let output = folder.lock(&check).await;
        assert_eq!(output.status.code(), Some(6), "{more}: {output:?}");
    }
    // The order of members does not matter.
    std::fs::write(
        folder.0.join("tools"),
        r#"{"tools":[{"inputSchema":{"type":"object"},"name":"t"}]}"#,
    )
    .unwrap();
    assert_eq!(folder.lock(&check).await.status.code(), Some(0));
}

/// The description of the server is repaired, so other hosts could also read its capabilities differently.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_handshake_deviates_from_the_protocol_is_not_locked() {
    let folder = scripted("deviates");
    std::fs::write(folder.0.join("tools"), r#"{"tools":[]}"#).unwrap();
    std::fs::write(folder.0.join("info"), r#"{"name":"s","version":1}"#).unwrap();
    let output = folder.lock(&["--revision", "sessions"]).await;
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(said(&output).contains("deviates"), "{output:?}");
}
