//! Custom methods and extensions, at every revision.

use std::sync::{Arc, Mutex};

use mcp_server::middleware::{Next, Request};
use mcp_server::testing::{TestClient, block_on};
use mcp_server::types::JsonObject;
use mcp_server::{
    Args, Ctx, ErrorCode, Extension, Json, Prompt, Requirement, Revision, Server, ServerBuilder,
    State, Tool,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

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

pub(super) fn custom_methods_have_typed_params_and_state(revision: Revision) {
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

pub(super) fn names_of_the_protocol_and_duplicates_are_refused(_: Revision) {
    for (name, problem) in [
        ("tools/call", "the protocol already uses this name"),
        ("Tools/Call", "the protocol already uses this name"),
        ("INITIALIZE", "the protocol already uses this name"),
        (
            "notifications/progress",
            "the protocol already uses this name",
        ),
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

pub(super) fn methods_of_an_extension_are_for_clients_that_declare_it(revision: Revision) {
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

pub(super) fn extensions_are_installed_whole_or_not_at_all(_: Revision) {
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

pub(super) fn settings_are_negotiated(revision: Revision) {
    let declared = Arc::<Mutex<Value>>::default();
    let record = Arc::clone(&declared);
    let server = Server::builder("s", "1")
        .extension(ID, JsonObject::from_iter([("limit".to_owned(), json!(7))]))
        .method("com.example/settings", |cx: Ctx| {
            Json(json!({ "client": cx.extension(ID) }))
        })
        .layer(move |request: Request, next: Next| {
            let record = Arc::clone(&record);
            async move {
                let response = next.run(request).await;
                if let Some(Ok(result)) = response.decode_result::<Value>()
                    && result.get("capabilities").is_some()
                {
                    *record.lock().unwrap() = result;
                }
                response
            }
        });
    let settings = json!({ "extensions": { ID: { "depth": 2 } } });
    let client = TestClient::at(revision, server).answer(settings, |_, _| Ok(json!({})));
    let seen = block_on(client.request("com.example/settings", json!({}))).unwrap();
    assert_eq!(seen["client"], json!({ "depth": 2 }), "{revision}");
    if revision.is_stateless() {
        block_on(client.request("server/discover", json!({}))).unwrap();
    }
    let declared = declared.lock().unwrap();
    assert_eq!(
        declared["capabilities"]["extensions"][ID]["limit"], 7,
        "{revision}"
    );
}
