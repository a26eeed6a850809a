//! Middleware: measures requests, limits the calls of each client, and changes the result of one tool.
//!
//! ```sh
//! cargo build --example middleware
//! mcp --verbose call quote -- target/debug/examples/middleware
//! ```
//!
//! The second line prints `"Less is more." (quoted without a warranty)`, and on stderr `tools/call took ..`. Each client has three calls.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use mcp_sdk::server::middleware::{Middleware, Next, Request, Response};
use mcp_sdk::server::{CallToolResult, ErrorCode, ErrorObject, Server, tool};

/// The number of calls of this process, which serves one client.
const MAX_CALLS: usize = 3;

/// Prints how long each request takes.
struct Timing;

impl Middleware for Timing {
    async fn request(&self, request: Request, next: Next) -> Response {
        let (method, started) = (request.method().to_owned(), Instant::now());
        let response = next.run(request).await;
        eprintln!("{method} took {:?}", started.elapsed());
        response
    }
}

/// Rejects calls above the limit, without calling the handler.
#[derive(Default)]
struct Quota {
    calls: AtomicUsize,
}

impl Middleware for Quota {
    async fn request(&self, request: Request, next: Next) -> Response {
        let is_call = request.method() == "tools/call";
        if is_call && self.calls.fetch_add(1, Ordering::Relaxed) >= MAX_CALLS {
            let message = format!("the limit of {MAX_CALLS} calls is reached; connect again");
            return Response::error(ErrorObject::new(ErrorCode(1429), message));
        }
        next.run(request).await
    }
}

/// Adds a text to the result of a tool. A closure is a middleware, too.
async fn disclaimer(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    match response.decode_result::<CallToolResult>() {
        Some(Ok(result)) => {
            let text = format!("{} (quoted without a warranty)", result.joined_text());
            Response::result(CallToolResult::text(text))
        }
        _ => response,
    }
}

/// Quotes an architect.
#[tool(read_only = true)]
fn quote() -> &'static str {
    "\"Less is more.\""
}

/// Returns the time to which the clock is set.
#[tool(read_only = true)]
fn clock() -> &'static str {
    "12:00"
}

#[tokio::main]
async fn main() -> Result<(), mcp_sdk::Error> {
    let server = Server::builder("quotes", "1.0.0")
        .tool(quote::tool().layer(disclaimer))
        .tool(clock::tool())
        // The first one is the outermost: it also measures the requests that the second rejects.
        .layer(Timing)
        .layer(Quota::default());
    Ok(mcp_sdk::stdio::serve(server).await?)
}
