//! `mcp doctor`.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use url::Url;

use crate::args::{Options, Words};
use crate::connect::Connection;
use crate::failure::{Code, Failure};
use crate::target::{Server, Target};
use crate::{login, output};

/// Timeout of the DNS lookup, and of the TCP connection.
const NETWORK: Duration = Duration::from_secs(10);

pub(super) async fn run(words: Words, options: &Options) -> Result<Code, Failure> {
    let (target, rest) = Target::take(words, options)?;
    if let Some(word) = rest.first() {
        return Err(Failure::usage(format!(
            "unexpected argument {word:?}; this command takes only a server"
        )));
    }
    match &target.server {
        Server::Http(server) => network(&server.url).await?,
        Server::Program(child) => program(&child.command)?,
    }
    let start = Instant::now();
    let connection = match Connection::open(&target, options).await {
        Ok(connection) => connection,
        Err(failure) => {
            report(false, "connection", &failure.to_string())?;
            if let Server::Http(server) = &target.server {
                authorization(&server.url).await?;
            }
            return Err(failure);
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
    report(true, "connection", &agreed)?;
    let start = Instant::now();
    let outcome = client.ping().await;
    let text = match &outcome {
        Ok(_) => format!("answered in {:.0?}", start.elapsed()),
        Err(error) => error.to_string(),
    };
    report(outcome.is_ok(), "request", &text)?;
    if client.capabilities().tools.is_some() {
        let tools = client.list_tools().await;
        let text = match &tools {
            Ok(tools) => format!("{} tools", tools.len()),
            Err(error) => error.to_string(),
        };
        report(tools.is_ok(), "tools", &text)?;
        tools?;
    }
    connection.close().await;
    outcome.map(|_| Code::Success).map_err(Failure::from)
}

/// Prints one step.
fn report(is_ok: bool, step: &str, text: &str) -> Result<(), Failure> {
    let mark = if is_ok { "ok  " } else { "FAIL" };
    output::print(&format!("{mark}  {step:12}  {text}"))
}

/// Looks up and dials the server.
async fn network(url: &Url) -> Result<(), Failure> {
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
            report(false, "address", &format!("{host}: {problem}"))?;
            return Err(Failure::new(
                Code::Connection,
                format!("cannot resolve {host}: {problem}"),
            ));
        }
    };
    let shown: Vec<String> = addresses
        .iter()
        .map(|address| address.ip().to_string())
        .collect();
    report(true, "address", &shown.join(", "))?;
    let dialed = timeout(NETWORK, TcpStream::connect(&addresses[..])).await;
    match dialed.unwrap_or_else(|_| Err(late())) {
        Ok(_) => report(true, "port", &port.to_string()),
        Err(error) => {
            report(false, "port", &format!("{port}: {error}"))?;
            Err(Failure::new(
                Code::Connection,
                format!("{host} does not accept connections on port {port}: {error}"),
            ))
        }
    }
}

/// Shows what the server says about authorization.
async fn authorization(url: &Url) -> Result<(), Failure> {
    if login::is_readable_in_transit(url) {
        let text = "not checked: a token is not requested for a URL without TLS";
        return report(true, "sign-in", text);
    }
    let diagnosis = login::stored(url.as_str())?.diagnose().await;
    let text = diagnosis.to_string();
    report(
        diagnosis.is_published(),
        "sign-in",
        &text.trim_end().replace('\n', "\n                    "),
    )
}

/// Finds the program as the system does.
fn program(name: &str) -> Result<(), Failure> {
    let found = match name.contains(['/', '\\']) {
        true => Some(PathBuf::from(name)).filter(|path| path.is_file()),
        false => std::env::var_os("PATH").and_then(|path| {
            std::env::split_paths(&path).find_map(|folder| executable(&folder.join(name)))
        }),
    };
    match found {
        Some(path) => report(true, "program", &path.display().to_string()),
        None => {
            let hint = match name {
                "npx" | "node" | "npm" => ": install Node.js",
                "uvx" | "uv" => ": install uv",
                "python" | "python3" | "pip" => ": install Python",
                "docker" => ": install Docker",
                _ => "",
            };
            let what = if name.contains(['/', '\\']) {
                "not a file"
            } else {
                "not in PATH"
            };
            report(false, "program", &format!("{name} is {what}{hint}"))?;
            Err(Failure::new(
                Code::Connection,
                format!("the program {name:?} does not exist{hint}"),
            ))
        }
    }
}

fn executable(path: &Path) -> Option<PathBuf> {
    let with_extension = ["exe", "cmd", "bat"].map(|extension| path.with_extension(extension));
    let others = with_extension.into_iter().filter(|_| cfg!(windows));
    std::iter::once(path.to_owned())
        .chain(others)
        .find(|path| path.is_file())
}
