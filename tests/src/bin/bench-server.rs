//! The server that is measured: `bench-server --stdio [--tools N]`, or `--http ADDRESS [--stateless] [--tools N]`.

use mcp_server::{Args, Server, Tool};
use mcp_tests::everything::serve_http;
use mcp_transport_http::Options;
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

const USAGE: &str =
    "usage: bench-server --stdio [--tools N] | --http ADDRESS [--stateless] [--tools N]";

/// What the command line asks for.
#[derive(Default)]
struct Wanted {
    stdio: bool,
    http: Option<String>,
    stateless: bool,
    tools: usize,
}

impl Wanted {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, Fault> {
        let mut this = Self::default();
        while let Some(arg) = args.next() {
            match &*arg {
                "--stdio" => this.stdio = true,
                "--stateless" => this.stateless = true,
                "--http" => this.http = Some(args.next().ok_or(USAGE)?),
                "--tools" => this.tools = args.next().ok_or(USAGE)?.parse()?,
                _ => return Err(USAGE.into()),
            }
        }
        Ok(this)
    }
}

type Fault = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Fault> {
    let wanted = Wanted::parse(std::env::args().skip(1))?;
    let server = server(wanted.tools);
    match wanted.http {
        Some(address) => {
            let options = Options::new();
            let options = match wanted.stateless {
                true => options.without_sessions(),
                false => options,
            };
            serve_http(&address, server, options).await
        }
        None if wanted.stdio => Ok(mcp_transport_stdio::serve(server).await?),
        None => Err(USAGE.into()),
    }
}
