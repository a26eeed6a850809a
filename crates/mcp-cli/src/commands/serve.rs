//! `mcp serve`.

use std::path::Path;
use std::sync::Arc;

use mcp_gateway::{Cluster, Gateway, GatewayConfig};
use mcp_host::Variables;
use tokio::net::TcpListener;

use super::http::{self, HttpSettings};
use crate::failure::{Code, Failure};
use crate::output::say;

/// The variable with the bearer token.
const TOKEN: &str = "MCP_GATEWAY_TOKEN";

/// Serves the gateway of a configuration file over HTTP or stdio.
pub(super) async fn run(file: &Path, is_stdio: bool) -> Result<Code, Failure> {
    let config = read(file)?;
    let listener = match is_stdio {
        true => None,
        false => Some(http::listen("listen", config.listen()).await?),
    };
    let gateway = config.builder().build().await;
    let gateway = gateway.map_err(|error| Failure::usage(error.to_string()))?;
    report(&gateway);
    let served = tokio::select! {
        served = serve(listener, &config, &gateway) => served,
        failed = reload(file, config.clone(), &gateway) => Err(failed),
    };
    gateway.close().await;
    served.map(|()| Code::Success)
}

/// Checks a configuration file, and starts nothing.
pub(super) fn check(file: &Path) -> Result<Code, Failure> {
    read(file).map(|_| Code::Success)
}

async fn serve(
    listener: Option<TcpListener>,
    config: &GatewayConfig,
    gateway: &Gateway,
) -> Result<(), Failure> {
    let Some(listener) = listener else {
        let served = mcp_transport_stdio::serve(gateway.clone()).await;
        return served
            .map(|_| ())
            .map_err(|error| Failure::new(Code::Connection, format!("stdin or stdout: {error}")));
    };
    let (ready, cluster) = (gateway.clone(), config.cluster());
    let settings = HttpSettings {
        public_url: config.public_url(),
        public_url_setting: "\"publicUrl\"",
        allowed_origins: config.allowed_origins(),
        authorization: config.authorization(),
        token_variable: TOKEN,
        own_address: cluster.as_ref().map(Cluster::address),
        is_ready: Arc::new(move || ready.is_ready()),
    };
    http::serve(listener, gateway.clone(), settings).await
}

fn read(file: &Path) -> Result<GatewayConfig, Failure> {
    let config = GatewayConfig::read(file).and_then(|config| {
        config.resolve(&Variables::new()).map_err(|error| {
            mcp_protocol::InvalidServer::new(format!("{}: {error}", file.display()))
        })
    });
    config.map_err(|error| Failure::usage(error.to_string()))
}

/// Reports the state of each server.
fn report(gateway: &Gateway) {
    for mount in gateway.mounts() {
        let name = &mount.name;
        match mount.error {
            _ if mount.is_connected => say(&format!("{name}: connected")),
            Some(error) => say(&format!("{name}: {error}; further attempts follow")),
            None => say(&format!(
                "{name}: not connected; the next request connects it"
            )),
        }
    }
}

/// Reads the file again after each SIGHUP. A file with an error changes nothing. Returns only if the signal cannot be
/// handled.
#[cfg(unix)]
async fn reload(file: &Path, mut config: GatewayConfig, gateway: &Gateway) -> Failure {
    use tokio::signal::unix::{SignalKind, signal};
    let mut hangup = match signal(SignalKind::hangup()) {
        Ok(hangup) => hangup,
        Err(error) => return Failure::usage(format!("cannot handle SIGHUP: {error}")),
    };
    while hangup.recv().await.is_some() {
        let changed = match read(file) {
            Ok(changed) => changed,
            Err(error) => {
                say(&format!("the former configuration stays: {error}"));
                continue;
            }
        };
        match changed.reload(&config, gateway).await {
            Ok(settings) => {
                for setting in settings {
                    say(&format!("{setting:?} has changed; restart to use it"));
                }
            }
            Err(error) => say(&format!("not all servers were changed: {error}")),
        }
        config = changed;
        report(gateway);
        say("reloaded");
    }
    std::future::pending().await
}

#[cfg(not(unix))]
async fn reload(_: &Path, _: GatewayConfig, _: &Gateway) -> Failure {
    std::future::pending().await
}
