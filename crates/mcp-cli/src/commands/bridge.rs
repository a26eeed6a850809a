//! `mcp bridge`.

use std::time::Duration;

use data_encoding::BASE64URL_NOPAD;
use mcp_auth::server::{Identity, require_bearer, static_tokens};
use mcp_gateway::{Proxy, Sharing, Upstream};
use mcp_host::StderrLog;
use mcp_transport_http::{Endpoint, ServerOptions, serve_layered, serve_with, shutdown_signal};
use tokio::net::TcpListener;

use crate::args::{Options, Words};
use crate::connect;
use crate::failure::{Code, Failure};
use crate::login;
use crate::output::{self, say};
use crate::target::{Server, Target};

/// The variable with the bearer token.
const TOKEN: &str = "MCP_BRIDGE_TOKEN";

/// What the command line says about the bridge.
pub(super) struct Settings {
    /// The address for HTTP; `None` is stdio.
    pub(super) listen: Option<String>,
    pub(super) public_url: Option<String>,
    pub(super) allow_origin: Vec<String>,
    pub(super) isolated: bool,
}

pub(super) async fn run(
    words: Words,
    settings: Settings,
    options: &Options,
) -> Result<Code, Failure> {
    let (target, rest) = Target::take(words, options)?;
    if let Some(word) = rest.first() {
        return Err(Failure::usage(format!("unexpected word {word:?}")));
    }
    let listener = match &settings.listen {
        Some(address) => Some(listen(address).await?),
        None => None,
    };
    let proxy = connect(&target, &settings, options).await?;
    say(&format!("connected; the server uses {}", proxy.revision()));
    let Some(listener) = listener else {
        let served = mcp_transport_stdio::serve(proxy.clone()).await;
        proxy.close().await;
        return served
            .map(|_| Code::Success)
            .map_err(|error| Failure::new(Code::Connection, format!("stdin or stdout: {error}")));
    };
    serve(listener, &proxy, &settings).await?;
    proxy.close().await;
    Ok(Code::Success)
}

async fn listen(address: &str) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| {
        Failure::usage(format!(
            "--listen {address}: {error}; expected an address with a free port, such as 127.0.0.1:8000"
        ))
    })
}

async fn connect(
    target: &Target,
    settings: &Settings,
    options: &Options,
) -> Result<Proxy, Failure> {
    let (revision, negotiation) = options.era.policy();
    let name = target.to_string();
    let upstream = match &target.server {
        Server::Program(program) => {
            // Wrong options are reported before the first connection; each one has its own process.
            drop(connect::child(program, options)?);
            let (program, options) = (program.clone(), options.clone());
            Upstream::new(name, move |_: &StderrLog| {
                connect::child(&program, &options)
                    .map_err(|failure| mcp_client::TransportError::new(failure.to_string()))
            })
        }
        Server::Http(server) => {
            drop(connect::http(server, options)?);
            let (server, options) = (server.clone(), options.clone());
            Upstream::new(name, move |_: &StderrLog| {
                connect::http(&server, &options)
                    .map_err(|failure| mcp_client::TransportError::new(failure.to_string()))
            })
        }
    };
    let upstream = upstream
        .negotiation(revision, negotiation)
        .connect_timeout(Duration::from_secs(options.timeout))
        .sharing(match settings.isolated {
            true => Sharing::Principal,
            false => Sharing::All,
        });
    let proxy = Proxy::connect(upstream).await;
    proxy.map_err(|error| login::explain(target, error))
}

/// Serves HTTP until Ctrl-C or a signal to end.
async fn serve(listener: TcpListener, proxy: &Proxy, settings: &Settings) -> Result<(), Failure> {
    let problem = |error: &dyn std::fmt::Display| Failure::usage(error.to_string());
    let address = listener.local_addr().map_err(|error| problem(&error))?;
    let mut options = ServerOptions::new();
    for origin in &settings.allow_origin {
        options = options.allow_origin(origin);
    }
    let Some(url) = &settings.public_url else {
        if !address.ip().is_loopback() {
            return Err(Failure::usage(format!(
                "--listen {address}: other machines can reach this address; name the URL that they use with --public-url, \
                 such as https://mcp.example.com/mcp"
            )));
        }
        let endpoint = Endpoint::with_options(proxy.clone(), options);
        let endpoint = endpoint.map_err(|error| problem(&error))?;
        output::print(&format!("http://{address}/mcp"))?;
        return serve_with(listener, endpoint, shutdown_signal())
            .await
            .map_err(|error| problem(&error));
    };
    // A request with the token is not one of a web page that was rebound to this address.
    let endpoint = Endpoint::with_options(proxy.clone(), options.allow_any_host());
    let endpoint = endpoint.map_err(|error| problem(&error))?;
    let (token, is_new) = token()?;
    let identity = Identity::new(url, "bridge");
    let verifier = static_tokens([(token.clone(), identity)]).map_err(|error| problem(&error))?;
    let layer = require_bearer(url, verifier)
        .build()
        .map_err(|error| problem(&error))?;
    output::print(url)?;
    if is_new {
        output::print(&format!("Authorization: Bearer {token}"))?;
    }
    let layered = |route| tower_layer::Layer::layer(&layer, route);
    serve_layered(listener, endpoint, layered, shutdown_signal())
        .await
        .map_err(|error| problem(&error))
}

/// The bearer token, and whether it is new.
fn token() -> Result<(String, bool), Failure> {
    match std::env::var(TOKEN) {
        Ok(token) => Ok((token, false)),
        Err(std::env::VarError::NotUnicode(_)) => {
            Err(Failure::usage(format!("the value of {TOKEN} is not text")))
        }
        Err(std::env::VarError::NotPresent) => {
            let mut random = [0; 32];
            getrandom::fill(&mut random)
                .map_err(|error| Failure::usage(format!("no random bytes: {error}")))?;
            Ok((BASE64URL_NOPAD.encode(&random), true))
        }
    }
}
