//! A small server that implements `mcp_protocol::Service` directly.
//!
//! Shared with `examples/echo.rs`, which serves it on stdin and stdout.

use std::sync::Arc;

use mcp_jsonrpc::{ErrorObject, Request};
use mcp_protocol::{Payload, Reply, RequestContext, ServerFacts, Service};
use mcp_types::{Implementation, ServerCapabilities};
use serde_json::{Value, json};

/// Answers `tools/call`; the name of the tool selects the behavior.
#[derive(Debug, Default)]
pub(crate) struct Fixture;

impl Service for Fixture {
    fn facts(&self) -> ServerFacts {
        let capabilities: ServerCapabilities =
            serde_json::from_value(json!({"tools": {}})).unwrap_or_default();
        ServerFacts::new(Implementation::new("fixture", "1.0.0"), capabilities)
    }

    fn request(&self, request: &Request<'_>, context: RequestContext) -> Reply {
        let params: Value =
            serde_json::from_str(request.params.unwrap_or("{}")).unwrap_or_default();
        let text = params["arguments"]["text"]
            .as_str()
            .unwrap_or("")
            .to_owned();
        match params["name"].as_str() {
            Some("echo") => answer(&text),
            // The guard protects against this mistake.
            #[expect(
                clippy::print_stdout,
                reason = "shows the mistake that the guard protects \
             against"
            )]
            Some("print") => {
                println!("printed by accident: {text}");
                print!("and without a newline");
                answer(&text)
            }
            Some("shell") => Reply::Blocking(Box::new(move || {
                let status = std::process::Command::new("sh")
                    .args(["-c", &text])
                    .status();
                payload(&format!("{:?}", status.map(|status| status.code())))
            })),
            Some("later") => Reply::Pending(Box::pin(async move {
                tokio::task::yield_now().await;
                tokio::task::yield_now().await;
                payload(&text)
            })),
            // Never completes, and ignores cancellation.
            Some("never") => Reply::Pending(Box::pin(async move {
                let _context = context;
                std::future::pending().await
            })),
            Some("block") => Reply::Blocking(Box::new(|| {
                loop {
                    std::thread::park();
                }
            })),
            Some("think") => Reply::Blocking(Box::new(move || payload(&text))),
            Some("big") => answer(&"x".repeat(text.parse().unwrap_or(0))),
            Some("panic") => panic!("as asked"),
            // Sends a request to the client and returns its response.
            Some("ask") => Reply::Pending(Box::pin(async move {
                let link = Arc::clone(context.exchange().link());
                match link.request("roots/list", None).await {
                    Ok(Ok(answer)) => payload(&format!("{answer:?}")),
                    Ok(Err(refusal)) => payload(&format!("refused: {}", refusal.message)),
                    Err(error) => payload(&format!("failed: {error}")),
                }
            })),
            _ => Reply::error(ErrorObject::invalid_params("unknown tool")),
        }
    }
}

fn answer(text: &str) -> Reply {
    Reply::Ready(payload(text))
}

fn payload(text: &str) -> mcp_protocol::Outcome {
    Ok(Payload::of(
        json!({"content": [{"type": "text", "text": text}]}),
    ))
}
