//! A browser without a user: it opens a page that consents at once, and returns the redirect.

use mcp_auth::client::{Callback, CustomUserAgent, Error, UserAgent};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The redirect URI; no server listens there.
const BACK: &str = "http://localhost:3000/callback";

/// A user agent that opens pages on this machine.
pub(super) fn browser() -> impl UserAgent {
    CustomUserAgent::new(BACK, |url| async move {
        let location = visit(&url).await;
        let location = location.map_err(|error| Error::user_agent(error.to_string()))?;
        Ok(Callback::parse(&location))
    })
}

async fn visit(url: &str) -> std::io::Result<String> {
    let wrong = |what: &str| std::io::Error::other(format!("{what} at {url}"));
    let rest = url
        .strip_prefix("http://")
        .ok_or_else(|| wrong("no page"))?;
    let (host, path) = rest.split_once('/').ok_or_else(|| wrong("no path"))?;
    let mut stream = TcpStream::connect(host).await?;
    let request = format!("GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let mut fields = answer.lines().filter_map(|line| line.split_once(": "));
    let location = fields.find(|(name, _)| name.eq_ignore_ascii_case("location"));
    let (_, location) = location.ok_or_else(|| wrong("no redirect"))?;
    Ok(location.to_owned())
}
