//! The command `mcp serve`.

mod audit;
mod diagnostics;
mod exchange;
mod metrics;
mod observer;

use std::net::ToSocketAddrs as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mcp_gateway::{Cluster, Gateway, GatewayBuilder, GatewayConfig, TokenSource};
use mcp_host::Variables;
use tokio::net::TcpListener;
#[cfg(unix)]
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use self::audit::Audit;
pub(super) use self::exchange::Observed;
use self::metrics::Metrics;
pub(super) use self::observer::Observer;
use super::http::{self, HttpSettings};
use crate::args::Options;
use crate::connect::network_config;
use crate::failure::{Code, Failure};
use crate::hidden;
use crate::log;
use crate::output::{counted, say};

/// The name of the environment variable with the bearer token.
const TOKEN: &str = "MCP_GATEWAY_TOKEN";

/// Serves the gateway of a configuration file over HTTP or stdio.
pub(super) async fn run(file: &Path, is_stdio: bool, options: &Options) -> Result<Code, Failure> {
    let config = read(file, options)?;
    let listener = match is_stdio {
        true => None,
        false => {
            let listener = http::listen("/gateway/listen", config.listen()).await;
            Some(listener.map_err(|failure| within(file, failure))?)
        }
    };
    let cluster = config.cluster();
    let observer = observer(&config, is_stdio).map_err(|failure| within(file, failure))?;
    let mut settings = settings(&config, cluster.as_ref());
    settings.observer.clone_from(&observer);
    if let Some(listener) = &listener {
        let address = listener.local_addr();
        let address = address.map_err(|error| Failure::usage(error.to_string()))?;
        let checked = settings.check(address);
        checked.map_err(|failure| within(file, failure))?;
    }
    let diagnostics = match config.metrics() {
        None => None,
        Some(address) => {
            let listener = http::listen("/gateway/metrics", address).await;
            let listener = listener.map_err(|failure| within(file, failure))?;
            if let Ok(address) = listener.local_addr() {
                say(&format!("metrics: http://{address}/metrics"));
            }
            Some(listener)
        }
    };
    log::start();
    let gateway = observed(config.builder(), observer.as_ref()).start();
    let gateway = gateway.map_err(|error| Failure::usage(error.to_string()))?;
    let diagnose = async {
        match diagnostics.zip(observer.clone()) {
            None => std::future::pending().await,
            Some((listener, observer)) => {
                diagnostics::serve(listener, gateway.clone(), observer).await
            }
        }
    };
    let audit = observer
        .as_ref()
        .and_then(|observer| observer.audit.as_ref());
    let served = tokio::select! {
        served = serve(listener, settings, &gateway) => served,
        served = diagnose => served,
        failed = report_and_reload(file, config.clone(), &gateway, options, audit) => Err(failed),
    };
    gateway.close().await;
    if let Some(audit) = audit
        && timeout(MAX_AUDIT_END, audit.close()).await.is_err()
    {
        say("the end of the audit log could not be written in time");
    }
    served.map(|()| Code::Success)
}

/// Maximum time to write the last lines of the audit log at the end of the program.
const MAX_AUDIT_END: Duration = Duration::from_secs(2);

/// Creates the observer, if the configuration has metrics or an audit log.
fn observer(config: &GatewayConfig, is_stdio: bool) -> Result<Option<Arc<Observer>>, Failure> {
    check_audit(config, is_stdio)?;
    let audit = match config.audit() {
        Some((path, arguments)) => Some(Audit::open(path, arguments)?),
        None => None,
    };
    let metrics = config.metrics().map(|_| Metrics::new());
    let is_needed = audit.is_some() || metrics.is_some();
    Ok(is_needed.then(|| Arc::new(Observer::new(metrics, audit))))
}

/// Checks the settings of the audit log without creating a file.
fn check_audit(config: &GatewayConfig, is_stdio: bool) -> Result<(), Failure> {
    let Some((path, _)) = config.audit() else {
        return Ok(());
    };
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let problem = if is_stdio && path.as_os_str() == audit::STDOUT {
        "stdout carries the protocol with --stdio; write the name of a file instead of \"-\""
            .to_owned()
    } else if path.as_os_str().is_empty() || path.is_dir() {
        "expected a file, or \"-\" for stdout".to_owned()
    } else if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        format!("there is no folder {}; create it", folder.display())
    } else {
        return Ok(());
    };
    let text = format!(
        "{}: {:?}: {problem}",
        audit::SETTING,
        path.display().to_string()
    );
    Err(Failure::usage(text))
}

