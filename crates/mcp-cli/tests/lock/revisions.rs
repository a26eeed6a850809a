//! Servers that offer other definitions to hosts that request some revisions.

use serde_json::json;

use crate::{Folder, said};

/// A folder whose server "data" answers `initialize` with the requested revision, and `tools/list` with the file `tools-REVISION`, or
/// `tools` if that file does not exist. It does not know revisions with a file `no-REVISION`.
fn scripted(name: &str) -> Folder {
    let folder = Folder::new(name);
    let script = r#"
echo x >> starts
while read -r line; do
  id=$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
  case "$line" in
    *'"initialize"'*)
      asked=$(printf %s "$line" | sed 's/.*"protocolVersion":"\([-0-9]*\)".*/\1/')
      revision=$asked
      test -f "no-$revision" && exit 1
      case "$line" in *'"roots"'*'"sampling"'*) test -f tools-host && revision=host ;; esac
      answer '{"protocolVersion":"'"$asked"'","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*)
      if test -f "tools-$revision"; then answer "$(cat "tools-$revision")"; else answer "$(cat tools)"; fi ;;
    *'"id"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
  esac
done"#;
    std::fs::write(folder.0.join("server"), script).unwrap();
    std::fs::write(folder.0.join("tools"), tool("good")).unwrap();
    for file in ["tools-2025-06-18", "tools-host", "no-2025-03-26", "starts"] {
        let _ = std::fs::remove_file(folder.0.join(file));
    }
    let config = json!({ "mcpServers": { "data": { "command": "sh", "args": ["server"] } } });
    std::fs::write(folder.0.join("mcp.json"), config.to_string()).unwrap();
    folder
}

fn tool(text: &str) -> String {
    format!(
        r#"{{"tools":[{{"name":"t","description":"{text}","inputSchema":{{"type":"object"}}}}]}}"#
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn definitions_of_each_revision_are_compared() {
    let folder = scripted("each");
    let output = folder.lock(&[]).await;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    // One entry names the revisions if the offers are the same.
    let others = json!([{ "revisions": {
        "2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18"
    } }]);
    assert_eq!(folder.file()["servers"]["data"]["others"], others);
    assert_eq!(folder.lock(&["--check"]).await.status.code(), Some(0));

    std::fs::write(folder.0.join("tools-2025-06-18"), tool("evil")).unwrap();
    let output = folder.lock(&["--check"]).await;
    assert_eq!(output.status.code(), Some(6), "{output:?}");
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("tool t (2025-06-18)"), "{table}");
    assert_eq!(table.lines().count(), 1, "{table}");
    // Each revision has its own definitions in the file.
    assert_eq!(folder.lock(&[]).await.status.code(), Some(0));
    let file = folder.file();
    let others = &file["servers"]["data"]["others"];
    assert_eq!(
        others[1]["revisions"],
        json!({ "2025-06-18": "2025-06-18" })
    );
    let tool_of = |value: &serde_json::Value| value["tools"]["t"]["definition"].clone();
    assert_eq!(tool_of(&others[1]["offer"])["description"], "evil");
    assert_eq!(folder.lock(&["--check"]).await.status.code(), Some(0));

    // A change of all revisions is reported once.
    std::fs::remove_file(folder.0.join("tools-2025-06-18")).unwrap();
    std::fs::write(folder.0.join("tools"), tool("changed")).unwrap();
    let output = folder.lock(&["--check"]).await;
    let table = String::from_utf8(output.stdout).unwrap();
    assert_eq!(table.lines().count(), 2, "{table}");
}

/// Hosts declare sampling and roots.
#[tokio::test(flavor = "multi_thread")]
async fn definitions_for_hosts_with_sampling_and_roots_are_compared() {
    let folder = scripted("host");
    assert_eq!(folder.lock(&[]).await.status.code(), Some(0));
    std::fs::write(folder.0.join("tools-host"), tool("evil")).unwrap();
    let output = folder.lock(&["--check"]).await;
    assert_eq!(output.status.code(), Some(6), "{output:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newly_accepted_or_no_longer_accepted_revision_is_a_difference() {
    let folder = scripted("accepted");
    let no = folder.0.join("no-2025-03-26");
    assert_eq!(folder.lock(&[]).await.status.code(), Some(0));
    std::fs::write(&no, "").unwrap();
    let output = folder.lock(&["--check"]).await;
    assert_eq!(output.status.code(), Some(6), "{output:?}");
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(
        table.contains("breaking  revision 2025-03-26  removed"),
        "{table}"
    );
    assert_eq!(folder.lock(&[]).await.status.code(), Some(0));
    std::fs::remove_file(&no).unwrap();
    let output = folder.lock(&["--check"]).await;
    assert_eq!(output.status.code(), Some(6), "{output:?}");
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(
        table.contains("risky     revision 2025-03-26  added"),
        "{table}"
    );
}

/// With `--revision`, the server is started once, and the other revisions of the file are kept.
#[tokio::test(flavor = "multi_thread")]
async fn only_the_revision_that_the_command_line_names_is_read() {
    let folder = scripted("one");
    let words = ["--revision", "sessions"];
    assert_eq!(folder.lock(&words).await.status.code(), Some(0));
    let starts = std::fs::read_to_string(folder.0.join("starts")).unwrap();
    assert_eq!(starts.lines().count(), 1);
    let output = folder.lock(&["--check"]).await;
    assert_eq!(output.status.code(), Some(6), "{output:?}");
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("other revisions  not locked yet"), "{table}");
    assert_eq!(folder.lock(&[]).await.status.code(), Some(0));
    // The definitions of the other revisions do not change with the first ones.
    std::fs::write(folder.0.join("tools"), tool("new")).unwrap();
    assert_eq!(folder.lock(&words).await.status.code(), Some(0));
    let file = folder.file();
    let other = &file["servers"]["data"]["others"][0]["offer"];
    let description = &other["tools"]["t"]["definition"]["description"];
    assert_eq!(description, "good", "{file}");
}

/// A list of one revision that hosts can read differently is not locked.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_one_revision_that_hosts_read_differently_is_not_locked() {
    let folder = scripted("twice");
    let twice = r#"{"tools":[],"tools":[]}"#;
    std::fs::write(folder.0.join("tools-2025-06-18"), twice).unwrap();
    let output = folder.lock(&[]).await;
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(
        said(&output).contains("revision 2025-06-18: tools/list"),
        "{output:?}"
    );
}
