//! The command line of the load generator.

use std::time::Duration;

use crate::bench::Fault;
use crate::bench::requests::{Protocol, Workload};

const USAGE: &str = "\
usage: bench-load calls --wire WIRE --ask WHAT:N [--inflight N] [--batch] [--beside SESSIONS] [--calls N] [--seconds S]
                        [--warm S] [--upstream WORDS] [--tool-prefix TEXT] [--path PATH] -- PROGRAM...
       bench-load memory --wire WIRE [--inflight SESSIONS] [--upstream WORDS] [--tool-prefix TEXT] [--path PATH] -- PROGRAM...
       bench-load start --wire WIRE [--calls TIMES] -- PROGRAM...

  PROGRAM prints its URL in its first line, unless {port} in it is replaced by the port that it has to use
  --upstream  a server over HTTP that is started first; {upstream} in PROGRAM is replaced by its URL
  --batch   over stdio: the next N go out when the last N are all answered
  --beside  over HTTP: sessions with an open stream that only stand by

  WIRE  stdio, stdio-modern, http, http-stateless or http-modern
  WHAT  echo, big, steps or list; the last with how many tools there are";

/// Limit of requests in flight.
const MOST_INFLIGHT: usize = 4_096;

/// The kind of measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// Many equal calls.
    Calls,
    /// The memory of a server with idle sessions.
    Memory,
    /// The time until the first response of a server.
    Start,
}

/// The end of a run of calls: the first limit that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limit {
    pub(super) calls: u64,
    pub(super) time: Duration,
}

/// The parsed command line.
#[derive(Debug)]
pub(super) struct Options {
    pub(super) doing: Doing,
    pub(super) wire: Protocol,
    pub(super) asked: Workload,
    /// The number of requests in flight.
    pub(super) inflight: usize,
    /// Whether the next requests are sent only after all previous ones have responses.
    pub(super) batch: bool,
    /// The number of idle sessions.
    pub(super) beside: usize,
    pub(super) limit: Limit,
    /// The duration of calls that are not counted.
    pub(super) warm: Duration,
    pub(super) program: Vec<String>,
    /// The server behind the program, which is then a proxy.
    pub(super) upstream: Vec<String>,
    /// The text before the names of tools.
    pub(super) tool_prefix: String,
    /// The path of the endpoint of a program that does not print its URL.
    pub(super) path: String,
}

impl Options {
    pub(super) fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, Fault> {
        let doing = match args.next().as_deref() {
            Some("calls") => Doing::Calls,
            Some("memory") => Doing::Memory,
            Some("start") => Doing::Start,
            _ => return Err(USAGE.into()),
        };
        let mut this = Self {
            doing,
            wire: Protocol::Stdio,
            asked: Workload::Echo(64),
            inflight: 1,
            batch: false,
            beside: 0,
            limit: Limit {
                calls: u64::MAX,
                time: Duration::from_secs(600),
            },
            warm: Duration::ZERO,
            program: Vec::new(),
            upstream: Vec::new(),
            tool_prefix: String::new(),
            path: "/mcp".to_owned(),
        };
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(USAGE);
            match &*arg {
                "--batch" => this.batch = true,
                "--beside" => this.beside = value()?.parse()?,
                "--wire" => this.wire = Protocol::named(&value()?).ok_or(USAGE)?,
                "--ask" => this.asked = Workload::named(&value()?).ok_or(USAGE)?,
                "--inflight" => this.inflight = value()?.parse()?,
                "--calls" => this.limit.calls = value()?.parse()?,
                "--seconds" => this.limit.time = Duration::try_from_secs_f64(value()?.parse()?)?,
                "--warm" => this.warm = Duration::try_from_secs_f64(value()?.parse()?)?,
                "--path" => this.path = value()?,
                "--tool-prefix" => this.tool_prefix = value()?,
                "--upstream" => {
                    this.upstream = value()?.split_whitespace().map(str::to_owned).collect();
                }
                "--" => break,
                _ => return Err(USAGE.into()),
            }
        }
        this.program = args.collect();
        let connections = this.inflight.saturating_add(this.beside);
        if this.program.is_empty() || this.inflight == 0 || connections > MOST_INFLIGHT {
            return Err(USAGE.into());
        }
        Ok(this)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options, Fault> {
        Options::parse(line.split(' ').map(str::to_owned))
    }

    #[test]
    fn a_command_line_is_understood_or_refused() {
        let options =
            parsed("calls --wire http-modern --ask steps:10 --inflight 8 --beside 9 --calls 5 --upstream c -- a --http b")
                .expect("a command line");
        assert_eq!(options.wire, Protocol::HttpModern);
        assert_eq!(options.asked, Workload::Steps(10));
        assert_eq!((options.inflight, options.limit.calls), (8, 5));
        assert_eq!(options.beside, 9);
        assert_eq!(options.program, ["a", "--http", "b"]);
        assert_eq!(options.upstream, ["c"]);
        for wrong in [
            "calls --wire http",
            "calls --wire ftp -- a",
            "calls --inflight 0 -- a",
            "calls --inflight 4000 --beside 97 -- a",
            "sing -- a",
        ] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }
}
