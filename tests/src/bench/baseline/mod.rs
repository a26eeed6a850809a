//! Servers without an SDK: they parse a request into types in one pass and write its response,
//! without the checks that a real server needs.

mod answer;
mod http;
mod stdio;

pub use answer::{Answer, Baseline};

use super::Fault;

const USAGE: &str =
    "usage: bench-baseline --stdio [--tools N] | --http ADDRESS [--nagle] [--tools N]";

/// Runs a baseline until stdin or the process ends.
///
/// # Errors
/// The arguments are invalid, or the server cannot listen on the address.
pub fn run(mut args: impl Iterator<Item = String>) -> Result<(), Fault> {
    let (mut address, mut stdio, mut nagle, mut tools) = (None, false, false, 0);
    while let Some(arg) = args.next() {
        match &*arg {
            "--stdio" => stdio = true,
            "--http" => address = Some(args.next().ok_or(USAGE)?),
            "--tools" => tools = args.next().ok_or(USAGE)?.parse()?,
            "--nagle" => nagle = true,
            // A baseline has no sessions either way.
            "--stateless" => {}
            _ => return Err(USAGE.into()),
        }
    }
    let baseline = Baseline::new(tools);
    match address {
        Some(address) => http::run(&address, baseline, nagle),
        None if stdio => stdio::run(&baseline),
        None => Err(USAGE.into()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;
    use crate::bench::requests::{Protocol, Requests, Workload, opening};
    use crate::bench::server::server;

    /// Returns the responses of the measured server to these lines.
    async fn served(lines: &[u8]) -> Vec<Value> {
        let (mut ours, theirs) = tokio::io::duplex(1 << 20);
        let (read, write) = tokio::io::split(theirs);
        let serving = mcp_transport_stdio::serve_io(server(3), read, write);
        let client = async {
            ours.write_all(lines).await.expect("a reader");
            ours.shutdown().await.expect("a reader");
            let mut text = String::new();
            ours.read_to_string(&mut text).await.expect("an end");
            text
        };
        let (served, text) = tokio::join!(serving, client);
        served.expect("a session");
        let value = |line| serde_json::from_str(line).expect("json");
        text.lines().map(value).collect()
    }

    #[tokio::test]
    async fn the_baseline_and_the_server_give_the_same_answers() {
        let baseline = Baseline::new(3);
        for wire in [Protocol::Stdio, Protocol::StdioModern] {
            let mut lines = match wire {
                Protocol::Stdio => opening(wire, "", None).to_vec(),
                _ => Vec::new(),
            };
            let skipped = lines.len() / 2;
            for asked in [
                Workload::Echo(64),
                Workload::Big(9),
                Workload::Steps(2),
                Workload::List(7),
            ] {
                let mut line = Vec::new();
                Requests::new(wire, asked, "", None).write(7, &mut line);
                lines.push(line);
                // The requests are sent one after the other because they have the same id.
                let served = served(&lines.concat()).await;
                let line = lines.pop().expect("the last");
                let expected: Vec<Value> = match baseline.answer(&line).expect("an answer") {
                    Answer::None => Vec::new(),
                    Answer::Opened(bytes) | Answer::One(bytes) => vec![bytes],
                    Answer::Ready(pieces) => vec![pieces.concat()],
                    Answer::Many(all) => all,
                }
                .iter()
                .map(|bytes| serde_json::from_slice(bytes).expect("json"))
                .collect();
                assert_eq!(served[skipped..], expected, "{wire:?} {asked:?}");
            }
        }
    }
}
