//! A server made with the official Rust SDK, for our client to talk to: it serves HTTP on any port, and offers what
//! `tests/interop/server.py` offers.

// What revisions up to 2025-11-25 have and the newest one lacks is marked as deprecated in this SDK.
#![allow(deprecated)]

mod contents;
mod tools;

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ServerConfig,
    SetLevelRequestParams, SubscribeRequestParams, UnsubscribeRequestParams,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

type Context = RequestContext<RoleServer>;
type Page = Option<PaginatedRequestParams>;

/// What one session knows, but for the cancellation, which a later call may ask for.
#[derive(Clone, Default)]
struct Peer {
    cancelled: Arc<AtomicBool>,
    visited: Arc<AtomicBool>,
    level: Arc<Mutex<Option<String>>>,
    subscribed: Arc<Mutex<Vec<String>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A type of the SDK from its JSON.
fn made<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// A type of the SDK as its JSON.
fn shown(value: impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

impl Peer {
    /// Says that somebody has subscribed, at level info.
    async fn log(&self, cx: &Context, text: String) -> Result<(), ErrorData> {
        let level = lock(&self.level).clone();
        if level.is_none_or(|level| ["debug", "info"].contains(&&*level)) {
            let message = json!({ "level": "info", "logger": "peer", "data": text });
            let sent = cx.peer.notify_logging_message(made(message)?).await;
            sent.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        }
        Ok(())
    }

    fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

impl ServerHandler for Peer {
    fn get_info(&self) -> ServerConfig {
        let info = json!({
            "protocolVersion": "2025-11-25",
            "serverInfo": { "name": "rmcp-peer", "version": "1.0.0" },
            "instructions": "A bit of each.",
            "capabilities": {
                "tools": { "listChanged": true },
                "prompts": { "listChanged": true },
                "resources": { "listChanged": true, "subscribe": true },
                "completions": {},
                "logging": {}
            }
        });
        made(info).unwrap_or_default()
    }

    async fn list_tools(&self, page: Page, _: Context) -> Result<ListToolsResult, ErrorData> {
        tools::list(page.and_then(|page| page.cursor))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        cx: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let result: CallToolResult = made(tools::call(self, call, &cx).await?)?;
        Ok(result.into())
    }

    async fn list_resources(&self, _: Page, _: Context) -> Result<ListResourcesResult, ErrorData> {
        made(contents::resources())
    }

    async fn list_resource_templates(
        &self,
        _: Page,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        made(contents::templates())
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        _: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let result: ReadResourceResult = made(contents::read(&params.uri)?)?;
        Ok(result.into())
    }

    async fn subscribe(
        &self,
        params: SubscribeRequestParams,
        cx: Context,
    ) -> Result<(), ErrorData> {
        lock(&self.subscribed).push(params.uri.clone());
        self.log(&cx, format!("subscribed to {}", params.uri)).await
    }

    async fn unsubscribe(
        &self,
        params: UnsubscribeRequestParams,
        _: Context,
    ) -> Result<(), ErrorData> {
        lock(&self.subscribed).retain(|uri| *uri != params.uri);
        Ok(())
    }

    async fn set_level(&self, params: SetLevelRequestParams, _: Context) -> Result<(), ErrorData> {
        let level = shown(params.level);
        *lock(&self.level) = level.as_str().map(str::to_owned);
        Ok(())
    }

    async fn list_prompts(&self, _: Page, _: Context) -> Result<ListPromptsResult, ErrorData> {
        made(contents::prompts())
    }

    async fn get_prompt(
        &self,
        params: GetPromptRequestParams,
        _: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let result: GetPromptResult = made(contents::prompt(&shown(params))?)?;
        Ok(result.into())
    }

    async fn complete(
        &self,
        params: CompleteRequestParams,
        _: Context,
    ) -> Result<CompleteResult, ErrorData> {
        made(contents::complete(&shown(params)))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let peer = Peer::default();
    let cancelled = Arc::clone(&peer.cancelled);
    let service = StreamableHttpService::new(
        move || {
            Ok(Peer {
                cancelled: Arc::clone(&cancelled),
                ..Peer::default()
            })
        },
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    let router = axum::Router::new().nest_service("/mcp", service);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    writeln!(std::io::stdout(), "http://{}/mcp", listener.local_addr()?)?;
    Ok(axum::serve(listener, router).await?)
}
