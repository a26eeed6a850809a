//! The server that is measured: `bench-server --stdio [--tools N] [--layers N]`, or
//! `--http ADDRESS [--stateless] [--nagle] [--tools N]`.

use mcp_tests::bench::{Fault, listen, server};
use mcp_transport_http::{Endpoint, ServerOptions};
use tokio::runtime::Builder;

const USAGE: &str = "usage: bench-server --stdio [--tools N] [--layers N] | --http ADDRESS [--stateless] [--nagle] [--tools N]";

/// The options of the command line.
#[derive(Default)]
struct Wanted {
    stdio: bool,
    http: Option<String>,
    stateless: bool,
    nagle: bool,
    tools: usize,
    layers: usize,
}

impl Wanted {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, Fault> {
        let mut this = Self::default();
        while let Some(arg) = args.next() {
            match &*arg {
                "--stdio" => this.stdio = true,
                "--stateless" => this.stateless = true,
                "--nagle" => this.nagle = true,
                "--http" => this.http = Some(args.next().ok_or(USAGE)?),
                "--layers" => this.layers = args.next().ok_or(USAGE)?.parse()?,
                "--tools" => this.tools = args.next().ok_or(USAGE)?.parse()?,
                _ => return Err(USAGE.into()),
            }
        }
        Ok(this)
    }
}

fn main() -> Result<(), Fault> {
    let wanted = Wanted::parse(std::env::args().skip(1))?;
    // A pipe has one client, and one thread serves it best; so do both baselines.
    let mut runtime = match wanted.http {
        Some(_) => Builder::new_multi_thread(),
        None => Builder::new_current_thread(),
    };
    runtime.enable_all().build()?.block_on(serve(wanted))
}

async fn serve(wanted: Wanted) -> Result<(), Fault> {
    let server = server::layered(wanted.tools, wanted.layers);
    match wanted.http {
        Some(address) => {
            let options = ServerOptions::new();
            let options = match wanted.stateless {
                true => options.without_sessions(),
                false => options,
            };
            let endpoint = Endpoint::with_options(server, options)?;
            match wanted.nagle {
                true => listen::plain(&address, endpoint).await,
                false => listen::own(&address, endpoint).await,
            }
        }
        None if wanted.stdio => Ok(mcp_transport_stdio::serve(server).await?),
        None => Err(USAGE.into()),
    }
}
