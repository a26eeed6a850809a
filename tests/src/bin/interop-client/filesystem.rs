//! `@modelcontextprotocol/server-filesystem`, with a separate folder.

use std::path::Path;

use mcp_protocol::Revision;
use mcp_types::{
    CompleteRequest, GetPromptRequest, ListResourceTemplatesRequest, ListResourcesRequest,
    ReadResourceRequest, SetLevelRequest, SubscribeRequest,
};
use serde_json::{Value, json};

use crate::lifecycle::undeclared;
use crate::report::{Fault, Outcome, absent, row, same};
use crate::target::{Session, Target};
use crate::tools::{Known, call, known};
use crate::{lifecycle, server_requests, tools};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Reports every feature that the server has, and the evidence that it lacks the others.
pub(crate) async fn run(target: &Target) -> Result<(), Fault> {
    // The results of tools contain the real path of the folder.
    let folder = target.folder.clone();
    std::fs::write(folder.join("pixel.png"), PNG)?;
    let _ = std::fs::remove_file(folder.join("moved.txt"));
    std::fs::create_dir_all(folder.join("elsewhere"))?;
    let session = target.connect(Revision::LATEST_WITH_SESSIONS).await?;
    let s = &session;
    row("initialize", async {
        lifecycle::initialized(s, "secure-filesystem-server")
    })
    .await;
    row("auto", lifecycle::probe(target)).await;
    row("ping", lifecycle::ping(s)).await;
    row("unknown-method", lifecycle::unknown_method(s)).await;
    let shown = folder.display().to_string();
    row(
        "roots",
        server_requests::roots(s, "list_allowed_directories", &shown),
    )
    .await;
    row("tools-list", tools::list(s)).await;
    row("tools-call", tools::call_all(s, &table(&folder))).await;
    calls(s, &folder).await;
    for asked in [
        "sampling",
        "elicitation",
        "elicitation-defaults",
        "elicitation-refused",
    ] {
        row(asked, server_requests::silent(s)).await;
    }
    for asked in ["elicitation-url", "url-required"] {
        row(asked, server_requests::silent(s)).await;
    }
    missing(s).await;
    let other = folder.join("elsewhere").display().to_string();
    let root = target.root("elsewhere");
    row(
        "roots-changed",
        server_requests::roots_changed(s, "list_allowed_directories", root, &other),
    )
    .await;
    row("shutdown", session.close()).await;
    let listing = known(
        "list_directory",
        json!({ "path": folder }),
        "[DIR] elsewhere",
    );
    lifecycle::revisions(target, &[listing]).await;
    Ok(())
}

/// In this order: write, read, change, move, search.
fn table(folder: &Path) -> Vec<Known> {
    let note = folder.join("note.txt");
    let moved = folder.join("moved.txt");
    let edit = json!([{ "oldText": "first", "newText": "1st" }]);
    vec![
        known(
            "write_file",
            json!({ "path": note, "content": "first\nsecond\n" }),
            "wrote",
        ),
        known("read_file", json!({ "path": note }), "second"),
        known(
            "read_text_file",
            json!({ "path": note, "head": 1 }),
            "first",
        ),
        known("edit_file", json!({ "path": note, "edits": edit }), "+1st"),
        known(
            "read_multiple_files",
            json!({ "paths": [note, "/etc/none"] }),
            "1st",
        ),
        known(
            "read_media_file",
            json!({ "path": folder.join("pixel.png") }),
            "image/png",
        ),
        known(
            "create_directory",
            json!({ "path": folder.join("a/b") }),
            "created",
        ),
        known(
            "list_directory",
            json!({ "path": folder }),
            "[FILE] note.txt",
        ),
        known(
            "list_directory_with_sizes",
            json!({ "path": folder }),
            "Total",
        ),
        known("directory_tree", json!({ "path": folder }), "elsewhere"),
        known(
            "move_file",
            json!({ "source": note, "destination": moved }),
            "moved",
        ),
        known(
            "search_files",
            json!({ "path": folder, "pattern": "*.txt" }),
            "moved.txt",
        ),
        known("get_file_info", json!({ "path": moved }), "isFile: true"),
        known("list_allowed_directories", json!({}), "Allowed directories"),
    ]
}

async fn calls(s: &Session, folder: &Path) {
    let read = json!({ "path": folder.join("moved.txt") });
    row(
        "structured-output",
        tools::structured(s, "read_text_file", read, "content"),
    )
    .await;
    let outside = json!({ "path": "/etc/hostname" });
    row(
        "tool-errors",
        tools::failing(s, "read_text_file", outside, "outside allowed directories"),
    )
    .await;
    row(
        "bad-arguments",
        tools::bad_arguments(s, "read_text_file", json!({ "path": 7 })),
    )
    .await;
    row("unknown-tool", tools::unknown(s)).await;
    row("large", large(s, folder)).await;
    let many = |name: &str| json!({ "path": folder, "pattern": name });
    row("concurrent", concurrent(s, folder, many)).await;
    row("pagination", lifecycle::pages(s)).await;
}

/// Writes a file and reads it.
async fn large(s: &Session, folder: &Path) -> Outcome {
    let text = tools::large_text();
    let path = folder.join("large.text");
    let content = json!({ "path": path, "content": text });
    call(s, "write_file", content, "wrote").await?;
    tools::large(s, "read_text_file", json!({ "path": path }), &text).await
}

/// Creates one file per call, so that each call finds a different one.
async fn concurrent(s: &Session, folder: &Path, search: impl Fn(&str) -> Value) -> Outcome {
    for number in 0..tools::CONCURRENT {
        std::fs::write(folder.join(format!("call-{number:03}")), "")?;
    }
    tools::concurrent(s, "search_files", search).await
}

/// The features that the server does not declare or did not use while every tool was called.
async fn missing(s: &Session) {
    row("resources-list", undeclared::<ListResourcesRequest>(s)).await;
    row("resources-read", undeclared::<ReadResourceRequest>(s)).await;
    row("unknown-resource", undeclared::<ReadResourceRequest>(s)).await;
    row("templates", undeclared::<ListResourceTemplatesRequest>(s)).await;
    row("subscribe", undeclared::<SubscribeRequest>(s)).await;
    row("prompts", undeclared::<GetPromptRequest>(s)).await;
    row("unknown-prompt", undeclared::<GetPromptRequest>(s)).await;
    row("completion", undeclared::<CompleteRequest>(s)).await;
    row("completion-context", undeclared::<CompleteRequest>(s)).await;
    row("logging", undeclared::<SetLevelRequest>(s)).await;
    row("list-changed", unchanged(s)).await;
    quick(s).await;
}

/// Shows that the lists do not change.
pub(crate) async fn unchanged(s: &Session) -> Outcome {
    match &*s.host.seen().changed {
        [] => absent("no list changed while every tool was called"),
        changed => Err(format!("{changed:?} changed").into()),
    }
}

/// Shows that no tool takes long enough to report progress or to be cancelled.
pub(crate) async fn quick(s: &Session) {
    let silent = || async {
        same("reports of progress", s.host.seen().progress, 0)?;
        absent("every tool was called, and none reported progress")
    };
    row("progress", silent()).await;
    row("cancellation", silent()).await;
    let tasks = async {
        let declared = s.client.capabilities().tasks.is_some();
        same("the capability tasks", declared, false)?;
        absent("capability \"tasks\" was not declared")
    };
    row("tasks", tasks).await;
}
