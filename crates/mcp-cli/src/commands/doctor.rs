//! `mcp doctor`.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mcp_client::Client;
use serde::Serialize;
use serde_json::json;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use url::Url;

use super::call::unavailable_servers;
use super::inspect::Offer;
use crate::args::{Options, Words};
use crate::connect::Connection;
use crate::failure::{Code, Failure};
use crate::hidden::hide;
use crate::target::{HttpServer, Server, Target};
use crate::{connect, login, output};

/// Timeout of the DNS lookup, and timeout of the TCP connection.
const NETWORK: Duration = Duration::from_secs(10);

/// Maximum number of notes about definitions. A server can have thousands of faulty tools.
const MAX_NOTES: usize = 20;

/// The result of one step of the diagnosis.
#[derive(Serialize)]
struct Finding {
    step: &'static str,
    ok: bool,
    text: String,
}

/// The results of the steps so far. Without `--json`, each result is printed at once.
struct Report {
    is_json: bool,
    steps: Vec<Finding>,
}

impl Report {
    fn add(&mut self, ok: bool, step: &'static str, text: String) -> Result<(), Failure> {
        let text = hide(text);
        if !self.is_json {
            let mark = if ok { "ok  " } else { "FAIL" };
            let text = text.trim_end().replace('\n', "\n                    ");
            output::print(&format!("{mark}  {step:12}  {text}"))?;
        }
        self.steps.push(Finding { step, ok, text });
        Ok(())
    }

    /// Adds the result of a failed step. Returns the exit code.
    fn fail(&mut self, step: &'static str, failure: &Failure) -> Result<Code, Failure> {
        self.add(false, step, failure.full_text())?;
        Ok(failure.code)
    }
}

pub(super) async fn run(words: Words, options: &Options) -> Result<Code, Failure> {
    let (target, rest) = Target::take(words, options)?;
    if let Some(word) = rest.first() {
        return Err(Failure::usage(format!(
            "unexpected argument {word:?}; this command takes only a server"
        )));
    }
    let mut report = Report {
        is_json: options.json,
        steps: Vec::new(),
    };
    let code = diagnose(&target, options, &mut report).await?;
    if options.json {
        output::json(&json!({ "ok": code == Code::Success, "steps": report.steps }))?;
    }
    Ok(code)
}

/// Runs the steps of the diagnosis until one fails. Returns the exit code.
async fn diagnose(
    target: &Target,
    options: &Options,
    report: &mut Report,
) -> Result<Code, Failure> {
    let is_reachable = match &target.server {
        Server::Http(server) => network(&server.url, options, report).await?,
        Server::Program(child) => program(&child.command, report)?,
    };
    if !is_reachable {
        return Ok(Code::Connection);
    }
    let start = Instant::now();
    let connection = match Connection::open(target, options).await {
        Ok(connection) => connection,
        Err(failure) => {
            let code = report.fail("connection", &failure)?;
            if let Server::Http(server) = &target.server
                && !failure.is_of_tls
            {
                authorization(server, options, report).await?;
            }
            return Ok(code);
        }
    };
    let client = &connection.client;
    let info = client.server_info();
    let agreed = format!(
        "{} {}, revision {}, in {:.0?}",
        info.name,
        info.version,
        client.revision(),
        start.elapsed()
    );
    report.add(true, "connection", output::one_line(&agreed))?;
    let start = Instant::now();
    let mut code = match client.ping().await {
        Ok(_) => {
            let text = format!("answered in {:.0?}", start.elapsed());
            report.add(true, "request", text)?;
            Code::Success
        }
        Err(error) => report.fail("request", &error.into())?,
    };
    if let Some(failed) = report_lists(client, report).await? {
        code = failed;
    }
    connection.close().await;
    Ok(code)
}

/// Reports the lists of the server, their defects, the tolerated deviations, and the unavailable servers behind a gateway.
/// Returns the exit code if a list cannot be read or a server is not available; otherwise `None`.
async fn report_lists(client: &Client, report: &mut Report) -> Result<Option<Code>, Failure> {
    let mut code = None;
    let mut offer = Offer::of(client).await;
    let counts = [
        ("tool", offer.tools.len()),
        ("prompt", offer.prompts.len()),
        ("resource", offer.resources.len()),
        ("resource template", offer.templates.len()),
    ];
    let counts = counts.map(|(noun, count)| output::counted(count, noun));
    let failed = offer.take_failure().err();
    match &failed {
        None => report.add(true, "lists", counts.join(", "))?,
        Some(failure) => code = Some(report.fail("lists", failure)?),
    }
    let failed = failed.map(|failure| failure.to_string());
    let mut defects = offer.defects();
    defects.retain(|defect| failed.as_ref() != Some(defect));
    for defect in defects.iter().take(MAX_NOTES) {
        report.add(true, "note", output::one_line(defect))?;
    }
    if let Some(more) = defects
        .len()
        .checked_sub(MAX_NOTES)
        .filter(|more| *more > 0)
    {
        let text = format!(
            "{}; `mcp inspect` shows them",
            output::counted(more, "more note")
        );
        report.add(true, "note", text)?;
    }
    if client.capabilities().tools.is_some()
        && let Some(problem) = unavailable_servers(client).await
    {
        report.add(false, "gateway", problem)?;
        code = Some(Code::Connection);
    }
    Ok(code)
}

