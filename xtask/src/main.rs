//! Maintenance commands of the workspace: everything CI runs, a laptop runs with the same words.

mod bench;
mod codegen;
mod conformance;
mod files;
mod interop;
mod programs;
mod steps;
mod support;
mod test;
mod tidy;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <command>

  bench [--quick] [--build-time]        what a call costs, beside a server without an SDK and beside the peers; writes
                                        docs/benchmarks.md
  bench --gate [--bless] [--only NAME] [--keep DIR]
                                        instructions and allocations per call, against tests/budgets/gates.toml
  codegen [--check] [--schema-dir DIR]  write the types of mcp-types from the official schema
  conformance [server|client] [--revision R] [--bless]
                                        the official suite, pinned, both lines, against our server and our client
  interop [PEER...]                     real peers from npm and PyPI, pinned, in both directions; writes docs/interop.md
  support [--check]                     write docs/support.md: which test proves which row of the specification
  test                                  everything that must be green before a merge
  tidy                                  the rules of the house that the compiler does not check
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
            // An empty message has been told already.
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
        "support" => support::run(rest),
        "test" => test::run(rest),
        "tidy" => tidy::run(rest),
        "help" | "-h" | "--help" => {
            steps::say(USAGE.trim_end());
            Ok(())
        }
        other => Err(format!("there is no command {other}\n\n{USAGE}")),
    }
}

/// The root folder of the workspace.
fn root() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own)
}

/// Refuses arguments other than the known flags, and says which of those were given.
fn flags<const N: usize>(
    command: &str,
    known: [&str; N],
    args: &[String],
) -> Result<[bool; N], String> {
    if let Some(stranger) = args.iter().find(|arg| !known.contains(&arg.as_str())) {
        let list = known.join(", ");
        return Err(format!("{command} knows [{list}], not {stranger}"));
    }
    Ok(known.map(|flag| args.iter().any(|arg| arg == flag)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_command_or_flag_is_refused_by_name() {
        let error = run("tset", &[]).unwrap_err();
        assert!(error.contains("tset") && error.contains("usage"), "{error}");
        let error = run("test", &["--fast".to_owned()]).unwrap_err();
        assert!(error.contains("--fast"), "{error}");
        assert_eq!(
            flags("x", ["--a", "--b"], &["--b".to_owned()]),
            Ok([false, true])
        );
    }
}
