//! The tools of `bench-server`, written with the official Rust SDK: `--stdio` or `--http ADDRESS`, with `--stateless`,
//! `--nagle` and `--tools N`.
//!
//! The router is built once and shared, which is faster: the code of the SDK's macro builds it for each call.
//! `--stateless` answers with plain JSON, also to requests of 2026-07-28; without it there are sessions and event
//! streams, the SDK's default.

use std::io::Write as _;
use std::sync::{Arc, OnceLock};

use axum::serve::ListenerExt as _;
use rmcp::handler::server::router::tool::{ToolRoute, ToolRouter};
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities, ServerConfig,
};
use rmcp::schemars::{self, JsonSchema};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _, tool, tool_router};
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Echo {
    /// Comes back.
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Big {
    /// How long the answer is.
    bytes: usize,
}

#[derive(Deserialize, JsonSchema)]
struct Steps {
    /// How many notifications come before the answer.
    count: usize,
}

#[derive(Clone)]
struct Bench;

static ROUTER: OnceLock<ToolRouter<Bench>> = OnceLock::new();

#[tool_router]
impl Bench {
    #[tool]
    fn echo(&self, Parameters(echo): Parameters<Echo>) -> String {
        echo.message
    }

    #[tool]
    fn add(&self, Parameters(add): Parameters<Add>) -> String {
        (add.a + add.b).to_string()
    }

    #[tool]
    fn big(&self, Parameters(big): Parameters<Big>) -> String {
        "x".repeat(big.bytes.min(16 << 20))
    }

    #[tool]
    async fn steps(
        &self,
        Parameters(steps): Parameters<Steps>,
        cx: RequestContext<RoleServer>,
    ) -> Result<String, ErrorData> {
        let token = cx.meta.get_progress_token();
        let token = token.ok_or_else(|| ErrorData::invalid_params("no progress token", None))?;
        for step in 1..=steps.count.min(1_000) {
            let progress = ProgressNotificationParam::new(token.clone(), step as f64);
            let sent = cx.peer.notify_progress(progress).await;
            sent.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        }
        Ok("done".to_owned())
    }
}

/// Creates the tools, and this many more.
fn router(more: usize) -> ToolRouter<Bench> {
    let mut router = Bench::tool_router();
    let echo = router.map.get("echo").map(|route| route.attr.clone());
    for (n, mut tool) in (0..more).zip(std::iter::repeat(echo).flatten()) {
        tool.name = format!("dummy_{n:04}").into();
        tool.description = Some("Makes the list of tools a longer one".into());
        router.add_route(ToolRoute::new_dyn(tool, |_| {
            let result = CallToolResult::success(vec![ContentBlock::text("dummy")]);
            Box::pin(async move { Ok(result.into()) })
        }));
    }
    router
}

impl ServerHandler for Bench {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = ROUTER.get().map(ToolRouter::list_all).unwrap_or_default();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let router = ROUTER
            .get()
            .ok_or_else(|| ErrorData::internal_error("no router", None))?;
        router.call(ToolCallContext::new(self, call, cx)).await
    }
}

const USAGE: &str =
    "usage: bench-rmcp-server --stdio [--tools N] | --http ADDRESS [--stateless] [--nagle] [--tools N]";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut http, mut stateless, mut nagle, mut tools) = (None, false, false, 0);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match &*arg {
            "--stdio" => {}
            "--stateless" => stateless = true,
            "--nagle" => nagle = true,
            "--http" => http = Some(args.next().ok_or(USAGE)?),
            "--tools" => tools = args.next().ok_or(USAGE)?.parse()?,
            _ => return Err(USAGE.into()),
        }
    }
    let _ = ROUTER.set(router(tools));
    let Some(address) = http else {
        let serving = Bench.serve(rmcp::transport::stdio()).await?;
        serving.waiting().await?;
        return Ok(());
    };
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(!stateless)
        .with_json_response(stateless);
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(|| Ok(Bench), sessions, config);
    let router = axum::Router::new().nest_service("/mcp", service);
    let listener = tokio::net::TcpListener::bind(address).await?;
    writeln!(std::io::stdout(), "http://{}/mcp", listener.local_addr()?)?;
    if nagle {
        axum::serve(listener, router).await?;
    } else {
        let listener = listener.tap_io(|stream| {
            // A client may close its connection at any time.
            let _ = stream.set_nodelay(true);
        });
        axum::serve(listener, router).await?;
    }
    Ok(())
}