/// Adds the observer to a gateway.
fn observed(builder: GatewayBuilder, observer: Option<&Arc<Observer>>) -> GatewayBuilder {
    let Some(observer) = observer.cloned() else {
        return builder;
    };
    let uses_arguments = (observer.audit.as_ref()).is_some_and(Audit::uses_arguments);
    let builder = builder.on_request(move |request| observer.record(request));
    match uses_arguments {
        true => builder.record_arguments(),
        false => builder,
    }
}

/// Checks a configuration file without starting a server.
pub(super) fn check(file: &Path, is_stdio: bool, options: &Options) -> Result<Code, Failure> {
    let config = read(file, options)?;
    if !is_stdio {
        let listen = config.listen();
        let address = listen
            .to_socket_addrs()
            .map(|mut addresses| addresses.next());
        let Ok(Some(address)) = address else {
            let text = format!(
                "/gateway/listen: {listen:?}: expected an address with a port, such as 127.0.0.1:8000"
            );
            return Err(within(file, Failure::usage(text)));
        };
        let checked = settings(&config, config.cluster().as_ref()).check(address);
        checked.map_err(|failure| within(file, failure))?;
    }
    check_audit(&config, is_stdio).map_err(|failure| within(file, failure))?;
    if let Some(address) = config.metrics()
        && address.to_socket_addrs().is_err()
    {
        let text = format!(
            "/gateway/metrics: {address:?}: expected an address with a port, such as 127.0.0.1:9464"
        );
        return Err(within(file, Failure::usage(text)));
    }
    for warning in config.warnings().iter().chain(&config.missing_programs()) {
        say(&format!("warning: {warning}"));
    }
    let (servers, rules) = config.counts();
    say(&format!(
        "{}: the configuration is valid: {}, {}",
        file.display(),
        counted(servers, "server"),
        counted(rules, "access rule")
    ));
    Ok(Code::Success)
}

/// Prepends the name of the file to a failure.
fn within(file: &Path, failure: Failure) -> Failure {
    failure.about(&file.display().to_string())
}

fn settings<'a>(config: &'a GatewayConfig, cluster: Option<&'a Cluster>) -> HttpSettings<'a> {
    HttpSettings {
        public_url: config.public_url(),
        public_url_setting: "/gateway/publicUrl",
        allowed_origins: config.allowed_origins(),
        authorization: config.authorization(),
        network: config.network(),
        scopes_supported: config.scopes_supported(),
        token_variable: TOKEN,
        own_address: cluster.map(Cluster::address),
        observer: None,
        // Stdout is the audit log.
        announces_on_stderr: (config.audit())
            .is_some_and(|(path, _)| path.as_os_str() == audit::STDOUT),
    }
}

async fn serve(
    listener: Option<TcpListener>,
    settings: HttpSettings<'_>,
    gateway: &Gateway,
) -> Result<(), Failure> {
    let Some(listener) = listener else {
        let served = mcp_transport_stdio::serve(gateway.clone()).await;
        return served
            .map(|_| ())
            .map_err(|error| Failure::new(Code::Connection, format!("stdin or stdout: {error}")));
    };
    let ready = gateway.clone();
    let check_ready = Arc::new(move || {
        let ready = ready.clone();
        Box::pin(async move {
            let unready = ready.unready().await.into_iter();
            unready
                .map(|(server, reason)| format!("{server}: {}\n", hidden::hide(reason)))
                .collect()
        }) as _
    });
    http::serve(listener, gateway.clone(), settings, check_ready).await
}

fn read(file: &Path, options: &Options) -> Result<GatewayConfig, Failure> {
    let config = GatewayConfig::read(file).and_then(|mut config| {
        config = config.with_network(&network_config(options));
        let variables = Variables::new();
        for server in config.servers() {
            hidden::add_values(server, &variables);
        }
        config.resolve(&variables).map_err(|error| {
            mcp_protocol::InvalidServer::new(format!("{}: {error}", file.display()))
        })
    });
    let config = config.map_err(|error| Failure::usage(error.to_string()))?;
    for server in config.servers() {
        hidden::add_named_values(&server.launch);
    }
    let mut issuer = None;
    match config.authorization() {
        Some((TokenSource::Issuer(url), _)) => issuer = Some(url.to_owned()),
        Some((TokenSource::Tokens(tokens), _)) => {
            for token in tokens {
                hidden::add_value(hidden::HIDDEN, token.token());
            }
            http::of_users(tokens).map_err(|failure| within(file, failure))?;
        }
        None => {
            if let Some(scope) = config.scopes_supported().first() {
                return Err(Failure::usage(format!(
                    "{}: /gateway/access: a rule needs the scope {scope:?}, but clients have no scopes without \"auth\"; \
                     add \"auth\" with \"tokens\" or \"issuer\", or remove the scope",
                    file.display()
                )));
            }
        }
    }
    Ok(config.with_user_keys(|subject| http::user_key(issuer.as_deref(), subject)))
}

