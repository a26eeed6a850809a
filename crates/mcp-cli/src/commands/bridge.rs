//! `mcp bridge`.

use std::sync::Arc;
use std::time::Duration;

use mcp_gateway::{Proxy, Sharing, Upstream};
use mcp_host::{NetworkConfig, StderrLog};

use super::http::{self, HttpSettings};
use crate::args::{Options, Words};
use crate::connect;
use crate::failure::{Code, Failure};
use crate::hidden::hide;
use crate::log;
use crate::output::say;
use crate::sign_in_hint;
use crate::target::{Server, Target};

/// The environment variable with the bearer token.
const TOKEN: &str = "MCP_BRIDGE_TOKEN";

/// The settings of the bridge from the command line.
pub(super) struct Settings {
    /// The address for HTTP; `None` for stdio.
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
        Some(address) => Some(http::listen("--listen", address).await?),
        None => None,
    };
    let http = HttpSettings {
        public_url: settings.public_url.as_deref(),
        public_url_setting: "--public-url",
        allowed_origins: &settings.allow_origin,
        authorization: None,
        network: NetworkConfig::new(),
        scopes_supported: Vec::new(),
        token_variable: TOKEN,
        own_address: None,
        observer: None,
        announces_on_stderr: false,
    };
    if let Some(listener) = &listener {
        let address = listener.local_addr();
        http.check(address.map_err(|error| Failure::usage(error.to_string()))?)?;
    }
    log::start();
    let proxy = connect(&target, &settings, options).await?;
    say(&format!("connected; the server uses {}", proxy.revision()));
    let Some(listener) = listener else {
        let served = mcp_transport_stdio::serve(proxy.clone()).await;
        proxy.close().await;
        return served
            .map(|_| Code::Success)
            .map_err(|error| Failure::new(Code::Connection, format!("stdin or stdout: {error}")));
    };
    let ready = proxy.clone();
    let check_ready = Arc::new(move || {
        let ready = ready.clone();
        Box::pin(async move { hide(ready.unready().await.unwrap_or_default()) }) as _
    });
    http::serve(listener, proxy.clone(), http, check_ready).await?;
    proxy.close().await;
    Ok(Code::Success)
}

async fn connect(
    target: &Target,
    settings: &Settings,
    options: &Options,
) -> Result<Proxy, Failure> {
    let (revision, negotiation) = options.revision.policy();
    let name = target.to_string();
    let upstream = match &target.server {
        Server::Program(program) => {
            // Wrong options are reported here, before the first connection. Each connection starts its own process.
            drop(connect::child(program, options)?);
            let (program, options) = (program.clone(), options.clone());
            Upstream::new(name, move |_: &StderrLog| {
                connect::child(&program, &options)
                    .map_err(|failure| mcp_client::TransportError::new(failure.to_string()))
            })
        }
        Server::Http(server) => match connect::helper_transport(server.clone(), options.clone())? {
            Some(transport) => Upstream::new(name, move |_: &StderrLog| Ok(transport.clone())),
            None => {
                let transport = connect::http(server, options)?;
                Upstream::new(name, move |_: &StderrLog| Ok(transport.clone()))
            }
        },
    };
    let upstream = upstream
        .negotiation(revision, negotiation)
        .connect_timeout(Duration::from_secs(options.timeout))
        .sharing(match settings.isolated {
            true => Sharing::Principal,
            false => Sharing::All,
        });
    match Proxy::connect(upstream).await {
        Ok(proxy) => Ok(proxy),
        Err(error) => Err(sign_in_hint::explain(target, options, error).await),
    }
}