/// Reports the proxy for the server. Then looks up the host of the proxy, or of the server if there is no proxy, and opens a TCP
/// connection. Returns whether the host accepts connections.
async fn network(url: &Url, options: &Options, report: &mut Report) -> Result<bool, Failure> {
    let (_, proxy) = connect::network(options)?;
    let decision = match proxy.decide(url.as_str()) {
        Ok(decision) => decision,
        Err(error) => {
            report.add(false, "proxy", error.to_string())?;
            return Ok(false);
        }
    };
    let shown = decision.proxy.as_deref().unwrap_or("none");
    report.add(true, "proxy", format!("{shown}: {}", decision.reason))?;
    let proxy = decision.proxy.and_then(|proxy| Url::parse(&proxy).ok());
    reach(proxy.as_ref().unwrap_or(url), report).await
}

/// Looks up the host of a URL and opens a TCP connection. Returns whether the host accepts connections.
async fn reach(url: &Url, report: &mut Report) -> Result<bool, Failure> {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let port = url.port_or_known_default().unwrap_or(80);
    let late = || {
        std::io::Error::new(
            std::io::ErrorKind::TimedOut,
            format!("no response within {NETWORK:?}"),
        )
    };
    let found = timeout(NETWORK, lookup_host((host, port))).await;
    let found = found.unwrap_or_else(|_| Err(late())).map(Vec::from_iter);
    let addresses = match found {
        Ok(addresses) if !addresses.is_empty() => addresses,
        outcome => {
            let problem = outcome
                .err()
                .map_or("no address".to_owned(), |error| error.to_string());
            report.add(
                false,
                "address",
                format!("cannot resolve {host}: {problem}"),
            )?;
            return Ok(false);
        }
    };
    let shown: Vec<String> = addresses
        .iter()
        .map(|address| address.ip().to_string())
        .collect();
    report.add(true, "address", shown.join(", "))?;
    let dialed = timeout(NETWORK, TcpStream::connect(&addresses[..])).await;
    let dialed = dialed.unwrap_or_else(|_| Err(late()));
    let text = match &dialed {
        Ok(_) => port.to_string(),
        Err(error) => format!("{host} does not accept connections on port {port}: {error}"),
    };
    report.add(dialed.is_ok(), "port", text)?;
    Ok(dialed.is_ok())
}

/// Shows the authorization metadata of the server.
async fn authorization(
    server: &HttpServer,
    options: &Options,
    report: &mut Report,
) -> Result<(), Failure> {
    if login::is_readable_in_transit(&server.url) {
        let text = "not checked: a token is not requested for a URL without TLS";
        return report.add(true, "sign-in", text.to_owned());
    }
    let diagnosis = login::stored(server, options)?.diagnose().await;
    report.add(diagnosis.is_published(), "sign-in", diagnosis.to_string())
}

/// Searches for the program: a path must be a file, and a name must be a file in a folder of `PATH` (on Windows also with the
/// extension `exe`, `cmd` or `bat`). Returns whether the program exists.
fn program(name: &str, report: &mut Report) -> Result<bool, Failure> {
    let found = match name.contains(['/', '\\']) {
        true => Some(PathBuf::from(name)).filter(|path| path.is_file()),
        false => std::env::var_os("PATH").and_then(|path| {
            std::env::split_paths(&path).find_map(|folder| executable(&folder.join(name)))
        }),
    };
    if let Some(path) = found {
        report.add(true, "program", path.display().to_string())?;
        return Ok(true);
    }
    let hint = match name {
        "npx" | "node" | "npm" => ": install Node.js",
        "uvx" | "uv" => ": install uv",
        "python" | "python3" | "pip" => ": install Python",
        "docker" => ": install Docker",
        _ => ": install it, or set its path as the command",
    };
    let what = match name.contains(['/', '\\']) {
        true => "not a file",
        false => "not in PATH",
    };
    report.add(false, "program", format!("{name} is {what}{hint}"))?;
    Ok(false)
}

fn executable(path: &Path) -> Option<PathBuf> {
    let with_extension = ["exe", "cmd", "bat"].map(|extension| path.with_extension(extension));
    let others = with_extension.into_iter().filter(|_| cfg!(windows));
    std::iter::once(path.to_owned())
        .chain(others)
        .find(|path| path.is_file())
}
