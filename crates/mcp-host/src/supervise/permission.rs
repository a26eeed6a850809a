//! Permission to connect to a server and to call its tools.

use std::sync::Arc;
use std::time::Instant;

use mcp_client::CallToolResult;
use mcp_client::types::Tool;
use mcp_protocol::BoxFuture;
use serde_json::Value;

/// A permission, which decides what a supervised client may do. An error is the reason for a denial.
pub(crate) trait Permission: Send + Sync + 'static {
    /// Decides about the connection. `before_ask` is called before a person is asked.
    fn connect<'a>(
        &'a self,
        before_ask: &'a (dyn Fn() + Sync),
    ) -> BoxFuture<'a, Result<(), String>>;

    /// Decides about a call.
    fn call<'a>(
        &'a self,
        tool: &'a Arc<Tool>,
        arguments: &'a Value,
    ) -> BoxFuture<'a, Result<(), String>>;

    /// Receives the result of a call that was permitted.
    fn called(
        &self,
        tool: &str,
        started: Instant,
        result: Result<&CallToolResult, &mcp_client::Error>,
    );
}
