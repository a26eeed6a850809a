//! Tools, calls, results and attachments in the formats of model APIs.

mod block;
mod call;
mod context;
mod deferred;
mod items;
mod rank;
mod result;
mod schema;
mod search;
mod tools;

pub use call::ToolUse;
pub use context::{ContextItem, HostContext, LeftOut, ModelContext, ReplacedMedia};
pub use items::HostItem;
pub use rank::rank;
pub use search::{ToolBudget, ToolSearch};
pub use tools::{DroppedKeyword, ModelTools};

/// A model API. The methods write and read tools, calls and results in the formats of this API.
///
/// ```
/// # async fn answer(_: &serde_json::Value) -> serde_json::Value { serde_json::json!({}) }
/// # async fn run(host: mcp_host::Host) {
/// use mcp_host::ModelApi;
/// use serde_json::json;
///
/// let format = ModelApi::Anthropic;
/// let mut messages = vec![json!({ "role": "user", "content": "What has changed?" })];
/// loop {
///     let tools = format.tools(&host.tools()).tools;
///     let response = answer(&json!({ "tools": tools, "messages": messages })).await;
///     let uses = format.tool_uses(&response);
///     if uses.is_empty() {
///         break;
///     }
///     messages.push(json!({ "role": "assistant", "content": response["content"] }));
///     let mut results = Vec::new();
///     for tool_use in uses {
///         let result = host.call(&tool_use).await;
///         results.push((tool_use, result));
///     }
///     messages.extend(format.results(&results));
/// }
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ModelApi {
    /// OpenAI Chat Completions, and the many APIs with the same format.
    OpenAiChat,
    /// OpenAI Responses.
    OpenAiResponses,
    /// Anthropic Messages.
    Anthropic,
    /// Gemini `generateContent`.
    Gemini,
}
