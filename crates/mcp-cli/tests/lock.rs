//! `mcp lock` of servers that change all the time, as a user runs it.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use mcp_server::{Resource, Server, Tool};
use mcp_transport_http::{Endpoint, serve_with};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// A folder with a configuration of the server "data", and a lock file.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let path = path.join(format!("lock-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        let _ = std::fs::remove_file(path.join("mcp.lock"));
        Self(path)
    }

    /// Starts the server with this resource and this default of an argument.
    async fn serve(&self, resource: &'static str, default: &str) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let schema = json!({ "type": "object", "properties": { "since": { "type": "string", "default": default } } });
        let tool = Tool::dynamic("search", schema, async || "found");
        let server = Server::builder("data", "1")
            .tool(tool)
            .resource(Resource::new(resource, "note", async || "content"));
        let endpoint = Endpoint::new(server.build().unwrap()).unwrap();
        tokio::spawn(serve_with(listener, endpoint, std::future::pending()));
        let config = json!({ "mcpServers": { "data": { "url": url } } });
        std::fs::write(self.0.join("mcp.json"), config.to_string()).unwrap();
    }

    /// Runs `mcp lock data` in the folder.
    async fn lock(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcp"));
        command.args(["lock", "data"]).args(words);
        command.current_dir(&self.0).stdin(Stdio::null());
        tokio::task::spawn_blocking(move || command.output().unwrap())
            .await
            .unwrap()
    }

    fn file(&self) -> Value {
        let text = std::fs::read_to_string(self.0.join("mcp.lock")).unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn resources_can_be_left_out() {
    let folder = Folder::new("only");
    folder.serve("note://1", "").await;
    let output = folder.lock(&[]).await;
    assert!(
        said(&output).contains("locked 1 tool, 0 prompts, 1 resource, 0 templates"),
        "{output:?}"
    );
    folder.serve("note://2", "").await;
    let output = folder.lock(&["--check"]).await;
    assert_eq!(output.status.code(), Some(6), "{output:?}");
    assert!(
        said(&output).contains("--only tools,prompts,templates"),
        "{output:?}"
    );

    let output = folder.lock(&["--only", "tools,prompts,templates"]).await;
    assert!(
        said(&output).contains("locked 1 tool, 0 prompts, 0 templates"),
        "{output:?}"
    );
    assert!(folder.file()["servers"]["data"].get("resources").is_none());
    folder.serve("note://3", "").await;
    assert_eq!(folder.lock(&["--check"]).await.status.code(), Some(0));
    // The file keeps the choice, until the kinds are given again.
    let output = folder.lock(&[]).await;
    assert!(
        said(&output).contains("locked 1 tool, 0 prompts, 0 templates"),
        "{output:?}"
    );
    let output = folder.lock(&["--only", "tools,resources"]).await;
    assert!(
        said(&output).contains("locked 1 tool, 1 resource in"),
        "{output:?}"
    );
    assert_eq!(
        folder.lock(&["--only", "sums"]).await.status.code(),
        Some(1)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_default_that_changes_each_time_can_be_ignored() {
    let folder = Folder::new("default");
    folder.serve("note://1", "09:00").await;
    for wrong in ["search", "search:until", "find:since"] {
        let output = folder.lock(&["--volatile-default", wrong]).await;
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(said(&output).contains(wrong), "{output:?}");
    }
    let output = folder.lock(&["--volatile-default", "search:since"]).await;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    folder.serve("note://1", "09:01").await;
    let output = folder.lock(&["--check"]).await;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(folder.lock(&[]).await.status.code(), Some(0));
    assert_eq!(
        folder.file()["servers"]["data"]["volatile_defaults"],
        json!(["search:since"])
    );
}

/// A folder whose server "data" is a script that answers `tools/list` with the file `tools`.
#[cfg(unix)]
fn scripted(name: &str) -> Folder {
    let folder = Folder::new(name);
    let script = r#"
while read -r line; do
  id=$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  case "$line" in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":%s}}\n' "$id" "$(cat info)" ;;
    *'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$(cat tools)" ;;
  esac
done"#;
    std::fs::write(folder.0.join("server"), script).unwrap();
    std::fs::write(folder.0.join("info"), r#"{"name":"s","version":"1"}"#).unwrap();
    let config = json!({ "mcpServers": { "data": { "command": "sh", "args": ["server"] } } });
    std::fs::write(folder.0.join("mcp.json"), config.to_string()).unwrap();
    folder
}

/// Other hosts read these lists differently from this program.
#[cfg(unix)]
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

#[cfg(unix)]
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
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_deviates_when_it_connects_is_not_locked() {
    let folder = scripted("deviates");
    std::fs::write(folder.0.join("tools"), r#"{"tools":[]}"#).unwrap();
    std::fs::write(folder.0.join("info"), r#"{"name":"s","version":1}"#).unwrap();
    let output = folder.lock(&["--revision", "sessions"]).await;
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(said(&output).contains("deviates"), "{output:?}");
}
