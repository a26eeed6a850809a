//! A client that signs in with OAuth, and lists the tools of a protected server.
//!
//! ```sh
//! cargo run --example oauth_client -- http://127.0.0.1:8000/mcp tokens.json
//! ```
//!
//! The program prints the address of a page; sign in there with your browser. It then prints `signed in to notes 1.0.0, revision
//! 2026-07-28` and the tools. The tokens are in the file, and are refreshed before they expire: the next run needs no browser. For a
//! server with `https`, the feature `tls` of `mcp-sdk` is needed.

#![allow(clippy::print_stdout, reason = "the program prints the tools")]

use std::time::Duration;

use mcp_sdk::auth::OAuth;
use mcp_sdk::auth::client::{FileTokenStore, Loopback};
use mcp_sdk::client::{Client, KeepAlive};
use mcp_sdk::http::HttpTransport;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let url = args
        .next()
        .ok_or("the first argument is the URL of the server")?;
    let tokens = args.next().unwrap_or_else(|| "tokens.json".to_owned());

    // Listens on a free port of this machine, to which the browser is redirected after the sign-in.
    let browser = Loopback::new(|page| println!("please open {page}"));
    let auth = OAuth::client(&url)
        .client_name("Example", None)
        .user_agent(browser)
        .store(FileTokenStore::new(tokens))
        // Allows an authorization server on this machine if the MCP server is on this machine, too.
        .allow_private_networks_for_private_server()
        .on_progress(|progress| eprintln!("{progress}"))
        .build()?;

    // The first request is rejected with 401, which starts the sign-in.
    let client = Client::builder("oauth-client", "1.0.0")
        .keep_alive(KeepAlive::new(Duration::from_secs(30), 2))
        .connect(HttpTransport::new(&url)?.authorize(auth))
        .await?;
    let server = client.server_info();
    println!(
        "signed in to {} {}, revision {}",
        server.name,
        server.version,
        client.revision()
    );
    for tool in client.list_tools().await? {
        println!(
            "{}: {}",
            tool.name,
            tool.description.as_deref().unwrap_or_default()
        );
    }
    Ok(client.close().await?)
}
