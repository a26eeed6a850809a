//! The command `mcp status`.

use std::time::Duration;

use http::header::HOST;
use http::{Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::args::Options;
use crate::failure::{Code, Failure};
use crate::output;

/// Maximum size of the status in bytes.
const MAX_BYTES: usize = 1 << 20;

/// Prints the state of the servers of a running gateway.
pub(super) async fn run(address: &str, options: &Options) -> Result<Code, Failure> {
    let url = match address.contains("://") {
        true => address.to_owned(),
        false => format!("http://{address}"),
    };
    let failed = |reason: &dyn std::fmt::Display| {
        Failure::new(
            Code::Connection,
            format!(
                "{url}: {reason}; expected the address of the \"metrics\" listener of a running `mcp serve`"
            ),
        )
    };
    let limit = Duration::from_secs(options.timeout);
    let read = timeout(limit, read(&url)).await;
    let text = match read {
        Ok(read) => read.map_err(|error| failed(&error))?,
        Err(_) => return Err(failed(&format_args!("no response within {limit:?}"))),
    };
    let status: Value = mcp_jsonrpc::decode(&text)
        .map_err(|error| failed(&format_args!("the response is not a status: {error}")))?;
    if !status["version"].is_string() || !status["servers"].is_array() {
        return Err(failed(&"the response is not the status of a gateway"));
    }
    if options.json {
        output::print(&status.to_string())?;
    } else {
        for line in lines(&status) {
            output::print(&line)?;
        }
    }
    let servers = status["servers"].as_array().into_iter().flatten();
    let mut required = servers.filter(|server| server["isRequired"] == true);
    Ok(
        match required.all(|server| server["state"] == "connected") {
            true => Code::Success,
            false => Code::Connection,
        },
    )
}

type Fault = Box<dyn std::error::Error + Send + Sync>;

/// Reads `/status` at the address. Only `http` is supported, because the listener for operators has no TLS.
async fn read(url: &str) -> Result<String, Fault> {
    let uri: Uri = url.parse()?;
    let authority = uri.authority().ok_or("it has no host")?.clone();
    if uri.scheme_str() != Some("http") {
        return Err("the status is served over http".into());
    }
    let host = authority.host().trim_matches(['[', ']']);
    let stream = TcpStream::connect((host, authority.port_u16().unwrap_or(9464))).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let request = Request::get("/status").header(HOST, authority.as_str());
    let response = sender
        .send_request(request.body(Empty::<Bytes>::new())?)
        .await?;
    if response.status() != StatusCode::OK {
        return Err(format!("status {}", response.status()).into());
    }
    let body = Limited::new(response.into_body(), MAX_BYTES)
        .collect()
        .await?;
    connection.abort();
    Ok(String::from_utf8(body.to_bytes().into())?)
}

/// Returns a line for the gateway and a line for each server.
fn lines(status: &Value) -> Vec<String> {
    let text = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let first = format!(
        "version {}, up for {} s, {} sessions",
        text(&status["version"]),
        status["uptimeSeconds"],
        status["sessions"]
    );
    let mut lines = vec![output::one_line(&first)];
    for server in status["servers"].as_array().into_iter().flatten() {
        let mut line = format!("{}: {}", text(&server["name"]), text(&server["state"]));
        if let Some(revision) = server["revision"].as_str() {
            line += &format!(", {revision}");
        }
        for count in ["tools", "prompts", "resources", "connections"] {
            line += &format!(", {} {count}", server[count]);
        }
        if let Some(error) = server["error"].as_str() {
            line += &format!("; {error}");
        }
        lines.push(output::one_line(&line));
    }
    lines
}
