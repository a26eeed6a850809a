//! A gateway: several servers at one address, for clients of every revision.
//!
//! ```sh
//! cargo build --example hello_stdio --example content_types
//! cargo run --example gateway -- 127.0.0.1:8000 target/debug/examples/hello_stdio target/debug/examples/content_types
//! mcp call http://127.0.0.1:8000/mcp hello_stdio__add a=2 b=3
//! ```
//!
//! The last line prints `5`. The names of the tools begin with the name of their program. `mcp serve` does the same with a
//! configuration file, and adds access rules, limits and accounts of users.

use std::path::Path;

use mcp_sdk::gateway::{Gateway, Mount, Transform, Upstream};
use mcp_sdk::host::ServerConfig;
use mcp_sdk::http::{Endpoint, serve_with, shutdown_signal};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let address = args
        .next()
        .ok_or("the first argument is the address, such as 127.0.0.1:8000")?;

    let mut builder = Gateway::builder();
    for program in args {
        let name = Path::new(&program).file_stem().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        let upstream = Upstream::new(&*name, ServerConfig::stdio(&program, [""; 0]));
        // Rules apply before the names get their prefix.
        let rules = Transform::new().hide("check").rename("divide", "quotient");
        builder = builder.mount(&name, Mount::new(upstream).transform(rules));
    }
    // Waits for the first attempt to start each program.
    let gateway = builder.build().await?;
    for server in gateway.mounts() {
        let state = server.error.unwrap_or_else(|| "connected".to_owned());
        eprintln!("{}: {state}", server.name);
    }

    let listener = TcpListener::bind(address).await?;
    eprintln!("serving http://{}/mcp", listener.local_addr()?);
    let closing = gateway.clone();
    serve_with(listener, Endpoint::new(gateway)?, shutdown_signal()).await?;
    // Ends the programs.
    closing.close().await;
    Ok(())
}
