//! Connects to the server of a command.

use std::path::Path;
use std::time::Duration;

use http::HeaderName;
use mcp_client::{Client, ClientBuilder, Root, Timeouts, Transport};
use mcp_host::NetworkConfig;
use mcp_transport_http::{ClientProxy, ClientTls, HttpTransport};
use mcp_transport_stdio::{ChildProcess, Stderr};

use crate::answers::Answers;
use crate::args::Options;
use crate::failure::Failure;
use crate::hidden;
use crate::login;
use crate::output::say;
use crate::sign_in_hint;
use crate::target::{self, HttpServer, Program, Server, Target};

/// Maximum duration of a call, regardless of progress.
const TOTAL: Duration = Duration::from_secs(24 * 3_600);

/// Maximum number of characters of a log message that are shown.
const MAX_LOGGED: usize = 10_000;

/// A connection.
pub(crate) struct Connection {
    pub(crate) client: Client,
}

impl Connection {
    /// Connects with the options of the command line.
    pub(crate) async fn open(target: &Target, options: &Options) -> Result<Self, Failure> {
        Self::open_with(target, options, |builder| builder).await
    }

    /// Connects with additional settings.
    pub(crate) async fn open_with(
        target: &Target,
        options: &Options,
        more: impl FnOnce(ClientBuilder) -> ClientBuilder,
    ) -> Result<Self, Failure> {
        let answers = Answers::load(options.answer.as_deref())?;
        let (revision, negotiation) = options.revision.policy();
        let limit = Duration::from_secs(options.timeout);
        let mut builder = Client::builder("mcp", env!("CARGO_PKG_VERSION"))
            .title("MCP command line")
            .revision(revision)
            .negotiation(negotiation)
            .connect_timeout(limit)
            .timeouts(Timeouts::new(limit, TOTAL))
            .task_calls();
        for handler in [Answers::on_forms, Answers::on_urls] {
            builder = handler(&answers, builder);
        }
        if !options.root.is_empty() {
            builder = builder.roots(roots(&options.root)?);
        }
        if options.verbose {
            builder = builder.on_log(|message| {
                let data: String = message.data.to_string().chars().take(MAX_LOGGED).collect();
                say(&format!("{}: {data}", message.level));
            });
        }
        let builder = more(builder);
        let client = match &target.server {
            Server::Program(program) => builder.connect(child(program, options)?).await,
            Server::Http(server) => match helper_transport(server.clone(), options.clone())? {
                Some(transport) => builder.connect(transport).await,
                None => builder.connect(http(server, options)?).await,
            },
        };
        match client {
            Ok(client) => Ok(Self { client }),
            Err(error) => Err(sign_in_hint::explain(target, options, error).await),
        }
    }

    /// Closes the connection. If the server does not end properly, prints a note; the command still succeeds.
    pub(crate) async fn close(self) {
        if let Err(error) = self.client.close().await {
            say(&format!("note: closing the connection: {error}"));
        }
    }
}

pub(crate) fn child(program: &Program, options: &Options) -> Result<ChildProcess, Failure> {
    if !options.header.is_empty() {
        return Err(Failure::usage(
            "--header is only for URLs; use --env for a program",
        ));
    }
    let stderr = match options.verbose {
        true => Stderr::Inherit,
        false => Stderr::Capture,
    };
    let mut child = ChildProcess::new(&program.command)
        .args(&program.args)
        .stderr(stderr);
    if let Some(folder) = &program.folder {
        child = child.current_dir(folder);
    }
    for (name, value) in &program.env {
        child = child.env(name, value);
    }
    for variable in &options.env {
        child = match variable.split_once('=') {
            Some((name, value)) if !name.is_empty() => {
                hidden::add_named(name, value);
                child.env(name, value)
            }
            // The value is probably a secret.
            Some(_) => return Err(Failure::usage("--env: expected NAME=VALUE or NAME")),
            None => {
                let value = std::env::var_os(variable).ok_or_else(|| {
                    Failure::usage(format!("--env {variable}: the variable is not set"))
                })?;
                hidden::add_named(variable, &value.to_string_lossy());
                child.env(variable, value)
            }
        };
    }
    Ok(child)
}

