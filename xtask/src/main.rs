//! Maintenance commands of the workspace. CI and developers run the same commands.

mod bench;
mod codegen;
mod conformance;
mod files;
mod interop;
mod lint;
mod page;
mod programs;
mod steps;
mod support;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <command>

  test                                  runs all tests; no Node or Python needed
  lint                                  formatting, clippy, tidy, generated files, documentation
  tidy                                  project rules that the compiler does not check
  support [--check]                     writes docs/support.md: the requirements and the tests that prove them
  codegen [--check]                     writes the types of mcp-types from the official schema, which it reads from
                                        MCP_SCHEMA_DIR or downloads
  conformance [server|client] [--revision R] [--bless]
                                        runs both lines of the official suite against the server and the client
  interop [PEER...]                     runs real peers from npm and PyPI in both directions; writes docs/interop.md
  bench [--quick]                       measures calls beside a server without an SDK and beside peers; writes
                                        docs/benchmarks.md
  bench --gate [--bless] [--only NAME] [--keep DIR]
                                        counts instructions and allocations per call and compares them with
                                        tests/budgets/gates.toml
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match args.split_first() {
        Some((command, rest)) => run(command, rest),
        None => Err(USAGE.to_owned()),
    };
    match outcome {
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

fn run(command: &str, rest: &[String]) -> Result<(), String> {
    match command {
        "bench" => bench::run(rest),
        "codegen" => codegen::run(rest),
        "conformance" => conformance::run(rest),
        "interop" => interop::run(rest),
        "lint" => lint::run(rest),
        "support" => support::run(rest),
        "test" => test::run(rest),
        "tidy" => tidy::run(rest),
        "help" | "-h" | "--help" => {
            steps::say(USAGE.trim_end());
            Ok(())
        }
        other => Err(format!("unknown command {other}\n\n{USAGE}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_command_or_flag_is_named_in_the_error() {
        let error = run("tset", &[]).unwrap_err();
        assert!(error.contains("tset") && error.contains("usage"), "{error}");
        let error = run("test", &["--fast".to_owned()]).unwrap_err();
        assert!(error.contains("--fast"), "{error}");
    }
}
