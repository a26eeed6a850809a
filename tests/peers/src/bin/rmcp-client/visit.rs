//! The published everything server behind `mcp bridge`.

use serde_json::{Value, json};

use crate::place::{Server, Target};
use crate::report::{Fault, Outcome, ensure, row, same};
use crate::{Session, text};

const REVISION: &str = "2026-07-28";
const TOOLS: [&str; 3] = [
    "echo",
    "trigger-elicitation-request",
    "trigger-sampling-request",
];

/// Reports every feature.
pub(crate) async fn conversation(url: &str) -> Result<(), Fault> {
    let place = ["stateless", "http", url, url].map(str::to_owned);
    let s = &Target::new(&place)?.open(Server::Everything).await?;
    s.host
        .answer(json!({ "action": "accept", "content": { "name": "Ada", "check": true } }));
    row("auto", async { negotiated(s) }).await;
    row("listed", listed(s)).await;
    row(
        "called",
        called(s, TOOLS[0], json!({ "message": "Grüße" }), "Grüße"),
    )
    .await;
    let sampled = called(s, TOOLS[2], json!({ "prompt": "six?" }), "the model heard");
    row("sampled", sampled).await;
    row("elicited", called(s, TOOLS[1], json!({}), "Name: Ada")).await;
    row("ended", async { Ok("the connection is closed".to_owned()) }).await;
    Ok(())
}

fn negotiated(s: &Session) -> Outcome {
    same("the revision", &s.server()["protocolVersion"], REVISION)?;
    Ok(REVISION.to_owned())
}

async fn listed(s: &Session) -> Outcome {
    let tools = s.client.list_all_tools().await?;
    for name in TOOLS {
        ensure(tools.iter().any(|tool| tool.name == name), || {
            format!("{name} is not listed")
        })?;
    }
    Ok(format!("{} tools", tools.len()))
}

async fn called(s: &Session, name: &str, arguments: Value, part: &str) -> Outcome {
    let said = text(&s.call(name, arguments).await?);
    ensure(said.contains(part), || format!("{name} says {said}"))?;
    Ok(part.to_owned())
}