/// Returns a transport that first runs the configured command, which writes HTTP headers. Returns `None` if no command is
/// configured.
pub(crate) fn helper_transport(
    server: HttpServer,
    options: Options,
) -> Result<Option<impl Transport + Clone>, Failure> {
    let Some(helper) = server.helper.clone() else {
        return Ok(None);
    };
    // Wrong options are reported before the command runs.
    drop(http(&server, &options)?);
    let url = server.url.to_string();
    Ok(Some(helper.transport(url, move |headers| {
        let mut server = server.clone();
        for (name, value) in headers {
            hidden::add_value(&format!("${{{name}}}"), &value);
            let headers = &mut server.headers;
            headers.retain(|other, _| !other.eq_ignore_ascii_case(&name));
            headers.insert(name, value);
        }
        let transport = http(&server, &options);
        transport.map_err(|failure| mcp_client::TransportError::new(failure.to_string()))
    })))
}

pub(crate) fn http(server: &HttpServer, options: &Options) -> Result<HttpTransport, Failure> {
    if !options.env.is_empty() {
        return Err(Failure::usage(
            "--env is only for programs; use --header for a URL",
        ));
    }
    let invalid = |error: mcp_client::TransportError| Failure::usage(error.to_string());
    let mut transport = HttpTransport::new(server.url.as_str()).map_err(invalid)?;
    let (tls, proxy) = network(options)?;
    transport = transport.proxy(proxy);
    if let Some(tls) = tls {
        transport = transport.tls(tls);
    }
    let mut headers: Vec<(&str, &str)> = { server.headers.iter() }
        .map(|(name, value)| (&**name, &**value))
        .collect();
    for header in &options.header {
        // Errors do not show the header: a part of it is probably a secret.
        let parts = header
            .split_once(':')
            .map(|(name, value)| (name.trim(), value));
        let valid = parts.filter(|(name, _)| name.parse::<HeaderName>().is_ok());
        let (name, value) = valid.ok_or_else(|| {
            Failure::usage(
                "--header: expected \"Name: value\", such as \"Authorization: Bearer TOKEN\"",
            )
        })?;
        headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        hidden::add_named(name, value.trim());
        headers.push((name, value.trim()));
    }
    let is_authorization = |(name, _): &(&str, &str)| name.eq_ignore_ascii_case("authorization");
    let has_token = headers.iter().any(is_authorization);
    match login::is_readable_in_transit(&server.url) {
        false if has_token => {}
        false => transport = transport.authorize(login::stored(server, options)?),
        // Nothing secret is sent, so the connection is as safe as the network.
        true if headers.is_empty() && server.helper.is_none() || options.allow_http => {}
        true => {
            let mut names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
            names.extend(server.helper.as_ref().map(|_| "those of \"headersHelper\""));
            return Err(Failure::usage(format!(
                "{} does not use TLS, so others can read the headers on the way ({}); use https, or --allow-http if the network is private",
                target::shown(&server.url),
                names.join(", ")
            )));
        }
    }
    for (name, value) in headers {
        transport = transport.header(name, value).map_err(invalid)?;
    }
    Ok(transport)
}

/// Returns the files of certificates and the proxy that the options name.
pub(crate) fn network_config(options: &Options) -> NetworkConfig {
    let mut network = NetworkConfig::new();
    network.ca.clone_from(&options.ca);
    network.certificate.clone_from(&options.client_cert);
    network.key.clone_from(&options.client_key);
    network.proxy.clone_from(&options.proxy);
    network
}

/// Reads the files of `--ca`, `--client-cert` and `--client-key`, and parses the URL of `--proxy`.
pub(crate) fn network(options: &Options) -> Result<(Option<ClientTls>, ClientProxy), Failure> {
    let usage = |option: &'static str| move |error| Failure::usage(format!("{option} {error}"));
    let network = network_config(options);
    let proxy = network.client_proxy().map_err(usage("--proxy"))?;
    let mut of_ca = NetworkConfig::new();
    of_ca.ca.clone_from(&network.ca);
    of_ca.tls().map_err(usage("--ca"))?;
    let tls = network.tls().map_err(usage("--client-cert"))?;
    Ok((tls, proxy))
}

/// Returns the directories as roots, with absolute `file` URLs.
fn roots(folders: &[std::path::PathBuf]) -> Result<Vec<Root>, Failure> {
    let root = |folder: &Path| {
        let problem = |why: String| Failure::usage(format!("--root {}: {why}", folder.display()));
        let full = folder
            .canonicalize()
            .map_err(|error| problem(error.to_string()))?;
        let url = url::Url::from_directory_path(&full)
            .map_err(|()| problem("it has no URL".to_owned()))?;
        Ok(Root::new(url.as_str().trim_end_matches('/')))
    };
    folders.iter().map(|folder| root(folder)).collect()
}