/// Maximum time to read the configuration file again.
#[cfg(unix)]
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads the configuration file again. Reads on a separate thread, so that the gateway can serve requests at the same time. Does
/// not read a pipe or a device, because such a read can block for any length of time.
#[cfg(unix)]
async fn read_again(file: &Path, options: &Options) -> Result<GatewayConfig, Failure> {
    let (path, options) = (file.to_owned(), options.clone());
    let reading = spawn_blocking(move || match std::fs::metadata(&path) {
        Ok(metadata) if !metadata.is_file() => Err(Failure::usage(format!(
            "{}: it is not a regular file, so it is not read again after the start",
            path.display()
        ))),
        // `read` has a better error for a file that does not exist.
        _ => read(&path, &options),
    });
    match timeout(READ_TIMEOUT, reading).await {
        Ok(Ok(read)) => read,
        Ok(Err(error)) => Err(Failure::usage(error.to_string())),
        Err(_) => Err(Failure::usage(format!(
            "{}: it cannot be read within {READ_TIMEOUT:?}",
            file.display()
        ))),
    }
}

/// Prints the state of each server, and a warning for each rule that matches nothing.
fn report(gateway: &Gateway) {
    for mount in gateway.mounts() {
        let name = &mount.name;
        let state = match (mount.is_connected, mount.error, mount.replacement_error) {
            (_, _, Some(error)) => format!(
                "the changed server cannot be reached, so the previous server is still used: {error}; further attempts follow"
            ),
            (true, ..) => "connected".to_owned(),
            (false, Some(error), None) => format!("{error}; further attempts follow"),
            (false, None, None) => "not connected; the next request opens a connection".to_owned(),
        };
        say(&format!("{name}: {state}"));
    }
    for rule in gateway.unmatched_rules() {
        say(&format!("warning: /gateway/access{rule}"));
    }
}

/// Reports the state of the servers after the first attempt to connect to each server. After each SIGHUP, opens the audit log and
/// reads the configuration file again. If the file has an error, the gateway keeps its configuration. Returns only if SIGHUP
/// cannot be handled.
#[cfg(unix)]
async fn report_and_reload(
    file: &Path,
    mut config: GatewayConfig,
    gateway: &Gateway,
    options: &Options,
    audit: Option<&Audit>,
) -> Failure {
    use tokio::signal::unix::{SignalKind, signal};
    let mut hangup = match signal(SignalKind::hangup()) {
        Ok(hangup) => hangup,
        Err(error) => return Failure::usage(format!("cannot handle SIGHUP: {error}")),
    };
    let started = config.clone();
    let mut last_line = None;
    loop {
        // The next signal is handled even while a server hangs.
        let signal = tokio::select! {
            signal = hangup.recv() => signal,
            () = gateway.settled() => {
                report(gateway);
                last_line.into_iter().for_each(say);
                hangup.recv().await
            }
        };
        if signal.is_none() {
            return std::future::pending().await;
        }
        last_line = None;
        if let Some(audit) = audit {
            audit.reopen();
        }
        let changed = match read_again(file, options).await {
            Ok(changed) => changed,
            Err(error) => {
                say(&format!("the new configuration is not used: {error}"));
                continue;
            }
        };
        match changed.reload(&config, gateway) {
            Ok(()) => {
                for setting in changed.needs_restart(&started) {
                    say(&format!("{setting:?} has changed; restart to use it"));
                }
                config = changed;
                last_line = Some("reloaded");
            }
            // `config` is not replaced, so the next signal applies the changes again.
            Err(error) => say(&format!("not all servers were changed: {error}")),
        }
    }
}

#[cfg(not(unix))]
async fn report_and_reload(
    _: &Path,
    _: GatewayConfig,
    gateway: &Gateway,
    _: &Options,
    _: Option<&Audit>,
) -> Failure {
    gateway.settled().await;
    report(gateway);
    std::future::pending().await
}
