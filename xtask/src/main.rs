//! Maintenance commands of the workspace. CI and developers run the same commands.

mod api;
mod bench;
#[cfg(test)]
mod cases;
mod checks;
mod codegen;
mod conformance;
mod docs;
mod events;
mod interop;
mod limits;
mod markdown;
mod mutants;
mod page;
mod programs;
mod readme;
mod readmes;
mod release;
mod reliability;
mod steps;
mod support;
mod tidy;
mod workspace;

use std::process::ExitCode;

use crate::workspace::Result;
use clap::Parser;

/// Maintenance commands of the workspace. CI and developers run the same commands.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Command {
    /// Runs all tests; no Node or Python needed.
    Test(checks::TestOptions),
    /// Checks formatting, clippy, tidy, generated files, documentation.
    Lint,
    /// Checks project rules that the compiler does not check.
    Tidy,
    /// Writes docs/api: the public items of each crate, from rustdoc of Rust 1.95.
    Api(Check),
    /// Does what README says, block after block, in an empty folder.
    Readme,
    /// Writes the README of each crate, from the documentation of its root module.
    Readmes(Check),
    /// Writes docs/reference/logged.md: the events that the crates log, from the sources.
    Events(Check),
    /// Writes docs/reference/limits.md: the settings and their defaults, from the sources.
    Limits(Check),
    /// Writes docs/support.md: the requirements and the tests that prove them.
    Support(Check),
    /// Writes the types of mcp-types from the official schema, which it reads from MCP_SCHEMA_DIR or downloads.
    Codegen(Check),
    /// Builds the pages of docs as a book in target/book, with Markdown, llms.txt and llms-full.txt beside the HTML. Installs mdBook under target.
    Docs(docs::Options),
    /// Runs both lines of the official suite against the server and the client.
    Conformance(conformance::Options),
    /// Runs real peers from npm and PyPI in both directions.
    Interop(interop::Options),
    /// Changes one line at a time of code that enforces rules, and runs the tests. A change that no test notices needs a reason in tests/mutants.toml.
    Mutants(mutants::Options),
    /// Writes docs/reliability.md again, from the stored figures.
    Reliability,
    /// Checks each crate without features, and with each of its features alone.
    Features,
    /// Runs the targets of tests/fuzz with libFuzzer; adds the figures to docs/reliability.md.
    Fuzz(reliability::fuzz::Options),
    /// Runs 1,000 sessions with calls, streams, cancellations, kills and reconnects; writes docs/reliability.md.
    #[command(override_usage = "cargo xtask soak [--minutes N] [--sessions N] [--seed N]")]
    Soak(Passed),
    /// Calls through `mcp bridge` for 30 minutes, abandons sessions and kills its server; writes docs/reliability.md.
    #[command(
        override_usage = "cargo xtask bridge-soak [--minutes N] [--calls N] [--sessions N] [--seed N]"
    )]
    BridgeSoak(Passed),
    /// Kills the processes of a server behind a load balancer, with clients of several projects; writes docs/reliability.md.
    #[command(override_usage = "cargo xtask cluster [--kills N]")]
    Cluster(Passed),
    /// Cuts connections and kills servers and clients, 1,000 each; writes docs/reliability.md.
    #[command(override_usage = "cargo xtask chaos [--cuts N] [--kills N] [--seed N]")]
    Chaos(Passed),
    /// Offers ten times the capacity of a server for 60 s, and fills its memory; writes docs/reliability.md.
    #[command(override_usage = "cargo xtask overload [--seconds N]")]
    Overload(Passed),
    /// Builds the packages of all crates with a prefix before their names, and publishes them with `--upload`.
    Release(release::Options),
    /// Measures calls beside a server without an SDK and beside peers; writes docs/benchmarks.md.
    Bench(bench::Options),
}

#[derive(Debug, clap::Args)]
struct Check {
    /// Compares instead of writing.
    #[arg(long)]
    check: bool,
}

/// Arguments that the program of the command reads.
#[derive(Debug, clap::Args)]
struct Passed {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

fn main() -> ExitCode {
    if let Some(code) = api::as_rustdoc() {
        return code;
    }
    match run(Command::parse()) {
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

fn run(command: Command) -> Result {
    match command {
        Command::Api(Check { check }) => api::run(check),
        Command::Bench(options) => bench::run(options),
        Command::BridgeSoak(Passed { args }) => reliability::run("bridge", args),
        Command::Chaos(Passed { args }) => reliability::run("chaos", args),
        Command::Cluster(Passed { args }) => reliability::run("cluster", args),
        Command::Codegen(Check { check }) => codegen::run(check),
        Command::Conformance(options) => conformance::run(options),
        Command::Docs(options) => docs::run(&options),
        Command::Events(Check { check }) => events::run(check),
        Command::Features => checks::features(),
        Command::Limits(Check { check }) => limits::run(check),
        Command::Fuzz(options) => reliability::fuzz::run_targets(&options),
        Command::Interop(options) => interop::run(&options),
        Command::Lint => checks::lint(),
        Command::Mutants(options) => mutants::run_sample(&options),
        Command::Overload(Passed { args }) => reliability::run("overload", args),
        Command::Readme => readme::run_blocks(),
        Command::Readmes(Check { check }) => readmes::run(check),
        Command::Release(options) => release::run(&options),
        Command::Reliability => reliability::page(),
        Command::Soak(Passed { args }) => reliability::run("soak", args),
        Command::Support(Check { check }) => support::run(check),
        Command::Test(options) => checks::test(&options),
        Command::Tidy => tidy::run(),
    }
}

#[test]
fn commands_are_parsed_and_wrong_arguments_rejected() {
    for (words, problem) in [
        ("api --check", ""),
        ("bench --gate --bless --only stdio --only http --keep x", ""),
        ("conformance client --revision 2025-06-18 --bless", ""),
        ("docs --serve --port 0 --repository https://x.example/r", ""),
        ("docs --port 0", "--serve"),
        ("interop --all", ""),
        ("interop memory http", ""),
        ("mutants --seed 7 --count 150", ""),
        ("release --prefix acme- --check --no-verify", ""),
        (
            "release --prefix acme- --upload --security-contact s@x.y",
            "",
        ),
        ("release --prefix acme --check", "write acme-"),
        ("release --prefix acme- --upload", "--security-contact"),
        ("release --prefix acme- --upload --check", "--check"),
        ("release --prefix acme- --upload --no-verify", "--no-verify"),
        ("soak --minutes 20 --seed 1", ""),
        ("test --fast", ""),
        ("tidy --check", "'--check'"),
        ("bench --bless", "--gate"),
        ("bench --gate --onyl", "'--onyl'"),
        ("conformance host", "'host'"),
        ("conformance --revision 1999-01-01", "2025-11-25"),
    ] {
        let parsed = Command::try_parse_from(format!("xtask {words}").split(' '));
        let error = parsed.map_or_else(|error| error.to_string(), |_| String::new());
        assert_eq!(error.is_empty(), problem.is_empty(), "{words}: {error}");
        assert!(error.contains(problem), "{error}");
    }
}
