//! `@modelcontextprotocol/server-memory`: a graph in a file.

use mcp_protocol::Revision;
use mcp_types::{CompleteRequest, GetPromptRequest, SetLevelRequest};
use serde_json::{Value, json};

use crate::filesystem::{quick, unchanged};
use crate::lifecycle::undeclared;
use crate::report::{Fault, Outcome, absent, row, same};
use crate::target::{Session, Target};
use crate::tools::{Known, call, known};
use crate::{content, lifecycle, server_requests, tools};

const GRAPH: &str = "memory://knowledge-graph";

/// Reports every feature that the server has, and the evidence that it lacks the others.
pub(crate) async fn run(target: &Target) -> Result<(), Fault> {
    let session = target.connect(Revision::LATEST_WITH_SESSIONS).await?;
    let s = &session;
    row("initialize", async {
        lifecycle::initialized(s, "memory-server")
    })
    .await;
    row("auto", lifecycle::probe(target)).await;
    row("ping", lifecycle::ping(s)).await;
    row("unknown-method", lifecycle::unknown_method(s)).await;
    row("tools-list", tools::list(s)).await;
    row("tools-call", tools::call_all(s, &table())).await;
    row(
        "structured-output",
        tools::structured(s, "read_graph", json!({}), "entities"),
    )
    .await;
    let stranger = json!({ "observations": [{ "entityName": "Unknown", "contents": ["x"] }] });
    row(
        "tool-errors",
        tools::failing(s, "add_observations", stranger, "Unknown not found"),
    )
    .await;
    row(
        "bad-arguments",
        tools::bad_arguments(s, "search_nodes", json!({ "query": 7 })),
    )
    .await;
    row("unknown-tool", tools::unknown(s)).await;
    let search = |name: &str| json!({ "query": name });
    row("concurrent", concurrent(s, search)).await;
    let text = tools::large_text();
    let entity = json!({ "name": "Large", "entityType": "text", "observations": [text] });
    let entities = json!({ "entities": [entity] });
    row("large", tools::large(s, "create_entities", entities, &text)).await;
    row("pagination", lifecycle::pages(s)).await;
    row("resources-list", content::list(s, GRAPH)).await;
    row("resources-read", content::read_all(s)).await;
    row("templates", no_templates(s)).await;
    row("unknown-resource", content::unknown(s, "memory://nowhere")).await;
    row("subscribe", content::subscribe(s, GRAPH, remember(s))).await;
    missing(s).await;
    row("shutdown", session.close()).await;
    row("roots", rootless(target)).await;
    row("roots-changed", rootless(target)).await;
    let search = known("search_nodes", json!({ "query": "Grace" }), "Grace");
    lifecycle::revisions(target, &[search]).await;
    Ok(())
}

/// In this order: create, read, delete.
fn table() -> Vec<Known> {
    let ada = json!({ "name": "Ada", "entityType": "person", "observations": ["counts"] });
    let bob = json!({ "name": "Bob", "entityType": "person", "observations": [] });
    let knows = json!([{ "from": "Ada", "to": "Bob", "relationType": "knows" }]);
    let more = json!([{ "entityName": "Ada", "contents": ["writes"] }]);
    let less = json!([{ "entityName": "Ada", "observations": ["counts"] }]);
    vec![
        known("create_entities", json!({ "entities": [ada, bob] }), "Ada"),
        known("create_relations", json!({ "relations": knows }), "knows"),
        known(
            "add_observations",
            json!({ "observations": more }),
            "writes",
        ),
        known("read_graph", json!({}), "relationType"),
        known("search_nodes", json!({ "query": "writes" }), "Ada"),
        known("open_nodes", json!({ "names": ["Bob"] }), "Bob"),
        known(
            "delete_observations",
            json!({ "deletions": less }),
            "deleted",
        ),
        known("delete_relations", json!({ "relations": knows }), "deleted"),
        known(
            "delete_entities",
            json!({ "entityNames": ["Ada", "Bob"] }),
            "deleted",
        ),
    ]
}

/// Creates one entity per call, so that each call finds a different one.
async fn concurrent(s: &Session, search: impl Fn(&str) -> Value) -> Outcome {
    let entity = |number| {
        let name = format!("call-{number:03}");
        json!({ "name": name, "entityType": "number", "observations": [] })
    };
    let entities: Vec<Value> = (0..tools::CONCURRENT).map(entity).collect();
    call(s, "create_entities", json!({ "entities": entities }), "").await?;
    tools::concurrent(s, "search_nodes", search).await
}

async fn remember(s: &Session) -> Result<(), Fault> {
    let grace = json!({ "name": "Grace", "entityType": "person", "observations": ["compiles"] });
    call(s, "create_entities", json!({ "entities": [grace] }), "").await?;
    Ok(())
}

async fn no_templates(s: &Session) -> Outcome {
    let templates = s.client.list_resource_templates().await?;
    same("templates", templates.len(), 0)?;
    absent("the list of templates is empty")
}

/// The features that the server does not declare or did not use while every tool was called.
async fn missing(s: &Session) {
    row("prompts", undeclared::<GetPromptRequest>(s)).await;
    row("unknown-prompt", undeclared::<GetPromptRequest>(s)).await;
    row("completion", undeclared::<CompleteRequest>(s)).await;
    row("completion-context", undeclared::<CompleteRequest>(s)).await;
    row("logging", undeclared::<SetLevelRequest>(s)).await;
    row("list-changed", unchanged(s)).await;
    quick(s).await;
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
}

/// Declares and changes roots and calls tools; the server must not request the roots.
async fn rootless(target: &Target) -> Outcome {
    let session = target.overhear().await?;
    session.client.set_roots([target.root("elsewhere")])?;
    for tool in table() {
        call(&session, tool.name, tool.arguments, tool.says).await?;
    }
    let asked = session.left().await?;
    same("what it asked", &asked["asked"], &json!([]))?;
    absent("roots were offered and changed, and it did not ask for them")
}
