//! rust-mcp-sdk.

use std::sync::Arc;

use async_trait::async_trait;
use rust_mcp_sdk::mcp_client::{ClientHandler, ClientRuntime, McpClientOptions, client_runtime};
use rust_mcp_sdk::schema::{
    CallToolRequestParams, ClientCapabilities, Implementation, RequestMetaObject,
};
use rust_mcp_sdk::{
    ClientDetails, McpClient, RequestOptions, StdioTransport, StreamableTransportOptions,
    ToMcpClientHandler, TransportOptions,
};

use crate::report::Fault;
use crate::{Observations, Target, calls};

struct Handler;

#[async_trait]
impl ClientHandler for Handler {}

/// The errors of the SDK cannot be shared between threads, so they become text.
pub(crate) async fn visit(target: Target<'_>) -> Result<Observations, Fault> {
    Ok(converse(target).await.map_err(|error| error.to_string())?)
}

async fn converse(target: Target<'_>) -> Result<Observations, Box<dyn std::error::Error>> {
    let client_info = Implementation {
        name: "rust-mcp-sdk".to_owned(),
        version: "1.0.0".to_owned(),
        title: None,
        description: None,
        icons: Vec::new(),
        website_url: None,
    };
    let details = ClientDetails {
        client_info,
        capabilities: ClientCapabilities::default(),
    };
    let client: Arc<ClientRuntime> = match target {
        Target::Program(program) => {
            let args = vec!["--stdio".to_owned()];
            let options = TransportOptions::default();
            let transport =
                StdioTransport::create_with_server_launch(program, args, None, options)?;
            let handler = Handler.to_mcp_client_handler();
            client_runtime::create_client(McpClientOptions::new(details, transport, handler))
        }
        Target::Url(url) => {
            let options = StreamableTransportOptions {
                mcp_url: url.to_owned(),
                request_options: RequestOptions::default(),
            };
            client_runtime::with_transport_options(details, options, Handler, None)
        }
    };
    client.clone().start().await?;
    client.request_discover(Default::default()).await?;
    let tools = client.request_tool_list(None).await?.tools;
    let mut results = Vec::new();
    for (name, arguments) in calls() {
        let params = CallToolRequestParams {
            name: name.to_owned(),
            arguments: arguments.as_object().cloned(),
            input_responses: None,
            request_state: None,
            meta: RequestMetaObject::default(),
        };
        let result = client.call_tool(params).await?;
        results.push(serde_json::to_string(&result)?);
    }
    client.shut_down().await?;
    let names = tools.into_iter().map(|tool| tool.name).collect();
    Ok(Observations { names, results })
}
