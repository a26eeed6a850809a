//! turbomcp.

use tokio::process::Command;
use turbomcp::client::{ClientBuilder, connect_child, connect_http};

use crate::report::Fault;
use crate::{Observations, Target, calls};

pub(crate) async fn visit(target: Target<'_>) -> Result<Observations, Fault> {
    let builder = ClientBuilder::new("turbomcp", "1.0.0");
    let (client, child) = match target {
        Target::Program(program) => {
            let mut command = Command::new(program);
            command.arg("--stdio").kill_on_drop(true);
            let (client, child) = connect_child(builder, command).await?;
            (client, Some(child))
        }
        Target::Url(url) => (connect_http(builder, url).await?, None),
    };
    let tools = client.list_all_tools().await?;
    let mut results = Vec::new();
    for (name, arguments) in calls() {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let result = client.call_tool(name, arguments).await?;
        results.push(format!("{:?}", result.content));
    }
    client.close().await;
    drop(client);
    if let Some(mut child) = child {
        child.wait().await?;
    }
    let names = tools
        .into_iter()
        .map(|tool| tool.name.to_string())
        .collect();
    Ok(Observations { names, results })
}
