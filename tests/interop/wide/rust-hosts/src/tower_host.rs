//! tower-mcp.

use tower_mcp::client::{HttpClientTransport, McpClient, StdioClientTransport};

use crate::report::Fault;
use crate::{Observations, Target, calls};

pub(crate) async fn visit(target: Target<'_>) -> Result<Observations, Fault> {
    let client = match target {
        Target::Program(program) => {
            McpClient::connect(StdioClientTransport::spawn(program, &["--stdio"]).await?).await?
        }
        Target::Url(url) => McpClient::connect(HttpClientTransport::new(url)).await?,
    };
    client.initialize("tower-mcp", "1.0.0").await?;
    let tools = client.list_tools().await?.tools;
    let mut results = Vec::new();
    for (name, arguments) in calls() {
        let result = client.call_tool(name, arguments).await?;
        results.push(serde_json::to_string(&result)?);
    }
    client.shutdown().await?;
    let names = tools.into_iter().map(|tool| tool.name).collect();
    Ok(Observations { names, results })
}
