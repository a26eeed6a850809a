//! The parts of the peer servers that are not written with their SDKs: the arguments of the tools, the command line and the
//! listener.

use std::error::Error;
use std::io::Write as _;
use std::time::Duration;

use axum::serve::ListenerExt as _;
use serde::Deserialize;
use tokio::sync::Semaphore;

use crate::schemars::{self, JsonSchema};

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Echo {
    /// Comes back.
    pub(crate) message: String,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Add {
    pub(crate) a: i64,
    pub(crate) b: i64,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Big {
    /// How long the answer is.
    pub(crate) bytes: usize,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Steps {
    /// How many notifications come before the answer.
    pub(crate) count: usize,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct WorkArguments {
    /// How long the call needs a permit.
    pub(crate) micros: u64,
}

/// Takes one of four permits for a time, as a pool of connections to a database would.
pub(crate) async fn work(work: WorkArguments) -> &'static str {
    static POOL: Semaphore = Semaphore::const_new(4);
    let permit = POOL.acquire().await;
    tokio::time::sleep(Duration::from_micros(work.micros)).await;
    drop(permit);
    "done"
}

/// The command line.
#[derive(Default)]
pub(crate) struct Options {
    /// The address to listen on; without it, the server uses stdin and stdout.
    pub(crate) http: Option<String>,
    /// Whether the option of this server is set.
    pub(crate) special: bool,
    nagle: bool,
    /// The number of additional tools.
    pub(crate) tools: usize,
}

impl Options {
    /// Parses the command line; `special` is an option of this server.
    pub(crate) fn parse(special: &str) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let usage =
            || format!("usage: --stdio | --http ADDRESS [{special}] [--nagle], [--tools N]");
        let mut options = Self::default();
        let mut args = std::env::args().skip(1);
        while let Some(arg) = args.next() {
            match &*arg {
                "--stdio" => {}
                "--nagle" => options.nagle = true,
                "--http" => options.http = Some(args.next().ok_or_else(usage)?),
                "--tools" => options.tools = args.next().ok_or_else(usage)?.parse()?,
                arg if arg == special => options.special = true,
                _ => return Err(usage().into()),
            }
        }
        Ok(options)
    }

    /// Listens, prints the URL, and serves.
    pub(crate) async fn serve(&self, address: &str, router: axum::Router) -> std::io::Result<()> {
        let listener = tokio::net::TcpListener::bind(address).await?;
        writeln!(std::io::stdout(), "http://{}/mcp", listener.local_addr()?)?;
        if self.nagle {
            return axum::serve(listener, router).await;
        }
        let listener = listener.tap_io(|stream| {
            // A client may close its connection at any time.
            let _ = stream.set_nodelay(true);
        });
        axum::serve(listener, router).await
    }
}
