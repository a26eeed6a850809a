//! `#[resource]`: fixed URIs and templates.

use mcp_server::{CompletionRequest, State, resource};

use crate::prelude::*;

/// The readme.
#[resource("project:///readme", mime = "text/markdown", title = "Read me")]
fn readme() -> &'static str {
    "# hello"
}

fn owners(_: CompletionRequest) -> Vec<String> {
    vec!["ada".to_owned()]
}

/// A file of a repository.
#[resource("repo://{owner}/{+path}{?rev}", name = "file")]
async fn file(
    #[arg(complete = owners)] owner: String,
    path: String,
    State(branch): State<String>,
    rev: Option<String>,
) -> Option<String> {
    (owner == "ada").then(|| format!("{path}@{}", rev.unwrap_or(branch)))
}

#[test]
fn resource_attributes_create_resources_and_templates() {
    let made: Resource = readme::resource();
    let text = format!("{made:?}");
    for part in [
        "project:///readme",
        "text/markdown",
        "Read me",
        "The readme.",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let made: Resource<String> = file::resource();
    assert!(format!("{made:?}").contains("repo://{owner}/{+path}{?rev}"));
}

#[tokio::test]
async fn resource_functions_return_contents() {
    let server = Server::builder("s", "1")
        .state("main".to_owned())
        .resources([readme::resource(), file::resource()]);
    let mut wire = PipeEnd::session(server).await;
    let result = wire.call("resources/list", json!({})).await;
    assert_eq!(result["resources"][0]["name"], "readme");
    for (uri, text) in [
        ("project:///readme", "# hello"),
        ("repo://ada/src/lib.rs", "src/lib.rs@main"),
        ("repo://ada/src/lib.rs?rev=v1", "src/lib.rs@v1"),
    ] {
        let result = wire.call("resources/read", json!({ "uri": uri })).await;
        assert_eq!(result["contents"][0]["text"], text);
        assert_eq!(result["contents"][0]["uri"], uri);
    }
    let params = json!({
        "ref": {"type": "ref/resource", "uri": "repo://{owner}/{+path}{?rev}"},
        "argument": {"name": "owner", "value": ""},
    });
    let result = wire.call("completion/complete", params).await;
    assert_eq!(result["completion"]["values"], json!(["ada"]));
}
