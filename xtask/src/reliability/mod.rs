//! The reliability campaign: `cargo xtask fuzz`, `soak`, `chaos` and `overload`. The programs are in `tests/fuzz` and
//! `tests/src/reliability`. Each command stores its figures in `tests/reliability`, and `docs/reliability.md` is written
//! from all of them.

pub(crate) mod fuzz;
mod plots;

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::files;
use crate::page::render;
use crate::programs::{build, executable, run_to_end, target};
use crate::steps::say;
use crate::workspace::{Args, At as _, root};

const PAGE: &str = "docs/reliability.md";
const FIGURES: &str = "tests/reliability";

/// Runs clients against servers for a long time.
pub(crate) fn soak(args: &Args) -> Result<(), String> {
    let figures = Programs::build()?.run("soak", &args.0)?;
    publish("soak", &figures)
}

/// Cuts connections and kills processes.
pub(crate) fn chaos(args: &Args) -> Result<(), String> {
    let figures = Programs::build()?.run("chaos", &args.0)?;
    publish("chaos", &figures)
}

/// Loads a server beyond its capacity, and fills the memory of servers.
pub(crate) fn overload(args: &Args) -> Result<(), String> {
    let programs = Programs::build()?;
    let mut figures = programs.run("overload", &args.0)?;
    let mut budgets = Vec::new();
    for words in [
        "--addresses 1",
        "",
        "--memory 134217728",
        "--memory 67108864",
    ] {
        let words: Vec<_> = words.split_whitespace().map(str::to_owned).collect();
        budgets.push(programs.run("budget", &words)?);
    }
    figures["budgets"] = budgets.into();
    publish("overload", &figures)
}

/// The built programs of the campaign.
struct Programs(PathBuf);

impl Programs {
    fn build() -> Result<Self, String> {
        if !cfg!(target_os = "linux") {
            return Err(
                "the campaign reads the memory of processes from /proc; run it on Linux".to_owned(),
            );
        }
        // A separate folder: a build with other features does not replace the program while it runs.
        let folder = target().join("reliability");
        let words = "--release -p mcp-tests --bin reliability --features suites \
                     --config profile.release.lto=\"off\" --config profile.release.codegen-units=16 \
                     --config profile.release.debug=false";
        build(root(), &folder, words)?;
        Ok(Self(executable(&folder.join("release"), "reliability")))
    }

    /// Runs a program with options and returns its figures.
    fn run(&self, name: &str, options: &[String]) -> Result<Value, String> {
        let mut command = Command::new(&self.0);
        command.arg(name).args(options);
        say(&format!("\n== {name} {}", options.join(" ")));
        let mut figures = String::new();
        let limit = Duration::from_secs(24 * 3_600);
        let ended = run_to_end(&mut command, limit, |line| line.clone_into(&mut figures))?;
        if !ended.is_success {
            return Err(ended.text);
        }
        serde_json::from_str(&figures).at(format!("the figures of {name}"))
    }
}

/// The stored figures of a command.
fn path(command: &str) -> PathBuf {
    root().join(FIGURES).join(format!("{command}.json"))
}

/// The figures that the last run of a command has stored.
fn stored(command: &str) -> Result<Option<Value>, String> {
    let path = path(command);
    match fs::read_to_string(&path) {
        Ok(text) => serde_json::from_str(&text).at(path.display()).map(Some),
        Err(_) => Ok(None),
    }
}

/// Stores the figures of a command and writes the page.
fn publish(command: &str, figures: &Value) -> Result<(), String> {
    let text = serde_json::to_string(figures).at(command)?;
    files::write(&path(command), &format!("{text}\n"))?;
    page()
}

/// Writes the page with its plots from the stored figures.
pub(crate) fn page() -> Result<(), String> {
    let mut values = Map::new();
    for command in ["fuzz", "soak", "chaos", "overload"] {
        let Some(figures) = stored(command)? else {
            continue;
        };
        if let Some((caption, lines)) = plots::lines(command, &figures) {
            let plot = plots::draw(caption, &lines).at("the plots")?;
            files::write(&root().join(format!("docs/plots/{command}.svg")), &plot)?;
        }
        values.insert(command.to_owned(), figures);
    }
    let page = render(include_str!("page.md.jinja"), values)?;
    files::write(&root().join(PAGE), &page)?;
    say(&format!("{PAGE} is written"));
    Ok(())
}
