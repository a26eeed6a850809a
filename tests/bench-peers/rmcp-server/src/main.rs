//! The tools of `bench-server`, written with the official Rust SDK: `--stdio` or `--http ADDRESS`, with `--stateless`,
//! `--nagle` and `--tools N`.
//!
//! The router is built once and shared, which is faster: the code of the SDK's macro builds it for each call.
//! `--stateless` answers with plain JSON, also to requests of 2026-07-28; without it there are sessions and event
//! streams, the SDK's default.

#[path = "../../shared.rs"]
mod shared;

use std::sync::{Arc, OnceLock};

use rmcp::handler::server::router::tool::{ToolRoute, ToolRouter};
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities, ServerConfig,
};
use rmcp::schemars;
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _, tool, tool_router};
use shared::{Add, Big, Echo, Options, Steps, WorkArguments};

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
    async fn work(&self, Parameters(work): Parameters<WorkArguments>) -> String {
        shared::work(work).await.to_owned()
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

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let options = Options::parse("--stateless")?;
    let _ = ROUTER.set(router(options.tools));
    let Some(address) = &options.http else {
        let serving = Bench.serve(rmcp::transport::stdio()).await?;
        serving.waiting().await?;
        return Ok(());
    };
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(!options.special)
        .with_json_response(options.special);
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(|| Ok(Bench), sessions, config);
    let router = axum::Router::new().nest_service("/mcp", service);
    Ok(options.serve(address, router).await?)
}
