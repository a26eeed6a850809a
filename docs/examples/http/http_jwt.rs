//! A server that accepts the tokens of an OAuth authorization server, and a tool that needs a scope.
//!
//! ```sh
//! cargo run --example http_jwt -- https://login.example.com 127.0.0.1:8000
//! mcp login http://127.0.0.1:8000/mcp
//! mcp call http://127.0.0.1:8000/mcp delete_note note=7
//! ```
//!
//! The first argument is the issuer of the tokens: Keycloak, Auth0, Entra ID, or another server with OAuth metadata. The program
//! reads its keys and verifies each token: signature, issuer, audience and expiry. Clients read in the metadata of the server where
//! their users sign in; the last line then prints `ada deleted note 7` for the user Ada. For an issuer with `https`, the feature `tls`
//! of `mcp-sdk` is needed.

use mcp_sdk::auth::server::{Auth, Jwt, require_bearer};
use mcp_sdk::http::{Endpoint, serve_layered, shutdown_signal};
use mcp_sdk::server::{Server, tool};
use tokio::net::TcpListener;

/// Returns the name of the caller.
#[tool(read_only = true)]
fn whoami(auth: Auth) -> String {
    auth.subject().unwrap_or("unknown").to_owned()
}

/// Deletes a note.
#[tool(scope = "notes:write", destructive = true)]
fn delete_note(
    /** number of the note */
    note: u32,
    auth: Auth,
) -> String {
    format!(
        "{} deleted note {note}",
        auth.subject().unwrap_or("unknown")
    )
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Without a subscriber, nothing is logged.
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .init();
    let mut args = std::env::args().skip(1);
    let issuer = args
        .next()
        .ok_or("the first argument is the URL of the issuer")?;
    let address = args.next().unwrap_or_else(|| "127.0.0.1:8000".to_owned());
    let listener = TcpListener::bind(address).await?;
    // Behind a proxy, this is the URL of the proxy: the URL that clients use, and the audience of the tokens.
    let url = format!("http://{}/mcp", listener.local_addr()?);

    let server = Server::builder("notes", "1.0.0")
        .tool(whoami::tool())
        .tool(delete_note::tool())
        .build()?;
    let layer = require_bearer(&url, Jwt::new(issuer)?)
        .scopes_of(&server)
        .build()?;
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
