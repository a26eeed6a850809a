//! The server that is measured: `bench-server --stdio [--tools N]`.

use mcp_server::{Args, Server, Tool};
use schemars::JsonSchema;
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

fn server(more: usize) -> Server {
    let dummy = |n: usize| {
        Tool::new(format!("dummy_{n:04}"), |Args(echo): Args<Echo>| {
            echo.message
        })
        .description("Stands beside the others in the list")
    };
    Server::new("bench", "1.0.0")
        .tool(Tool::new("echo", |Args(echo): Args<Echo>| echo.message))
        .tool(Tool::new("add", |Args(add): Args<Add>| add.a + add.b))
        .tool(Tool::new("big", |Args(big): Args<Big>| {
            "x".repeat(big.bytes.min(16 << 20))
        }))
        .tools((0..more).map(dummy))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let more = match args.iter().position(|arg| arg == "--tools") {
        Some(at) => args.get(at + 1).ok_or("--tools takes a number")?.parse()?,
        None => 0,
    };
    if !args.iter().any(|arg| arg == "--stdio") {
        return Err("usage: bench-server --stdio [--tools N]".into());
    }
    Ok(mcp_transport_stdio::serve(server(more)).await?)
}
