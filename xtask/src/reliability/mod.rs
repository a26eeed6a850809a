//! The reliability campaign: `cargo xtask fuzz`, `soak`, `bridge-soak`, `cluster`, `chaos` and `overload`. The programs are in `tests/fuzz` and
//! `tests/src/reliability`. Each command stores its figures in `tests/reliability`, and `docs/reliability.md` is written
//! from all of them.

pub(crate) mod fuzz;
mod plots;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

use crate::bench::peer_servers;
use crate::interop::steady_clients;
use crate::page::render;
use crate::programs::{build, executable, lines_of, program, target};
use crate::workspace::{self, At as _, Result, root, say};

const PAGE: &str = "docs/reliability.md";
const FIGURES: &str = "tests/reliability";

/// The options of the servers whose memory `overload` fills.
const BUDGETS: [&str; 5] = [
    "--addresses 1",
    "",
    "--addresses 50",
    "--memory 134217728",
    "--memory 67108864",
];

/// The memory that clients cannot make a server with default limits exceed, in MiB.
const DEFAULT_BUDGET: f64 = 256.0;

/// The kills of a cluster; the figures of a run with fewer are only printed.
const KILLS: u64 = 200;

/// Runs `soak`, `bridge`, `cluster`, `chaos` or `overload` with these arguments.
pub(crate) fn run(command: &str, mut args: Vec<String>) -> Result {
    let folder = match command {
        "cluster" => build_for_tests()?,
        _ => build_optimized()?,
    };
    match command {
        "bridge" => {
            let mcp = executable(&folder, "mcp").display().to_string();
            args.extend(["--mcp".to_owned(), mcp]);
        }
        "cluster" => {
            let clients = steady_clients()?.into_iter();
            args.extend(clients.flat_map(|client| ["--client".to_owned(), client]));
        }
        _ => {}
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut figures = measure(&folder, command, &args)?;
    if command == "overload" {
        let options = BUDGETS.map(|words| Vec::from_iter(words.split_whitespace()));
        let mcp = executable(&folder, "mcp").display().to_string();
        let bridge = vec!["--addresses", "50", "--mcp", &mcp];
        let budgets = options.iter().chain([&bridge]);
        let budgets = budgets.map(|words| measure_budgets(&folder, words));
        figures["budgets"] = budgets.collect::<Result<Vec<_>>>()?.into();
        let mut peers = Vec::new();
        for (name, path) in peer_servers()? {
            let path = path.display().to_string();
            let options = [&args[..], &["--server", &path]].concat();
            let mut figures = measure(&folder, command, &options)?;
            figures["name"] = name.into();
            peers.push(figures);
        }
        figures["peers"] = peers.into();
    }
    if command == "cluster" && figures["kills"].as_u64() < Some(KILLS) {
        say(&serde_json::to_string_pretty(&figures).at(command)?);
        return Ok(());
    }
    publish(command, &figures)
}

/// Builds the programs of the campaign and returns their folder.
fn build_optimized() -> Result<PathBuf> {
    if !cfg!(target_os = "linux") {
        return Err(
            "the campaign reads the memory of processes from /proc; run it on Linux".to_owned(),
        );
    }
    // A separate folder: a build with other features does not replace the program while it runs.
    let folder = target().join("reliability");
    let words = "--release -p mcp-tests -p mcp-cli --bin reliability --bin mcp --features mcp-tests/suites \
                 --config profile.release.lto=\"off\" --config profile.release.codegen-units=16 \
                 --config profile.release.debug=false";
    build(root(), &folder, words)?;
    Ok(folder.join("release"))
}

/// Builds the program without optimization, for a cluster: its figures are counts, and interruptions that depend on the kills.
fn build_for_tests() -> Result<PathBuf> {
    build(root(), &target(), "-p mcp-tests --bin reliability")?;
    Ok(target().join("debug"))
}

/// Runs a command of the program with options and returns its figures, the last line.
fn measure(folder: &Path, name: &str, options: &[&str]) -> Result<Value> {
    let mut command = program(executable(folder, "reliability"), name);
    say(&format!("\n== {name} {}", options.join(" ")));
    let limit = Duration::from_secs(24 * 3_600);
    let figures = lines_of(command.args(options), limit)?.pop();
    serde_json::from_str(&figures.unwrap_or_default()).at(format!("the figures of {name}"))
}

/// Measures the memory of a server whose clients exhaust all budgets. Returns the figures.
///
/// # Errors
/// The memory exceeded the budget.
fn measure_budgets(folder: &Path, options: &[&str]) -> Result<Value> {
    let figures = measure(folder, "budget", options)?;
    let budget = figures["budget"]
        .as_f64()
        .map_or(DEFAULT_BUDGET, |bytes| bytes / f64::from(1 << 20));
    match figures["peak_mib"].as_f64() {
        Some(peak) if peak <= budget => Ok(figures),
        peak => Err(format!(
            "the server used {peak:?} MiB, but its budget is {budget} MiB; see docs/adr/0038-default-memory.md"
        )),
    }
}

/// The stored figures of a command.
fn path(command: &str) -> PathBuf {
    root().join(FIGURES).join(format!("{command}.json"))
}

/// The figures that the last run of a command has stored.
fn stored(command: &str) -> Result<Option<Value>> {
    let path = path(command);
    match fs::read_to_string(&path) {
        Ok(text) => serde_json::from_str(&text).at(path.display()).map(Some),
        Err(_) => Ok(None),
    }
}

/// Stores the figures of a command and writes the page.
fn publish(command: &str, figures: &Value) -> Result {
    let text = serde_json::to_string(figures).at(command)?;
    workspace::write(&path(command), &format!("{text}\n"))?;
    page()
}

/// Writes the page with its plots from the stored figures.
pub(crate) fn page() -> Result {
    let mut values = Map::new();
    for command in ["fuzz", "soak", "bridge", "cluster", "chaos", "overload"] {
        let Some(figures) = stored(command)? else {
            continue;
        };
        if !plots::lines(command).is_empty() {
            let plot = plots::draw(command, &figures).at("the plots")?;
            workspace::write(&root().join(format!("docs/plots/{command}.svg")), &plot)?;
        }
        values.insert(command.to_owned(), figures);
    }
    let page = render(include_str!("page.md.jinja"), values)?;
    workspace::write(&root().join(PAGE), &page)?;
    say(&format!("{PAGE} is written"));
    Ok(())
}
