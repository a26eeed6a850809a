//! `mcp lock` of servers that change all the time, as a user runs it.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[cfg(unix)]
mod outside;
#[cfg(unix)]
mod revisions;
#[cfg(unix)]
mod scripted;

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use mcp_server::{Resource, Server, Tool};
use mcp_transport_http::{Endpoint, serve_with};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// A folder with a configuration of the server "data", and a lock file.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
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
    pub(crate) async fn lock(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcp"));
        command.args(["lock", "data"]).args(words);
        command.current_dir(&self.0).stdin(Stdio::null());
        tokio::task::spawn_blocking(move || command.output().unwrap())
            .await
            .unwrap()
    }

    pub(crate) fn file(&self) -> Value {
        let text = std::fs::read_to_string(self.0.join("mcp.lock")).unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

pub(crate) fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn resources_can_be_left_out_of_the_lock_file() {
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
async fn a_check_says_how_to_ignore_a_default_that_changes() {
    let folder = Folder::new("changed-default");
    folder.serve("note://1", "09:00").await;
    assert_eq!(folder.lock(&[]).await.status.code(), Some(0));
    let output = folder.lock(&["--check"]).await;
    assert!(!said(&output).contains("--volatile-default"), "{output:?}");
    folder.serve("note://1", "09:01").await;
    let output = folder.lock(&["--check"]).await;
    assert_eq!(output.status.code(), Some(6), "{output:?}");
    let hint = "the default of search:since differs; if the server computes it at each start, `mcp lock --volatile-default search:since`";
    assert!(said(&output).contains(hint), "{output:?}");
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
