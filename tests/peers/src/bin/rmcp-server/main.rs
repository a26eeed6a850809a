//! A server written with the official Rust SDK, for the client of this SDK: on stdin and stdout, or with `--http` on a
//! free port. It has the same features as `tests/interop/server.py`.

// rmcp marks features that the newest revision lacks as deprecated.
#![allow(deprecated)]

mod contents;
mod input;
mod tools;

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    CustomRequest, CustomResult, ErrorCode, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, InputRequiredResult, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ServerConfig,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext, SubscriptionSink};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::watch;

use input::InputRequests;

type Context = RequestContext<RoleServer>;
type Page = Option<PaginatedRequestParams>;

/// The state of one session. All sessions share the subscriptions without a session.
#[derive(Clone, Default)]
struct Peer {
    visited: Arc<AtomicBool>,
    level: Arc<Mutex<Option<String>>>,
    subscribed: Arc<Mutex<Vec<String>>>,
    listeners: Arc<Mutex<HashMap<u64, SubscriptionSink>>>,
    /// Number of subscriptions so far. Clients without sessions use the same request ids, so an id identifies no
    /// subscription.
    subscriptions: Arc<AtomicU64>,
    /// Number of subscriptions that rmcp has accepted and whose `listen` has not begun.
    accepted: Arc<watch::Sender<usize>>,
}

/// The levels of log messages, in ascending order.
const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// Whether a request belongs to no session.
fn is_stateless(cx: &Context) -> bool {
    cx.meta.protocol_version() == Some(ProtocolVersion::V_2026_07_28)
}

fn lost(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
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
    /// Logs at level info, if the session or the request asks for that level.
    async fn log(&self, cx: &Context, text: &str) -> Result<(), ErrorData> {
        let level = if is_stateless(cx) {
            let Some(level) = cx.meta.log_level() else {
                return Ok(());
            };
            shown(level).as_str().map(str::to_owned)
        } else {
            lock(&self.level).clone()
        };
        if level.is_none_or(|level| LEVELS[..=1].contains(&&*level)) {
            let message = json!({ "level": "info", "logger": "peer", "data": text });
            let sent = cx.peer.notify_logging_message(made(message)?).await;
            sent.map_err(lost)?;
        }
        Ok(())
    }

    /// Returns the listeners of all subscriptions that were acknowledged so far. rmcp acknowledges a subscription
    /// before it calls `listen`, so this waits until `listen` has begun, or for 5 s if the client is gone by then.
    async fn listeners(&self) -> Vec<SubscriptionSink> {
        let mut accepted = self.accepted.subscribe();
        let all = accepted.wait_for(|count| *count == 0);
        let _ = tokio::time::timeout(Duration::from_secs(5), all).await;
        lock(&self.listeners).values().cloned().collect()
    }

    /// Sends the change notifications of all lists.
    async fn change(&self, cx: &Context) -> Result<(), ErrorData> {
        if !is_stateless(cx) {
            cx.peer.notify_tool_list_changed().await.map_err(lost)?;
            cx.peer.notify_prompt_list_changed().await.map_err(lost)?;
            return cx.peer.notify_resource_list_changed().await.map_err(lost);
        }
        for listener in self.listeners().await {
            // Each listener receives the notifications of its filter.
            let _ = listener.notify_tool_list_changed().await;
            let _ = listener.notify_prompt_list_changed().await;
            let _ = listener.notify_resource_list_changed().await;
        }
        Ok(())
    }

    /// Notifies the subscribers of a changed resource.
    async fn touch(&self, cx: &Context, uri: &str) -> Result<(), ErrorData> {
        if is_stateless(cx) {
            for listener in self.listeners().await {
                let _ = listener.notify_resource_updated(uri).await;
            }
        } else if lock(&self.subscribed).iter().any(|one| one == uri) {
            let updated = made(json!({ "uri": uri }))?;
            cx.peer
                .notify_resource_updated(updated)
                .await
                .map_err(lost)?;
        }
        Ok(())
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

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: Context,
    ) -> Result<CustomResult, ErrorData> {
        let text = request
            .params
            .as_ref()
            .and_then(|params| params["text"].as_str());
        match (&*request.method, text) {
            ("com.example/reverse", Some(text)) => {
                let text: String = text.chars().rev().collect();
                Ok(CustomResult(json!({ "text": text })))
            }
            (method, _) => Err(ErrorData::new(
                ErrorCode::METHOD_NOT_FOUND,
                method.to_owned(),
                None,
            )),
        }
    }

    async fn list_tools(&self, page: Page, _: Context) -> Result<ListToolsResult, ErrorData> {
        tools::list(page.and_then(|page| page.cursor))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        cx: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let result = tools::call(self, call, &cx).await?;
        if is_round(&result) {
            return Ok(made::<InputRequiredResult>(result)?.into());
        }
        Ok(made::<CallToolResult>(result)?.into())
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

    async fn subscribe(&self, params: SubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        lock(&self.subscribed).push(params.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        params: UnsubscribeRequestParams,
        _: Context,
    ) -> Result<(), ErrorData> {
        lock(&self.subscribed).retain(|uri| *uri != params.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        self.accepted.send_modify(|count| *count += 1);
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let number = self.subscriptions.fetch_add(1, Ordering::Relaxed);
        lock(&self.listeners).insert(number, context.sink().clone());
        self.accepted
            .send_modify(|count| *count = count.saturating_sub(1));
        context.cancelled().await;
        lock(&self.listeners).remove(&number);
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
        cx: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        if params.name == "asking" {
            let asks = InputRequests::new(params.input_responses, params.request_state);
            let result = contents::asking(&asks, &cx).await?;
            return Ok(if is_round(&result) {
                made::<InputRequiredResult>(result)?.into()
            } else {
                made::<GetPromptResult>(result)?.into()
            });
        }
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

/// Whether a result is `input_required`.
fn is_round(result: &Value) -> bool {
    result["resultType"] == "input_required"
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let peer = Peer::default();
    if std::env::args().all(|arg| arg != "--http") {
        peer.serve(rmcp::transport::stdio())
            .await?
            .waiting()
            .await?;
        return Ok(());
    }
    let service = StreamableHttpService::new(
        move || {
            Ok(Peer {
                listeners: Arc::clone(&peer.listeners),
                subscriptions: Arc::clone(&peer.subscriptions),
                accepted: Arc::clone(&peer.accepted),
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
