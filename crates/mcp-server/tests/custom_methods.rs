//! Custom methods and extensions, at every revision.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use mcp_server::testing::{TestClient, block_on};
use mcp_server::{
    Args, ErrorCode, Extension, Json, Prompt, Requirement, Revision, Server, ServerBuilder, State,
    Tool,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct Query {
    text: String,
}

#[derive(Serialize)]
struct Hits {
    hits: Vec<String>,
}

async fn search(Args(query): Args<Query>, State(prefix): State<&'static str>) -> Json<Hits> {
    Json(Hits {
        hits: vec![format!("{prefix}{}", query.text)],
    })
}

#[test]
fn custom_methods_have_typed_params_and_state() {
    for revision in Revision::ALL {
        let server = Server::builder("s", "1")
            .state("found ")
            .method("com.example/search", search);
        let client = TestClient::at(revision, server);
        let found = block_on(client.request("com.example/search", json!({ "text": "a" })));
        assert_eq!(found.unwrap()["hits"], json!(["found a"]), "{revision}");
        let error = block_on(client.request("com.example/search", json!({ "text": 1 })));
        assert_eq!(
            error.unwrap_err().code,
            ErrorCode::INVALID_PARAMS,
            "{revision}"
        );
        let error = block_on(client.request("com.example/other", json!({})));
        assert_eq!(
            error.unwrap_err().code,
            ErrorCode::METHOD_NOT_FOUND,
            "{revision}"
        );
    }
}

#[test]
fn names_of_the_protocol_and_duplicates_are_refused() {
    for (name, problem) in [
        ("tools/call", "the protocol has this name"),
        ("Tools/Call", "the protocol has this name"),
        ("INITIALIZE", "the protocol has this name"),
        ("notifications/progress", "the protocol has this name"),
        ("twice", "registered twice"),
        ("rpc.discover", "visible ASCII"),
        ("with space", "visible ASCII"),
        ("", "visible ASCII"),
    ] {
        let nothing = || ();
        let server = Server::builder("s", "1")
            .method("twice", nothing)
            .method(name, nothing);
        let error = server.build().unwrap_err().to_string();
        assert!(error.contains(problem), "{name}: {error}");
        let server = Server::builder("s", "1")
            .on_notification("twice", nothing)
            .on_notification(name, nothing);
        let error = server.build().unwrap_err().to_string();
        assert!(error.contains(problem), "{name}: {error}");
    }
}

/// An extension with one method and one tool.
struct Library {
    id: &'static str,
    requires: Vec<Requirement>,
    tool: &'static str,
}

impl Library {
    fn new(id: &'static str) -> Self {
        Self {
            id,
            requires: Vec::new(),
            tool: "search",
        }
    }
}

impl<S: Clone + Send + Sync + 'static> Extension<S> for Library {
    fn id(&self) -> &str {
        self.id
    }

    fn requires(&self) -> Vec<Requirement> {
        self.requires.clone()
    }

    fn install(self, server: ServerBuilder<S>) -> ServerBuilder<S> {
        let method = format!("{}/search", self.id);
        server
            .method(method, || Json(json!({ "found": true })))
            .tool(Tool::new(self.tool, || "found"))
    }
}

const ID: &str = "com.example/library";

#[test]
fn methods_of_an_extension_are_for_clients_that_declare_it() {
    for revision in Revision::ALL {
        let client = TestClient::at(revision, Server::builder("s", "1").with(Library::new(ID)));
        let declared = json!({ "extensions": { ID: {} } });
        let able = TestClient::at(revision, Server::builder("s", "1").with(Library::new(ID)))
            .answer(declared, |_, _| Ok(json!({})));
        let method = format!("{ID}/search");
        let error = block_on(client.request(&method, json!({}))).unwrap_err();
        if revision.is_stateless() {
            assert_eq!(error.code, ErrorCode::MISSING_CLIENT_CAPABILITY);
            let required = &error.data.unwrap()["requiredCapabilities"]["extensions"];
            assert_eq!(required, &json!({ ID: {} }));
        } else {
            assert_eq!(error.code, ErrorCode::METHOD_NOT_FOUND, "{revision}");
        }
        let found = block_on(able.request(&method, json!({}))).unwrap();
        assert_eq!(found["found"], true, "{revision}");
        assert!(block_on(client.call_tool("search", json!({}))).is_ok());
    }
}

#[test]
fn extensions_are_installed_whole_or_not_at_all() {
    let problems = |server: ServerBuilder| match server.build() {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    };
    let with = |requires: Vec<Requirement>| Library {
        requires,
        ..Library::new(ID)
    };
    let other = || Requirement::Extension("com.example/other".to_owned());
    let builder = || Server::builder("s", "1");

    let broken = Library {
        tool: "not a name",
        ..Library::new(ID)
    };
    let report = problems(builder().with(broken).method(format!("{ID}/search"), || ()));
    assert!(
        report.contains("was not installed: tool \"not a name\""),
        "{report}"
    );
    assert!(
        !report.contains("twice"),
        "nothing of it is installed: {report}"
    );

    let report = problems(builder().with(Library::new(ID)).with(Library::new(ID)));
    assert!(report.contains("installed twice"), "{report}");
    let report = problems(builder().with(with(vec![other()])));
    assert!(
        report.contains("requires the extension \"com.example/other\""),
        "{report}"
    );
    let needs_prompts = Requirement::Capability("prompts".to_owned());
    let report = problems(builder().with(with(vec![needs_prompts.clone()])));
    assert!(
        report.contains("requires the capability \"prompts\""),
        "{report}"
    );
    let prompt = Prompt::new("p", || "p");
    assert_eq!(
        problems(builder().with(with(vec![needs_prompts])).prompt(prompt)),
        ""
    );

    let second = |requires| Library {
        requires,
        tool: "second",
        ..Library::new("com.example/other")
    };
    let ordered = builder().with(with(vec![other()])).with(second(Vec::new()));
    assert_eq!(problems(ordered), "");
    let back = Requirement::Extension(ID.to_owned());
    let report = problems(builder().with(with(vec![other()])).with(second(vec![back])));
    assert!(report.contains("requires itself"), "{report}");
    let report = problems(builder().with(Library::new("no-prefix")));
    assert!(report.contains("needs a prefix"), "{report}");
}
