//! The fixture server as a program: `everything-server --stdio`, or `--http ADDRESS` with the endpoint `/mcp`, and
//! `/sse` for clients of 2024-11-05 after `--legacy`.
//!
//! `--cluster` starts two processes of it, with `--node ADDRESS REDIS`, behind a load balancer.
//!
//! `--sessions` at the end serves the revisions with sessions alone. After `--strict`, deviations of clients are errors.

use std::io::Write as _;

use mcp_server::Strictness;
use mcp_tests::everything::{serve_http, server, sessions};
use mcp_transport_http::ServerOptions;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (args, strictness) = match &*args {
        [args @ .., "--strict"] => (args, Strictness::Strict),
        args => (args, Strictness::Tolerant),
    };
    let (args, server) = match args {
        [args @ .., "--sessions"] => (args, sessions()),
        args => (args, server()),
    };
    let server = server.strictness(strictness);
    match *args {
        ["--stdio"] => Ok(mcp_transport_stdio::serve(server).await?),
        ["--http", address] => serve_http(address, server, ServerOptions::new()).await,
        #[cfg(unix)]
        ["--node", address, redis] => {
            mcp_tests::cluster::serve_node(address, redis, server).await
        }
        #[cfg(unix)]
        ["--cluster"] => cluster(strictness).await,
        ["--http", address, "--legacy"] => {
            serve_http(address, server, ServerOptions::new().with_legacy()).await
        }
        _ => Err(
            "usage: everything-server --stdio | --http ADDRESS [--legacy] | --cluster, then [--sessions] [--strict]"
                .into(),
        ),
    }
}

/// Starts two nodes behind a load balancer. The first line on stdout is the URL of the load balancer.
#[cfg(unix)]
async fn cluster(strictness: Strictness) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let program = std::env::current_exe()?.display().to_string();
    let command = |address: &str, redis: &str| {
        let mut words = vec![&*program, "--node", address, redis];
        words.extend((strictness == Strictness::Strict).then_some("--strict"));
        words.into_iter().map(str::to_owned).collect()
    };
    let cluster = mcp_tests::cluster::Cluster::start(2, command).await?;
    writeln!(std::io::stdout(), "http://{}/mcp", cluster.host())?;
    Ok(tokio::signal::ctrl_c().await?)
}
