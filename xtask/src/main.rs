//! Maintenance commands of the workspace. CI and developers run the same commands.

mod api;
mod bench;
mod codegen;
mod conformance;
mod files;
mod interop;
mod lint;
mod page;
mod programs;
mod reliability;
mod steps;
mod support;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

use workspace::Args;

const USAGE: &str = "\
usage: cargo xtask <command>

  test                                  runs all tests; no Node or Python needed
  lint                                  formatting, clippy, tidy, generated files, documentation
  tidy                                  project rules that the compiler does not check
  api [--check]                         writes docs/api: the public items of each crate, from rustdoc of Rust 1.95
  support [--check]                     writes docs/support.md: the requirements and the tests that prove them
  codegen [--check]                     writes the types of mcp-types from the official schema, which it reads from
                                        MCP_SCHEMA_DIR or downloads
  conformance [server|client] [--revision R] [--bless]
                                        runs both lines of the official suite against the server and the client
  reliability                           writes docs/reliability.md again, from the stored figures
  interop [--all | PEER...]             runs real peers from npm and PyPI in both directions; --all runs more, and writes docs/interop.md
  fuzz [--seconds N] [--target NAME]
                                        runs the targets of tests/fuzz with libFuzzer, 60 s each; adds the
                                        figures to docs/reliability.md, unless N is smaller
  soak [--minutes N] [--sessions N] [--seed N]
                                        1,000 sessions with calls, streams, cancellations, kills and reconnects
  chaos [--cuts N] [--kills N] [--seed N]
                                        cuts connections and kills servers and clients, 1,000 each
  overload [--seconds N]                offers ten times the capacity of a server for 60 s, and fills its memory; the
                                        three commands write their figures to docs/reliability.md
  bench [--quick]                       measures calls beside a server without an SDK and beside peers; writes
                                        docs/benchmarks.md, or after short runs only prints it
  bench --gate [--bless] [--only NAME] [--keep DIR]
                                        counts instructions per call with valgrind and compares them with
                                        tests/budgets/gates.toml, for all gates or for those that --only names.
                                        --bless writes the counts to that file, without --only also the
                                        allocations; --keep keeps the output for callgrind_annotate
";

fn main() -> ExitCode {
    if let Some(code) = api::as_rustdoc() {
        return code;
    }
    let mut args = std::env::args().skip(1);
    let command = args.next().unwrap_or_default();
    match run(&command, Args(args.collect())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            // The message is empty if the failure is already printed.
            if !message.is_empty() {
                eprintln!("{}", message.trim_end());
            }
            ExitCode::FAILURE
        }
    }
}

fn run(command: &str, args: Args) -> Result<(), String> {
    match command {
        "api" => api::run(args.check()?),
        "bench" => bench::run(args),
        "chaos" => reliability::chaos(&args),
        "codegen" => codegen::run(args.check()?),
        "conformance" => conformance::run(args),
        "fuzz" => reliability::fuzz::run_targets(args),
        "interop" => interop::run(&args.0),
        "lint" => args.end().and_then(|()| lint::run()),
        "overload" => reliability::overload(&args),
        "reliability" => args.end().and_then(|()| reliability::page()),
        "soak" => reliability::soak(&args),
        "support" => support::run(args.check()?),
        "test" => args.end().and_then(|()| test::run()),
        "tidy" => args.end().and_then(|()| tidy::run()),
        "help" | "-h" | "--help" => {
            steps::say(USAGE.trim_end());
            Ok(())
        }
        other => Err(format!("unknown command {other:?}\n\n{USAGE}")),
    }
}
