//! A protected server without an authorization server: each user has a token.
//!
//! ```sh
//! export ADA_TOKEN=$(openssl rand -hex 16) BOB_TOKEN=$(openssl rand -hex 16)
//! cargo run --example static_token -- 127.0.0.1:8000
//! mcp call http://127.0.0.1:8000/mcp whoami --header "authorization: Bearer $ADA_TOKEN"
//! ```
//!
//! The last line prints `ada`. Without a token, or with an unknown token, the server answers 401. Bob may not call `publish`,
//! which needs a scope.

use mcp_sdk::auth::server::{Auth, Identity, require_bearer, static_tokens};
use mcp_sdk::http::{Endpoint, serve_layered, shutdown_signal};
use mcp_sdk::server::{Server, tool};
use tokio::net::TcpListener;

/// Returns the name of the caller.
#[tool(read_only = true)]
fn whoami(auth: Auth) -> String {
    auth.subject().unwrap_or("unknown").to_owned()
}

/// Publishes the news.
#[tool(scope = "news:write")]
fn publish(auth: Auth) -> String {
    format!("published by {}", auth.subject().unwrap_or("unknown"))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Without a subscriber, nothing is logged.
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .init();
    let address = std::env::args().nth(1);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:8000")).await?;
    let url = format!("http://{}/mcp", listener.local_addr()?);

    let ada = Identity::new(&url, "ada").with_scopes("news:write");
    let bob = Identity::new(&url, "bob");
    let tokens = [(secret("ADA_TOKEN")?, ada), (secret("BOB_TOKEN")?, bob)];
    let layer = require_bearer(&url, static_tokens(tokens)?).build()?;

    let server = Server::builder("news", "1.0.0")
        .tool(whoami::tool())
        .tool(publish::tool());
    let endpoint = Endpoint::new(server)?;
    eprintln!("serving {url}");
    Ok(serve_layered(
        listener,
        endpoint,
        |route| layer.layer(route),
        shutdown_signal(),
    )
    .await?)
}

/// Reads a token from the environment, so that no token is in the program or in its arguments.
fn secret(name: &str) -> Result<String, String> {
    std::env::var(name).map_err(|error| format!("{name}: {error}"))
}
